"""lifecycles/agent-doc-tables.md, table 5: the dispatch. A `reset` of a proven attempt is a new one (section 0)."""

from collections.abc import Mapping
from typing import Any

import attrs

from ...machines.actor import Actor, ActorData
from ...machines.cycle import Cycle, CycleData
from ...machines.dispatch import Dispatch, DispatchData, Mode
from ...machines.kernel import Seen, State
from .row import Row

__all__ = ["ROWS"]

D = Dispatch
FOLLOWS = "section 0: an event that leads out of an ended state is the start of a new instance that reads the old one"

ASKED = DispatchData(Mode.DISPATCH_ONLY, True)
SEATED = attrs.evolve(ASKED, generation=3, session="s1", pane="p1")
BOUND = attrs.evolve(SEATED, lapses=0)
"""... and has, or had, a proof."""
TYPED = attrs.evolve(BOUND, injected=True)
UNBOUND_TYPED = attrs.evolve(ASKED, injected=True)
RECORD = ActorData(3, "s1", "p1")

Links = Mapping[str, Seen[Any] | None]


def actor(state: State, data: ActorData = RECORD, in_flight: int = 0) -> Links:
    return {"actor": Seen(state, data, {"in_flight": in_flight})}


def cycle(state: State, successors: int = 0) -> Links:
    """The newest cycle of the document, as far as the caller knows."""
    return {"cycle": Seen(state, CycleData("base"), {"successors": successors})}


def earlier(state: State) -> Links:
    return {"previous": Seen(state, TYPED)}


READY = actor(Actor.ready)
READY_AGAIN = actor(Actor.ready, attrs.evolve(RECORD, lapses=1))
STARTING = actor(Actor.starting)
MOVED = actor(Actor.ready, ActorData(4, "s2", "p2"))
OTHER_PANE = actor(Actor.ready, ActorData(3, "s1", "p2"))
NOTHING: Links = {}

PANE = {"generation": 3, "session": "s1", "pane": "p1"}
PAYLOADS: dict[str, dict[str, Any]] = {
    "start": {"mode": Mode.DISPATCH_ONLY, "prompt_work": True, "first": True},
    "pane_observed": PANE,
    "ready_proof": {"generation": 3, "taken_after_busy": True, "authority_sound": True},
    "authorize": {**PANE, "kind_as_recorded": True, "first": True, "capture_open": False, "lease_held_by_other": False},
    "inject": {"first": True, "capture_open": False, "lease_held_by_other": False},
    "start_proof": {"generation": 3, "pane_changed": True},
    "duplicate": {"generation": 3},
}
"""What each event carries when nothing is wrong; the others carry nothing that decides."""


AS_IT_IS: Mapping[str, Any] = {}


def row(
    id: str,
    states: tuple[State, ...],
    event: Any,
    to: State | str | None,
    rule: str,
    links: Links = READY,
    data: DispatchData | None = BOUND,
    then: DispatchData | None = None,
    note: str = "",
    payload: Mapping[str, Any] = AS_IT_IS,
) -> Row:
    given = {**PAYLOADS.get(event.name, {}), **payload}
    return Row(id, D, states, (event,), to, rule, data, given, links, then=then, note=note)


LOOKING = (D.unknown, D.pane_known, D.prompt_ready, D.authorized)
TYPING = (D.in_flight, D.accepted)
EVENTS = (
    D.pane_observed,
    D.ready_proof,
    D.idle_look,
    D.busy_seen,
    D.starting_seen,
    D.terminal_seen,
    D.authorize,
    D.inject,
    D.acceptance,
    D.start_proof,
    D.deadline,
    D.duplicate,
    D.generation_moved,
    D.other_key,
    D.reset,
)
NAMED: dict[State, tuple[Any, ...]] = {
    D.unknown: (D.pane_observed, D.idle_look, D.terminal_seen, D.deadline, D.reset, D.other_key, D.inject),
    D.pane_known: (
        D.pane_observed,
        D.ready_proof,
        D.idle_look,
        D.busy_seen,
        D.starting_seen,
        D.terminal_seen,
        D.deadline,
        D.duplicate,
        D.generation_moved,
        D.reset,
        D.other_key,
        D.inject,
    ),
    D.prompt_ready: (
        D.ready_proof,
        D.idle_look,
        D.busy_seen,
        D.starting_seen,
        D.terminal_seen,
        D.authorize,
        D.deadline,
        D.duplicate,
        D.generation_moved,
        D.reset,
        D.other_key,
        D.inject,
    ),
    D.authorized: (
        D.busy_seen,
        D.starting_seen,
        D.terminal_seen,
        D.inject,
        D.deadline,
        D.duplicate,
        D.generation_moved,
        D.reset,
        D.other_key,
    ),
    D.in_flight: (
        D.other_key,
        D.acceptance,
        D.deadline,
        D.duplicate,
        D.generation_moved,
        D.reset,
        D.inject,
        D.authorize,
    ),
    D.accepted: (
        D.start_proof,
        D.deadline,
        D.duplicate,
        D.generation_moved,
        D.reset,
        D.inject,
        D.authorize,
    ),
    D.blocked: (
        D.pane_observed,
        D.reset,
        D.inject,
        D.authorize,
        D.ready_proof,
        D.acceptance,
        D.start_proof,
        D.other_key,
    ),
}
"""The events that the table names for a state that is not proven: any other is out of order."""

