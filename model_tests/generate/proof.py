"""Proofs of the pure functions of a machine, from its table, by CrossHair.

Three kinds of claim. A guard is total: whatever the fields, it says yes or no. A transition keeps what is promised:
from data that its source state allows and with its guards true, the update makes data that the invariants of its target
and every step invariant allow, and its effects can be described. Two ways of one state and event exclude each other,
unless the later one has no guard that the earlier one has not: then it is the otherwise of it, ordered on purpose.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal

import attrs
from crosshair.core import deep_realize
from crosshair.core_and_libs import MessageType, NoTracing, analyze_function, proxy_for_type, run_checkables
from crosshair.options import AnalysisKind, AnalysisOptionSet

from ...machines.kernel import Machine, Table
from ...machines.kernel.table import Bound, Transition
from .symbolic import COUNTER, IDENTITY, Choose, Make, Moot, any_data, any_seen, any_value

__all__ = ["Claim", "Proof", "Verdict", "claims"]

Verdict = Literal["confirmed", "bounded", "refuted"]


@attrs.frozen
class Proof:
    """What came of a claim."""

    verdict: Verdict
    why: str = ""
    """What bounds it, or the values that refute it."""


@attrs.frozen
class Claim:
    """A predicate that is to be true whatever is chosen."""

    name: str
    holds: Callable[[Choose], bool]
    """Raises Moot where it does not speak of what was chosen."""

    def __str__(self) -> str:
        return self.name

    def prove(self, seconds: float = 20.0) -> Proof:
        """Let CrossHair look for a choice that refutes it.

        Args:
            seconds: how long to look at most.
        """
        look = _Look(self.holds)

        def holds() -> bool:
            """
            post: __return__
            """
            return look()

        kinds = [AnalysisKind.PEP316]
        options = AnalysisOptionSet(report_all=True, per_condition_timeout=seconds, analysis_kind=kinds)
        (message,) = run_checkables(analyze_function(holds, options))
        if look.refuted:
            return Proof("refuted", look.refuted)
        if message.state is MessageType.CANNOT_CONFIRM:
            return Proof("bounded", f"{seconds:g} s were not enough for all paths")
        if message.state is not MessageType.CONFIRMED:
            raise RuntimeError(f"CrossHair cannot look at {self.name}: {message.state.name} {message.message}")
        if not look.spoken:
            return Proof("refuted", "nothing is as it presupposes")
        return Proof("bounded", look.bounds) if look.bounds else Proof("confirmed")


class _Look:
    """Runs a predicate on what CrossHair chooses, once a path, and remembers what it was."""

    def __init__(self, holds: Callable[[Choose], bool]) -> None:
        self.holds = holds
        self.spoken = False
        self.refuted = ""
        self.bounds = ""

    def __call__(self) -> bool:
        chosen: dict[str, Any] = {}

        def choose(kind: type, name: str) -> Any:
            with NoTracing():  # type: ignore[no-untyped-call]
                if name.startswith("size of "):
                    self.bounds = "no set of ids has more than two members"
                chosen[name] = value = proxy_for_type(kind, name)
            return value

        try:
            held = self.holds(choose)
        except Moot:
            return True
        except Exception as error:
            return self._refute(chosen, f"{type(error).__name__}: {deep_realize(str(error))}")
        self.spoken = True
        return True if held else self._refute(chosen, "false")

    def _refute(self, chosen: Mapping[str, Any], how: str) -> bool:
        values = deep_realize(dict(chosen))
        with NoTracing():  # type: ignore[no-untyped-call]  # else the text itself would be symbolic
            self.refuted = f"{how} for {', '.join(f'{name}={value!r}' for name, value in values.items())}"
        return False


def claims(machine: type[Machine]) -> Iterator[Claim]:
    """Everything that is to be proven of a machine's functions."""
    met: set[Any] = set()
    for (state, event), ways in machine.table.moves.items():
        cell = _Cell(machine.table, state, event)
        for guard in (guard for way in ways for guard in way.guards):
            if (key := (guard.function, *(cell.fields.get(name) for name in guard.names))) not in met:
                met.add(key)
                yield Claim(f"{guard.name} says yes or no", cell.total(guard))
        for number, way in enumerate(ways):
            yield Claim(f"{way} keeps what is promised", cell.keeps(way, ways[:number]))
        for one, other in combinations(ways, 2):
            if not {guard.function for guard in other.guards} <= {guard.function for guard in one.guards}:
                yield Claim(f"{one} excludes {other}", cell.exclude(one, other))


