"""lifecycles/turnstone-races.md 1 to 14: a Stop and its sweep against leases, cards and clicks.

The page calls what a sweep decides a denial; ours is `cancelled` (table 9).
"""

from ...machines import admission, approval, gate, lease
from ...machines.admission import Admission
from ...machines.approval import Approval, Outcome
from ...machines.gate import Gate, GateData
from ...machines.kernel import Seen, guard
from ...machines.lease import Lease
from ...machines.session import SessionData
from ..generate.world import fire
from .scenario import Race, Without
from .world import (
    ANN,
    NEXT,
    SCREEN,
    STOP,
    STOPS,
    W1,
    W2,
    WORKER,
    ask,
    back,
    card,
    chat,
    claim,
    counts,
    done_by,
    enters,
    in_order,
    is_in,
    latch,
    no,
    prompt,
    refused_lease,
    showed,
    smart,
    steps,
    sweep,
    unborn,
    verdicts,
    waits,
    wakes,
    went,
    yes,
)
from .world import lease as leased

__all__ = ["RACES"]

LEASE_OWNER = Without(Lease, (lease.owner_live,))
CLICK_OWNER = Without(Approval, (approval.leased_live, approval.owner_live))
SPARING = Without(Approval, (approval.sweepable,))


@guard("no-new-work-after-cancel", "nobody is ever stopped")
def nobody(data: GateData, session: Seen[SessionData]) -> bool:
    """Is nobody aborted?"""
    return False


CANCELLED = {"outcome": Outcome.CANCELLED}

