"""lifecycles/turnstone-tables.md, table 3: the tool call. A Stop, a force and a close are seen through the links."""

from collections.abc import Mapping
from typing import Any

from ...machines.approval import Approval, ApprovalData, Outcome
from ...machines.gate import Gate, GateData
from ...machines.generation import Generation, GenerationData
from ...machines.kernel import Seen, State
from ...machines.session import Session, SessionData
from ...machines.toolcall import Reason, Staged, Toolcall, ToolcallData, Wrote
from .row import Row

__all__ = ["ROWS"]

T = Toolcall
Links = Mapping[str, Seen[Any] | None]


def owner(
    session: State = Session.open,
    epoch: int = 3,
    last: int = 5,
    generation: State = Generation.active,
    draining: bool = False,
    batch: bool = True,
    cycle: Seen[Any] | None = None,
    gate: Seen[Any] | None = None,
) -> Links:
    """The call's generation, number 5 begun in epoch 3, and its session; by default nothing has moved since."""
    return {
        "session": Seen(session, SessionData("ann", epoch, last, draining), {"owed": 1}),
        "generation": Seen(generation, GenerationData(5, 3, batch), {"owed": 1}),
        "cycle": cycle,
        "gate": gate,
    }


def gate(any_denied: bool, state: State = Gate.granted) -> Seen[Any]:
    return Seen(state, GateData(3, 5, 2, 1, True, False, False, False, True, None, any_denied))


def card(state: State, outcome: Outcome | None, digest: str = "d1") -> Seen[Any]:
    return Seen(state, ApprovalData(digest, "ann", 3, 5, True, outcome, True))


LIVE = owner()
STOPPED = owner(epoch=4)
CLOSING = owner(Session.closing, epoch=4)
DRAINING = owner(Session.closing, epoch=4, draining=True)
SHUT = owner(Session.shut, epoch=4)
REPLACED = owner(last=6)
STOPPED_REPLACED = owner(epoch=4, last=6)
POISONED = owner(epoch=4, generation=Generation.poisoned)
ABORTED = (STOPPED, CLOSING, SHUT, REPLACED, POISONED)

YES = card(Approval.resolved, Outcome.APPROVED)
TOLD = card(Approval.told, Outcome.APPROVED)
NO = card(Approval.resolved, Outcome.DENIED)
LATE = card(Approval.told, Outcome.TIMED_OUT)
POLICY = gate(True)
NOT_APPROVED = (
    None,
    card(Approval.registered, None),
    card(Approval.published, None),
    card(Approval.resolved, Outcome.DENIED),
    card(Approval.resolved, Outcome.TIMED_OUT),
    card(Approval.told, Outcome.CANCELLED),
)

BORN = ToolcallData()
READY = ToolcallData(True, "d1")
FREE = ToolcallData(False, "d1")
DENIED = ToolcallData(True, "d1", Staged.DENIED)
ERROR = ToolcallData(True, None, Staged.ERROR)
RECEIPT = ToolcallData(True, "d1", Staged.RECEIPT)
DONE = ToolcallData(True, "d1", None, Wrote.RESULT)
UNCLEARED = (T.owed, T.prepared, T.gated, T.cleared)
UNANSWERED = (*UNCLEARED, T.running, T.observed, T.reviewed)


def wrote(data: ToolcallData, what: Wrote) -> ToolcallData:
    return ToolcallData(data.needs_approval, data.digest, data.staged, what)


BIRTH = "section 0: toolcall (tools_admitted), in one fire_all with it"
PREPARED = {"digest": "d1", "needs_approval": True}

