"""Everything an event could do to one cell, when some of what its guards read is open.

A payload field, a principal or a link that a format cannot carry is UNKNOWN: the guards are asked for every value it
could have. The machine's own `step` decides each case; nothing here holds a rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from ..kernel.fields import UNKNOWN, Field, fields_of
from ..kernel.links import Seen
from ..kernel.snapshot import Accepted, Ref, Refused, Request, Snapshot
from ..kernel.step import absent, fault, known_names, step, take
from ..kernel.table import Table
from .belief import Cell

__all__ = ["Ask", "Possible", "TooMany", "outcomes"]

_MOST = 4096
_FRESH = "\0fresh"
"""An id that nothing else has."""


class TooMany(Exception):
    """More cases than the budget allows: undecided, never a guess."""


@attrs.define
class Ask:
    """One event as it arrived, with what each link could show.

    `links` has, for each link that the event can read, the alternatives that its instance may be in: Seen, None for
    nothing there, UNKNOWN for anything.
    """

    request: Request
    by: Any
    links: Mapping[str, Sequence[Any]]
    tallies: Mapping[str, tuple[int, int]]
    """Each tally of the instance's own, least and most."""


@attrs.define
class Possible:
    """What can follow from one cell."""

    after: dict[Cell, dict[str, set[int]]] = attrs.field(factory=dict)
    """Each next cell with, for each link, the alternatives under which it is reached."""
    refused: list[Refused] = attrs.field(factory=list)
    open: set[str] = attrs.field(factory=set)
    """Rules whose guards depended on something unknown."""


def outcomes(table: Table, cell: Cell, ask: Ask, make: Any) -> Possible:
    """Let the machine decide every case.

    Args:
        table: the machine.
        cell: the state to start from.
        ask: the event and what it may see.
        make: (state, data, memory) to the interned cell.

    Raises:
        TooMany: the cases outnumber the budget.
    """
    found = Possible()
    ref = Ref(table.name, "?")
    needed = _needed(table, cell, ask.request.name)
    before = absent(table, ref) if cell.state is table.absent else Snapshot(ref, cell.state, 1, cell.data)
    for case, chosen in _cases(table, cell, ask, needed):
        request, by, links, tallies = case
        snapshot = attrs.evolve(before, tallies=tallies)
        for decision in _decide(table, snapshot, request, by, links, needed):
            if isinstance(decision, Refused):
                found.refused.append(decision)
                continue
            after = decision.after
            memory = _remember(table, cell, ask.request.name, decision)
            if memory is None:
                found.refused.append(_monitored(table, cell, ask.request, decision))
                continue
            reached = found.after.setdefault(make(after.state, after.data, memory), {})
            for link, index in chosen.items():
                reached.setdefault(link, set()).add(index)
    if found.after and found.refused:
        dark = _dark(table, cell, ask, needed)
        found.open = {failed.rule for refused in found.refused for failed in refused.failed if not dark.isdisjoint(failed.saw)}
    return found


def _dark(table: Table, cell: Cell, ask: Ask, needed: frozenset[str]) -> set[str]:
    """The names that are read here and that the trace does not show."""
    dark = {name for name, alternatives in ask.links.items() if UNKNOWN in alternatives}
    dark |= {field.name for field in table.events[ask.request.name].fields if getattr(ask.request.payload, field.name) is UNKNOWN}
    dark |= {"data"} if cell.data is UNKNOWN else set()
    dark |= {"by"} if ask.by is UNKNOWN else set()
    return dark & needed


def _remember(table: Table, cell: Cell, event: str, decision: Accepted) -> tuple[Any, ...] | None:
    memory = tuple(
        watch.advance(before, event, decision.before, decision.after)
        for watch, before in zip(table.monitors, cell.memory, strict=True)
    )
    return None if any(watch.bad(value) for watch, value in zip(table.monitors, memory, strict=True)) else memory


def _monitored(table: Table, cell: Cell, request: Request, decision: Accepted) -> Refused:
    for watch, before in zip(table.monitors, cell.memory, strict=True):
        if watch.bad(watch.advance(before, request.name, decision.before, decision.after)):
            return Refused(decision.ref, watch.rule.name, f"{request.name} is refused: {watch.rule.why}", (), table.takes(cell.state))
    raise AssertionError("a monitor was bad and is not")


def _needed(table: Table, cell: Cell, event: str) -> frozenset[str]:
    """The names that the transitions of this cell read."""
    ways = table.moves.get((str(cell.state.id), event), ())
    return frozenset(name for way in ways for bound in (*way.guards, *([way.update] if way.update else ())) for name in bound.names)


