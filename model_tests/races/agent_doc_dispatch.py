"""lifecycles/agent-doc-races.md, M = b: attempts to start a turn, and the record of the session that they ask."""

from ...machines import actor, dispatch, fallback
from ...machines.actor import Actor
from ...machines.dispatch import Dispatch, keys, not_dispatched, wait_behind
from ...machines.fallback import Fallback
from ..generate.world import Fire, fire
from .documents import (
    CLICK,
    CLOCK,
    ROUTE,
    SUPERVISOR,
    WRITER,
    authorized,
    authorizes,
    bound,
    came,
    captured,
    captures,
    claims,
    closed,
    committed,
    delivers,
    drafts,
    gave_out,
    has,
    looks,
    opens,
    owned,
    passed,
    proves,
    rebinds,
    reports,
    started,
    taken,
    tries,
    typed,
    types,
)
from .scenario import Later, Race, Who, Without
from .world import in_order, is_in, unborn

__all__ = ["RACES"]

WATCHER, OPERATOR, OLD = Who("the idle watcher", "route"), Who("the operator", "operator"), Who("the old one", "owner")
READY = owned("actor", Actor.ready_seen)
BUSY = owned("actor", Actor.ready_seen, Actor.busy_seen)
PROVEN = Without(Dispatch, (dispatch.actor_ready,))
SETTLED = Without(Dispatch, (dispatch.previous_settled,))
OWN = Without(Actor, (actor.of_this_owner,))
NEXT = (2, "s2", "%2")
"""The seat of the next generation, in another pane."""


def accepted(attempt: str) -> Fire:
    return fire(attempt, Dispatch.acceptance)


def too_late(attempt: str) -> Fire:
    return fire(attempt, Dispatch.deadline)


