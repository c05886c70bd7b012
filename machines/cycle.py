"""The document cycle: one response is captured, written into one document and committed, whatever crashes between.

What may race: two invocations that both open a cycle; a second capture after a failed commit; a foreign commit that
closes the cycle first; the timeout of an empty preflight against a late capture; a checkpoint writer that outlives its
cycle. Who wins: the first successor of an ended cycle, the first response, and whichever of commit and abandon comes
first. The losers are refused by rule, and the phase never goes back but for a capture that was provably retired.

Source: seed agent-doc-lifecycles, "Active Turn Lifecycle" (profile E2); lifecycles/agent-doc-tables.md, 1.

What it repairs: an open cycle is no longer overwritten by the next preflight, and of two that open at once one is
refused (the tally of successors; hole e.4-1); an ended cycle is never reopened or rewritten [as built, E1 and E2]; a
response is never replaced; nothing is written or committed without a response or a reason [as built: accepted]; a
commit surface that cannot be read is no permission [as built]; a captured cycle is rewound only when its capture was
retired [as built: from any open phase]. The first cycle of a document follows nothing: it is started under the
document's own id, so that there cannot be two. Where a document's policy makes no commit, `keep` closes the cycle with
what was written: it would else stay open, and every later prompt would wait behind it.
"""

from enum import Enum
from typing import Self

import attrs

from .kernel import (
    Event,
    Id,
    Link,
    Machine,
    Seen,
    State,
    Tally,
    carried,
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
    "Checkpoint",
    "Committing",
    "Cycle",
    "CycleData",
    "Facts",
    "GiveUp",
    "Opened",
    "Reason",
    "Response",
    "Rewind",
    "Written",
]


class Reason(Enum):
    """Why a cycle ends, or a patch is made, without a response."""

    PENDING_ONLY = "pending_only"
    NO_OP = "no_op"
    COMPACT = "compact"
    HANDOFF = "handoff"


@attrs.frozen
class CycleData:
    """What a cycle decides upon. Hashes of files and snapshots travel beside it."""

    baseline: Id
    """The text that the diff was made from; a finalize names it again."""
    response: Id | None = None
    """The captured response; none before the capture and after a rewind."""
    mutated: bool = False
    """Something of the document, its queue or its backlog was changed in this cycle."""
    reason: Reason | None = None
    """Why there is no response, once something was written or committed without one."""
    adoption_blocked: bool = False
    """An editor's image showed user text that this cycle must not absorb."""
    dropped: bool = False
    """A line of the user is missing from the adopted image, and not yet restored."""
    kept: bool = False
    """It was closed with what was written, and without a commit."""

    @property
    def captured(self) -> bool:
        return self.response is not None


@attrs.frozen
class Opened:
    baseline: Id
    first: bool
    """The document has had no cycle yet; else its newest is given as the link `previous`."""
    document: str = carried()


@attrs.frozen
class Response:
    response: Id
    body: str = carried()


@attrs.frozen
class Written:
    response: Id | None
    reason: Reason | None
    body_once: bool
    """The candidate text holds the response's body, once."""
    one_boundary: bool


@attrs.frozen
class Committing:
    reason: Reason | None
    in_staged: bool
    """The staged text holds the response's body."""
    in_archive: bool
    """An archive that HEAD references holds it."""
    commit: str = carried()


@attrs.frozen
class GiveUp:
    older_than_bound: bool
    explicit: bool
    why: str = carried()


@attrs.frozen
class Rewind:
    capture_retired: bool  # a link from part 2 on


@attrs.frozen
class Facts:
    mutated: bool
    adoption_blocked: bool
    dropped: bool


@attrs.frozen
class Checkpoint:
    same_cycle: bool
    """The writer still writes for this cycle."""
    text: str = carried()


@guard("single-open-cycle", "the previous cycle of the document is committed or abandoned first, never overwritten")
def previous_ended(previous: Seen[CycleData] | None, first: bool) -> bool:
    return previous.state in Cycle.ended if previous is not None else first


