"""lifecycles/turnstone-tables.md, table 8: the approval gate. Its leases come with the events that they allow."""

from collections.abc import Mapping
from typing import Any

import attrs

from ...machines.approval import Approval, ApprovalData, Outcome
from ...machines.gate import Gate, GateData
from ...machines.kernel import Seen, State
from ...machines.lease import Lease, LeaseData
from ...machines.session import Session, SessionData
from .row import Row

__all__ = ["ROWS"]

G = Gate
Links = Mapping[str, Seen[Any] | None]

ENTERED: dict[str, Any] = {
    "epoch": 3,
    "generation": 5,
    "items": 3,
    "pending": 2,
    "ids_distinct": True,
    "budget_item": False,
    "blanket": False,
    "smart_on": True,
    "stamps_coherent": True,
    "threshold": 950,
}
BATCH = GateData(**ENTERED)
EARLY = (G.entered, G.purged, G.announced, G.policed, G.granted, G.smart_wait, G.qualified, G.prompting)
LIVE_STATES = (*EARLY, G.waiting)
ENDED = (G.approved, G.denied, G.cancelled)
WITH_PAYLOAD: dict[str, tuple[Any, dict[str, Any]]] = {
    "start": (G.start, ENTERED),
    "policy_result": (G.policy_result, {"left": 1, "any_denied": False}),
    "grants_result": (G.grants_result, {"all_granted": False}),
    "smart_start": (G.smart_start, {"all_judged": True}),
}
VERDICTS: dict[str, Any] = {
    "all_llm": True,
    "all_approve": True,
    "confidence": 950,
    "this_generation": True,
    "heuristic_safe": True,
}
PLAIN = (
    G.purge_lease,
    G.announce_lease,
    G.policy_failed,
    G.smart_deadline,
    G.auto_lease,
    G.prompt_lease,
    G.lease_refused,
    G.publish_failed,
    G.cycle_resolved,
    G.deadline,
)
NOT_BLOCKED = "not in the table, where a batch that policy denied whole reaches the grants and then ends approved"
LEASE = "which lease comes with the event: held, and of the gate's own witness"


def batch(**changed: Any) -> GateData:
    return attrs.evolve(BATCH, **changed)


def session(state: State = Session.open, epoch: int = 3, last: int = 5) -> Seen[Any]:
    return Seen(state, SessionData("ann", epoch, last), {"owed": 2})


def lease(state: State = Lease.granted, epoch: int | None = 3, generation: int | None = 5) -> Seen[Any]:
    return Seen(state, LeaseData(epoch, generation))


def cycle(state: State, outcome: Outcome | None, bounded: bool = True) -> Seen[Any]:
    return Seen(state, ApprovalData("d1", "ann", 3, 5, bounded, outcome, state != Approval.withdrawn))


LIVE: Links = {"session": session(), "lease": lease(), "cycle": None}
STOPPED: Links = {**LIVE, "session": session(epoch=4)}
ABORTED: tuple[Links, ...] = tuple(
    {**LIVE, "session": owner}
    for owner in (
        session(epoch=4),
        session(last=6),
        session(Session.closing, 4),
        session(Session.shut, 4),
        session(Session.shut),
    )
)
REFUSED: Links = {**STOPPED, "lease": lease(Lease.refused)}
NOT_LEASED: tuple[Links, ...] = tuple(
    {**LIVE, "lease": other}
    for other in (
        lease(Lease.asked),
        lease(Lease.released),
        lease(Lease.refused),
        lease(Lease.granted, 4, 5),
        lease(Lease.granted, 3, 6),
        lease(Lease.granted, None, None),
    )
)


def not_leased(state: State, event: Any, data: GateData) -> list[Row]:
    id = "section-0-lease"
    return [
        Row(id, G, (state,), (event,), None, "lease-after-stop", data, links=links, note=LEASE) for links in NOT_LEASED
    ]


def others(states: tuple[State, ...], id: str, rule: str, taken: dict[str, tuple[State, ...]]) -> list[Row]:
    """Every event in every state, but those that another row takes there."""
    rows = []
    for state in states:
        data = None if state == G.absent else BATCH
        for event in PLAIN:
            if state not in taken.get(event.name, ()):
                rows.append(Row(id, G, (state,), (event,), None, rule, data, links=LIVE))
        for name, (event, payload) in {**WITH_PAYLOAD, "smart_ready": (G.smart_ready, VERDICTS)}.items():
            if state not in taken.get(name, ()):
                rows.append(Row(id, G, (state,), (event,), None, rule, data, payload, LIVE))
    return rows


