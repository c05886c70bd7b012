"""Recorded runs of Turnstone as the tests take them: read, changed in one place, renamed, judged."""

import io
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ..adapters.traces import turnstone
from ..adapters.traces.lines import Lines
from ..machines.catalogue import MACHINES
from ..machines.checking import Report, judge

__all__ = [
    "SMALL",
    "Row",
    "Rows",
    "bytes_of",
    "debts",
    "mutants",
    "planted_stops",
    "renamed",
    "report",
    "reports",
    "runs",
]

Row = Mapping[str, Any]
Rows = Sequence[Row]

SMALL = Path(__file__).parent / "traces" / "turnstone"
"""The copy of a few runs that is part of the package."""

_IDS = frozenset(
    "run scenario thread session cycle_id claimed_cycle_id selector call_id call_ids needed have judge_generation "
    "keep_generation judge guard client witness verdict_id parked_on resolver_principal_id execution_principal_id "
    "who".split()
)
_WORDS = frozenset("op component what role decision auto_approve_reason".split())
"""Fields that say what a row is; no id stands in them."""


@cache
def runs(path: Path) -> Mapping[str, Rows]:
    """The rows of each run of a file, in order."""
    found: dict[str, list[Row]] = {}
    for line in path.read_bytes().splitlines():
        row = msgspec.json.decode(line)
        found.setdefault(row["run"], []).append(row)
    return found


def bytes_of(rows: Rows) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def reports(data: bytes) -> list[Report]:
    """What the machines say of the runs in some bytes."""
    return list(judge(MACHINES, turnstone.read(Lines(io.BytesIO(data)), "")))


def report(rows: Rows) -> Report:
    """What the machines say of one run."""
    (one,) = reports(bytes_of(rows))
    return one


def debts(one: Report) -> set[tuple[str, str, str]]:
    """What is owed at the end of a run."""
    return {(debt.machine, debt.id, debt.owes) for debt in one.open}


# --- mutations of clean runs ----------------------------------------------------------------------------------------


def mutants(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Every way to break a run in one place, each with its kind."""
    dropped = ("cycle_claimed", "approval_resolved_published", "approve_request_published", "lease_released")
    stopped = False
    for place, row in enumerate(rows):
        before, after = rows[:place], rows[place + 1 :]
        if row["op"] in dropped:
            yield f"drop {row['op']}", [*before, *after]
        if row["op"] == "message_row_saved" and row["role"] == "tool":
            yield "drop tool row", [*before, *after]
            yield "double tool row", [*before, row, row, *after]
        if row["op"] == "stop_returned":
            stopped = True
            yield "fold after stop", [*before, row, _fold(row, row["thread"]), *after]
            yield "fold after stop", [*before, row, _fold(row, _worker(before, row["generation"])), *after]
        if row["op"] == "cycle_claimed" and stopped and not row["approved"] and row.get("witness_aborted"):
            yield "approve after stop", [*before, {**row, "approved": True, "decision": "approved"}, *after]


def _fold(stop: Row, thread: str) -> Row:
    same = {name: stop[name] for name in ("run", "seq", "ts", "component", "session", "generation")}
    fold = {"op": "commit", "what": "_fold_tool_batch", "admitted": True, "current_generation": stop["generation"]}
    return {**same, "thread": thread, **fold}


def _worker(rows: Rows, number: int) -> str:
    claims = [row for row in rows if row["op"] == "generation_claimed" and row["generation"] == number]
    return str(claims[-1]["thread"])


def planted_stops(rows: Rows) -> Iterator[Rows]:
    """A Stop between what a commit has done and the row that reports it, where the recording ends."""
    for place, row in enumerate(rows):
        if row["op"] == "commit" and row["admitted"] and row["generation"]:
            epoch = sum(earlier["op"] == "stop_returned" for earlier in rows[:place])
            same = {name: row[name] for name in ("run", "seq", "ts", "component", "session")}
            stop = {**same, "thread": "another", "generation": row["current_generation"]}
            called = {**stop, "op": "stop_called", "epoch": epoch}
            yield [*rows[:place], called, {**stop, "op": "stop_returned", "epoch": epoch + 1}, row]


# --- renaming -------------------------------------------------------------------------------------------------------


def renamed(rows: Rows, seed: int) -> Rows:
    """The same run under other names: every id is replaced by another, one to one, inside of texts and lists too."""
    choice = random.Random(seed)
    ids = sorted({id for row in rows for id in _ids(row, "")})
    names = [f"{choice.choice('QZ~é')}{number}" for number in choice.sample(range(10**9), len(ids))]
    others = dict(zip(ids, names, strict=True))
    pattern = re.compile("|".join(re.escape(id) for id in sorted(ids, key=len, reverse=True)))
    return [_renamed(row, pattern, others) for row in rows]


def _ids(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _ids(one, inner)
    elif isinstance(value, list):
        for one in value:
            yield from _ids(one, name)
    elif isinstance(value, str) and value and name in _IDS:
        yield value


def _renamed(value: Any, pattern: re.Pattern[str], others: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: one if name in _WORDS else _renamed(one, pattern, others) for name, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, pattern, others) for one in value]
    return pattern.sub(lambda found: others[found.group()], value) if isinstance(value, str) else value
