"""python-statemachine's own engine, which read the same class, agrees with the compiled step."""

from itertools import chain
from random import Random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statemachine.exceptions import TransitionNotAllowed

from ..machines.catalogue import MACHINES
from ..machines.kernel import Accepted, Machine, Refused, State, Table, step
from ..machines.kernel.step import fault, known_names
from .generate.values import Case, draw_case
from .test_rows import SINGLE, as_case

SAMPLES = 15
"""Cases drawn for each guard of a pair of state and event, to see which valuations there are."""
COMPARED = 5
"""Times as many go through the other engine."""


class _Model:
    """Where python-statemachine keeps the state, and what it injects into functions."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.injected: dict[str, Any] = {}

    def prepare_event(self) -> dict[str, Any]:
        return self.injected


class _Engine:
    """The other engine of one machine, which is told data, links and tallies before each event."""

    def __init__(self, machine: type[Machine]) -> None:
        self.machine = machine
        self.renew()

    def renew(self) -> None:
        """It stops for good in a final state."""
        self.model = _Model()
        self.engine = self.machine(self.model)

    def send(self, case: Case) -> tuple[str, Any] | None:
        """The state and the data after; None when the event was not taken."""
        self.model.state = str(case.snapshot.state.id)
        data = case.snapshot.data
        self.model.injected = {"data": data, "before": data, "by": case.by, **case.links, **case.snapshot.tallies}
        try:
            made = self.engine.send(case.request.name, **case.request.fields())
        except TransitionNotAllowed:
            return None
        finally:
            if self.engine.is_terminated or case.snapshot.state.final:
                state = self.model.state
                self.renew()
                self.model.state = state
        return str(self.model.state), data if made is None else made


def agree(engine: _Engine, machine: type[Machine], case: Case) -> Accepted | Refused:
    """Let both engines take one case and compare what became of it."""
    decision = step(machine.table, case.snapshot, case.request, case.by, case.links)
    told = engine.send(case)
    where = f"{case.snapshot.state.id} {case.request}"
    if isinstance(decision, Accepted):
        if decision.transition:
            assert told == (decision.after.state.id, decision.after.data), where
        else:
            assert told is None, f"{where}: python-statemachine leaves no final state"
    elif decision.failed or (case.snapshot.state.id, case.request.name) not in machine.table.moves:
        assert told is None, f"{where}: {decision.rule}"
    return decision


@pytest.mark.parametrize("name", MACHINES)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 12))
@settings(max_examples=60)
def test_both_engines_agree_on_generated_sequences(name: str, seed: int, length: int) -> None:
    machine, random = MACHINES[name], Random(seed)
    engine, table = _Engine(machine), MACHINES[name].table
    snapshot = draw_case(random, machine, table.absent, "start").snapshot
    for _ in range(length):
        case = draw_case(random, machine, snapshot.state, random.choice(list(table.events)))
        case = attrs.evolve(case, snapshot=snapshot)
        decision = agree(engine, machine, case)
        if isinstance(decision, Accepted):
            snapshot = decision.after


@pytest.mark.parametrize("name", MACHINES)
def test_both_engines_agree_in_every_state_on_every_valuation_of_the_guards(name: str) -> None:
    machine, random = MACHINES[name], Random(7)
    engine, table = _Engine(machine), MACHINES[name].table
    possible, met = set(), set()
    for state in table.states.values():
        for event in table.events:
            samples = draws(table, state, event)
            for _ in range(samples):
                possible.add((state.id, event, valued(machine, draw_case(random, machine, state, event))))
            for _ in range(COMPARED * samples):
                case = draw_case(random, machine, state, event)
                agree(engine, machine, case)
                met.add((state.id, event, valued(machine, case)))
    assert len(met & possible) >= 0.95 * len(possible)


def draws(table: Table, state: State, event: str) -> int:
    """How many cases a pair of state and event deserves: the more guards it has, the more."""
    ways = table.moves.get((str(state.id), event), ())
    return SAMPLES * sum(1 + len(way.guards) for way in ways) or 1


def valued(machine: type[Machine], case: Case) -> tuple[bool, ...]:
    """What each guard of this state and event says."""
    known = known_names(machine.table, case.snapshot, case.request, case.by, case.links)
    ways = machine.table.moves.get((str(case.snapshot.state.id), case.request.name), ())
    return tuple(fault(machine.table, guard, known) is None for way in ways for guard in way.guards)


@pytest.mark.parametrize("name", MACHINES)
def test_every_transition_is_taken_every_guard_says_both_and_every_refusal_is_met(name: str) -> None:
    machine, random = MACHINES[name], Random(11)
    table = machine.table
    taken, refused = set(), set()
    said: dict[str, set[bool]] = {guard.name: set() for move in table.transitions for guard in move.guards}
    drawn = (
        draw_case(random, machine, state, event)
        for state in table.states.values()
        for event in table.events
        for _ in range(draws(table, state, event))
    )
    for case in chain((as_case(row, state, event) for row, state, event in SINGLE if row.machine is machine), drawn):
        pair = (str(case.snapshot.state.id), case.request.name)
        decision = step(table, case.snapshot, case.request, case.by, case.links)
        if isinstance(decision, Accepted):
            taken.add(decision.transition)
        elif not decision.failed:
            refused.add(pair)
        guards = [guard for way in table.moves.get(pair, ()) for guard in way.guards]
        for guard, value in zip(guards, valued(machine, case), strict=True):
            said[guard.name].add(value)
    assert sorted({str(move) for move in table.transitions} - taken) == []
    assert sorted(name for name, values in said.items() if len(values) < 2) == []
    assert sorted(set(table.refusals) - refused) == []
