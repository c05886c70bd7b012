"""Every race row of Turnstone comes out as the page says, on a real kernel, and the checker agrees."""

import re
from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

import attrs
import pytest

from ..machines import MACHINES
from ..machines.checking import Begin, Checker, Recorded, Report, World
from . import races
from .races.scenario import Arena, Later, Race, Without
from .where import shared

ROWS = {*range(1, 41), *range(73, 77), *range(85, 99)}
"""The rows of the page of which today's machines can say something; the others come with part 2."""
TO_COME = {"adapter", "grant", "guard object", "verdict", "worker slot"}
"""What rows wait for."""


def written() -> list[Race | Later]:
    modules = sorted(module.name for module in iter_modules(races.__path__) if module.name.startswith("turnstone"))
    return [race for name in modules for race in import_module(f".races.{name}", __package__).RACES]


ALL = written()
PLAYED = [race for race in ALL if isinstance(race, Race)]
WAITING = [(race.id, race.machine) for race in ALL if isinstance(race, Later)]
REST = [(race.id, *race.later.split(": ", 1)) for race in PLAYED if race.later]
BROKEN = [(race, without) for race in PLAYED for without in race.without]

each_race = pytest.mark.parametrize("race", PLAYED, ids=[race.label for race in PLAYED])
each_guard = pytest.mark.parametrize(
    ("race", "without"), BROKEN, ids=[f"{race.label}-without-{without.name}" for race, without in BROKEN]
)


def played(race: Race, arena: Arena) -> list[str]:
    """What is not as the row requires at the end."""
    arena.run(race)
    return [text for fact in race.end if (text := fact.broken(arena))]


def checked(name: str, records: Iterable[Recorded]) -> Report:
    checker = Checker(World(MACHINES), Begin(name, complete=True))
    for record in records:
        checker.feed(record)
    return checker.finish()


@each_race
def test_a_race_comes_out_as_its_row_says(race: Race) -> None:
    arena = Arena()
    broken = played(race, arena)
    assert not broken, "\n".join((*arena.log, *broken))


@each_race
def test_a_race_can_come_out_otherwise(race: Race) -> None:
    """Nothing is so from the start, or a guard is named without which it is not so in the end."""
    assert race.without or played(attrs.evolve(race, moves=()), Arena())


@each_guard
def test_the_outcome_needs_the_guard(race: Race, without: Without) -> None:
    arena = Arena(without.variant())
    assert played(race, arena), "\n".join(arena.log)


@each_race
def test_the_checker_agrees_with_the_kernel(race: Race) -> None:
    arena = Arena()
    played(race, arena)
    for records in (arena.ground.journal(), arena.records):
        report = checked(race.label, records)
        assert (report.violations, report.note) == ((), "")


@each_race
def test_the_checker_blames_what_the_kernel_refused(race: Race) -> None:
    """Each refusal, recorded as if it had happened, is a violation under the rule that the mover was told."""
    arena = Arena()
    played(race, arena)
    for index, record in enumerate(arena.records):
        if record.outcome == "refused":
            lie = attrs.evolve(record, outcome="accepted")
            report = checked(race.label, [*arena.records[:index], lie])
            blamed = [(found.rule, found.line) for found in report.violations]
            assert blamed == [(arena.told[record.line], record.line)]


@pytest.mark.parametrize(("id", "machine"), WAITING, ids=[id for id, _ in WAITING])
def test_a_row_waits_for_its_machine(id: str, machine: str) -> None:
    assert machine in TO_COME
    pytest.skip(f"{id} needs {machine}, which comes with part 2")


@pytest.mark.parametrize(("id", "machine", "what"), REST, ids=[id for id, *_ in REST])
def test_the_rest_of_a_row_waits_for_its_machine(id: str, machine: str, what: str) -> None:
    assert machine in TO_COME
    pytest.skip(f"{id} needs {machine}, which comes with part 2, to say: {what}")


def test_every_race_row_is_written() -> None:
    page = shared("lifecycles/turnstone-races.md").read_text("utf-8")
    names = dict(re.findall(r"^\| (\d+) \| ([^|]+?) \|", page, re.MULTILINE))
    wanted = {f"turnstone-{number}": names[str(number)] for number in ROWS}
    assert sorted(wanted.keys() - {race.id for race in ALL}) == []
    assert [race.id for race in ALL if race.name.split(": ")[0] != wanted.get(race.id)] == []
