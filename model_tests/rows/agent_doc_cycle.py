"""lifecycles/agent-doc-tables.md, table 1: the document cycle."""

from typing import Any

import attrs

from ...machines.cycle import Cycle, CycleData, Reason
from ...machines.kernel import Seen, State
from .row import Row

__all__ = ["ROWS"]

C = Cycle
OPEN = (C.preflight_started, C.response_captured, C.write_applied)
ENDED = (C.committed, C.abandoned)
FOLLOWS = "section 0: an event that leads out of an ended state is the start of a new instance that reads the old one"

EMPTY = CycleData("base")
DIRTY = CycleData("base", mutated=True)
CAPTURED = CycleData("base", response="r1")
WRITTEN = CycleData("base", response="r1", mutated=True)
PENDING = CycleData("base", mutated=True, reason=Reason.PENDING_ONLY)
KEPT = CycleData("base", response="r1", mutated=True, kept=True)
KEEPS = "not in the table: how a cycle ends whose document's policy makes no commit (table 2, no_commit_policy)"
DATA = {C.preflight_started: EMPTY, C.response_captured: CAPTURED, C.write_applied: WRITTEN}

OPENED = {"baseline": "base", "first": False}
FIRST = {"baseline": "base", "first": True}
R1 = {"response": "r1"}
R2 = {"response": "r2"}
WRITE = {"response": "r1", "reason": None, "body_once": True, "one_boundary": True}
PENDING_WRITE = {"response": None, "reason": Reason.PENDING_ONLY, "body_once": False, "one_boundary": True}
COMMIT = {"reason": None, "in_staged": True, "in_archive": False}
NO_BODY = {"reason": None, "in_staged": False, "in_archive": False}
OLD = {"older_than_bound": True, "explicit": False}
EXPLICIT = {"older_than_bound": False, "explicit": True}
YOUNG = {"older_than_bound": False, "explicit": False}
RETIRED = {"capture_retired": True}
FACTS = {"mutated": False, "adoption_blocked": True, "dropped": True}
SAME = {"same_cycle": True}
OTHER = {"same_cycle": False}


def before(state: State, data: CycleData, successors: int = 0) -> dict[str, Any]:
    return {"previous": Seen(state, data, {"successors": successors})}


