"""A store in one SQLite file: serializable across threads and processes, and whole after a crash at any instruction."""

import itertools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal

from ...machines.kernel import Accepted, BadInput, Ref, Refused, Snapshot
from ...machines.kernel.step import absent
from ...machines.kernel.store import Entry, Pending, counts
from ...machines.kernel.table import Table
from . import texts
from .connections import Connections
from .errors import StoreError, explained
from .outbox import Outbox, described, put
from .points import at
from .rows import Rows, defined
from .schema import prepare
from .triggers import install

__all__ = ["SQLiteStore"]

_Execute = Callable[[str, tuple[Any, ...]], sqlite3.Cursor]

_RECORDED = """
    SELECT j.seq, j.machine, j.id, j.event, j.payload, j."by", j.links, j.state, j.version, j.data, j.table_hash,
        j.would_refuse, p.state, p.data
    FROM journal j LEFT JOIN journal p ON p.seq = j.prev WHERE j.event_id = ?"""
_GIVEN = "SELECT name, owner_machine, owner_id, seq FROM link WHERE machine = ? AND id = ? AND seq <= ?"
_JOURNAL = """
    INSERT INTO journal
        (machine, id, event, payload, "by", event_id, links, state, version, data, prev, adopted, would_refuse,
        table_hash, ts, seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM journal))"""
_BIRTH = """
    INSERT INTO instance (state, version, data, links, seq, machine, id, table_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_STEP = """
    UPDATE instance SET state = ?, version = ?, data = ?, links = ?, seq = ?
    WHERE machine = ? AND id = ? AND version = ?"""
_LINK = "INSERT INTO link (machine, id, name, owner_machine, owner_id, seq) VALUES (?, ?, ?, ?, ?, ?)"
_TALLY = """
    INSERT INTO tally (owner_machine, owner_id, name, n) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET n = n + excluded.n"""
_DEPENDENTS = """
    SELECT id FROM link WHERE owner_machine = ? AND owner_id = ? AND machine = ?
    GROUP BY id ORDER BY min(seq), min(rowid)"""
_DEPENDENTS_IN = """
    SELECT l.id FROM link l JOIN instance i ON i.machine = l.machine AND i.id = l.id
    WHERE l.owner_machine = ? AND l.owner_id = ? AND l.machine = ? AND i.state IN (SELECT value FROM json_each(?))
    GROUP BY l.id ORDER BY min(l.seq), min(l.rowid)"""
_REFUSE = "INSERT INTO audit (machine, id, event, rule, message, ts) VALUES (?, ?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM audit WHERE seq <= (SELECT max(seq) FROM audit) - ?"


class SQLiteStore:
    """Keeps instances, journal and outbox in a file; as many threads and processes as you like may share it.

    Args:
        path: the file; made when it is not there, in a folder that is.
        synchronous: "FULL" survives a power cut, "NORMAL" may lose the last commits to one (never to a crash of the
            process) and is several times faster.
        busy_timeout: seconds to wait for another writer before giving up with a StoreError.
        audit: how many refusals to remember.
        clock: seconds since 1970, for the journal. Nothing is decided by it.

    Raises:
        StoreError: the file cannot be used; the text says why, and what to do. Every method may raise it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        busy_timeout: float = 5.0,
        audit: int = 1000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not os.fspath(path) or os.fspath(path).startswith(":"):
            raise BadInput(f"a store needs a file's path, not {os.fspath(path)!r}: for one in memory take MemoryStore")
        if synchronous not in ("FULL", "NORMAL"):
            raise BadInput(f"synchronous is FULL or NORMAL, not {synchronous!r}")
        self.path = os.path.abspath(path)
        self.audit = audit
        self.clock = clock
        self.connections = Connections(self.path, synchronous, busy_timeout)
        self.outbox = Outbox(self.connections)
        self.met: set[Table] = set()
        self._rows: dict[Table, Rows] = {}
        self._changed = threading.Condition()
        self._waiting = 0
        self._numbers = itertools.count(1)
        self._commits = 0
        self._seen = _Seen()
        try:
            prepare(self.connections)
        except BaseException:
            self.close()
            raise

    def transaction(self) -> "_Transaction":
        return _Transaction(self)

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        self._seen.commits = self._commits
        at("read")
        rows = self.rows(table)
        with self.connections.told():
            row = self.connections.read(rows.select, (ref.machine, ref.id)).fetchone()
        return None if row is None else rows.snapshot(ref, row)

    def dependents(self, owner: Ref, table: Table) -> tuple[Ref, ...]:
        with self.connections.told():
            return _dependents(self.connections.read, owner, table)

    def take(self, taker: str, names: Iterable[str]) -> Pending | None:
        return self.outbox.take(taker, names)

    def release(self, pending: Pending, taker: str) -> None:
        self.outbox.release(pending, taker)

    def settle(self, pending: Pending, taker: str, answer: str) -> None:
        self.outbox.settle(pending, taker, answer)

    def wait(self, seconds: float | None) -> None:
        """Sleep until this process commits what the last `read` of this thread did not see, or this long."""
        seen = self._commits if self._seen.commits is None else self._seen.commits
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._commits != seen, seconds)
            finally:
                self._waiting -= 1
        self._seen.commits = None

    def close(self) -> None:
        """Close the connections of all threads; what was claimed and not answered is free for others."""
        self.connections.close()
        self.outbox.takers.close()

    def rows(self, table: Table) -> Rows:
        known = self._rows.get(table)
        if known is None:
            known = self._rows[table] = Rows(table, self.path)
        return known

    def committed(self, met: set[Table]) -> None:
        """Wake those that wait."""
        self.met |= met
        self._commits = next(self._numbers)  # before the look at who waits, and never the same number twice
        if self._waiting:
            with self._changed:
                self._changed.notify_all()


