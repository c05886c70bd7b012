"""Bytes from outside as numbered lines, within bounds."""

from collections.abc import Iterator
from typing import BinaryIO

from ...machines.kernel import BadInput

__all__ = ["LONGEST", "numbered"]

LONGEST = 64 * 1024 * 1024
"""Bytes a line may have."""


def numbered(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The non-empty lines of a file with their numbers, from 1.

    Raises:
        BadInput: a line is longer than any record should be, or the system does not give it.
    """
    number = 0
    for line in _read(source):
        number += 1
        if len(line) == LONGEST and not line.endswith(b"\n"):
            raise BadInput(f"line {number} is longer than {LONGEST // 1024 // 1024} MiB: no record of a trace is")
        if not line.isspace():
            yield number, line


def _read(source: BinaryIO) -> Iterator[bytes]:
    read = source.readline
    try:
        while line := read(LONGEST):
            yield line
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}") from None
