"""One row of a lifecycle table as a case: from this state, with these links and this payload, that outcome.

Written from the tables by hand and never read by the product; `test_rows` runs each and counts them against the tables.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ...machines.kernel import Machine, Seen, State

__all__ = ["Row"]


@attrs.frozen
class Row:
    """A table row, for every combination of its states and events."""

    id: str
    """`turnstone-9.14`: table 9, 14th row; several cases may share it."""
    machine: type[Machine]
    states: tuple[State, ...]
    events: tuple[Any, ...]
    """The machine's events, e.g. `(Approval.approve,)`."""
    to: State | str | None = None
    """The state after; the source itself when the table says `=`; None when refused; "settled" when already done."""
    rule: str = ""
    """The rule of a refusal; for an accepted row the table's rule, for the reader."""
    data: Any = None
    payload: Mapping[str, Any] = attrs.field(factory=dict)
    links: Mapping[str, Seen[Any] | None] = attrs.field(factory=dict)
    tallies: Mapping[str, int] = attrs.field(factory=dict)
    by: str | None = None
    then: Any = None
    """The data after, where the row says something about it."""
    note: str = ""
