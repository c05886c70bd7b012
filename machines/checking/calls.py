"""Open calls of an instance: the event happens, once, somewhere between invoke and return."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from ..kernel.snapshot import Request

if TYPE_CHECKING:
    from .instance import Instance

__all__ = ["Busy", "Call", "Chance"]


@attrs.frozen
class Chance:
    """What could have become of an event at some time."""

    refusable: bool = False
    """It could have been refused,"""
    surely_refusable: bool = False
    """and that whatever the trace does not show."""
    sure: bool = False
    """It could have been taken, whatever the trace does not show."""
    doubts: frozenset[str] = frozenset()
    """Rules under which it would have been refused, if what the trace does not show is so."""

    def __or__(self, other: "Chance") -> "Chance":
        return Chance(
            self.refusable or other.refusable,
            self.surely_refusable or other.surely_refusable,
            self.sure or other.sure,
            self.doubts | other.doubts,
        )


@attrs.define(eq=False)
class Call:
    """A kind of open call: equal calls on one instance are interchangeable, so they are counted."""

    request: Request
    by: Any
    links: Mapping[str, Any]
    """Link name to the Instance it points to, None for nowhere, UNKNOWN for anything."""
    line: int
    invoked: int = 1
    chance: Chance = attrs.field(factory=Chance)
    """What could have become of it so far."""

    def content(self) -> tuple[Any, ...]:
        """What makes two calls of an instance equal, apart from their links."""
        return self.request.name, self.request.payload, self.by


@attrs.define(eq=False)
class Busy:
    """What only some instances have: open calls of their own, or of others that they affect."""

    kinds: dict[int, Call] = attrs.field(factory=dict)
    calls: dict[str, int] = attrs.field(factory=dict)
    """Call id to its kind."""
    watchers: "dict[Instance, None]" = attrs.field(factory=dict)
    """Instances with an open call that reads this one."""
    feeders: "dict[Instance, None]" = attrs.field(factory=dict)
    """Instances with an open call that may change how they count here."""
    settling: bool = False
    settled: int = -1
    """How much had changed anywhere when the open calls were last followed."""

    def open(self, call: Call) -> int:
        """Open a call; an equal one that is open already is counted instead."""
        for kind, known in self.kinds.items():
            if known.content() == call.content() and known.links == call.links:
                known.invoked += 1
                return kind
        kind = max(self.kinds, default=0) + 1
        self.kinds[kind] = call
        return kind

    def close(self, kind: int) -> None:
        """One call of a kind has returned."""
        call = self.kinds[kind]
        call.invoked -= 1
        if not call.invoked:
            del self.kinds[kind]
