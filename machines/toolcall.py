"""The tool call: from the batch that admits it to its one row in the history, whatever ends the turn.

What may race: the gate, the executor, the output guard and the fold on one side, a Stop, a force-abandon and a close on
the other. Before a Stop the call goes its way and `answer` writes its row inside the fold; from the Stop on nothing
new is cleared, started or reviewed, and the cancel path writes the row (`stop`), or the force does (`force_abandon`).
Whoever writes first wins, the other learns that it is done; `answered` is the only end: never two rows, never none. A
generation that a force has replaced writes no row any more, on whatever path: the force answers for it.

Each row tells the truth about the effect: none, because it never started; unknown; observed, but not reviewed; or what
was staged. Guarded text that missed its fold is dropped, never smuggled in by a later cleanup.

What it repairs: an approval cannot outlive its call. Gate and cycle are named when the call is born, and must not exist
then; the gate, because policy denies there without a card.

Source: lifecycles/turnstone-tables.md 0 and 3; seed turnstone-approval. `start` in the table is `execute` here.
"""

from enum import Enum
from typing import Any

import attrs

from .approval import Approval, ApprovalData, Outcome
from .gate import Gate, GateData
from .generation import Generation, GenerationData, aborted
from .kernel import (
    Event,
    Id,
    Link,
    Machine,
    Seen,
    State,
    guard,
    invariant,
    monitor,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
    under,
)
from .kernel.snapshot import Snapshot
from .session import Session, SessionData

__all__ = ["Bypass", "Prepared", "Reason", "Staged", "Toolcall", "ToolcallData", "Wrote"]


class Staged(Enum):
    """What stands ready to be the row of a call that brought no result."""

    DENIED = "denied"
    ERROR = "error"
    RECEIPT = "receipt"


class Wrote(Enum):
    """What the one row of a call says."""

    RESULT = "result"
    STAGED = "staged"
    NEVER_STARTED = "never_started"
    UNKNOWN = "unknown"
    OBSERVED = "observed"


class Reason(Enum):
    """Why a call runs without being asked for."""

    POLICY = "policy"
    SKILL = "skill"
    ALWAYS = "always"
    BLANKET = "blanket"
    AUTO_APPROVE_TOOLS = "auto_approve_tools"
    SMART_APPROVAL = "smart_approval"


@attrs.frozen
class ToolcallData:
    needs_approval: bool = True
    digest: Id | None = None
    """Fingerprint of what the card shows for this call; taken once, when the call is prepared."""
    staged: Staged | None = None
    wrote: Wrote | None = None


@attrs.frozen
class Prepared:
    digest: Id
    needs_approval: bool


@attrs.frozen
class Bypass:
    reason: Reason | None
    """None: something else than one of the six."""


Owner = Seen[GenerationData]
Context = Seen[SessionData]
Cycle = Seen[ApprovalData]


@guard("no-new-work-after-cancel", "once its owner is aborted a call is neither cleared nor started")
def owner_live(generation: Owner, session: Context) -> bool:
    return generation.state == Generation.active and not aborted(generation.data, session)


@guard("toolcall-order", "a call is owed from the commit that admits its batch")
def admitted(generation: Owner) -> bool:
    return generation.data.batch


@guard("approval-binds-call", "a gate or a card that was there before the call was not asked about it")
def unasked(gate: Seen[GateData] | None, cycle: Cycle | None) -> bool:
    return gate is None and cycle is None


@guard("approval-has-request", "what needs approval is asked for")
def needs_approval(data: ToolcallData) -> bool:
    return data.needs_approval


@guard("bypass-has-reason", "no call is waved through without one of the six reasons")
def has_reason(reason: Reason | None) -> bool:
    return reason is not None


@guard("approval-binds-call", "only the approved outcome of its own cycle clears a call")
def allowed(cycle: Cycle | None) -> bool:
    if cycle is None or cycle.state not in (Approval.resolved, Approval.told):
        return False
    return cycle.data.outcome is Outcome.APPROVED