@guard("single-open-cycle", "an ended cycle has one successor: of two that open at once the second is refused")
def nothing_followed(previous: Seen[CycleData] | None) -> bool:
    return previous is None or previous.tallies["successors"] == 0


@guard("capture-before-mutation", "a response is captured before anything of the document is changed")
def untouched(data: CycleData) -> bool:
    return not data.mutated


@guard("one-response-per-cycle", "a cycle has one response: after a failed commit resume, never capture again")
def same_response(data: CycleData, response: Id | None) -> bool:
    return response is not None and response == data.response


@guard("write-needs-capture", "a write without a captured response says why there is none")
def reason_given(reason: Reason | None) -> bool:
    return reason is not None


@guard("patch-base-current", "what is written holds the captured response, once")
def holds_body_once(body_once: bool) -> bool:
    return body_once


@guard("patch-base-current", "what is written has exactly one boundary marker")
def holds_one_boundary(one_boundary: bool) -> bool:
    return one_boundary


@guard("commit-holds-response", "the response is in the staged text or in an archive that HEAD references")
def response_held(data: CycleData, in_staged: bool, in_archive: bool) -> bool:
    return data.reason is not None or (data.captured and (in_staged or in_archive))


@guard("abandon-only-empty", "what was captured or changed is committed or recovered, not abandoned")
def empty(data: CycleData) -> bool:
    return not data.captured and not data.mutated


@guard("abandon-only-empty", "a young cycle is not abandoned, unless somebody says so")
def old_or_explicit(older_than_bound: bool, explicit: bool) -> bool:
    return older_than_bound or explicit


@guard("phase-never-back", "only a retired capture leads back, and never from what was written")
def retired(capture_retired: bool) -> bool:
    return capture_retired


@guard("checkpoint-binds-cycle", "a checkpoint belongs to the cycle that its writer began with")
def own_checkpoint(same_cycle: bool) -> bool:
    return same_cycle


same_body = under("patch-base-current", "what is written is the response that was captured", same_response)
commit_explained = under("commit-needs-reason", "a commit without a response says why there is none", reason_given)


def born(baseline: Id) -> CycleData:
    return CycleData(baseline)


def captured(data: CycleData, response: Id) -> CycleData:
    return attrs.evolve(data, response=response)


def written(data: CycleData) -> CycleData:
    return attrs.evolve(data, mutated=True)


def written_without(data: CycleData, reason: Reason | None) -> CycleData:
    return attrs.evolve(data, mutated=True, reason=reason)


def explained(data: CycleData, reason: Reason | None) -> CycleData:
    return attrs.evolve(data, reason=reason)


def rewound(data: CycleData) -> CycleData:
    return attrs.evolve(data, response=None)


def kept(data: CycleData) -> CycleData:
    return attrs.evolve(data, kept=True)


def noted(data: CycleData, mutated: bool, adoption_blocked: bool, dropped: bool) -> CycleData:
    blocked = data.adoption_blocked or adoption_blocked
    return attrs.evolve(data, mutated=data.mutated or mutated, adoption_blocked=blocked, dropped=dropped)


@invariant("commit-needs-reason", "what is written or committed has a response, or else a reason to have none")
def has_cause(state: State, data: CycleData) -> bool:
    if state in (Cycle.write_applied, Cycle.committed):
        return data.captured is (data.reason is None)
    return data.reason is None


@invariant("abandon-only-empty", "an abandoned cycle leaves no response and no change: its prompt is still visible")
def leaves_nothing(state: State, data: CycleData) -> bool:
    return state != Cycle.abandoned or not (data.captured or data.mutated)


@invariant("one-response-per-cycle", "a cycle has no response before its capture")
def no_response_before(state: State, data: CycleData) -> bool:
    return state != Cycle.preflight_started or not data.captured


@invariant("no-commit-explicit", "what is kept without a commit is closed")
def kept_is_closed(state: State, data: CycleData) -> bool:
    return not data.kept or state == Cycle.committed


@step_invariant("one-response-per-cycle", "a captured response is kept or retired, and never replaced")
def never_replaced(before: CycleData, after: CycleData) -> bool:
    return before.response is None or after.response in (None, before.response)


