"""Every race row of agent-doc comes out as the page says, on a real kernel, and the checker agrees."""

import re
from importlib import import_module
from pkgutil import iter_modules

import attrs
import pytest

from . import races
from .races.scenario import Arena, Later, Race, Without
from .test_races import checked, played
from .where import shared

LETTERS = ("a", "b", "e")
"""The page's letters of what exists: active turn, dispatch, fallback patch; c and d come with part 2."""
MORE = ("96",)
"""Filed under d, and of the fallback patch alone."""
TO_COME = {"acknowledgement", "capture", "closeout", "ownership", "prompt", "queue", "replay"}
"""The machines of part 2 that rows wait for: agent-doc-tables.md, 10, 3, 4, 8, 9, 7 and 11."""
ADAPTERS = {"adapters/editors", "adapters/terminals", "adapters/vcs"}


def written() -> list[Race | Later]:
    modules = sorted(module.name for module in iter_modules(races.__path__) if module.name.startswith("agent_doc"))
    return [race for name in modules for race in import_module(f".races.{name}", __package__).RACES]


ALL = written()
PLAYED = [race for race in ALL if isinstance(race, Race)]
POSITIVE = [race for race in PLAYED if race.id.startswith("agent-doc-ok-")]
WAITING = [(race.id, race.machine) for race in ALL if isinstance(race, Later)]
REST = [(race.label, *race.later.split(": ", 1)) for race in PLAYED if race.later]
BROKEN = [(race, without) for race in PLAYED for without in race.without]

each_race = pytest.mark.parametrize("race", PLAYED, ids=[race.label for race in PLAYED])
each_guard = pytest.mark.parametrize(
    ("race", "without"), BROKEN, ids=[f"{race.label}-without-{without.name}" for race, without in BROKEN]
)


@each_race
def test_a_race_comes_out_as_its_row_says(race: Race) -> None:
    arena = Arena()
    broken = played(race, arena)
    assert not broken, "\n".join((*arena.log, *broken))


@each_race
def test_a_race_can_come_out_otherwise(race: Race) -> None:
    """Not all of the outcome is there from the start, or a guard is named without which it is not there at the end."""
    assert race.without or played(attrs.evolve(race, moves=()), Arena())


@each_guard
def test_the_outcome_needs_the_guard(race: Race, without: Without) -> None:
    arena = Arena(without.variant())
    assert played(race, arena), "\n".join(arena.log)


@pytest.mark.parametrize("race", POSITIVE, ids=[race.label for race in POSITIVE])
def test_of_a_positive_scenario_all_is_accepted(race: Race) -> None:
    arena = Arena()
    played(race, arena)
    assert [record for record in arena.records if record.outcome == "refused"] == []


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
def test_a_row_waits(id: str, machine: str) -> None:
    assert machine in TO_COME | ADAPTERS
    pytest.skip(f"{id} needs {machine} of part 2")


@pytest.mark.parametrize(("id", "machine", "what"), REST, ids=[id for id, *_ in REST])
def test_the_rest_of_a_row_waits(id: str, machine: str, what: str) -> None:
    assert machine in TO_COME | ADAPTERS
    pytest.skip(f"{id} needs {machine} of part 2 to say: {what}")


def test_every_race_row_is_written() -> None:
    page = shared("lifecycles/agent-doc-races.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| (\w) \| ([^|]+?) \|", page, re.MULTILINE)
    wanted = {f"agent-doc-{number}": name for number, letter, name in rows if letter in LETTERS or number in MORE}
    assert len(wanted) > len(MORE)
    assert sorted(wanted.keys() - {race.id for race in ALL}) == []
    found = {race.id: race.name for race in ALL if not race.id.startswith("agent-doc-ok-")}
    assert [id for id, name in found.items() if name.split(": ")[0] != wanted.get(id)] == []


def test_every_positive_scenario_is_written() -> None:
    page = shared("lifecycles/agent-doc-races.md").read_text("utf-8")
    wanted = {f"agent-doc-{id}": name for id, name in re.findall(r"(ok-\d+) ([^;]+?)[;.]", page)}
    found = {race.id: race.name for race in ALL if race.id.startswith("agent-doc-ok-")}
    assert sorted(wanted.keys() ^ found.keys()) == []
    assert [id for id, name in found.items() if name.split(": ")[0] != wanted[id]] == []