ROWS = [
    # births; what comes before and after them
    Row("section-0-births", C, (C.absent,), (C.start,), C.preflight_started, "", None, FIRST, then=EMPTY),
    Row(
        "section-0-births",
        C,
        (C.absent,),
        (C.start,),
        None,
        "single-open-cycle",
        None,
        OPENED,
        note="neither the first cycle of its document nor after another one: what is missing is no permission",
    ),
    Row("section-0-births", C, (C.absent,), (C.capture,), None, "cycle-opened", None, R1),
    Row("section-0-births", C, (C.absent,), (C.write,), None, "cycle-opened", None, WRITE),
    Row("section-0-births", C, (C.absent,), (C.commit,), None, "cycle-opened", None, COMMIT),
    Row("section-0-births", C, (C.absent,), (C.abandon,), None, "cycle-opened", None, OLD),
    Row("section-0-births", C, (C.absent,), (C.rewind,), None, "cycle-opened", None, RETIRED),
    Row("section-0-births", C, (C.absent,), (C.bookkeep,), None, "cycle-opened", None, FACTS),
    Row("section-0-births", C, (C.absent,), (C.partial_checkpoint,), None, "cycle-opened", None, SAME),
    # start_next
    *(
        Row(
            "agent-doc-1.1",
            C,
            (C.absent,),
            (C.start,),
            None,
            "single-open-cycle",
            None,
            OPENED,
            before(state, DATA[state]),
            note=FOLLOWS,
        )
        for state in OPEN
    ),
    Row(
        "agent-doc-1.1",
        C,
        (C.absent,),
        (C.start,),
        None,
        "single-open-cycle",
        None,
        FIRST,
        before(C.write_applied, WRITTEN),
        note="that it says to be the first changes nothing",
    ),
    Row("agent-doc-1.1", C, OPEN, (C.start,), None, "single-open-cycle", EMPTY, FIRST, note="the old one itself"),
    *(
        Row(
            "agent-doc-1.2",
            C,
            (C.absent,),
            (C.start,),
            C.preflight_started,
            "single-open-cycle",
            None,
            OPENED,
            before(state, data),
            then=EMPTY,
            note=FOLLOWS,
        )
        for state, data in ((C.committed, WRITTEN), (C.committed, PENDING), (C.committed, KEPT), (C.abandoned, EMPTY))
    ),
    Row(
        "agent-doc-1.2",
        C,
        (C.absent,),
        (C.start,),
        None,
        "single-open-cycle",
        None,
        OPENED,
        before(C.committed, WRITTEN, 1),
        note="ours: of two that open at once after the same cycle the second is refused",
    ),
    Row(
        "agent-doc-1.2",
        C,
        ENDED,
        (C.start,),
        None,
        "no-event-after-terminal",
        EMPTY,
        FIRST,
        note="this one never changes",
    ),
    # capture
    Row("agent-doc-1.3", C, (C.preflight_started,), (C.capture,), None, "capture-before-mutation", DIRTY, R1),
    Row(
        "agent-doc-1.4",
        C,
        (C.preflight_started,),
        (C.capture,),
        C.response_captured,
        "capture-before-mutation",
        EMPTY,
        R1,
        then=CAPTURED,
    ),
    Row(
        "agent-doc-1.5",
        C,
        (C.response_captured,),
        (C.capture,),
        C.response_captured,
        "one-response-per-cycle",
        CAPTURED,
        R1,
        then=CAPTURED,
    ),
    Row("agent-doc-1.6", C, (C.response_captured,), (C.capture,), None, "one-response-per-cycle", CAPTURED, R2),
    Row("agent-doc-1.7", C, (C.write_applied,), (C.capture,), None, "one-response-per-cycle", WRITTEN, R1),
    Row("agent-doc-1.7", C, (C.write_applied,), (C.capture,), None, "one-response-per-cycle", WRITTEN, R2),
    # write
    Row(
        "agent-doc-1.8",
        C,
        (C.preflight_started,),
        (C.write,),
        C.write_applied,
        "write-needs-capture",
        EMPTY,
        PENDING_WRITE,
        then=PENDING,
    ),
    Row("agent-doc-1.9", C, (C.preflight_started,), (C.write,), None, "write-needs-capture", EMPTY, WRITE),
    Row(
        "agent-doc-1.10",
        C,
        (C.response_captured,),
        (C.write,),
        C.write_applied,
        "patch-base-current",
        CAPTURED,
        WRITE,
        then=WRITTEN,
    ),
    *(
        Row(
            "agent-doc-1.11",
            C,
            (C.response_captured,),
            (C.write,),
            None,
            "patch-base-current",
            CAPTURED,
            {**WRITE, **wrong},
        )
        for wrong in ({"body_once": False}, {"one_boundary": False}, {"response": "r2"}, {"response": None})
    ),
    Row(
        "agent-doc-1.12",
        C,
        (C.write_applied,),
        (C.write,),
        C.write_applied,
        "one-response-per-cycle",
        WRITTEN,
        WRITE,
        then=WRITTEN,
    ),
    Row(
        "agent-doc-1.13",
        C,
        (C.write_applied,),
        (C.write,),
        None,
        "one-response-per-cycle",
        WRITTEN,
        {**WRITE, "response": "r2"},
    ),
    # commit
    Row(
        "agent-doc-1.14",
        C,
        (C.preflight_started,),
        (C.commit,),
        C.committed,
        "commit-needs-reason",
        EMPTY,
        {**NO_BODY, "reason": Reason.NO_OP},
        then=CycleData("base", reason=Reason.NO_OP),
    ),
    Row("agent-doc-1.15", C, (C.preflight_started,), (C.commit,), None, "commit-needs-reason", EMPTY, COMMIT),
    *(
        Row("agent-doc-1.16", C, (state,), (C.commit,), C.committed, "commit-holds-response", data, how, then=data)
        for state, data in ((C.response_captured, CAPTURED), (C.write_applied, WRITTEN))
        for how in (COMMIT, {**NO_BODY, "in_archive": True})
    ),
    Row(
        "agent-doc-1.16",
        C,
        (C.write_applied,),
        (C.commit,),
        C.committed,
        "commit-holds-response",
        PENDING,
        NO_BODY,
        then=PENDING,
        note="written without a response, for a reason: there is no body to be held",
    ),
    *(
        Row(
            "agent-doc-1.17",
            C,
            (state,),
            (C.commit,),
            None,
            "commit-holds-response",
            DATA[state],
            {**NO_BODY, "reason": reason},
        )
        for state in (C.response_captured, C.write_applied)
        for reason in (None, Reason.COMPACT)
    ),
    # no commit
    *(
        Row(
            "ours",
            C,
            (C.write_applied,),
            (C.keep,),
            C.committed,
            "",
            data,
            then=attrs.evolve(data, kept=True),
            note=KEEPS,
        )
        for data in (WRITTEN, PENDING)
    ),
    *(
        Row("ours", C, (state,), (C.keep,), None, "no-commit-explicit", DATA[state], note=KEEPS)
        for state in (C.preflight_started, C.response_captured)
    ),
    Row("ours", C, (C.absent,), (C.keep,), None, "cycle-opened", note=KEEPS),
    Row("ours", C, (C.committed,), (C.keep,), None, "no-event-after-terminal", WRITTEN, note=KEEPS),
    Row("ours", C, (C.abandoned,), (C.keep,), None, "no-event-after-terminal", EMPTY, note=KEEPS),
    # abandon
    *(
        Row("agent-doc-1.18", C, (C.preflight_started,), (C.abandon,), C.abandoned, "abandon-only-empty", EMPTY, how)
        for how in (OLD, EXPLICIT)
    ),
    *(
        Row("agent-doc-1.19", C, (C.preflight_started,), (C.abandon,), None, "abandon-only-empty", data, how)
        for data, how in ((EMPTY, YOUNG), (DIRTY, OLD), (DIRTY, EXPLICIT), (CAPTURED, OLD))
    ),
    *(
        Row("agent-doc-1.20", C, (state,), (C.abandon,), None, "abandon-only-empty", DATA[state], how)
        for state in (C.response_captured, C.write_applied)
        for how in (OLD, EXPLICIT)
    ),
    # rewind
    Row(
        "agent-doc-1.21",
        C,
        (C.response_captured,),
        (C.rewind,),
        C.preflight_started,
        "phase-never-back",
        CAPTURED,
        RETIRED,
        then=EMPTY,
    ),
    *(
        Row("agent-doc-1.22", C, (C.preflight_started,), (C.rewind,), C.preflight_started, "", EMPTY, how, then=EMPTY)
        for how in (RETIRED, {"capture_retired": False})
    ),
    Row(
        "agent-doc-1.23",
        C,
        (C.response_captured,),
        (C.rewind,),
        None,
        "phase-never-back",
        CAPTURED,
        {"capture_retired": False},
    ),
    Row("agent-doc-1.23", C, (C.write_applied,), (C.rewind,), None, "phase-never-back", WRITTEN, RETIRED),
    # bookkeeping and checkpoints
    Row(
        "agent-doc-1.24",
        C,
        (C.preflight_started,),
        (C.bookkeep,),
        C.preflight_started,
        "phase-never-back",
        EMPTY,
        FACTS,
        then=CycleData("base", adoption_blocked=True, dropped=True),
    ),
    Row(
        "agent-doc-1.24",
        C,
        (C.preflight_started,),
        (C.bookkeep,),
        C.preflight_started,
        "phase-never-back",
        EMPTY,
        {"mutated": True, "adoption_blocked": False, "dropped": False},
        then=DIRTY,
    ),
    Row(
        "agent-doc-1.24",
        C,
        (C.response_captured,),
        (C.bookkeep,),
        C.response_captured,
        "phase-never-back",
        CAPTURED,
        FACTS,
        then=CycleData("base", response="r1", adoption_blocked=True, dropped=True),
    ),
    Row(
        "agent-doc-1.24",
        C,
        (C.write_applied,),
        (C.bookkeep,),
        C.write_applied,
        "phase-never-back",
        CycleData("base", response="r1", mutated=True, adoption_blocked=True, dropped=True),
        {"mutated": False, "adoption_blocked": False, "dropped": False},
        then=CycleData("base", response="r1", mutated=True, adoption_blocked=True),
        note="a drop may be resolved; a mutation and a blocked adoption stay",
    ),
    Row(
        "agent-doc-1.25",
        C,
        (C.preflight_started,),
        (C.partial_checkpoint,),
        C.preflight_started,
        "checkpoint-binds-cycle",
        EMPTY,
        SAME,
        then=EMPTY,
    ),
    Row(
        "agent-doc-1.26",
        C,
        (C.preflight_started,),
        (C.partial_checkpoint,),
        None,
        "checkpoint-binds-cycle",
        EMPTY,
        OTHER,
    ),
    *(
        Row(
            "agent-doc-1.27",
            C,
            (C.response_captured, C.write_applied, *ENDED),
            (C.partial_checkpoint,),
            None,
            "checkpoint-binds-cycle",
            WRITTEN,
            how,
        )
        for how in (SAME, OTHER)
    ),
    # after the end
    *(
        Row(
            "agent-doc-1.28",
            C,
            (C.committed,),
            (C.commit,),
            "settled",
            "terminal-idempotent",
            WRITTEN,
            how,
            then=WRITTEN,
        )
        for how in (COMMIT, NO_BODY)
    ),
    *(
        Row("agent-doc-1.29", C, (C.abandoned,), (C.abandon,), "settled", "terminal-idempotent", EMPTY, how, then=EMPTY)
        for how in (OLD, YOUNG)
    ),
    *(
        Row("agent-doc-1.30", C, (C.abandoned,), (C.commit,), None, "no-event-after-terminal", EMPTY, how)
        for how in (COMMIT, {**COMMIT, "reason": Reason.NO_OP})
    ),
    Row("agent-doc-1.31", C, (C.committed,), (C.abandon,), None, "no-event-after-terminal", WRITTEN, EXPLICIT),
    Row("agent-doc-1.31", C, ENDED, (C.capture,), None, "no-event-after-terminal", WRITTEN, R1),
    Row("agent-doc-1.31", C, ENDED, (C.write,), None, "no-event-after-terminal", WRITTEN, WRITE),
    Row("agent-doc-1.31", C, ENDED, (C.rewind,), None, "no-event-after-terminal", WRITTEN, RETIRED),
    Row("agent-doc-1.31", C, ENDED, (C.bookkeep,), None, "no-event-after-terminal", WRITTEN, FACTS),
]
