"""lifecycles/agent-doc-tables.md, table 12: the fallback patch. `send` is `deliver` (section 0)."""

from collections.abc import Mapping
from typing import Any

import attrs

from ...machines.cycle import Cycle, CycleData, Reason
from ...machines.fallback import Fallback, FallbackData, Outcome, Transport
from ...machines.kernel import Seen, State
from .row import Row

__all__ = ["ROWS"]

F = Fallback
ANSWERS = "not in the table: it answers the effect that writes or removes the file"
CLAIMS = "ours: decided here; `edited` says that it is applied (the table does both in one row)"
DISCARDS = "ours: a rejected patch ends apart from an applied one, for its cycle counts those that were applied"
RIVAL = "ours: of several patches with one response one is applied, whoever tells of it (agent-doc.md, e.3-X4)"

PATCH = FallbackData(False, "r1", None)
TARGETED = FallbackData(False, "r1", "ed1")
LEGACY = FallbackData(True, None, None)
BARE = FallbackData(False, None, None)
SENT = attrs.evolve(PATCH, transport=Transport.SOCKET)
FILED = attrs.evolve(PATCH, transport=Transport.FILE)
ON_DISK = attrs.evolve(PATCH, transport=Transport.DISK)

CAPTURED = CycleData("base", response="r1")
WRITTEN = CycleData("base", response="r1", mutated=True)
COMPACTED = CycleData("base", reason=Reason.COMPACT)
PENDING = CycleData("base", mutated=True, reason=Reason.PENDING_ONLY)

Links = Mapping[str, Seen[Any] | None]


def own(state: State, data: CycleData, delivered: int = 0) -> Links:
    """The patch's own cycle, which counts it as one that delivers its response."""
    seen = Seen(state, data, {"successors": 0, "delivered": delivered})
    return {"cycle": seen, "delivers": seen}


def repairs(state: State, data: CycleData) -> Links:
    """The cycle of a patch that delivers no response."""
    return {"cycle": own(state, data)["cycle"]}


def held_by(state: State) -> Links:
    """Another patch whose file has the name."""
    return {"holder": Seen(state, FallbackData(False, "r0", None))}


NOTHING: Links = {}
OPEN = own(Cycle.response_captured, CAPTURED)
APPLIED = own(Cycle.write_applied, WRITTEN)
COMMITTED = own(Cycle.committed, WRITTEN)
FOREIGN = own(Cycle.committed, COMPACTED)
GIVEN_UP = own(Cycle.abandoned, CycleData("base"))
RIVALLED = own(Cycle.response_captured, CAPTURED, 1)
"""Another patch with the same response is claimed or applied."""

PAYLOADS: dict[str, dict[str, Any]] = {
    "start": {"legacy": False, "response": "r1", "reason": None, "editor": None},
    "prewrite": {"name_free": True},
    "deliver": {"supervisor_current": True, "route_sound": True},
    "ack_result": {"outcome": Outcome.ADOPTED, "proven": True},
    "queue_file": {"body_visible": False, "proven": False, "name_free": True},
    "watch_apply": {"claimed": False, "base_current": True, "my_lease": True, "newer_committed": False},
    "cycle_committed": {"body_in_head": False},
    "foreign_commit": {"body_in_head": False},
    "full_content": {"managed": True},
    "disk_write": {"editor_absent": True, "text_unchanged": True, "newer_committed": False},
    "cleanup": {"own_file": True},
}
"""What each event carries when nothing is wrong; the others carry nothing that decides."""


OPENED = repairs(Cycle.preflight_started, CycleData("base"))

AS_IT_IS: Mapping[str, Any] = {}


def row(
    id: str,
    states: tuple[State, ...],
    event: Any,
    to: State | str | None,
    rule: str,
    links: Links = OPEN,
    data: FallbackData | None = PATCH,
    then: FallbackData | None = None,
    note: str = "",
    by: str | None = None,
    payload: Mapping[str, Any] = AS_IT_IS,
) -> Row:
    given = {**PAYLOADS.get(event.name, {}), **payload}
    return Row(id, F, states, (event,), to, rule, data, given, links, {}, by, then, note)


