"""Everything an event could do to one cell, when some of what its guards read is open.

A payload field, a principal, a link or a field of data that a trace does not show is UNKNOWN: the guards are asked for
every value it could have. The machine's own `step` decides each case; nothing here holds a rule.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from ..kernel.fields import UNKNOWN
from ..kernel.snapshot import Accepted, Decision, Failed, Ref, Refused, Request, Snapshot
from ..kernel.step import absent, fault, known_names, step, take
from ..kernel.table import Bound, Table
from .ask import MOST, Ask, Case, Count, cases, known, opened
from .belief import Candidate, Cell, widest
from .calls import Chance
from .dark import Known, Touched, forget
from .toomany import TooMany

__all__ = ["Possible", "chance_of", "nearest", "outcomes", "rules_of", "said_of", "watched"]


@attrs.define
class Possible:
    """What can follow from one cell."""

    after: dict[Cell, dict[str, set[int]]] = attrs.field(factory=dict)
    """Each next cell with, for each link, the alternatives under which it is reached."""
    refused: list[Refused] = attrs.field(factory=list)
    dark: bool = False
    """Something was asked that the trace does not show."""
    split: bool = False
    """Where it leads depends on something that the trace does not show."""
    failing: list[Refused] = attrs.field(factory=list)
    """Refusals that would leave no way to take it, if what the trace does not show is so."""
    refusing: bool = False
    """It can be refused, whatever the trace does not show."""
    unasked: set[str] = attrs.field(factory=set)
    """Rules whose guards and invariants could not be asked at all."""


@attrs.define
class _Outcome:
    """What follows from one case."""

    taken: list[tuple[Accepted, tuple[Any, ...]]] = attrs.field(factory=list)
    """Each way with what the monitors know then."""
    refused: list[Refused] = attrs.field(factory=list)
    unasked: set[str] = attrs.field(factory=set)


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
    needed = _needed(table, cell, ask.request.name)
    first, found.dark = cases(table, cell, ask, needed)
    todo = [(case, 0) for case in first]
    shown: Known | None = None
    tried = 0
    ends: dict[Any, set[Cell]] = {}
    refusals: dict[Any, list[Refused]] = {}
    while todo:
        case, fresh = todo.pop()
        tried += 1
        if tried + len(todo) > MOST:
            raise TooMany(f"{ask.request.event} could mean more than {MOST} different things")
        try:
            one = _decide(table, cell, case, needed)
        except Touched as touched:
            if isinstance(touched.probe, Count):
                found.dark = found.dark or touched.probe.name in touched.probe.counts.shaded
                todo += [(case.counting(touched.probe, value), fresh) for value in touched.probe.values]
                continue
            found.dark = True
            shown = shown or known(cell, ask)
            field = touched.probe.field
            values = shown.values(field, fresh)
            todo += [(case.having(touched.probe, value), fresh + (field.kind in ("id", "ids"))) for value in values]
            continue
        found.dark = found.dark or bool(one.unasked)
        found.unasked |= one.unasked
        found.refused += one.refused
        refusals.setdefault(case.lit, []).extend(one.refused)
        taken = ends.setdefault(case.lit, set())
        for decision, memory in one.taken:
            after = make(decision.after.state, forget(decision.after.data), memory)
            taken.add(after)
            reached = found.after.setdefault(after, {})
            for link, index in case.chosen.items():
                reached.setdefault(link, set()).add(index)
    found.split = any(len(widest(frozenset((end, ()) for end in cells))) > 1 for cells in ends.values())
    found.refusing = not all(ends.values())
    if all(refusals.values()):
        mixed = [no for lit, refused in refusals.items() for no in refused if ends[lit]]
        found.failing = mixed or found.refused
    return found


def nearest(refused: Sequence[Refused]) -> Refused:
    """The refusal that is blamed: fewest false guards first, a guard before "not in this state"."""
    return min(refused, key=_distance)


def _distance(no: Refused) -> tuple[bool, int]:
    return not no.failed, len(no.failed)


def rules_of(found: Iterable[Possible]) -> set[str]:
    """Every rule that had a part in a refusal, or may have had one."""
    found = list(found)
    rules = {rule for possible in found for rule in possible.unasked}
    refused = [no for possible in found for no in possible.refused]
    return rules | {rule for no in refused for rule in (no.rule, *(failed.rule for failed in no.failed))}


def chance_of(found: Mapping[Candidate, Possible], shaded: bool) -> Chance:
    """What can become of an event, over all candidates of an instance.

    Candidates that differ in the calls that have happened are open by the order of the trace: it is enough that one
    of them can take the event whatever is not shown. Others are, when shaded, open by what is not shown: all must.
    """
    units: dict[Any, list[tuple[int, Possible]]] = {}
    for place, ((cell, done), possible) in enumerate(found.items()):
        units.setdefault(done if shaded else (cell, done), []).append((place, possible))
    failing = [
        [(*_distance(no), place, no.rule) for place, one in unit for no in one.failing] for unit in units.values()
    ]
    return Chance(
        any(possible.refused for possible in found.values()),
        any(all(possible.refusing for _, possible in unit) for unit in units.values()),
        not all(failing),
        _doubts(failing, [any(possible.after for _, possible in unit) for unit in units.values()]),
    )


_Far = tuple[bool, int, int, str]
"""How far a refusal is from letting the event pass: its distance, its place among the candidates, its rule."""


def _doubts(failing: Sequence[Sequence[_Far]], able: Sequence[bool]) -> frozenset[str]:
    """Every rule that would be blamed in some case in which no candidate can take the event.

    Args:
        failing: for each unit the refusals, one of which it gives in such a case.
        able: whether the unit can take the event in another case; if not, it refuses in all of them.
    """
    doubted = [no for unit, some in zip(failing, able, strict=True) if some for no in unit]
    if not doubted:
        return frozenset()
    always = [unit for unit, some in zip(failing, able, strict=True) if not some and unit]
    bound = min((max(unit) for unit in always), default=max(doubted))
    return frozenset(
        no[3] for no in (*doubted, *(no for unit in always for no in unit)) if no <= min(bound, max(doubted))
    )


def said_of(asked: Bound, names: Mapping[str, Any]) -> set[bool]:
    """What a predicate says of all that it is shown: both, where it looks at something that is open.

    Args:
        asked: the predicate.
        names: what it reads; `data`, too, as Seen.
    """
    said = set()
    for values in product(*(opened(value) for value in names.values())):
        shown = {name: one.data if name == "data" else one for name, one in zip(names, values, strict=True)}
        try:
            said.add(asked(shown) is True)
        except Touched:
            return {True, False}
    return said


def _decide(table: Table, cell: Cell, case: Case, needed: frozenset[str]) -> _Outcome:
    """Let the machine decide one case, and its monitors look at it.

    Raises:
        Touched: it depends on a value that is not chosen yet.
    """
    made = _Outcome()
    ref = Ref(table.name, "?")
    before = absent(table, ref) if cell.state is table.absent else Snapshot(ref, cell.state, 1, case.data)
    snapshot = attrs.evolve(before, tallies=case.tallies)
    blind = {name for name in needed if case.links.get(name) is UNKNOWN or case.tallies.get(name) is UNKNOWN}
    if case.data is UNKNOWN:
        blind |= {"data"} & needed
    decided = _blindly(table, snapshot, case, blind, made) if blind else _seeing(table, snapshot, case)
    for decision in decided:
        if isinstance(decision, Refused):
            made.refused.append(decision)
            continue
        memory = watched(table, cell, case.request, decision)
        if isinstance(memory, Refused):
            made.refused.append(memory)
            continue
        made.unasked |= {
            watch.rule.name for watch, knows in zip(table.monitors, memory, strict=True) if knows is UNKNOWN
        }
        made.taken.append((decision, memory))
    return made


def watched(table: Table, cell: Cell, request: Request, decision: Accepted) -> tuple[Any, ...] | Refused:
    """What the monitors know after a step, UNKNOWN for one that cannot follow it; or the refusal of one."""
    memory: list[Any] = []
    for watch, knows in zip(table.monitors, cell.memory, strict=True):
        if knows is UNKNOWN or decision.after.data is UNKNOWN:
            memory.append(UNKNOWN)
            continue
        memory.append(watch.advance(knows, request.name, decision.before, decision.after))
        if watch.bad(memory[-1]):
            why = f"{request.name} is refused: {watch.rule.why}"
            return Refused(decision.ref, watch.rule.name, why, (), table.takes(cell.state))
    return tuple(memory)


def _needed(table: Table, cell: Cell, event: str) -> frozenset[str]:
    """The names that the transitions of this cell read."""
    ways = table.moves.get((str(cell.state.id), event), ())
    bounds = [bound for way in ways for bound in (*way.guards, *([way.update] if way.update else ()))]
    names = {name for bound in bounds for name in bound.names}
    if ways and (cell.dark or table.invariants or table.step_invariants):
        names.add("data")
    return frozenset(names)


def _seeing(table: Table, snapshot: Snapshot[Any], case: Case) -> Iterator[Decision]:
    yield step(table, snapshot, case.request, case.by, case.links)


def _blindly(table: Table, snapshot: Snapshot[Any], case: Case, blind: set[str], made: _Outcome) -> Iterator[Decision]:
    """Every way whose guards cannot be shown to be false, and the refusal if none is shown to be open."""
    request = case.request
    known = known_names(table, snapshot, request, case.by, case.links)
    shown: list[tuple[Failed, ...]] = []
    for way in table.moves.get((str(snapshot.state.id), request.name), ()):
        asked = [guard for guard in way.guards if blind.isdisjoint(guard.names)]
        shown.append(tuple(failed for guard in asked if (failed := fault(table, guard, known))))
        if shown[-1]:
            continue
        if way.update and not blind.isdisjoint(way.update.names):
            yield Accepted(snapshot.ref, snapshot, attrs.evolve(snapshot, state=way.target, data=UNKNOWN), str(way))
            made.unasked |= _checks(table)
        elif way.update is None and snapshot.data is UNKNOWN:
            yield Accepted(snapshot.ref, snapshot, attrs.evolve(snapshot, state=way.target), str(way))
            made.unasked |= _checks(table)
        else:
            data = None if snapshot.data is UNKNOWN else snapshot.data
            yield take(table, attrs.evolve(snapshot, data=data), request, way, known)
        if len(asked) == len(way.guards):
            return
        made.unasked |= _blinded(table, snapshot, request, blind, known)
    refused = step(table, snapshot, request, case.by, case.links)
    if shown and all(shown) and isinstance(refused, Refused):  # what is shown to be false is blamed, not what is open
        nearest = min(shown, key=len)
        message = refused.message.replace(refused.failed[0].why, nearest[0].why)
        made.unasked |= _blinded(table, snapshot, request, blind, known)
        refused = attrs.evolve(refused, rule=nearest[0].rule, message=message, failed=nearest)
    yield refused


def _checks(table: Table) -> set[str]:
    """The rules that hold of the result of a step."""
    return {check.rule.name for check in (*table.invariants, *table.step_invariants) if check.rule}


def _blinded(
    table: Table, snapshot: Snapshot[Any], request: Request, blind: set[str], known: Mapping[str, Any]
) -> set[str]:
    """Every rule under which the event might be refused, if only more were known."""
    rules = set()
    for way in table.moves[str(snapshot.state.id), request.name]:
        for guard in way.guards:
            if not blind.isdisjoint(guard.names):
                rules |= {guard.rule.name} if guard.rule else set()
                rules |= {"link-present"} if not set(table.links).isdisjoint(guard.names) else set()
            elif failed := fault(table, guard, known):
                rules.add(failed.rule)
    return rules
