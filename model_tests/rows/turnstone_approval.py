"""lifecycles/turnstone-tables.md, table 9: the approval cycle, with show, tell and tell_failed of section 0.

`leased_live` is read off the lease that comes with a click: granted, under the witness of the cycle. by_peer is read
off who acts.
"""

from typing import Any

import attrs

from ...machines.admission import Admission, AdmissionData
from ...machines.approval import Approval, ApprovalData, Outcome
from ...machines.kernel import Seen, State
from ...machines.lease import Lease, LeaseData
from ...machines.session import Session, SessionData
from .row import Row

__all__ = ["ROWS"]

A = Approval
UNSEEN = ApprovalData("d1", "ann", 3, 5, True)
SEEN = ApprovalData("d1", "ann", 3, 5, True, seen=True)
UNBOUNDED = ApprovalData("d1", "ann", 3, 5, False, seen=True)
UNOWNED = ApprovalData("d1", "ann", None, None, True, seen=True)
DECIDED = (A.resolved, A.told)
CARD = {"digest": "d1", "principal": "ann", "bounded": True}
SWEEP = "section 0: only a sweep that has drained the leases claims; the table says so in 7.4 and 7.12"


def done(outcome: Outcome, seen: bool = True) -> ApprovalData:
    return ApprovalData("d1", "ann", 3, 5, True, outcome, seen)


def session(state: State = Session.open, epoch: int = 3, last: int = 5) -> Seen[Any]:
    return Seen(state, SessionData("ann", epoch, last), {"owed": 1})


def lease(state: State, epoch: int | None = 3, generation: int | None = 5) -> Seen[Any]:
    return Seen(state, LeaseData(epoch, generation))


def admission(sweeps: int = 0, active: int = 0) -> Seen[Any]:
    state = Admission.sweeping if sweeps else Admission.open
    return Seen(state, AdmissionData(sweeps), {"active": active, "untold": 0})


def click(digest: str = "d1", always: bool = False, feedback: bool = False) -> dict[str, Any]:
    return {"digest": digest, "always": always, "feedback": feedback}


STOPPED, REPLACED = session(epoch=4), session(last=6)
ABORTED = (STOPPED, REPLACED, session(Session.closing, 4), session(Session.shut, 4), session(Session.shut))
HELD = lease(Lease.granted)
OUT = lease(Lease.released)
SWEPT = admission(1)
LIVE = {"session": session(), "admission": admission(0, 1), "bundle": OUT, "lease": HELD}
LATE = {**LIVE, "session": STOPPED, "admission": admission(1, 1)}
NOT_LEASED = (
    lease(Lease.asked),
    lease(Lease.released),
    lease(Lease.refused),
    lease(Lease.granted, 4, 5),
    lease(Lease.granted, 3, 6),
    lease(Lease.granted, None, None),
)
ALL_OUTCOMES = tuple(Outcome)
YES, NO = {"approved": True}, {"approved": False}