UNDECIDED = (F.drafted, F.prewritten, F.sent, F.file_queued, F.unproven, F.retained)
WAITING = (F.prewritten, F.sent, F.file_queued, F.unproven, F.retained)
WATCHED = (F.prewritten, F.file_queued, F.unproven, F.retained)
KEPT = (F.drafted, F.prewritten, F.unproven, F.retained)
ON_FILE = (F.file_queued, F.unproven, F.retained)
OVER = (F.applied, F.rejected, F.cleaned)
ENDED = (F.cleaned, F.discarded)
EVENTS = (
    F.prewrite,
    F.deliver,
    F.send_unavailable,
    F.ack_result,
    F.timeout,
    F.queue_file,
    F.watch_apply,
    F.cycle_committed,
    F.foreign_commit,
    F.superseded,
    F.conflict,
    F.full_content,
    F.degraded,
    F.cleanup,
    F.disk_write,
)
EVER = (F.cycle_committed, F.foreign_commit, F.full_content)
WAYS_OUT = (*EVER, F.superseded, F.conflict, F.cleanup)
NAMED: dict[State, tuple[Any, ...]] = {
    F.drafted: (*EVER, F.prewrite, F.deliver, F.send_unavailable, F.degraded),
    F.prewritten: (*WAYS_OUT, F.deliver, F.send_unavailable, F.degraded, F.watch_apply),
    F.sent: (*WAYS_OUT, F.watch_apply, F.ack_result, F.timeout),
    F.file_queued: (*WAYS_OUT, F.watch_apply, F.timeout, F.disk_write),
    F.unproven: (*WAYS_OUT, F.watch_apply, F.ack_result, F.queue_file, F.disk_write),
    F.retained: (*WAYS_OUT, F.watch_apply, F.queue_file, F.deliver, F.disk_write),
    F.applied: (F.cleanup, F.watch_apply, F.ack_result, F.timeout, F.cycle_committed),
    F.rejected: (F.cleanup, F.watch_apply, F.cycle_committed),
    F.cleaned: (F.cleanup, F.cycle_committed),
    F.discarded: (F.cleanup, F.cycle_committed),
}
"""The events that the table names for a state: any other is out of order, or comes after the end."""

