"""Every race row of Turnstone comes out as the page says, on a real kernel, and the checker agrees."""

import re
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import attrs
import pytest

from ..machines import MACHINES
from ..machines.checking import Begin, Checker, Record, Report
from . import races
from .races.race import Arena, Later, Race, Without
from .where import shared

ROWS = {*range(1, 41), *range(73, 77), *range(85, 99)}
"""Those of the page whose machines exist, or most of them; the others come with part 2."""
FORMS = {"race", "world"}


def written() -> list[Race | Later]:
    modules = sorted(module.name for module in iter_modules(races.__path__) if module.name not in FORMS)
    return [race for name in modules for race in import_module(f".races.{name}", __package__).RACES]


ALL = written()
PLAYED = [race for race in ALL if isinstance(race, Race)]
WAITING = [(race.id, race.machine) for race in ALL if isinstance(race, Later)]
REST = [(race.id, race.later) for race in PLAYED if race.later]
BROKEN = [(race, without) for race in PLAYED for without in race.without]
each_race = pytest.mark.parametrize("race", PLAYED, ids=[race.label for race in PLAYED])


def played(race: Race) -> Arena:
    arena = Arena()
    arena.run(race)
    return arena


def checked(name: str, records: Sequence[Record]) -> Report:
    checker = Checker(MACHINES, Begin(name, complete=True))
    for record in records:
        checker.feed(record)
    return checker.finish()


@each_race
def test_a_race_comes_out_as_its_row_says(race: Race) -> None:
    arena = played(race)
    broken = [text for fact in race.end if (text := fact.broken(arena))]
    assert not broken, "\n".join((*arena.log, *broken))


@each_race
def test_the_checker_agrees_with_the_kernel(race: Race) -> None:
    arena = played(race)
    journal = checked(race.label, list(arena.ground.journal()))
    asked = checked(race.label, arena.records)
    assert [(report.violations, report.note) for report in (journal, asked)] == [((), ""), ((), "")]


@each_race
def test_the_checker_blames_what_the_kernel_refused(race: Race) -> None:
    """Each refusal, recorded as if it had happened, is a violation under the rule that the mover was told."""
    arena = played(race)
    for index, record in enumerate(arena.records):
        if record.outcome == "refused":
            lie = attrs.evolve(record, outcome="accepted")
            report = checked(race.label, [*arena.records[:index], lie])
            told = arena.told[record.line]
            assert [(found.rule, found.line) for found in report.violations] == [(told, record.line)]


@pytest.mark.parametrize(
    ("race", "without"), BROKEN, ids=[f"{race.label}-without-{without.name}" for race, without in BROKEN]
)
def test_the_outcome_needs_the_guard(race: Race, without: Without) -> None:
    arena = Arena(without.variant())
    arena.run(race)
    assert any(fact.broken(arena) for fact in race.end), "\n".join(arena.log)


@pytest.mark.parametrize(("id", "machine"), WAITING, ids=[id for id, _ in WAITING])
def test_a_row_waits_for_its_machine(id: str, machine: str) -> None:
    pytest.skip(f"{id} needs {machine}, which comes with part 2")


@pytest.mark.parametrize(("id", "later"), REST, ids=[id for id, _ in REST])
def test_what_else_a_row_says_waits(id: str, later: str) -> None:
    machine, what = later.split(": ", 1)
    pytest.skip(f"{id} needs {machine}, which comes with part 2, to say: {what}")


def test_every_race_row_is_written() -> None:
    page = shared("lifecycles/turnstone-races.md").read_text("utf-8")
    rows = {int(number): name for number, name in re.findall(r"^\| (\d+) \| ([^|]+?) \|", page, re.MULTILINE)}
    assert ROWS <= rows.keys()
    assert sorted(ROWS - {int(race.id.removeprefix("turnstone-")) for race in ALL}) == []
    assert sorted({int(race.id.removeprefix("turnstone-")) for race in ALL} - ROWS) == []
    strangers = [race.id for race in ALL if not race.name.startswith(rows[int(race.id.removeprefix("turnstone-"))][:8])]
    assert strangers == []
