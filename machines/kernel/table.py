"""The compiled form of a machine: plain tuples that step, exploration, generators and drawings all read."""

import hashlib
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from .fields import Field
from .links import Link, State
from .rules import Monitor, Owe, Refusal, Rule, Settled

__all__ = ["Bound", "EventSpec", "No", "Table", "Transition"]


@attrs.frozen
class Bound:
    """A pure function and the names that it asks for, in order."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    rule: Rule | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    def __call__(self, known: Mapping[str, Any]) -> Any:
        names = self.names
        return self.function(known[names[0]]) if len(names) == 1 else self.function(*map(known.__getitem__, names))


@attrs.frozen
class Transition:
    """One way to move: all guards true, then the update gives the new data and the effects are described."""

    event: str
    source: State
    target: State
    guards: tuple[Bound, ...]
    update: Bound | None
    effects: tuple[Bound, ...]
    name: str = attrs.field(init=False, eq=False, repr=False)

    @name.default
    def _name(self) -> str:
        return f"{self.source.id} {self.event} {self.target.id}"

    @property
    def asks(self) -> frozenset[str]:
        """Every name that a function of it asks for."""
        functions = (*self.guards, *([self.update] if self.update else ()), *self.effects)
        return frozenset(name for function in functions for name in function.names)

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class No:
    """A named refusal of one event in one state."""

    rule: Rule
    rank: str
    """cell, state, event or rest; `made` when no declaration names it."""


@attrs.frozen
class EventSpec:
    """An event as the table knows it."""

    name: str
    payload: type | None
    fields: tuple[Field, ...]


@attrs.frozen(eq=False)
class Table:
    """Everything a machine declares, as values. Made once, when the class is created."""

    machine: Any
    """The class that declares it."""
    name: str
    doc: str
    states: Mapping[str, State]
    absent: State
    events: Mapping[str, EventSpec]
    data: type | None
    data_fields: tuple[Field, ...]
    moves: Mapping[tuple[str, str], tuple[Transition, ...]]
    """(state, event) to its transitions, in written order."""
    refusals: Mapping[tuple[str, str], No]
    """(state, event) to the refusal of a pair that has no transition and is not settled."""
    settled: Mapping[tuple[str, str], Rule]
    meanings: Mapping[str, Rule]
    """State to the rule that says what it means, where one does."""
    links: Mapping[str, Link]
    tallies: tuple[str, ...]
    owes: Mapping[str, Owe]
    until: Mapping[str, Bound]
    """State to the condition that makes its debt too late."""
    invariants: tuple[Bound, ...]
    step_invariants: tuple[Bound, ...]
    monitors: tuple[Monitor, ...]
    awaited: Mapping[str, tuple[str | None, str | None, str | None, str]]
    """Effect name to the events that answer it (done, failed, unknown), and the reason when none does."""
    rules: Mapping[str, str]
    """Every rule name and its sentence."""
    declared: tuple[Refusal | Settled, ...]
    """The refusals and settled events as written, with events by name: what a variant is named by."""
    durable: bool
    owner_lost: str | None
    variant: str = ""
    """The name of a variant; empty for the machine itself."""
    why: str = ""
    """Why it varies."""
    counting: tuple[tuple[str, str, frozenset[str]], ...] = attrs.field(init=False)
    """As `counted`, states by name."""
    ranges: tuple[tuple[str, int, int], ...] = attrs.field(init=False)
    """The bounded numbers of the data: name, least, most."""
    reads: Mapping[tuple[str, str], tuple[str, ...]] = attrs.field(init=False)
    """(state, event) to the links that its transitions ask for: no other need be read."""

    @counting.default
    def _counting(self) -> tuple[tuple[str, str, frozenset[str]], ...]:
        return tuple((link, tally, frozenset(str(at.id) for at in states)) for link, tally, states in self.counted)

    @ranges.default
    def _ranges(self) -> tuple[tuple[str, int, int], ...]:
        return tuple((field.name, *field.values) for field in self.data_fields if field.kind == "int")

    @reads.default
    def _reads(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        asked = {pair: frozenset[str]().union(*(way.asks for way in ways)) for pair, ways in self.moves.items()}
        return {pair: tuple(link for link in self.links if link in names) for pair, names in asked.items()}

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """Every transition, in the order of events and then of writing."""
        return tuple(
            move for event in self.events for (_, name), moves in self.moves.items() if name == event for move in moves
        )

    @property
    def counted(self) -> tuple[tuple[str, str, tuple[State, ...]], ...]:
        """(link, tally of its owner, states in which an instance counts there)."""
        return tuple(
            (link.name, tally.name, states) for link in self.links.values() for tally, states in link.counts.items()
        )

    @property
    def final(self) -> tuple[State, ...]:
        return tuple(state for state in self.states.values() if state.final)

    def takes(self, state: State) -> tuple[str, ...]:
        """The events that a state can take, guards aside."""
        return tuple(
            event for event in self.events if (state.id, event) in self.moves or (state.id, event) in self.settled
        )

    @property
    def hash(self) -> str:
        """A digest of the whole definition, the source of its functions included: what a journal row was decided by."""
        return _digest(self)


_DIGESTS: WeakKeyDictionary[Table, str] = WeakKeyDictionary()


def _digest(table: Table) -> str:
    known = _DIGESTS.get(table)
    if known is None:
        known = _DIGESTS[table] = hashlib.sha256(json.dumps(_content(table)).encode()).hexdigest()[:16]
    return known


def _content(table: Table) -> list[Any]:
    return [
        table.name,
        table.variant,
        list(table.states),
        [[spec.name, [[f.name, f.kind, str(f.values)] for f in spec.fields]] for spec in table.events.values()],
        [[f.name, f.kind, str(f.values)] for f in table.data_fields],
        [
            [str(move), [_source(g) for g in move.guards], _source(move.update), [_source(e) for e in move.effects]]
            for move in table.transitions
        ],
        [[*pair, no.rule.name] for pair, no in sorted(table.refusals.items())],
        [[*pair, rule.name] for pair, rule in sorted(table.settled.items())],
        [[link.name, link.to.__name__, link.per_event, link.optional] for link in table.links.values()],
        [[link, tally, [state.id for state in states]] for link, tally, states in table.counted],
        [table.durable, [[watch.rule.name, _text(watch.advance), _text(watch.bad)] for watch in table.monitors]],
        [[state, debt.rule, _source(table.until.get(state))] for state, debt in table.owes.items()],
        [_source(bound) for bound in (*table.invariants, *table.step_invariants)],
        [[name, *events] for name, events in table.awaited.items()],
    ]


def _source(bound: Bound | None) -> str | None:
    return None if bound is None else _text(bound.function)


def _text(function: Callable[..., Any]) -> str:
    """The text of a function: unlike its bytecode, the same on every Python."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # defined in a session or built: its name is all there is
        return function.__name__