def _decide(
    table: Table, snapshot: Snapshot[Any], request: Request, by: Any, links: Mapping[str, Any], needed: frozenset[str]
) -> Iterator[Accepted | Refused]:
    blind = {name for name in needed if (links.get(name) is UNKNOWN) or (name == "data" and snapshot.data is UNKNOWN)}
    if not blind:
        yield step(table, snapshot, request, by, links)
        return
    known = known_names(table, snapshot, request, by, links)
    for way in table.moves[str(snapshot.state.id), request.name]:
        faults = [fault(table, guard, known) for guard in way.guards if blind.isdisjoint(guard.names)]
        if any(faults):
            continue
        if way.update and not blind.isdisjoint(way.update.names):
            after = Snapshot(snapshot.ref, way.target, snapshot.version + 1, UNKNOWN)
            yield Accepted(snapshot.ref, snapshot, after, str(way))
        elif snapshot.data is UNKNOWN and way.update is None:
            yield Accepted(snapshot.ref, snapshot, attrs.evolve(snapshot, state=way.target), str(way))
        else:
            yield take(table, attrs.evolve(snapshot, data=None), request, attrs.evolve(way, effects=()), known)
        if all(blind.isdisjoint(guard.names) for guard in way.guards):
            return
    yield step(table, snapshot, request, by, links)


def _cases(table: Table, cell: Cell, ask: Ask, needed: frozenset[str]) -> Iterator[tuple[tuple[Request, Any, dict[str, Any], dict[str, int]], dict[str, int]]]:
    axes: list[tuple[str, str, Sequence[Any]]] = []
    for name in table.links:
        if name in needed:
            alternatives = ask.links.get(name, (None,))
            axes.append(("link", name, alternatives))
    for name, (least, most) in ask.tallies.items():
        if name in needed:
            axes.append(("tally", name, range(least, most + 1)))
    unknown = [field for field in table.events[ask.request.name].fields if getattr(ask.request.payload, field.name) is UNKNOWN and field.name in needed]
    if unknown or (ask.by is UNKNOWN and "by" in needed):
        ids, epochs = _known_values(table, cell, ask)
        axes += [("field", field.name, _domain(field, ids, epochs)) for field in unknown]
        if ask.by is UNKNOWN and "by" in needed:
            axes.append(("by", "by", (*ids, _FRESH, None)))
    size = 1
    for _, _, values in axes:
        size *= max(1, len(values))
    if size > _MOST:
        raise TooMany(f"{ask.request.event} could mean {size} different things")
    for combination in product(*(range(len(values)) for _, _, values in axes)):
        chosen = {(kind, name): values[index] for (kind, name, values), index in zip(axes, combination, strict=True)}
        fields = {name: value for (kind, name), value in chosen.items() if kind == "field"}
        request = ask.request if not fields else attrs.evolve(ask.request, payload=attrs.evolve(ask.request.payload, **fields))
        links = {name: value for (kind, name), value in chosen.items() if kind == "link"}
        tallies = {**dict.fromkeys(table.tallies, 0), **{name: value for (kind, name), value in chosen.items() if kind == "tally"}}
        indexes = {name: index for (kind, name, _), index in zip(axes, combination, strict=True) if kind == "link"}
        yield (request, chosen.get(("by", "by"), None if ask.by is UNKNOWN else ask.by), links, tallies), indexes


def _domain(field: Field, ids: tuple[Any, ...], epochs: tuple[int, ...]) -> tuple[Any, ...]:
    finite = field.domain()
    if finite is not None:
        return finite
    none = (None,) if field.optional else ()
    if field.kind == "epoch":
        near = {value + change for value in epochs for change in (-1, 0, 1)} or {0}
        return (*sorted(value for value in near if value >= 0), *none)
    if field.kind == "ids":
        return (frozenset(), frozenset(ids), frozenset({_FRESH}), *none)
    return (*ids, _FRESH, *none)


def _known_values(table: Table, cell: Cell, ask: Ask) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The ids and the counters that this component has, sorted so that a run repeats itself."""
    ids: set[Any] = set()
    epochs: set[int] = set()
    seen = [alternative.data for alternatives in ask.links.values() for alternative in alternatives if isinstance(alternative, Seen)]
    for data in (cell.data, ask.request.payload, *seen):
        if data is None or data is UNKNOWN:
            continue
        for field in fields_of(type(data)):
            value = getattr(data, field.name)
            if value is None or value is UNKNOWN:
                continue
            if field.kind == "id":
                ids.add(value)
            elif field.kind == "ids":
                ids |= value
            elif field.kind == "epoch":
                epochs.add(value)
    return tuple(sorted(ids, key=str)), tuple(sorted(epochs))
