"""The dispatch: one attempt to start a turn by typing a trigger into the pane of a running harness.

What may race: a ready proof against the `busy` that came after it; two attempts for one pane; a restart that moves
the generation; a turn that begins after the keys were authorized; a foreign key press while the trigger is on its way;
the deadline against a slow harness. Who wins: the last word of the actor's record and of the document's newest cycle,
read when the keys are authorized and again when they are sent; of several attempts the first whose keys are in flight.
The losers inject nothing, say so, and leave the prompt queued or visible.

Source: seed agent-doc-lifecycles, "Dispatch Readiness Block" (profile E2); lifecycles/agent-doc-tables.md, 5.

What it repairs: an idle look is no proof; a proof that finds a stale `busy` first moves the actor to ready and then
counts, in one commit; a `busy` that an attempt was not told of voids its proof too (the actor counts them); attempts
for one pane see each other through the actor's tally (races 79, 80); a turn that began after the keys were authorized
holds them back (race 79); acceptance is no start; an attempt types at most once in its life, whatever resets it; a
proven attempt is over, and the next request is another one. [E4] passes a plain trigger to a busy pane: not here.
"""

from enum import Enum
from typing import Self

import attrs

from .actor import Actor, ActorData
from .cycle import Cycle, CycleData
from .kernel import (
    Epoch,
    Event,
    Id,
    Link,
    Machine,
    Seen,
    State,
    carried,
    effect,
    fire_and_forget,
    guard,
    invariant,
    never,
    owe,
    refused,
    rule,
    step_invariant,
    under,
)

__all__ = [
    "Authorization",
    "Dispatch",
    "DispatchData",
    "Mode",
    "Pane",
    "Proof",
    "Repeat",
    "Request",
    "StartProof",
    "Trigger",
    "keys",
    "not_dispatched",
    "wait_behind",
]


class Mode(Enum):
    """Who dispatches: a route that may only type, or a supervisor that may also queue."""

    DISPATCH_ONLY = "dispatch_only"
    MANAGED = "managed"


@attrs.frozen
class DispatchData:
    """What an attempt decides upon. Trigger texts and times travel beside it."""

    mode: Mode
    prompt_work: bool
    """There is a prompt to be answered, not only a document to be looked at."""
    generation: Epoch | None = None
    session: Id | None = None
    pane: Id | None = None
    lapses: Epoch | None = None
    """The actor's count of lapses when the ready proof counted: a busy sign since then has moved it."""
    injected: bool = False
    """Keys were sent in this attempt: it never sends any again."""


@attrs.frozen
class Request:
    mode: Mode
    prompt_work: bool
    first: bool
    """No attempt was made for this document yet; else the newest is given as the link `previous`."""


@attrs.frozen
class Pane:
    generation: Epoch
    session: Id
    pane: Id


@attrs.frozen
class Proof:
    generation: Epoch
    taken_after_busy: bool
    """The harness proved its prompt after its last busy or starting sign."""
    authority_sound: bool
    """The store of the actor's record can be trusted now."""


@attrs.frozen
class Authorization:
    generation: Epoch
    session: Id
    pane: Id
    kind_as_recorded: bool
    first: bool
    """The document has had no cycle yet; else its newest is given as the link `cycle`."""
    capture_open: bool  # a link from part 2 on
    lease_held_by_other: bool  # a link from part 2 on


@attrs.frozen
class Trigger:
    first: bool
    """The document has had no cycle yet; else its newest is given as the link `cycle`.

    The first cycle's id is known before it is there: who gives it even so learns of one that was opened meanwhile.
    """
    capture_open: bool  # a link from part 2 on
    lease_held_by_other: bool  # a link from part 2 on
    text: str = carried()
    own_draft: bool = carried(False)
    """The same text already stands in the composer: Enter alone."""


@attrs.frozen
class StartProof:
    generation: Epoch
    pane_changed: bool


@attrs.frozen
class Repeat:
    generation: Epoch


