"""The approval cycle: one human-gated batch of tool calls, shown once, decided once, and told once.

What may race for one card: clicks, the deadline, a failing surface and the sweep of a Stop. Whoever fires first while
its guard holds decides; the others are refused by rule and told so. A Stop that comes first owns the outcome: nothing
is approved after it, and its sweep cancels what is left. A denial may follow it if its lease came before it; so may
the deadline, which needs no lease.

The latch (`publish`) comes after the release of the bundle's lease, so that no outcome overtakes a card on another
surface. Without a session there is no witness: people decide, and every sweep takes the cycle.

What it repairs: V1, a deadline after a Stop settles nothing and the card hangs for ever: here a Stop does not hinder
`time_out`, and `unregister` of an undecided card is refused. V4, a click leased before a Stop approves after it: here
the owner must be live now, too. V5, a card that only some surfaces saw is dropped without an outcome: here `seen` says
that one is owed.

Source: seed turnstone-approval, "Policy, Smart Approval, and human gate" and "Cancellation boundary";
lifecycles/turnstone-tables.md 9, with `show`, `tell` and `tell_failed` of its section 0; turnstone-races.md 1 to 23.
"""

from enum import Enum

import attrs

from .admission import Admission, AdmissionData
from .kernel import (
    Epoch,
    Event,
    Id,
    Link,
    Machine,
    Principal,
    Seen,
    State,
    carried,
    effect,
    guard,
    invariant,
    never,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
    under,
)
from .lease import Lease, LeaseData, aborted
from .session import Session, SessionData

__all__ = ["Approval", "ApprovalData", "Card", "Click", "Outcome", "Told", "announce", "card"]


class Outcome(Enum):
    APPROVED = "approved"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@attrs.frozen
class ApprovalData:
    """What a cycle decides upon. Cards, texts and times travel beside it."""

    digest: Id
    principal: Principal
    """For whom the batch would run; anybody else is a peer."""
    epoch: Epoch | None
    """The witness, taken over from the lease of the bundle: a Stop since then has moved the session's."""
    generation: Epoch | None
    bounded: bool
    """Does the wait for a person end at all?"""
    outcome: Outcome | None = None
    seen: bool = False
    """May a surface have shown the card? Then an outcome is owed to it."""


@attrs.frozen
class Card:
    digest: Id
    """Fingerprint of the arguments on the card."""
    principal: Principal
    bounded: bool
    """Does the wait end, as it was captured when the batch was prepared?"""
    text: str = carried()


@attrs.frozen
class Click:
    digest: Id
    """Fingerprint of what the person was looking at."""
    always: bool
    feedback: bool
    """Does the click carry words for the model?"""
    text: str = carried()


@attrs.frozen
class Told:
    approved: bool
    """What the surfaces were told: may the batch run?"""
    text: str = carried()


@guard("lease-after-stop", "a card goes out only under a lease, and none is granted after the Stop")
def leased(bundle: Seen[LeaseData]) -> bool:
    return bundle.state in (Lease.granted,)


@guard("lease-after-stop", "the latch is set when the lease of the whole bundle has been given back, never before")
def bundle_out(bundle: Seen[LeaseData]) -> bool:
    return bundle.state in (Lease.released,)


@guard("approval-has-request", "only a card that reached a surface can be decided")
def was_seen(data: ApprovalData) -> bool:
    return data.seen


@guard("approval-outcome-visible", "a card that may have been seen gets a visible outcome, and never just goes away")
def unseen(data: ApprovalData) -> bool:
    return not data.seen


@guard("approval-owner-live", "a click counts under a lease taken while the owner was live; else the sweep decides")
def leased_live(data: ApprovalData, lease: Seen[LeaseData]) -> bool:
    same = (lease.data.epoch, lease.data.generation) == (data.epoch, data.generation)
    return same and lease.state in (Lease.granted,)


@guard("approval-owner-live", "a Stop that came first owns the outcome: nothing is approved after it")
def owner_live(data: ApprovalData, session: Seen[SessionData] | None) -> bool:
    return not aborted(data.epoch, data.generation, session)


@guard("approval-peer-limits", "a peer may say yes or no, but neither Always nor words; an unknown says nothing")
def within_limits(data: ApprovalData, by: Principal | None, always: bool, feedback: bool) -> bool:
    return by is not None and (by == data.principal or not (always or feedback))


@guard("approval-binds-content", "what was approved is what was shown")
def as_shown(data: ApprovalData, digest: Id) -> bool:
    return data.digest == digest


@guard("approval-deadline-captured", "a wait that was captured as unbounded has no deadline")
def has_deadline(data: ApprovalData) -> bool:
    return data.bounded


@guard("sweep-spares-successor", "a sweep takes only the cycles of an owner that was stopped")
def owner_aborted(data: ApprovalData, session: Seen[SessionData] | None) -> bool:
    return aborted(data.epoch, data.generation, session)


@guard("sweep-spares-successor", "a sweep takes the cycles of an owner that was stopped, and those without one")
def sweepable(data: ApprovalData, session: Seen[SessionData] | None) -> bool:
    return data.epoch is None or aborted(data.epoch, data.generation, session)


@guard("sweep-begun", "only a sweep cancels a cycle")
def swept(admission: Seen[AdmissionData]) -> bool:
    return admission.state in (Admission.sweeping,)


@guard("sweep-drains-leases", "a sweep claims when the leases granted before it are given back")
def drained(admission: Seen[AdmissionData]) -> bool:
    return admission.tallies["active"] == 0


