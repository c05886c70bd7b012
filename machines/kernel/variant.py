"""A machine varied in a few named places: a policy profile, a mutant, a known-bad machine. Never a copy by hand."""

from collections.abc import Callable, Iterable, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Self

import attrs

from .errors import DefinitionError
from .links import Link, State, Tally
from .refusals import never
from .rules import Settled, effect, fire_and_forget
from .table import Table, Transition

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["Way", "vary"]

Cell = tuple[State, Any]


@attrs.frozen
class Way:
    """A transition that a variant adds: from a state by an event to a state."""

    source: State
    event: Any
    target: State
    cond: tuple[Callable[..., bool], ...] = ()
    on: Callable[..., Any] | None = None
    after: tuple[Callable[..., Any], ...] = ()


def vary(
    machine: "type[Machine]",
    name: str,
    *,
    drop: Iterable[Any] = (),
    replace: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
    add: Iterable[Way] = (),
    why: str,
) -> "type[Machine]":
    """This machine varied in named places, with a table hash of its own; the only way to vary one.

    Args:
        machine: the machine itself: it is called as a method of the class.
        name: what to call the variant: `turnstone-1.8`, `without owner_live`.
        drop: guards, updates or effects to leave out everywhere, and (state, event) pairs whose transitions go.
        replace: a function by another one that asks for the same names.
        add: transitions to add after the others of their event.
        why: one sentence.

    Raises:
        DefinitionError: it drops or replaces what the machine does not have, or what is left is no machine.
    """
    change = _Change(machine.table, tuple(drop), dict(replace or {}), tuple(add))
    namespace = {
        **change.namespace(),
        "__module__": machine.__module__,
        "__doc__": machine.__doc__,
        "varies": (machine.table.name, name, why),
        "family": machine.family,
        "debtors": machine.debtors,
    }
    make: Callable[..., type[Machine]] = type(machine)
    return make(machine.__name__, (machine.__mro__[1],), namespace)


class _Change:
    def __init__(self, table: Table, drop: tuple[Any, ...], replace: dict[Any, Any], add: tuple[Way, ...]) -> None:
        self.table = table
        self.cells = {(str(item[0].id), item[1].name) for item in drop if isinstance(item, tuple)}
        self.functions = [item for item in drop if not isinstance(item, tuple)]
        self.replace = replace
        self.add = add
        self.states = {id: State(initial=state.initial, final=state.final) for id, state in table.states.items()}
        used = {
            bound.function
            for move in table.transitions
            for bound in (*move.guards, *move.effects, *([move.update] if move.update else []))
        }
        for item in (*self.functions, *replace):
            if item not in used:
                raise DefinitionError(
                    f"{table.name}: a variant drops or replaces {getattr(item, '__name__', item)}, "
                    "which it does not use"
                )
        for cell in self.cells:
            if cell not in table.moves:
                raise DefinitionError(
                    f"{table.name}: a variant drops {cell[1]} in {cell[0]}, which has no such transition"
                )

    def namespace(self) -> dict[str, Any]:
        from .machine import Event

        table = self.table
        links = {name: self._link(link) for name, link in table.links.items()}
        events = {name: self._transitions(name) for name in table.events}
        return {
            **links,
            **{name: Tally() for name in table.tallies},
            **self.states,
            **events,
            "__annotations__": {
                name: GenericAlias(Event, (spec.payload or type(None),)) for name, spec in table.events.items()
            },
            "rules": self._rules(events),
            "owes": {
                self.states[id]: attrs.evolve(debt, why=table.rules[debt.rule]) for id, debt in table.owes.items()
            },
            "effects": self._effects(events),
            "invariants": [bound.function for bound in table.invariants],
            "step_invariants": [bound.function for bound in table.step_invariants],
            "monitors": list(table.monitors),
            "durable": table.durable,
            "validate_disconnected_states": False,
            "validate_trap_states": False,
        }

    def _link(self, link: Link) -> Link:
        counts = {tally: tuple(self.states[str(state.id)] for state in states) for tally, states in link.counts.items()}
        to: Any = Self if link.to is self.table.machine else link.to
        return Link(to, per_event=link.per_event, optional=link.optional, counts=counts)

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        return None if function in self.functions else self.replace.get(function, function)

    def _kept(self, event: str) -> Iterable[Way]:
        for (state, name), ways in self.table.moves.items():
            if name == event and (state, event) not in self.cells:
                yield from (self._way(move) for move in ways)
        yield from (way for way in self.add if way.event.name == event)

    def _way(self, move: Transition) -> Way:
        cond = tuple(kept for guard in move.guards if (kept := self._function(guard.function)))
        after = tuple(kept for made in move.effects if (kept := self._function(made.function)))
        return Way(
            move.source, move.event, move.target, cond, move.update and self._function(move.update.function), after
        )

    def _transitions(self, event: str) -> Any:
        made = None
        for way in self._kept(event):
            source, target = self.states[str(way.source.id)], self.states[str(way.target.id)]
            one = source.to(target, cond=list(way.cond), on=way.on, after=list(way.after))
            made = one if made is None else made | one
        return made if made is not None else never()

    def _rules(self, events: Mapping[str, Any]) -> list[Any]:
        """As declared, but for the cells that are taken now; each with its sentence, whose guard may be gone."""
        taken = {(str(way.source.id), name) for name in events for way in self._kept(name)}
        rules: list[Any] = []
        for item in self.table.declared:
            cell = isinstance(item, Settled) or item.rank == "cell"
            pairs = [
                ((event,), (state,))
                for event in item.events
                for state in item.states
                if (str(state.id), event) not in taken
            ]
            for names, states in pairs if cell else [(item.events, item.states)]:
                of = tuple(events[name] for name in names)
                at = tuple(self.states[str(state.id)] for state in states)
                rules.append(attrs.evolve(item, why=self.table.rules[item.rule], events=of, states=at))
        return rules

    def _effects(self, events: Mapping[str, Any]) -> list[Any]:
        functions = {made.name: made.function for move in self.table.transitions for made in move.effects}
        functions |= {old.__name__: new for old, new in self.replace.items() if old.__name__ in functions}
        found = []
        for name, (done, failed, unknown, reason) in self.table.awaited.items():
            if functions[name] in self.functions:
                continue
            answers = {
                how: events[event] for how, event in (("done", done), ("failed", failed), ("unknown", unknown)) if event
            }
            found.append(effect(functions[name], **answers) if answers else fire_and_forget(functions[name], reason))
        return found
