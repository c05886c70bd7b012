"""Where a race schedule may stop a store: before it begins, reads, writes and commits, and after.

Free in production: without a schedule in the context, a point is one look at a variable.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["at", "scheduled", "under_schedule"]

Hook = Callable[[str, bool], None]

_hook: ContextVar[Hook | None] = ContextVar("leverframe_schedule", default=None)


def at(label: str, blocked: bool = False) -> None:
    """Let the schedule, if there is one, run others first.

    Args:
        label: what comes next.
        blocked: nothing comes next until another made a step: the database answered BUSY.
    """
    hook = _hook.get()
    if hook is not None:
        hook(label, blocked)


def scheduled() -> bool:
    """Whether a schedule decides who goes on; then nobody may sleep for a lock."""
    return _hook.get() is not None


@contextmanager
def under_schedule(hook: Hook) -> Iterator[None]:
    """Call `hook(label, blocked)` at each point that this thread or task passes."""
    token = _hook.set(hook)
    try:
        yield
    finally:
        _hook.reset(token)
