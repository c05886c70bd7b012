"""What holds of the verdict on any trace, on random walks through worlds of the shipped machines."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..machines.catalogue import MACHINES
from ..machines.checking import Report
from ..machines.kernel import Accepted, Machine, MemoryStore, Refused, Seen, Snapshot, step
from ..machines.kernel.fields import fields_of
from .generate.thinning import thinned
from .generate.values import draw_case
from .generate.walks import HEADER, Walk, component
from .traces import COMPLETE, report

SEEDS = st.integers(0, 2**32)
NAMES = st.sampled_from(list(MACHINES))
STEPS = st.integers(1, 40)
Line = dict[str, Any]


def walk(name: str, seed: int, steps: int) -> list[Line]:
    """A lawful trace in which a machine and all that it links to take part."""
    return Walk(Random(seed), component(MACHINES[name])).lawful(steps)


def unlawful(name: str, seed: int, steps: int) -> tuple[list[Line], Refused, int] | None:
    """A trace in which a step is said to have happened that was refused, its refusal and its line."""
    world = Walk(Random(seed), component(MACHINES[name]))
    before = list(world.lawful(steps))
    spoilt = world.refused()
    if spoilt is None:
        return None
    after = world.lawful(10)[len(before) :]
    return [*before, spoilt[0], *after], spoilt[1], len(before) + 2


def shown(lines: list[Line], header: Mapping[str, Any] = COMPLETE) -> str:
    return "\n".join(json.dumps(line) for line in (header, *lines))


# --- lawful -----------------------------------------------------------------------------------------------------------


@given(NAMES, SEEDS, STEPS)
@settings(max_examples=40)
def test_a_lawful_trace_and_each_of_its_prefixes_is_no_violation(name: str, seed: int, steps: int) -> None:
    lines = walk(name, seed, steps)
    for end in {len(lines), len(lines) * 2 // 3, len(lines) // 3}:
        assert report(lines[:end]).verdict in ("ok", "incomplete"), shown(lines[:end])


@given(NAMES, SEEDS, STEPS, st.sampled_from([0.05, 0.3, 1.0]))
@settings(max_examples=120)
def test_a_lawful_trace_that_shows_less_is_no_violation(name: str, seed: int, steps: int, share: float) -> None:
    lines, header = thinned(Random(seed + 1), walk(name, seed, steps), HEADER, share)
    assert report(lines, header).verdict in ("ok", "incomplete", "undecided"), shown(lines, header)


@given(NAMES, SEEDS, STEPS, st.integers(0, 40), st.sampled_from([0.0, 0.3]))
@settings(max_examples=60)
def test_a_slice_of_a_lawful_trace_is_no_violation(name: str, seed: int, steps: int, cut: int, share: float) -> None:
    lines, header = thinned(Random(seed + 1), walk(name, seed, steps)[cut:], HEADER, share)
    header.pop("complete", None)
    assert report(lines, header).verdict in ("ok", "incomplete", "undecided"), shown(lines, header)


@given(NAMES, SEEDS, STEPS, st.sampled_from([0.0, 0.3]))
@settings(max_examples=80)
def test_a_lawful_trace_whose_events_are_shown_as_calls_is_no_violation(
    name: str, seed: int, steps: int, share: float
) -> None:
    calls = as_calls(Random(seed + 1), walk(name, seed, steps))
    lines, header = thinned(Random(seed + 2), calls, HEADER, share) if share else (calls, HEADER)
    assert report(lines, header).verdict in ("ok", "incomplete", "undecided"), shown(lines, header)


def as_calls(random: Random, lines: list[Line]) -> list[Line]:
    """The trace with some events as calls: invoked a little before they happened, returned a little after, or never."""
    placed: list[tuple[float, Line]] = []
    for place, line in enumerate(lines):
        if "event" not in line or random.random() < 0.7:
            placed.append((place, line))
            continue
        call = {"call": f"c{place}"}
        bare = {name: value for name, value in line.items() if name not in ("state", "data")}
        placed.append((place - random.random() * 3, {**bare, "phase": "invoke", **call}))
        if "outcome" in line or random.random() < 0.8:
            end: Line = {name: line[name] for name in ("machine", "id", "event", "outcome") if name in line}
            placed.append((place + random.random() * 3, {**end, "phase": "return", **call}))
    return [line for _, line in sorted(placed, key=lambda pair: pair[0])]


def test_walks_go_far_enough_to_mean_something() -> None:
    """They get to each machine, to two fifths of all transitions, and meet every other rule that refuses by state.

    Four walks for each machine; where its birth needs much to come together, more of them, until one gets there.
    """
    taken, met = {name: set[str]() for name in MACHINES}, set()
    for name, machine in MACHINES.items():
        for seed in range(40):
            if seed >= 4 and taken[name]:
                break
            store = MemoryStore()
            Walk(Random(seed), component(machine), store).lawful(60)
            met |= {no.rule for _, no in store.audit}
            for entry in store.journal:
                taken[entry.table.name].add(entry.decision.transition)
    possible = {str(move) for machine in MACHINES.values() for move in machine.table.transitions}
    assert all(taken.values())
    assert sum(map(len, taken.values())) >= 0.4 * len(possible)
    assert len(met) >= 0.5 * len({no.rule.name for m in MACHINES.values() for no in m.table.refusals.values()})


# --- unlawful ---------------------------------------------------------------------------------------------------------


@given(NAMES, SEEDS, STEPS)
@settings(max_examples=40)
def test_a_refused_step_that_is_said_to_have_happened_is_the_first_violation(name: str, seed: int, steps: int) -> None:
    made = unlawful(name, seed, steps)
    if made is not None:
        lines, no, at = made
        found = report(lines)
        assert found.verdict == "violation", shown(lines)
        assert (found.violations[0].rule, found.violations[0].line) == (no.rule, at), shown(lines)


@given(NAMES, SEEDS, STEPS, st.sampled_from([0.05, 0.3, 1.0]))
@settings(max_examples=150)
def test_a_violation_that_is_shown_less_stays_or_its_rule_is_not_checked(
    name: str, seed: int, steps: int, share: float
) -> None:
    made = unlawful(name, seed, steps)
    if made is not None:
        lines, no, at = made
        less, header = thinned(Random(seed + 1), lines, HEADER, share)
        found = report(less, header)
        same = (no.rule, at) in [(violation.rule, violation.line) for violation in found.violations]
        assert same or no.rule in found.not_checked, f"{no.rule} at line {at}\n{found}\n{shown(less, header)}"


# --- renaming ---------------------------------------------------------------------------------------------------------

STRANGE = ["", " ", "\0", "\u202e", "ß", "i1\n", '"', "null", "a" * 300, "𝔞", "-", "%s"]


def renaming(random: Random) -> Callable[[Any], Any]:
    """A bijection of ids, to names as strange as ids may have."""
    given: dict[Any, Any] = {}
    fresh = [*STRANGE, *(f"n{number}" for number in range(200))]
    random.shuffle(fresh)

    def rename(id: Any) -> Any:
        return None if id is None else given.setdefault(id, fresh[len(given)])

    return rename


def renamed_fields(fields: Any, values: Mapping[str, Any], rename: Callable[[Any], Any]) -> dict[str, Any]:
    kinds = {field.name: field.kind for field in fields}
    return {
        name: rename(value)
        if kinds[name] == "id"
        else [rename(item) for item in value]
        if kinds[name] == "ids" and value is not None
        else value
        for name, value in values.items()
    }


def renamed_line(line: Line, rename: Callable[[Any], Any]) -> Line:
    table = MACHINES[line["machine"]].table
    made = dict(line)
    for name in ("id", "by", "event_id", "actor"):
        if name in line:
            made[name] = rename(line[name])
    if "links" in line:
        made["links"] = {name: rename(id) for name, id in line["links"].items()}
    if "payload" in line:
        made["payload"] = renamed_fields(table.events[line["event"]].fields, line["payload"], rename)
    if "data" in line:
        made["data"] = renamed_fields(table.data_fields, line["data"], rename)
    return made


def essence(found: Report, rename: Callable[[Any], Any] = lambda id: id) -> Any:
    return (
        found.verdict,
        found.instances,
        found.events,
        [(v.rule, v.line, v.machine, rename(v.id), v.state, v.event, v.expected) for v in found.violations],
        [([guard for guard, _ in v.failed], v.because_line) for v in found.violations],
        sorted((debt.machine, rename(debt.id), debt.state, debt.owes, debt.line) for debt in found.open),
        found.not_checked,
    )


@given(NAMES, SEEDS, STEPS, st.sampled_from([0.0, 0.3]))
@settings(max_examples=60)
def test_renaming_all_ids_changes_no_verdict(name: str, seed: int, steps: int, share: float) -> None:
    made = unlawful(name, seed, steps)
    lines, header = thinned(Random(seed + 1), made[0] if made else walk(name, seed, steps), HEADER, share)
    rename = renaming(Random(seed + 2))
    other = [renamed_line(line, rename) for line in lines]
    assert essence(report(other, header)) == essence(report(lines, header), rename), shown(lines, header)


def renamed_data(data: Any, rename: Callable[[Any], Any]) -> Any:
    if data is None:
        return None
    made = renamed_fields(fields_of(type(data)), attrs.asdict(data, recurse=False), rename)
    sets = {field.name for field in fields_of(type(data)) if field.kind == "ids"}
    return type(data)(**{n: frozenset(v) if n in sets and v is not None else v for n, v in made.items()})


@pytest.mark.parametrize("swap", [{"a": "b", "b": "a"}, {"a": 1, "b": 2}], ids=["swapped", "as numbers"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_step_commutes_with_renaming_ids(name: str, swap: Mapping[str, Any]) -> None:
    machine: type[Machine] = MACHINES[name]
    random, taken = Random(5), 0

    def rename(id: Any) -> Any:
        return swap.get(id, id)

    def other(seen: Seen[Any] | None) -> Seen[Any] | None:
        return seen and attrs.evolve(seen, data=renamed_data(seen.data, rename))

    for state in machine.table.states.values():
        for event in machine.table.events:
            for _ in range(12):
                case = draw_case(random, machine, state, event)
                first = step(machine.table, case.snapshot, case.request, case.by, case.links)
                before: Snapshot[Any] = attrs.evolve(case.snapshot, data=renamed_data(case.snapshot.data, rename))
                request = attrs.evolve(case.request, payload=renamed_data(case.request.payload, rename))
                links = {link: other(seen) for link, seen in case.links.items()}
                second = step(machine.table, before, request, rename(case.by), links)
                if isinstance(first, Accepted):
                    assert isinstance(second, Accepted)
                    assert second.after.data == renamed_data(first.after.data, rename)
                    assert (second.transition, second.after.state) == (first.transition, first.after.state)
                    taken += 1
                else:
                    assert isinstance(second, Refused)
                    assert (second.rule, second.expected) == (first.rule, first.expected)
                    assert [failed.guard for failed in second.failed] == [failed.guard for failed in first.failed]
    assert taken
