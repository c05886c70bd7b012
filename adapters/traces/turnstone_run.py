"""One recorded run of Turnstone: its rows, who wrote what on which thread, and the records that are made of them.

A run is read whole, because some rows only say that something is over: the invoke of such a record stands at an earlier
row of the same thread. Nothing here knows an event or a rule.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ...machines.checking import Record
from ...machines.kernel import BadInput

__all__ = ["Row", "Run"]

_WITHIN = ("storage", "client_stream")
"""Components whose rows are part of what their thread is doing: they neither begin nor end it."""
_PART_OF_COMMIT = "cancel_synthesis"


@attrs.frozen
class Row:
    """One line of a recording. An absent field is null, which means: not applicable."""

    line: int
    index: int
    thread: str
    component: str
    op: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """A string field."""
        value: str | None = self._typed(name, str)
        return value

    def said(self, name: str) -> str:
        """A string field without which the row has no meaning."""
        value = self.text(name)
        if value is None:
            raise BadInput(f"line {self.line}: {self.op} does not say {name}, and without it the row means nothing")
        return value

    def flag(self, name: str) -> bool | None:
        """A field that is true or false."""
        value: bool | None = self._typed(name, bool)
        return value

    def count(self, name: str) -> int | None:
        """A whole number."""
        value: int | None = self._typed(name, int)
        return self._wrong(name, value) if isinstance(value, bool) else value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; empty when absent."""
        values: list[Any] = self._typed(name, list) or []
        return tuple(value if isinstance(value, str) else self._wrong(name, value) for value in values)

    def table(self, name: str) -> Mapping[str, Any]:
        """An object; empty when absent."""
        return self._typed(name, dict) or {}

    def tables(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """A list of objects; empty when absent."""
        values: list[Any] = self._typed(name, list) or []
        return tuple(value if isinstance(value, dict) else self._wrong(name, value) for value in values)

    def _typed(self, name: str, kind: type) -> Any:
        value = self.fields.get(name)
        return value if value is None or isinstance(value, kind) else self._wrong(name, value)

    def _wrong(self, name: str, value: Any) -> Any:
        raise BadInput(f"line {self.line}: {self.op} has {name} {value!r:.60}, which is of another type")


class Run:
    """The rows of a run in order, and for each row the records that stand there.

    Args:
        rows: the rows, numbered from 0 by their index.
    """

    def __init__(self, rows: tuple[Row, ...]) -> None:
        self.rows = rows
        self._records: list[list[Record]] = [[] for _ in rows]
        self._last: dict[str, Row] = {}
        self._before: list[Row] = []
        self._since: list[Row] = []
        self._report: list[Row | None] = [None] * len(rows)
        self._places: dict[tuple[str | None, str], list[int]] = {}
        self._calls = 0
        for row in rows:
            before = self._last.get(row.thread)
            self._before.append(before or rows[0])
            self._since.append(self._since[before.index] if before and _is_part(before) else before or rows[0])
            self._last[row.thread] = row
            for place in ((row.thread, row.op), (None, row.op)):
                self._places.setdefault(place, []).append(row.index)
        reports: dict[str, Row] = {}
        for row in reversed(rows):
            self._report[row.index] = reports.get(row.thread)
            if not _is_part(row):
                reports[row.thread] = row

    def before(self, row: Row) -> Row:
        """The thread's previous row; where there is none, the first row of the run."""
        return self._before[row.index]

    def since(self, row: Row) -> Row:
        """The thread's previous row that is no part of what this row reports."""
        return self._since[row.index]

    def report(self, row: Row) -> Row | None:
        """The next row of the thread that this row can be a part of; None where the recording ends before it."""
        return self._report[row.index]

    def later(self, row: Row, *ops: str) -> Row | None:
        """The thread's next row of one of some kinds."""
        found = [place[at] for op in ops if (at := bisect_right(place := self._place(row, op), row.index)) < len(place)]
        return self.rows[min(found)] if found else None

    def within(self, row: Row, op: str, *ends: str) -> Iterator[Row]:
        """The thread's later rows of a kind, up to the next of some other kinds."""
        place, end = self._place(row, op), self.later(row, *ends)
        for at in range(bisect_right(place, row.index), len(place)):
            if end is not None and place[at] > end.index:
                return
            yield self.rows[place[at]]

    def meanwhile(self, row: Row, op: str, end: Row | None) -> Iterator[Row]:
        """The later rows of a kind on any thread, up to another row."""
        place = self._places.get((None, op), [])
        for at in range(bisect_right(place, row.index), len(place)):
            if end is not None and place[at] > end.index:
                return
            yield self.rows[place[at]]

    def _place(self, row: Row, op: str) -> list[int]:
        return self._places.get((row.thread, op), [])

    def at(
        self, row: Row, machine: str, id: str, event: str, payload: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        """Something that happens at its row. `more` are fields of the record: links, by, outcome."""
        self._put(row, Record(machine, id, event, payload, line=row.line, **more))

    def invoke(
        self, row: Row, machine: str, id: str, event: str, payload: Mapping[str, Any] | None = None, **more: Any
    ) -> Record:
        """Something that happens at some time after its row: give what is returned to `back`."""
        self._calls += 1
        call = f"{row.line}.{self._calls}"
        record = Record(machine, id, event, payload, line=row.line, phase="invoke", call=call, **more)
        self._put(row, record)
        return record

    def back(self, row: Row, invoked: Record, outcome: str | None = None) -> None:
        """An invoked call returns: it has happened, was refused, or has lapsed."""
        machine, id, event = invoked.machine, invoked.id, invoked.event
        self._put(row, Record(machine, id, event, line=row.line, phase="return", call=invoked.call, outcome=outcome))

    def over(
        self,
        since: Row,
        row: Row,
        machine: str,
        id: str,
        event: str,
        payload: Mapping[str, Any] | None = None,
        outcome: str | None = None,
        **more: Any,
    ) -> None:
        """Something that was over when its row was written, and that began after an earlier one."""
        self.back(row, self.invoke(since, machine, id, event, payload, **more), outcome)

    def hidden(self, row: Row, machine: str, id: str, event: str, payload: Mapping[str, Any] | None = None) -> None:
        """Something that happens at some time after a row, or never, and that no row reports."""
        self._put(row, Record(machine, id, event, payload, line=row.line, phase="invoke"))

    def records(self) -> Iterator[Record]:
        """All records, in the order of the rows at which they stand."""
        for records in self._records:
            yield from records

    def _put(self, row: Row, record: Record) -> None:
        self._records[row.index].append(record)


def _is_part(row: Row) -> bool:
    return row.component in _WITHIN or row.op == _PART_OF_COMMIT
