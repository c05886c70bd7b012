"""Instances of one machine as rows: how a snapshot is written, and how it comes back."""

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

Row = tuple[str, int, str, str, str, int, str]
"""state, version, data, links, table hash, seq, tallies"""


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
        state, version, data, links, table_hash, _, tallies = row
        if table_hash != self.hash:
            raise StoreError(other_definition(self.path, self.table, table_hash))
        counted = self.read_tallies(tallies) if self.table.tallies else {}
        return Snapshot(ref, self.state(state), version, self.read_data(data), texts.read_links(links), counted)

    def read_tallies(self, text: str) -> dict[str, int]:
        return {**dict.fromkeys(self.table.tallies, 0), **texts.read(text)}

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