ROWS = [
    # births, and what comes before them
    row("section-0-births", (D.absent,), D.start, D.unknown, "", data=None, then=ASKED),
    row(
        "section-0-births",
        (D.absent,),
        D.start,
        None,
        "inject-at-most-once",
        data=None,
        payload={"first": False},
        note="neither the first attempt nor after another one: what is missing is no permission",
    ),
    *(row("section-0-births", (D.absent,), event, None, "dispatch-order", data=None) for event in EVENTS),
    # the pane
    *(
        row(
            "agent-doc-5.1",
            (D.unknown, D.pane_known, D.blocked),
            D.pane_observed,
            D.pane_known,
            "dispatch-binds-generation",
            actor(state),
            data,
            then,
        )
        for data, then in ((ASKED, SEATED), (BOUND, SEATED), (UNBOUND_TYPED, attrs.evolve(SEATED, injected=True)))
        for state in (Actor.starting, Actor.ready, Actor.busy, Actor.waiting_input, Actor.restarting, Actor.stale)
    ),
    *(
        row(
            "agent-doc-5.2",
            (D.unknown, D.pane_known, D.blocked),
            D.pane_observed,
            None,
            "pane-binds-document",
            links,
            ASKED,
            payload=wrong,
        )
        for links, wrong in (
            (READY, {"pane": "p9"}),
            (READY, {"session": "s9"}),
            (READY, {"generation": 2}),
            (MOVED, {}),
            (actor(Actor.closed), {}),
        )
    ),
    row(
        "agent-doc-5.2",
        (D.unknown, D.pane_known, D.blocked),
        D.pane_observed,
        None,
        "link-present",
        NOTHING,
        ASKED,
        note="no record of the document: nothing is evidence",
    ),
    # the proof
    *(
        row("agent-doc-5.3", (D.pane_known, D.prompt_ready), D.ready_proof, D.prompt_ready, "", links, data, then)
        for links, data, then in (
            (READY, BOUND, BOUND),
            (READY, SEATED, BOUND),
            (READY_AGAIN, BOUND, attrs.evolve(BOUND, lapses=1)),
        )
    ),
    *(
        row(
            "agent-doc-5.4",
            (D.pane_known, D.prompt_ready),
            D.ready_proof,
            None,
            "dispatch-needs-proof",
            links,
            data,
            payload=wrong,
        )
        for links, data, wrong in (
            (READY, BOUND, {"taken_after_busy": False}),
            (READY, BOUND, {"authority_sound": False}),
            (READY, BOUND, {"generation": 2}),
            (MOVED, BOUND, {}),
            (READY, attrs.evolve(BOUND, generation=2), {}),
            (STARTING, BOUND, {}),
            (actor(Actor.busy), BOUND, {}),
            (actor(Actor.waiting_input), BOUND, {}),
            (actor(Actor.closed), BOUND, {}),
        )
    ),
    row("agent-doc-5.5", (D.unknown, D.pane_known, D.prompt_ready), D.idle_look, None, "dispatch-needs-proof"),
    *(
        row(
            "agent-doc-5.6",
            (D.prompt_ready, D.authorized),
            event,
            D.pane_known,
            "dispatch-needs-proof",
            STARTING,
            then=BOUND,
        )
        for event in (D.busy_seen, D.starting_seen)
    ),
    *(
        row("agent-doc-5.7", (D.pane_known,), event, D.pane_known, "no-inject-into-busy", STARTING, data, data)
        for event in (D.busy_seen, D.starting_seen)
        for data in (BOUND, TYPED, attrs.evolve(BOUND, prompt_work=False), attrs.evolve(BOUND, mode=Mode.MANAGED))
    ),
    row("agent-doc-5.8", LOOKING, D.terminal_seen, D.blocked, "dispatch-fails-closed", actor(Actor.closed), then=BOUND),
    # authorization
    *(
        row(
            "agent-doc-5.9",
            (D.prompt_ready,),
            D.authorize,
            D.authorized,
            "dispatch-binds-generation",
            {**READY, **links},
            then=BOUND,
            payload={"first": first},
        )
        for links, first in (
            (NOTHING, True),
            (cycle(Cycle.committed), False),
            (cycle(Cycle.abandoned), False),
        )
    ),
    *(
        row(
            "agent-doc-5.10",
            (D.prompt_ready,),
            D.authorize,
            None,
            "prompt-behind-closeout",
            {**record, **links},
            payload=wrong,
        )
        for record in (READY, MOVED)
        for links, wrong in (
            (cycle(Cycle.preflight_started), {}),
            (cycle(Cycle.response_captured), {}),
            (cycle(Cycle.write_applied), {}),
            (cycle(Cycle.committed, 1), {}),
            (cycle(Cycle.committed), {"capture_open": True}),
            (NOTHING, {"first": False}),
            (cycle(Cycle.write_applied), {"lease_held_by_other": True, "pane": "p9"}),
        )
    ),
    *(
        row(
            "agent-doc-5.11",
            (D.prompt_ready,),
            D.authorize,
            None,
            "dispatch-binds-generation",
            links,
            data,
            payload=wrong,
        )
        for links, data, wrong in (
            (READY, BOUND, {"session": "s9"}),
            (READY, BOUND, {"pane": "p9"}),
            (READY, BOUND, {"generation": 4}),
            (READY, BOUND, {"kind_as_recorded": False}),
            (READY, BOUND, {"lease_held_by_other": True}),
            (MOVED, BOUND, {}),
            (READY, attrs.evolve(BOUND, generation=2), {}),
        )
    ),
    # injection
    *(
        row(
            "agent-doc-5.12",
            (D.authorized,),
            D.inject,
            D.in_flight,
            "inject-at-most-once",
            {**READY, **links},
            then=TYPED,
            payload={"first": first},
        )
        for links, first in ((NOTHING, True), (cycle(Cycle.committed), False), (cycle(Cycle.abandoned), False))
    ),
    *(
        row("agent-doc-5.13", (D.authorized,), D.inject, None, "inject-at-most-once", links, data)
        for links, data in (
            (READY, TYPED),
            (STARTING, BOUND),
            (actor(Actor.busy), BOUND),
            (actor(Actor.closed), BOUND),
            (MOVED, BOUND),
            (OTHER_PANE, BOUND),
            (READY_AGAIN, BOUND),
            (actor(Actor.ready, in_flight=1), BOUND),
        )
    ),
    *(
        row(
            "agent-doc-5.13",
            (D.authorized,),
            D.inject,
            None,
            "prompt-behind-closeout",
            {**READY, **links},
            payload=wrong,
            note="ours: a turn may have begun since the keys were authorized (race 79): row 5.10 once more",
        )
        for links, wrong in (
            (cycle(Cycle.preflight_started), {}),
            (cycle(Cycle.response_captured), {"first": False}),
            (cycle(Cycle.write_applied), {"first": False}),
            (cycle(Cycle.committed, 1), {"first": False}),
            (NOTHING, {"first": False}),
            (NOTHING, {"capture_open": True}),
        )
    ),
    row(
        "agent-doc-5.13",
        (D.authorized,),
        D.inject,
        None,
        "dispatch-binds-generation",
        payload={"lease_held_by_other": True},
        note="ours: a lease may have gone over to the other driver since the keys were authorized: row 5.11 again",
    ),
    row("agent-doc-5.14", (D.in_flight,), D.other_key, None, "pane-single-writer", data=TYPED),
    row("agent-doc-5.15", (D.in_flight,), D.acceptance, D.accepted, "accepted-is-not-started", data=TYPED, then=TYPED),
    *(
        row(
            "agent-doc-5.16",
            (D.accepted,),
            D.start_proof,
            D.proven,
            "dispatch-proven-start",
            {**READY, **links},
            TYPED,
            TYPED,
            payload={"pane_changed": changed},
            note="an open cycle is newer than the one that had ended when the keys were authorized",
        )
        for links, changed in (
            (NOTHING, True),
            (cycle(Cycle.committed), True),
            (cycle(Cycle.preflight_started), False),
            (cycle(Cycle.response_captured), False),
            (cycle(Cycle.write_applied), False),
        )
    ),
    *(
        row(
            "agent-doc-5.17",
            (D.accepted,),
            D.start_proof,
            None,
            "dispatch-proven-start",
            {**record, **links},
            TYPED,
            payload=wrong,
        )
        for record, links, wrong in (
            (READY, NOTHING, {"pane_changed": False}),
            (READY, cycle(Cycle.committed), {"pane_changed": False}),
            (READY, cycle(Cycle.preflight_started), {"generation": 2}),
            (MOVED, cycle(Cycle.preflight_started), {}),
            (MOVED, cycle(Cycle.preflight_started), {"generation": 4}),
        )
    ),
    # deadlines, repeats, resets
    row("agent-doc-5.18", LOOKING, D.deadline, D.blocked, "dispatch-fails-closed", then=BOUND),
    row("agent-doc-5.19", TYPING, D.deadline, D.blocked, "accepted-is-not-started", data=TYPED, then=TYPED),
    *(
        row("agent-doc-5.20", (state,), D.duplicate, state, "inject-at-most-once", data=data, then=data)
        for state, data in (
            (D.pane_known, BOUND),
            (D.prompt_ready, BOUND),
            (D.authorized, BOUND),
            (D.in_flight, TYPED),
            (D.accepted, TYPED),
        )
    ),
    row(
        "agent-doc-5.21",
        (D.pane_known, D.prompt_ready, D.authorized),
        D.generation_moved,
        D.blocked,
        "dispatch-binds-generation",
        MOVED,
    ),
    row("agent-doc-5.22", TYPING, D.generation_moved, D.blocked, "dispatch-binds-generation", MOVED, TYPED, TYPED),
    *(
        row(
            "agent-doc-5.23",
            (D.unknown, D.pane_known, D.prompt_ready, D.blocked),
            D.reset,
            D.unknown,
            "dispatch-order",
            data=data,
            then=then,
        )
        for data, then in ((BOUND, ASKED), (TYPED, UNBOUND_TYPED))
    ),
    *(
        row(
            "agent-doc-5.23",
            (D.absent,),
            D.start,
            D.unknown,
            "dispatch-order",
            earlier(state),
            None,
            ASKED,
            FOLLOWS,
            payload={"first": False},
        )
        for state in (D.proven, D.blocked)
    ),
    *(
        row(
            "agent-doc-5.23",
            (D.absent,),
            D.start,
            None,
            "inject-at-most-once",
            earlier(state),
            None,
            note="ours: an attempt that still acts is repeated as a duplicate, not started twice",
        )
        for state in (*LOOKING, *TYPING)
    ),
    row("agent-doc-5.24", (D.authorized,), D.reset, D.blocked, "inject-at-most-once", then=BOUND),
    row("agent-doc-5.24", TYPING, D.reset, D.blocked, "inject-at-most-once", data=TYPED, then=TYPED),
    # refusals
    *(
        row("agent-doc-5.25", (D.proven,), event, None, "inject-at-most-once", data=TYPED)
        for event in (D.inject, D.duplicate)
    ),
    *(
        row("agent-doc-5.26", TYPING, event, None, "inject-at-most-once", data=TYPED)
        for event in (D.inject, D.authorize)
    ),
    *(
        row("agent-doc-5.27", (D.proven,), event, None, "no-event-after-terminal", data=TYPED)
        for event in (*EVENTS, D.start)
        if event not in (D.inject, D.duplicate)
    ),
    *(
        row("agent-doc-5.28", (D.blocked,), event, None, "dispatch-fails-closed")
        for event in (D.inject, D.authorize, D.ready_proof, D.acceptance, D.start_proof)
    ),
    *(
        row("agent-doc-5.29", (state,), D.other_key, state, "pane-single-writer", then=BOUND)
        for state in (*LOOKING, D.blocked)
    ),
    row(
        "agent-doc-5.29",
        (*LOOKING, D.blocked),
        D.other_key,
        None,
        "pane-single-writer",
        actor(Actor.ready, in_flight=1),
        note="ours: the keys in flight may be another attempt's (row 5.14 for the pane, not for the attempt; race 80)",
    ),
    row("agent-doc-5.30", (D.unknown, D.pane_known, D.prompt_ready), D.inject, None, "dispatch-needs-proof"),
    *(
        row("agent-doc-5.31", (state,), event, None, "dispatch-order")
        for state, named in NAMED.items()
        for event in (*EVENTS, D.start)
        if event not in named
    ),
    *(
        row("agent-doc-5.31", (D.prompt_ready, D.authorized), event, None, "dispatch-order", data=TYPED)
        for event in (D.busy_seen, D.starting_seen)
    ),
    row(
        "agent-doc-5.31",
        (D.pane_known, D.prompt_ready, D.authorized, *TYPING),
        D.duplicate,
        None,
        "dispatch-order",
        data=TYPED,
        payload={"generation": 2},
    ),
]
