"""The one place that decides: a pure, total function from a snapshot and a request to a decision."""

from collections.abc import Mapping
from typing import Any

from .errors import BadInput
from .fields import UNKNOWN
from .links import Seen
from .shape import shaped
from .snapshot import Accepted, Decision, Effect, Failed, Ref, Refused, Request, Snapshot
from .table import Bound, Table, Transition

__all__ = ["absent", "fault", "known_names", "missing", "step", "take"]

_NO_LINKS: Mapping[str, Seen[Any] | None] = {}


def absent(table: Table, ref: Ref, tallies: Mapping[str, int] | None = None) -> Snapshot[Any]:
    """The snapshot of an instance that is not born yet; whoever links to it may count already."""
    return Snapshot(ref, table.absent, 0, None, {}, tallies or dict.fromkeys(table.tallies, 0))


def step(
    table: Table,
    snapshot: Snapshot[Any],
    request: Request,
    by: Any = None,
    links: Mapping[str, Seen[Any] | None] = _NO_LINKS,
) -> Decision:
    """Decide whether an event may happen, and what follows.

    Args:
        table: the compiled machine.
        snapshot: the instance as it is; `absent(...)` for a birth.
        request: the event, its payload and its links.
        by: who acts, as the adapter authenticated them; None when nobody is known.
        links: what each link shows; a link that is left out or None is missing.

    Returns:
        Accepted with the snapshot after and the effects, or Refused with the rule and every false guard. An UNKNOWN
        value makes each guard that asks for it false; a missing link refuses under `link-present` unless optional.

    Raises:
        BadInput: an effect describes what JSON cannot hold.
    """
    pair = (str(snapshot.state.id), request.name)
    ways = table.moves.get(pair)
    if ways is None:
        if pair in table.settled:
            return Accepted(snapshot.ref, snapshot, snapshot, "")
        rule = table.refusals[pair].rule
        return _refused(table, snapshot, request, rule.name, rule.why)
    known = known_names(table, snapshot, request, by, links)
    for way in ways:
        if not any(fault(table, guard, known) for guard in way.guards):
            return take(table, snapshot, request, way, known)
    return _blame(table, snapshot, request, ways, known)


def known_names(
    table: Table, snapshot: Snapshot[Any], request: Request, by: Any, links: Mapping[str, Seen[Any] | None]
) -> dict[str, Any]:
    """Every name that a function of this event can ask for, with its value."""
    known: dict[str, Any] = {**dict.fromkeys(table.links), **links, **snapshot.tallies}
    for field in table.events[request.name].fields:
        known[field.name] = getattr(request.payload, field.name)
    known["data"], known["by"] = snapshot.data, by
    return known


def missing(table: Table, function: Bound, known: Mapping[str, Any]) -> str | None:
    """The link that a function must be shown and that points to nothing that exists: then nobody may ask it."""
    for name in function.names:
        if known.get(name) is None and name in table.links and not table.links[name].optional:
            return name
    return None


def fault(table: Table, guard: Bound, known: Mapping[str, Any]) -> Failed | None:
    """Why a guard says no; None when it says yes. What cannot be known or worked out never counts as yes."""
    name = missing(table, guard, known)
    if name is not None:
        return Failed(guard.name, "link-present", f"its link {name} points to nothing that exists", {name: None})
    if _unknown(guard, known) is None and guard(known) is True:
        return None
    assert guard.rule is not None
    return Failed(guard.name, guard.rule.name, guard.rule.why, {name: known[name] for name in guard.names})


def take(table: Table, snapshot: Snapshot[Any], request: Request, way: Transition, known: dict[str, Any]) -> Decision:
    """Follow a transition whose guards are true; still refused when its result would break an invariant or a range."""
    for asked in (way.update, *way.effects):
        if asked and (name := missing(table, asked, known) or _unknown(asked, known)):
            return _refused(table, snapshot, request, "link-present", f"{asked.name} needs {name}, which is not known")
    data = way.update(known) if way.update else snapshot.data
    for name, least, most in table.ranges:
        value = getattr(data, name)
        if value is not None and not least <= value <= most:
            return _refused(table, snapshot, request, "within-range", f"{name} would be {value}, outside its range")
    links = snapshot.links
    if request.links:
        links = {**links, **{name: ref for name, ref in request.links.items() if not table.links[name].per_event}}
    after = Snapshot(snapshot.ref, way.target, snapshot.version + 1, data, links, snapshot.tallies)
    now, change = {"state": after.state, "data": data}, {"before": snapshot.data, "after": data}
    for check in table.invariants:
        if check(now) is not True:
            return _broken(table, snapshot, request, check)
    for check in table.step_invariants if snapshot.data is not None else ():
        if check(change) is not True:
            return _broken(table, snapshot, request, check)
    effects: tuple[Effect, ...] = ()
    if way.effects:
        told = {**known, "before": snapshot.data, "data": data}
        effects = tuple(_described(after, number, made, told) for number, made in enumerate(way.effects))
    return Accepted(snapshot.ref, snapshot, after, way.name, effects)


def _described(after: Snapshot[Any], number: int, made: Bound, told: Mapping[str, Any]) -> Effect:
    payload = made(told)
    try:
        return Effect(made.name, shaped(payload), f"{after.ref}/{after.version}.{number}", after.ref)
    except (TypeError, RecursionError) as wrong:
        raise BadInput(f"effect {made.name} of {after.ref} holds what JSON cannot: {wrong}") from None


def _unknown(function: Bound, known: Mapping[str, Any]) -> str | None:
    for name in function.names:
        if known.get(name) is UNKNOWN:
            return name
    return None


def _broken(table: Table, snapshot: Snapshot[Any], request: Request, check: Bound) -> Refused:
    assert check.rule is not None
    return _refused(table, snapshot, request, check.rule.name, check.rule.why)


def _blame(
    table: Table, snapshot: Snapshot[Any], request: Request, ways: tuple[Transition, ...], known: Mapping[str, Any]
) -> Refused:
    """The nearest way: fewest false guards, then written order. Dropping just those would have let the event pass."""
    faults = [tuple(found for guard in way.guards if (found := fault(table, guard, known))) for way in ways]
    nearest = min(faults, key=len)
    return _refused(table, snapshot, request, nearest[0].rule, nearest[0].why, nearest)


def _refused(
    table: Table, snapshot: Snapshot[Any], request: Request, rule: str, why: str, failed: tuple[Failed, ...] = ()
) -> Refused:
    message = f"{request.name} is refused: {snapshot.ref} is {snapshot.state.id}, and {why}"
    return Refused(snapshot.ref, rule, message, failed, table.takes(snapshot.state))
