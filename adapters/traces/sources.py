"""From a path to a stream of traces: which files there are, and which reader knows each."""

from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import attrs
import msgspec

from ...machines.checking import Begin, Recorded
from ...machines.kernel import BadInput
from . import journal, native, turnstone
from .lines import Lines

__all__ = ["FORMATS", "Format", "Source", "files", "open_source"]

_SQLITE = b"SQLite format 3\0"


@attrs.frozen
class Format:
    """A reader: whether it knows a file by its first record, and what it makes of the lines."""

    name: str
    detect: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Lines, str], Iterator[Begin | Recorded]]


FORMATS: Mapping[str, Format] = {
    format.NAME: Format(format.NAME, format.detect, format.read) for format in (native, turnstone)
}


@attrs.frozen
class Source:
    """A file that a reader knows, as the stream that it makes of it."""

    name: str
    format: str
    stream: Iterator[Begin | Recorded]


def files(path: Path) -> tuple[Path, ...]:
    """The file itself, or every file below a folder, in order; hidden ones are left out."""
    if not path.is_dir():
        return (path,)
    return tuple(
        sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
    )


def open_source(name: str, source: BufferedReader, path: Path | None, format: str | None = None) -> Source:
    """Find the reader of a source.

    Args:
        name: what to call it in errors and reports.
        source: its bytes.
        path: where it lies, when it is a file: a journal is opened by SQLite itself.
        format: the reader to use instead of the one that knows the first record.

    Raises:
        BadInput: the source is empty, binary, no text, or of no known format; one line without the name.
    """
    try:
        head = source.peek(len(_SQLITE))
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}") from None
    if format == journal.NAME or (format is None and head.startswith(_SQLITE)):
        if path is None:
            raise BadInput("is no file: a journal is read where it lies, so give its path")
        return Source(name, journal.NAME, journal.read(path))
    lines = Lines(source)
    first = lines.first()
    if first is None:
        raise BadInput("is empty: a trace has a line for each record")
    reader = FORMATS[format] if format else _known(first)
    return Source(name, reader.name, reader.read(lines, Path(name).stem))


def _known(line: bytes) -> Format:
    if b"\0" in line:
        raise BadInput("is binary: a trace is JSON Lines or a Leverframe journal")
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        raise BadInput(f"is no UTF-8 text: byte {wrong.start} of its first line cannot be read") from None
    try:
        record = msgspec.json.decode(line)
    except RecursionError:
        raise BadInput("line 1: nested too deeply to be a record") from None
    except msgspec.DecodeError as wrong:
        raise BadInput(f"is no trace: its first line is no JSON ({wrong})") from None
    for reader in FORMATS.values():
        if isinstance(record, dict) and reader.detect(record):
            return reader
    raise BadInput(f"is of no known format: known are {', '.join((*FORMATS, journal.NAME))}")
