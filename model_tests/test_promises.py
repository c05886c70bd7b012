"""What a machine promises holds by itself: no lawful snapshot steps out of it, and no order of writing decides."""

from itertools import combinations
from random import Random

import pytest

from ..machines.catalogue import MACHINES
from ..machines.kernel import Accepted, Machine, Refused, step
from ..machines.kernel.table import Transition
from .generate.seek import seek
from .generate.values import Case
from .test_definitions import faults_of

TRIES = 400
"""Cases looked at for each cell, or pair of ways."""


def broken_before(machine: type[Machine], case: Case) -> int:
    """How many invariants the snapshot itself breaks, so that nothing can be blamed on the step."""
    known = {"state": case.snapshot.state, "data": case.snapshot.data}
    return sum(check(known) is not True for check in machine.table.invariants)


def by_promise(decision: Accepted | Refused) -> bool:
    """Was an event refused whose guards were all true, because of what would have come of it?"""
    return (
        isinstance(decision, Refused) and not decision.failed and decision.rule not in ("within-range", "link-present")
    )


@pytest.mark.parametrize("name", MACHINES)
def test_no_step_out_of_a_lawful_snapshot_breaks_an_invariant(name: str) -> None:
    machine, random = MACHINES[name], Random(13)
    for state, event in machine.table.moves:

        def wrong(case: Case) -> int:
            broken = broken_before(machine, case) if case.snapshot.data is not None else 0
            decision = step(machine.table, case.snapshot, case.request, case.by, case.links)
            if isinstance(decision, Accepted):
                return broken + 1
            return broken if by_promise(decision) else broken + 1 + min(faults_of(machine, case))

        found = seek(random, machine, machine.table.states[state], event, wrong, TRIES)
        assert found is None, found


def same(one: Transition, other: Transition) -> bool:
    return (one.target, one.update, one.effects) == (other.target, other.update, other.effects)


def is_otherwise(one: Transition, other: Transition) -> bool:
    """Does the other ask for nothing that the one before it does not ask for? Then it is the rest, on purpose."""
    return {guard.function for guard in other.guards} <= {guard.function for guard in one.guards}


@pytest.mark.parametrize("name", MACHINES)
def test_two_ways_of_a_cell_exclude_each_other_or_one_is_the_rest_of_the_other(name: str) -> None:
    machine, random = MACHINES[name], Random(17)
    for (state, event), ways in machine.table.moves.items():
        for one, other in combinations(range(len(ways)), 2):
            if is_otherwise(ways[one], ways[other]) or same(ways[one], ways[other]):
                continue

            def wrong(case: Case, one: int = one, other: int = other) -> int:
                faults = faults_of(machine, case)
                return faults[one] + faults[other]

            both = seek(random, machine, machine.table.states[state], event, wrong, TRIES)
            assert both is None, f"{ways[one]} and {ways[other]} can both be taken: {both}"
