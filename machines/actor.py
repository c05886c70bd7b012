"""The actor: the one authoritative record of the session and pane that serve a document, and of their generation.

What may race: two starts for one document; a take-over against a report of the old owner; a restart against a late
`ready`; two documents that claim one pane; a dispatcher that still holds the old generation. Who wins: the claim that
read the committed generation last (compare and swap; the record alone counts, never a log). A report of another
generation, session or pane is refused and changes nothing.

Source: seed agent-doc-lifecycles, "Dispatch Readiness Block"; lifecycles/agent-doc-tables.md, 6 (`missing` = `absent`).

What it repairs: a capability proof makes an actor ready only if it is also a ready proof [as built: also a busy one];
an alive pane is never silently replaced, and a displaced document loses the pane first (races 86 to 89). `closed` is
no end: the record outlives its owner, and the next one rebinds it. The tally lets dispatches see each other; the count
of lapses tells them of a busy sign that they missed.
"""

from typing import Self

import attrs

from .kernel import (
    Epoch,
    Event,
    Id,
    Link,
    Machine,
    Seen,
    State,
    Tally,
    carried,
    guard,
    never,
    refused,
    rule,
    step_invariant,
    under,
)

__all__ = ["Actor", "ActorData", "Capability", "Claim", "Rebind", "Report"]

NO_RECORD: Epoch = 0
"""The committed generation of a document that has no record: its first owner gets generation 1."""


@attrs.frozen
class ActorData:
    """Who serves the document. Window, harness and times travel beside it."""

    generation: Epoch
    session: Id
    pane: Id
    capabilities: frozenset[Id] = frozenset()
    """What this generation has proven; a new generation begins with none."""
    lapses: Epoch = 0
    """How often it was seen not to take input: a ready proof from before the last of these is void."""


@attrs.frozen
class Claim:
    committed: Epoch
    """The generation that the claimant read as committed; its own will be the next."""
    session: Id
    pane: Id
    pane_free: bool
    """No other document's record names this pane; else that record is given as the link `displaced`."""


@attrs.frozen
class Rebind:
    committed: Epoch
    session: Id
    pane: Id
    pane_free: bool
    owner_dead: bool
    """The old owner is provably dead."""
    handed_over: bool
    """An operator handed the document over."""


@attrs.frozen
class Report:
    generation: Epoch
    session: Id
    pane: Id
    detail: str = carried()


@attrs.frozen
class Capability:
    generation: Epoch
    session: Id
    pane: Id
    capability: Id
    ready_proof: bool
    """It also proves that the prompt of this harness takes input now."""


@guard("generation-cas", "a first owner follows no committed generation, whatever a log says")
def no_record(committed: Epoch) -> bool:
    return committed == NO_RECORD


@guard("generation-cas", "the next generation follows the committed one: somebody else was faster")
def as_committed(data: ActorData, committed: Epoch) -> bool:
    return committed == data.generation


@guard("pane-binds-document", "a pane serves one document: its old owner's record is closed first")
def pane_given_up(pane_free: bool, displaced: Seen[ActorData] | None) -> bool:
    return displaced.state == Actor.closed if displaced is not None else pane_free


@guard("pane-binds-document", "an alive pane is never silently replaced: its owner is closed, dead or handed over")
def owner_gone(owner_dead: bool, handed_over: bool) -> bool:
    return owner_dead or handed_over


@guard("dispatch-binds-generation", "a report counts for the generation, session and pane that made it")
def of_this_owner(data: ActorData, generation: Epoch, session: Id, pane: Id) -> bool:
    return generation == data.generation and session == data.session and pane == data.pane


@guard("actor-order", "a capability alone says nothing about a prompt that takes input")
def proves_ready(ready_proof: bool) -> bool:
    return ready_proof


pane_free_at_birth = under("generation-cas", "the old owner of the pane is evicted in the same commit", pane_given_up)
as_committed_still = under("pane-binds-document", "the pane got another owner since this one looked", as_committed)


def born(session: Id, pane: Id) -> ActorData:
    return ActorData(NO_RECORD + 1, session, pane)


def rebound(data: ActorData, session: Id, pane: Id) -> ActorData:
    return ActorData(data.generation + 1, session, pane, lapses=data.lapses + 1)


