"""What a machine promises holds by itself: no step out of a lawful snapshot breaks it."""

from random import Random

import pytest

from ..machines.catalogue import MACHINES
from ..machines.kernel import Accepted, Machine, Refused, step
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