RACES = [
    Race(
        "agent-doc-74",
        "inject into starting actor",
        [*owned("actor"), *bound("d1")],
        [
            ROUTE.may_not("dispatch-needs-proof", proves("d1")),
            ROUTE.may_not("dispatch-needs-proof", types("d1")),
            SUPERVISOR.does(reports("actor", Actor.ready_seen)),
            ROUTE.does(proves("d1")),
            ROUTE.does(authorizes("d1")),
            ROUTE.does(types("d1")),
        ],
        [came("actor ready", "d1 prompt_ready", "d1 in_flight"), gave_out(keys, "d1")],
        order="boot",
        without=[PROVEN],
    ),
    Race(
        "agent-doc-74",
        "inject into starting actor: it restarts when the keys are authorized",
        [*READY, *authorized("d1")],
        [
            SUPERVISOR.does(reports("actor", Actor.starting_seen)),
            ROUTE.may_not("inject-at-most-once", types("d1")),
            ROUTE.does(fire("d1", Dispatch.starting_seen)),
            SUPERVISOR.does(reports("actor", Actor.ready_seen)),
            ROUTE.does(proves("d1")),
            ROUTE.does(authorizes("d1")),
            ROUTE.does(types("d1")),
        ],
        [passed("d1", "unknown pane_known prompt_ready authorized pane_known prompt_ready authorized in_flight")],
        order="restart",
        without=[Without(Dispatch, (dispatch.still_ready, dispatch.never_lapsed))],
    ),
    Race(
        "agent-doc-75",
        "ready without prompt proof",
        [*READY, *bound("d1")],
        [
            ROUTE.may_not("dispatch-needs-proof", fire("d1", Dispatch.idle_look)),
            ROUTE.may_not("dispatch-needs-proof", proves("d1", taken_after_busy=False)),
            ROUTE.may_not("dispatch-needs-proof", proves("d1", authority_sound=False)),
            ROUTE.may_not("dispatch-order", authorizes("d1")),
            ROUTE.may_not("dispatch-needs-proof", types("d1")),
            CLOCK.does(too_late("d1")),
        ],
        [passed("d1", "unknown pane_known blocked"), gave_out(keys), gave_out(not_dispatched, "d1")],
        without=[Without(Dispatch, (dispatch.proof_newest,)), Without(Dispatch, (dispatch.authority_kept,))],
    ),
    Race(
        "agent-doc-76",
        "visible prompt glyph but queue-only footer",
        [*BUSY, *bound("d1")],
        [
            ROUTE.does(fire("d1", Dispatch.busy_seen)),
            ROUTE.may_not("dispatch-needs-proof", fire("d1", Dispatch.idle_look)),
            ROUTE.may_not("dispatch-needs-proof", proves("d1")),
            ROUTE.may_not("dispatch-order", authorizes("d1")),
            ROUTE.may_not("dispatch-needs-proof", types("d1")),
            CLOCK.does(too_late("d1")),
        ],
        [passed("d1", "unknown pane_known blocked"), gave_out(keys)],
        without=[Without(Dispatch, (dispatch.actor_ready, dispatch.still_ready))],
        later="adapters/terminals: two idle samples make a proof, and a busy footer makes none",
    ),
    Race(
        "agent-doc-77",
        "accepted counted as dispatched",
        [*committed("c1"), *READY, *bound("d1")],
        [
            ROUTE.does(proves("d1")),
            ROUTE.does(authorizes("d1", newest="c1")),
            ROUTE.does(types("d1", newest="c1")),
            ROUTE.does(accepted("d1")),
            ROUTE.may_not("dispatch-proven-start", started("d1", "c1")),
            CLOCK.does(too_late("d1")),
        ],
        [
            passed("d1", "unknown pane_known prompt_ready authorized in_flight accepted blocked"),
            gave_out(not_dispatched, "d1"),
        ],
        without=[Without(Dispatch, (dispatch.turn_started,))],
    ),
    Race(
        "agent-doc-78",
        "stale busy projection deadlock",
        [*BUSY, *bound("d1")],
        [
            ROUTE.may_not("dispatch-needs-proof", proves("d1")),
            SUPERVISOR.does(
                reports("actor", Actor.capability_proof, capability="prompt", ready_proof=True), proves("d1")
            ),
            ROUTE.does(authorizes("d1")),
            ROUTE.does(types("d1")),
        ],
        [is_in("actor", Actor.ready), is_in("d1", Dispatch.in_flight), taken("d1", Dispatch.ready_proof, {})],
        without=[PROVEN],
    ),
    Race(
        "agent-doc-79",
        "two clicks, two triggers: the second comes while the keys are on their way",
        [*READY, *typed("d1")],
        [
            CLICK.may_not("inject-at-most-once", tries("d2", after="d1")),
            CLICK.does(fire("d1", Dispatch.duplicate, generation=1)),
            CLICK.may_not("inject-at-most-once", types("d1")),
        ],
        [is_in("d1", Dispatch.in_flight), unborn("d2"), gave_out(keys, "d1")],
        order="in-flight",
        without=[SETTLED],
    ),
    Race(
        "agent-doc-79",
        "two clicks, two triggers: both were authorized",
        [*READY, *authorized("d1"), *authorized("d2", who=CLICK)],
        [ROUTE.does(types("d1")), CLICK.may_not("inject-at-most-once", types("d2"))],
        [gave_out(keys, "d1"), is_in("d2", Dispatch.authorized)],
        order="at-once",
        without=[Without(Dispatch, (dispatch.nobody_types,))],
    ),
    Race(
        "agent-doc-80",
        "run + clear concatenated",
        [*READY, *bound("d2", who=WATCHER), *typed("d1")],
        [
            WATCHER.may_not("pane-single-writer", fire("d1", Dispatch.other_key)),
            WATCHER.may_not("pane-single-writer", fire("d2", Dispatch.other_key)),
            ROUTE.does(accepted("d1")),
            ROUTE.does(started("d1", pane_changed=True)),
            WATCHER.does(fire("d2", Dispatch.other_key)),
        ],
        [
            taken("d1", Dispatch.other_key),
            taken("d2", Dispatch.other_key, {}),
            in_order("d1.start_proof", "d2.other_key"),
        ],
        without=[Without(Dispatch, (dispatch.pane_quiet,))],
    ),
    Race(
        "agent-doc-81",
        "scrollback taken as own draft",
        [*READY, *typed("d1"), CLOCK.does(too_late("d1"))],
        [
            ROUTE.may_not("dispatch-fails-closed", types("d1", own_draft=True)),
            ROUTE.does(fire("d1", Dispatch.reset)),
            ROUTE.does(looks("d1")),
            ROUTE.may_not("dispatch-needs-proof", proves("d1", taken_after_busy=False)),
            ROUTE.does(proves("d1")),
            ROUTE.does(authorizes("d1")),
            ROUTE.may_not("inject-at-most-once", types("d1", own_draft=True)),
        ],
        [gave_out(keys, "d1"), is_in("d1", Dispatch.authorized)],
        without=[Without(Dispatch, (dispatch.not_injected,))],
        later="adapters/terminals: a draft of the user gives no proof, and what stands above it is scrollback",
    ),
    Race(
        "agent-doc-82",
        "queue flood by two drain owners",
        [
            *READY,
            *typed("d1"),
            ROUTE.does(accepted("d1")),
            WRITER.does(opens("c1")),
            ROUTE.does(started("d1", "c1")),
            WRITER.does(captures("c1", "r1")),
            *closed("c1"),
            *bound("d2", after="d1", who=WATCHER),
        ],
        [
            WATCHER.does(proves("d2")),
            WATCHER.may_not("dispatch-binds-generation", authorizes("d2", newest="c1", lease_held_by_other=True)),
            WATCHER.may_not("dispatch-needs-proof", types("d2")),
        ],
        [passed("d2", "unknown pane_known prompt_ready"), gave_out(keys, "d1")],
        without=[Without(Dispatch, (dispatch.lease_free,))],
        later="ownership: of two drivers one holds the lease, which expires",
    ),
    Race(
        "agent-doc-83",
        "queued behind busy, nobody drains",
        [*BUSY, *bound("d1")],
        [
            ROUTE.does(fire("d1", Dispatch.busy_seen)),
            CLOCK.does(too_late("d1")),
            SUPERVISOR.does(reports("actor", Actor.ready_seen)),
            *typed("d2", after="d1", who=WATCHER),
            WATCHER.does(accepted("d2")),
            WATCHER.does(started("d2", pane_changed=True)),
            WATCHER.may_not("inject-at-most-once", types("d2")),
        ],
        [gave_out(wait_behind, "d1"), gave_out(keys, "d2"), is_in("d2", Dispatch.proven)],
        without=[Without(Dispatch, (wait_behind,))],
        later="queue: a head is dispatched once until it advances",
    ),
    Later("agent-doc-84", "new head inserted strands queue", "queue"),
    Later("agent-doc-85", "head struck on refusal or position", "queue"),
    Race(
        "agent-doc-86",
        "generation inferred from optimistic log",
        [],
        [
            SUPERVISOR.may_not("generation-cas", claims("actor", committed=1)),
            SUPERVISOR.does(claims("actor")),
            SUPERVISOR.may_not("pane-binds-document", rebinds("actor", NEXT, committed=2, dead=True)),
            SUPERVISOR.does(rebinds("actor", NEXT, committed=1, dead=True)),
        ],
        [
            taken("actor", Actor.start, {"committed": 0}),
            taken("actor", Actor.rebind, {"committed": 1}),
            has("actor", generation=2),
        ],
        without=[Without(Actor, (actor.no_record,)), Without(Actor, (actor.as_committed_still,))],
    ),
    Race(
        "agent-doc-87",
        "same generation reused on pane move",
        READY,
        [
            SUPERVISOR.does(rebinds("actor", NEXT, dead=True)),
            SUPERVISOR.may_not("dispatch-binds-generation", reports("actor", Actor.ready_seen, (1, "s2", "%2"))),
            OLD.may_not("dispatch-binds-generation", reports("actor", Actor.ready_seen)),
            SUPERVISOR.does(reports("actor", Actor.ready_seen, NEXT)),
        ],
        [
            has("actor", generation=2, pane="%2"),
            taken("actor", Actor.ready_seen, {"generation": 1}, {"generation": 2}),
        ],
        without=[OWN],
    ),
    Race(
        "agent-doc-88",
        "pane alias across documents: a record that names the pane is closed first",
        owned("actor a", Actor.ready_seen),
        [
            SUPERVISOR.may_not("generation-cas", claims("actor b", (1, "s2", "%1"), displaced="actor a")),
            SUPERVISOR.does(
                reports("actor a", Actor.closed_seen), claims("actor b", (1, "s2", "%1"), displaced="actor a")
            ),
        ],
        [came("actor a closed", "actor b starting")],
        order="records",
        without=[Without(Actor, (actor.pane_free_at_birth,))],
    ),
    Race(
        "agent-doc-88",
        "pane alias across documents: a closed record is no evidence",
        [*owned("actor a", Actor.ready_seen, Actor.closed_seen), ROUTE.does(tries("d1", actor="actor a"))],
        [ROUTE.may_not("pane-binds-document", looks("d1"))],
        [is_in("d1", Dispatch.unknown)],
        order="attempt",
        without=[Without(Dispatch, (dispatch.owner_open,))],
    ),
    Race(
        "agent-doc-89",
        "alive pane silently replaced",
        BUSY,
        [
            SUPERVISOR.may_not("pane-binds-document", rebinds("actor", NEXT)),
            SUPERVISOR.may_not("pane-binds-document", claims("actor", NEXT)),
            SUPERVISOR.does(reports("actor", Actor.ready_seen)),
        ],
        [is_in("actor", Actor.ready), has("actor", generation=1, session="s1", pane="%1")],
        without=[Without(Actor, (actor.owner_gone,))],
    ),
    Race(
        "agent-doc-90",
        "stale binary keeps dispatching",
        [*READY, *authorized("d1")],
        [
            SUPERVISOR.does(rebinds("actor", (2, "s2", "%1"), handed_over=True)),
            SUPERVISOR.does(reports("actor", Actor.ready_seen, (2, "s2", "%1"))),
            OLD.may_not("inject-at-most-once", types("d1")),
            ROUTE.does(fire("d1", Dispatch.generation_moved)),
            ROUTE.does(looks("d1", (2, "s2", "%1"))),
            ROUTE.does(proves("d1", 2)),
            ROUTE.does(authorizes("d1", (2, "s2", "%1"))),
            ROUTE.does(types("d1")),
        ],
        [has("d1", generation=2, injected=True), gave_out(keys, "d1"), in_order("d1.generation_moved", "d1.inject")],
        without=[Without(Dispatch, (dispatch.still_ready, dispatch.never_lapsed))],
        later="adapters/terminals: an installed binary moves the generation at its next boundary",
    ),
    Race(
        "agent-doc-91",
        "two controllers after failed handoff",
        [*READY, *captured("c1"), WRITER.does(drafts("p1", "c1"))],
        [
            SUPERVISOR.does(rebinds("actor", (2, "s1", "%1"), handed_over=True)),
            OLD.may_not("dispatch-binds-generation", reports("actor", Actor.ready_seen)),
            OLD.may_not("dispatch-binds-generation", reports("actor", Actor.report_foreign)),
            OLD.may_not("pane-binds-document", rebinds("actor", (2, "s1", "%1"), handed_over=True)),
            OLD.may_not("patch-binds-cycle", delivers("p1", supervisor_current=False)),
            WRITER.does(delivers("p1")),
        ],
        [is_in("actor", Actor.starting, generation=2), taken("p1", Fallback.deliver, {"supervisor_current": True})],
        without=[Without(Fallback, (fallback.supervised,)), OWN, Without(Actor, (actor.as_committed_still,))],
        later="adapters/terminals: an old controller ends itself when the path of its socket is another's",
    ),
    Later("agent-doc-92", "spent pause blocks for ever", "queue"),
    Race(
        "agent-doc-93",
        "open receipt blocks operator",
        [*READY, *typed("d1"), ROUTE.does(accepted("d1"))],
        [
            OPERATOR.may_not("inject-at-most-once", tries("d2", after="d1")),
            CLOCK.does(too_late("d1")),
            *typed("d2", after="d1", who=OPERATOR),
        ],
        [came("d1 blocked", "d2 unknown"), gave_out(keys, "d1", "d2"), is_in("d2", Dispatch.in_flight)],
        without=[SETTLED],
    ),
    Race(
        "agent-doc-94",
        "restart hijacks another conversation",
        [
            *owned("actor a", Actor.ready_seen, Actor.restart_requested),
            *owned("actor b", Actor.ready_seen, seat=(1, "s2", "%2")),
            ROUTE.does(tries("d1", actor="actor a")),
        ],
        [
            SUPERVISOR.may_not("dispatch-binds-generation", reports("actor a", Actor.restart_done, (1, "s2", "%1"))),
            ROUTE.may_not("pane-binds-document", looks("d1", (1, "s2", "%2"))),
            SUPERVISOR.does(reports("actor a", Actor.restart_done)),
        ],
        [
            taken("actor a", Actor.restart_done, {"session": "s1"}),
            has("actor a", session="s1"),
            is_in("d1", Dispatch.unknown),
        ],
        without=[OWN, Without(Dispatch, (dispatch.pane_of_document,))],
    ),
]
