"""The turn: one prompt of one document, from its admission to a response in HEAD, or to an end that says why not.

What may race: a second prompt while a turn acts; the user's cancel against the capture; the harness's death against its
answer; the user's typing against the merge that was computed before; a closeout against its own failure. Who wins: what
the cycle has captured is never dropped (cancel and abandon are refused from then on), and the visible text beats every
result that was computed from an older one. Nothing is told as success before the commit and its check.

Source: seed agent-doc-lifecycles, "Active Turn Lifecycle" (profile E2); lifecycles/agent-doc-tables.md, 2.

What it repairs: a retry needs a capture, and an abandon that there is none [as built: no guard]; a second turn is the
successor of an ended one, and the only one (the tally of successors); after a declared rebase an older baseline is no
base any more (race 60). A turn ends with its cycle, in one commit, and leaves none open behind it, for that would keep
the document's next prompt waiting for ever: an empty cycle is abandoned, one that has changed something but has no
response is committed with its reason, one whose document is not to be committed is kept. Whether something was captured
is read from the cycle, never copied.
"""

from typing import Self

import attrs

from .cycle import Cycle, CycleData
from .kernel import (
    Event,
    Id,
    Link,
    Machine,
    Seen,
    State,
    Tally,
    carried,
    effect,
    fire_and_forget,
    guard,
    invariant,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
    under,
)

__all__ = [
    "Answer",
    "Applied",
    "Baseline",
    "Begin",
    "Checked",
    "Evidence",
    "Plan",
    "Preflight",
    "Prompt",
    "Trouble",
    "Turn",
    "TurnData",
    "closeout",
    "plan",
    "success",
]


@attrs.frozen
class TurnData:
    """What a turn decides upon, beside what its cycle has decided."""

    base_declared: bool = False
    """The response was captured against a declared rebase: the cycle's own baseline is no base any more."""
    checked: bool = False
    """The session check passed for this cycle: only then may success be told."""


@attrs.frozen
class Begin:
    first: bool
    """The document has had no turn yet; else its newest is given as the link `previous`."""


@attrs.frozen
class Prompt:
    first: bool
    """The document has had no cycle yet; else its newest is given as the link `newest`."""
    capture_unresolved: bool  # a link from part 2 on
    text: str = carried()


@attrs.frozen
class Preflight:
    baseline_diffed: bool
    """The saved baseline is the very text that was diffed."""
    editor_idle: bool


@attrs.frozen
class Plan:
    parse_valid: bool
    contract: str = carried()


@attrs.frozen
class Evidence:
    of_this_cycle: bool
    """The sign that the harness works names this turn's cycle."""


@attrs.frozen
class Baseline:
    baseline: Id
    rebased: bool
    """A rebase that provably contains the baseline was declared."""


@attrs.frozen
class Applied:
    base_current: bool
    """The result was computed from the text that is still visible."""
    user_text_kept: bool


@attrs.frozen
class Checked:
    session_checked: bool  # a link from part 2 on
    commit: str = carried()


@attrs.frozen
class Trouble:
    reason: str = carried()


@attrs.frozen
class Answer:
    text: str = carried()


@guard("single-active-turn", "a second turn starts only when no earlier one acts any more")
def previous_over(previous: Seen[TurnData] | None, first: bool) -> bool:
    return previous.state in Turn.over if previous is not None else first


@guard("single-active-turn", "an ended turn has one successor: of two that start at once the second waits")
def nothing_followed(previous: Seen[TurnData] | None) -> bool:
    return previous is None or previous.tallies["successors"] == 0


@guard("prompt-behind-closeout", "a prompt waits in the queue until the document's newest cycle has ended")
def no_open_cycle(newest: Seen[CycleData] | None, first: bool) -> bool:
    return newest.state in Cycle.ended and newest.tallies["successors"] == 0 if newest is not None else first


@guard("prompt-behind-closeout", "a prompt waits in the queue until every capture is resolved")
def no_unresolved_capture(capture_unresolved: bool) -> bool:
    return not capture_unresolved


@guard("baseline-matches-diff", "the baseline is the text that was diffed, or what changed in between is nobody's")
def baseline_matches(baseline_diffed: bool) -> bool:
    return baseline_diffed


