"""All instances of one machine in one trace, and what was worked out about the machine's steps."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ..kernel.errors import BadInput
from ..kernel.fields import UNKNOWN
from ..kernel.machine import Event, Machine
from ..kernel.snapshot import Request
from ..kernel.table import Table
from .belief import Belief, Beliefs
from .calls import Chance
from .instance import FAR, Instance
from .key import Key, KeyOf, NamesOf, Read, key_of
from .parsed import parsed
from .payload import Split
from .record import Debt
from .shape import Names, Shape, Shapes
from .tallies import Count, tallies_of

__all__ = ["Closure", "Lane", "Plan", "Result"]

_REMEMBERED = 1 << 16
"""Payloads and outcomes remembered of a machine before they are worked out anew: memory does not grow with a trace."""


def _silent(table: Table) -> Table:
    moves = {pair: tuple(attrs.evolve(way, effects=()) for way in ways) for pair, ways in table.moves.items()}
    return attrs.evolve(table, moves=moves)


@attrs.frozen(eq=False)
class Result:
    """What an event does to a belief: worked out once, remembered for ever."""

    after: Belief | None
    """None when no candidate can take it."""
    narrowed: tuple[tuple[str, Belief], ...] = ()
    """Links whose instances can only have been in part of what was possible."""
    open: frozenset[str] = frozenset()
    """Rules that depended on something the trace does not show."""

    @property
    def plain(self) -> bool:
        """Whether there is nothing to it but `after`."""
        return self.after is not None and not self.narrowed and not self.open


@attrs.frozen(eq=False)
class Change:
    """How an instance moves from one shape to another, and what that changes for those that it counts for."""

    after: Shape
    names: tuple[int, ...] | None
    """The names after, each by its place among those that the step could meet; None where they stay as they are."""
    counted: tuple[tuple[int, int, Count], ...]
    """For each tally that moves: the place of the link, the place of the tally, by how much."""
    moves: bool
    """Whether the state or the data is another."""


@attrs.frozen(eq=False)
class Plan:
    """What the outcome of an event depends on, and the outcomes that are known already."""

    name: str
    links: tuple[tuple[str, str, int], ...]
    """The links that some guard or update of the event reads: name, machine, place among the links for life or -1."""
    by: bool
    birth: bool
    key: KeyOf
    names: NamesOf
    accepted: dict[Key, Change] = attrs.field(factory=dict)
    """What follows where the event is accepted and nothing else is to be done."""
    refused: set[Key] = attrs.field(factory=set)
    """Where it is refused, and nothing changes."""


@attrs.frozen(eq=False)
class Closure:
    """Where open calls can lead from a belief: worked out once, remembered for ever."""

    belief: Belief
    chances: Mapping[int, Chance] = attrs.field(factory=dict)
    """What could become of each kind of call."""
    unasked: frozenset[str] = frozenset()
    """Rules that could not be asked at all."""


def _bound(remembered: dict[Any, Any] | set[Any]) -> None:
    if len(remembered) >= _REMEMBERED:
        remembered.clear()


class Lane:
    """One machine's part of a checker."""

    def __init__(self, machine: type[Machine]) -> None:
        self.machine = machine
        self.table = machine.table
        self.silent = _silent(machine.table)
        """The machine without its effects: nothing is described while a trace is judged."""
        self.beliefs = Beliefs(machine.table)
        self.shapes = Shapes(self.beliefs)
        self.unborn, _ = self.shapes.of(self.beliefs.unborn)
        self.life = tuple(name for name, link in self.table.links.items() if not link.per_event)
        self.life_names = frozenset(self.life)
        self.targets = tuple((name, self.table.links[name].to.table.name) for name in self.life)
        self.target_lanes = tuple(machine for _, machine in self.targets)
        self.nowhere: tuple[Any, ...] = (UNKNOWN,) * len(self.life)
        self.zero = tallies_of(((0, 0, False),) * len(self.table.tallies))
        self.far = tallies_of(((0, FAR, True),) * len(self.table.tallies))
        self.loose = [0] * len(self.table.tallies)
        """For each tally how many may count of which the trace does not show where."""
        self.counted = tuple(
            (self.life.index(link), self.table.links[link].to.table.tallies.index(tally))
            for link, tally, _ in self.table.counted
        )
        """Where each tally that an instance adds to is: place of the link, place of the tally in its owner."""
        self.instances: dict[str, Instance] = {}
        self.closures: dict[Any, Closure] = {}
        self.until = tuple(
            self.life.index(name)
            for name in self.life
            if any(name in until.names for until in self.table.until.values())
        )
        """The places of the links on which it depends whether a debt is overdue."""
        self.names = frozenset(self.table.links)
        self.plans: dict[str, Plan] = {}
        self._lanes: Mapping[str, Lane] = {}
        self.reach: tuple[tuple[str, Mapping[str, Instance]], ...] = ()
        """Each link for life with the instances that it can point to."""
        self._requests: dict[Any, Request] = {}
        self._payloads: dict[Any, Request] = {}

    def connect(self, lanes: Mapping[str, "Lane"]) -> None:
        """Know the lanes of the other machines."""
        self.reach = tuple((name, lanes[machine].instances) for name, machine in self.targets)
        self._lanes = lanes

    def reset(self) -> None:
        """Forget all instances; what was worked out stays."""
        self.instances.clear()
        self.loose[:] = [0] * len(self.loose)

    def _plan(self, event: str) -> Plan:
        lanes = self._lanes
        names = {
            name
            for (_, taken), ways in self.table.moves.items()
            if taken == event
            for way in ways
            for bound in (*way.guards, *([way.update] if way.update else ()))
            for name in bound.names
        }
        links = tuple(
            (name, link.to.table.name, self.life.index(name) if name in self.life else -1)
            for name, link in self.table.links.items()
            if name in names
        )
        by, tallies, birth = "by" in names, not names.isdisjoint(self.table.tallies), event == "start"
        reads = tuple(
            Read(name, lanes[machine].instances, -1 if birth else place, bool(lanes[machine].shapes.ids))
            for name, machine, place in links
        )
        split = Split(self.table.events[event].fields)
        named = bool(self.shapes.ids)
        return Plan(event, links, by, birth, *key_of(reads, split, named=named, by=by, tallies=tallies, birth=birth))

    def counts(self, before: Belief, after: Belief) -> tuple[tuple[int, int, Count], ...]:
        """How the tallies of the owners move with a belief: place of the link, place of the tally, by how much."""
        if before.counts is after.counts:
            return ()
        return tuple(
            (place, index, (now[0] - was[0], now[1] - was[1], after.shaded and now[0] != now[1]))
            for (place, index), was, now in zip(self.counted, before.counts, after.counts, strict=True)
            if was != now
        )

    def plan(self, event: str) -> Plan:
        """What an event depends on.

        Raises:
            BadInput: the machine has no such event.
        """
        plan = self.plans.get(event)
        if plan is None:
            if event not in self.table.events:
                known = ", ".join(self.table.events)
                raise BadInput(f"{self.table.name} has no event {event!r}; its events are {known}")
            plan = self.plans[event] = self._plan(event)
        return plan

    def request(self, name: str, payload: Any) -> Request:
        """The event with its payload, each field that the trace does not give UNKNOWN; equal ones are one object.

        Fields that are carried decide nothing: their values are checked here and then left out.

        Raises:
            BadInput: the payload is no object, or has a field of another name or type.
        """
        raw = (name, payload) if payload is None or isinstance(payload, bytes) else None
        if raw is not None and (known := self._payloads.get(raw)) is not None:
            return known
        spec = self.table.events[name]
        event: Event[Any] = getattr(self.machine, name)
        given = parsed(payload, f"the payload of {event}") if isinstance(payload, bytes) else payload or {}
        if not isinstance(given, Mapping):
            raise BadInput(f"the payload of {event} is no object: {given!r:.60}")
        unknown = {field.name: UNKNOWN for field in spec.fields if field.required and field.name not in given}
        content = event.payload({**given, **unknown})
        if carried := {field.name: UNKNOWN for field in spec.fields if not field.decides}:
            content = attrs.evolve(content, **carried)
        request = self._requests.get((name, content))
        if request is None:
            _bound(self._requests)
            request = self._requests[name, content] = Request(event, content)
        if raw is not None:
            _bound(self._payloads)
            self._payloads[raw] = request
        return request

    def remember(self, plan: Plan, key: Key, names: Names, before: Belief, was: Names, result: Result) -> None:
        """Keep what an accepted event does, where nothing is to be done but to change the belief.

        Args:
            plan: of the event.
            key: of the instance and the record.
            names: all that the step could meet.
            before: the belief before.
            was: its names, as the instance had them.
            result: what was worked out.
        """
        assert result.after is not None
        after, now = self.shapes.of(result.after)
        if not set(now) <= set(names):
            return  # an id of which the key does not tell where it comes from
        places = None if now == was else tuple(names.index(name) for name in now)
        _bound(plan.accepted)
        moves = before.cells != result.after.cells
        plan.accepted[key] = Change(after, places, self.counts(before, result.after), moves)

    def refuse(self, plan: Plan, key: Key) -> None:
        """Keep that an event is refused, and nothing changes."""
        _bound(plan.refused)
        plan.refused.add(key)

    def follow(self, key: Any, closure: Closure) -> Closure:
        """Remember where open calls can lead."""
        _bound(self.closures)
        self.closures[key] = closure
        return closure

    def debts(self) -> Iterator[Debt]:
        """What is owed at the end: every state that an instance may be in owes something."""
        for instance in self.instances.values():
            if instance.shape.owing:
                belief = instance.belief
                owe = self.table.owes[str(belief.cells[0].state.id)]
                yield Debt(self.table.name, instance.id, belief.states(), owe.rule, instance.state_line)
