"""lifecycles/turnstone-races.md 15 to 28: who decides a card, and what its gate makes of it."""

from ...machines import approval, lease, session
from ...machines.admission import Admission
from ...machines.approval import Approval, Outcome
from ...machines.gate import Gate
from ...machines.generation import Generation
from ...machines.lease import Lease
from ...machines.session import Session
from ...machines.toolcall import Toolcall, Wrote
from ..generate.world import fire
from .scenario import Race, Without
from .world import (
    ANN,
    CLOCK,
    HOST,
    SCREEN,
    STOP,
    STOPS,
    W2,
    WORKER,
    back,
    batch,
    chat,
    claim,
    counts,
    each,
    in_order,
    is_in,
    no,
    prompt,
    refused_lease,
    rows,
    showed,
    sweep,
    took,
    waits,
    wakes,
    went,
    yes,
)
from .world import lease as leased

__all__ = ["RACES"]

CANCELLED, APPROVED = {"outcome": Outcome.CANCELLED}, {"outcome": Outcome.APPROVED}
TIMED_OUT, DENIED = {"outcome": Outcome.TIMED_OUT}, {"outcome": Outcome.DENIED}
DEADLINE = (fire("G1", Gate.deadline), fire("K1", Approval.time_out))
"""The gate's deadline, in one commit with what it asks of the card."""
UNBOUNDED = [*chat(), *waits("G1", "K1", bounded=False)]

