"""Small values for every declared field, and cases of a machine drawn from them.

One place says what a test tries: the whole domain of bools and enums, the ends of ranges, few ids and counters, so that
equal and different ones both occur.
"""

from functools import cache
from random import Random
from typing import Any

import attrs

from ...machines.kernel import Event, Machine, Ref, Request, Seen, Snapshot, State, Table
from ...machines.kernel.fields import Field
from ...machines.kernel.table import EventSpec

__all__ = ["PRINCIPALS", "Case", "draw_case", "draw_data", "draw_request", "draw_seen", "values"]

_IDS = ("a", "b")
PRINCIPALS = ("a", "b", None)
"""Who may act in a test; the same names as the ids, so that a principal can be the one that data knows."""


@cache
def values(field: Field) -> tuple[Any, ...]:
    """The values of a field that tests try."""
    if field.kind == "carried":
        return (False, True) if field.type is bool else ("text",)
    finite = field.domain()
    if finite is not None and len(finite) <= 16:
        return finite
    if field.kind == "int":
        least, most = field.values
        some: tuple[Any, ...] = (least, least + 1, (least + most) // 2, most)
    else:
        some = {
            "epoch": (0, 1, 2),
            "id": _IDS,
            "ids": (frozenset(), frozenset(_IDS[:1]), frozenset(_IDS)),
        }[field.kind]
    return (*some, None) if field.optional else some


@attrs.frozen
class Case:
    """One step to try."""

    snapshot: Snapshot[Any]
    request: Request
    by: Any
    links: dict[str, Seen[Any] | None]


def draw_data(random: Random, table: Table) -> Any:
    """Some data of a machine; not always data that it can reach."""
    return table.data and table.data(**{field.name: random.choice(values(field)) for field in table.data_fields})


def draw_seen(random: Random, table: Table) -> Seen[Any]:
    """Some instance of a machine as a guard may see it."""
    state = random.choice([state for state in table.states.values() if state is not table.absent])
    return Seen(state, draw_data(random, table), {tally: random.choice((0, 0, 1, 2)) for tally in table.tallies})


def draw_request(random: Random, machine: type[Machine], spec: EventSpec) -> Request:
    event: Event[Any] = getattr(machine, spec.name)
    fields = {field.name: random.choice(values(field)) for field in spec.fields}
    return Request(event, spec.payload and spec.payload(**fields))


def draw_case(random: Random, machine: type[Machine], state: State, event: str) -> Case:
    """Some step of a machine from this state by this event; an optional link is missing now and then."""
    table = machine.table
    born = state is not table.absent
    tallies = {tally: random.choice((0, 0, 1, 2)) if born else 0 for tally in table.tallies}
    snapshot = Snapshot(Ref(table.name, "x"), state, int(born), draw_data(random, table) if born else None, {}, tallies)
    links = {
        name: None if link.optional and random.random() < 0.3 else draw_seen(random, link.to.table)
        for name, link in table.links.items()
    }
    return Case(snapshot, draw_request(random, machine, table.events[event]), random.choice(PRINCIPALS), links)