TAKEN: dict[str, tuple[State, ...]] = {
    "start": (G.absent,),
    "purge_lease": (G.entered,),
    "announce_lease": (G.purged,),
    "policy_result": (G.purged, G.announced),
    "policy_failed": (G.purged, G.announced),
    "grants_result": (G.policed,),
    "smart_start": (G.granted,),
    "smart_ready": (G.smart_wait,),
    "smart_deadline": (G.smart_wait,),
    "auto_lease": (G.policed, G.granted, G.qualified),
    "prompt_lease": (G.granted, G.prompting),
    "lease_refused": EARLY,
    "publish_failed": (G.waiting,),
    "cycle_resolved": (G.waiting,),
    "deadline": (G.waiting,),
}

ROWS = [
    # birth: batch entered, owner live
    Row("section-0-births", G, (G.absent,), (G.start,), G.entered, payload=ENTERED, links=LIVE, then=BATCH),
    *(
        Row(
            "section-0-births",
            G,
            (G.absent,),
            (G.start,),
            None,
            "no-new-work-after-cancel",
            payload=ENTERED,
            links=links,
        )
        for links in ABORTED
    ),
    Row(
        "section-0-births",
        G,
        (G.absent,),
        (G.start,),
        None,
        "gate-follows-claim",
        payload=ENTERED,
        links={**LIVE, "cycle": cycle(Approval.told, Outcome.APPROVED)},
        note="a cycle older than its gate",
    ),
    # purge, announce
    Row("turnstone-8.1", G, (G.entered,), (G.purge_lease,), G.purged, "", BATCH, links=LIVE, then=BATCH),
    *not_leased(G.entered, G.purge_lease, BATCH),
    Row("turnstone-8.2", G, (G.purged,), (G.announce_lease,), G.announced, "", BATCH, links=LIVE, then=BATCH),
    *not_leased(G.purged, G.announce_lease, BATCH),
    # policy
    Row(
        "turnstone-8.3",
        G,
        (G.purged,),
        (G.policy_result,),
        G.policed,
        "gate-order",
        batch(items=0, pending=0),
        {"left": 0, "any_denied": True},
        LIVE,
        then=batch(items=0, pending=0, any_denied=True),
    ),
    Row(
        "turnstone-8.3",
        G,
        (G.purged,),
        (G.policy_result,),
        None,
        "gate-fails-closed",
        batch(items=0, pending=0),
        {"left": 1, "any_denied": False},
        LIVE,
        note="not in the table: policy allows and denies, it never asks for more",
    ),
    Row(
        "turnstone-8.3",
        G,
        (G.purged,),
        (G.policy_failed,),
        G.policed,
        "gate-order",
        batch(items=0, pending=0),
        links=LIVE,
        then=batch(items=0, pending=0, smart_on=False, policy_known=False),
    ),
    Row(
        "turnstone-8.3",
        G,
        (G.purged,),
        (G.policy_result,),
        None,
        "gate-order",
        BATCH,
        {"left": 0, "any_denied": False},
        LIVE,
        note="with items: the first row that matches is 8.30",
    ),
    Row("turnstone-8.3", G, (G.purged,), (G.policy_failed,), None, "gate-order", BATCH, links=LIVE),
    *(
        Row(
            "turnstone-8.4",
            G,
            (G.announced,),
            (G.policy_result,),
            G.policed,
            "policy-denial-final",
            BATCH,
            {"left": left, "any_denied": any_denied},
            LIVE,
            then=batch(pending=left, any_denied=any_denied),
        )
        for left in (0, 1, 2)
        for any_denied in (True, False)
    ),
    Row(
        "turnstone-8.4",
        G,
        (G.announced,),
        (G.policy_result,),
        None,
        "gate-fails-closed",
        BATCH,
        {"left": 3, "any_denied": False},
        LIVE,
        note="not in the table: policy allows and denies, it never asks for more",
    ),
    *(
        Row(
            "turnstone-8.5",
            G,
            (G.announced,),
            (G.policy_failed,),
            G.policed,
            "gate-fails-closed",
            data,
            links=LIVE,
            then=attrs.evolve(data, pending=data.items, blanket=False, smart_on=False, policy_known=False),
        )
        for data in (BATCH, batch(blanket=True), batch(pending=0))
    ),
    # grants
    *(
        Row(
            "turnstone-8.6",
            G,
            (G.policed,),
            (G.grants_result,),
            G.granted,
            "always-binds-principal",
            data,
            {"all_granted": True},
            LIVE,
            then=attrs.evolve(data, pending=0),
        )
        for data in (BATCH, batch(any_denied=True))
    ),
    *(
        Row(
            "turnstone-8.7",
            G,
            (G.policed,),
            (G.grants_result,),
            G.granted,
            "always-binds-principal",
            data,
            {"all_granted": all_granted},
            LIVE,
            then=data,
        )
        for data, all_granted in (
            (BATCH, False),
            (batch(budget_item=True), True),
            (batch(budget_item=True), False),
            (batch(policy_known=False), True),
            (batch(any_denied=True), False),
            (batch(pending=0), False),
        )
    ),
    *(
        Row(
            "turnstone-8.7",
            G,
            (G.policed,),
            (G.grants_result,),
            None,
            "policy-denial-final",
            batch(pending=0, any_denied=True),
            {"all_granted": all_granted},
            LIVE,
            note=NOT_BLOCKED,
        )
        for all_granted in (True, False)
    ),
    # Smart
    *(
        Row("turnstone-8.8", G, (G.granted,), (G.smart_start,), G.smart_wait, "", data, {"all_judged": True}, LIVE)
        for data in (BATCH, batch(pending=1), batch(items=50, pending=50), batch(any_denied=True))
    ),
    *(
        Row(
            "turnstone-8.9",
            G,
            (G.granted,),
            (G.smart_start,),
            None,
            "smart-batch-atomic",
            data,
            {"all_judged": all_judged},
            LIVE,
        )
        for data, all_judged in (
            (batch(pending=0), True),
            (batch(smart_on=False), True),
            (batch(stamps_coherent=False), True),
            (batch(blanket=True), True),
            (batch(budget_item=True), True),
            (BATCH, False),
            (batch(ids_distinct=False), True),
            (batch(items=51, pending=51), True),
        )
    ),
    *(
        Row(
            "turnstone-8.10",
            G,
            (G.smart_wait,),
            (G.smart_ready,),
            G.cancelled,
            "no-new-work-after-cancel",
            BATCH,
            {**VERDICTS, **verdicts},
            links,
        )
        for links in ABORTED
        for verdicts in ({}, {"all_llm": False, "confidence": None})
    ),
    *(
        Row(
            "turnstone-8.11",
            G,
            (G.smart_wait,),
            (G.smart_ready,),
            G.qualified,
            "smart-batch-atomic",
            data,
            {**VERDICTS, "confidence": confidence},
            LIVE,
            then=data,
        )
        for data, confidence in ((BATCH, 950), (BATCH, 1000), (batch(threshold=0), 0))
    ),
    *(
        Row(
            "turnstone-8.12",
            G,
            (G.smart_wait,),
            (G.smart_ready,),
            G.prompting,
            "smart-batch-atomic",
            data,
            {**VERDICTS, **verdicts},
            LIVE,
        )
        for data, verdicts in (
            (BATCH, {"all_llm": False}),
            (BATCH, {"all_approve": False}),
            (BATCH, {"confidence": 949}),
            (BATCH, {"confidence": None}),
            (BATCH, {"this_generation": False}),
            (BATCH, {"heuristic_safe": False}),
            (batch(threshold=None), {}),
        )
    ),
    *(
        Row(
            "turnstone-8.13",
            G,
            (G.smart_wait,),
            (G.smart_deadline,),
            G.cancelled,
            "no-new-work-after-cancel",
            BATCH,
            links=links,
        )
        for links in ABORTED
    ),
    Row("turnstone-8.14", G, (G.smart_wait,), (G.smart_deadline,), G.prompting, "", BATCH, links=LIVE),
    # the automatic ends
    Row(
        "turnstone-8.15",
        G,
        (G.policed,),
        (G.auto_lease,),
        G.denied,
        "policy-denial-final",
        batch(pending=0, any_denied=True),
        links=LIVE,
    ),
    *not_leased(G.policed, G.auto_lease, batch(pending=0, any_denied=True)),
    *(
        Row("turnstone-8.16", G, (G.policed,), (G.auto_lease,), None, "gate-order", data, links=LIVE)
        for data in (BATCH, batch(any_denied=True), batch(pending=0), batch(blanket=True))
    ),
    *(
        Row(
            "turnstone-8.17",
            G,
            (G.granted,),
            (G.auto_lease,),
            G.approved,
            "auto-reason-exact",
            data,
            links=LIVE,
        )
        for data in (
            batch(pending=0),
            batch(blanket=True),
            batch(pending=0, budget_item=True),
            batch(pending=0, any_denied=True),
        )
    ),
    *not_leased(G.granted, G.auto_lease, batch(pending=0)),
    *(
        Row("turnstone-8.18", G, (G.granted,), (G.auto_lease,), None, "no-exec-before-approval", data, links=LIVE)
        for data in (BATCH, batch(blanket=True, budget_item=True), batch(budget_item=True))
    ),
    Row("turnstone-8.19", G, (G.qualified,), (G.auto_lease,), G.approved, "auto-reason-exact", BATCH, links=LIVE),
    *not_leased(G.qualified, G.auto_lease, BATCH),
    # the card
    Row(
        "turnstone-8.20",
        G,
        (G.granted, G.prompting),
        (G.prompt_lease,),
        G.waiting,
        "approval-has-request",
        BATCH,
        links=LIVE,
    ),
    Row(
        "turnstone-8.20",
        G,
        (G.granted, G.prompting),
        (G.prompt_lease,),
        G.waiting,
        "approval-has-request",
        batch(any_denied=True),
        links=STOPPED,
        note="leased before the Stop: the bundle is completed, and swept",
    ),
    *not_leased(G.granted, G.prompt_lease, BATCH),
    *not_leased(G.prompting, G.prompt_lease, BATCH),
    Row(
        "turnstone-8.21",
        G,
        (G.granted, G.prompting),
        (G.prompt_lease,),
        None,
        "gate-order",
        batch(pending=0),
        links=LIVE,
    ),
    Row("turnstone-8.22", G, EARLY, (G.lease_refused,), G.cancelled, "lease-after-stop", BATCH, links=REFUSED),
    *(
        Row(
            "turnstone-8.22",
            G,
            EARLY,
            (G.lease_refused,),
            None,
            "cancel-has-cause",
            BATCH,
            links={**STOPPED, "lease": other},
            note="not in the table: it says that a lease was refused",
        )
        for other in (
            *(lease(state) for state in (Lease.asked, Lease.granted, Lease.released)),
            *(lease(Lease.refused, *witness) for witness in ((4, 5), (3, 6), (None, None))),
        )
    ),
    # waiting
    Row(
        "turnstone-8.23",
        G,
        (G.waiting,),
        (G.publish_failed,),
        G.waiting,
        "approval-outcome-visible",
        BATCH,
        links=LIVE,
        then=BATCH,
    ),
    *(
        Row(
            f"turnstone-8.{number}",
            G,
            (G.waiting,),
            (G.cycle_resolved,),
            to,
            "",
            BATCH,
            links={**links, "cycle": cycle(state, outcome)},
        )
        for number, to, outcome in (
            (24, G.approved, Outcome.APPROVED),
            (25, G.cancelled, Outcome.CANCELLED),
            (26, G.denied, Outcome.DENIED),
            (26, G.denied, Outcome.TIMED_OUT),
        )
        for state in (Approval.resolved, Approval.told)
        for links in (LIVE, STOPPED)
    ),
    Row(
        "turnstone-8.25",
        G,
        (G.waiting,),
        (G.cycle_resolved,),
        G.cancelled,
        "",
        BATCH,
        links={**LIVE, "cycle": cycle(Approval.withdrawn, None)},
        note="nobody saw the card, and nothing was decided",
    ),
    *(
        Row(
            "turnstone-8.26",
            G,
            (G.waiting,),
            (G.cycle_resolved,),
            None,
            "gate-follows-claim",
            BATCH,
            links={**STOPPED, "cycle": undecided},
            note="otherwise means another decision, not none",
        )
        for undecided in (None, cycle(Approval.registered, None), cycle(Approval.published, None))
    ),
    *(
        Row(
            "turnstone-8.27",
            G,
            (G.waiting,),
            (G.deadline,),
            None,
            "approval-deadline-captured",
            BATCH,
            links={**LIVE, "cycle": unbounded},
        )
        for unbounded in (cycle(Approval.published, None, bounded=False), None)
    ),
    *(
        Row(
            "turnstone-8.28",
            G,
            (G.waiting,),
            (G.deadline,),
            G.waiting,
            "approval-outcome-visible",
            BATCH,
            links={**links, "cycle": cycle(Approval.published, None)},
            then=BATCH,
            note="V1: whoever fires it fires time_out on the cycle",
        )
        for links in (LIVE, *ABORTED)
    ),
    *others(ENDED, "turnstone-8.29", "no-event-after-terminal", {}),
    *others((G.absent, *LIVE_STATES), "turnstone-8.30", "gate-order", TAKEN),
]
