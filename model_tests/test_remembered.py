"""An outcome that was worked out once holds for every instance like the first: names of ids make no difference."""

import json
from collections.abc import Mapping
from io import BytesIO
from random import Random
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from ..adapters.traces import native
from ..adapters.traces.lines import Lines
from ..machines.catalogue import MACHINES
from ..machines.checking import Begin, Checker, Report, World
from ..machines.kernel.fields import Field
from .generate.walks import HEADER, Walk, component

Line = dict[str, Any]
SEEDS = st.integers(0, 2**32)
NAMES = st.sampled_from(list(MACHINES))


def checked(lines: list[Line], header: Mapping[str, Any] = HEADER, *, remember: bool = True) -> tuple[Report, int]:
    """The report on a trace, and how many outcomes were kept for another time; without memory all is worked out."""
    text = "".join(json.dumps(line) + "\n" for line in (header, *lines)).encode()
    begin, *records = native.read(Lines(BytesIO(text)), "t")
    assert isinstance(begin, Begin)
    checker = Checker(World(MACHINES), begin)
    lanes = checker.world.lanes.values()
    if not remember:
        for lane in lanes:
            lane.plans = {name: attrs.evolve(lane.plan(name), key=lambda *_: None) for name in lane.table.events}
    for record in records:
        assert not isinstance(record, Begin)
        checker.feed(record)
    return checker.finish(), sum(len(plan.accepted) for lane in lanes for plan in lane.plans.values())


def renamed(lines: list[Line], copy: int) -> list[Line]:
    """The trace with every id as another one."""
    return [
        {
            **line,
            "id": f"{line['id']}.{copy}",
            "links": {name: id and f"{id}.{copy}" for name, id in (line.get("links") or {}).items()},
            **({"by": f"{line['by']}.{copy}"} if line.get("by") is not None else {}),
            **({"event_id": f"{line['event_id']}.{copy}"} if "event_id" in line else {}),
            **{
                part: {name: _other(fields.get(name), value, copy) for name, value in line[part].items()}
                for part, fields in _fields(line).items()
                if line.get(part)
            },
        }
        for line in lines
    ]


def _fields(line: Line) -> dict[str, dict[str, Field]]:
    table = MACHINES[line["machine"]].table
    payload = table.events[line["event"]].fields if "event" in line else ()
    return {
        "payload": {field.name: field for field in payload},
        "data": {field.name: field for field in table.data_fields},
    }


def _other(field: Field | None, value: Any, copy: int) -> Any:
    if field is None or value is None or field.kind not in ("id", "ids"):
        return value
    return f"{value}.{copy}" if field.kind == "id" else [f"{one}.{copy}" for one in value]


def walk(name: str, seed: int, *, spoilt: bool) -> list[Line]:
    """A trace of a machine and all that it links to; if spoilt, one step of it was refused."""
    world = Walk(Random(seed), component(MACHINES[name]))
    lines = list(world.lawful(25))
    wrong = world.refused() if spoilt else None
    return [*lines, wrong[0]] if wrong else lines


@given(NAMES, SEEDS, st.booleans())
@settings(max_examples=30)
def test_what_is_remembered_says_the_same_as_what_is_worked_out(name: str, seed: int, spoilt: bool) -> None:
    lines = [line for copy in range(3) for line in renamed(walk(name, seed, spoilt=spoilt), copy)]
    assert checked(lines)[0] == checked(lines, remember=False)[0]


@given(NAMES, SEEDS, SEEDS)
@settings(max_examples=30)
def test_what_is_remembered_of_one_world_misleads_no_other(name: str, seed: int, other: int) -> None:
    lines = [*renamed(walk(name, seed, spoilt=False), 1), *renamed(walk(name, other, spoilt=True), 2)]
    assert checked(lines)[0] == checked(lines, remember=False)[0]


@given(NAMES, SEEDS)
@settings(max_examples=30)
def test_a_renamed_copy_needs_nothing_to_be_worked_out_anew(name: str, seed: int) -> None:
    lines = walk(name, seed, spoilt=False)
    once, kept = checked(renamed(lines, 1))
    twice, kept_twice = checked([*renamed(lines, 1), *renamed(lines, 2)])
    assert kept_twice == kept
    assert twice.events == 2 * once.events and twice.verdict == once.verdict


def test_ids_that_are_equal_are_not_taken_for_ids_that_differ() -> None:
    """Two cards alike but for the click: one shows the digest that was clicked, the other not."""
    rows = [json.loads(line) for line in _CARD.splitlines()]
    good = renamed(rows, 1)
    bad = renamed(rows, 2)
    click = next(line for line in bad if line.get("event") == "approve")
    click["payload"]["digest"] = "another"
    report, _ = checked([*good, *bad])
    assert [(violation.rule, violation.id) for violation in report.violations] == [("approval-binds-content", "card.2")]


_CARD = """\
{"machine":"session","id":"s","event":"start","payload":{"principal":"alice"}}
{"machine":"admission","id":"ui","event":"start"}
{"machine":"lease","id":"b","event":"start","payload":{"epoch":0,"generation":0},"links":{"session":"s","admission":"ui"}}
{"machine":"lease","id":"b","event":"grant"}
{"machine":"approval","id":"card","event":"start","payload":{"digest":"d","principal":"alice"},"links":{"session":"s","admission":"ui","bundle":"b"}}
{"machine":"approval","id":"card","event":"show"}
{"machine":"lease","id":"b","event":"release"}
{"machine":"approval","id":"card","event":"publish"}
{"machine":"lease","id":"c","event":"start","payload":{"epoch":0,"generation":0},"links":{"session":"s","admission":"ui"}}
{"machine":"lease","id":"c","event":"grant"}
{"machine":"approval","id":"card","event":"approve","payload":{"digest":"d","always":false,"feedback":false},"links":{"lease":"c"},"by":"alice"}
"""
