"""A case with a wanted property, found by changing one thing at a time: blind draws rarely make five guards true."""

from collections.abc import Callable
from random import Random

import attrs

from ...machines.kernel import Machine, State
from .values import Case, draw_case

__all__ = ["seek"]


def seek(
    random: Random, machine: type[Machine], state: State, event: str, wrong: Callable[[Case], int], tries: int = 2_000
) -> Case | None:
    """Look for a case about which nothing is wrong.

    Args:
        random: where the draws come from.
        machine: whose case.
        state: the state to start from.
        event: the event.
        wrong: how many things are wrong with a case; what makes it fewer is kept.
        tries: how many cases to look at; a fifth of them at most lead away from one start.

    Returns:
        the case; None when none was found.
    """
    best, least, stale = draw_case(random, machine, state, event), -1, 0
    for _ in range(tries):
        if least < 0 or stale > tries // 5:
            best, stale = draw_case(random, machine, state, event), 0
            least = wrong(best)
        if least == 0:
            return best
        other = _with_one_part_of(random, best, draw_case(random, machine, state, event))
        faults = wrong(other)
        stale = 0 if faults < least else stale + 1
        if faults <= least:
            best, least = other, faults
    return None


def _with_one_part_of(random: Random, case: Case, other: Case) -> Case:
    """The first case with a field, a link, a tally or the principal of the second."""
    parts = ["by", *(f"link {name}" for name in case.links), *(f"tally {name}" for name in case.snapshot.tallies)]
    payload, data = case.request.payload, case.snapshot.data
    parts += [f"payload {field.name}" for field in (attrs.fields(type(payload)) if payload is not None else ())]
    parts += [f"data {field.name}" for field in (attrs.fields(type(data)) if data is not None else ())]
    kind, _, name = random.choice(parts).partition(" ")
    if kind == "by":
        return attrs.evolve(case, by=other.by)
    if kind == "link":
        return attrs.evolve(case, links={**case.links, name: other.links[name]})
    if kind == "tally":
        tallies = {**case.snapshot.tallies, name: other.snapshot.tallies[name]}
        return attrs.evolve(case, snapshot=attrs.evolve(case.snapshot, tallies=tallies))
    if kind == "payload":
        made = attrs.evolve(payload, **{name: getattr(other.request.payload, name)})
        return attrs.evolve(case, request=attrs.evolve(case.request, payload=made))
    made = attrs.evolve(data, **{name: getattr(other.snapshot.data, name)})
    return attrs.evolve(case, snapshot=attrs.evolve(case.snapshot, data=made))
