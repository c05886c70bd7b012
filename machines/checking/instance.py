"""One instance as the checker follows it: what it may be, what it points to, and its open calls."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from ..kernel.snapshot import Ref, Request
from ..kernel.table import Table
from .belief import Belief
from .tallies import Tallies

if TYPE_CHECKING:
    from .lane import Lane

__all__ = ["FAR", "Busy", "Call", "Chance", "Instance"]

FAR = 1 << 40
"""More dependents than there can be: an instance whose birth the trace does not show may have any number."""

_IDS = 64
"""Event ids remembered an instance."""


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
    chance: "Chance" = attrs.field(factory=lambda: Chance())
    """What could have become of it so far."""

    def content(self) -> tuple[Any, ...]:
        """What makes two calls of an instance equal, apart from their links."""
        return self.request.name, self.request.payload, self.by


@attrs.define(eq=False)
class Busy:
    """What only some instances have: open calls of their own or of others that they affect, event ids, debtors."""

    kinds: dict[int, Call] = attrs.field(factory=dict)
    calls: dict[str, int] = attrs.field(factory=dict)
    """Call id to its kind."""
    watchers: "dict[Instance, None]" = attrs.field(factory=dict)
    """Instances with an open call that reads this one."""
    feeders: "dict[Instance, None]" = attrs.field(factory=dict)
    """Instances with an open call that may change how they count here."""
    debtors: "dict[Instance, None]" = attrs.field(factory=dict)
    """Instances whose debt may become overdue when this one changes."""
    event_ids: dict[str, Any] = attrs.field(factory=dict)
    settling: bool = False
    settled: int = -1
    """How much had changed anywhere when the open calls were last followed."""

    def bind(self, event_id: str, content: Any) -> None:
        """Remember an event id; the oldest is forgotten beyond the last 64."""
        self.event_ids[event_id] = content
        if len(self.event_ids) > _IDS:
            del self.event_ids[next(iter(self.event_ids))]

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
        call = self.kinds[kind]
        call.invoked -= 1
        if not call.invoked:
            del self.kinds[kind]


class Instance:
    """The checker's view of one instance; small, because a trace may have millions."""

    __slots__ = ("belief", "busy", "id", "lane", "links", "state_line", "tallies", "tally_line")

    def __init__(self, lane: "Lane", id: str, belief: Belief) -> None:
        self.lane = lane
        self.id = id
        self.belief = belief
        self.links: tuple[Any, ...] = lane.nowhere
        """Where each link for life points, in the order of `lane.life`: an Instance, None or UNKNOWN."""
        self.tallies: Tallies = lane.zero
        """Each tally, in the order of the table."""
        self.busy: Busy | None = None
        self.state_line = 0
        self.tally_line = 0

    @property
    def ref(self) -> Ref:
        return Ref(self.lane.table.name, self.id)

    @property
    def table(self) -> Table:
        return self.lane.table

    def occupied(self) -> Busy:
        """The instance's open calls and the like, made when first needed."""
        if self.busy is None:
            self.busy = Busy()
        return self.busy

    def life(self) -> dict[str, Any]:
        """Each link for life by name."""
        return dict(zip(self.lane.life, self.links, strict=True))
