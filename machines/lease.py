"""The lease: a counted, not exclusive, permission of one thread to change what people see of approvals.

What may race: the request and a Stop, the grant and a sweep. A Stop that comes first refuses it; a sweep that comes
first lets it wait, for a fresh owner is delayed and never denied; a lease that comes first is drained by the sweep.
What its holder has begun under it, a Stop does not undo: the card of a bundle and a denial may come after it.

A lease belongs to a witness: the epoch and the generation that its owner began with, given with the request because the
owner may be older than the request. A click on a cycle gives the cycle's; a click on nothing in particular follows the
current operation and gives the session's own. Without a session there is no witness, and nothing can abort it.

Source: lifecycles/turnstone-tables.md 7 as its section 0 splits it: `request` is `start` and its answer `grant` or
`refuse`; `witness_aborted` is the `refuse` of a waiting one; `storage` is asked of the lease of the writing thread.
"""

import attrs

from .admission import Admission, AdmissionData
from .kernel import Epoch, Event, Link, Machine, Seen, State, guard, owe, rule, settled
from .kernel import refused as refusal
from .session import Session, SessionData

__all__ = ["Asked", "Lease", "LeaseData", "aborted"]


@attrs.frozen
class LeaseData:
    """The witness. A lease is granted only while this is live, so once granted it says when that was."""

    epoch: Epoch | None
    generation: Epoch | None


@attrs.frozen
class Asked:
    epoch: Epoch | None
    """The epoch in which the owner began; None when there is no owner."""
    generation: Epoch | None
    """The owner's generation; None when there is no owner."""


def aborted(epoch: Epoch | None, generation: Epoch | None, session: Seen[SessionData] | None) -> bool:
    """Is a witness stopped, superseded or shut? Monotone. No owner is never aborted; one that cannot be read is."""
    if session is None or epoch is None:
        return (session is None) != (epoch is None)
    return (session.data.epoch, session.data.last) != (epoch, generation) or session.state in (Session.shut,)


@guard("lease-after-stop", "nothing visible begins for an owner that was stopped, superseded or shut")
def owner_live(data: LeaseData, session: Seen[SessionData] | None) -> bool:
    return not aborted(data.epoch, data.generation, session)


@guard("sweep-delays-successor", "while a sweep runs, a request of a live owner waits: it is delayed, not denied")
def no_sweep(admission: Seen[AdmissionData]) -> bool:
    return admission.state in (Admission.open,)


@guard("sweep-delays-successor", "only the request of an aborted owner is refused; any other waits for its grant")
def owner_aborted(data: LeaseData, session: Seen[SessionData] | None) -> bool:
    return aborted(data.epoch, data.generation, session)


def requested(epoch: Epoch | None, generation: Epoch | None) -> LeaseData:
    return LeaseData(epoch, generation)


class Lease(Machine):
    """One permission: asked for, granted and given back, or refused."""

    durable = False

    absent = State(initial=True)
    asked = State()
    granted = State()
    released = State(final=True)
    refused = State(final=True)

    session = Link(Session, optional=True)
    admission = Link(Admission, counts={Admission.active: (granted,)})

    start: Event[Asked] = absent.to(asked, on=requested)
    grant: Event[None] = asked.to(granted, cond=[owner_live, no_sweep])
    refuse: Event[None] = asked.to(refused, cond=owner_aborted)
    release: Event[None] = granted.to(released)
    storage: Event[None] = asked.to(asked)
    owner_lost: Event[None] = asked.to(refused) | granted.to(released)

    rules = [
        rule("lease-counted", absent, asked, granted, why="a lease is asked for, granted and given back once each"),
        rule("no-event-after-terminal", released, refused, why="what has ended stays ended"),
        refusal(release, when=(released, refused), rule="lease-counted"),
        refusal(storage, when=granted, rule="no-storage-in-lease", why="a thread that holds a lease writes no storage"),
        settled(storage, when=(released, refused), rule="no-storage-in-lease"),
        settled(owner_lost, when=(released, refused), rule="stop-is-idempotent", why="a repeated end changes nothing"),
    ]
    owes = {granted: owe("lease-counted")}
