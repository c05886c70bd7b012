"""From the class body to the table: reads what python-statemachine parsed, and refuses what is no flat lifecycle.

Every error names the offender and the fix.
"""

import inspect
import re
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs
from statemachine import StateMachine
from statemachine.transition import Transition as Parsed
from statemachine.transition_list import TransitionList

from .errors import DefinitionError
from .fields import fields_of
from .links import Link, State, Tally
from .refusals import Naming, Never
from .rules import Owe, rule_of
from .table import Bound, EventSpec, Table, Transition

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["compile_machine"]

_INJECTED = {"data", "by", "before", "after"}
_TAKEN = {"event_data", "machine", "event", "model", "transition", "state", "source", "target"}
"""Names that python-statemachine injects itself: a payload field called so would be silently replaced."""


def compile_machine(cls: "type[Machine]", namespace: Mapping[str, Any]) -> Table:
    """Check a machine class and make its table.

    Raises:
        DefinitionError: what is wrong, where, and what to write instead.
    """
    return _Compiler(cls, namespace).table()


class _Compiler:
    """One pass over one class; its fields are what the later checks need of the earlier ones."""

    def __init__(self, cls: "type[Machine]", namespace: Mapping[str, Any]) -> None:
        self.cls = cls
        self.name = cls.varies[0] or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        self.states: dict[str, State] = {str(state.id): cast(State, state) for state in cls.states_map.values()}
        self.links = {name: value for name, value in namespace.items() if isinstance(value, Link)}
        self.tallies = tuple(name for name, value in namespace.items() if isinstance(value, Tally))
        self.notes = inspect.get_annotations(cls, eval_str=True)
        self.bounds: dict[int, Bound] = {}
        self.made: dict[int, Any] = {}
        self.naming = Naming(
            self.name,
            self.states,
            {id(value): name for name, value in namespace.items() if isinstance(value, TransitionList | Never)},
        )
        self.events = {name: self._event(name) for name in self.naming.events.values()}

    def table(self) -> Table:
        cls = self.cls
        absent = self._birth()
        self._links()
        self._names()
        moves = self._moves()
        data = self._data(moves)
        self.fields = fields_of(data, f"{cls.__name__}: {data.__name__}") if data else ()
        self._functions(moves, data)
        named = self.naming.resolve(cls.rules, self.events, moves)
        rules = named.rules
        for guard in [guard for ways in moves.values() for way in ways for guard in way.guards]:
            assert guard.rule is not None
            rules.setdefault(guard.rule.name, guard.rule.why)
        lasting = {"data", *(name for name, link in self.links.items() if not link.per_event)}
        until = {state.id: self._bound(debt.until, lasting, "until") for state, debt in cls.owes.items() if debt.until}
        invariants = tuple(self._bound(check, {"state", "data"}, "invariant", ruled=True) for check in cls.invariants)
        steps = tuple(
            self._bound(check, {"before", "after"}, "step invariant", ruled=True) for check in cls.step_invariants
        )
        for rule in (*(check.rule for check in (*invariants, *steps)), *(watch.rule for watch in cls.monitors)):
            assert rule is not None
            rules[rule.name] = rules.get(rule.name) or rule.why
        owes = self._owes(rules)
        missing = sorted(name for name, why in rules.items() if not why)
        if missing:
            raise DefinitionError(f"{cls.__name__}: rule {missing[0]!r} has no sentence: give why= where it is named")
        return Table(
            machine=cls,
            name=self.name,
            doc=inspect.getdoc(cls) or "",
            states=self.states,
            absent=absent,
            events=self.events,
            data=data,
            data_fields=self.fields,
            moves=moves,
            refusals=named.refusals,
            settled=named.settled,
            meanings=named.meanings,
            links=self.links,
            tallies=self.tallies,
            owes=owes,
            until=until,
            invariants=invariants,
            step_invariants=steps,
            monitors=tuple(cls.monitors),
            awaited=self._awaited(moves),
            rules=rules,
            declared=tuple(
                attrs.evolve(item, events=tuple(self.naming.event(event) for event in item.events))
                for item in cls.rules
            ),
            durable=cls.durable,
            owner_lost=self._owner_lost(),
            variant=cls.varies[1],
            why=cls.varies[2],
        )

    def _wrong(self, text: str) -> DefinitionError:
        return DefinitionError(f"{self.cls.__name__}: {text}")

    def _event(self, name: str) -> EventSpec:
        from .machine import Event

        note = self.notes.get(name)
        if typing.get_origin(note) is not Event:
            raise self._wrong(
                f"event {name} has no payload type: write `{name}: Event[None] = ...` or name its payload class"
            )
        (payload,) = typing.get_args(note)
        if payload is type(None):
            return EventSpec(name, None, ())
        fields = fields_of(payload, f"{self.cls.__name__}.{name}: {getattr(payload, '__name__', payload)}")
        for field in fields:
            if field.decides and not field.required:
                raise self._wrong(f"payload field {name}.{field.name} has a default: what decides must be given")
        return EventSpec(name, payload, fields)

    def _birth(self) -> State:
        absent = self.states.get("absent")
        if absent is None or not absent.initial:
            raise self._wrong("the state before birth is missing: begin with `absent = State(initial=True)`")
        for state in self.states.values():
            if state.states or state.parallel or state.history:
                raise self._wrong(f"state {state.id} is compound: compose machines by links instead")
            for kind in ("enter", "exit", "invoke"):
                if any(not spec.is_convention for spec in getattr(state, kind)):
                    raise self._wrong(
                        f"state {state.id} has a callback on {kind}: describe an effect with after= instead"
                    )
        for name, value in vars(self.cls).items():
            if re.match(r"(on|before|after|on_enter|on_exit|on_invoke)_", name) and callable(value):
                raise self._wrong(f"{name} would be called by its name: pass functions to cond=, on= or after=")
        return absent

    def _links(self) -> None:
        for link in self.links.values():
            for tally, states in link.counts.items():
                owner = self.tallies if link.to is self.cls else link.to.table.tallies
                if tally.name not in owner:
                    raise self._wrong(
                        f"link {link.name} counts into {tally.name}, which {link.to.__name__} does not declare: "
                        f"write `{tally.name} = Tally()` there"
                    )
                if link.per_event:
                    raise self._wrong(f"link {link.name} is given per event and cannot count: only a link for life can")
                for state in states:
                    if state not in self.states.values():
                        raise self._wrong(
                            f"link {link.name} counts {state.id}, which is no state of this machine: name its own"
                        )

    def _names(self) -> None:
        for name in (*self.states, *self.events, *self.links, *self.tallies):
            if hasattr(StateMachine, name) or name in _TAKEN | _INJECTED or "." in name:
                raise self._wrong(f"{name} is a name that python-statemachine or the kernel takes: call it otherwise")
        for spec in self.events.values():
            for field in spec.fields:
                if field.name in _TAKEN | _INJECTED or field.name in self.links or field.name in self.tallies:
                    raise self._wrong(
                        f"payload field {spec.name}.{field.name} has a name that is taken: call it otherwise"
                    )

    def _moves(self) -> dict[tuple[str, str], tuple[Transition, ...]]:
        moves: dict[tuple[str, str], tuple[Transition, ...]] = {}
        for state in self.states.values():
            for parsed in state.transitions:
                for event in list(parsed.events) or [""]:
                    if event not in self.events:
                        raise self._wrong(
                            f"a transition from {state.id} has no event: assign it, "
                            f"`name: Event[None] = {state.id}.to(...)`"
                        )
                    pair = (str(state.id), str(event))
                    moves[pair] = (*moves.get(pair, ()), self._transition(pair[1], parsed))
        for (state_id, event), ways in moves.items():
            if (state_id == "absent") != (event == "start"):
                raise self._wrong(f"{state_id} --{event}: birth is by `start` from `absent`, and by nothing else")
            if any(way.target.id == "absent" for way in ways):
                raise self._wrong(f"{state_id} --{event} leads back to absent: what lives ends in a final state")
            for way in ways[:-1]:
                if not way.guards and not self.cls.varies[0]:
                    raise self._wrong(
                        f"{way} has no guard, so that what is written after it never happens: put it last"
                    )
        if ("absent", "start") not in moves:
            raise self._wrong("nothing is born: declare `start: Event[...] = absent.to(...)`")
        return moves

    def _transition(self, event: str, parsed: Parsed) -> Transition:
        where = f"{parsed.source.id} --{event}"
        if len(parsed.targets) != 1 or parsed.internal:
            raise self._wrong(
                f"{where}: one target state each; internal and targetless transitions are no moves of a flat machine"
            )
        if any(not spec.is_convention for kind in ("validators", "before") for spec in getattr(parsed, kind)):
            raise self._wrong(
                f"{where}: validators= and before= are not for us: use guards in cond=, one update in on="
            )
        guards = []
        for spec in parsed.cond:
            if spec.is_convention:
                continue
            if spec.expected_value is False:
                raise self._wrong(f"{where}: unless= hides a guard's rule: write the guard the way it must be true")
            guards.append(self._function(spec.func, where))
            if rule_of(spec.func) is None:
                raise self._wrong(
                    f"{where}: guard {guards[-1].name} protects no rule: decorate it with @guard(rule, why)"
                )
        updates = [self._function(spec.func, where) for spec in parsed.on if not spec.is_convention]
        if len(updates) > 1:
            raise self._wrong(f"{where}: one update a transition; got {', '.join(update.name for update in updates)}")
        effects = [self._function(spec.func, where) for spec in parsed.after if not spec.is_convention]
        source, target = cast(State, parsed.source), cast(State, parsed.target)
        return Transition(event, source, target, tuple(guards), updates[0] if updates else None, tuple(effects))

    def _function(self, function: Any, where: str) -> Bound:
        """A function with what it asks for, looked at once however many transitions use it."""
        bound = self.bounds.get(id(function))
        if bound is None:
            bound = self.bounds[id(function)] = self._inspected(function, where)
        return bound

    def _inspected(self, function: Any, where: str) -> Bound:
        if not isinstance(function, types.FunctionType) or function.__name__ == "<lambda>":
            raise self._wrong(
                f"{where}: {function!r} is no plain function: guards, updates and effects are module-level functions"
            )
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise self._wrong(f"{where}: {function.__name__} is async or a generator: a step is one pure call")
        parameters = inspect.signature(function).parameters
        for parameter in parameters.values():
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
                raise self._wrong(
                    f"{where}: {function.__name__} takes {parameter}: plain parameters without defaults, "
                    "injected by name"
                )
        return Bound(function, tuple(parameters), rule_of(function))

    def _bound(self, function: Any, known: set[str], what: str, ruled: bool = False) -> Bound:
        bound = self._function(function, what)
        self._known(bound, known, what)
        if ruled and bound.rule is None:
            raise self._wrong(f"{what} {bound.name} names no rule: decorate it")
        return bound

    def _known(self, bound: Bound, known: set[str], where: str) -> None:
        for name in bound.names:
            if name not in known:
                raise self._wrong(
                    f"{where}: {bound.name} asks for {name}, which is not known there; "
                    f"known: {', '.join(sorted(known)) or 'nothing'}"
                )

    def _data(self, moves: Mapping[tuple[str, str], tuple[Transition, ...]]) -> type | None:
        births = [way for (state, _), ways in moves.items() if state == "absent" for way in ways]
        made = {self._returns(way.update) for way in births if way.update}
        if not made:
            return None
        if len(made) > 1 or any(way.update is None for way in births):
            raise self._wrong(
                "the ways of being born make different data: each `start` needs an update returning the same class"
            )
        (data,) = made
        if not isinstance(data, type):
            raise self._wrong("the update of `start` does not say what it returns: annotate it with the data class")
        return data

    def _functions(self, moves: Mapping[tuple[str, str], tuple[Transition, ...]], data: type | None) -> None:
        for (state, event), ways in moves.items():
            spec = self.events[event]
            known = {"by", *self.links, *self.tallies, *(field.name for field in spec.fields if field.decides)}
            told = {*known, "before", *(field.name for field in spec.fields), *(["data"] if data else [])}
            if data and state != "absent":
                known.add("data")
            for way in ways:
                for guard in way.guards:
                    self._known(guard, known, str(way))
                if way.update:
                    self._known(way.update, known, str(way))
                    made = self._returns(way.update)
                    if made is not data:
                        raise self._wrong(f"{way}: {way.update.name} returns {made}, and the data class is {data}")
                for effect in way.effects:
                    self._known(effect, told, str(way))

    def _owes(self, rules: dict[str, str]) -> dict[str, Owe]:
        for state, debt in self.cls.owes.items():
            if state.final or state.id == "absent":
                raise self._wrong(f"{state.id} owes {debt.rule}, but only a live state can owe")
            rules[debt.rule] = rules.get(debt.rule) or debt.why or ""
        return {str(state.id): debt for state, debt in self.cls.owes.items()}

    def _awaited(
        self, moves: Mapping[tuple[str, str], tuple[Transition, ...]]
    ) -> dict[str, tuple[str | None, str | None, str | None, str]]:
        awaited = {}
        for declared in self.cls.effects:
            answers = [
                self.naming.event(answer) if answer is not None else None
                for answer in (declared.done, declared.failed, declared.unknown)
            ]
            if None in answers and not declared.reason:
                raise self._wrong(
                    f"effect {declared.effect.__name__} needs done=, failed= and unknown=, "
                    "or fire_and_forget(..., reason)"
                )
            awaited[declared.effect.__name__] = (answers[0], answers[1], answers[2], declared.reason)
        for ways in moves.values():
            for way in ways:
                for made in way.effects:
                    if made.name not in awaited:
                        raise self._wrong(
                            f"{way}: nothing answers its effect {made.name}: "
                            f"list effect({made.name}, done=...) or fire_and_forget(...)"
                        )
        return awaited

    def _owner_lost(self) -> str | None:
        if self.cls.durable:
            return None
        if "owner_lost" not in self.events:
            raise self._wrong(
                "a volatile machine must take `owner_lost`: what becomes of it when the process that held it is gone?"
            )
        return "owner_lost"

    def _returns(self, update: Bound) -> Any:
        key = id(update.function)
        if key not in self.made:
            self.made[key] = typing.get_type_hints(update.function).get("return")
        return self.made[key]
