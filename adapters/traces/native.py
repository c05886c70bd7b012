"""Leverframe's own traces: JSON Lines, an optional header, then one event or observation a line.

Source: docs/traces.md; design, section 7. A field that no line knows is refused, because a typing error in `outcome`
would change what the line says; `meta` is free for the writer's own use.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from ...machines.checking import Begin, Recorded, Torn
from ...machines.kernel import BadInput

__all__ = ["NAME", "detect", "read"]

NAME = "native"


class _Line(msgspec.Struct, forbid_unknown_fields=True):
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


_decode = msgspec.json.Decoder(_Line).decode


def detect(first: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is ours."""
    return "leverframe" in first or (
        "machine" in first and "id" in first and not {"event", "state", "data"}.isdisjoint(first)
    )


def read(lines: Iterable[tuple[int, bytes]], name: str) -> Iterator[Begin | Recorded]:
    """Read a native trace.

    Args:
        lines: numbered lines.
        name: what to call the trace when its header does not.

    Raises:
        BadInput: a line is no record; the text begins with its number.
    """
    begun, first = False, True
    for number, line in lines:
        if not begun:
            begun = True
            if b'"leverframe"' in line:
                first = False
                yield _begin(number, line, name)
                continue
            yield Begin(name, total=False)
        try:
            record = _decode(line)
        except (msgspec.DecodeError, RecursionError) as wrong:
            raise _bad(number, line, wrong, first) from None
        first = False
        record.line = number
        raw = record.payload
        record.payload = bytes(raw) if raw else None  # type: ignore[assignment]  # raw bytes are the key of the memo
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