ROWS = [
    # birth
    Row("section-0-births", T, (T.absent,), (T.start,), T.owed, "", None, {}, LIVE, then=BORN, note=BIRTH),
    Row("section-0-births", T, (T.absent,), (T.start,), None, "toolcall-order", None, {}, owner(batch=False)),
    Row("section-0-births", T, (T.absent,), (T.start,), None, "approval-binds-call", None, {}, owner(cycle=YES)),
    Row("section-0-births", T, (T.absent,), (T.start,), None, "approval-binds-call", None, {}, owner(gate=POLICY)),
    Row("section-0-births", T, (T.absent,), (T.start,), None, "link-present", None, {}, {"session": LIVE["session"]}),
    *(
        Row("section-0-births", T, (T.absent,), (T.start,), None, "no-new-work-after-cancel", None, {}, links)
        for links in ABORTED
    ),
    Row(
        "section-0-births",
        T,
        (T.absent,),
        (
            T.prepare_failed,
            T.gate_opened,
            T.approved,
            T.denied,
            T.gate_cancelled,
            T.execute,
            T.result,
            T.guard_returned,
            T.guard_refused,
            T.answer,
            T.stop,
            T.force_abandon,
        ),
        None,
        "result-has-call",
        None,
        {},
        LIVE,
    ),
    Row("section-0-births", T, (T.absent,), (T.prepare_ok,), None, "result-has-call", payload=PREPARED),
    Row("section-0-births", T, (T.absent,), (T.bypassed,), None, "result-has-call", payload={"reason": Reason.SKILL}),
    Row("section-0-births", T, UNANSWERED, (T.start,), None, "call-id-unique", READY, {}, LIVE),
    # preparation
    Row("turnstone-3.1", T, (T.owed,), (T.prepare_ok,), T.prepared, "", BORN, PREPARED, LIVE, then=READY),
    Row(
        "turnstone-3.1",
        T,
        (T.owed,),
        (T.prepare_ok,),
        T.prepared,
        "approval-binds-content",
        BORN,
        {"digest": "d1", "needs_approval": False},
        LIVE,
        then=FREE,
    ),
    Row("turnstone-3.2", T, (T.owed,), (T.prepare_failed,), T.reviewed, "prepare-isolated", BORN, {}, LIVE, then=ERROR),
    # gate
    Row(
        "turnstone-3.3",
        T,
        (T.prepared,),
        (T.gate_opened,),
        T.gated,
        "approval-has-request",
        READY,
        {},
        LIVE,
        then=READY,
    ),
    Row("turnstone-3.4", T, (T.prepared,), (T.gate_opened,), T.cleared, "", FREE, {}, LIVE, then=FREE),
    *(
        Row("turnstone-3.5", T, (T.prepared, T.gated), (T.bypassed,), T.cleared, "", READY, {"reason": reason}, LIVE)
        for reason in Reason
    ),
    Row(
        "turnstone-3.6",
        T,
        (T.prepared, T.gated),
        (T.bypassed,),
        None,
        "bypass-has-reason",
        READY,
        {"reason": None},
        LIVE,
    ),
    *(
        Row("turnstone-3.7", T, (T.gated,), (T.approved,), T.cleared, "", READY, {}, owner(cycle=cycle), then=READY)
        for cycle in (YES, TOLD)
    ),
    *(
        Row("turnstone-3.8", T, (T.gated,), (T.approved,), None, "no-new-work-after-cancel", READY, {}, links)
        for links in ({**aborted, "cycle": YES} for aborted in ABORTED)
    ),
    *(
        Row("turnstone-3.9", T, (T.gated,), (T.approved,), None, "approval-binds-call", READY, {}, owner(cycle=cycle))
        for cycle in (*NOT_APPROVED, card(Approval.resolved, Outcome.APPROVED, "d2"))
    ),
    *(
        Row("turnstone-3.10", T, (T.prepared, T.gated), (T.denied,), T.reviewed, "", READY, {}, links, then=DENIED)
        for links in (
            owner(cycle=NO),
            owner(cycle=LATE),
            owner(epoch=4, cycle=NO),
            owner(gate=POLICY),
            owner(epoch=4, gate=POLICY),
            owner(cycle=card(Approval.published, None), gate=POLICY),
        )
    ),
    Row(
        "turnstone-3.10",
        T,
        (T.prepared, T.gated),
        (T.denied,),
        None,
        "approval-binds-call",
        READY,
        {},
        owner(cycle=YES, gate=POLICY),
        note="8.4: what policy denied was denied for good before a person approved the rest",
    ),
    *(
        Row(
            "turnstone-3.10",
            T,
            (T.prepared, T.gated),
            (T.denied,),
            None,
            "approval-binds-call",
            READY,
            {},
            owner(cycle=cycle, gate=other),
            note="8.4, 8.26: policy denies an item, or the cycle is decided so; nothing else denies a call",
        )
        for cycle in (None, YES, TOLD, card(Approval.published, None), card(Approval.told, Outcome.CANCELLED))
        for other in (None, gate(False), gate(False, Gate.approved))
    ),
    Row(
        "turnstone-3.11",
        T,
        (T.prepared, T.gated, T.cleared),
        (T.gate_cancelled,),
        T.reviewed,
        "outcome-honest",
        READY,
        {},
        STOPPED,
        then=RECEIPT,
    ),
    # run and review
    Row("turnstone-3.12", T, (T.cleared,), (T.execute,), T.running, "exec-at-most-once", READY, {}, LIVE, then=READY),
    *(
        Row("turnstone-3.13", T, (T.cleared,), (T.execute,), None, "no-new-work-after-cancel", READY, {}, links)
        for links in ABORTED
    ),
    Row("turnstone-3.14", T, (T.running,), (T.result,), T.observed, "guard-before-publish", READY, {}, LIVE),
    Row("turnstone-3.14", T, (T.running,), (T.result,), T.observed, "guard-before-publish", READY, {}, STOPPED),
    Row("turnstone-3.15", T, (T.observed,), (T.guard_returned,), T.reviewed, "guard-before-fold", READY, {}, LIVE),
    *(
        Row("turnstone-3.16", T, (T.observed,), (T.guard_returned,), None, "guard-refused-after-stop", READY, {}, links)
        for links in ABORTED
    ),
    Row("turnstone-3.17", T, (T.observed,), (T.guard_refused,), T.observed, "", READY, {}, STOPPED, then=READY),
    # the row
    Row("turnstone-3.18", T, (T.reviewed,), (T.answer,), T.answered, "", READY, {}, LIVE, then=DONE),
    *(
        Row(
            "turnstone-3.18",
            T,
            (T.reviewed,),
            (T.answer,),
            T.answered,
            "",
            data,
            {},
            LIVE,
            then=wrote(data, Wrote.STAGED),
        )
        for data in (DENIED, ERROR, RECEIPT)
    ),
    *(
        Row(
            "turnstone-3.18",
            T,
            (T.reviewed,),
            (T.answer,),
            T.answered,
            "call-result-exactly-once",
            data,
            {},
            links,
            then=wrote(data, Wrote.STAGED),
            note="cleanup of its own generation",
        )
        for data in (DENIED, ERROR, RECEIPT)
        for links in (STOPPED, CLOSING, POISONED)
    ),
    *(
        Row("turnstone-3.19", T, (T.reviewed,), (T.answer,), None, "generation-superseded", data, {}, links)
        for data in (DENIED, RECEIPT)
        for links in (REPLACED, STOPPED_REPLACED, SHUT, DRAINING)
    ),
    *(
        Row(
            "turnstone-3.19",
            T,
            (T.reviewed,),
            (T.answer,),
            None,
            "no-commit-after-stop",
            READY,
            {},
            links,
            note="cleanup writes what is staged; guarded text is a fold, and 2.17 names why it comes too late",
        )
        for links in (STOPPED, CLOSING, POISONED)
    ),
    # answered by the cancel path or by a force
    Row(
        "turnstone-3.20",
        T,
        UNCLEARED,
        (T.stop,),
        T.answered,
        "",
        READY,
        {},
        STOPPED,
        then=wrote(READY, Wrote.NEVER_STARTED),
    ),
    Row(
        "turnstone-3.20",
        T,
        UNCLEARED,
        (T.stop,),
        T.answered,
        "",
        BORN,
        {},
        POISONED,
        then=wrote(BORN, Wrote.NEVER_STARTED),
    ),
    Row(
        "turnstone-3.20",
        T,
        UNCLEARED,
        (T.force_abandon,),
        T.answered,
        "outcome-honest",
        READY,
        {},
        REPLACED,
        then=wrote(READY, Wrote.UNKNOWN),
        note="a staged receipt would have led to reviewed",
    ),
    Row(
        "turnstone-3.21",
        T,
        (T.running,),
        (T.stop,),
        T.answered,
        "",
        READY,
        {},
        STOPPED,
        then=wrote(READY, Wrote.UNKNOWN),
    ),
    Row(
        "turnstone-3.21",
        T,
        (T.running,),
        (T.force_abandon,),
        T.answered,
        "outcome-honest",
        READY,
        {},
        REPLACED,
        then=wrote(READY, Wrote.UNKNOWN),
    ),
    Row(
        "turnstone-3.22",
        T,
        (T.observed,),
        (T.stop,),
        T.answered,
        "",
        READY,
        {},
        STOPPED,
        then=wrote(READY, Wrote.OBSERVED),
    ),
    Row(
        "turnstone-3.22",
        T,
        (T.observed,),
        (T.force_abandon,),
        T.answered,
        "outcome-honest",
        READY,
        {},
        REPLACED,
        then=wrote(READY, Wrote.OBSERVED),
    ),
    *(
        Row(
            "turnstone-3.23",
            T,
            (T.reviewed,),
            (event,),
            T.answered,
            "",
            data,
            {},
            links,
            then=wrote(data, Wrote.STAGED),
        )
        for data in (DENIED, ERROR, RECEIPT)
        for event, links in ((T.stop, STOPPED), (T.force_abandon, REPLACED))
    ),
    *(
        Row(
            "turnstone-3.23",
            T,
            (T.reviewed,),
            (event,),
            T.answered,
            "outcome-honest",
            READY,
            {},
            links,
            then=wrote(READY, Wrote.OBSERVED),
            note="guarded content is dropped",
        )
        for event, links in ((T.stop, STOPPED), (T.force_abandon, REPLACED))
    ),
    Row(
        "turnstone-3.20",
        T,
        UNANSWERED,
        (T.stop,),
        None,
        "cancel-has-cause",
        READY,
        {},
        LIVE,
        note="section 0: the session's epoch must have moved; a row of its own for 3.21 to 3.23, too",
    ),
    *(
        Row(
            f"turnstone-3.{number}",
            T,
            states,
            (T.stop,),
            None,
            "generation-superseded",
            READY,
            {},
            links,
            note="2.39: an orphan writes nothing, not even what its cancel path would have written",
        )
        for number, states in ((20, UNCLEARED), (21, (T.running,)), (22, (T.observed,)), (23, (T.reviewed,)))
        for links in (REPLACED, STOPPED_REPLACED, owner(epoch=4, last=6, generation=Generation.poisoned))
    ),
    Row(
        "turnstone-3.20",
        T,
        UNANSWERED,
        (T.force_abandon,),
        None,
        "force-binds-worker",
        READY,
        {},
        STOPPED,
        note="section 0: the session's last must have moved; a row of its own for 3.21 to 3.23, too",
    ),
    # out of order
    Row("turnstone-3.24", T, (T.gated,), (T.execute,), None, "no-exec-before-approval", READY, {}, LIVE),
    Row(
        "turnstone-3.25",
        T,
        (T.running, T.observed, T.reviewed),
        (T.execute,),
        None,
        "exec-at-most-once",
        READY,
        {},
        LIVE,
    ),
    Row("turnstone-3.26", T, (T.answered,), (T.execute,), None, "exec-at-most-once", DONE, {}, LIVE),
    Row("turnstone-3.27", T, (T.answered,), (T.answer, T.result), None, "call-result-exactly-once", DONE, {}, LIVE),
    Row("turnstone-3.28", T, (T.answered,), (T.stop, T.force_abandon), "settled", "stop-is-idempotent", DONE, {}, LIVE),
    Row("turnstone-3.28", T, (T.answered,), (T.stop, T.force_abandon), "settled", "", DONE, {}, STOPPED_REPLACED),
    Row(
        "turnstone-3.29",
        T,
        (T.answered,),
        (
            T.prepare_failed,
            T.gate_opened,
            T.approved,
            T.denied,
            T.gate_cancelled,
            T.guard_returned,
            T.guard_refused,
        ),
        None,
        "no-event-after-terminal",
        DONE,
        {},
        LIVE,
    ),
    Row("turnstone-3.29", T, (T.answered,), (T.prepare_ok,), None, "no-event-after-terminal", DONE, PREPARED, LIVE),
    Row(
        "turnstone-3.29", T, (T.answered,), (T.bypassed,), None, "no-event-after-terminal", DONE, {"reason": None}, LIVE
    ),
    Row(
        "turnstone-3.29",
        T,
        (T.answered,),
        (T.start,),
        None,
        "call-id-unique",
        DONE,
        {},
        LIVE,
        note="section 0: birth, which the table's `start` is not",
    ),
    Row("turnstone-3.30", T, UNCLEARED, (T.result,), None, "no-exec-before-approval", READY, {}, LIVE),
    Row("turnstone-3.31", T, UNCLEARED, (T.answer,), None, "approved-call-gets-result", READY, {}, LIVE),
    Row("turnstone-3.32", T, UNANSWERED[1:], (T.prepare_ok,), None, "toolcall-order", READY, PREPARED, LIVE),
    Row("turnstone-3.32", T, UNANSWERED[1:], (T.prepare_failed,), None, "toolcall-order", READY, {}, LIVE),
    Row(
        "turnstone-3.32",
        T,
        (T.owed, T.cleared, T.running, T.observed, T.reviewed),
        (T.denied,),
        None,
        "toolcall-order",
        READY,
        {},
        LIVE,
    ),
    Row(
        "turnstone-3.32",
        T,
        (T.owed, T.cleared, T.running, T.observed, T.reviewed),
        (T.bypassed,),
        None,
        "toolcall-order",
        READY,
        {"reason": Reason.BLANKET},
        LIVE,
    ),
    Row(
        "turnstone-3.32",
        T,
        (T.owed, T.gated, T.cleared, T.running, T.observed, T.reviewed),
        (T.gate_opened,),
        None,
        "toolcall-order",
        READY,
        {},
        LIVE,
    ),
    Row(
        "turnstone-3.32",
        T,
        (T.owed, T.prepared, T.cleared, T.running, T.observed, T.reviewed),
        (T.approved,),
        None,
        "toolcall-order",
        READY,
        {},
        owner(cycle=YES),
    ),
    Row(
        "turnstone-3.32",
        T,
        (T.owed, T.running, T.observed, T.reviewed),
        (T.gate_cancelled,),
        None,
        "toolcall-order",
        READY,
        {},
        LIVE,
    ),
    Row("turnstone-3.32", T, (T.owed, T.prepared), (T.execute,), None, "toolcall-order", READY, {}, LIVE),
    Row("turnstone-3.32", T, (T.observed, T.reviewed), (T.result,), None, "toolcall-order", READY, {}, LIVE),
    Row("turnstone-3.32", T, (T.running, T.observed), (T.answer,), None, "toolcall-order", READY, {}, LIVE),
    Row(
        "turnstone-3.32",
        T,
        (*UNCLEARED, T.running, T.reviewed),
        (T.guard_returned, T.guard_refused),
        None,
        "toolcall-order",
        READY,
        {},
        LIVE,
    ),
]
