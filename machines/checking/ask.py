"""One event as a trace shows it, and every way in which all that is not shown could be."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import attrs

from ..kernel.fields import UNKNOWN, Field
from ..kernel.links import Seen
from ..kernel.snapshot import Request
from ..kernel.table import Table
from .belief import Cell
from .dark import Known, Probe, Touched, dark_fields, put
from .toomany import TooMany

__all__ = ["MOST", "Ask", "Case", "Count", "Counts", "cases", "known", "opened"]

MOST = 4096
"""Cases of one event, above which a verdict is undecided."""
_FEW = 4
"""Values a field may have that are tried one by one, whether a guard looks at it or not."""


class Counts(dict[str, Any]):
    """How many count for a linked instance where that is open: a range each, until a guard looks at it.

    Args:
        counts: each tally as a number or a range of them.
        shaded: the tallies that are open by what the trace does not show.
    """

    def __init__(self, counts: Mapping[str, Any], shaded: frozenset[str] = frozenset()) -> None:
        super().__init__(counts)
        self.shaded = shaded

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if isinstance(value, range):
            raise Touched(Count(self, name, value))
        return value


@attrs.frozen(eq=False)
class Count:
    """One tally that was looked at."""

    counts: Counts
    name: str
    values: range


@attrs.define
class Ask:
    """One event as it arrived, with what each link could show.

    `links` has, for each link that the event can read, the alternatives that its instance may be in: Seen, None for
    nothing there, UNKNOWN for anything.
    """

    request: Request
    by: Any
    links: Mapping[str, Sequence[Any]]
    tallies: Mapping[str, Sequence[Any]]
    """Each tally of the instance's own: the counts that it may have, UNKNOWN for any."""
    shaded: frozenset[str] = frozenset()
    """Links and tallies that are open by what the trace does not show; others are open by its order alone."""
    own: frozenset[str] = frozenset()
    """Links that lead back to the instance itself: they show what the candidate is, whatever else it may be."""

    def alternatives(self, name: str, table: Table, cell: Cell) -> Sequence[Any]:
        """What a link may show to a candidate."""
        if name not in self.own:
            return self.links.get(name, (None,))
        if cell.state is table.absent:
            return (None,)
        counts = {tally: values[0] for tally, values in self.tallies.items() if len(values) == 1}
        known = cell.data is not UNKNOWN and len(counts) == len(self.tallies) and UNKNOWN not in counts.values()
        return (Seen(cell.state, cell.data, counts) if known else UNKNOWN,)


@attrs.frozen
class Case:
    """One way in which all that is not shown could be."""

    request: Request
    by: Any
    data: Any
    links: dict[str, Any]
    tallies: dict[str, Any]
    chosen: dict[str, int]
    """For each link the alternative that was taken."""
    lit: tuple[Any, ...] = ()
    """What was chosen of that which is open by the order of the trace alone."""

    def having(self, probe: Probe, value: Any) -> "Case":
        """This case with a value in the place of a probe."""
        links = {
            name: attrs.evolve(one, data=put(one.data, probe, value)) if isinstance(one, Seen) else one
            for name, one in self.links.items()
        }
        request = attrs.evolve(self.request, payload=put(self.request.payload, probe, value))
        by, data = put(self.by, probe, value), put(self.data, probe, value)
        return Case(request, by, data, links, self.tallies, self.chosen, self.lit)

    def counting(self, count: Count, value: int) -> "Case":
        """This case with a number in the place of one that is open."""
        links = dict(self.links)
        lit: tuple[Any, ...] = ()
        for name, one in self.links.items():
            if isinstance(one, Seen) and one.tallies is count.counts:
                links[name] = attrs.evolve(one, tallies=Counts({**one.tallies, count.name: value}, count.counts.shaded))
                lit += () if count.name in count.counts.shaded else ((name, count.name, value),)
        return attrs.evolve(self, links=links, lit=self.lit + lit)


