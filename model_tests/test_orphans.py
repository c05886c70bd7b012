"""An orphan writes nothing: what a generation may not do once a successor or a force has taken its place."""

from collections.abc import Callable
from random import Random
from typing import Any

import attrs
import pytest

from ..machines.generation import Generation
from ..machines.guard_evaluation import GuardEvaluation
from ..machines.kernel import Accepted, Machine, step
from ..machines.lease import Lease
from ..machines.toolcall import Toolcall
from .generate.seek import seek
from .generate.values import Case
from .test_definitions import faults_of


@attrs.frozen
class Owned:
    """A machine whose instances belong to a generation."""

    machine: type[Machine]
    number: Callable[[Case], Any]
    """Of which generation."""
    wrote: Callable[[Accepted], bool]
    """Did a step write or show something?"""
    writers: set[str]
    """The events that do, while the generation is the current one."""
    others: set[str]
    """What others do to an orphan: they end it and answer its calls."""

    def __str__(self) -> str:
        return self.machine.table.name

    def cells(self) -> list[tuple[str, str]]:
        return [cell for cell in self.machine.table.moves if cell[0] != "absent" and cell[1] not in self.others]

    def written(self, state: str, event: str, *, orphan: bool) -> Case | None:
        """A case in which this event writes, for a generation that is current or not."""

        def wrong(case: Case) -> int:
            session = case.links.get("session")
            if session is None:
                return 9
            if (session.data.last != self.number(case)) != orphan:
                return 5
            decision = step(self.machine.table, case.snapshot, case.request, case.by, case.links)
            if isinstance(decision, Accepted):
                return not self.wrote(decision)
            return 1 + min(faults_of(self.machine, case))

        return seek(Random(5), self.machine, self.machine.table.states[state], event, wrong, 600)


def of_generation(case: Case) -> Any:
    generation = case.links["generation"]
    return generation and generation.data.number


SHOWN = (GuardEvaluation.admitted, GuardEvaluation.clean, GuardEvaluation.warned)

OWNED = (
    Owned(
        Generation,
        lambda case: case.snapshot.data.number,
        lambda taken: True,
        {"admit", "admit_uncancelled", "fold", "tools_admitted", "rows_complete", "stream_registered"}
        | {"exit_ok", "exit_cancelled", "exit_failed"},
        {"force_abandon", "superseded", "session_shut"},
    ),
    Owned(
        Toolcall,
        of_generation,
        lambda taken: taken.after.data.wrote is not None,
        {"answer", "stop"},
        {"force_abandon"},
    ),
    Owned(
        Lease,
        lambda case: case.snapshot.data.generation,
        lambda taken: taken.after.state == Lease.granted,
        {"grant"},
        set(),
    ),
    Owned(
        GuardEvaluation,
        lambda case: case.snapshot.data.generation,
        lambda taken: taken.after.state in SHOWN,
        {"admit_rows", "show_warning"},
        set(),
    ),
)


@pytest.mark.parametrize(
    ("owned", "state", "event"), [(owned, *cell) for owned in OWNED for cell in owned.cells()], ids=str
)
def test_what_an_orphan_does_is_never_written(owned: Owned, state: str, event: str) -> None:
    assert owned.written(state, event, orphan=True) is None


@pytest.mark.parametrize("owned", OWNED, ids=str)
def test_the_same_is_written_by_the_current_generation(owned: Owned) -> None:
    found = {event for state, event in owned.cells() if owned.written(state, event, orphan=False)}
    assert found == owned.writers