def lapsed(data: ActorData) -> ActorData:
    return attrs.evolve(data, lapses=data.lapses + 1)


def capable(data: ActorData, capability: Id) -> ActorData:
    return attrs.evolve(data, capabilities=data.capabilities | {capability})


@step_invariant("generation-cas", "the generation never falls")
def generation_grows(before: ActorData, after: ActorData) -> bool:
    return before.generation <= after.generation


@step_invariant("pane-binds-document", "another session or pane is another generation")
def owner_has_generation(before: ActorData, after: ActorData) -> bool:
    same = before.session == after.session and before.pane == after.pane
    return same or before.generation < after.generation


@step_invariant("dispatch-binds-generation", "nothing that an old generation proved is believed of a new one")
def proven_anew(before: ActorData, after: ActorData) -> bool:
    return before.generation == after.generation or not after.capabilities


@step_invariant("dispatch-needs-proof", "that it was seen not to take input is never forgotten")
def lapses_stay(before: ActorData, after: ActorData) -> bool:
    return before.lapses <= after.lapses


class Actor(Machine):
    """The session and pane that serve one document, as one record with a generation."""

    in_flight = Tally()
    displaced = Link(Self, per_event=True, optional=True)

    absent = State(initial=True)
    starting = State()
    ready = State()
    busy = State()
    waiting_input = State()
    restarting = State()
    stale = State()
    closed = State()
    live = (starting, ready, busy, waiting_input, restarting, stale)

    start: Event[Claim] = absent.to(starting, cond=[no_record, pane_free_at_birth], on=born)
    rebind: Event[Rebind] = starting.from_(
        *live, cond=[owner_gone, pane_given_up, as_committed_still], on=rebound
    ) | closed.to(starting, cond=[pane_given_up, as_committed_still], on=rebound)
    starting_seen: Event[Report] = starting.from_(*live, cond=of_this_owner, on=lapsed)
    ready_seen: Event[Report] = ready.from_(*live, cond=of_this_owner)
    capability_proof: Event[Capability] = (
        ready.from_(starting, busy, waiting_input, restarting, stale, cond=[of_this_owner, proves_ready], on=capable)
        | starting.to(starting, cond=of_this_owner, on=capable)
        | ready.to(ready, cond=of_this_owner, on=capable)
        | busy.to(busy, cond=of_this_owner, on=capable)
        | waiting_input.to(waiting_input, cond=of_this_owner, on=capable)
        | restarting.to(restarting, cond=of_this_owner, on=capable)
        | stale.to(stale, cond=of_this_owner, on=capable)
    )
    busy_seen: Event[Report] = busy.from_(ready, busy, cond=of_this_owner, on=lapsed)
    waiting_seen: Event[Report] = waiting_input.from_(
        starting, ready, busy, waiting_input, cond=of_this_owner, on=lapsed
    )
    restart_requested: Event[Report] = restarting.from_(*live, cond=of_this_owner, on=lapsed)
    restart_done: Event[Report] = starting.from_(restarting, stale, cond=of_this_owner, on=lapsed)
    stale_seen: Event[Report] = stale.from_(*live, cond=of_this_owner, on=lapsed)
    closed_seen: Event[Report] = closed.from_(*live, closed, cond=of_this_owner)
    report_foreign: Event[Report] = never()

    rules = [
        refused(
            start,
            when=(*live, closed),
            rule="pane-binds-document",
            why="a document has one owner and one pane, and a pane one document",
        ),
        refused(
            report_foreign,
            when=(absent, *live, closed),
            rule="dispatch-binds-generation",
            why="only the current generation, session and pane are heard",
        ),
        refused(busy_seen, when=(starting, waiting_input, restarting, stale), rule="actor-order"),
        refused(waiting_seen, when=(restarting, stale), rule="actor-order"),
        refused(restart_done, when=(starting, ready, busy, waiting_input), rule="actor-order"),
        rule("actor-order", absent, why="a report follows the life that its harness can have: start, work, restart"),
        rule("actor-closed-final", closed, why="a closed owner does not come back: rebind makes another generation"),
    ]
    step_invariants = [generation_grows, owner_has_generation, proven_anew, lapses_stay]
