"""lifecycles/agent-doc-tables.md, table 6: the actor. `missing` is `absent`, and from a live state only `rebind`."""

from typing import Any

import attrs

from ...machines.actor import Actor, ActorData
from ...machines.kernel import Seen
from .row import Row

__all__ = ["ROWS"]

A = Actor
LIVE = (A.starting, A.ready, A.busy, A.waiting_input, A.restarting, A.stale)
NEXT_IS = "new generation == committed + 1: the claimant gives the committed one that it read, the kernel adds"

RECORD = ActorData(3, "s1", "p1", frozenset({"compose"}))
TAKEN_OVER = ActorData(4, "s2", "p2", lapses=1)
LAPSED = attrs.evolve(RECORD, lapses=1)
CAPABLE = ActorData(3, "s1", "p1", frozenset({"compose", "queue"}))
CLAIM = {"committed": 0, "session": "s1", "pane": "p1", "pane_free": True}
HELD = {**CLAIM, "pane_free": False}
REBIND = {"committed": 3, "session": "s2", "pane": "p2", "pane_free": True, "owner_dead": True, "handed_over": False}
HANDED = {**REBIND, "owner_dead": False, "handed_over": True}
ALIVE = {**REBIND, "owner_dead": False}
REPORT = {"generation": 3, "session": "s1", "pane": "p1"}
FOREIGN: tuple[dict[str, Any], ...] = (
    {"generation": 2, "session": "s1", "pane": "p1"},
    {"generation": 4, "session": "s1", "pane": "p1"},
    {"generation": 3, "session": "s9", "pane": "p1"},
    {"generation": 3, "session": "s1", "pane": "p9"},
)
READY_PROOF = {**REPORT, "capability": "queue", "ready_proof": True}
MERE_PROOF = {**REPORT, "capability": "queue", "ready_proof": False}
REPORTS = (
    A.starting_seen,
    A.ready_seen,
    A.busy_seen,
    A.waiting_seen,
    A.restart_requested,
    A.restart_done,
    A.stale_seen,
    A.closed_seen,
)
EVICTED = {"displaced": Seen(A.closed, ActorData(7, "s7", "p1"))}
HOLDING = {"displaced": Seen(A.busy, ActorData(7, "s7", "p1"))}

