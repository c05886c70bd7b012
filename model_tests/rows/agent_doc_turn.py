"""lifecycles/agent-doc-tables.md, table 2: the turn. `next_prompt` is the `start` of a new turn (section 0)."""

from collections.abc import Mapping
from typing import Any

from ...machines.cycle import Cycle, CycleData, Reason
from ...machines.kernel import Seen, State
from ...machines.turn import Turn, TurnData
from .row import Row

__all__ = ["ROWS"]

T = Turn
OVER = (T.committed, T.no_commit_complete, T.abandoned)
FOLLOWS = "section 0: an event that leads out of an ended state is the start of a new instance that reads the old one"
READS = "not captured, nothing mutated: read from the turn's cycle"
ENDS = (
    "ours: the effect 'cycle abandoned' is read from the cycle, ended in the same commit; it would stay open for ever"
)

FRESH = TurnData()
REBASED = TurnData(base_declared=True)
CHECKED = TurnData(checked=True)

EMPTY = CycleData("base")
DIRTY = CycleData("base", mutated=True)
CAPTURED = CycleData("base", response="r1")
WRITTEN = CycleData("base", response="r1", mutated=True)

Links = Mapping[str, Seen[Any] | None]


def own(state: State, data: CycleData) -> Links:
    """The turn's own cycle."""
    return {"cycle": Seen(state, data, {"successors": 0})}


def newest(state: State, data: CycleData, successors: int = 0) -> Links:
    """The newest cycle of the document when a prompt asks to be admitted."""
    return {"newest": Seen(state, data, {"successors": successors})}


def earlier(state: State, successors: int = 0) -> Links:
    return {"previous": Seen(state, FRESH, {"successors": successors})}


UNOPENED: Links = {}
OPEN_EMPTY = own(Cycle.preflight_started, EMPTY)
OPEN_DIRTY = own(Cycle.preflight_started, DIRTY)
HOLDS = own(Cycle.response_captured, CAPTURED)
APPLIED = own(Cycle.write_applied, WRITTEN)
IN_HEAD = own(Cycle.committed, WRITTEN)
GIVEN_UP = own(Cycle.abandoned, EMPTY)
EXPLAINED = own(Cycle.committed, CycleData("base", mutated=True, reason=Reason.PENDING_ONLY))
KEPT = own(Cycle.committed, CycleData("base", response="r1", mutated=True, kept=True))

PAYLOADS: dict[str, dict[str, Any]] = {
    "start": {"first": True},
    "admit": {"first": True, "capture_unresolved": False},
    "open_preflight": {"baseline_diffed": True, "editor_idle": True},
    "expose_plan": {"parse_valid": True},
    "backend_accepted": {"of_this_cycle": True},
    "captured": {"baseline": "base", "rebased": False},
    "verified": {"base_current": True, "user_text_kept": True},
    "commit_done": {"session_checked": True},
    "retry": {"baseline": "base", "rebased": False},
}
"""What each event carries when nothing is wrong; the others carry nothing that decides."""


AS_IT_IS: Mapping[str, Any] = {}


def row(
    id: str,
    states: tuple[State, ...],
    event: Any,
    to: State | str | None,
    rule: str,
    links: Links = UNOPENED,
    data: TurnData | None = FRESH,
    then: TurnData | None = None,
    note: str = "",
    payload: Mapping[str, Any] = AS_IT_IS,
) -> Row:
    given = {**PAYLOADS.get(event.name, {}), **payload}
    return Row(id, T, states, (event,), to, rule, data, given, links, then=then, note=note)


EVENTS = (
    T.admit,
    T.open_preflight,
    T.no_work,
    T.probe_cancelled,
    T.parse_blocked,
    T.expose_plan,
    T.backend_accepted,
    T.dispatch_failed,
    T.captured,
    T.cancel,
    T.harness_interrupted,
    T.operations_built,
    T.verified,
    T.apply_blocked,
    T.commit_policy,
    T.no_commit_policy,
    T.commit_done,
    T.commit_blocked,
    T.retry,
    T.safe_abandon,
    T.console_only,
)
NAMED: dict[State, tuple[Any, ...]] = {
    T.idle: (T.admit,),
    T.admitted: (T.open_preflight, T.no_work, T.probe_cancelled),
    T.preflight_opened: (T.no_work, T.probe_cancelled, T.parse_blocked, T.expose_plan),
    T.prompt_dispatched: (T.backend_accepted, T.dispatch_failed, T.admit),
    T.agent_running: (T.captured, T.cancel, T.harness_interrupted, T.console_only, T.admit),
    T.response_captured: (T.operations_built, T.commit_policy, T.no_commit_policy, T.admit),
    T.apply_pending: (T.verified, T.apply_blocked, T.commit_policy, T.no_commit_policy, T.admit),
    T.apply_verified: (T.commit_policy, T.no_commit_policy, T.admit),
    T.commit_pending: (T.commit_done, T.commit_blocked, T.admit),
    T.interrupted: (T.retry, T.safe_abandon, T.admit),
}
"""The events that the table names for a live state: any other is out of order."""