ROWS = [
    # birth: lease-after-stop
    Row(
        "section-0-births",
        A,
        (A.absent,),
        (A.start,),
        A.registered,
        payload=CARD,
        links={**LIVE, "bundle": HELD},
        then=UNSEEN,
    ),
    Row(
        "section-0-births",
        A,
        (A.absent,),
        (A.start,),
        A.registered,
        payload=CARD,
        links={**LATE, "bundle": HELD},
        then=UNSEEN,
        note="C4: the lease came before the Stop; the witness is its owner's, so the sweep will take the cycle",
    ),
    Row(
        "section-0-births",
        A,
        (A.absent,),
        (A.start,),
        A.registered,
        payload=CARD,
        links={**LIVE, "session": None, "bundle": lease(Lease.granted, None, None)},
        then=ApprovalData("d1", "ann", None, None, True),
        note="a cycle without a witness",
    ),
    Row(
        "section-0-births",
        A,
        (A.absent,),
        (A.start,),
        A.registered,
        payload={**CARD, "bounded": False},
        links={**LIVE, "bundle": HELD},
        then=attrs.evolve(UNBOUNDED, seen=False),
        note="8.27: captured with the card",
    ),
    *(
        Row(
            "section-0-births",
            A,
            (A.absent,),
            (A.start,),
            None,
            "lease-after-stop",
            payload=CARD,
            links={**LIVE, "bundle": lease(state)},
        )
        for state in (Lease.asked, Lease.released, Lease.refused)
    ),
    Row(
        "section-0-births",
        A,
        (A.absent,),
        (A.start,),
        None,
        "link-present",
        payload=CARD,
        links={**LIVE, "bundle": None},
    ),
    Row(
        "section-0-births",
        A,
        (A.absent,),
        (A.show, A.publish, A.publish_failed, A.time_out, A.cancel, A.tell_failed, A.unregister),
        None,
        "approval-has-request",
        links=LIVE,
    ),
    Row("section-0-births", A, (A.absent,), (A.approve, A.deny), None, "approval-has-request", payload=click()),
    Row("section-0-births", A, (A.absent,), (A.tell,), None, "approval-has-request", payload=YES),
    Row(
        "section-0-births",
        A,
        (A.registered, A.published),
        (A.start,),
        None,
        "approval-published-once",
        SEEN,
        CARD,
        {**LIVE, "bundle": HELD},
    ),
    # registered
    Row("section-0-seen", A, (A.registered,), (A.show,), A.registered, "approval-has-request", UNSEEN, then=SEEN),
    Row("section-0-seen", A, (A.registered,), (A.show,), A.registered, "approval-has-request", SEEN, then=SEEN),
    Row("section-0-seen", A, (A.published,), (A.show,), A.published, "approval-has-request", SEEN, then=SEEN),
    Row(
        "section-0-seen",
        A,
        (A.registered,),
        (A.publish,),
        None,
        "approval-has-request",
        UNSEEN,
        links=LIVE,
        note="the latch comes after show",
    ),
    Row("turnstone-9.1", A, (A.registered,), (A.publish,), A.published, "", SEEN, links=LIVE, then=SEEN),
    Row(
        "turnstone-9.1",
        A,
        (A.registered,),
        (A.publish,),
        A.published,
        "",
        SEEN,
        links=LATE,
        then=SEEN,
        note="Stop may have come meanwhile",
    ),
    *(
        Row(
            "turnstone-9.2",
            A,
            (A.registered,),
            (A.publish,),
            None,
            "lease-after-stop",
            SEEN,
            links={**LIVE, "bundle": lease(state)},
            note="that it was granted is asked at birth; the latch comes after its release",
        )
        for state in (Lease.asked, Lease.granted, Lease.refused)
    ),
    Row(
        "turnstone-9.3",
        A,
        (A.registered,),
        (A.publish_failed,),
        A.resolved,
        "approval-outcome-visible",
        SEEN,
        links=LIVE,
        then=done(Outcome.CANCELLED),
    ),
    Row(
        "turnstone-9.4",
        A,
        (A.registered,),
        (A.publish_failed,),
        A.withdrawn,
        "approval-outcome-visible",
        UNSEEN,
        links=LIVE,
        then=UNSEEN,
    ),
    *(
        Row(
            "turnstone-9.5",
            A,
            (A.registered,),
            (A.cancel,),
            A.resolved,
            "approval-outcome-visible",
            SEEN,
            links={**LIVE, "session": owner, "admission": SWEPT},
            then=done(Outcome.CANCELLED),
        )
        for owner in ABORTED
    ),
    *(
        Row(
            "turnstone-9.6",
            A,
            (A.registered,),
            (A.cancel,),
            A.withdrawn,
            "approval-owner-aborted",
            UNSEEN,
            links={**LIVE, "session": owner, "admission": SWEPT},
            then=UNSEEN,
        )
        for owner in ABORTED
    ),
    *(
        Row(
            "turnstone-9.7",
            A,
            (A.registered,),
            (A.cancel,),
            None,
            "sweep-spares-successor",
            data,
            links={**LIVE, "admission": SWEPT},
        )
        for data in (SEEN, UNSEEN)
    ),
    Row(
        "turnstone-9.7",
        A,
        (A.registered,),
        (A.cancel,),
        None,
        "sweep-spares-successor",
        UNOWNED,
        links={**LIVE, "session": None, "admission": SWEPT},
        note="to the letter: only published is swept without a witness",
    ),
    Row("turnstone-9.8", A, (A.registered,), (A.approve, A.deny), None, "approval-has-request", SEEN, click(), LIVE),
    Row("turnstone-9.8", A, (A.registered,), (A.time_out,), None, "approval-has-request", SEEN, links=LIVE),
    # published: approve
    *(
        Row(
            "turnstone-9.9",
            A,
            (A.published,),
            (A.approve,),
            None,
            "approval-owner-live",
            SEEN,
            click(),
            {**LIVE, "lease": other},
            by="ann",
            note="not leased_live",
        )
        for other in NOT_LEASED
    ),
    *(
        Row(
            "turnstone-9.9",
            A,
            (A.published,),
            (A.approve,),
            None,
            "approval-owner-live",
            SEEN,
            click(),
            {**LATE, "session": owner},
            by="ann",
            note="V4: leased before the Stop, claimed after it",
        )
        for owner in ABORTED
    ),
    Row(
        "turnstone-9.9",
        A,
        (A.published,),
        (A.approve,),
        None,
        "approval-owner-live",
        SEEN,
        click(),
        {**LIVE, "session": None},
        by="ann",
        note="a witness that cannot be read",
    ),
    Row(
        "turnstone-9.9",
        A,
        (A.published,),
        (A.approve,),
        None,
        "approval-owner-live",
        SEEN,
        click("d2", always=True, feedback=True),
        LATE,
        by="bob",
        note="the first row that matches names the rule",
    ),
    *(
        Row(
            "turnstone-9.10",
            A,
            (A.published,),
            (A.approve,),
            None,
            "approval-peer-limits",
            SEEN,
            click(digest, always, feedback),
            LIVE,
            by="bob",
        )
        for always, feedback in ((True, False), (False, True), (True, True))
        for digest in ("d1", "d2")
    ),
    Row(
        "turnstone-9.10",
        A,
        (A.published,),
        (A.approve, A.deny),
        None,
        "approval-peer-limits",
        SEEN,
        click(),
        LIVE,
        by=None,
        note="not in the table: a decision by nobody",
    ),
    *(
        Row(
            "turnstone-9.11",
            A,
            (A.published,),
            (A.approve,),
            None,
            "approval-binds-content",
            SEEN,
            click("d2"),
            LIVE,
            by=by,
        )
        for by in ("ann", "bob")
    ),
    *(
        Row(
            "turnstone-9.12",
            A,
            (A.published,),
            (A.approve,),
            A.resolved,
            "",
            SEEN,
            payload,
            LIVE,
            by=by,
            then=done(Outcome.APPROVED),
        )
        for by, payload in (
            ("ann", click()),
            ("ann", click(always=True)),
            ("ann", click(feedback=True)),
            ("ann", click(always=True, feedback=True)),
            ("bob", click()),
        )
    ),
    Row(
        "turnstone-9.12",
        A,
        (A.published,),
        (A.approve,),
        A.resolved,
        "",
        UNOWNED,
        click(),
        {**LIVE, "session": None, "lease": lease(Lease.granted, None, None)},
        by="ann",
        note="a cycle without a witness: nothing can abort it",
    ),
    # published: deny
    *(
        Row(
            "turnstone-9.13",
            A,
            (A.published,),
            (A.deny,),
            None,
            "approval-owner-live",
            SEEN,
            click(),
            {**LIVE, "lease": other},
            by="ann",
        )
        for other in NOT_LEASED
    ),
    *(
        Row(
            "turnstone-9.14",
            A,
            (A.published,),
            (A.deny,),
            None,
            "approval-peer-limits",
            SEEN,
            click("d1", always, feedback),
            LIVE,
            by="bob",
        )
        for always, feedback in ((True, False), (False, True), (True, True))
    ),
    *(
        Row(
            "turnstone-9.15",
            A,
            (A.published,),
            (A.deny,),
            A.resolved,
            "",
            SEEN,
            payload,
            links,
            by=by,
            then=done(Outcome.DENIED),
        )
        for links in (LIVE, LATE, *({**LATE, "session": owner} for owner in ABORTED))
        for by, payload in (
            ("ann", click()),
            ("ann", click(always=True)),
            ("ann", click("d2", feedback=True)),
            ("bob", click()),
        )
    ),
    # published: deadline, sweep
    *(
        Row(
            "turnstone-9.16",
            A,
            (A.published,),
            (A.time_out,),
            A.resolved,
            "approval-outcome-visible",
            SEEN,
            links={**LIVE, "session": owner, "lease": None},
            then=done(Outcome.TIMED_OUT),
            note="V1: needs no lease",
        )
        for owner in (session(), *ABORTED)
    ),
    *(
        Row(
            "turnstone-9.16",
            A,
            (A.published,),
            (A.time_out,),
            None,
            "approval-deadline-captured",
            UNBOUNDED,
            links={**LIVE, "session": owner, "lease": None},
            note="8.27: an unbounded wait has no deadline, whoever fires it",
        )
        for owner in (session(), *ABORTED)
    ),
    *(
        Row(
            "turnstone-9.17",
            A,
            (A.published,),
            (A.cancel,),
            A.resolved,
            "cancel-settles-approvals-as-cancelled",
            SEEN,
            links={**LIVE, "session": owner, "admission": SWEPT},
            by=by,
            then=done(Outcome.CANCELLED),
        )
        for owner in ABORTED
        for by in ("ann", None)
    ),
    Row(
        "turnstone-9.17",
        A,
        (A.published,),
        (A.cancel,),
        A.resolved,
        "cancel-settles-approvals-as-cancelled",
        UNOWNED,
        links={**LIVE, "session": None, "admission": SWEPT},
        then=ApprovalData("d1", "ann", None, None, True, Outcome.CANCELLED, True),
        note="no witness",
    ),
    Row(
        "turnstone-9.18",
        A,
        (A.published,),
        (A.cancel,),
        None,
        "sweep-spares-successor",
        SEEN,
        links={**LIVE, "admission": SWEPT},
    ),
    Row("turnstone-9.18", A, (A.published,), (A.cancel,), None, "sweep-spares-successor", SEEN, links=LIVE),
    Row(
        "section-0-sweep",
        A,
        (A.registered, A.published),
        (A.cancel,),
        None,
        "sweep-begun",
        SEEN,
        links={**LATE, "admission": admission(0)},
        note=SWEEP,
    ),
    Row(
        "section-0-sweep",
        A,
        (A.registered, A.published),
        (A.cancel,),
        None,
        "sweep-drains-leases",
        SEEN,
        links=LATE,
        note=SWEEP,
    ),
    Row(
        "section-0-sweep",
        A,
        (A.registered,),
        (A.cancel,),
        None,
        "sweep-drains-leases",
        UNSEEN,
        links=LATE,
        note=SWEEP,
    ),
    Row(
        "section-0-sweep",
        A,
        (A.registered,),
        (A.cancel,),
        None,
        "sweep-begun",
        UNSEEN,
        links={**LATE, "admission": admission(0)},
        note=SWEEP,
    ),
    # leaving the registry
    Row(
        "turnstone-9.19",
        A,
        (A.registered, A.published),
        (A.unregister,),
        None,
        "approval-outcome-visible",
        SEEN,
        links=LIVE,
        note="V1, V5",
    ),
    Row("turnstone-9.19", A, (A.registered,), (A.unregister,), None, "approval-outcome-visible", UNSEEN, links=LIVE),
    *(
        Row(
            "turnstone-9.20",
            A,
            (A.told,),
            (A.unregister,),
            "settled",
            "approval-settled-by-terminal",
            done(outcome),
            note="section 0: from told or withdrawn, no longer from resolved",
        )
        for outcome in ALL_OUTCOMES
    ),
    Row("turnstone-9.20", A, (A.withdrawn,), (A.unregister,), "settled", "approval-settled-by-terminal", UNSEEN),
    Row(
        "section-0-seen",
        A,
        (A.resolved,),
        (A.unregister,),
        None,
        "approval-outcome-visible",
        done(Outcome.APPROVED),
        note="instead of 9.20 in resolved",
    ),
    Row("turnstone-9.21", A, (A.published,), (A.publish, A.publish_failed), None, "approval-published-once", SEEN),
    # once decided
    *(
        row
        for outcome in ALL_OUTCOMES
        for row in (
            Row(
                "turnstone-9.22",
                A,
                DECIDED,
                (A.approve, A.deny),
                None,
                "approval-resolved-once",
                done(outcome),
                click(),
                LIVE,
                by="ann",
            ),
            Row(
                "turnstone-9.22",
                A,
                DECIDED,
                (A.time_out, A.cancel),
                None,
                "approval-resolved-once",
                done(outcome),
                links={**LIVE, "session": STOPPED, "admission": SWEPT},
            ),
        )
    ),
    Row(
        "turnstone-9.22",
        A,
        (A.withdrawn,),
        (A.approve, A.deny),
        None,
        "approval-resolved-once",
        UNSEEN,
        click(),
        LIVE,
        by="ann",
    ),
    Row(
        "turnstone-9.22",
        A,
        (A.withdrawn,),
        (A.time_out, A.cancel),
        None,
        "approval-resolved-once",
        UNSEEN,
        links={**LIVE, "session": STOPPED, "admission": SWEPT},
    ),
    Row(
        "turnstone-9.23",
        A,
        DECIDED,
        (A.publish, A.publish_failed, A.show),
        None,
        "no-event-after-terminal",
        done(Outcome.DENIED),
        links=LIVE,
    ),
    Row(
        "turnstone-9.23",
        A,
        (A.withdrawn,),
        (A.publish, A.publish_failed, A.show),
        None,
        "no-event-after-terminal",
        UNSEEN,
        links=LIVE,
    ),
    Row(
        "turnstone-9.23",
        A,
        DECIDED,
        (A.start,),
        None,
        "no-event-after-terminal",
        done(Outcome.DENIED),
        CARD,
        {**LIVE, "bundle": HELD},
    ),
    Row(
        "turnstone-9.23",
        A,
        (A.withdrawn,),
        (A.start,),
        None,
        "no-event-after-terminal",
        UNSEEN,
        CARD,
        {**LIVE, "bundle": HELD},
    ),
    # told
    *(
        Row(
            "section-0-told",
            A,
            (A.resolved,),
            (A.tell,),
            A.told if approved is (outcome is Outcome.APPROVED) else None,
            "approval-outcome-visible",
            done(outcome),
            {"approved": approved},
        )
        for outcome in ALL_OUTCOMES
        for approved in (True, False)
    ),
    *(
        Row("section-0-told", A, (A.resolved,), (A.tell_failed,), A.told, "", done(outcome), then=done(outcome))
        for outcome in ALL_OUTCOMES
    ),
    Row("section-0-told", A, (A.registered, A.published), (A.tell,), None, "approval-outcome-visible", SEEN, NO),
    Row("section-0-told", A, (A.registered, A.published), (A.tell_failed,), None, "approval-outcome-visible", SEEN),
    Row("section-0-told", A, (A.told,), (A.tell,), None, "approval-outcome-visible", done(Outcome.APPROVED), YES),
    Row("section-0-told", A, (A.told,), (A.tell_failed,), None, "approval-outcome-visible", done(Outcome.APPROVED)),
    Row("section-0-told", A, (A.withdrawn,), (A.tell,), None, "approval-outcome-visible", UNSEEN, NO),
    Row("section-0-told", A, (A.withdrawn,), (A.tell_failed,), None, "approval-outcome-visible", UNSEEN),
]
