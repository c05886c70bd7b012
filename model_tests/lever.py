"""Small machines for the tests of stores and kernels: a frame, its levers, and a bell.

A lever is pulled by one hand at a time, while its frame is open; the frame closes when no lever stands pulled.
"""

from enum import Enum
from typing import Annotated, Any

import attrs

from ..machines.kernel import (
    Epoch,
    Event,
    Id,
    Link,
    Machine,
    Principal,
    Range,
    Seen,
    State,
    Tally,
    carried,
    effect,
    fire_and_forget,
    guard,
    refused,
    rule,
    settled,
)

__all__ = ["Bell", "Frame", "FrameData", "Lever", "LeverData", "Way", "move", "ring"]


@attrs.frozen
class FrameData:
    box: Id
    epoch: Epoch = 0


@attrs.frozen
class Opened:
    box: Id


@guard("frame-closes-clear", "no lever may stand pulled in a frame that closes")
def clear(pulled: int) -> bool:
    return pulled == 0


def opened(box: Id) -> FrameData:
    return FrameData(box)


def later(data: FrameData) -> FrameData:
    return attrs.evolve(data, epoch=data.epoch + 1)


class Frame(Machine):
    """Where levers stand."""

    pulled = Tally()

    absent = State(initial=True)
    open = State()
    shut = State(final=True)

    start: Event[Opened] = absent.to(open, on=opened)
    tick: Event[None] = open.to(open, on=later)
    close: Event[None] = open.to(shut, cond=clear)

    rules = [
        settled(close, when=shut, rule="frame-closed-once", why="a frame that is shut stays shut"),
        rule("frame-opened-first", absent, why="a frame is opened first"),
        rule("frame-closed-once", shut),
        refused(start, when=open, rule="frame-opened-once", why="a frame is opened once"),
    ]


class Bell(Machine):
    """Rings for those who pull."""

    absent = State(initial=True)
    silent = State()
    rung = State(final=True)

    start: Event[None] = absent.to(silent)
    strike: Event[None] = silent.to(rung)

    rules = [
        rule("bell-hung-first", absent, why="a bell is hung first"),
        rule("bell-rung-once", rung, why="a bell rings once"),
        refused(start, when=silent, rule="bell-hung-once", why="a bell is hung once"),
    ]


class Way(Enum):
    STRAIGHT = "straight"
    LEFT = "left"


@attrs.frozen
class LeverData:
    number: Id
    ways: frozenset[Id]
    hand: Principal | None = None
    force: Annotated[int, Range(0, 100)] = 0
    way: Way = Way.STRAIGHT


@attrs.frozen
class Placed:
    number: Id
    ways: frozenset[Id]


@attrs.frozen
class Pull:
    force: Annotated[int, Range(0, 100)]
    way: Way
    note: str = carried()


@attrs.frozen
class Arrived:
    by_itself: bool


@guard("frame-open", "levers move only in a frame that is open")
def frame_open(frame: Seen[FrameData]) -> bool:
    return frame.state == Frame.open


@guard("bell-before-pull", "the bell that was named must have rung")
def announced(bell: Seen[None] | None) -> bool:
    return bell is None or bell.state == Bell.rung


def placed(number: Id, ways: frozenset[Id]) -> LeverData:
    return LeverData(number, ways)


def taken(data: LeverData, by: Principal, force: int, way: Way) -> LeverData:
    return attrs.evolve(data, hand=by, force=force, way=way)


def move(data: LeverData, note: str) -> Any:
    """Moves the points."""
    return {"number": data.number, "way": data.way.value, "note": note, "steps": [1, 2.5, None, True]}


def ring(data: LeverData) -> Any:
    """Tells the next box."""
    return data.number


class Lever(Machine):
    """One lever of a frame."""

    absent = State(initial=True)
    normal = State()
    pulled = State()
    thrown = State()
    broken = State(final=True)

    frame = Link(Frame, counts={Frame.pulled: (pulled, thrown)})
    bell = Link(Bell, per_event=True, optional=True)

    start: Event[Placed] = absent.to(normal, cond=frame_open, on=placed)
    pull: Event[Pull] = normal.to(pulled, cond=[frame_open, announced], on=taken, after=[move, ring])
    arrived: Event[Arrived] = pulled.to(thrown)
    stuck: Event[None] = pulled.to(broken)
    lost: Event[None] = pulled.to(pulled)
    put_back: Event[None] = thrown.to(normal, after=ring)
    scrap: Event[None] = normal.to(broken) | thrown.to(broken)

    rules = [
        settled(scrap, when=broken, rule="lever-scrapped-once", why="what is broken stays broken"),
        rule("lever-placed-first", absent, why="a lever is placed first"),
        rule("lever-scrapped-once", broken),
        refused(start, otherwise=True, rule="lever-placed-once", why="a lever is placed once"),
        rule("lever-moves-in-order", otherwise=True, why="a lever is pulled, arrives, and is put back"),
    ]
    effects = [effect(move, done=arrived, failed=stuck, unknown=lost), fire_and_forget(ring, "nobody answers a bell")]
