"""Every row of the lifecycle tables is a case, and each case comes out as the table says."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from ..machines.kernel import Accepted, Ref, Refused, Request, Snapshot, State, step
from . import rows
from .generate.values import Case
from .rows.row import Row
from .where import shared

PAGES = {"turnstone": range(1, 11), "agent-doc": (1, 2, 5, 6, 12)}
"""The tables whose machines exist: 4, 5 and 6 of Turnstone come with part 2."""
LATER = {("turnstone", number) for number in (4, 5, 6)}


def cases() -> list[Row]:
    modules = sorted(module.name for module in iter_modules(rows.__path__) if module.name != "row")
    return [row for name in modules for row in import_module(f".rows.{name}", __package__).ROWS]


def single(row: Row) -> list[tuple[Row, State, Any]]:
    return [(row, state, event) for state in row.states for event in row.events]


def as_case(row: Row, state: State, event: Any) -> Case:
    table = row.machine.table
    tallies = {**dict.fromkeys(table.tallies, 0), **row.tallies}
    before = Snapshot(Ref(table.name, "x"), state, 1, row.data, {}, tallies)
    links = {**dict.fromkeys(table.links), **row.links}
    return Case(before, Request(event, event.payload(row.payload)), row.by, links)


SINGLE = [one for row in cases() for one in single(row)]


@pytest.mark.parametrize(
    ("row", "state", "event"), SINGLE, ids=[f"{row.id}-{state.id}-{event.name}" for row, state, event in SINGLE]
)
def test_a_row_comes_out_as_its_table_says(row: Row, state: State, event: Any) -> None:
    case = as_case(row, state, event)
    decision = step(row.machine.table, case.snapshot, case.request, case.by, case.links)
    if row.to is None:
        assert isinstance(decision, Refused), f"accepted: {decision.transition}"
        assert decision.rule == row.rule, decision.message
        return
    assert isinstance(decision, Accepted), f"{decision.rule}: {decision.message}"
    if row.to == "settled":
        assert decision.transition == ""
        return
    assert decision.after.state == row.to
    if row.then is not None:
        assert decision.after.data == row.then


def tables(page: Path) -> dict[str, int]:
    """Table number to its count of body rows, read from the page."""
    counts: dict[str, int] = {}
    number = ""
    for line in page.read_text("utf-8").splitlines():
        if heading := re.match(r"#+ (\d+) ", line):
            number = heading[1]
        elif line.startswith("#"):
            number = ""
        elif number and line.startswith("|") and not line.startswith(("|-", "|--", "| state |", "| ---")):
            counts[number] = counts.get(number, 0) + 1
    return counts


@pytest.mark.parametrize("source", PAGES)
def test_every_table_row_has_a_case(source: str) -> None:
    counts = tables(shared(f"lifecycles/{source}-tables.md"))
    wanted = {
        f"{source}-{number}.{row}"
        for number in PAGES[source]
        if (source, number) not in LATER
        for row in range(1, counts[str(number)] + 1)
    }
    have = {row.id for row in cases()}
    assert sorted(wanted - have) == []
    assert sorted(id for id in have - wanted if id.startswith(source)) == []
