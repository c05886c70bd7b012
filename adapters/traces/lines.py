"""Bytes from outside as numbered lines, within bounds."""

from collections.abc import Iterator
from io import BufferedReader, BytesIO

from ...machines.kernel import BadInput

__all__ = ["LONGEST", "Lines"]

LONGEST = 64 * 1024 * 1024
"""Bytes a line may have."""
_BLOCK = 16 * 1024
"""Bytes read at once: what is decoded of them is judged while it is in the processor's cache."""


class Lines:
    """The lines of a file, to be read once: one by one, or in blocks of whole lines.

    Args:
        source: the file; what a pipe has is read as it comes.
    """

    def __init__(self, source: BufferedReader | BytesIO) -> None:
        self._source = source
        self._number = 1
        self._ahead = b""
        """Whole lines that were looked at and not taken."""
        self._rest = b""
        """The begin of a line whose end is still to be read."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not empty with their numbers, from 1.

        Raises:
            BadInput: a line is longer than any record should be, or the system does not give it.
        """
        for first, block in self.blocks():
            for number, line in enumerate(BytesIO(block), first):
                if not line.isspace():
                    yield number, line

    def first(self) -> bytes | None:
        """The first line that is not empty, without taking it; None when there is none.

        Raises:
            BadInput: as when it is iterated.
        """
        for number, block in self.blocks():
            taken = 0
            for line in BytesIO(block):
                if not line.isspace():
                    self._number, self._ahead = number, block[taken:]
                    return line
                number, taken = number + 1, taken + len(line)
        return None

    def take(self) -> tuple[int, bytes]:
        """Take the line that `first` has found, with its number."""
        line = self._ahead[: self._ahead.find(b"\n") + 1 or len(self._ahead)]
        self._number, self._ahead = self._number + 1, self._ahead[len(line) :]
        return self._number - 1, line

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """All lines in blocks, each with the number of its first line; only the last line may have no end.

        Raises:
            BadInput: as when it is iterated.
        """
        while block := self._block():
            number = self._number
            self._number += block.count(b"\n")
            yield number, block

    def _block(self) -> bytes:
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        pieces: list[bytes] = []
        size = 0
        while chunk := self._read():
            if chunk.endswith(b"\n"):
                return b"".join((*pieces, chunk))
            end = chunk.rfind(b"\n") + 1
            if end:
                self._rest = chunk[end:]
                return b"".join((*pieces, chunk[:end]))
            pieces.append(chunk)
            size += len(chunk)
            if size >= LONGEST:
                number = self._number
                raise BadInput(f"line {number} is longer than {LONGEST // 1024 // 1024} MiB: no record of a trace is")
        return b"".join(pieces)

    def _read(self) -> bytes:
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        try:
            return self._source.read1(_BLOCK)
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}") from None