RACES = [
    Race(
        "turnstone-15",
        "Broken transport on first of several resolutions",
        [*chat(), *waits("G1", "K1"), *waits("G2", "K2")],
        [
            STOPS,
            STOP.does(fire("admission", Admission.sweep_begin)),
            STOP.claims("K1", "K2"),
            SCREEN.delivers("K1"),
            STOP.does(fire("admission", Admission.sweep_end)),
            wakes("G1"),
            wakes("G2"),
        ],
        [
            went("K1", "start show publish cancel tell_failed"),
            went("K2", "start show publish cancel tell"),
            showed("K1 card", "K2 card", "K1 cancelled", "K2 cancelled"),
            is_in("G1", Gate.cancelled),
            is_in("G2", Gate.cancelled),
            counts("admission", untold=0),
        ],
    ),
    Race(
        "turnstone-16",
        "Broken transport on a click",
        [*chat(), *waits("G1", "K1"), *leased(ANN, "click")],
        [ANN.does(yes("K1", "click")), SCREEN.delivers("K1"), back(ANN, "click"), wakes("G1")],
        [
            went("K1", "start show publish approve tell_failed"),
            is_in("K1", Approval.told, **APPROVED),
            is_in("G1", Gate.approved),
        ],
    ),
    Race(
        "turnstone-17",
        "Double resolution",
        [*chat(), *prompt("K1"), *leased(ANN, "one"), *leased(ANN, "two")],
        [
            ANN.does(no("K1", "one")),
            ANN.may_not("approval-resolved-once", yes("K1", "two")),
            SCREEN.delivers(),
            ANN.may_not("approval-resolved-once", yes("K1", "two")),
        ],
        [is_in("K1", Approval.told, **DENIED), showed("K1 card", "K1 denied")],
    ),
    Race(
        "turnstone-18",
        "Timeout vs click",
        [*chat(), *waits("G1", "K1"), *leased(ANN, "click")],
        [
            CLOCK.does(*DEADLINE),
            ANN.may_not("approval-resolved-once", yes("K1", "click")),
            SCREEN.delivers(),
            wakes("G1"),
        ],
        [is_in("K1", Approval.told, **TIMED_OUT), is_in("G1", Gate.denied), showed("K1 card", "K1 timed_out")],
        order="deadline-first",
    ),
    Race(
        "turnstone-18",
        "Timeout vs click",
        [*chat(), *waits("G1", "K1"), *leased(ANN, "click")],
        [
            ANN.does(yes("K1", "click")),
            CLOCK.may_not("approval-resolved-once", *DEADLINE),
            SCREEN.delivers(),
            wakes("G1"),
        ],
        [is_in("K1", Approval.told, **APPROVED), is_in("G1", Gate.approved), showed("K1 card", "K1 approved")],
        order="click-first",
    ),
    Race(
        "turnstone-19",
        "Timeout vs Stop (not pinned): one terminal outcome, which repairs V1",
        [*chat(), *waits("G1", "K1")],
        [
            STOPS,
            *refused_lease(CLOCK, "deadline"),
            WORKER.may_not("approval-outcome-visible", fire("K1", Approval.unregister)),
            CLOCK.does(*DEADLINE),
            WORKER.may_not("approval-outcome-visible", fire("K1", Approval.unregister)),
            *sweep(),
            wakes("G1"),
            WORKER.repeats(fire("K1", Approval.unregister)),
        ],
        [is_in("K1", Approval.told, **TIMED_OUT), is_in("G1", Gate.denied), showed("K1 card", "K1 timed_out")],
        order="deadline-first",
    ),
    Race(
        "turnstone-19",
        "Timeout vs Stop (not pinned): the sweep is first",
        [*chat(), *waits("G1", "K1")],
        [STOPS, *sweep("K1"), CLOCK.may_not("approval-resolved-once", *DEADLINE), wakes("G1")],
        [is_in("K1", Approval.told, **CANCELLED), is_in("G1", Gate.cancelled), showed("K1 card", "K1 cancelled")],
        order="sweep-first",
    ),
    Race(
        "turnstone-20",
        "Timeout deadline is the captured one: bounded when G1 was stamped, unbounded for G2 after a reload",
        [*chat(), *waits("G1", "K1", bounded=True), *waits("G2", "K2", bounded=False)],
        [
            CLOCK.may_not("approval-deadline-captured", fire("G2", Gate.deadline), fire("K2", Approval.time_out)),
            CLOCK.may_not("approval-deadline-captured", fire("K2", Approval.time_out)),
            CLOCK.does(*DEADLINE),
            SCREEN.delivers(),
            wakes("G1"),
        ],
        [
            is_in("G1", Gate.denied),
            is_in("G2", Gate.waiting),
            is_in("K2", Approval.published, outcome=None),
            showed("K1 card", "K2 card", "K1 timed_out"),
        ],
        without=[Without(Approval, (approval.has_deadline,))],
        later="adapter: the seconds, which no machine has, in the timer and in the denial's text",
    ),
    Race(
        "turnstone-21",
        "Unbounded wait",
        [*UNBOUNDED, *leased(ANN, "click")],
        [
            CLOCK.may_not("approval-deadline-captured", *DEADLINE),
            CLOCK.may_not("approval-deadline-captured", fire("K1", Approval.time_out)),
            ANN.does(yes("K1", "click")),
            SCREEN.delivers(),
            wakes("G1"),
        ],
        [is_in("K1", Approval.told, **APPROVED), is_in("G1", Gate.approved)],
        without=[Without(Approval, (approval.has_deadline,))],
    ),
    Race(
        "turnstone-22",
        "Hard delete wakes an unbounded gate",
        UNBOUNDED,
        [HOST.does(fire("session", Session.edge, was_set=False)), *sweep("K1"), wakes("G1")],
        [is_in("K1", Approval.told, **CANCELLED), is_in("G1", Gate.cancelled), showed("K1 card", "K1 cancelled")],
        without=[Without(Session, (session.stopped,))],
    ),
    Race(
        "turnstone-23",
        "timeout with approved=true",
        [*chat(), *prompt("K1"), *leased(ANN, "click")],
        [
            CLOCK.cannot_say(fire("K1", Approval.time_out, approved=True)),
            ANN.does(no("K1", "click")),
            SCREEN.delivers(),
        ],
        [is_in("K1", Approval.told, **DENIED), went("K1", "start show publish deny tell")],
        order="claim",
    ),
    Race(
        "turnstone-23",
        "timeout with approved=true: a surface says yes to what timed out",
        [*chat(), *prompt("K1"), CLOCK.does(fire("K1", Approval.time_out))],
        [SCREEN.may_not("approval-outcome-visible", fire("K1", Approval.tell, approved=True)), SCREEN.delivers()],
        [took("K1", "tell", approved=False), showed("K1 card", "K1 timed_out")],
        order="tell",
        without=[Without(Approval, (approval.as_decided,))],
    ),
    Race(
        "turnstone-24",
        "Stale idle Stop vs budget gate: the old Stop is ignored",
        [
            *chat(),
            WORKER.does(fire("g1", Generation.exit_ok)),
            STOPS,
            claim("g2", 2),
            *waits("G2", "K2", W2, budget_item=True),
        ],
        [*sweep(), *leased(ANN, "click", W2), ANN.does(yes("K2", "click")), SCREEN.delivers(), wakes("G2")],
        [is_in("K2", Approval.told, **APPROVED), is_in("G2", Gate.approved), showed("K2 card", "K2 approved")],
        order="old",
        without=[Without(Approval, (approval.sweepable,))],
    ),
    Race(
        "turnstone-24",
        "Stale idle Stop vs budget gate: a new Stop is seen",
        [
            *chat(),
            WORKER.does(fire("g1", Generation.exit_ok)),
            STOPS,
            claim("g2", 2),
            *waits("G2", "K2", W2, budget_item=True),
        ],
        [
            STOPS,
            *refused_lease(ANN, "click", W2),
            ANN.may_not("approval-owner-live", yes("K2", "click")),
            *sweep("K2"),
            wakes("G2"),
        ],
        [is_in("K2", Approval.told, **CANCELLED), is_in("G2", Gate.cancelled), showed("K2 card", "K2 cancelled")],
        order="new",
        without=[Without(Approval, (approval.leased_live, approval.owner_live))],
    ),
    Race(
        "turnstone-25",
        "Stop cleared by exit",
        chat(),
        [
            STOPS,
            WORKER.does(fire("g1", Generation.exit_cancelled)),
            *refused_lease(WORKER, "late"),
            WORKER.may_not("late-handle-refused", fire("g1", Generation.stream_registered)),
        ],
        [is_in("late", Lease.refused), is_in("g1", Generation.stopped), counts("admission", active=0), showed()],
        without=[Without(Lease, (lease.owner_live,))],
        later="verdict: the late fallback is stored as superseded and shown to nobody",
    ),
    Race(
        "turnstone-26",
        "Close during gate",
        [*chat(), *batch("a"), *each("a", Toolcall.gate_opened), *waits("G1", "K1")],
        [
            HOST.may_not("calls-closed-by-terminal", fire("session", Session.close)),
            HOST.does(fire("session", Session.stop), fire("a", Toolcall.stop), fire("session", Session.close)),
            *sweep("K1"),
            wakes("G1"),
            WORKER.does(fire("g1", Generation.session_shut)),
        ],
        [
            is_in("session", Session.shut),
            is_in("K1", Approval.told, **CANCELLED),
            is_in("G1", Gate.cancelled),
            is_in("a", Toolcall.answered, wrote=Wrote.NEVER_STARTED),
            is_in("g1", Generation.closed),
            counts("session", owed=0),
            counts("admission", active=0, untold=0),
            showed("K1 card", "K1 cancelled"),
        ],
    ),
    Race(
        "turnstone-27",
        "Soft close before debt wait",
        [*chat(), *batch("a"), *each("a", Toolcall.gate_opened), *waits("G1", "K1")],
        [
            HOST.does(fire("session", Session.soft_close)),
            HOST.may_not("close-waits-for-debt", fire("session", Session.debt_settled)),
            *sweep("K1", who=HOST),
            wakes("G1"),
            WORKER.does(fire("a", Toolcall.gate_cancelled)),
            HOST.may_not("close-waits-for-debt", fire("session", Session.debt_settled)),
            WORKER.does(*rows("a")),
            HOST.does(fire("session", Session.debt_settled)),
            HOST.does(fire("session", Session.tickets_settled)),
        ],
        [
            is_in("session", Session.shut),
            is_in("a", Toolcall.answered, wrote=Wrote.STAGED),
            is_in("K1", Approval.told, **CANCELLED),
            in_order("session.soft_close", "K1.cancel", "a.stop", "session.debt_settled", "session.tickets_settled"),
        ],
        without=[Without(Session, (session.all_settled,))],
    ),
    Race(
        "turnstone-28",
        "Stop at a task agent's gate",
        [*chat(), *waits("G1", "K1"), *leased(ANN, "click")],
        [
            STOPS,
            ANN.may_not("approval-owner-live", yes("K1", "click")),
            back(ANN, "click"),
            *sweep("K1"),
            wakes("G1"),
        ],
        [is_in("G1", Gate.cancelled), is_in("K1", Approval.told, **CANCELLED), showed("K1 card", "K1 cancelled")],
        without=[Without(Approval, (approval.owner_live,))],
        later="worker slot: the child's own row, confirmed without effect; an agent's call is no toolcall",
    ),
]