ROWS = [
    # start
    Row(
        "agent-doc-6.1",
        A,
        (A.absent,),
        (A.start,),
        A.starting,
        "",
        None,
        CLAIM,
        then=ActorData(1, "s1", "p1"),
        note=NEXT_IS,
    ),
    Row("agent-doc-6.1", A, (A.absent,), (A.start,), A.starting, "generation-cas", None, HELD, EVICTED),
    *(
        Row("agent-doc-6.2", A, (A.absent,), (A.start,), None, "generation-cas", None, claim, links)
        for claim, links in (({**CLAIM, "committed": 1}, {}), (HELD, {}), (HELD, HOLDING), (CLAIM, HOLDING))
    ),
    # rebind
    *(
        Row(
            "agent-doc-6.3",
            A,
            LIVE,
            (A.rebind,),
            A.starting,
            "generation-cas",
            RECORD,
            how,
            then=TAKEN_OVER,
            note=NEXT_IS,
        )
        for how in (REBIND, HANDED)
    ),
    Row("agent-doc-6.3", A, (A.closed,), (A.rebind,), A.starting, "generation-cas", RECORD, ALIVE, then=TAKEN_OVER),
    Row(
        "agent-doc-6.3",
        A,
        (*LIVE, A.closed),
        (A.rebind,),
        A.starting,
        "generation-cas",
        RECORD,
        {**REBIND, "pane_free": False},
        EVICTED,
        then=TAKEN_OVER,
        note="the displaced document loses the pane atomically: its record is closed in the same commit",
    ),
    Row(
        "agent-doc-6.3",
        A,
        (*LIVE, A.closed),
        (A.start,),
        None,
        "pane-binds-document",
        RECORD,
        {**CLAIM, "committed": 3},
        note="section 0: from a live state only rebind",
    ),
    *(
        Row("agent-doc-6.4", A, LIVE, (A.rebind,), None, "pane-binds-document", RECORD, how, links)
        for how, links in (
            (ALIVE, {}),
            ({**REBIND, "committed": 2}, {}),
            ({**REBIND, "committed": 4}, {}),
            ({**REBIND, "pane_free": False}, {}),
            (REBIND, HOLDING),
        )
    ),
    *(
        Row("agent-doc-6.4", A, (A.closed,), (A.rebind,), None, "pane-binds-document", RECORD, how, links)
        for how, links in (({**ALIVE, "committed": 2}, {}), ({**ALIVE, "pane_free": False}, {}), (ALIVE, HOLDING))
    ),
    Row("agent-doc-6.4", A, (*LIVE, A.closed), (A.start,), None, "pane-binds-document", RECORD, HELD),
    # reports
    *(
        Row(
            "agent-doc-6.5",
            A,
            (A.absent, *LIVE, A.closed),
            (A.report_foreign,),
            None,
            "dispatch-binds-generation",
            RECORD,
            report,
        )
        for report in FOREIGN
    ),
    *(
        Row(
            "agent-doc-6.5",
            A,
            states,
            events,
            None,
            "dispatch-binds-generation",
            RECORD,
            report,
            note="the same as a report that does not know that it is foreign",
        )
        for report in FOREIGN
        for states, events in (
            (LIVE, (A.starting_seen, A.ready_seen, A.restart_requested, A.stale_seen, A.closed_seen)),
            ((A.ready, A.busy), (A.busy_seen,)),
            ((A.starting, A.ready, A.busy, A.waiting_input), (A.waiting_seen,)),
            ((A.restarting, A.stale), (A.restart_done,)),
            ((A.closed,), (A.closed_seen,)),
        )
    ),
    *(
        Row(
            "agent-doc-6.5",
            A,
            LIVE,
            (A.capability_proof,),
            None,
            "dispatch-binds-generation",
            RECORD,
            {**proof, **report},
        )
        for report in FOREIGN
        for proof in (READY_PROOF, MERE_PROOF)
    ),
    Row("agent-doc-6.6", A, LIVE, (A.starting_seen,), A.starting, "actor-order", RECORD, REPORT, then=LAPSED),
    Row("agent-doc-6.7", A, LIVE, (A.ready_seen,), A.ready, "actor-order", RECORD, REPORT, then=RECORD),
    Row("agent-doc-6.8", A, LIVE, (A.capability_proof,), A.ready, "actor-order", RECORD, READY_PROOF, then=CAPABLE),
    *(
        Row(
            "agent-doc-6.8",
            A,
            (state,),
            (A.capability_proof,),
            state,
            "actor-order",
            RECORD,
            MERE_PROOF,
            then=CAPABLE,
            note="ours: ready only if it is also a ready proof, else =",
        )
        for state in LIVE
    ),
    Row("agent-doc-6.9", A, (A.ready, A.busy), (A.busy_seen,), A.busy, "actor-order", RECORD, REPORT, then=LAPSED),
    Row(
        "agent-doc-6.10",
        A,
        (A.starting, A.waiting_input, A.restarting, A.stale),
        (A.busy_seen,),
        None,
        "actor-order",
        RECORD,
        REPORT,
    ),
    Row(
        "agent-doc-6.11",
        A,
        (A.starting, A.ready, A.busy, A.waiting_input),
        (A.waiting_seen,),
        A.waiting_input,
        "actor-order",
        RECORD,
        REPORT,
        then=LAPSED,
    ),
    Row("agent-doc-6.12", A, (A.restarting, A.stale), (A.waiting_seen,), None, "actor-order", RECORD, REPORT),
    Row("agent-doc-6.13", A, LIVE, (A.restart_requested,), A.restarting, "actor-order", RECORD, REPORT, then=LAPSED),
    Row(
        "agent-doc-6.14",
        A,
        (A.restarting, A.stale),
        (A.restart_done,),
        A.starting,
        "actor-order",
        RECORD,
        REPORT,
        then=LAPSED,
    ),
    Row(
        "agent-doc-6.15",
        A,
        (A.starting, A.ready, A.busy, A.waiting_input),
        (A.restart_done,),
        None,
        "actor-order",
        RECORD,
        REPORT,
    ),
    Row("agent-doc-6.16", A, LIVE, (A.stale_seen,), A.stale, "actor-order", RECORD, REPORT, then=LAPSED),
    Row("agent-doc-6.17", A, LIVE, (A.closed_seen,), A.closed, "actor-closed-final", RECORD, REPORT, then=RECORD),
    Row(
        "agent-doc-6.18",
        A,
        (A.closed,),
        (A.closed_seen,),
        A.closed,
        "terminal-idempotent",
        RECORD,
        REPORT,
        then=RECORD,
        note="closed is not final, for rebind leads out of it: a transition, and not settled",
    ),
    Row("agent-doc-6.19", A, (A.closed,), REPORTS[:-1], None, "actor-closed-final", RECORD, REPORT),
    *(
        Row("agent-doc-6.19", A, (A.closed,), (A.capability_proof,), None, "actor-closed-final", RECORD, proof)
        for proof in (READY_PROOF, MERE_PROOF)
    ),
    Row("agent-doc-6.20", A, (A.absent,), REPORTS, None, "actor-order", None, REPORT),
    Row("agent-doc-6.20", A, (A.absent,), (A.capability_proof,), None, "actor-order", None, READY_PROOF),
    Row("agent-doc-6.20", A, (A.absent,), (A.rebind,), None, "actor-order", None, REBIND),
]
