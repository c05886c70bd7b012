"""Waiting for an instance without losing a wake-up."""

import time
from collections.abc import Callable
from typing import Any

import attrs

from .links import State
from .snapshot import Snapshot
from .store import Store

__all__ = ["Waited", "wait"]

_LOOK = 0.05
"""Seconds between looks: another process may commit without telling this one."""


@attrs.frozen
class Waited:
    """How a wait ended."""

    snapshot: Snapshot[Any] | None
    timed_out: bool


def wait(
    store: Store,
    get: Callable[[], Snapshot[Any] | None],
    until: tuple[State, ...],
    deadline: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> Waited:
    """Look, sleep until the store changes, look again.

    Args:
        store: told of every commit of its own process.
        get: reads the instance.
        until: the states to wait for.
        deadline: seconds to wait at most; None for ever.
        clock: monotonic seconds.
    """
    end = None if deadline is None else clock() + deadline
    while True:
        snapshot = get()
        if snapshot is not None and snapshot.state in until:
            return Waited(snapshot, False)
        left = _LOOK if end is None else end - clock()
        if left <= 0:
            return Waited(snapshot, True)
        store.wait(min(left, _LOOK))