ROWS = [
    # births, and what comes before them
    *(
        row("section-0-births", (F.absent,), F.start, F.drafted, "", links, None, then, payload=payload)
        for links, then, payload in (
            (OPEN, PATCH, {}),
            (APPLIED, PATCH, {}),
            (OPEN, TARGETED, {"editor": "ed1"}),
            (OPENED, BARE, {"response": None, "reason": Reason.PENDING_ONLY}),
            (repairs(Cycle.response_captured, CAPTURED), BARE, {"response": None, "reason": Reason.HANDOFF}),
            (NOTHING, LEGACY, {"legacy": True, "response": None}),
        )
    ),
    *(
        row("section-0-births", (F.absent,), F.start, None, "patch-binds-cycle", links, None)
        for links in (COMMITTED, GIVEN_UP, NOTHING)
    ),
    *(
        row("section-0-births", (F.absent,), F.start, None, "capture-before-mutation", links, None, payload=payload)
        for links, payload in (
            (OPENED, {}),
            (OPEN, {"response": "r2"}),
            (OPEN, {"response": None}),
            (OPENED, {"response": None}),
        )
    ),
    *(
        row("section-0-births", (F.absent,), F.start, None, "apply-once", links, None, note=RIVAL, payload=payload)
        for links, payload in (
            (repairs(Cycle.response_captured, CAPTURED), {}),
            (OPEN, {"response": None, "reason": Reason.HANDOFF}),
            ({"delivers": OPEN["delivers"]}, {"legacy": True}),
        )
    ),
    *(row("section-0-births", (F.absent,), event, None, "patch-order", OPEN, None) for event in EVENTS),
    # commits
    *(
        row(
            "agent-doc-12.1",
            UNDECIDED,
            F.cycle_committed,
            F.rejected,
            "stale-patch-rejected",
            links,
            data,
            payload=payload,
        )
        for links, data, payload in (
            (COMMITTED, PATCH, {}),
            (FOREIGN, PATCH, {"body_in_head": True}),
            (COMMITTED, BARE, {}),
            (own(Cycle.committed, PENDING), BARE, {}),
            (NOTHING, LEGACY, {"body_in_head": True}),
        )
    ),
    *(
        row("agent-doc-12.2", (state,), F.cycle_committed, state, "stale-patch-rejected", links, then=PATCH)
        for state in UNDECIDED
        for links in (OPEN, FOREIGN, own(Cycle.committed, attrs.evolve(WRITTEN, response="r2")), NOTHING)
    ),
    *(
        row("agent-doc-12.3", (state,), F.foreign_commit, state, "foreign-commit-keeps-response", FOREIGN, then=PATCH)
        for state in KEPT
    ),
    row(
        "agent-doc-12.4",
        KEPT,
        F.foreign_commit,
        F.rejected,
        "stale-patch-rejected",
        FOREIGN,
        payload={"body_in_head": True},
    ),
    *(
        row(
            "agent-doc-12.5",
            (F.sent, F.file_queued),
            F.foreign_commit,
            F.rejected,
            "patch-base-current",
            FOREIGN,
            payload=how,
        )
        for how in ({"body_in_head": True}, {"body_in_head": False})
    ),
    # whole documents
    row("agent-doc-12.6", UNDECIDED, F.full_content, F.rejected, "no-full-content"),
    row("agent-doc-12.7", UNDECIDED, F.full_content, None, "no-full-content", payload={"managed": False}),
    # before the delivery
    *(
        row(
            "agent-doc-12.8",
            (F.drafted,),
            F.prewrite,
            None,
            "patch-supersede-explicit",
            {**OPEN, **links},
            payload={"name_free": free},
        )
        for links, free in (
            (NOTHING, False),
            *((held_by(state), free) for state in UNDECIDED for free in (True, False)),
        )
    ),
    *(
        row(
            "agent-doc-12.9", (F.drafted,), F.prewrite, F.prewritten, "patch-binds-cycle", {**OPEN, **links}, then=PATCH
        )
        for links in (NOTHING, *(held_by(state) for state in OVER))
    ),
    *(
        row("agent-doc-12.10", (F.drafted, F.prewritten), F.deliver, F.sent, "patch-binds-cycle", links, then=SENT)
        for links in (OPEN, APPLIED)
    ),
    *(
        row("agent-doc-12.11", (F.drafted, F.prewritten), F.deliver, None, "patch-binds-cycle", links, payload=wrong)
        for links, wrong in (
            (COMMITTED, {}),
            (GIVEN_UP, {}),
            (NOTHING, {}),
            (OPEN, {"supervisor_current": False}),
            (OPEN, {"route_sound": False}),
        )
    ),
    *(
        row("agent-doc-12.12", (F.drafted, F.prewritten), event, F.unproven, "timeout-is-unknown", then=PATCH)
        for event in (F.send_unavailable, F.degraded)
    ),
    # the watcher
    *(
        row(
            "agent-doc-12.13",
            WATCHED,
            F.watch_apply,
            F.rejected,
            "apply-once",
            links,
            payload={"claimed": True, **payload},
        )
        for links, payload in (
            (OPEN, {}),
            (COMMITTED, {}),
            (OPEN, {"my_lease": False}),
            (OPEN, {"base_current": False}),
        )
    ),
    *(
        row("agent-doc-12.14", WATCHED, F.watch_apply, F.rejected, "stale-patch-rejected", links, data, payload=payload)
        for links, data, payload in (
            (COMMITTED, PATCH, {}),
            (GIVEN_UP, PATCH, {}),
            (FOREIGN, PATCH, {"my_lease": False}),
            (NOTHING, LEGACY, {"newer_committed": True}),
        )
    ),
    row(
        "agent-doc-12.14",
        WATCHED,
        F.watch_apply,
        None,
        "stale-patch-rejected",
        NOTHING,
        note="its cycle is not known: refused and kept, neither applied nor rejected",
    ),
    *(
        row(
            "agent-doc-12.15",
            WATCHED,
            F.watch_apply,
            F.rejected,
            "patch-base-current",
            payload={"base_current": False, **payload},
        )
        for payload in ({}, {"my_lease": False})
    ),
    *(
        row(
            "agent-doc-12.16",
            WATCHED,
            F.watch_apply,
            None,
            "lease-fenced",
            OPEN,
            data,
            by=by,
            payload={"my_lease": mine},
        )
        for data, by, mine in (
            (PATCH, "ed1", False),
            (TARGETED, "ed1", False),
            (TARGETED, "ed2", True),
            (TARGETED, None, True),
        )
    ),
    *(
        row("agent-doc-12.17", WATCHED, F.watch_apply, F.claimed, "apply-once", links, data, then, CLAIMS, "ed1")
        for links, data, then in (
            (OPEN, PATCH, FILED),
            (APPLIED, PATCH, FILED),
            (OPEN, TARGETED, attrs.evolve(TARGETED, transport=Transport.FILE)),
            (NOTHING, LEGACY, attrs.evolve(LEGACY, transport=Transport.FILE)),
        )
    ),
    row("agent-doc-12.17", WATCHED, F.watch_apply, None, "apply-once", RIVALLED, by="ed1", note=RIVAL),
    row(
        "agent-doc-12.15",
        WATCHED,
        F.watch_apply,
        F.rejected,
        "patch-base-current",
        RIVALLED,
        payload={"base_current": False},
        note="... and its text is in the document",
    ),
    *(
        row("agent-doc-12.18", (F.sent,), F.watch_apply, F.rejected, "apply-once", OPEN, SENT, payload=payload)
        for payload in ({"claimed": True}, {"base_current": False})
    ),
    *(
        row(
            "agent-doc-12.18",
            (F.sent,),
            F.watch_apply,
            F.rejected,
            "apply-once",
            links,
            SENT,
            note="ours: a sent patch asks its cycle too (elimination boundary: stale-patch-rejected)",
        )
        for links in (COMMITTED, GIVEN_UP)
    ),
    *(
        row(
            "agent-doc-12.19",
            (F.sent,),
            F.watch_apply,
            F.claimed,
            "apply-once",
            OPEN,
            SENT,
            SENT,
            CLAIMS,
            payload={"my_lease": mine},
        )
        for mine in (True, False)
    ),
    row("agent-doc-12.19", (F.sent,), F.watch_apply, None, "apply-once", RIVALLED, SENT, note=RIVAL),
    # the edit
    *(
        row("ours", (F.claimed,), F.edited, F.applied, "apply-once", links, data, data, CLAIMS)
        for links in (OPEN, COMMITTED)
        for data in (SENT, FILED, ON_DISK)
    ),
    *(
        row("ours", (F.claimed,), F.edit_failed, to, "retained-keeps-file", OPEN, data, data, note=CLAIMS)
        for to, data in ((F.retained, FILED), (F.unproven, SENT), (F.unproven, ON_DISK))
    ),
    *(
        row("ours", (F.claimed,), F.ack_result, F.applied, "ack-needs-proof", RIVALLED, SENT, SENT, payload=payload)
        for payload in ({}, {"outcome": Outcome.ALREADY_THERE})
    ),
    *(
        row("ours", (F.claimed,), F.ack_result, None, "ack-needs-proof", RIVALLED, SENT, payload=payload)
        for payload in ({"proven": False}, {"outcome": Outcome.REJECTED})
    ),
    row("ours", (F.claimed,), F.cycle_committed, F.claimed, "", COMMITTED, FILED, FILED, "the edit is being made"),
    row("ours", (F.claimed,), F.cleanup, None, "retained-keeps-file", data=FILED),
    *(
        row("ours", (F.claimed,), event, None, "apply-once", data=FILED, note="nobody else decides meanwhile")
        for event in (*EVENTS, F.start)
        if event not in (F.ack_result, F.cycle_committed, F.cleanup)
    ),
    *(
        row("ours", states, event, None, rule)
        for states, rule in (((F.absent, *UNDECIDED), "patch-order"), ((*OVER, F.discarded), "no-event-after-terminal"))
        for event in (F.edited, F.edit_failed)
    ),
    # the answer
    *(
        row(
            "agent-doc-12.20",
            (F.sent,),
            F.ack_result,
            F.applied,
            "ack-needs-proof",
            OPEN,
            SENT,
            SENT,
            payload={"outcome": outcome},
        )
        for outcome in (Outcome.ADOPTED, Outcome.ALREADY_THERE)
    ),
    *(
        row(
            "agent-doc-12.21",
            (F.sent,),
            F.ack_result,
            F.unproven,
            "ack-fails-closed",
            OPEN,
            SENT,
            SENT,
            payload={"outcome": Outcome.REJECTED, "proven": proven},
        )
        for proven in (True, False)
    ),
    *(
        row(
            "agent-doc-12.22",
            (F.sent,),
            F.ack_result,
            F.unproven,
            "timeout-is-unknown",
            OPEN,
            SENT,
            SENT,
            payload=payload,
        )
        for payload in (
            {"outcome": Outcome.ADOPTED, "proven": False},
            {"outcome": Outcome.ALREADY_THERE, "proven": False},
            {"outcome": Outcome.UNPROVEN, "proven": False},
            {"outcome": Outcome.UNPROVEN, "proven": True},
        )
    ),
    *(
        row(
            "agent-doc-12.22",
            (F.sent,),
            F.ack_result,
            F.unproven,
            "timeout-is-unknown",
            RIVALLED,
            SENT,
            SENT,
            RIVAL,
            payload={"outcome": outcome},
        )
        for outcome in (Outcome.ADOPTED, Outcome.ALREADY_THERE)
    ),
    row("agent-doc-12.23", (F.sent,), F.timeout, F.unproven, "timeout-is-unknown", OPEN, SENT, SENT),
    *(
        row(
            "agent-doc-12.24",
            (F.unproven,),
            F.ack_result,
            F.applied,
            "ack-needs-proof",
            OPEN,
            SENT,
            SENT,
            payload={"outcome": outcome},
        )
        for outcome in (Outcome.ADOPTED, Outcome.ALREADY_THERE)
    ),
    *(
        row(
            "agent-doc-12.25",
            (F.unproven,),
            F.ack_result,
            F.unproven,
            "ack-needs-proof",
            OPEN,
            SENT,
            SENT,
            payload=payload,
        )
        for payload in (
            {"outcome": Outcome.ADOPTED, "proven": False},
            {"outcome": Outcome.UNPROVEN, "proven": True},
            {"outcome": Outcome.REJECTED, "proven": True},
        )
    ),
    row("agent-doc-12.25", (F.unproven,), F.ack_result, F.unproven, "ack-needs-proof", RIVALLED, SENT, SENT, RIVAL),
    # the file route
    *(
        row("agent-doc-12.26", (F.unproven,), F.queue_file, F.file_queued, "patch-binds-cycle", links, then=FILED)
        for links in (OPEN, {**OPEN, **held_by(F.rejected)})
    ),
    *(
        row(
            "agent-doc-12.27",
            (F.unproven,),
            F.queue_file,
            F.applied,
            "apply-once",
            links,
            SENT,
            SENT,
            payload={"body_visible": True, "proven": True},
        )
        for links in (OPEN, COMMITTED)
    ),
    row(
        "agent-doc-12.28",
        (F.unproven,),
        F.queue_file,
        None,
        "patch-binds-cycle",
        RIVALLED,
        SENT,
        payload={"body_visible": True, "proven": True},
        note=RIVAL,
    ),
    *(
        row("agent-doc-12.28", (F.unproven,), F.queue_file, None, "patch-binds-cycle", links, payload=payload)
        for links, payload in (
            (COMMITTED, {}),
            (GIVEN_UP, {}),
            (NOTHING, {}),
            (OPEN, {"body_visible": True, "proven": False}),
            (COMMITTED, {"body_visible": True, "proven": False}),
        )
    ),
    *(
        row(
            "agent-doc-12.28",
            (F.unproven, F.retained),
            F.queue_file,
            None,
            "patch-supersede-explicit",
            {**OPEN, **links},
            payload={"name_free": free},
            note="ours: a queued copy overwrites another patch's file as little as a prewritten one (row 12.8)",
        )
        for links, free in ((NOTHING, False), (held_by(F.retained), True))
    ),
    row("agent-doc-12.29", (F.file_queued,), F.timeout, F.retained, "retained-keeps-file", OPEN, FILED, FILED),
    *(
        row("agent-doc-12.30", (F.retained,), event, F.file_queued, "patch-supersede-explicit", OPEN, data, FILED)
        for event in (F.queue_file, F.deliver)
        for data in (PATCH, FILED)
    ),
    *(
        row("agent-doc-12.31", (F.retained,), event, None, "patch-binds-cycle", links)
        for event in (F.queue_file, F.deliver)
        for links in (COMMITTED, GIVEN_UP, NOTHING)
    ),
    row("agent-doc-12.32", WAITING, F.superseded, F.rejected, "patch-supersede-explicit", then=PATCH),
    row("agent-doc-12.33", WAITING, F.conflict, F.rejected, "conflict-ends-patch", then=PATCH),
    row("agent-doc-12.34", ON_FILE, F.disk_write, F.claimed, "no-disk-behind-editor", then=ON_DISK, note=CLAIMS),
    row(
        "agent-doc-12.34",
        ON_FILE,
        F.disk_write,
        F.claimed,
        "no-disk-behind-editor",
        NOTHING,
        LEGACY,
        attrs.evolve(LEGACY, transport=Transport.DISK),
        CLAIMS,
    ),
    row("agent-doc-12.34", ON_FILE, F.disk_write, None, "apply-once", RIVALLED, note=RIVAL),
    *(
        row("agent-doc-12.35", ON_FILE, F.disk_write, None, "no-disk-behind-editor", links, payload=wrong)
        for links, wrong in (
            (OPEN, {"editor_absent": False}),
            (OPEN, {"editor_absent": False, "forced": True}),
            (OPEN, {"text_unchanged": False}),
            (COMMITTED, {"editor_absent": False}),
        )
    ),
    *(
        row(
            "agent-doc-12.35",
            ON_FILE,
            F.disk_write,
            None,
            "stale-patch-rejected",
            links,
            data,
            payload={"newer_committed": True},
            note="ours: the disk asks the cycle too (elimination boundary: stale-patch-rejected)",
        )
        for links, data in ((COMMITTED, PATCH), (GIVEN_UP, PATCH), (NOTHING, PATCH), (NOTHING, LEGACY))
    ),
    # the end
    row("agent-doc-12.36", (F.applied,), F.cleanup, F.cleaned, "cleanup-own-patch", then=PATCH),
    row("agent-doc-12.36", (F.rejected,), F.cleanup, F.discarded, "cleanup-own-patch", then=PATCH, note=DISCARDS),
    row("agent-doc-12.37", (F.applied, F.rejected), F.cleanup, None, "cleanup-own-patch", payload={"own_file": False}),
    *(
        row("agent-doc-12.38", WAITING, F.cleanup, None, "retained-keeps-file", payload={"own_file": mine})
        for mine in (True, False)
    ),
    *(
        row("agent-doc-12.39", (F.applied,), event, None, "apply-once")
        for event in (F.watch_apply, F.ack_result, F.timeout)
    ),
    row("agent-doc-12.40", (F.rejected,), F.watch_apply, None, "stale-patch-rejected"),
    *(
        row("agent-doc-12.41", (state,), F.cycle_committed, state, "terminal-idempotent", links, then=PATCH)
        for state in (F.applied, F.rejected)
        for links in (OPEN, COMMITTED)
    ),
    *(
        row("agent-doc-12.42", ENDED, event, "settled", "terminal-idempotent", then=PATCH)
        for event in (F.cleanup, F.cycle_committed)
    ),
    *(
        row("agent-doc-12.43", (state,), event, None, "no-event-after-terminal")
        for state in (*OVER, F.discarded)
        for event in (*EVENTS, F.start)
        if event not in NAMED[state]
    ),
    *(
        row("agent-doc-12.44", (state,), event, None, "patch-order")
        for state in UNDECIDED
        for event in (*EVENTS, F.start)
        if event not in NAMED[state]
    ),
    # what answers the effects
    *(
        row("ours", (state,), F.file_written, state, "", then=PATCH, note=ANSWERS)
        for state in (*WAITING, F.claimed, F.applied, F.rejected)
    ),
    row("ours", WATCHED, F.file_failed, F.unproven, "", then=PATCH, note=ANSWERS),
    *(
        row("ours", (state,), F.file_failed, state, "", then=PATCH, note=ANSWERS)
        for state in (F.sent, F.claimed, F.applied, F.rejected)
    ),
    *(
        row("ours", states, event, to, rule, note=ANSWERS)
        for states, to, rule in (
            ((F.absent, F.drafted), None, "patch-order"),
            (ENDED, "settled", "terminal-idempotent"),
        )
        for event in (F.file_written, F.file_failed)
    ),
]
