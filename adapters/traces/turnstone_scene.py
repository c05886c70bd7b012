"""Who is who in a run of Turnstone: the correlation of threads, turns, batches, gates, cycles and leases.

Raw ids are reused within a run (a call id comes back in the next turn) or are missing (a lease has none), so instances
are named by what they belong to. All of it is forgotten with the run.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ...machines.checking import Record
from .turnstone_run import Row, Run

__all__ = ["Batch", "Card", "Click", "GateCall", "GuardCall", "Scene", "Span", "Thread", "Turn"]

_UNNAMED = "session"
"""The session of a run in which no row names one."""


@attrs.define(eq=False)
class Span:
    """The rows between which the epoch of a session is moved."""

    begun: Row
    ended: Row | None = None


@attrs.define(eq=False)
class Batch:
    """The calls of one accepted assistant block, from tools_begin on."""

    turn: "Turn"
    calls: Mapping[str, str]
    """Raw call id to the id of its instance."""
    gate: str | None
    """The id of the gate that the batch will enter, if it enters one."""
    gated: bool = False
    """Has it entered it?"""
    policed: Row | None = None
    """The first row after policy had answered there."""
    written: set[str] = attrs.field(factory=set)
    """Raw ids of the calls whose row was seen."""
    cleared: set[str] = attrs.field(factory=set)
    """Raw ids of the calls that were let through."""
    answers: tuple[Mapping[str, Any], ...] = ()
    """The items as the batch's gate returned them,"""
    approved: bool | None = None
    """and its answer for those that nobody had answered before."""


@attrs.define(eq=False)
class Turn:
    """One generation."""

    id: str
    session: str
    number: int
    epoch: int | None
    """How many Stops and closes of its session came before it; None where one overlapped its claim."""
    accepted: Row | None = None
    """Where the commit of the last assistant block began."""
    batch: Batch | None = None
    """The calls of the last assistant block; None until its tools begin."""
    cancelled: bool = False
    """Was its cancel path committed?"""
    over: bool = False

    def witness(self) -> dict[str, int]:
        """What an operation of this turn compares with its session; what the run leaves open is left out."""
        return {"generation": self.number, **({} if self.epoch is None else {"epoch": self.epoch})}


@attrs.define(eq=False)
class Card:
    """An approval cycle."""

    id: str
    turn: Turn | None
    session: str
    calls: tuple[str, ...]


@attrs.define(eq=False)
class GateCall:
    """One approve call for one batch, on its thread."""

    id: str
    entered: Row
    turn: Turn | None
    items: tuple[Mapping[str, Any], ...]
    batch: Batch | None
    """The batch whose gate this is; a task agent's calls are gated, too, and are of no batch."""
    card: str | None
    """The cycle that this gate will ask with, if it asks."""
    policed: bool = False
    waiting: Row | None = None
    timely: bool = False
    """Had every awaited verdict come when the Smart wait ended?"""


@attrs.define(eq=False)
class Click:
    """One call of resolve_approval, on its thread."""

    row: Row
    card: Card | None
    claimed: bool = False
    told: bool = False


@attrs.define(eq=False)
class GuardCall:
    """One evaluation of an output, on its thread."""

    id: str
    turn: Turn | None
    batch: Batch | None
    raw: str | None
    """The call of the batch whose output it is; None for a task agent's call, and for one that was not let through."""
    asked: Row | None = None
    """Where the model was asked for."""
    model: bool = False
    """Was it asked?"""
    screened: bool = False
    admitted: bool = False
    warned: bool = False


@attrs.define(eq=False)
class Thread:
    """What a thread has begun and not ended, innermost last."""

    name: str
    session: str | None = None
    turn: Turn | None = None
    turns: list[Turn] = attrs.field(factory=list)
    batches: list[Batch] = attrs.field(factory=list)
    gates: list[GateCall] = attrs.field(factory=list)
    clicks: list[Click] = attrs.field(factory=list)
    guards: list[GuardCall] = attrs.field(factory=list)
    sweeps: list[tuple[Record, Record]] = attrs.field(factory=list)
    stops: list[tuple[Span, Record | None]] = attrs.field(factory=list)
    """The second is None for a Stop that is a part of a soft close."""
    soft_closes: list[Record | None] = attrs.field(factory=list)
    """None once its Stop has come."""
    closes: list[tuple[Span, Record, dict[str, Record]]] = attrs.field(factory=list)
    """With the rows that the close may write, by the id of their call."""
    forces: list[tuple[Row, Turn | None, tuple[Record, ...]]] = attrs.field(factory=list)
    leases: list[str] = attrs.field(factory=list)
    """Ids of the leases asked for and not given back."""
    counted: dict[str, int] = attrs.field(factory=dict)

    def fresh(self, kind: str) -> str:
        """An id for the next thing of its kind on this thread."""
        self.counted[kind] = self.counted.get(kind, 0) + 1
        return f"{self.name}/{kind}{self.counted[kind]}"

    def lease(self) -> str | None:
        """The lease that the thread holds, or has asked for."""
        return self.leases[-1] if self.leases else None


class Scene:
    """The correlations of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.turns: dict[tuple[str, int], Turn] = {}
        self.cards: dict[str, Card] = {}
        self._sessions: set[str] = set()
        if run.rows and not any(row.fields.get("session") for row in run.rows):
            self.run.at(run.rows[0], "session", _UNNAMED, "start")
        self.spans: dict[str, list[Span]] = {}
        """For each session the rows between which its epoch was moved."""
        self._threads: dict[str, Thread] = {}
        self._last = _UNNAMED
        self._admission = False

    def thread(self, row: Row) -> Thread:
        """The thread of a row, which may name its session."""
        thread = self._threads.get(row.thread)
        if thread is None:
            thread = self._threads[row.thread] = Thread(row.thread)
        session = row.text("session")
        if session is not None:
            thread.session = self._last = session
            if session not in self._sessions:
                self._sessions.add(session)
                self.run.at(row, "session", session, "start")
        return thread

    def admission(self, row: Row) -> str:
        """The admission of the workstream; there is one in a run."""
        if not self._admission:
            self._admission = True
            self.run.at(row, "admission", "ui", "start")
        return "ui"

    def session(self, thread: Thread) -> str:
        """The session that a thread works for: the last that it named, else the last that anybody named."""
        return thread.session or self._last

    def named(self, row: Row) -> Turn | None:
        """The turn that a row names by its generation."""
        number = row.count("generation")
        return None if number is None else self.turns.get((self.session(self.thread(row)), number))

    def owner(self, thread: Thread) -> Turn | None:
        """The turn that a thread works for: its own, or for a task agent the one turn whose tools are running."""
        if thread.turns:
            return thread.turns[-1]
        if thread.turn is None:
            running = [batch.turn for batch in self.batches()]
            thread.turn = running[0] if len(running) == 1 else None
        return thread.turn

    def batches(self) -> Iterator[Batch]:
        """The batches whose tools are running now, for a turn that is not over."""
        for thread in self._threads.values():
            yield from (batch for batch in thread.batches if not batch.turn.over)

    def moves(self, session: str, row: Row) -> Span:
        """The epoch of a session begins to move."""
        span = Span(row)
        self.spans.setdefault(session, []).append(span)
        return span

    def epoch(self, session: str, since: Row) -> int | None:
        """The epoch of a session from a row till now: how often it was moved before; None when it moved meanwhile."""
        spans = self.spans.get(session, ())
        if any(span.ended is None or span.ended.index >= since.index for span in spans):
            return None
        return len(spans)
