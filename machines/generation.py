"""The generation: one claimed turn of a session, and the only one that may commit while it lasts.

What may race: the worker's own commits and exit, a Stop, a force-abandon, a close and a successor. A Stop that comes
first refuses every commit but cleanup; a successor or a force that comes first refuses everything (an orphan writes
nothing); an exit that comes first is final. Nothing is sent to a generation: it keeps the epoch and the number with
which it began and compares them with its session's, so `stopping` is `active` seen from a moved epoch.

One commit each, in this order: `[Session.claim, Generation.start]`; `[tools_admitted, Toolcall.start ...]`;
`[Toolcall.answer ..., fold]`; `[Toolcall.stop ..., rows_complete]`; `[Session.abandon, Toolcall.force_abandon ...,
force_abandon]`; `[exit_..., Session.edge]` where an exit poisons. The debt is the tally `owed`, never a copy of it.

Source: lifecycles/turnstone-tables.md 0 and 2; seed turnstone-approval, "Cancellation boundary".
"""

import attrs

from .kernel import (
    Epoch,
    Event,
    Link,
    Machine,
    Seen,
    State,
    Tally,
    guard,
    never,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
    under,
)
from .session import Session, SessionData

__all__ = ["Claimed", "Commit", "Force", "Generation", "GenerationData", "aborted"]


@attrs.frozen
class GenerationData:
    """What a turn began with. The two counters are its witness and never change."""

    number: Epoch
    epoch: Epoch
    batch: bool = False
    """Are calls admitted that may join? Closed by the fold, or by the rows that a cancel writes."""


@attrs.frozen
class Claimed:
    number: Epoch
    """The number that the claim gave."""


@attrs.frozen
class Commit:
    deleted: bool  # a link from part 2 on
    """Is the workstream deleted for good?"""
    convergence: bool  # a link from part 2 on
    """Does the commit belong to the lane that brings a deleted workstream to its end?"""


@attrs.frozen
class Force:
    slot_pinned: bool  # a link from part 2 on
    """Does the worker slot still hold the worker that the force was aimed at?"""


def aborted(data: GenerationData, session: Seen[SessionData]) -> bool:
    """Is a witness of this generation aborted? Monotone: what this says once it says for ever."""
    moved = session.data.epoch != data.epoch or session.data.last != data.number
    return moved or session.state == Session.shut


@guard("claim-session-shut", "a closed session takes no new work")
def not_shut(session: Seen[SessionData]) -> bool:
    return session.state != Session.shut


@guard("claim-session-closing", "what is closing takes no new work")
def not_closing(session: Seen[SessionData]) -> bool:
    return session.state != Session.closing


@guard("claim-debt-open", "a new generation waits until every admitted call of the last has its row")
def no_debt_left(session: Seen[SessionData]) -> bool:
    return session.tallies["owed"] == 0


@guard("generation-increases", "a turn begins under the number that its claim has just given")
def newest(number: Epoch, session: Seen[SessionData]) -> bool:
    return number == session.data.last


@guard("close-is-terminal", "nothing is published once a close has shut publication")
def publishing(session: Seen[SessionData]) -> bool:
    return session.state != Session.shut and not session.data.draining


@guard("generation-superseded", "nothing of an older generation is admitted: an orphan writes nothing")
def current(data: GenerationData, session: Seen[SessionData]) -> bool:
    return session.data.last == data.number


@guard("no-commit-after-stop", "from Stop to exit nothing is admitted but cleanup")
def unstopped(data: GenerationData, session: Seen[SessionData]) -> bool:
    return session.data.epoch == data.epoch


@guard("cancel-has-cause", "a generation ends cancelled only if it was stopped")
def was_stopped(data: GenerationData, session: Seen[SessionData]) -> bool:
    return session.data.epoch != data.epoch


@guard("workstream-gone", "nothing but convergence is admitted after hard deletion")
def has_workstream(deleted: bool, convergence: bool) -> bool:
    return convergence or not deleted


@guard("claim-debt-open", "a batch is admitted when no call of the last one is owed a row")
def no_debt(owed: int) -> bool:
    return owed == 0


@guard("late-handle-refused", "a stream of a stopped, ended or shut generation is closed at once")
def live(data: GenerationData, session: Seen[SessionData]) -> bool:
    return not aborted(data, session)


@guard("force-binds-worker", "force hits only the pinned worker")
def pinned(slot_pinned: bool) -> bool:
    return slot_pinned


@guard("generation-increases", "an abandon uses up a number of its own, and a successor ends what came before it")
def outnumbered(data: GenerationData, session: Seen[SessionData]) -> bool:
    return session.data.last != data.number