def cases(table: Table, cell: Cell, ask: Ask, needed: frozenset[str]) -> tuple[list[Case], bool]:
    """Every combination of the alternatives that are read, with a probe for what has no end of them.

    Args:
        table: the machine.
        cell: the state to start from.
        ask: the event and what it may see.
        needed: the names that are read.

    Returns:
        the cases, and whether they differ in something that the trace does not show.

    Raises:
        TooMany: the cases outnumber the budget.
    """
    axes = list(_axes(table, cell, ask, needed))
    dark = any((kind not in ("link", "tally") and len(values) > 1) or name in ask.shaded for kind, name, values in axes)
    size = prod(len(values) for _, _, values in axes)
    if size > MOST:
        raise TooMany(f"{ask.request.event} could mean {size} different things")
    names = [(kind, name) for kind, name, _ in axes]
    combinations = product(*(values for _, _, values in axes))
    return [_case(table, cell, ask, tuple(zip(names, values, strict=True))) for values in combinations], dark


def _axes(table: Table, cell: Cell, ask: Ask, needed: frozenset[str]) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """What is open, each with its alternatives: kind, name, values."""
    for name in table.links:
        if name in needed:
            shown = enumerate(ask.alternatives(name, table, cell))
            yield "link", name, [(index, one) for index, seen in shown for one in opened(seen)]
    for name, counts in ask.tallies.items():
        if name in needed:
            yield "tally", name, counts
    for field in dark_fields(cell.data) if "data" in needed else ():
        yield "data", field.name, _values(field)
    for field in table.events[ask.request.name].fields:
        if field.name in needed and getattr(ask.request.payload, field.name) is UNKNOWN:
            yield "field", field.name, _values(field)
    if ask.by is UNKNOWN and "by" in needed:
        yield "by", "by", _values(_PRINCIPAL)


def _case(table: Table, cell: Cell, ask: Ask, values: tuple[tuple[tuple[str, str], Any], ...]) -> Case:
    chosen: dict[str, dict[str, Any]] = {kind: {} for kind in ("link", "tally", "data", "field", "by")}
    for (kind, name), value in values:
        chosen[kind][name] = value
    request = ask.request
    if chosen["field"]:
        request = attrs.evolve(request, payload=attrs.evolve(request.payload, **chosen["field"]))
    return Case(
        request,
        chosen["by"].get("by", None if ask.by is UNKNOWN else ask.by),
        attrs.evolve(cell.data, **chosen["data"]) if chosen["data"] else cell.data,
        {name: value for name, (_, value) in chosen["link"].items()},
        {**dict.fromkeys(table.tallies, 0), **chosen["tally"]},
        links := {name: index for name, (index, _) in chosen["link"].items()},
        tuple(item for item in (*links.items(), *chosen["tally"].items()) if item[0] not in ask.shaded),
    )


_PRINCIPAL = Field("by", "id", True, True)


def _values(field: Field) -> Sequence[Any]:
    """All values of a field that has few; else a probe, and None where it may be that."""
    finite = field.domain()
    if finite is not None and len(finite) <= _FEW or field.kind in ("bool", "enum"):
        return finite or ()
    return (Probe(field), None) if field.optional else (Probe(field),)


def opened(one: Any) -> Sequence[Any]:
    """What a link shows, with a probe for each field that is not known."""
    fields = dark_fields(one.data) if isinstance(one, Seen) else ()
    if not fields:
        return (one,)
    names = [field.name for field in fields]
    return [
        attrs.evolve(one, data=attrs.evolve(one.data, **dict(zip(names, values, strict=True))))
        for values in product(*map(_values, fields))
    ]


def known(cell: Cell, ask: Ask) -> Known:
    """The ids and counters that an event can see from a cell."""
    shown = [one.data for values in ask.links.values() for one in values if isinstance(one, Seen)]
    return Known((cell.data, ask.request.payload, ask.by, *shown))
