"""Native traces for tests: from lines to the report that `check` would give."""

import json
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from ..adapters.traces import native
from ..adapters.traces.lines import Lines
from ..machines.catalogue import MACHINES
from ..machines.checking import Report, judge
from ..machines.kernel import Machine
from .lever import Bell, Frame, Lever
from .staff import Staff

__all__ = ["COMPLETE", "SLICE", "TINY", "report"]

COMPLETE: Mapping[str, Any] = {"leverframe": 1, "order": "total", "complete": True, "trace": "t"}
SLICE: Mapping[str, Any] = {"leverframe": 1, "order": "total", "trace": "t"}
TINY: Mapping[str, type[Machine]] = {machine.table.name: machine for machine in (Frame, Bell, Lever, Staff)}


def report(
    lines: Iterable[Mapping[str, Any]],
    header: Mapping[str, Any] | None = COMPLETE,
    machines: Mapping[str, type[Machine]] = MACHINES,
) -> Report:
    """The report on a trace with this header."""
    rows = [*([header] if header is not None else []), *lines]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (found,) = judge(machines, native.read(Lines(BytesIO(text)), "t"))
    return found
