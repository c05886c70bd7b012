"""How a thread reaches the file: a connection of its own, one way to begin and one to give up."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import explained
from .points import at, scheduled

__all__ = ["Connections"]


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
            timeout=self.busy_timeout,
            isolation_level=None,
            check_same_thread=False,  # `close` is called by one thread for all
            factory=_Connection,
        )
        mine.connection, mine.pid = connection, os.getpid()
        self._open.add(connection)
        connection.execute(f"PRAGMA synchronous={self.synchronous}")
        connection.execute("PRAGMA trusted_schema=OFF")
        return connection

    def begin(self, connection: sqlite3.Connection) -> None:
        """Become the one that writes: what is read from now on is what the commit will stand upon."""
        if not scheduled():
            connection.execute("BEGIN IMMEDIATE")
            return
        at("begin")
        connection.execute("PRAGMA busy_timeout=0")
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                at("busy", blocked=True)

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
            connection.execute("PRAGMA synchronous=NORMAL")
            try:
                self.begin(connection)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                self.undo(connection)
                raise
            finally:
                with suppress(sqlite3.ProgrammingError):  # closed by undo
                    connection.execute(f"PRAGMA synchronous={self.synchronous}")

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
        self.close()


_INHERITED: list[sqlite3.Connection] = []
"""Connections from before a fork: used or closed in the child, they would harm the parent's."""
