"""The one currency of checking: records in, reports out."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import attrs

from ..kernel.errors import BadInput

__all__ = ["SEVERITY", "Begin", "Debt", "Record", "Recorded", "Report", "Torn", "Verdict", "Violation", "worst"]


class Torn(BadInput):
    """The last record is cut off: what stands before it can be judged."""


Verdict = Literal["ok", "incomplete", "undecided", "unreadable", "violation"]
SEVERITY: tuple[Verdict, ...] = ("ok", "incomplete", "undecided", "unreadable", "violation")
"""Verdicts, worst last."""


def worst(verdicts: "list[Verdict]") -> Verdict:
    """The worst of several verdicts; ok of none."""
    return max(verdicts, key=SEVERITY.index, default="ok")


@attrs.frozen
class Begin:
    """A trace begins: one run, one session, one journal. What follows belongs to it until the next one begins.

    A trace that is `complete` shows the birth of all its instances; else an event of an unborn instance is a slice.
    """

    trace: str
    complete: bool = False
    total: bool = True
    """Whether the order of the records is the order of events, or only that of each actor."""
    not_checked: tuple[str, ...] = ()
    """Rules that the format cannot show."""


class Recorded(Protocol):
    """What the checker reads of a record; a fast reader may have a class of its own."""

    @property
    def machine(self) -> str: ...

    @property
    def id(self) -> str: ...

    @property
    def event(self) -> str | None: ...

    @property
    def payload(self) -> Any: ...

    @property
    def links(self) -> Mapping[str, str | None] | None: ...

    @property
    def line(self) -> int: ...

    @property
    def by(self) -> Any: ...

    @property
    def event_id(self) -> str | None: ...

    @property
    def actor(self) -> str | None: ...

    @property
    def outcome(self) -> str | None: ...

    @property
    def state(self) -> str | None: ...

    @property
    def data(self) -> Mapping[str, Any] | None: ...

    @property
    def phase(self) -> str | None: ...

    @property
    def call(self) -> str | None: ...

    @property
    def adopted(self) -> bool: ...


@attrs.define
class Record:
    """One line of a trace, as a reader translates it.

    Without `event` it is an observation. With `phase` it is one end of a call: the event happens, once, somewhere
    between invoke and return; an invoke that never returns is a hidden move, which may have happened or not. A call
    may return with the outcome `refused`, or `lapsed`: it has not happened, for a reason outside of the machine.
    """

    machine: str
    id: str
    event: str | None = None
    payload: Any = None
    """Fields by name, or the raw JSON object as bytes; UNKNOWN for a field that the format cannot carry."""
    links: Mapping[str, str | None] | None = None
    """Link name to the id of the other instance; None for a link that points nowhere."""
    line: int = 0
    by: Any = None
    event_id: str | None = None
    actor: str | None = None
    outcome: str | None = None
    state: str | None = None
    data: Mapping[str, Any] | None = None
    phase: str | None = None
    call: str | None = None
    adopted: bool = False
    """An observation by which a living instance was taken over: its birth is not shown, all of its data is."""


@attrs.frozen
class Violation:
    """The first line that breaks a rule, with all that a person needs to see why."""

    rule: str
    line: int
    machine: str
    id: str
    state: str
    """Before; several joined by `|` where the trace leaves them open."""
    event: str
    message: str
    expected: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    """Each false guard with the values that it saw."""
    because_line: int | None


@attrs.frozen
class Debt:
    """An obligation that is open at the end of a trace."""

    machine: str
    id: str
    state: str
    owes: str
    line: int


@attrs.frozen
class Report:
    """The verdict on one trace."""

    trace: str
    verdict: Verdict
    instances: int
    events: int
    violations: tuple[Violation, ...] = ()
    warnings: tuple[str, ...] = ()
    open: tuple[Debt, ...] = ()
    not_checked: tuple[str, ...] = ()
    note: str = ""
    """Why it could not be read or decided."""
