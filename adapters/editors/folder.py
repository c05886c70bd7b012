"""The folder as a medium of patches: what lies there lasts, and anyone may read it, at any moment, or lie.

By patch id it holds `ID.json` (the patch), `ID.claim` (the mark that a window took it, kept for ever if anything came
of that) and `ID.ack` (the hash of the component with the patch in it). An id is the SHA-256 of the patch file's bytes:
what anybody changed is no patch that was ever drafted.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Annotated

import msgspec

from .texts import digest, remove, replace, write_whole

__all__ = ["MOST", "Folder", "Patch"]

MOST = 4 * 1024 * 1024
"""Bytes of a patch file. A longer one is no patch."""
_NAME = re.compile(r"([0-9a-f]{64})\.json")
_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class Patch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Text for the end of one component of one document."""

    cycle: str
    document: str
    component: Annotated[str, msgspec.Meta(pattern=r"\A[a-z][a-z0-9_-]*\Z")]
    base: _Hash  # of the component's text that the patch was made from
    content: _Hash  # of the same with the patch in it
    text: Annotated[str, msgspec.Meta(min_length=1)]
    attempt: int  # sets apart the same patch when it is issued again after a rejection


class _Ack(msgspec.Struct, forbid_unknown_fields=True):
    content: _Hash


class Folder:
    """One folder of patches, made when it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._lease = sqlite3.connect(path / "lease", isolation_level=None, timeout=0, check_same_thread=False)

    def leased(self) -> bool:
        """Whether this window alone edits. The operating system ends a lease with its process."""
        if not self._lease.in_transaction:
            with suppress(sqlite3.Error):
                self._lease.execute("BEGIN EXCLUSIVE")
        return self._lease.in_transaction

    def close(self) -> None:
        """Give the lease up."""
        self._lease.close()

    def patches(self) -> Iterator[str]:
        """The ids that patch files are called after, whatever is in them."""
        names = sorted(os.listdir(self.path))
        return (found[1] for name in names if (found := _NAME.fullmatch(name)))

    def put(self, id: str, raw: bytes) -> None:
        write_whole(self._file(id, "json"), raw)

    def holds(self, id: str) -> bool:
        return self._file(id, "json").exists()

    def get(self, id: str) -> Patch | None:
        """The patch; None when what is there is not what its name says.

        Raises:
            FileNotFoundError: nothing is there.
        """
        with suppress(ValueError):
            raw = _read(self._file(id, "json"))
            return msgspec.json.decode(raw, type=Patch) if digest(raw) == id else None
        return None

    def drop(self, id: str) -> None:
        """Remove a patch's file, if it is there; what is no patch is set aside."""
        with suppress(FileNotFoundError):
            if self.get(id) is None:
                self.set_aside(id)
            else:
                self._file(id, "json").unlink()

    def set_aside(self, id: str) -> None:
        """Keep a file for a person, under a name that no watcher looks at."""
        with suppress(FileNotFoundError):
            replace(self._file(id, "json"), self._file(id, "aside"))

    def claim(self, id: str, editor: str) -> None:
        write_whole(self._file(id, "claim"), editor.encode())

    def unclaim(self, id: str) -> None:
        """Take a mark back, and wait until the disk knows."""
        with suppress(FileNotFoundError):
            remove(self._file(id, "claim"))

    def claimed(self, id: str) -> bool:
        return self._file(id, "claim").exists()

    def acknowledge(self, id: str, content: str) -> None:
        write_whole(self._file(id, "ack"), msgspec.json.encode(_Ack(content)))

    def acknowledged(self, id: str) -> str | None:
        """The content hash in the acknowledgement; None when there is none, or none that can be read."""
        with suppress(OSError, ValueError):
            return msgspec.json.decode(_read(self._file(id, "ack")), type=_Ack).content
        return None

    def _file(self, id: str, kind: str) -> Path:
        return self.path / f"{id}.{kind}"


def _read(file: Path) -> bytes:
    """A plain file's bytes: no link is followed, no pipe waited for, nothing long taken in."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(file, "rb", opener=lambda path, mode: os.open(path, mode | flags)) as opened:
            raw = opened.read(MOST + 1) if S_ISREG(os.fstat(opened.fileno()).st_mode) else b""
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    if not 0 < len(raw) <= MOST:
        raise ValueError(f"{file} is no plain file of 1 to {MOST} bytes")
    return raw
