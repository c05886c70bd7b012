"""The stores of this repository as grounds for a race."""

import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..adapters.stores.points import at, under_schedule
from ..adapters.stores.sqlite import SQLiteStore
from ..adapters.traces import journal
from ..machines.checking import Begin, Record, Recorded
from ..machines.kernel import MemoryStore, Ref, Snapshot, Table
from ..machines.kernel.payloads import plain
from ..machines.kernel.store import Entry, Transaction
from .generate.schedule import Watch

__all__ = ["BatonLock", "MemoryGround", "NoLock", "Pointed", "SQLiteGround"]


class BatonLock:
    """A lock that hands the baton on instead of sleeping."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        while not self._lock.acquire(blocking=False):
            if not blocking:
                return False
            at("busy", blocked=True)
        return True

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_owned(self) -> bool:  # a Condition asks
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]


class NoLock(BatonLock):
    """What a memory store must not have."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return True

    def release(self) -> None:
        pass

    def _is_owned(self) -> bool:
        return True


class Pointed(MemoryStore):
    """A memory store with the points of a store on a disk."""

    def __init__(self, lock: BatonLock) -> None:
        super().__init__(lock)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        at("begin")
        with super().transaction() as work:
            yield _Pointed(work)
            at("commit")
        at("committed")

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        at("read")
        return super().read(table, ref)


class _Pointed:
    def __init__(self, work: Transaction) -> None:
        self.work = work

    def __getattr__(self, name: str) -> Any:
        return getattr(self.work, name)

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        at("read")
        return self.work.read(table, ref)

    def append(self, entry: Entry) -> None:
        at("write")
        self.work.append(entry)


class MemoryGround:
    """One memory store, which all actors share."""

    watch: Watch = staticmethod(under_schedule)

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or Pointed(BatonLock())

    def journal(self) -> Iterable[Recorded]:
        return map(_row, self.store.journal)

    def close(self) -> None:
        pass


def _row(entry: Entry) -> Record:
    after, links = entry.decision.after, {name: ref.id for name, ref in entry.links.items()}
    return Record(
        after.ref.machine,
        after.ref.id,
        entry.event,
        plain(entry.payload),
        links,
        by=entry.by,
        state=str(after.state.id),
        data=plain(after.data),
    )


_MEMORY = Path("/dev/shm")
"""A folder without a disk, where there is one: each race has a new file."""


class SQLiteGround:
    """One file; each actor is a thread of its own and so has a connection of its own."""

    watch: Watch = staticmethod(under_schedule)

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="race", dir=_MEMORY if _MEMORY.is_dir() else None)
        self._path = Path(self._folder.name) / "race.db"
        self.store = SQLiteStore(self._path, synchronous="NORMAL", clock=lambda: 0.0)

    def journal(self) -> Iterable[Recorded]:
        return (record for record in journal.read(self._path) if not isinstance(record, Begin))

    def close(self) -> None:
        self.store.close()
        self._folder.cleanup()