class _Transaction:
    """One decision, from BEGIN IMMEDIATE to COMMIT: of all that race, one is in here at a time."""

    __slots__ = ("appended", "connection", "met", "refused", "seen", "store")

    def __init__(self, store: SQLiteStore) -> None:
        self.store = store
        self.appended = False
        self.met: set[Table] = set()
        self.refused: tuple[Any, ...] | None = None
        self.seen: dict[Ref, tuple[int, str]] = {}
        """Of each instance read or written here, its last journal row and its links."""

    def __enter__(self) -> "_Transaction":
        try:
            self.connection = self.store.connections.mine()
            self.store.connections.begin(self.connection)
        except sqlite3.Error as error:
            raise explained(self.store.path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._fail(error)
            return
        aside = self.store.connections.synchronous == "FULL"
        try:
            if not aside:
                self._audit(self.connection)
            at("commit")
            self.connection.execute("COMMIT")
        except BaseException as failed:
            self._fail(failed)
            raise
        if self.appended:
            self.store.committed(self.met)
        at("committed")
        if aside and self.refused:
            with self.store.connections.aside() as connection:
                self._audit(connection)

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        at("read")
        rows = self.store.rows(table)
        row = self.connection.execute(rows.select, (ref.machine, ref.id)).fetchone()
        if row is None:
            return None
        _, _, _, links, _, seq, *_ = row
        self.seen[ref] = seq, links
        return rows.snapshot(ref, row)

    def tallies(self, table: Table, ref: Ref) -> Mapping[str, int]:
        if not table.tallies:
            return {}
        rows = self.store.rows(table)
        return rows.tallies(self.connection.execute(rows.count, (ref.machine, ref.id)).fetchone())

    def recorded(self, event_id: str) -> Entry | None:
        at("read")
        row = self.connection.execute(_RECORDED, (event_id,)).fetchone()
        if row is None:
            return None
        seq, machine, id, event, payload, by, links, state, version, data, table_hash, no, source, earlier = row
        table = defined(machine, table_hash)
        if table is None:
            raise StoreError(
                f"{self.store.path} bound {event_id} to {event} of {machine} {id} by definition {table_hash}, and this "
                "program has no such: run the program that wrote it, or migrate the file"
            )
        rows, ref = self.store.rows(table), Ref(machine, id)
        owners = self.connection.execute(_GIVEN, (machine, id, seq)).fetchall()
        before = absent(table, ref)
        if source is not None:
            kept = {name: Ref(*owner) for name, *owner, since in owners if since < seq}
            before = Snapshot(ref, rows.state(source), version - 1, rows.read_data(earlier), kept)
        life = {name: Ref(*owner) for name, *owner, _ in owners}
        after = Snapshot(ref, rows.state(state), version, rows.read_data(data), life)
        effects = described(self.connection, seq, ref)
        refused = texts.read_refused(ref, no)
        decision = Accepted(ref, before, after, f"{before.state.id} {event} {state}", effects, refused)
        principal = None if by is None else texts.read(by)
        request = rows.read_payload(event, payload)
        return Entry(decision, event, request, principal, event_id, texts.read_links(links), table)

    def dependents(self, owner: Ref, table: Table, states: Collection[str] | None = None) -> tuple[Ref, ...]:
        at("read")
        return _dependents(self.connection.execute, owner, table, states)

    def append(self, entry: Entry) -> None:
        table, before, after = entry.table, entry.decision.before, entry.decision.after
        rows, ref, execute = self.store.rows(table), after.ref, self.connection.execute
        if table not in self.store.met and table not in self.met:
            install(self.connection, table, self.store.path)
            self.met.add(table)
        at("write")
        self.appended = True
        machine, id, state, version = ref.machine, ref.id, str(after.state.id), after.version
        prev, links = self.seen.get(ref, (None, "{}"))
        if len(after.links) != len(before.links):
            links = texts.write_links(after.links)
        data, payload = rows.write_data(after.data), rows.write_payload(entry.event, entry.payload)
        by = texts.write_principal(entry.by, f"{entry.event} of {ref}")
        asked = (machine, id, entry.event, payload, by, entry.event_id, texts.write_links(entry.links))
        no = texts.write_refused(entry.decision.would_refuse)
        decided = (state, version, data, prev, entry.adopted, no, rows.hash, self.store.clock())
        seq = execute(_JOURNAL, (*asked, *decided)).lastrowid
        assert seq is not None
        self.seen[ref] = seq, links
        at("write")
        if version == 1:
            execute(_BIRTH, (state, version, data, links, seq, machine, id, rows.hash))
        elif execute(_STEP, (state, version, data, links, seq, machine, id, version - 1)).rowcount != 1:
            raise StoreError(f"{self.store.path} lost {ref} at version {version - 1}: it was changed past the kernel")
        for name, owner in after.links.items():
            if name not in before.links:
                execute(_LINK, (machine, id, name, owner.machine, owner.id, seq))
        for owner, tally, change in counts(table, entry.decision):
            execute(_TALLY, (owner.machine, owner.id, tally, change))
        put(self.connection, seq, ref, entry.decision.effects)

    def rollback(self) -> None:
        if self.appended:
            self.connection.execute("ROLLBACK")
            self.appended = False
            self.met.clear()
            self.seen.clear()
            self.store.connections.begin(self.connection)

    def refuse(self, refused: Refused, event: str) -> None:
        """With synchronous=FULL it is written after the commit, in a transaction that does not wait for the disk.

        Nothing depends on it, so a crash in between may lose it; but a commit that waits for the disk makes all others
        wait, and who lost a race has nothing to be kept: that would be less than half as fast.
        """
        ref, store = refused.ref, self.store
        self.refused = (ref.machine, ref.id, event, refused.rule, refused.message, store.clock())

    def _audit(self, connection: sqlite3.Connection) -> None:
        if self.refused:
            connection.execute(_REFUSE, self.refused)
            connection.execute(_FORGET, (self.store.audit,))

    def _fail(self, error: BaseException) -> None:
        self.store.connections.undo(self.connection)
        if isinstance(error, sqlite3.Error | UnicodeEncodeError):
            raise explained(self.store.path, error) from error


def _dependents(execute: _Execute, owner: Ref, table: Table, states: Collection[str] | None = None) -> tuple[Ref, ...]:
    key = (owner.machine, owner.id, table.name)
    found = execute(_DEPENDENTS, key) if states is None else execute(_DEPENDENTS_IN, (*key, texts.write_names(states)))
    return tuple(Ref(table.name, id) for (id,) in found)


class _Seen(threading.local):
    """How many commits a thread had seen when it last read; None when it waited since."""

    commits: int | None = None