@guard("close-is-terminal", "only a close of the session closes its generation")
def session_is_shut(session: Seen[SessionData]) -> bool:
    return session.state in (Session.shut,)


whole_batch = under("calls-closed-by-terminal", "a fold writes exactly one row for every call of its batch", no_debt)
paid = under("calls-closed-by-terminal", "an exit ends its turn when no row is owed; else it only poisons", no_debt)
all_rows = under("call-result-exactly-once", "the debt is paid when every owed call has its one row", no_debt)
repaired = under("generation-poisoned", "a poisoned generation ends when its owed rows are written", no_debt)
calls_settled = under("force-settles-calls", "a force answers every owed call in the same commit", no_debt)
unshut = under("force-binds-worker", "a force writes nothing into a shut session", publishing)


def begun(number: Epoch, session: Seen[SessionData]) -> GenerationData:
    return GenerationData(number, session.data.epoch)


def batch_opened(data: GenerationData) -> GenerationData:
    return attrs.evolve(data, batch=True)


def batch_closed(data: GenerationData) -> GenerationData:
    return attrs.evolve(data, batch=False)


@step_invariant("generation-increases", "a generation keeps its number, and a witness its epoch, for life")
def witness_stays(before: GenerationData, after: GenerationData) -> bool:
    return (before.number, before.epoch) == (after.number, after.epoch)


class Generation(Machine):
    """One turn: active until it exits, is superseded or shut; poisoned while an exit left rows owed."""

    session = Link(Session)
    owed = Tally()

    absent = State(initial=True)
    active = State()
    poisoned = State()
    finished = State(final=True)
    stopped = State(final=True)
    failed = State(final=True)
    abandoned = State(final=True)
    closed = State(final=True)

    start: Event[Claimed] = absent.to(active, cond=[not_shut, not_closing, no_debt_left, newest], on=begun)
    admit: Event[Commit] = active.to(active, cond=[publishing, current, has_workstream]) | poisoned.to(
        poisoned, cond=[publishing, current, has_workstream]
    )
    admit_uncancelled: Event[Commit] = active.to(active, cond=[publishing, current, unstopped, has_workstream])
    tools_admitted: Event[None] = active.to(active, cond=[publishing, current, unstopped, no_debt], on=batch_opened)
    fold: Event[None] = active.to(active, cond=[publishing, current, unstopped, whole_batch], on=batch_closed)
    rows_complete: Event[None] = active.to(active, cond=[publishing, current, all_rows], on=batch_closed) | poisoned.to(
        stopped, cond=[publishing, current, repaired], on=batch_closed
    )
    stream_registered: Event[None] = active.to(active, cond=live)
    late_result: Event[None] = never()
    exit_ok: Event[None] = (
        active.to(finished, cond=[current, paid, unstopped])
        | active.to(stopped, cond=[current, paid])
        | active.to(poisoned, cond=current)
    )
    exit_cancelled: Event[None] = active.to(stopped, cond=[current, was_stopped, paid]) | active.to(
        poisoned, cond=[current, was_stopped]
    )
    exit_failed: Event[None] = active.to(failed, cond=[current, paid]) | active.to(poisoned, cond=current)
    force_abandon: Event[Force] = active.to(
        abandoned, cond=[pinned, unshut, outnumbered, calls_settled], on=batch_closed
    ) | poisoned.to(abandoned, cond=[pinned, unshut, outnumbered, calls_settled], on=batch_closed)
    superseded: Event[None] = active.to(abandoned, cond=outnumbered)
    session_shut: Event[None] = active.to(closed, cond=session_is_shut) | poisoned.to(closed, cond=session_is_shut)

    rules = [
        rule("generation-claimed", absent, why="a generation is claimed first"),
        rule("generation-poisoned", poisoned, why="over owed rows only repair, Stop and force are possible"),
        rule("no-event-after-terminal", finished, stopped, failed, abandoned, closed, why="what has ended stays ended"),
        refused(start, when=active, rule="generation-increases"),
        refused(late_result, when=active, rule="result-has-call", why="a result names a call that is owed"),
        refused(stream_registered, when=(finished, stopped, failed, abandoned, closed), rule="late-handle-refused"),
        refused(admit, admit_uncancelled, fold, late_result, when=abandoned, rule="generation-superseded"),
        settled(
            session_shut,
            when=(finished, stopped, failed, abandoned, closed),
            rule="stop-is-idempotent",
            why="a repeated end changes nothing",
        ),
    ]
    owes = {
        active: owe("turn-terminal-once", "a turn ends, exactly once"),
        poisoned: owe("turn-terminal-once"),
    }
    step_invariants = [witness_stays]