@guard("approval-binds-call", "a call is denied by its card, or before that by policy at its gate; never once approved")
def was_denied(gate: Seen[GateData] | None, cycle: Cycle | None) -> bool:
    outcome = cycle.data.outcome if cycle is not None else None
    if outcome is None:
        return gate is not None and gate.data.any_denied
    return outcome in (Outcome.DENIED, Outcome.TIMED_OUT)


@guard("approval-binds-call", "an approval is for the content that was prepared, and for no other")
def as_prepared(data: ToolcallData, cycle: Cycle | None) -> bool:
    return cycle is not None and data.digest is not None and data.digest == cycle.data.digest


@guard("generation-superseded", "the row of a call is written by its own generation: an orphan writes nothing")
def current(generation: Owner, session: Context) -> bool:
    return session.data.last == generation.data.number


@guard("generation-superseded", "once a close has shut publication no turn writes a row any more")
def unsealed(session: Context) -> bool:
    return not session.data.draining and session.state != Session.shut


@guard("no-commit-after-stop", "guarded text is folded before a Stop or never; after it only what is staged")
def folds_or_staged(data: ToolcallData, generation: Owner, session: Context) -> bool:
    return data.staged is not None or owner_live(generation, session)


@guard("cancel-has-cause", "a call ends cancelled only if its turn was stopped, or ended over it")
def cancelled(generation: Owner, session: Context) -> bool:
    return session.data.epoch != generation.data.epoch or generation.state == Generation.poisoned


@guard("force-binds-worker", "a force answers the calls of the generation that it has just replaced, and no other's")
def replaced(generation: Owner, session: Context) -> bool:
    return session.data.last != generation.data.number


guard_live = under("guard-refused-after-stop", "what the guard returns after a Stop is refused", owner_live)


def born() -> ToolcallData:
    return ToolcallData()


def prepared_as(data: ToolcallData, digest: Id, needs_approval: bool) -> ToolcallData:
    return attrs.evolve(data, digest=digest, needs_approval=needs_approval)


def error_staged(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, staged=Staged.ERROR)


def denial_staged(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, staged=Staged.DENIED)


def receipt_staged(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, staged=Staged.RECEIPT)


def folded(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, wrote=Wrote.STAGED if data.staged else Wrote.RESULT)


def never_started(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, wrote=Wrote.NEVER_STARTED)


def effect_unknown(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, wrote=Wrote.UNKNOWN)


def content_omitted(data: ToolcallData) -> ToolcallData:
    return attrs.evolve(data, wrote=Wrote.STAGED if data.staged else Wrote.OBSERVED)


def session_shut(session: Context) -> bool:
    return session.state in (Session.shut,)


def _watched(seen: tuple[bool, bool], _: str, __: Snapshot[Any], after: Snapshot[Any]) -> tuple[bool, bool]:
    """Did it run, and was it then said never to have started?"""
    ran = seen[0] or after.state in (Toolcall.running,)
    return ran, seen[1] or (ran and after.data.wrote is Wrote.NEVER_STARTED)


def _lied(seen: tuple[bool, bool]) -> bool:
    return seen[1]


honest = monitor(
    "outcome-honest", "what ran is never said not to have started", start=(False, False), advance=_watched, bad=_lied
)


@invariant("call-result-exactly-once", "an answered call has its row, and no other call has one")
def row_when_answered(state: State, data: ToolcallData) -> bool:
    return (state in (Toolcall.answered,)) is (data.wrote is not None)


@invariant("approval-binds-content", "content is fingerprinted when its call is prepared, and not before")
def no_digest_before(state: State, data: ToolcallData) -> bool:
    return data.digest is None or state not in (Toolcall.owed,)


@invariant("outcome-honest", "what is staged for a call waits for review, and is what its row says")
def staged_is_written(state: State, data: ToolcallData) -> bool:
    if state in (Toolcall.answered,):
        return (data.staged is not None) is (data.wrote is Wrote.STAGED)
    return data.staged is None or state in (Toolcall.reviewed,)


@step_invariant("approval-binds-content", "content, once fingerprinted, never changes, and what is staged stays")
def content_stays(before: ToolcallData, after: ToolcallData) -> bool:
    return before.digest in (None, after.digest) and before.staged in (None, after.staged)