@guard("inject-at-most-once", "another attempt for this document is settled first: repeat it as a duplicate")
def previous_settled(previous: Seen[DispatchData] | None, first: bool) -> bool:
    return previous.state in (Dispatch.proven, Dispatch.blocked) if previous is not None else first


@guard("pane-binds-document", "another document's pane, session or generation is never evidence")
def pane_of_document(generation: Epoch, session: Id, pane: Id, actor: Seen[ActorData]) -> bool:
    return (generation, session, pane) == (actor.data.generation, actor.data.session, actor.data.pane)


@guard("pane-binds-document", "a closed owner's pane is nobody's")
def owner_open(actor: Seen[ActorData]) -> bool:
    return actor.state in Actor.live


@guard("dispatch-needs-proof", "a proof counts for the generation that gave it, while that is the current one")
def proof_current(data: DispatchData, generation: Epoch, actor: Seen[ActorData]) -> bool:
    return generation == data.generation and generation == actor.data.generation


@guard("dispatch-needs-proof", "a proof from before the last busy sign is void")
def proof_newest(taken_after_busy: bool) -> bool:
    return taken_after_busy


@guard("dispatch-needs-proof", "the actor's record says ready, if need be since this very proof")
def actor_ready(actor: Seen[ActorData]) -> bool:
    return actor.state in (Actor.ready,)


@guard("dispatch-needs-proof", "a degraded authority authorizes nothing")
def authority_kept(authority_sound: bool) -> bool:
    return authority_sound


@guard("prompt-behind-closeout", "the prompt is queued behind the open cycle of its document")
def no_open_cycle(cycle: Seen[CycleData] | None, first: bool) -> bool:
    return cycle.state in Cycle.ended and cycle.tallies["successors"] == 0 if cycle is not None else first


@guard("prompt-behind-closeout", "the prompt is queued behind the unresolved capture of its document")
def no_open_capture(capture_open: bool) -> bool:
    return not capture_open


@guard("dispatch-binds-generation", "session, pane and generation are those of the actor's record")
def as_recorded(data: DispatchData, generation: Epoch, session: Id, pane: Id, actor: Seen[ActorData]) -> bool:
    recorded = (actor.data.generation, actor.data.session, actor.data.pane)
    return (generation, session, pane) == recorded == (data.generation, data.session, data.pane)


@guard("dispatch-binds-generation", "the kind of command is one that the record allows")
def kind_allowed(kind_as_recorded: bool) -> bool:
    return kind_as_recorded


@guard("dispatch-binds-generation", "the other driver of the queue holds the lease")
def lease_free(lease_held_by_other: bool) -> bool:
    return not lease_held_by_other


@guard("inject-at-most-once", "this attempt has sent its keys already")
def not_injected(data: DispatchData) -> bool:
    return not data.injected


@guard("inject-at-most-once", "the actor is still ready, in the same pane and generation")
def still_ready(data: DispatchData, actor: Seen[ActorData]) -> bool:
    same = (data.generation, data.pane) == (actor.data.generation, actor.data.pane)
    return same and actor.state in (Actor.ready,)


@guard("inject-at-most-once", "the actor was seen not to take input since its proof: it is to be proven anew")
def never_lapsed(data: DispatchData, actor: Seen[ActorData]) -> bool:
    return data.lapses == actor.data.lapses


@guard("inject-at-most-once", "the keys of another attempt are in flight for this pane")
def nobody_types(actor: Seen[ActorData]) -> bool:
    return actor.tallies["in_flight"] == 0


@guard("dispatch-proven-start", "a start counts for the generation that was typed into")
def same_generation(data: DispatchData, generation: Epoch, actor: Seen[ActorData]) -> bool:
    return generation == data.generation and generation == actor.data.generation


