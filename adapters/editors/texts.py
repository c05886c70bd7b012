"""Texts in files: named by digest, written whole, and with components between markers."""

import hashlib
import os
import re
from pathlib import Path

__all__ = ["digest", "has_marker", "remove", "replace", "split", "write_whole"]

_MARKER = re.compile(r"<!--\s*/?agent:")


def digest(text: str | bytes) -> str:
    """The SHA-256 of a text: how responses, bases and contents are named."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def split(whole: bytes, component: str) -> tuple[bytes, bytes, bytes] | None:
    """A document before, in and after a component; None unless it has the component exactly once.

    A component stands between `<!-- agent:NAME -->` and `<!-- /agent:NAME -->`; the first may have attributes.
    """
    marks = list(re.finditer(rb"<!-- (/?)agent:%s(?: [^\n]*?)? -->" % re.escape(component).encode(), whole))
    if [mark[1] for mark in marks] != [b"", b"/"]:
        return None
    begin, end = marks[0].end(), marks[1].start()
    return whole[:begin], whole[begin:end], whole[end:]


def has_marker(text: str) -> bool:
    """Whether a text would begin or end a component."""
    return _MARKER.search(text) is not None


def write_whole(file: Path, content: bytes) -> None:
    """Write a file that others see whole or not at all, after a power cut too."""
    draft = file.with_name(f".{file.name}.draft")
    draft.unlink(missing_ok=True)
    with open(draft, "xb", opener=lambda path, mode: os.open(path, mode, 0o600)) as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    replace(draft, file)


def replace(source: Path, target: Path) -> None:
    """Rename, and wait until the disk knows."""
    os.replace(source, target)
    _settle(target.parent)


def remove(file: Path) -> None:
    """Remove a file, and wait until the disk knows.

    Raises:
        FileNotFoundError: it is not there.
    """
    file.unlink()
    _settle(file.parent)


def _settle(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
