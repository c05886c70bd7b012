"""Recorded runs of Turnstone: clean ones are lawful, each breach is found where it is, each planted one is caught."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from ..adapters.traces import turnstone
from ..adapters.traces.lines import Lines
from ..adapters.traces.sources import open_source
from ..machines.checking import Begin, Report, Torn
from ..machines.kernel import BadInput
from .recordings import SMALL, Rows, bytes_of, debts, mutants, planted_stops, renamed, report, reports, runs
from .where import shared

DEEP = os.environ.get("LEVERFRAME_PROFILE") == "deep"
"""Whether every site of every shared run is tried, and not three of each kind in each file."""

CLEAN = sorted(SMALL.glob("*.jsonl"))
BROKEN = sorted((SMALL / "violations").glob("*.jsonl"))

INCOMPLETE: dict[str, str] = {}
"""Clean runs that owe something at their end, with the debt and why no row could pay it. There is none."""

OPEN = {
    "approval-binds-call": "no row has the content of a card, or of a call",
    "approval-binds-content": "no row has the content of a card, or what a click was looking at",
    "force-binds-worker": "part 2: the worker slot",
    "gate-order": "part 2: whether grants cover a batch, so that nothing is left to ask",
    "guard-lease-live": "part 2: the guard object",
    "no-raw-secret-shown": "no row says whether the judge's words were redacted",
    "no-raw-secret-stored": "no row says whether the judge's words were redacted",
    "smart-batch-atomic": "part 2: the verdicts and the judge's batch",
    "workstream-gone": "part 2: the workstream",
}
"""Rules that a run may leave open besides those that its reader declares, with the reason."""

HIDDEN = {
    ("approval", "publish"),
    ("gate", "grants_result"),
    ("session", "debt_settled"),
    ("session", "debt_timeout"),
    ("session", "tickets_unsettled"),
    ("toolcall", "execute"),
    ("toolcall", "gate_cancelled"),
    ("toolcall", "guard_returned"),
}
"""Moves that may have happened unseen: no row reports them."""


def of_all(path: Path) -> Iterator[tuple[str, Report]]:
    for one in reports(path.read_bytes()):
        yield one.trace, one


def clean(path: Path) -> list[str]:
    """The runs of a file that are not ok, and not known to be incomplete."""
    return [trace for trace, one in of_all(path) if one.verdict != ("incomplete" if trace in INCOMPLETE else "ok")]


def expected(folder: Path) -> Iterator[tuple[Path, str, str, int]]:
    for name, named in json.loads((folder / "EXPECTED.json").read_text("utf-8")).items():
        for run, breach in named.items():
            if breach["rule"] != "verdict-row-decided":
                yield folder / name, run, breach["rule"], breach["line"]


def breaches(folder: Path) -> None:
    """Each breach is found under its rule, at its line, and nothing else is: the rest is for the verdict machine."""
    wanted = {(path.name, run): (rule, line) for path, run, rule, line in expected(folder)}
    for path in sorted((folder / "violations").glob("*.jsonl")):
        for run, one in of_all(path):
            found = [(violation.rule, violation.line) for violation in one.violations]
            want = wanted.pop((path.name, run), None)
            assert found == ([want] if want else []), run
            assert one.verdict == ("violation" if want else "ok")
            assert want or {"verdict-row-decided", "verdict-binds-generation"} < set(one.not_checked)
    assert not wanted


# --- the recordings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_a_clean_run_is_lawful(path: Path) -> None:
    assert clean(path) == []


def test_a_breach_is_found_where_it_is() -> None:
    breaches(SMALL)


def test_every_shared_recording_is_judged_right() -> None:
    folder = shared("traces/turnstone")
    assert [run for path in sorted(folder.glob("*.jsonl")) for run in clean(path)] == []
    breaches(folder)


def test_what_is_not_checked_is_what_no_row_shows() -> None:
    left: set[str] = set()
    for path in [*CLEAN, *BROKEN]:
        for _, one in of_all(path):
            assert set(turnstone.NOT_CHECKED) <= set(one.not_checked)
            left |= set(one.not_checked) if not one.violations else set()
    assert left - set(turnstone.NOT_CHECKED) <= OPEN.keys()


def test_a_move_is_hidden_only_where_no_row_reports_it() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for path in [*CLEAN, *BROKEN]:
        with path.open("rb") as source:
            for one in turnstone.read(Lines(source), ""):
                if not isinstance(one, Begin) and one.phase == "invoke" and one.call is None:
                    found[one.machine, one.event or ""] += 1
    assert found.keys() <= HIDDEN
    assert found["approval", "publish"] and found["toolcall", "execute"]


# --- planted breaches -----------------------------------------------------------------------------------------------

ABSENCES = ("drop tool row", "drop lease_released")
"""Mutations that may end as a debt of an instance that the clean run does not have."""


def caught(kind: str, before: Report, after: Report) -> bool:
    return after.verdict == "violation" or (
        kind in ABSENCES and after.verdict == "incomplete" and bool(debts(after) - debts(before))
    )


def tally(paths: list[Path], most: int | None) -> Counter[tuple[str, bool]]:
    """How many mutants of each kind were caught and not, at most so many of a kind in a file."""
    found: Counter[tuple[str, bool]] = Counter()
    for path in paths:
        tried: Counter[str] = Counter()
        for rows in runs(path).values():
            before = report(rows)
            for kind, mutant in mutants(rows):
                tried[kind] += 1
                if most is None or tried[kind] <= most:
                    found[kind, caught(kind, before, report(mutant))] += 1
    return found


def at_least(found: Counter[tuple[str, bool]], share: float) -> None:
    kinds = {kind for kind, _ in found}
    assert len(kinds) == 8
    missed = {kind: found[kind, False] for kind in kinds}
    assert not [kind for kind in kinds if missed[kind] > (1 - share) * (missed[kind] + found[kind, True])], missed


def test_planted_breaches_are_caught() -> None:
    at_least(tally(CLEAN, None), 0.98)


def test_planted_breaches_of_shared_recordings_are_caught() -> None:
    at_least(tally(sorted(shared("traces/turnstone").glob("*.jsonl")), None if DEEP else 3), 0.98)


# --- what must not matter -------------------------------------------------------------------------------------------


def essence(one: Report, lines: list[int] | None = None) -> object:
    """A report without names; with the lines of another file that its lines stand for."""

    def at(line: int) -> int:
        return lines[line - 1] if lines else line

    violations = [(found.rule, at(found.line), found.event) for found in one.violations]
    owed = sorted((debt.machine, debt.owes, at(debt.line)) for debt in one.open)
    return one.verdict, violations, owed, one.not_checked


@pytest.mark.parametrize("path", [*CLEAN, *BROKEN], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_names_and_harness_rows_do_not_matter(path: Path) -> None:
    for seed, rows in enumerate(runs(path).values()):
        before = report(rows)
        assert essence(report(renamed(rows, seed))) == essence(before)
        kept = [number for number, row in enumerate(rows, 1) if row["component"] != "harness"]
        assert essence(report([rows[number - 1] for number in kept]), kept) == essence(before)


def prefixes(rows: Rows, step: int) -> bytes:
    """The run cut off at every so many rows, each time as a run of its own."""
    cut = [[{**row, "run": f"{end}"} for row in rows[:end]] for end in range(1 + len(rows) % step, len(rows), step)]
    return b"".join(bytes_of(rows) for rows in cut)


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_no_prefix_of_a_clean_run_is_a_violation(path: Path) -> None:
    for rows in runs(path).values():
        for one in reports(prefixes(rows, 1 if DEEP else 9)):
            assert one.verdict in ("ok", "incomplete"), (one.trace, one.violations, one.note)


def test_a_stop_before_a_late_row_is_no_violation() -> None:
    tried = 0
    for path in CLEAN:
        for rows in runs(path).values():
            for planted in planted_stops(rows):
                one = report(planted)
                assert one.verdict == "incomplete", (one.trace, one.violations, one.note)
                tried += 1
    assert tried > 100


# --- other input ----------------------------------------------------------------------------------------------------


def test_the_format_is_known_by_its_first_row(tmp_path: Path) -> None:
    path = tmp_path / "anything"
    path.write_bytes(CLEAN[0].read_bytes())
    with path.open("rb") as source:
        assert open_source("it", source, path).format == "turnstone"


def test_a_torn_last_row_leaves_the_rest_to_be_judged() -> None:
    whole = CLEAN[0].read_bytes()
    one = reports(whole[:-20])[-1]
    assert one.verdict == "incomplete" and "Unexpected" in one.note or "truncated" in one.note
    with pytest.raises(Torn):
        list(turnstone.read(Lines(BytesIO(b'{"run":"r","seq":0,"thr')), ""))


@pytest.mark.parametrize(
    "wrong",
    [
        b"[]\n",
        b"nothing\n",
        b'{"run":1,"seq":0,"thread":"t","component":"ui","op":"x"}\n',
        b'{"run":"r","seq":0,"thread":"t","component":"ui"}\n',
        b"[" * 3000 + b"\n",
    ],
)
def test_a_line_that_is_no_row_is_refused(wrong: bytes) -> None:
    with pytest.raises(BadInput, match="line 1"):
        list(turnstone.read(Lines(BytesIO(wrong)), ""))


def test_a_field_of_another_type_makes_a_run_unreadable() -> None:
    """Each field of each row in turn: a report, never a traceback."""
    (rows,) = runs(SMALL / "guard_llm_verdicts.jsonl").values()
    verdicts: Counter[str] = Counter()
    for place, row in enumerate(rows):
        for name in row.keys() - {"run", "seq", "ts", "thread", "component", "op"}:
            for other in ([{"call_id": [], "error": 3}], -1):
                for one in reports(bytes_of([*rows[:place], {**row, name: other}, *rows[place + 1 : place + 9]])):
                    verdicts[one.verdict] += 1
    assert verdicts["unreadable"] > 100


NEEDED = frozenset(
    "run seq ts thread component op what role admitted generation cycle_id call_id call_ids items".split()
)
"""Fields that name what a row is about, or say what it is."""


def test_an_optional_field_left_out_is_no_violation() -> None:
    """What it said is open then, and a lawful run stays lawful."""
    for path in CLEAN[::7]:
        for rows in runs(path).values():
            for name in {name for row in rows for name in row} - NEEDED:
                one = report([{field: value for field, value in row.items() if field != name} for row in rows])
                assert one.verdict in ("ok", "incomplete"), (name, one.violations, one.note)
