"""A small machine for tests of what the levers lack: bounds, invariants, a debt with an end, a monitor, a lost owner.

On a single line one train at a time carries the staff; whoever holds it may enter, and it is hung up again before the
line is shut.
"""

from typing import Annotated

import attrs

from ..machines.kernel import (
    Event,
    Id,
    Link,
    Machine,
    Range,
    Seen,
    Snapshot,
    State,
    guard,
    invariant,
    monitor,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
)
from .lever import Frame, FrameData

__all__ = ["Carried", "Staff", "StaffData"]


@attrs.frozen
class StaffData:
    hand: Id | None = None
    trips: Annotated[int, Range(0, 3)] = 0
    worn: bool = False


@attrs.frozen
class Carried:
    hand: Id


@guard("staff-on-open-line", "nobody enters a line that is shut")
def line_open(line: Seen[FrameData]) -> bool:
    return line.state == Frame.open


@guard("staff-by-its-hand", "only who carries the staff may give it back")
def own_hand(data: StaffData, hand: Id) -> bool:
    return data.hand == hand


def hung_up() -> StaffData:
    return StaffData()


def taken_by(data: StaffData, hand: Id) -> StaffData:
    return attrs.evolve(data, hand=hand, trips=data.trips + 1)


def given(data: StaffData) -> StaffData:
    return attrs.evolve(data, hand=None)


def handed_over(data: StaffData, hand: Id) -> StaffData:
    return attrs.evolve(data, hand=hand)


def broken(data: StaffData) -> StaffData:
    return attrs.evolve(data, worn=True)


def line_shut(line: Seen[FrameData]) -> bool:
    return line.state == Frame.shut


@invariant("staff-hung-by-nobody", "a staff is in a hand exactly while it is out")
def one_hand(state: State, data: StaffData) -> bool:
    return (data.hand is not None) == (state == Staff.out)


@invariant("staff-sound", "a worn staff is not used")
def sound(state: State, data: StaffData) -> bool:
    return not data.worn


@step_invariant("staff-changes-no-hand", "a staff is hung up between two hands")
def by_way_of_the_hook(before: StaffData, after: StaffData) -> bool:
    return None in (before.hand, after.hand) or before.hand == after.hand


def looked(looks: int, event: str, before: Snapshot[StaffData], after: Snapshot[StaffData]) -> int:
    return min(looks + (event == "look"), 2)


def too_often(looks: int) -> bool:
    return looks > 1


class Staff(Machine):
    """The staff of one line: on its hook, or out with a train."""

    durable = False

    line = Link(Frame)

    absent = State(initial=True)
    hung = State()
    out = State()
    lost = State(final=True)

    start: Event[None] = absent.to(hung, on=hung_up)
    take: Event[Carried] = hung.to(out, cond=line_open, on=taken_by)
    give: Event[Carried] = out.to(hung, cond=own_hand, on=given)
    snatch: Event[Carried] = out.to(out, on=handed_over)
    drop: Event[None] = out.to(hung)
    wear: Event[None] = hung.to(hung, on=broken)
    look: Event[None] = hung.to(hung) | out.to(out)
    owner_lost: Event[None] = hung.to(lost) | out.to(lost, on=given)

    rules = [
        settled(owner_lost, when=lost, rule="staff-lost-once", why="what is lost stays lost"),
        rule("staff-hung-first", absent, why="a staff is hung up first"),
        rule("staff-on-its-hook", hung, why="a staff on its hook is not out"),
        rule("staff-out", out, why="a staff that is out is not on its hook"),
        rule("staff-lost-once", lost),
        refused(start, when=(hung, out), rule="staff-hung-once", why="a staff is hung up once"),
    ]
    owes = {out: owe("staff-hung-before-shut", "a staff is hung up before its line is shut", until=line_shut)}
    invariants = [one_hand, sound]
    step_invariants = [by_way_of_the_hook]
    monitors = [
        monitor("staff-seen-once", "a staff is looked at once at most", start=0, advance=looked, bad=too_often),
    ]
