"""lifecycles/agent-doc-races.md, M = b, 74 and 79: what changes between an authorization and its keys."""

from ...machines import dispatch
from ...machines.actor import Actor
from ...machines.dispatch import Dispatch, keys
from ..generate.world import fire
from .documents import (
    CLICK,
    ROUTE,
    SUPERVISOR,
    WRITER,
    authorized,
    authorizes,
    bound,
    came,
    committed,
    gave_out,
    opens,
    owned,
    passed,
    proves,
    reports,
    started,
    types,
)
from .scenario import Move, Race, Who, Without
from .world import is_in

__all__ = ["RACES"]

READY = owned("actor", Actor.ready_seen)
BEHIND = Without(Dispatch, (dispatch.no_open_cycle,))


def allowed(attempt: str, who: Who = ROUTE) -> list[Move]:
    """An attempt that may type, of a document whose newest cycle is c0."""
    return [*bound(attempt, who=who), who.does(proves(attempt)), who.does(authorizes(attempt, newest="c0"))]


RACES = [
    Race(
        "agent-doc-74",
        "inject into starting actor: it has restarted since its proof, and nobody told the attempt",
        [*READY, *authorized("d1")],
        [
            SUPERVISOR.does(reports("actor", Actor.starting_seen)),
            SUPERVISOR.does(reports("actor", Actor.ready_seen)),
            ROUTE.may_not("inject-at-most-once", types("d1")),
            ROUTE.does(fire("d1", Dispatch.starting_seen)),
            ROUTE.does(proves("d1")),
            ROUTE.does(authorizes("d1")),
            ROUTE.does(types("d1")),
        ],
        [passed("d1", "unknown pane_known prompt_ready authorized pane_known prompt_ready authorized in_flight")],
        order="restarted",
        without=[Without(Dispatch, (dispatch.never_lapsed,))],
    ),
    Race(
        "agent-doc-79",
        "two clicks, two triggers: both were authorized, and the first has started its turn",
        [*committed("c0"), *READY, *allowed("d1"), *allowed("d2", CLICK)],
        [
            ROUTE.does(types("d1", newest="c0")),
            ROUTE.does(fire("d1", Dispatch.acceptance)),
            WRITER.does(opens("c1", after="c0")),
            ROUTE.does(started("d1", "c1")),
            CLICK.may_not("prompt-behind-closeout", types("d2", newest="c1")),
            CLICK.may_not("prompt-behind-closeout", types("d2", newest="c0")),
        ],
        [
            came("d1 in_flight", "c1 preflight_started", "d1 proven"),
            gave_out(keys, "d1"),
            is_in("d2", Dispatch.authorized),
        ],
        order="started",
        without=[BEHIND],
    ),
    Race(
        "agent-doc-79",
        "two clicks, two triggers: both were authorized, and the first has started the document's first turn",
        [*READY, *authorized("d1"), *authorized("d2", who=CLICK)],
        [
            ROUTE.does(types("d1")),
            ROUTE.does(fire("d1", Dispatch.acceptance)),
            WRITER.does(opens("c1")),
            ROUTE.does(started("d1", "c1")),
            CLICK.may_not("prompt-behind-closeout", types("d2", newest="c1", first=True)),
        ],
        [
            came("d1 in_flight", "c1 preflight_started", "d1 proven"),
            gave_out(keys, "d1"),
            is_in("d2", Dispatch.authorized),
        ],
        order="started-first",
        without=[BEHIND],
    ),
]
