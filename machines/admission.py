"""The admission of one workstream: the barrier that a sweep puts before everything that changes visible approvals.

What may race: leases that are asked for and given back, and sweeps that begin and end, each Stop its own. A sweep that
comes first holds every new lease back; leases that came first are drained before it claims anything. Sweeps overlap:
one that claimed nothing may end while another still tells, so only the last end lifts the barrier, and it is the one
that waits until no decided cycle is untold. (Table 7 asks it of every end; under overlap that is a false alarm.)

Idle, leased, draining and claiming are what one sees of (state, active): open with none or some, sweeping with some or
none. A request is a lease (lease.py), and one that waits is a lease in `asked`.

Source: lifecycles/turnstone-tables.md 7 as its section 0 splits it; turnstone-races.md 7, 10 to 14.
"""

from typing import Annotated

import attrs

from .kernel import Event, Machine, Range, State, Tally, guard, invariant, owe, refused, rule

__all__ = ["Admission", "AdmissionData"]


@attrs.frozen
class AdmissionData:
    """What an admission counts itself; its leases and cycles count into its tallies."""

    sweeps: Annotated[int, Range(0, 1000)] = 0


@guard("sweep-drains-leases", "a sweep claims and ends only after the leases granted before it are given back")
def drained(active: int) -> bool:
    return active == 0


@guard("sweep-publishes-before-end", "the barrier is lifted when every claimed cycle was told, no earlier")
def all_told(untold: int) -> bool:
    return untold == 0


@guard("sweep-delays-successor", "the last sweep to end lifts the barrier")
def last(data: AdmissionData) -> bool:
    return data.sweeps == 1


@guard("sweep-delays-successor", "while another sweep runs, the end of this one lifts nothing")
def not_last(data: AdmissionData) -> bool:
    return data.sweeps > 1


def opened() -> AdmissionData:
    return AdmissionData()


def one_more(data: AdmissionData) -> AdmissionData:
    return attrs.evolve(data, sweeps=data.sweeps + 1)


def one_less(data: AdmissionData) -> AdmissionData:
    return attrs.evolve(data, sweeps=data.sweeps - 1)


@invariant("sweep-begun", "the barrier is down exactly while no sweep runs")
def barrier_while_sweeping(state: State, data: AdmissionData) -> bool:
    return (state in (Admission.sweeping,)) == (data.sweeps > 0)


class Admission(Machine):
    """One workstream: open to leases, or swept."""

    active = Tally()
    untold = Tally()

    absent = State(initial=True)
    open = State()
    sweeping = State()

    start: Event[None] = absent.to(open, on=opened)
    sweep_begin: Event[None] = open.to(sweeping, on=one_more) | sweeping.to(sweeping, on=one_more)
    sweep_end: Event[None] = sweeping.to(open, cond=[drained, all_told, last], on=one_less) | sweeping.to(
        sweeping, cond=[drained, not_last], on=one_less
    )

    rules = [
        rule("sweep-begun", absent, open, why="a sweep ends only after it began"),
        refused(start, when=(open, sweeping), rule="admission-once", why="a workstream has one admission"),
    ]
    owes = {sweeping: owe("sweep-publishes-before-end", "a sweep that has begun tells what it claimed, and ends")}
    invariants = [barrier_while_sweeping]
