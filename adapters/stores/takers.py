"""Who of those that claimed effects is still alive.

Each holds a lock on a small file beside the database; the operating system frees it when its process dies, however it
dies. So a claim ends exactly with its process: no clock, no heartbeat, no guess.
"""

import hashlib
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

__all__ = ["Takers"]


class Takers:
    """The locks of one store.

    Args:
        path: the database; the files are called after it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.held: dict[str, sqlite3.Connection] = {}

    def hold(self, taker: str) -> str:
        """Be alive until `close` or the death of this process; returns the name to claim by."""
        name = self.name(taker)
        if name not in self.held:
            connection = sqlite3.connect(self._file(name), isolation_level=None, check_same_thread=False)
            connection.execute("BEGIN EXCLUSIVE")
            self.held[name] = connection
        return name

    def name(self, taker: str) -> str:
        return f"{taker}@{os.getpid()}"  # a fork is another process

    def gone(self, name: str) -> bool:
        """Whether the one that claimed by this name is dead."""
        if name in self.held:
            return False
        file = self._file(name)
        if not os.path.exists(file):
            return True
        try:
            connection = sqlite3.connect(Path(file).as_uri() + "?mode=rw", uri=True, isolation_level=None, timeout=0)
        except sqlite3.OperationalError:
            return False
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        finally:
            connection.close()
        with suppress(OSError):
            os.unlink(file)
        return True

    def close(self) -> None:
        for name in [name for name in self.held if name.endswith(f"@{os.getpid()}")]:
            self.held.pop(name).close()
            with suppress(OSError):
                os.unlink(self._file(name))

    def _file(self, name: str) -> str:
        return f"{self.path}-taker-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