RACES = [
    Race(
        "turnstone-1",
        "Stop before first publication",
        chat(),
        [
            enters("G1", "K1"),
            STOPS,
            *refused_lease(WORKER, "L1"),
            WORKER.may_not("lease-after-stop", fire("G1", Gate.purge_lease, lease="L1")),
            WORKER.does(fire("G1", Gate.lease_refused, lease="L1")),
        ],
        [is_in("G1", Gate.cancelled), unborn("K1"), showed(), counts("admission", active=0)],
        without=[LEASE_OWNER],
    ),
    Race(
        "turnstone-2",
        "Stop before registration",
        [*chat(), enters("G1", "K1"), *steps("G1")],
        [
            STOPS,
            *sweep(),
            *refused_lease(WORKER, "L1"),
            WORKER.may_not("lease-after-stop", fire("G1", Gate.prompt_lease, lease="L1"), card("K1", "L1")),
            WORKER.may_not("lease-after-stop", card("K1", "L1")),
            WORKER.does(fire("G1", Gate.lease_refused, lease="L1")),
        ],
        [is_in("G1", Gate.cancelled), unborn("K1"), showed(), is_in("admission", Admission.open)],
        without=[LEASE_OWNER],
    ),
    Race(
        "turnstone-2",
        "Stop before registration: the lease waits for the sweep and loses no wake-up",
        [*chat(), enters("G1", "K1"), *steps("G1"), ask(WORKER, "L1", W1)],
        [
            STOPS,
            STOP.does(fire("admission", Admission.sweep_begin)),
            WORKER.may_not("lease-after-stop", fire("L1", Lease.grant)),
            WORKER.does(fire("L1", Lease.refuse)),
            WORKER.does(fire("G1", Gate.lease_refused, lease="L1")),
            STOP.does(fire("admission", Admission.sweep_end)),
        ],
        [
            is_in("G1", Gate.cancelled),
            unborn("K1"),
            showed(),
            in_order("session.stop", "L1.refuse", "G1.lease_refused", "admission.sweep_end"),
        ],
        order="in-the-sweep",
    ),
    Race(
        "turnstone-3",
        "Stop during Smart wait",
        [*chat(), *smart("G1", "K1", 700)],
        [
            STOPS,
            STOP.does(fire("admission", Admission.sweep_begin)),
            verdicts("G1", 900),
            STOP.does(fire("admission", Admission.sweep_end)),
        ],
        [
            is_in("G1", Gate.cancelled),
            unborn("K1"),
            showed(),
            in_order("session.stop", "admission.sweep_begin", "G1.smart_ready", "admission.sweep_end"),
        ],
        without=[Without(Gate, replace={gate.owner_aborted: nobody})],
    ),
    Race(
        "turnstone-3",
        "Stop during Smart wait: the deadline is first to look",
        [*chat(), *smart("G1", "K1", 700)],
        [STOPS, WORKER.does(fire("G1", Gate.smart_deadline)), *sweep()],
        [is_in("G1", Gate.cancelled), unborn("K1"), showed()],
        order="deadline",
    ),
    Race(
        "turnstone-4",
        "Stop after Smart qualification",
        [*chat(), *smart("G1", "K1", 700), verdicts("G1", 900)],
        [
            STOPS,
            *refused_lease(WORKER, "L1"),
            WORKER.may_not("lease-after-stop", fire("G1", Gate.auto_lease, lease="L1")),
            WORKER.does(fire("G1", Gate.lease_refused, lease="L1")),
        ],
        [is_in("G1", Gate.cancelled), unborn("K1"), showed()],
        without=[LEASE_OWNER],
        later="verdict: no smart_approval is stored with it",
    ),
    Race(
        "turnstone-5",
        "Stop after manual preparation of a mixed batch",
        [*chat(), enters("G1", "K1", items=2, pending=2), *steps("G1", left=1)],
        [
            STOPS,
            *refused_lease(WORKER, "L1"),
            WORKER.may_not("lease-after-stop", fire("G1", Gate.prompt_lease, lease="L1"), card("K1", "L1")),
            WORKER.does(fire("G1", Gate.lease_refused, lease="L1")),
        ],
        [is_in("G1", Gate.cancelled, pending=1), unborn("K1"), showed(), counts("admission", active=0, untold=0)],
        without=[LEASE_OWNER],
    ),
    Race(
        "turnstone-6",
        "Stop, then targeted click",
        [*chat(), *prompt("K1")],
        [
            STOPS,
            *refused_lease(ANN, "click"),
            ANN.may_not("approval-owner-live", yes("K1", "click")),
            ANN.may_not("approval-owner-live", no("K1", "click")),
            *sweep("K1"),
        ],
        [
            is_in("K1", Approval.told, **CANCELLED),
            went("K1", "start show publish cancel tell"),
            showed("K1 card", "K1 cancelled"),
        ],
        without=[CLICK_OWNER],
    ),
    Race(
        "turnstone-7",
        "Stop while prompt is being published",
        [*chat(), *leased(WORKER, "L1"), WORKER.does(card("K1", "L1")), SCREEN.delivers()],
        [
            STOPS,
            STOP.does(fire("admission", Admission.sweep_begin)),
            STOP.may_not("sweep-drains-leases", fire("K1", Approval.cancel)),
            STOP.may_not("sweep-drains-leases", fire("admission", Admission.sweep_end)),
            WORKER.may_not("lease-after-stop", fire("K1", Approval.publish)),
            WORKER.does(fire("K1", Approval.show)),
            back(WORKER, "L1"),
            latch("K1"),
            STOP.claims("K1"),
            STOP.may_not("sweep-publishes-before-end", fire("admission", Admission.sweep_end)),
            SCREEN.delivers(),
            STOP.does(fire("admission", Admission.sweep_end)),
        ],
        [
            went("K1", "start show show publish cancel tell"),
            in_order("K1.cancel", "K1.tell", "admission.sweep_end"),
            is_in("K1", Approval.told, **CANCELLED),
            showed("K1 card", "K1 cancelled"),
        ],
        order="latch-first",
        without=[Without(Approval, (approval.drained,)), Without(Admission, (admission.all_told,))],
    ),
    Race(
        "turnstone-7",
        "Stop while prompt is being published: the sweep is before the latch",
        [*chat(), *leased(WORKER, "L1"), WORKER.does(card("K1", "L1")), SCREEN.delivers()],
        [
            STOPS,
            STOP.does(fire("admission", Admission.sweep_begin)),
            STOP.may_not("sweep-drains-leases", fire("K1", Approval.cancel)),
            WORKER.does(fire("K1", Approval.show)),
            back(WORKER, "L1"),
            STOP.claims("K1"),
            WORKER.may_not("no-event-after-terminal", fire("K1", Approval.publish)),
            SCREEN.delivers(),
            STOP.does(fire("admission", Admission.sweep_end)),
        ],
        [went("K1", "start show show cancel tell"), showed("K1 card", "K1 cancelled")],
        order="sweep-first",
        without=[Without(Approval, (approval.drained,))],
    ),
    Race(
        "turnstone-8",
        "Click while prompt is being published",
        [*chat(), *leased(WORKER, "L1"), WORKER.does(card("K1", "L1"))],
        [
            *leased(ANN, "click"),
            ANN.may_not("approval-has-request", yes("K1", "click")),
            SCREEN.delivers(),
            ANN.may_not("approval-has-request", yes("K1", "click")),
            WORKER.may_not("lease-after-stop", fire("K1", Approval.publish)),
            back(WORKER, "L1"),
            latch("K1"),
            ANN.does(yes("K1", "click")),
            SCREEN.delivers(),
        ],
        [
            went("K1", "start show publish approve tell"),
            in_order("K1.start", "K1.show", "L1.release", "K1.publish", "K1.approve"),
            is_in("K1", Approval.told, outcome=Outcome.APPROVED),
            showed("K1 card", "K1 approved"),
        ],
        without=[Without(Approval, (approval.bundle_out,))],
    ),
    Race(
        "turnstone-9",
        "Click leased before Stop, claims after (not pinned): Stop owns it, which repairs V4",
        [*chat(), *leased(WORKER, "L1"), WORKER.does(card("K1", "L1")), SCREEN.delivers()],
        [
            *leased(ANN, "click"),
            STOPS,
            back(WORKER, "L1"),
            latch("K1"),
            ANN.may_not("approval-owner-live", yes("K1", "click")),
            back(ANN, "click"),
            *sweep("K1"),
        ],
        [is_in("K1", Approval.told, **CANCELLED), showed("K1 card", "K1 cancelled")],
        order="yes",
        without=[Without(Approval, (approval.owner_live,))],
    ),
    Race(
        "turnstone-9",
        "Click leased before Stop, claims after (not pinned): a denial stands",
        [*chat(), *leased(WORKER, "L1"), WORKER.does(card("K1", "L1")), SCREEN.delivers()],
        [
            *leased(ANN, "click"),
            STOPS,
            back(WORKER, "L1"),
            latch("K1"),
            ANN.does(no("K1", "click")),
            back(ANN, "click"),
            *sweep(),
        ],
        [is_in("K1", Approval.told, outcome=Outcome.DENIED), showed("K1 card", "K1 denied")],
        order="no",
    ),
    Race(
        "turnstone-10",
        "Sweep spares the successor",
        [*chat(), *prompt("K1"), STOPS, claim("g2", 2), *prompt("K2", W2)],
        [
            STOP.does(fire("admission", Admission.sweep_begin)),
            STOP.may_not("sweep-spares-successor", fire("K2", Approval.cancel)),
            STOP.claims("K1"),
            SCREEN.delivers(),
            STOP.does(fire("admission", Admission.sweep_end)),
        ],
        [
            is_in("K1", Approval.told, **CANCELLED),
            is_in("K2", Approval.published, outcome=None),
            showed("K1 card", "K2 card", "K1 cancelled"),
        ],
        without=[SPARING],
    ),
    Race(
        "turnstone-11",
        "Successor admission behind an active sweep",
        [*chat(), STOPS, STOP.does(fire("admission", Admission.sweep_begin)), claim("g2", 2)],
        [
            ask(NEXT, "L2", W2),
            NEXT.may_not("sweep-delays-successor", fire("L2", Lease.grant)),
            NEXT.may_not("sweep-delays-successor", fire("L2", Lease.refuse)),
            STOP.does(fire("admission", Admission.sweep_end)),
            NEXT.does(fire("L2", Lease.grant)),
        ],
        [is_in("L2", Lease.granted), in_order("L2.start", "admission.sweep_end", "L2.grant")],
        without=[Without(Lease, (lease.no_sweep,)), Without(Lease, (lease.owner_aborted,))],
    ),
    Race(
        "turnstone-12",
        "Idle Stop",
        chat(),
        [STOPS, *sweep()],
        [
            went("admission", "start sweep_begin sweep_end"),
            showed(),
            counts("admission", active=0, untold=0),
            is_in("admission", Admission.open),
        ],
    ),
    Race(
        "turnstone-13",
        "Stop with several agent cycles",
        [*chat(), *waits("G1", "K1"), *waits("G2", "K2"), *waits("G3", "K3")],
        [STOPS, *sweep("K1", "K2", "K3"), wakes("G1"), wakes("G2"), wakes("G3")],
        [
            *(went(cycle, "start show publish cancel tell") for cycle in ("K1", "K2", "K3")),
            *(is_in(id, Gate.cancelled) for id in ("G1", "G2", "G3")),
            showed("K1 card", "K2 card", "K3 card", "K1 cancelled", "K2 cancelled", "K3 cancelled"),
        ],
        without=[Without(Gate, (gate.cycle_cancelled, gate.cycle_approved))],
    ),
    Race(
        "turnstone-14",
        "Attributed sweep",
        [*chat(), *prompt("K1"), *prompt("K2")],
        [STOPS, *sweep("K1", "K2", who=ANN)],
        [done_by("ann", "K1.cancel", "K2.cancel"), is_in("K1", Approval.told), is_in("K2", Approval.told)],
    ),
]