ROWS = [
    # births, and what comes before them
    row("section-0-births", (T.absent,), T.start, T.idle, "", data=None, then=FRESH),
    row(
        "section-0-births",
        (T.absent,),
        T.start,
        None,
        "single-active-turn",
        data=None,
        payload={"first": False},
        note="neither the first turn of its document nor after another one: what is missing is no permission",
    ),
    *(row("section-0-births", (T.absent,), event, None, "turn-order", data=None) for event in EVENTS),
    # admission
    row("agent-doc-2.1", (T.idle,), T.admit, T.admitted, "single-active-turn", note="the document's first cycle"),
    *(
        row("agent-doc-2.1", (T.idle,), T.admit, T.admitted, "single-active-turn", links, payload={"first": False})
        for links in (newest(Cycle.committed, WRITTEN), newest(Cycle.abandoned, EMPTY))
    ),
    *(
        row("agent-doc-2.2", (T.idle,), T.admit, None, "prompt-behind-closeout", links, payload={"first": first})
        for first in (True, False)
        for links in (
            newest(Cycle.preflight_started, EMPTY),
            newest(Cycle.response_captured, CAPTURED),
            newest(Cycle.write_applied, WRITTEN),
            newest(Cycle.committed, WRITTEN, 1),
        )
    ),
    row("agent-doc-2.2", (T.idle,), T.admit, None, "prompt-behind-closeout", payload={"first": False}),
    row("agent-doc-2.2", (T.idle,), T.admit, None, "prompt-behind-closeout", payload={"capture_unresolved": True}),
    # preflight
    row("agent-doc-2.3", (T.admitted,), T.open_preflight, T.preflight_opened, "baseline-matches-diff", OPEN_EMPTY),
    *(
        row("agent-doc-2.4", (T.admitted,), T.open_preflight, None, "baseline-matches-diff", OPEN_EMPTY, payload=wrong)
        for wrong in ({"baseline_diffed": False}, {"editor_idle": False})
    ),
    *(
        row(
            "agent-doc-2.4",
            (T.admitted,),
            T.open_preflight,
            None,
            "single-open-cycle",
            links,
            note="ours: the effect 'cycle opened' is read from the cycle, opened in the same commit",
        )
        for links in (UNOPENED, HOLDS, IN_HEAD)
    ),
    *(
        row("agent-doc-2.5", states, event, T.abandoned, "abandon-only-empty", links, note=READS)
        for event in (T.no_work, T.probe_cancelled)
        for states, links in (
            ((T.admitted,), UNOPENED),
            ((T.admitted, T.preflight_opened), GIVEN_UP),
            ((T.admitted, T.preflight_opened), EXPLAINED),
        )
    ),
    *(
        row("agent-doc-2.6", (T.admitted, T.preflight_opened), event, None, "abandon-only-empty", links, note=READS)
        for event in (T.no_work, T.probe_cancelled)
        for links in (HOLDS, APPLIED, IN_HEAD, OPEN_DIRTY)
    ),
    *(
        row("agent-doc-2.6", (T.admitted, T.preflight_opened), event, None, "abandon-only-empty", OPEN_EMPTY, note=ENDS)
        for event in (T.no_work, T.probe_cancelled)
    ),
    *(
        row("agent-doc-2.6", (T.preflight_opened,), event, None, "abandon-only-empty", UNOPENED, note=READS)
        for event in (T.no_work, T.probe_cancelled)
    ),
    row("agent-doc-2.7", (T.preflight_opened,), T.parse_blocked, T.interrupted, "parse-blocked-interrupts", OPEN_EMPTY),
    row("agent-doc-2.8", (T.preflight_opened,), T.expose_plan, T.prompt_dispatched, "plan-before-work", OPEN_EMPTY),
    row(
        "agent-doc-2.9",
        (T.preflight_opened,),
        T.expose_plan,
        None,
        "parse-blocked-interrupts",
        OPEN_EMPTY,
        payload={"parse_valid": False},
    ),
    # the harness
    row("agent-doc-2.10", (T.prompt_dispatched,), T.backend_accepted, T.agent_running, "dispatch-proven-start"),
    row(
        "agent-doc-2.11",
        (T.prompt_dispatched,),
        T.backend_accepted,
        None,
        "dispatch-proven-start",
        payload={"of_this_cycle": False},
    ),
    row("agent-doc-2.12", (T.prompt_dispatched,), T.dispatch_failed, T.interrupted, "turn-fails-closed"),
    row(
        "agent-doc-2.13",
        (T.agent_running,),
        T.captured,
        T.response_captured,
        "capture-before-mutation",
        HOLDS,
        then=FRESH,
    ),
    row(
        "agent-doc-2.13",
        (T.agent_running,),
        T.captured,
        T.response_captured,
        "capture-before-mutation",
        HOLDS,
        then=REBASED,
        payload={"baseline": "head", "rebased": True},
    ),
    *(
        row("agent-doc-2.14", (T.agent_running,), T.captured, None, "baseline-binds-cycle", links, payload=payload)
        for links, payload in (
            (HOLDS, {"baseline": "head"}),
            (OPEN_EMPTY, {}),
            (IN_HEAD, {}),
            (UNOPENED, {}),
            (UNOPENED, {"rebased": True}),
        )
    ),
    *(
        row("agent-doc-2.15", (T.agent_running,), T.cancel, T.abandoned, "cancel-binds-turn", links, note=why)
        for links, why in (
            (GIVEN_UP, "nothing was changed: the cycle is abandoned with it"),
            (EXPLAINED, "something was changed: the cycle is committed with its reason, for it cannot be abandoned"),
        )
    ),
    *(
        row("agent-doc-2.15", (T.agent_running,), T.cancel, None, "abandon-only-empty", links, note=ENDS)
        for links in (OPEN_EMPTY, OPEN_DIRTY)
    ),
    *(
        row("agent-doc-2.16", (T.agent_running,), T.cancel, None, "abandon-only-empty", links)
        for links in (HOLDS, APPLIED, IN_HEAD, UNOPENED)
    ),
    row("agent-doc-2.17", (T.agent_running,), T.harness_interrupted, T.interrupted, "turn-fails-closed", OPEN_EMPTY),
    row("agent-doc-2.18", (T.agent_running,), T.console_only, T.agent_running, "console-is-not-closeout", OPEN_EMPTY),
    # apply and closeout
    row("agent-doc-2.19", (T.response_captured,), T.operations_built, T.apply_pending, "patch-is-component", HOLDS),
    row("agent-doc-2.20", (T.apply_pending,), T.verified, T.apply_verified, "patch-base-current", APPLIED),
    *(
        row("agent-doc-2.21", (T.apply_pending,), T.verified, None, "patch-base-current", APPLIED, payload=wrong)
        for wrong in ({"base_current": False}, {"user_text_kept": False})
    ),
    row("agent-doc-2.22", (T.apply_pending,), T.apply_blocked, T.interrupted, "turn-fails-closed", HOLDS),
    row("agent-doc-2.23", (T.apply_verified,), T.commit_policy, T.commit_pending, "closeout-order", APPLIED),
    row("agent-doc-2.24", (T.apply_verified,), T.no_commit_policy, T.no_commit_complete, "no-commit-explicit", KEPT),
    *(
        row("agent-doc-2.24", (T.apply_verified,), T.no_commit_policy, None, "no-commit-explicit", links, note=why)
        for links, why in (
            (APPLIED, "ours: its cycle would stay open, and the document's next prompt would wait for ever"),
            (HOLDS, "ours: nothing was written yet"),
            (IN_HEAD, "ours: it was committed, and so is no turn without a commit"),
            (UNOPENED, "ours: what is missing is no permission"),
        )
    ),
    row(
        "agent-doc-2.25",
        (T.commit_pending,),
        T.commit_done,
        T.committed,
        "success-after-check",
        IN_HEAD,
        then=CHECKED,
    ),
    *(
        row("agent-doc-2.26", (T.commit_pending,), T.commit_done, None, "success-after-check", links, payload=payload)
        for links, payload in (
            (APPLIED, {}),
            (HOLDS, {}),
            (GIVEN_UP, {}),
            (UNOPENED, {}),
            (KEPT, {}),
            (IN_HEAD, {"session_checked": False}),
        )
    ),
    row("agent-doc-2.27", (T.commit_pending,), T.commit_blocked, T.interrupted, "turn-fails-closed", APPLIED),
    # after an interruption
    *(
        row("agent-doc-2.28", (T.interrupted,), T.retry, T.response_captured, "retry-needs-capture", links)
        for links in (HOLDS, APPLIED, IN_HEAD, KEPT)
    ),
    *(
        row(
            "agent-doc-2.28",
            (T.interrupted,),
            T.retry,
            T.response_captured,
            "retry-needs-capture",
            HOLDS,
            data,
            REBASED,
            payload={"baseline": "head", "rebased": True},
        )
        for data in (FRESH, REBASED)
    ),
    *(
        row("agent-doc-2.29", (T.interrupted,), T.retry, None, "retry-needs-capture", links, payload=payload)
        for links, payload in (
            (OPEN_EMPTY, {}),
            (OPEN_EMPTY, {"rebased": True}),
            (UNOPENED, {"rebased": True}),
            (HOLDS, {"baseline": "head"}),
        )
    ),
    row(
        "agent-doc-2.29",
        (T.interrupted,),
        T.retry,
        None,
        "retry-needs-capture",
        HOLDS,
        REBASED,
        note="ours: after a declared rebase the cycle's own baseline lacks what HEAD holds (race 60)",
    ),
    *(
        row("agent-doc-2.30", (T.interrupted,), T.safe_abandon, T.abandoned, "abandon-only-empty", links, note=why)
        for links, why in (
            (GIVEN_UP, READS),
            (EXPLAINED, "ours: what was changed is committed with its reason; the turn could else never end"),
        )
    ),
    row("agent-doc-2.31", (T.interrupted,), T.safe_abandon, None, "abandon-only-empty", OPEN_EMPTY, note=ENDS),
    *(
        row("agent-doc-2.31", (T.interrupted,), T.safe_abandon, None, "abandon-only-empty", links, note=READS)
        for links in (HOLDS, APPLIED, IN_HEAD, OPEN_DIRTY, UNOPENED)
    ),
    # after the end
    *(
        row(
            "agent-doc-2.32",
            (T.absent,),
            T.start,
            T.idle,
            "turn-terminal-once",
            earlier(state),
            None,
            FRESH,
            FOLLOWS,
            payload={"first": False},
        )
        for state in OVER
    ),
    row(
        "agent-doc-2.32",
        (T.absent,),
        T.start,
        None,
        "single-active-turn",
        earlier(T.committed, 1),
        None,
        note="ours: of two turns that start after the same one the second is refused",
    ),
    *(
        row(
            "agent-doc-2.32",
            (T.absent,),
            T.start,
            None,
            "single-active-turn",
            earlier(state),
            None,
            note="row 2.37 for next_prompt; as a start it says which turn still acts",
        )
        for state in NAMED
    ),
    row("agent-doc-2.33", OVER, T.console_only, "settled", "console-is-not-closeout", IN_HEAD, CHECKED, CHECKED),
    *(
        row("agent-doc-2.34", OVER, event, None, "no-event-after-terminal", IN_HEAD)
        for event in (*EVENTS, T.start)
        if event is not T.console_only
    ),
    # out of order
    row(
        "agent-doc-2.35",
        (
            T.prompt_dispatched,
            T.agent_running,
            T.response_captured,
            T.apply_pending,
            T.apply_verified,
            T.commit_pending,
            T.interrupted,
        ),
        T.admit,
        None,
        "single-active-turn",
    ),
    *(
        row("agent-doc-2.36", (T.apply_pending, T.response_captured), event, None, "commit-needs-proof", HOLDS)
        for event in (T.commit_policy, T.no_commit_policy)
    ),
    *(
        row("agent-doc-2.37", (state,), event, None, "turn-order", OPEN_EMPTY)
        for state, named in NAMED.items()
        for event in (*EVENTS, T.start)
        if event not in named
    ),
]