@guard("approval-outcome-visible", "the outcome that is shown equals the decision that was made")
def as_decided(data: ApprovalData, approved: bool) -> bool:
    return approved == (data.outcome is Outcome.APPROVED)


nobody_saw = under("approval-owner-aborted", "a card that nobody saw is withdrawn, with nothing to tell", unseen)


def born(digest: Id, principal: Principal, bounded: bool, bundle: Seen[LeaseData]) -> ApprovalData:
    return ApprovalData(digest, principal, bundle.data.epoch, bundle.data.generation, bounded)


def shown(data: ApprovalData) -> ApprovalData:
    return attrs.evolve(data, seen=True)


def approved(data: ApprovalData) -> ApprovalData:
    return attrs.evolve(data, outcome=Outcome.APPROVED)


def denied(data: ApprovalData) -> ApprovalData:
    return attrs.evolve(data, outcome=Outcome.DENIED)


def timed_out(data: ApprovalData) -> ApprovalData:
    return attrs.evolve(data, outcome=Outcome.TIMED_OUT)


def cancelled(data: ApprovalData) -> ApprovalData:
    return attrs.evolve(data, outcome=Outcome.CANCELLED)


def card(digest: Id, principal: Principal, bounded: bool, text: str) -> Card:
    """Show the card on every surface. A handler that fails half way fires `show` first; a time-out counts as seen."""
    return Card(digest, principal, bounded, text=text)


def announce(data: ApprovalData) -> Told:
    """Show the outcome wherever the card may have been seen, and wake the gate. Its handler returns what it showed."""
    return Told(data.outcome is Outcome.APPROVED, text=data.outcome.value if data.outcome else "")


@invariant("approval-resolved-once", "a cycle has an outcome exactly when somebody decided it")
def outcome_when_decided(state: State, data: ApprovalData) -> bool:
    return (data.outcome is not None) == (state in (Approval.resolved, Approval.told))


@invariant("approval-outcome-visible", "a card that any surface may have seen never just goes away")
def seen_is_not_withdrawn(state: State, data: ApprovalData) -> bool:
    return not data.seen or state not in (Approval.withdrawn,)


@step_invariant("approval-resolved-once", "a decision, once made, never changes")
def outcome_is_final(before: ApprovalData, after: ApprovalData) -> bool:
    return before.outcome in (None, after.outcome)


class Approval(Machine):
    """One card: registered, published, resolved once, told once; or withdrawn before anybody saw it."""

    absent = State(initial=True)
    registered = State()
    published = State()
    resolved = State()
    told = State(final=True)
    withdrawn = State(final=True)
    undecided, ended = (registered, published), (told, withdrawn)

    session = Link(Session, optional=True, counts={Session.undecided: undecided})
    admission = Link(Admission, counts={Admission.untold: (resolved,)})
    bundle = Link(Lease)
    lease = Link(Lease, per_event=True)

    start: Event[Card] = absent.to(registered, cond=leased, on=born, after=card)
    show: Event[None] = registered.to(registered, on=shown) | published.to(published)
    publish: Event[None] = registered.to(published, cond=[bundle_out, was_seen])
    publish_failed: Event[None] = registered.to(withdrawn, cond=unseen) | registered.to(
        resolved, on=cancelled, after=announce
    )
    approve: Event[Click] = published.to(
        resolved, cond=[leased_live, owner_live, within_limits, as_shown], on=approved, after=announce
    )
    deny: Event[Click] = published.to(resolved, cond=[leased_live, within_limits], on=denied, after=announce)
    time_out: Event[None] = published.to(resolved, cond=has_deadline, on=timed_out, after=announce)
    cancel: Event[None] = (
        registered.to(withdrawn, cond=[owner_aborted, swept, drained, nobody_saw])
        | registered.to(resolved, cond=[owner_aborted, swept, drained], on=cancelled, after=announce)
        | published.to(resolved, cond=[sweepable, swept, drained], on=cancelled, after=announce)
    )
    tell: Event[Told] = resolved.to(told, cond=as_decided)
    tell_failed: Event[None] = resolved.to(told)
    unregister: Event[None] = never()

    over = (resolved, *ended)
    rules = [
        rule("approval-has-request", absent, why="there is no card before one is registered"),
        rule("no-event-after-terminal", *over, why="what has been decided takes no other turn"),
        refused(start, otherwise=True, rule="approval-published-once"),
        refused(publish, publish_failed, when=published, rule="approval-published-once", why="a card goes out once"),
        refused(approve, deny, time_out, when=registered, rule="approval-has-request"),
        refused(
            approve, deny, time_out, cancel, when=over, rule="approval-resolved-once", why="the first decision stands"
        ),
        refused(tell, tell_failed, when=(*undecided, *ended), rule="approval-outcome-visible"),
        refused(unregister, when=(*undecided, resolved), rule="approval-outcome-visible"),
        settled(
            unregister, when=ended, rule="approval-settled-by-terminal", why="a card leaves when told, or never seen"
        ),
    ]
    owes = {
        registered: owe("approval-settled-by-terminal"),
        published: owe("approval-settled-by-terminal"),
        resolved: owe("approval-outcome-visible"),
    }
    effects = [
        effect(card, done=show, failed=publish_failed, unknown=show),
        effect(announce, done=tell, failed=tell_failed, unknown=tell_failed),
    ]
    invariants = [outcome_when_decided, seen_is_not_withdrawn]
    step_invariants = [outcome_is_final]