@step_invariant("phase-never-back", "a mutation is never forgotten")
def mutation_stays(before: CycleData, after: CycleData) -> bool:
    return after.mutated or not before.mutated


@step_invariant("prompt-not-absorbed", "what was once not to be absorbed is not absorbed later in the same cycle")
def block_stays(before: CycleData, after: CycleData) -> bool:
    return after.adoption_blocked or not before.adoption_blocked


class Cycle(Machine):
    """One response of one document: opened, captured, written, committed; or abandoned while it is empty."""

    successors = Tally()
    delivered = Tally()
    """Patches that have brought its response into the document, or are about to."""

    absent = State(initial=True)
    preflight_started = State()
    response_captured = State()
    write_applied = State()
    committed = State(final=True)
    abandoned = State(final=True)

    opened = (preflight_started, response_captured, write_applied)
    ended = (committed, abandoned)
    previous = Link(Self, optional=True, counts={successors: (*opened, *ended)})

    start: Event[Opened] = absent.to(preflight_started, cond=[previous_ended, nothing_followed], on=born)
    capture: Event[Response] = preflight_started.to(
        response_captured, cond=untouched, on=captured
    ) | response_captured.to(response_captured, cond=same_response)
    write: Event[Written] = (
        preflight_started.to(write_applied, cond=reason_given, on=written_without)
        | response_captured.to(write_applied, cond=[same_body, holds_body_once, holds_one_boundary], on=written)
        | write_applied.to(write_applied, cond=same_response)
    )
    commit: Event[Committing] = preflight_started.to(committed, cond=commit_explained, on=explained) | committed.from_(
        response_captured, write_applied, cond=response_held
    )
    keep: Event[None] = write_applied.to(committed, on=kept)
    abandon: Event[GiveUp] = preflight_started.to(abandoned, cond=[empty, old_or_explicit])
    rewind: Event[Rewind] = response_captured.to(preflight_started, cond=retired, on=rewound) | preflight_started.to(
        preflight_started
    )
    bookkeep: Event[Facts] = (
        preflight_started.to(preflight_started, on=noted)
        | response_captured.to(response_captured, on=noted)
        | write_applied.to(write_applied, on=noted)
    )
    partial_checkpoint: Event[Checkpoint] = preflight_started.to(preflight_started, cond=own_checkpoint)

    rules = [
        settled(commit, when=committed, rule="terminal-idempotent", why="a repeated end changes no field and no time"),
        settled(abandon, when=abandoned, rule="terminal-idempotent"),
        refused(start, when=opened, rule="single-open-cycle", why="a document has at most one open cycle"),
        refused(
            capture, when=write_applied, rule="one-response-per-cycle", why="a cycle has one response, captured once"
        ),
        refused(
            abandon,
            when=(response_captured, write_applied),
            rule="abandon-only-empty",
            why="only a cycle without response and without mutation may be abandoned",
        ),
        refused(
            keep,
            when=(preflight_started, response_captured),
            rule="no-commit-explicit",
            why="a cycle is closed without a commit only where the policy says so, and with what was written",
        ),
        refused(rewind, when=write_applied, rule="phase-never-back", why="the phase of a cycle never goes back"),
        refused(
            partial_checkpoint,
            when=(response_captured, write_applied, *ended),
            rule="checkpoint-binds-cycle",
            why="a partial checkpoint belongs to a cycle that waits for its response: the writer stops itself",
        ),
        rule("no-event-after-terminal", *ended, why="a committed or abandoned cycle never changes: open another one"),
        rule("cycle-opened", absent, why="an event belongs to a cycle that a preflight has opened"),
    ]
    owes = {
        preflight_started: owe("cycle-ends", "an open cycle is committed, or abandoned while it is empty"),
        response_captured: owe("cycle-ends"),
        write_applied: owe("cycle-ends"),
    }
    invariants = [has_cause, leaves_nothing, no_response_before, kept_is_closed]
    step_invariants = [never_replaced, mutation_stays, block_stays]
