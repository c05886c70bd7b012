"""A store in memory: serializable across threads by one lock, gone with the process."""

import threading
from collections import deque
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any

from .snapshot import Ref, Refused, Snapshot
from .store import Entry, Pending, Transaction, counts
from .table import Table

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps everything in dictionaries.

    Args:
        lock: what makes transactions exclude one another; given only by the test that shows what happens without.
        audit: how many refusals to remember.
    """

    def __init__(self, lock: Any = None, audit: int = 1000) -> None:
        self.changed = threading.Condition(lock or threading.RLock())
        self.snapshots: dict[Ref, Snapshot[Any]] = {}
        self.tallies: dict[tuple[Ref, str], int] = {}
        self.owned: dict[tuple[Ref, str], dict[Ref, None]] = {}
        self.journal: list[Entry] = []
        self.bound: dict[str, Entry] = {}
        self.outbox: list[Pending] = []
        self.taken: dict[str, str] = {}
        self.audit: deque[tuple[str, Refused]] = deque(maxlen=audit)
        self.waiting = 0

    def transaction(self) -> AbstractContextManager[Transaction]:
        return _Transaction(self)

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        found = self.snapshots.get(ref)
        if found is None or not table.tallies:
            return found
        return found.counting({name: self.tallies.get((ref, name), 0) for name in table.tallies})

    def dependents(self, owner: Ref, table: Table) -> tuple[Ref, ...]:
        with self.changed:
            return tuple(self.owned.get((owner, table.name), ()))

    def take(self, taker: str, names: Iterable[str]) -> Pending | None:
        wanted = frozenset(names)
        with self.changed:
            busy: set[Ref | None] = set()
            for pending in self.outbox:
                if (
                    pending.effect.ref not in busy
                    and pending.effect.id not in self.taken
                    and pending.effect.name in wanted
                ):
                    self.taken[pending.effect.id] = taker
                    return pending
                busy.add(pending.effect.ref)
        return None

    def release(self, pending: Pending, taker: str) -> None:
        with self.changed:
            if self.taken.get(pending.effect.id) == taker:
                del self.taken[pending.effect.id]

    def settle(self, pending: Pending, taker: str, answer: str) -> None:
        with self.changed:
            if self.taken.get(pending.effect.id) == taker:
                del self.taken[pending.effect.id]
                self.outbox.remove(pending)

    def wait(self, seconds: float | None) -> None:
        with self.changed:
            self.waiting += 1
            try:
                self.changed.wait(seconds)
            finally:
                self.waiting -= 1


class _Transaction:
    """Collects the writes of one decision and makes them visible together."""

    __slots__ = ("counted", "entries", "store", "written")

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.entries: list[Entry] = []
        self.written: dict[Ref, Snapshot[Any]] = {}
        self.counted: dict[tuple[Ref, str], int] = {}

    def __enter__(self) -> "_Transaction":
        self.store.changed.acquire()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None and self.entries:
                self.commit()
        finally:
            self.store.changed.release()

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        found = self.written.get(ref) or self.store.snapshots.get(ref)
        if found is None or not table.tallies:
            return found
        return found.counting(self.tallies(table, ref))

    def tallies(self, table: Table, ref: Ref) -> dict[str, int]:
        return {name: self._count((ref, name)) for name in table.tallies}

    def _count(self, key: tuple[Ref, str]) -> int:
        return self.counted.get(key, self.store.tallies.get(key, 0))

    def recorded(self, event_id: str) -> Entry | None:
        for entry in self.entries:
            if entry.event_id == event_id:
                return entry
        return self.store.bound.get(event_id)

    def dependents(self, owner: Ref, table: Table, states: Collection[str] | None = None) -> tuple[Ref, ...]:
        known = self.store.owned.get((owner, table.name), {})
        for ref, snapshot in self.written.items():
            if ref.machine == table.name and owner in snapshot.links.values() and ref not in known:
                known = {**known, ref: None}
        return tuple(known) if states is None else tuple(ref for ref in known if self._state(ref) in states)

    def _state(self, ref: Ref) -> str:
        return str((self.written.get(ref) or self.store.snapshots[ref]).state.id)

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.written[entry.decision.ref] = entry.decision.after
        for owner, tally, change in counts(entry.table, entry.decision):
            self.counted[owner, tally] = self._count((owner, tally)) + change

    def rollback(self) -> None:
        self.entries.clear()
        self.written.clear()
        self.counted.clear()

    def refuse(self, refused: Refused, event: str) -> None:
        self.store.audit.append((event, refused))

    def commit(self) -> None:
        store = self.store
        store.snapshots.update(self.written)
        store.tallies.update(self.counted)
        store.journal.extend(self.entries)
        for entry in self.entries:
            before, after = entry.decision.before, entry.decision.after
            for owner in after.links.values() if after.links is not before.links else ():
                store.owned.setdefault((owner, after.ref.machine), {})[after.ref] = None
            if entry.event_id is not None:
                store.bound[entry.event_id] = entry
            for effect in entry.decision.effects:
                store.outbox.append(Pending(effect, entry.links))
        if store.waiting:
            store.changed.notify_all()
