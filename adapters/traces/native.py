"""Leverframe's own traces: JSON Lines, an optional header, then one event or observation a line.

Source: docs/traces.md; design, section 7. A field that no line knows is refused, because a typing error in `outcome`
would change what the line says; `meta` is free for the writer's own use.
"""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Literal

import msgspec

from ...machines.checking import Begin, Recorded, Torn
from ...machines.kernel import BadInput
from .lines import Lines

__all__ = ["NAME", "detect", "read"]

NAME = "native"


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    machine: str
    id: str
    event: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"")
    links: dict[str, str | None] | None = None
    by: str | int | None = None
    event_id: str | None = None
    actor: str | None = None
    outcome: Literal["accepted", "refused"] | None = None
    state: str | None = None
    data: dict[str, Any] | None = None
    phase: Literal["invoke", "return"] | None = None
    call: str | None = None
    ts: float | str | None = None
    after: list[str] | None = None
    adopted: bool = False
    txn: str | None = None
    meta: Any = None
    line: int = 0


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    leverframe: int
    order: str = "actor"
    complete: bool = False
    trace: str = ""
    machines: dict[str, str] | None = None
    meta: Any = None


_DECODER = msgspec.json.Decoder(_Line)


def detect(first: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is ours."""
    return "leverframe" in first or (
        "machine" in first and "id" in first and not {"event", "state", "data"}.isdisjoint(first)
    )


def read(lines: Lines, name: str) -> Iterator[Begin | Recorded]:
    """Read a native trace.

    Args:
        lines: the lines of the file.
        name: what to call the trace when its header does not.

    Raises:
        BadInput: a line is no record; the text begins with its number.
    """
    first = lines.first()
    if first is None:
        return
    headed = b'"leverframe"' in first
    yield _begin(*lines.take(), name) if headed else Begin(name, total=False)
    for number, block in lines.blocks():
        records = _decoded(block)
        if records is None:
            yield from _one_by_one(number, block, first=not headed and number == 1)
            continue
        for record in records:
            record.line = number
            number += 1
            raw = record.payload
            record.payload = bytes(raw) if raw else None  # type: ignore[assignment]  # raw bytes are the memo's key
            yield record


def _decoded(block: bytes) -> list[_Line] | None:
    """All records of a block at once; None when a line is empty or no record."""
    try:
        records = _DECODER.decode_lines(block)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return records if len(records) == block.count(b"\n") + (not block.endswith(b"\n")) else None


def _one_by_one(number: int, block: bytes, *, first: bool) -> Iterator[Recorded]:
    """The records of a block up to the line that is none."""
    for line, text in enumerate(BytesIO(block), number):
        if text.isspace():
            continue
        try:
            record = _DECODER.decode(text)
        except (msgspec.DecodeError, RecursionError) as wrong:
            raise _bad(line, text, wrong, first) from None
        first = False
        record.line = line
        record.payload = bytes(record.payload) if record.payload else None  # type: ignore[assignment]
        yield record


def _begin(number: int, line: bytes, name: str) -> Begin:
    try:
        header = msgspec.json.decode(line, type=_Header)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise _bad(number, line, wrong, True) from None
    if header.leverframe != 1 or header.order not in ("total", "actor"):
        raise BadInput(
            f"line {number}: this header is of another version: expected leverframe 1 and order total or actor"
        )
    return Begin(header.trace or name, header.complete, header.order == "total")


def _bad(number: int, line: bytes, wrong: Exception, first: bool) -> BadInput:
    """A line that is no record: torn when it is the last one and has no end, and something stands before it."""
    if isinstance(wrong, RecursionError):
        return BadInput(f"line {number}: nested too deeply to be a record")
    kind = BadInput if first or line.endswith(b"\n") or isinstance(wrong, msgspec.ValidationError) else Torn
    return kind(f"line {number}: {wrong}")
