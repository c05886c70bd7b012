"""Stop, two clicks, a deadline and a successor race for one approval: one wins, and all learn their own outcome.

Source: turnstone-races.md 6, 8 to 12, 17 to 19.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from ..machines.admission import Admission
from ..machines.approval import Approval
from ..machines.kernel import Ref, Refused, Snapshot, Table
from ..machines.kernel.store import Entry
from ..machines.lease import Lease
from ..machines.session import Session
from .generate.history import Ground
from .generate.race import Arena, race_of
from .generate.schedule import every
from .generate.world import Actor, Fire, World, fire
from .grounds import BatonLock, MemoryGround, NoLock, Pointed, SQLiteGround

GROUNDS: dict[str, Callable[[], Ground]] = {"memory": MemoryGround, "sqlite": SQLiteGround}

_HOME = {"session": "session", "admission": "admission"}
_FIRST = {**_HOME, "epoch": 0, "generation": 0}

WORLD = World(
    by="a",
    opening=[
        fire("session", Session.start, principal="a"),
        fire("admission", Admission.start),
        fire("bundle", Lease.start, **_FIRST),
        fire("bundle", Lease.grant),
        fire("cycle", Approval.start, digest="a", principal="a", bounded=True, bundle="bundle", **_HOME),
        fire("cycle", Approval.show),
        fire("bundle", Lease.release),
        fire("cycle", Approval.publish),
        fire("lease_a", Lease.start, **_FIRST),
        fire("lease_a", Lease.grant),
        fire("lease_b", Lease.start, **_FIRST),
        fire("later_bundle", Lease.start, epoch=1, generation=1, **_HOME),
    ],
    actors={
        "stop": Actor(
            "a",
            [
                fire("session", Session.stop),
                fire("admission", Admission.sweep_begin),
                fire("cycle", Approval.cancel),
                fire("later", Approval.cancel),
                fire("cycle", Approval.tell),
                fire("later", Approval.tell),
                fire("admission", Admission.sweep_end),
            ],
        ),
        "click_a": Actor(
            "a",
            [
                fire("cycle", Approval.approve, lease="lease_a"),
                fire("cycle", Approval.deny, lease="lease_a"),
                fire("lease_a", Lease.release),
            ],
        ),
        "click_b": Actor(
            "b",
            [
                fire("lease_b", Lease.grant),
                fire("cycle", Approval.approve, lease="lease_b"),
                fire("cycle", Approval.deny, lease="lease_b"),
                fire("later", Approval.approve, lease="lease_b"),
                fire("lease_b", Lease.release),
            ],
        ),
        "deadline": Actor(None, [fire("cycle", Approval.time_out), fire("later", Approval.time_out)]),
        "successor": Actor(
            "a",
            [
                fire("session", Session.claim),
                fire("later_bundle", Lease.grant),
                fire("later", Approval.start, digest="a", principal="a", bounded=True, bundle="later_bundle", **_HOME),
                fire("later", Approval.show),
                fire("later_bundle", Lease.release),
                fire("later", Approval.publish),
            ],
        ),
    },
    decided={Approval.ref("cycle"): Approval.resolved, Approval.ref("later"): Approval.resolved},
)


@pytest.mark.parametrize("store", GROUNDS)
def test_one_wins_and_every_caller_is_told_so(store: str) -> None:
    ran: list[str] = []
    race = race_of(WORLD, GROUNDS[store], ran=lambda schedule: ran.append(str(schedule)))
    run_state_machine_as_test(race, settings=settings(stateful_step_count=12))
    assert [schedule for schedule in ran if ":busy" in schedule], "nobody ever met another one's transaction"


_APPROVE = fire("cycle", Approval.approve, lease="lease_a", digest="a", always=False, feedback=False)
_AGAINST = {
    "deadline": ([_APPROVE], [fire("cycle", Approval.time_out)], {("click_a",), ("deadline",)}),
    "stop": (
        [_APPROVE, fire("lease_a", Lease.release)],
        [fire("session", Session.stop), fire("admission", Admission.sweep_begin), fire("cycle", Approval.cancel)],
        {("click_a",), ("stop",), ()},
    ),
}
"""What a click and another one fire, and who may win: nobody where the sweep found a lease that was still granted."""


@pytest.mark.parametrize("other", _AGAINST)
@pytest.mark.parametrize(("store", "preemptions"), [("memory", 2), ("sqlite", 1)])
def test_every_schedule_of_a_click_and_another_one_has_one_winner(store: str, preemptions: int, other: str) -> None:
    click, against, possible = _AGAINST[other]
    won: set[tuple[str, ...]] = set()
    for choose in every(preemptions):
        ground = GROUNDS[store]()
        arena = Arena(WORLD, ground)
        arena.race({"click_a": _asked(click), other: _asked(against)}, choose)
        won.add(tuple(call.actor for call in arena.history.winners(Approval.ref("cycle"), Approval.resolved)))
        ground.close()
    assert won == possible


def _asked(fires: list[Fire]) -> list[Any]:
    return [(fire.ref, fire.request(), None) for fire in fires]


class ReadsFirst(Pointed):
    """A store that reads what it decides upon before its transaction begins, and writes later."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        work = _Noted(self)
        yield work
        with super().transaction() as real:
            for entry in work.entries:
                real.append(entry)


class _Noted:
    def __init__(self, store: Pointed) -> None:
        self.store = store
        self.entries: list[Entry] = []

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        return self.store.read(table, ref)

    def tallies(self, table: Table, ref: Ref) -> dict[str, int]:
        return {name: self.store.tallies.get((ref, name), 0) for name in table.tallies}

    def dependents(self, owner: Ref, table: Table, states: Collection[str] | None = None) -> tuple[Ref, ...]:
        return self.store.dependents(owner, table)

    def refuse(self, refused: Refused, event: str) -> None:
        self.store.audit.append((event, refused))

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    def rollback(self) -> None:
        self.entries.clear()


PLANTED: dict[str, Callable[[], Pointed]] = {
    "no lock": lambda: Pointed(NoLock()),
    "reads first": lambda: ReadsFirst(BatonLock()),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_store_that_lets_two_win_is_found_and_shrunk(planted: str) -> None:
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(
            race_of(WORLD, lambda: MemoryGround(PLANTED[planted]())),
            settings=settings(
                stateful_step_count=10,
                derandomize=True,
                database=None,
                report_multiple_bugs=False,
                phases=[Phase.generate, Phase.shrink],
            ),
        )
    printed = "\n".join(failure.value.__notes__)
    fires = [line for line in printed.splitlines() if line.startswith("state.") and "teardown" not in line]
    assert len(fires) == 2, printed
    assert len([line for line in fires if "pause=None" not in line]) == 1, printed
    assert " break " in str(failure.value)
    assert " -> " in str(failure.value)