@guard("baseline-matches-diff", "no preflight reads a text that the user is typing")
def user_idle(editor_idle: bool) -> bool:
    return editor_idle


@guard("single-open-cycle", "a preflight is open when its own cycle is, in the same commit")
def cycle_opened(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.state == Cycle.preflight_started


@guard("abandon-only-empty", "a captured response is closed out or recovered, and never cancelled away")
def uncaptured(cycle: Seen[CycleData] | None) -> bool:
    return cycle is None or not cycle.data.captured


@guard("abandon-only-empty", "its cycle ends in the same commit: abandoned while it is empty, else with a reason")
def cycle_ended(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.state in Cycle.ended


@guard("abandon-only-empty", "a cycle that was opened already ends in the same commit: a probe leaves none open")
def unopened_or_ended(cycle: Seen[CycleData] | None) -> bool:
    return cycle is None or cycle.state in Cycle.ended


@guard("parse-blocked-interrupts", "a document that cannot be parsed is given to nobody")
def parsed(parse_valid: bool) -> bool:
    return parse_valid


@guard("dispatch-proven-start", "work has begun when its sign names this cycle")
def begun(of_this_cycle: bool) -> bool:
    return of_this_cycle


@guard("baseline-binds-cycle", "the cycle accepts the capture first, in the same commit")
def cycle_captured(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.state == Cycle.response_captured


@guard(
    "baseline-binds-cycle", "a response stands on the baseline of its cycle, or on a declared rebase that contains it"
)
def baseline_bound(data: TurnData, baseline: Id, rebased: bool, cycle: Seen[CycleData] | None) -> bool:
    return rebased or (cycle is not None and baseline == cycle.data.baseline and not data.base_declared)


@guard("patch-base-current", "a result counts for the text that it was computed from, while that is visible")
def still_visible(base_current: bool) -> bool:
    return base_current


@guard("patch-base-current", "the user's text survives the merge")
def user_text_survives(user_text_kept: bool) -> bool:
    return user_text_kept


@guard("no-commit-explicit", "a turn without a commit closes its cycle in the same step: kept as it was written")
def cycle_kept(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.data.kept


@guard("success-after-check", "success is told after the commit of this cycle")
def cycle_committed(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.state == Cycle.committed and not cycle.data.kept


@guard("success-after-check", "success is told after the session check of this cycle")
def check_passed(session_checked: bool) -> bool:
    return session_checked


@guard("retry-needs-capture", "only a captured response can be closed out again")
def capture_exists(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.data.captured


baseline_proven = under(
    "retry-needs-capture", "a retry stands on the baseline of the capture, or on a proven rebase", baseline_bound
)


def born() -> TurnData:
    return TurnData()


def recorded(data: TurnData, rebased: bool) -> TurnData:
    return attrs.evolve(data, base_declared=data.base_declared or rebased)


def passed(data: TurnData) -> TurnData:
    return attrs.evolve(data, checked=True)


def plan(contract: str) -> str:
    """Give the harness the prompt targets and the contract; it owns the turn until it finalizes."""
    return contract


def closeout() -> None:
    """Commit, check and clean up (lifecycles/agent-doc-tables.md, 4)."""


def success(commit: str) -> str:
    """Allow the console summary: the document holds the answer."""
    return commit


@invariant("success-after-check", "a turn ends as committed only with a passed session check")
def success_checked(state: State, data: TurnData) -> bool:
    return state != Turn.committed or data.checked


@step_invariant("baseline-binds-cycle", "a declared rebase is never taken back")
def rebase_stays(before: TurnData, after: TurnData) -> bool:
    return after.base_declared or not before.base_declared


class Turn(Machine):
    """One prompt of one document: admitted, worked on by a harness, applied, committed."""

    successors = Tally()
    cycle = Link(Cycle, optional=True)
    """Its own, named at the start and opened with the preflight."""
    newest = Link(Cycle, per_event=True, optional=True)

    absent = State(initial=True)
    idle = State()
    admitted = State()
    preflight_opened = State()
    prompt_dispatched = State()
    agent_running = State()
    response_captured = State()
    apply_pending = State()
    apply_verified = State()
    commit_pending = State()
    interrupted = State()
    committed = State(final=True)
    no_commit_complete = State(final=True)
    abandoned = State(final=True)

    working = (prompt_dispatched, agent_running, response_captured, apply_pending, apply_verified, commit_pending)
    acting = (admitted, preflight_opened, *working, interrupted)
    over = (committed, no_commit_complete, abandoned)
    previous = Link(Self, optional=True, counts={successors: (idle, *acting, *over)})

    start: Event[Begin] = absent.to(idle, cond=[previous_over, nothing_followed], on=born)
    admit: Event[Prompt] = idle.to(admitted, cond=[no_open_cycle, no_unresolved_capture])
    open_preflight: Event[Preflight] = admitted.to(preflight_opened, cond=[baseline_matches, user_idle, cycle_opened])
    no_work: Event[None] = admitted.to(abandoned, cond=[uncaptured, unopened_or_ended]) | preflight_opened.to(
        abandoned, cond=[uncaptured, cycle_ended]
    )
    probe_cancelled: Event[None] = admitted.to(abandoned, cond=[uncaptured, unopened_or_ended]) | preflight_opened.to(
        abandoned, cond=[uncaptured, cycle_ended]
    )
    parse_blocked: Event[Trouble] = preflight_opened.to(interrupted)
    expose_plan: Event[Plan] = preflight_opened.to(prompt_dispatched, cond=parsed, after=plan)
    backend_accepted: Event[Evidence] = prompt_dispatched.to(agent_running, cond=begun)
    dispatch_failed: Event[Trouble] = prompt_dispatched.to(interrupted)
    captured: Event[Baseline] = agent_running.to(response_captured, cond=[cycle_captured, baseline_bound], on=recorded)
    cancel: Event[None] = agent_running.to(abandoned, cond=[uncaptured, cycle_ended])
    harness_interrupted: Event[Trouble] = agent_running.to(interrupted)
    operations_built: Event[None] = response_captured.to(apply_pending)
    verified: Event[Applied] = apply_pending.to(apply_verified, cond=[still_visible, user_text_survives])
    apply_blocked: Event[Trouble] = apply_pending.to(interrupted)
    commit_policy: Event[None] = apply_verified.to(commit_pending, after=closeout)
    no_commit_policy: Event[None] = apply_verified.to(no_commit_complete, cond=cycle_kept)
    commit_done: Event[Checked] = commit_pending.to(
        committed, cond=[cycle_committed, check_passed], on=passed, after=success
    )
    commit_blocked: Event[Trouble] = commit_pending.to(interrupted)
    retry: Event[Baseline] = interrupted.to(response_captured, cond=[capture_exists, baseline_proven], on=recorded)
    safe_abandon: Event[None] = interrupted.to(abandoned, cond=[uncaptured, cycle_ended])
    console_only: Event[Answer] = agent_running.to(agent_running)

    rules = [
        settled(
            console_only,
            when=over,
            rule="console-is-not-closeout",
            why="an answer that is only on the console completes nothing",
        ),
        refused(
            admit,
            when=(*working, interrupted),
            rule="single-active-turn",
            why="a document has at most one turn that acts",
        ),
        refused(
            commit_policy,
            no_commit_policy,
            when=(apply_pending, response_captured),
            rule="commit-needs-proof",
            why="only what was verified on the visible text is committed, or completed without a commit",
        ),
        rule("no-event-after-terminal", *over, why="an ended turn never changes: the next prompt is another turn"),
        rule("turn-order", absent, idle, *acting, why="a turn goes from prompt to closeout, one step at a time"),
    ]
    owes = {
        state: owe("turn-terminal-once", "a turn that was admitted ends, exactly once, with a reason")
        for state in acting
    }
    effects = [
        effect(plan, done=backend_accepted, failed=dispatch_failed, unknown=dispatch_failed),
        effect(closeout, done=commit_done, failed=commit_blocked, unknown=commit_blocked),
        fire_and_forget(success, "a courtesy: the document and its commit hold the answer"),
    ]
    invariants = [success_checked]
    step_invariants = [rebase_stays]
