"""Small machines for tests of links that come before what they name: a signal box, and those who keep watch in it.

A watch may begin before its box is opened, and a box is opened only by those who watch. Nobody leaves a watch unended
when the box is shut and its bell has rung.
"""

from enum import Enum
from typing import Any

import attrs

from ..machines.kernel import (
    Event,
    Link,
    Machine,
    Seen,
    State,
    Tally,
    carried,
    fire_and_forget,
    guard,
    owe,
    refused,
    rule,
)
from .lever import Bell

__all__ = ["Box", "Sound", "Watch", "report"]


@guard("box-opened-by-a-watch", "a box is opened only while somebody watches")
def manned(watching: int) -> bool:
    return watching > 0


class Box(Machine):
    """Where a watch is kept."""

    watching = Tally()

    absent = State(initial=True)
    open = State()
    shut = State(final=True)

    start: Event[None] = absent.to(open, cond=manned)
    air: Event[None] = open.to(open)
    close: Event[None] = open.to(shut)

    rules = [
        rule("box-opened-first", absent, why="a box is opened first"),
        rule("box-shut-once", shut, why="a box is shut once"),
        refused(start, when=open, rule="box-opened-once", why="a box is opened once"),
    ]


def over(box: Seen[None], bell: Seen[None]) -> bool:
    return box.state == Box.shut and bell.state == Bell.rung


class Sound(Enum):
    NONE = "silent"
    HEARD = "rung"


@attrs.frozen
class Signed:
    name: str = carried()
    hour: float | None = carried(None)
    words: Any = carried(None)


def report(bell: Seen[None], words: Any) -> tuple[Sound, Any]:
    """Tells what the bell did, and what is to be said of it."""
    return Sound(bell.state.id), words


class Watch(Machine):
    """One watch, from its beginning until it is signed off."""

    absent = State(initial=True)
    awake = State()
    ended = State(final=True)

    box = Link(Box, counts={Box.watching: (awake,)})
    bell = Link(Bell)

    start: Event[None] = absent.to(awake)
    sign_off: Event[Signed] = awake.to(ended, after=report)

    rules = [
        rule("watch-begun-first", absent, why="a watch begins first"),
        rule("watch-ended-once", ended, why="a watch ends once"),
        refused(start, when=awake, rule="watch-begun-once", why="a watch begins once"),
    ]
    owes = {awake: owe("watch-ended-in-time", "a watch ends before its box is shut and its bell rung", until=over)}
    effects = [fire_and_forget(report, "it is read the next morning")]
