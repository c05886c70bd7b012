"""What happened in a race, and whether it could have: every call with its begin and its end, and the journal.

The machines judge. Here is only what no machine can know: that the journal has each accepted step once, and no other.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import attrs

from ...machines.checking import Begin, Checker, Record, Recorded, Report, World
from ...machines.kernel import Accepted, Decision, Kernel, Machine, Ref, Request, Snapshot, State
from ...machines.kernel.payloads import plain
from ...machines.kernel.store import Store
from .schedule import Watch

__all__ = ["Call", "Ground", "History"]


class Ground(Protocol):
    """What a race runs on: one store that all actors share, and a look at its journal."""

    @property
    def watch(self) -> Watch:
        """Tells a schedule of the points that a thread passes in the store."""

    @property
    def store(self) -> Store:
        """The store; a thread that has a connection in it has one of its own."""

    def journal(self) -> Iterable[Recorded]:
        """The store's journal, oldest first, each row with the state and the data that it led to."""

    def close(self) -> None:
        """Give up the store."""


@attrs.frozen
class Call:
    """One fire of one actor, and its own decision."""

    actor: str
    ref: Ref
    request: Request
    decision: Decision

    def __str__(self) -> str:
        made, decision = f"{self.actor}: {_spelled(self.ref.id, self.request)}", self.decision
        if isinstance(decision, Accepted):
            return f"{made} is accepted: {decision.transition or 'already done'}"
        return f"{made} is refused: {decision.rule}"

    @property
    def step(self) -> Snapshot[Any] | None:
        """What the instance became by this call; None when nothing changed."""
        return self.decision.after if isinstance(self.decision, Accepted) and self.decision.transition else None


class History:
    """All calls since an instance was born, as they overlapped.

    Args:
        machines: the lifecycles by name.
    """

    def __init__(self, machines: Mapping[str, type[Machine]]) -> None:
        self.machines = machines
        self.calls: list[Call] = []
        self._live = Checker(World(machines), Begin("calls", complete=True))
        self._replay = Checker(World(machines), Begin("journal", complete=True))
        self._replayed = 0
        self._records: list[Record] = []
        self._begun = 0

    def call(self, kernel: Kernel, actor: str, ref: Ref, request: Request, by: Any) -> Decision:
        """Fire, and keep when the call began and ended. Of all threads only one may run at a time."""
        self._begun += 1
        invoked = Record(ref.machine, ref.id, request.name, plain(request.payload), _ids(request.links), by=by)
        invoked.phase, invoked.call = "invoke", f"{actor} {self._begun}"
        self._records.append(invoked)
        decision = kernel.fire(ref, request, by=by)
        outcome = "accepted" if decision.accepted else "refused"
        self._records.append(attrs.evolve(invoked, phase="return", outcome=outcome))
        self.calls.append(Call(actor, ref, request, decision))
        return decision

    def alone(self, kernel: Kernel, actor: str, ref: Ref, request: Request, by: Any) -> Decision:
        """Fire while nobody else does."""
        decision = self.call(kernel, actor, ref, request, by)
        del self._records[-2]
        self._records[-1].phase = None
        return decision

    def faults(self, ground: Ground) -> Iterator[str]:
        """What cannot be, in words; nothing when all is well."""
        for record in self._records:
            self._live.feed(record)
        self._records.clear()
        yield from _unlawful(self._live.finish())
        journal = list(ground.journal())
        for row in journal[self._replayed :]:
            self._replay.feed(row)
        self._replayed = len(journal)
        yield from _unlawful(self._replay.finish())
        yield from self._lost(ground, journal)

    def _lost(self, ground: Ground, journal: Iterable[Recorded]) -> Iterator[str]:
        """Steps that the journal has and no caller was told of, or the other way round, and what is not kept."""
        told: dict[Ref, dict[int, tuple[str, Snapshot[Any]]]] = {}
        for call in self.calls:
            if after := call.step:
                told.setdefault(call.ref, {})[after.version] = call.request.name, after
        kept: dict[Ref, list[tuple[str | None, str | None]]] = {ref: [] for ref in told}
        for row in journal:
            kept.setdefault(Ref(row.machine, row.id), []).append((row.event, row.state))
        for ref, rows in kept.items():
            steps = [step for _, step in sorted(told.get(ref, {}).items())]
            if [(event, after.state.id) for event, after in steps] != rows:
                yield f"the callers were told of other steps of {ref} than the journal has: {rows}"
            elif ground.store.read(self.machines[ref.machine].table, ref) != steps[-1][1]:
                yield f"{ref} is not what its last caller was told"

    def winners(self, ref: Ref, state: State) -> list[Call]:
        """The calls that were told that they took an instance into a state."""
        return [call for call in self.calls if call.ref == ref and (after := call.step) and after.state is state]


def _ids(links: Mapping[str, Ref]) -> dict[str, str | None]:
    return {name: target.id for name, target in links.items()}


def _unlawful(report: Report) -> Iterator[str]:
    for violation in report.violations:
        yield f"the {report.trace} break {violation.rule}: {violation.message}"
    if report.verdict == "undecided":
        yield f"the {report.trace} cannot be decided: {report.note}"


def _spelled(name: str, request: Request) -> str:
    """A request as one would write it: `cycle.approve(digest='a', lease=lease_a)`."""
    fields = [field.name for field in request.event.spec.fields if field.decides]
    given = {name: repr(getattr(request.payload, name)) for name in fields}
    given |= {link: ref.id for link, ref in request.links.items()}
    return f"{name}.{request.name}({', '.join(f'{field}={value}' for field, value in given.items())})"
