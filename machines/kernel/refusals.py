"""Which rule refuses an event in a state that has no transition for it.

The cell's own rule wins, then what the state means, then the event's rule elsewhere, then the machine's order of
events. A pair that nothing names gets a made-up name, which CI lists and no shipped machine has.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from .errors import DefinitionError
from .links import State
from .rules import Refusal, Rule, Settled
from .table import EventSpec, No, Transition

__all__ = ["Named", "Naming", "Never", "never"]

Pair = tuple[str, str]


class Never:
    """An event that no state takes."""


def never() -> Any:
    """Declare an event that no state takes: it is settled or refused by name everywhere.

    `report_foreign: Event[Report] = never()`
    """
    return Never()


@attrs.frozen
class Named:
    """The outcome of naming: see the fields of Table with the same names."""

    rules: dict[str, str]
    settled: dict[Pair, Rule]
    refusals: dict[Pair, No]
    meanings: dict[str, Rule]


class Naming:
    """Names of one machine's events and refusals, from the objects that its class body passes around."""

    def __init__(self, machine: str, states: Mapping[str, State], events: Mapping[int, str]) -> None:
        self.machine = machine
        self.states = states
        self.events = events

    def event(self, declared: Any) -> str:
        """The name of an event that a declaration passes as an object."""
        name = self.events.get(id(declared)) or getattr(declared, "name", None)
        if name not in self.events.values():
            raise DefinitionError(f"{self.machine}: {declared!r} is no event of this machine: pass the event itself")
        return str(name)

    def resolve(
        self,
        declared: Sequence[Refusal | Settled],
        events: Mapping[str, EventSpec],
        moves: Mapping[Pair, tuple[Transition, ...]],
    ) -> "Named":
        """Work out the sentence of each rule, what is settled, and the refusal of every pair that is left."""
        rules: dict[str, str] = {}
        for item in declared:
            rules[item.rule] = rules.get(item.rule) or item.why or ""
        self._borrow(rules, moves)
        settled = {
            pair: Rule(item.rule, rules[item.rule])
            for item in declared
            if isinstance(item, Settled)
            for pair in self._pairs(item.events, item.states)
        }
        for state, event in settled:
            if not self.states[state].final:
                raise DefinitionError(
                    f"{self.machine}: {event} is settled in {state}, which is not final: write it as a transition"
                )
        named: dict[str, dict[Pair, str]] = {"cell": {}, "state": {}, "event": {}, "rest": {}}
        for item in declared:
            if isinstance(item, Refusal):
                for pair in self._reach(item, events):
                    if item.rank == "cell" and (pair in moves or pair in settled):
                        raise DefinitionError(
                            f"{self.machine}: {pair[1]} is refused in {pair[0]} ({item.rule}) and also taken there"
                        )
                    named[item.rank].setdefault(pair, item.rule)
        refusals = {}
        for state in self.states:
            for event in events:
                pair = (state, event)
                if pair not in moves and pair not in settled:
                    refusals[pair] = self._refusal(pair, named, rules)
        meanings = {
            self._state(state): Rule(item.rule, rules[item.rule] or item.rule)
            for item in reversed(declared)
            if isinstance(item, Refusal) and item.rank == "state"
            for state in item.states
        }
        return Named(rules, settled, refusals, meanings)

    def _borrow(self, rules: dict[str, str], moves: Mapping[Pair, tuple[Transition, ...]]) -> None:
        """A rule named without a sentence takes that of the guard that protects it."""
        for ways in moves.values():
            for way in ways:
                for guard in way.guards:
                    if guard.rule and guard.rule.name in rules:
                        rules[guard.rule.name] = rules[guard.rule.name] or guard.rule.why

    def _refusal(self, pair: Pair, named: Mapping[str, Mapping[Pair, str]], rules: Mapping[str, str]) -> No:
        for rank, pairs in named.items():
            if pair in pairs:
                name = pairs[pair]
                return No(Rule(name, rules[name] or name), rank)
        made = f"{self.machine}-{pair[1]}-not-in-{pair[0]}".replace("_", "-")
        return No(Rule(made, f"{pair[0]} does not take {pair[1]}"), "made")

    def _reach(self, item: Refusal, events: Mapping[str, EventSpec]) -> Iterable[Pair]:
        if item.rank in ("cell", "event"):
            return self._pairs(item.events, item.states or tuple(self.states.values()))
        states = [self._state(state) for state in item.states] or list(self.states)
        return ((state, event) for state in states for event in events)

    def _pairs(self, events: Iterable[Any], states: Iterable[State]) -> Iterable[Pair]:
        return [(self._state(state), self.event(event)) for event in events for state in states]

    def _state(self, state: State) -> str:
        if self.states.get(str(state.id)) is None:
            raise DefinitionError(f"{self.machine}: {state!r} is no state of this machine: name one of its own")
        return str(state.id)
