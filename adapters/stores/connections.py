"""How a thread reaches the file: a connection of its own, one way to begin and one to give up."""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import explained
from .points import at, scheduled

__all__ = ["Connections"]

_NAP = 0.002
"""Seconds between two tries to write while another does."""


class Connections:
    """The connections of one store, one a thread.

    Args:
        path: the file; made when it is not there.
        synchronous: what a commit waits for.
        busy_timeout: seconds to wait for another writer.
    """

    def __init__(self, path: str, synchronous: str, busy_timeout: float) -> None:
        self.path = path
        self.synchronous = synchronous
        self.busy_timeout = busy_timeout
        self._mine = _Mine()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()

    def mine(self, mode: str = "rw") -> sqlite3.Connection:
        """This thread's connection. Only the first makes the file: one that was moved away must not come back empty."""
        mine = self._mine
        if mine.connection is not None:
            if mine.pid == os.getpid():
                return mine.connection
            _INHERITED.append(mine.connection)
        connection = sqlite3.connect(
            f"{Path(self.path).as_uri()}?mode={mode}",
            uri=True,
            timeout=0,  # `_patiently` waits
            isolation_level=None,
            check_same_thread=False,  # `close` is called by one thread for all
            factory=_Connection,
        )
        self._open.add(connection)
        self._patiently(connection, f"PRAGMA synchronous={self.synchronous}")
        self._patiently(connection, "PRAGMA trusted_schema=OFF")
        mine.connection, mine.pid = connection, os.getpid()
        return connection

    def begin(self, connection: sqlite3.Connection) -> None:
        """Become the one that writes: what is read from now on is what the commit will stand upon."""
        at("begin")
        self._patiently(connection, "BEGIN IMMEDIATE")

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Read what was last committed."""
        return self._patiently(self.mine(), sql, values)

    def undo(self, connection: sqlite3.Connection) -> None:
        """Leave nothing of what was begun."""
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        if connection.in_transaction:  # nothing can be said about this connection any more
            connection.close()
            self._mine.connection = None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn the driver's errors into one line for a person."""
        try:
            yield
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise explained(self.path, error) from error

    @contextmanager
    def aside(self) -> Iterator[sqlite3.Connection]:
        """Write something beside the decisions, without waiting for the disk: a power cut may lose it, a crash not."""
        with self.told():
            connection = self.mine()
            self._patiently(connection, "PRAGMA synchronous=NORMAL")
            try:
                self.begin(connection)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                self.undo(connection)
                raise
            finally:
                with suppress(sqlite3.ProgrammingError):  # closed by undo
                    self._patiently(connection, f"PRAGMA synchronous={self.synchronous}")

    def _patiently(self, connection: sqlite3.Connection, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Execute a statement that others may keep from beginning.

        SQLite itself sleeps the longer, the longer it waited, so that whoever comes last goes first: of eight writers
        some waited for seconds.
        """
        end = None
        while True:
            try:
                return connection.execute(sql, values)
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                end = now + self.busy_timeout if end is None else end
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or (now >= end and not scheduled()):
                    raise
            if scheduled():
                at("busy", blocked=True)
            else:
                time.sleep(_NAP)

    def close(self) -> None:
        for connection in tuple(self._open):
            connection.close()
        self._mine = _Mine()


class _Mine(threading.local):
    connection: sqlite3.Connection | None = None
    pid = 0


class _Connection(sqlite3.Connection):
    """Can be held weakly, and closes when its thread ends."""

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it never opened
            self.close()


_INHERITED: list[sqlite3.Connection] = []
"""Connections from before a fork: used or closed in the child, they would harm the parent's."""