@guard("dispatch-proven-start", "accepted keys have started a turn when a newer cycle is open or the pane has changed")
def turn_started(cycle: Seen[CycleData] | None, pane_changed: bool) -> bool:
    """An open cycle is a newer one: when the keys were authorized, the newest had ended."""
    return pane_changed or (cycle is not None and cycle.state in Cycle.opened)


@guard("dispatch-order", "a repeat of another generation is another request")
def same_request(data: DispatchData, generation: Epoch) -> bool:
    return generation == data.generation


untyped = under("dispatch-order", "what was typed is settled by its start or its deadline", not_injected)
pane_quiet = under("pane-single-writer", "the keys of an attempt are in flight for this pane", nobody_types)


def born(mode: Mode, prompt_work: bool) -> DispatchData:
    return DispatchData(mode, prompt_work)


def bound(data: DispatchData, generation: Epoch, session: Id, pane: Id) -> DispatchData:
    return attrs.evolve(data, generation=generation, session=session, pane=pane, lapses=None)


def proved(data: DispatchData, actor: Seen[ActorData]) -> DispatchData:
    return attrs.evolve(data, lapses=actor.data.lapses)


def unbound(data: DispatchData) -> DispatchData:
    return attrs.evolve(data, generation=None, session=None, pane=None, lapses=None)


def typed(data: DispatchData) -> DispatchData:
    return attrs.evolve(data, injected=True)


def keys(data: DispatchData, text: str, own_draft: bool) -> tuple[Id | None, str]:
    """Type the text and Enter into the pane, once; an own draft needs Enter alone."""
    return data.pane, "" if own_draft else text


def wait_behind(data: DispatchData) -> str:
    """What becomes of the request while the pane is busy: queued if there is work, else reported as not dispatched."""
    return "queue" if data.prompt_work or data.mode is Mode.MANAGED else "not_dispatched"


def not_dispatched(data: DispatchData) -> str:
    """Tell the caller that no start is proven, and whether keys were sent."""
    return "not_proven" if data.injected else "not_dispatched"


@invariant("inject-at-most-once", "keys that are in flight were sent by this attempt")
def flight_was_typed(state: State, data: DispatchData) -> bool:
    return state not in (Dispatch.in_flight, Dispatch.accepted, Dispatch.proven) or data.injected


@invariant("dispatch-binds-generation", "whatever is known of a pane is known of a generation")
def pane_has_generation(state: State, data: DispatchData) -> bool:
    return state not in Dispatch.bound_states or None not in (data.generation, data.session, data.pane)


@invariant("dispatch-needs-proof", "what may be typed, or was, has a proof")
def typing_has_proof(state: State, data: DispatchData) -> bool:
    return state not in Dispatch.ready_states or data.lapses is not None


@step_invariant("inject-at-most-once", "that keys were sent is never forgotten")
def injection_stays(before: DispatchData, after: DispatchData) -> bool:
    return after.injected or not before.injected