class _Known(dict[str, Any]):
    """The names that functions ask for, each made when it is first asked for."""

    def __init__(self, makers: Mapping[str, Make], choose: Choose) -> None:
        super().__init__()
        self.makers = makers
        self.choose = choose

    def __missing__(self, name: str) -> Any:
        self[name] = made = self.makers[name](self.choose)
        return made


class _Cell:
    """One state and event: what its functions can be given, and what is claimed of them."""

    def __init__(self, table: Table, state: str, event: str) -> None:
        self.table = table
        self.state = table.states[state]
        self.fields = {field.name: field for field in table.events[event].fields}
        others = {"by": IDENTITY, **dict.fromkeys(table.tallies, COUNTER)}
        self.makers = {name: any_value(field, name) for name, field in (self.fields | others).items()}
        self.makers |= {name: any_seen(link.to.table, name) for name, link in table.links.items()}
        self.makers["data"] = (lambda choose: None) if self.state is table.absent else any_data(table, "data")
        self.needed = [name for name, link in table.links.items() if not link.optional]

    def total(self, guard: Bound) -> Callable[[Choose], bool]:
        def holds(choose: Choose) -> bool:
            known = _Known(self.makers, choose)
            if self._lacks(guard, known):
                raise Moot
            return isinstance(guard(known), bool)

        return holds

    def keeps(self, way: Transition, earlier: tuple[Transition, ...]) -> Callable[[Choose], bool]:
        def holds(choose: Choose) -> bool:
            known = self._supposed(way, choose)
            if any(self._taken(other, known) for other in earlier):
                raise Moot
            if way.update and self._lacks(way.update, known):
                raise Moot  # step refuses it by itself, as link-present
            before = known["data"]
            after = way.update(known) if way.update else before
            self._within_range(after)
            kept = isinstance(after, self.table.data or type(None))
            kept = kept and all(check({"state": way.target, "data": after}) for check in self.table.invariants)
            if before is not None:
                kept = kept and all(check({"before": before, "after": after}) for check in self.table.step_invariants)
            known["before"], known["data"] = before, after
            for effect in way.effects:
                effect(known)
            return kept

        return holds

    def exclude(self, one: Transition, other: Transition) -> Callable[[Choose], bool]:
        return lambda choose: not self._taken(other, self._supposed(one, choose))

    def _supposed(self, way: Transition, choose: Choose) -> _Known:
        """Anything under which the state allows the data and the guards are true."""
        known = _Known(self.makers, choose)
        data = known["data"]
        if data is not None and not all(check({"state": self.state, "data": data}) for check in self.table.invariants):
            raise Moot
        if not self._taken(way, known):
            raise Moot
        return known

    def _taken(self, way: Transition, known: _Known) -> bool:
        return all(not self._lacks(guard, known) and guard(known) for guard in way.guards)

    def _lacks(self, bound: Bound, known: _Known) -> bool:
        """Whether a link that it needs shows nothing."""
        return any(name in self.needed and known[name] is None for name in bound.names)

    def _within_range(self, data: Any) -> None:
        for field in self.table.data_fields:
            value = getattr(data, field.name) if field.kind == "int" else None
            if value is not None and not field.values[0] <= value <= field.values[1]:
                raise Moot  # step refuses it by itself, as within-range
