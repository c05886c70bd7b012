"""Instances of one machine as rows: how a snapshot is written, and how it comes back."""

from collections.abc import Sequence
from typing import Any, cast

from ...machines.kernel import BadInput, Machine, Ref, Snapshot, State
from ...machines.kernel.payloads import plain, unplain
from ...machines.kernel.table import Table
from . import texts
from .errors import StoreError
from .triggers import other_definition

__all__ = ["Row", "Rows", "defined"]

_REMEMBERED = 1024
"""How many data values are kept with their texts: the instances of one machine share few."""

Row = tuple[Any, ...]
"""state, version, data, links, table hash, seq, and each tally"""


class Rows:
    """How the snapshots of one machine are written and read.

    Args:
        table: the machine.
        path: the file, for errors.
    """

    def __init__(self, table: Table, path: str) -> None:
        self.table = table
        self.path = path
        self.hash = table.hash
        counts = [
            f"coalesce((SELECT n FROM tally WHERE owner_machine = ?1 AND owner_id = ?2 AND name = '{name}'), 0)"
            for name in table.tallies
        ]
        columns = ", ".join(("state, version, data, links, table_hash, seq", *counts))
        self.select = f"SELECT {columns} FROM instance WHERE machine = ?1 AND id = ?2"
        self.count = f"SELECT {', '.join(counts)}"
        self._remembers = all(field.decides for field in table.data_fields)  # what is carried is no part of equality
        self._data: dict[str, Any] = {}
        self._texts: dict[Any, str] = {}

    def write_data(self, data: Any) -> str:
        """Data as JSON.

        Raises:
            BadInput: it could not be read back, because an update put a value of another type into a field.
        """
        text = self._texts.get(data) if self._remembers else None
        if text is None:
            text = texts.write(plain(data), f"data of {self.table.name}")
            self._remember(text, self._read_data(text))
        return text

    def read_data(self, text: str) -> Any:
        data = self._data.get(text)
        if data is None:
            try:
                data = self._read_data(text)
            except (BadInput, ValueError) as error:
                raise StoreError(f"{self.path} has an unreadable row of {self.table.name}: {error}") from None
            self._remember(text, data)
        return data

    def write_payload(self, event: str, payload: Any) -> str:
        return "{}" if payload is None else texts.write(plain(payload), f"payload of {self.table.name}.{event}")

    def read_payload(self, event: str, text: str) -> Any:
        spec = self.table.events[event]
        return unplain(spec.payload, spec.fields, texts.read(text), f"{self.table.name}.{event}")

    def snapshot(self, ref: Ref, row: Row) -> Snapshot[Any]:
        """The instance that a row describes.

        Raises:
            StoreError: another definition decided it, or it cannot be read.
        """
        state, version, data, links, table_hash, _, *counts = row
        if table_hash != self.hash:
            raise StoreError(other_definition(self.path, self.table, table_hash))
        tallies = self.tallies(counts)
        return Snapshot(ref, self.state(state), version, self.read_data(data), texts.read_links(links), tallies)

    def tallies(self, counts: Sequence[int]) -> dict[str, int]:
        return dict(zip(self.table.tallies, counts, strict=True))

    def state(self, name: str) -> State:
        """The state by name; one that the machine does not have is handed on, for the kernel to refuse."""
        return self.table.states.get(name) or cast(State, State()._set_id(name))

    def _read_data(self, text: str) -> Any:
        return unplain(self.table.data, self.table.data_fields, texts.read(text), self.table.name)

    def _remember(self, text: str, data: Any) -> None:
        if self._remembers:
            if len(self._data) >= _REMEMBERED:
                self._data.clear()
                self._texts.clear()
            self._data[text] = data
            self._texts[data] = text


def defined(machine: str, table_hash: str) -> Table | None:
    """The definition that a row was decided by, if this program has it."""
    waiting: list[type[Machine]] = [Machine]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        table: Table | None = vars(cls).get("table")
        if table is not None and table.name == machine and table.hash == table_hash:
            return table
    return None