class Toolcall(Machine):
    """One call of a batch: prepared, gated or bypassed, run, reviewed, answered once."""

    absent = State(initial=True)
    owed = State()
    prepared = State()
    gated = State()
    cleared = State()
    running = State()
    observed = State()
    reviewed = State()
    answered = State(final=True)

    unanswered = (owed, prepared, gated, cleared, running, observed, reviewed)
    session = Link(Session, counts={Session.owed: unanswered})
    generation = Link(Generation, counts={Generation.owed: unanswered})
    gate = Link(Gate, optional=True)
    cycle = Link(Approval, optional=True)

    start: Event[None] = absent.to(owed, cond=[owner_live, admitted, unasked], on=born)
    prepare_ok: Event[Prepared] = owed.to(prepared, on=prepared_as)
    prepare_failed: Event[None] = owed.to(reviewed, on=error_staged)
    gate_opened: Event[None] = prepared.to(gated, cond=needs_approval) | prepared.to(cleared)
    bypassed: Event[Bypass] = prepared.to(cleared, cond=has_reason) | gated.to(cleared, cond=has_reason)
    approved: Event[None] = gated.to(cleared, cond=[owner_live, allowed, as_prepared])
    denied: Event[None] = reviewed.from_(prepared, gated, cond=was_denied, on=denial_staged)
    gate_cancelled: Event[None] = (
        prepared.to(reviewed, on=receipt_staged)
        | gated.to(reviewed, on=receipt_staged)
        | cleared.to(reviewed, on=receipt_staged)
    )
    execute: Event[None] = cleared.to(running, cond=owner_live)
    result: Event[None] = running.to(observed)
    guard_returned: Event[None] = observed.to(reviewed, cond=guard_live)
    guard_refused: Event[None] = observed.to(observed)
    answer: Event[None] = reviewed.to(answered, cond=[current, unsealed, folds_or_staged], on=folded)
    stop: Event[None] = (
        owed.to(answered, cond=[current, cancelled], on=never_started)
        | prepared.to(answered, cond=[current, cancelled], on=never_started)
        | gated.to(answered, cond=[current, cancelled], on=never_started)
        | cleared.to(answered, cond=[current, cancelled], on=never_started)
        | running.to(answered, cond=[current, cancelled], on=effect_unknown)
        | observed.to(answered, cond=[current, cancelled], on=content_omitted)
        | reviewed.to(answered, cond=[current, cancelled], on=content_omitted)
    )
    force_abandon: Event[None] = (
        owed.to(answered, cond=replaced, on=effect_unknown)
        | prepared.to(answered, cond=replaced, on=effect_unknown)
        | gated.to(answered, cond=replaced, on=effect_unknown)
        | cleared.to(answered, cond=replaced, on=effect_unknown)
        | running.to(answered, cond=replaced, on=effect_unknown)
        | observed.to(answered, cond=replaced, on=content_omitted)
        | reviewed.to(answered, cond=replaced, on=content_omitted)
    )

    rules = [
        rule("result-has-call", absent, why="a result names a call that was admitted"),
        rule("toolcall-order", *unanswered),
        rule("no-event-after-terminal", answered, why="what has ended stays ended"),
        refused(start, when=(*unanswered, answered), rule="call-id-unique", why="one id announces one call"),
        refused(execute, when=gated, rule="no-exec-before-approval"),
        refused(execute, when=(running, observed, reviewed, answered), rule="exec-at-most-once", why="it ran already"),
        refused(
            result,
            when=(owed, prepared, gated, cleared),
            rule="no-exec-before-approval",
            why="what was not cleared does not run",
        ),
        refused(
            answer,
            when=(owed, prepared, gated, cleared),
            rule="approved-call-gets-result",
            why="a call that never ran has no result to answer with",
        ),
        refused(result, answer, when=answered, rule="call-result-exactly-once", why="never a second result"),
        settled(
            stop, force_abandon, when=answered, rule="stop-is-idempotent", why="a repeated end signal changes nothing"
        ),
    ]
    owes = {
        state: owe("calls-closed-by-terminal", "a call gets its row before its session shuts", until=session_shut)
        for state in unanswered
    }
    invariants = [row_when_answered, no_digest_before, staged_is_written]
    step_invariants = [content_stays]
    monitors = [honest]
