"""The session: one chat, and the two counters that stand in for every broadcast.

What may race: a claim, a Stop, a force-abandon, a soft close, a close, and the edge of a poison or a hard deletion.
Whoever moves a counter first wins: `epoch` is moved by what aborts (Stop, close, poison), `last` by what succeeds
(a claim, an abandon, a close that was undone). A witness keeps the epoch that it began with, a generation its number
too; nobody is told, everybody compares. Neither counter ever falls, so what was aborted stays aborted.

A soft close goes in order: it stops, its sweep decides every card of the chat (`undecided` counts those that are left),
owed rows are written, storage tickets drain, and it shuts. A direct close shuts first, and its sweep follows.

What it repairs: a direct close that loses the rows of owed calls (A5). The rows come first, in the close's own commit:
`fire_all([Session.stop, Toolcall.stop ..., Session.close])`. A close alone is never refused, but a call that it leaves
without a row has broken what it owed, `calls-closed-by-terminal`.

Source: lifecycles/turnstone-tables.md 0 and 1; seed turnstone-approval, "Cancellation boundary". `abandon` is the
session's half of a force-abandon (table 2): a transition changes one instance, so the number used up is used here.
"""

import attrs

from .kernel import (
    Epoch,
    Event,
    Machine,
    Principal,
    State,
    Tally,
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

__all__ = ["Abandon", "Claim", "Edge", "Opened", "Session", "SessionData", "signal"]


@attrs.frozen
class SessionData:
    """What everything in a chat compares itself with."""

    principal: Principal
    epoch: Epoch = 0
    """Moved by every Stop, close and poison edge; a witness whose own differs is aborted."""
    last: Epoch = 0
    """The number of the current generation; an older one is superseded."""
    draining: bool = False
    """Phase of a soft close: owed rows are settled, nothing more is published, storage tickets drain."""


@attrs.frozen
class Opened:
    principal: Principal


@attrs.frozen
class Claim:
    expected: Epoch | None
    """The epoch in which the worker was sent for; None when it was sent for none in particular."""


@attrs.frozen
class Edge:
    was_set: bool
    """Was the cancel flag of the current generation set already? Then there is no edge."""


@attrs.frozen
class Abandon:
    number: Epoch
    """The generation whose worker is to be abandoned."""


@guard("claim-debt-open", "a new generation waits until every admitted call of the last has its row")
def no_debt(owed: int) -> bool:
    return owed == 0


@guard("claim-epoch-current", "a worker sent for before a Stop ends as cancelled and claims nothing")
def as_expected(data: SessionData, expected: Epoch | None) -> bool:
    return expected is None or expected == data.epoch


@guard("epoch-monotone", "only the edge from unset to set moves the epoch")
def unset(was_set: bool) -> bool:
    return not was_set


@guard("force-binds-worker", "a force hits the generation that it was aimed at, never its successor")
def newest(data: SessionData, number: Epoch) -> bool:
    return number == data.last


@guard("close-denies-gates-first", "a soft close goes on when its sweep has left no card of the chat undecided")
def gates_denied(undecided: int) -> bool:
    return undecided == 0


@guard("close-waits-for-debt", "storage tickets are drained after the owed rows are settled")
def drains(data: SessionData) -> bool:
    return data.draining


@guard("close-waits-for-debt", "owed rows are settled once, before storage tickets are drained")
def waits(data: SessionData) -> bool:
    return not data.draining


all_settled = under("close-waits-for-debt", "a close goes on only when no call is owed a row", no_debt)
unowed = under("unscoped-commit-blocked", "a commit without generation waits until owed rows are written", no_debt)
unsealed = under("force-binds-worker", "once publication is shut, no force writes another row", waits)


def opened(principal: Principal) -> SessionData:
    return SessionData(principal)


def claimed(data: SessionData) -> SessionData:
    return attrs.evolve(data, last=data.last + 1)


def stopped(data: SessionData) -> SessionData:
    return attrs.evolve(data, epoch=data.epoch + 1)


def sealed(data: SessionData) -> SessionData:
    return attrs.evolve(data, draining=True)


def drained(data: SessionData) -> SessionData:
    return attrs.evolve(data, draining=False)


def undone(data: SessionData) -> SessionData:
    return attrs.evolve(data, draining=False, last=data.last + 1)


def closed(data: SessionData) -> SessionData:
    return attrs.evolve(data, draining=False, epoch=data.epoch + 1)


def signal(data: SessionData) -> Epoch:
    """Tell streams, child scopes and judges begun before this epoch to end."""
    return data.epoch


@step_invariant("epoch-monotone", "the cancel epoch never falls, so an aborted witness stays aborted")
def epoch_never_falls(before: SessionData, after: SessionData) -> bool:
    return before.epoch <= after.epoch


@step_invariant("generation-increases", "numbers only grow, one by one; an abandon uses up a number of its own")
def numbers_only_grow(before: SessionData, after: SessionData) -> bool:
    return before.last <= after.last <= before.last + 1


@invariant("close-waits-for-debt", "publication is shut only while a close goes on, and undone with it")
def drains_while_closing(state: State, data: SessionData) -> bool:
    return state == Session.closing or not data.draining


class Session(Machine):
    """One chat: open, closing on request, shut for good."""

    owed = Tally()
    undecided = Tally()

    absent = State(initial=True)
    open = State()
    closing = State()
    shut = State(final=True)

    start: Event[Opened] = absent.to(open, on=opened)
    claim: Event[Claim] = open.to(open, cond=[no_debt, as_expected], on=claimed)
    stop: Event[None] = open.to(open, on=stopped, after=signal) | closing.to(closing, on=stopped, after=signal)
    edge: Event[Edge] = (
        open.to(open, cond=unset, on=stopped)
        | open.to(open)
        | closing.to(closing, cond=unset, on=stopped)
        | closing.to(closing)
    )
    abandon: Event[Abandon] = open.to(open, cond=newest, on=claimed) | closing.to(
        closing, cond=[newest, unsealed], on=claimed
    )
    soft_close: Event[None] = open.to(closing, on=stopped, after=signal)
    debt_settled: Event[None] = closing.to(closing, cond=[waits, gates_denied, all_settled], on=sealed)
    debt_timeout: Event[None] = closing.to(open, cond=waits)
    tickets_settled: Event[None] = closing.to(shut, cond=[drains, gates_denied], on=drained)
    tickets_unsettled: Event[None] = closing.to(open, cond=drains, on=undone)
    close: Event[None] = open.to(shut, on=closed, after=signal) | closing.to(shut, on=closed, after=signal)
    commit_unscoped: Event[None] = open.to(open, cond=unowed)

    rules = [
        rule("session-open", absent, why="a session is opened first"),
        rule("close-not-begun", open, why="no close has begun that this could end"),
        rule("claim-session-closing", closing, why="what is closing takes no new work"),
        rule("no-event-after-terminal", shut, why="what has ended stays ended"),
        refused(claim, when=shut, rule="claim-session-shut", why="a closed session takes no new work"),
        refused(abandon, when=shut, rule="force-binds-worker"),
        refused(soft_close, when=closing, rule="close-once", why="one close at a time: this one closed nothing"),
        refused(start, when=(open, closing), rule="session-once", why="a session is opened once"),
        settled(
            stop, edge, soft_close, close, when=shut, rule="stop-is-idempotent", why="a repeated end changes nothing"
        ),
    ]
    owes = {closing: owe("close-refused-keeps-session", "a close that has begun shuts the session or gives it back")}
    effects = [fire_and_forget(signal, "guards refuse late work by its epoch; the signal only ends it sooner")]
    invariants = [drains_while_closing]
    step_invariants = [epoch_never_falls, numbers_only_grow]
