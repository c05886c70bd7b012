"""What a store says when it cannot answer: one line that names the file and what to do."""

import sqlite3

from ...machines.kernel import BadInput

__all__ = ["StoreError", "explained"]


class StoreError(Exception):
    """The store could not answer. What it acknowledged before is kept; of this request nothing is."""


_TOLD = {
    sqlite3.SQLITE_BUSY: "is locked by another writer for longer than busy_timeout: fire again, or wait longer",
    sqlite3.SQLITE_LOCKED: "is locked by another writer: fire again",
    sqlite3.SQLITE_READONLY: "is read-only: give this process the right to write the file and its folder",
    sqlite3.SQLITE_CORRUPT: "is damaged: stop what writes it, keep a copy, and try the sqlite3 shell's .recover",
    sqlite3.SQLITE_FULL: "has no room left on its disk: free some and fire again",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: does its folder exist, and may this process write there?",
    sqlite3.SQLITE_NOTADB: "is no SQLite database: give another path",
}


def explained(path: str, error: Exception) -> Exception:
    """What to raise instead of an error of the database driver."""
    if isinstance(error, UnicodeEncodeError):
        return BadInput(f"{path} cannot hold {error.object!a}: half a surrogate pair is no text")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"{path} could not be read or written ({error}): check its disk and fire again")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreError(f"{path} refused a row that no kernel should write ({error}): nothing of it was kept")
    return StoreError(f"{path} {_TOLD.get(code) or f'could not answer: {error}'}")