class Dispatch(Machine):
    """One attempt of one request: a pane, a proof, an authorization, one injection, a proven start."""

    cycle = Link(Cycle, per_event=True, optional=True)
    previous = Link(Self, optional=True)

    absent = State(initial=True)
    unknown = State()
    pane_known = State()
    prompt_ready = State()
    authorized = State()
    in_flight = State()
    accepted = State()
    proven = State(final=True)
    blocked = State()

    looking = (unknown, pane_known, prompt_ready, authorized)
    typing = (in_flight, accepted)
    ready_states = (prompt_ready, authorized, *typing, proven)
    bound_states = (pane_known, *ready_states)
    actor = Link(Actor, counts={Actor.in_flight: typing})

    start: Event[Request] = absent.to(unknown, cond=previous_settled, on=born)
    pane_observed: Event[Pane] = pane_known.from_(
        unknown, pane_known, blocked, cond=[pane_of_document, owner_open], on=bound
    )
    ready_proof: Event[Proof] = prompt_ready.from_(
        pane_known, prompt_ready, cond=[proof_current, proof_newest, actor_ready, authority_kept], on=proved
    )
    idle_look: Event[None] = never()
    busy_seen: Event[None] = pane_known.from_(prompt_ready, authorized, cond=untyped) | pane_known.to(
        pane_known, after=wait_behind
    )
    starting_seen: Event[None] = pane_known.from_(prompt_ready, authorized, cond=untyped) | pane_known.to(
        pane_known, after=wait_behind
    )
    terminal_seen: Event[None] = blocked.from_(*looking, after=not_dispatched)
    authorize: Event[Authorization] = prompt_ready.to(
        authorized, cond=[no_open_cycle, no_open_capture, as_recorded, kind_allowed, lease_free]
    )
    inject: Event[Trigger] = authorized.to(
        in_flight,
        cond=[not_injected, still_ready, never_lapsed, nobody_types, no_open_cycle, no_open_capture, lease_free],
        on=typed,
        after=keys,
    )
    acceptance: Event[None] = in_flight.to(accepted)
    start_proof: Event[StartProof] = accepted.to(proven, cond=[same_generation, turn_started])
    deadline: Event[None] = blocked.from_(*looking, *typing, after=not_dispatched)
    duplicate: Event[Repeat] = (
        pane_known.to(pane_known, cond=same_request)
        | prompt_ready.to(prompt_ready, cond=same_request)
        | authorized.to(authorized, cond=same_request)
        | in_flight.to(in_flight, cond=same_request)
        | accepted.to(accepted, cond=same_request)
    )
    generation_moved: Event[None] = blocked.from_(pane_known, prompt_ready, authorized, *typing, after=not_dispatched)
    other_key: Event[None] = (
        unknown.to(unknown, cond=pane_quiet)
        | pane_known.to(pane_known, cond=pane_quiet)
        | prompt_ready.to(prompt_ready, cond=pane_quiet)
        | authorized.to(authorized, cond=pane_quiet)
        | blocked.to(blocked, cond=pane_quiet)
    )
    reset: Event[None] = unknown.from_(unknown, pane_known, prompt_ready, blocked, on=unbound) | blocked.from_(
        authorized, *typing, after=not_dispatched
    )

    rules = [
        refused(
            idle_look,
            when=(unknown, pane_known, prompt_ready),
            rule="dispatch-needs-proof",
            why="nothing is typed without a proof that this harness takes input now",
        ),
        refused(inject, when=(unknown, pane_known, prompt_ready), rule="dispatch-needs-proof"),
        refused(
            inject, authorize, when=typing, rule="inject-at-most-once", why="one logical request is typed at most once"
        ),
        refused(inject, duplicate, when=proven, rule="inject-at-most-once"),
        refused(
            other_key,
            when=in_flight,
            rule="pane-single-writer",
            why="no other key goes into a pane while a trigger is on its way",
        ),
        refused(
            inject,
            authorize,
            ready_proof,
            acceptance,
            start_proof,
            when=blocked,
            rule="dispatch-fails-closed",
            why="only a new look at the pane, or a reset, leads out of a blocked attempt",
        ),
        rule("no-event-after-terminal", proven, why="a proven start is over: the next request is another attempt"),
        rule(
            "dispatch-order",
            absent,
            *looking,
            *typing,
            blocked,
            why="an attempt goes from pane to proof to keys to start, and skips nothing",
        ),
    ]
    owes = {
        in_flight: owe("accepted-is-not-started", "sent keys are proven to have started a turn, or told as not proven"),
        accepted: owe("accepted-is-not-started"),
    }
    effects = [
        effect(keys, done=acceptance, failed=deadline, unknown=deadline),
        fire_and_forget(wait_behind, "the queue collapses repeats of one head, and a lost report loses no prompt"),
        fire_and_forget(not_dispatched, "the prompt stays queued or visible, whether or not the caller hears it"),
    ]
    invariants = [flight_was_typed, pane_has_generation, typing_has_proof]
    step_invariants = [injection_stays]
