"""A document that is worked on: the moves by which its cycles, patches, turns, actors and attempts come to where a race
begins. Each takes the names of the instances; what is given to an event when nothing is wrong stands beside it.
"""

from typing import Any

from ...machines.actor import Actor
from ...machines.cycle import Cycle, Reason
from ...machines.dispatch import Dispatch, Mode
from ...machines.fallback import Fallback, Outcome
from ...machines.turn import Turn
from ..generate.world import fire
from .race import Move, does, together

__all__ = [
    "HELD",
    "LOST",
    "PROVEN",
    "SOCKET",
    "answering",
    "applied",
    "authorized",
    "authorizing",
    "capturing",
    "closing",
    "committing",
    "copied",
    "dispatching",
    "drafting",
    "finished",
    "opening",
    "owned",
    "pane",
    "proof",
    "queued",
    "queueing",
    "report",
    "retaining",
    "running",
    "seen",
    "sending",
    "typing",
    "unheld",
]

WRITER, HARNESS, SUPERVISOR, ROUTE = "writer", "harness", "supervisor", "route"
"""Who does what: the writer finalizes and sends, the harness answers, the supervisor owns the pane, a route types."""


# --- the cycle and its patch ----------------------------------------------------------------------------------------


def opening(cycle: str, after: str | None = None, baseline: str = "text") -> list[Move]:
    """A preflight opens the document's first cycle, or the one after another."""
    previous = {} if after is None else {"previous": after}
    return [
        does(
            WRITER, cycle, Cycle.start, Cycle.preflight_started, baseline=baseline, first=after is None, **previous
        )
    ]


def capturing(cycle: str, response: str = "r1", after: str | None = None) -> list[Move]:
    """A cycle that has its response."""
    return [*opening(cycle, after), does(WRITER, cycle, Cycle.capture, Cycle.response_captured, response=response)]


def closing(cycle: str, response: str = "r1") -> list[Move]:
    """The response is written and committed."""
    return [
        does(WRITER, cycle, Cycle.write, Cycle.write_applied, **applied(response)),
        does(WRITER, cycle, Cycle.commit, Cycle.committed, **HELD),
    ]


def committing(cycle: str, response: str = "r1", after: str | None = None) -> list[Move]:
    """A whole cycle."""
    return [*capturing(cycle, response, after), *closing(cycle, response)]


def applied(response: str | None = "r1", **other: Any) -> dict[str, Any]:
    """A write that holds the response once."""
    return {"response": response, "reason": None, "body_once": True, "one_boundary": True, **other}


HELD = {"reason": None, "in_staged": True, "in_archive": False}
"""A commit of text that holds the response."""
LOST = {"reason": None, "in_staged": False, "in_archive": False}
"""A commit of text that does not."""


def unheld(reason: Reason) -> dict[str, Any]:
    """A commit without a response, and why."""
    return {**LOST, "reason": reason}


def drafting(patch: str, cycle: str, response: str | None = "r1", **other: Any) -> list[Move]:
    """A patch for the response of a cycle, or of none for a reason."""
    given = {"legacy": False, "response": response, "reason": None, "editor": None, **other}
    return [does(WRITER, patch, Fallback.start, Fallback.drafted, cycle=cycle, **given)]


def sending(patch: str, cycle: str, response: str | None = "r1", **other: Any) -> list[Move]:
    """... on its way over the socket."""
    draft = drafting(patch, cycle, response, **other)
    return [*draft, does(WRITER, patch, Fallback.deliver, Fallback.sent, **SOCKET)]


def queueing(patch: str, cycle: str, response: str | None = "r1", **other: Any) -> list[Move]:
    """... unanswered, and so queued as a file."""
    return [
        *sending(patch, cycle, response, **other),
        does(WRITER, patch, Fallback.timeout, Fallback.unproven),
        does(WRITER, patch, Fallback.queue_file, Fallback.file_queued, **queued()),
    ]


def retaining(patch: str, cycle: str, response: str | None = "r1", **other: Any) -> list[Move]:
    """... which nobody has taken: the file and the response are kept."""
    return [
        *queueing(patch, cycle, response, **other),
        does(WRITER, patch, Fallback.timeout, Fallback.retained),
    ]


SOCKET = {"supervisor_current": True, "route_sound": True}
"""A delivery over the socket."""
PROVEN = {"outcome": Outcome.ADOPTED, "proven": True}
"""An answer that carries the hash of the text that holds the response."""


def copied(**other: Any) -> dict[str, Any]:
    """A first file under a name that is free."""
    return {"name_free": True, **other}


def queued(**other: Any) -> dict[str, Any]:
    """A queued file for a response that is not visible, under a name that is free."""
    return {"body_visible": False, "proven": False, "name_free": True, **other}


def seen(**other: Any) -> dict[str, Any]:
    """What a window finds when it may apply a patch."""
    return {"claimed": False, "base_current": True, "my_lease": True, "newer_committed": False, **other}


# --- the turn -------------------------------------------------------------------------------------------------------


def running(turn: str, cycle: str, after: tuple[str, str] | None = None, baseline: str = "text") -> list[Move]:
    """A turn whose harness works, with the cycle that it has opened; `after` a turn and a cycle."""
    previous, newest = ({"previous": after[0]}, {"newest": after[1]}) if after else ({}, {})
    followed = {"previous": after[1]} if after else {}
    first = after is None
    return [
        does(WRITER, turn, Turn.start, Turn.idle, cycle=cycle, first=first, **previous),
        does(WRITER, turn, Turn.admit, Turn.admitted, first=first, capture_unresolved=False, **newest),
        together(
            WRITER,
            fire(cycle, Cycle.start, baseline=baseline, first=first, **followed),
            fire(turn, Turn.open_preflight, baseline_diffed=True, editor_idle=True),
        ),
        does(WRITER, turn, Turn.expose_plan, Turn.prompt_dispatched, parse_valid=True),
        does(HARNESS, turn, Turn.backend_accepted, Turn.agent_running, of_this_cycle=True),
    ]


def answering(
    turn: str, cycle: str, response: str = "r1", after: tuple[str, str] | None = None, baseline: str = "text"
) -> list[Move]:
    """... and has answered: the response is captured, and becomes operations on the text."""
    return [
        *running(turn, cycle, after, baseline),
        together(
            HARNESS,
            fire(cycle, Cycle.capture, response=response),
            fire(turn, Turn.captured, baseline=baseline, rebased=False),
        ),
        does(WRITER, turn, Turn.operations_built, Turn.apply_pending),
    ]


def finished(turn: str, cycle: str, response: str = "r1") -> list[Move]:
    """The result is verified, written, committed, checked and told."""
    return [
        does(WRITER, turn, Turn.verified, Turn.apply_verified, base_current=True, user_text_kept=True),
        does(WRITER, turn, Turn.commit_policy, Turn.commit_pending),
        *closing(cycle, response),
        does(WRITER, turn, Turn.commit_done, Turn.committed, session_checked=True),
    ]


# --- the actor and the attempts to start a turn -----------------------------------------------------------------------


def pane(generation: int = 1, session: str = "s1", pane: str = "%1") -> dict[str, Any]:
    """A session in a pane, in a generation."""
    return {"generation": generation, "session": session, "pane": pane}


def report(**other: Any) -> dict[str, Any]:
    """What a harness says about itself."""
    return {**pane(), **other}


def owned(actor: str, *events: Any, session: str = "s1", at: str = "%1") -> list[Move]:
    """A document whose session has started in a pane, and what it has reported since."""
    return [
        does(SUPERVISOR, actor, Actor.start, Actor.starting, committed=0, session=session, pane=at, pane_free=True),
        *(does(SUPERVISOR, actor, event, **pane(1, session, at)) for event in events),
    ]


def dispatching(attempt: str, actor: str, after: str | None = None, by: str = ROUTE, **other: Any) -> list[Move]:
    """An attempt that knows its pane."""
    previous = {} if after is None else {"previous": after}
    asked = {"mode": Mode.DISPATCH_ONLY, "prompt_work": True, "first": after is None, **other}
    return [
        does(by, attempt, Dispatch.start, Dispatch.unknown, actor=actor, **asked, **previous),
        does(by, attempt, Dispatch.pane_observed, Dispatch.pane_known, **pane()),
    ]


def proof(**other: Any) -> dict[str, Any]:
    """A harness that takes input now."""
    return {"generation": 1, "taken_after_busy": True, "authority_sound": True, **other}


def authorized(**other: Any) -> dict[str, Any]:
    """What the record allows, for a document without a cycle; else give `cycle` and first=False."""
    return {
        **pane(),
        "kind_as_recorded": True,
        "first": True,
        "capture_open": False,
        "lease_held_by_other": False,
        **other,
    }


def authorizing(attempt: str, actor: str, after: str | None = None, by: str = ROUTE) -> list[Move]:
    """... proven to be ready, and authorized."""
    return [
        *dispatching(attempt, actor, after, by),
        does(by, attempt, Dispatch.ready_proof, Dispatch.prompt_ready, **proof()),
        does(by, attempt, Dispatch.authorize, Dispatch.authorized, **authorized()),
    ]


def typing(attempt: str, actor: str, after: str | None = None, by: str = ROUTE) -> list[Move]:
    """... and its keys are on their way."""
    return [*authorizing(attempt, actor, after, by), does(by, attempt, Dispatch.inject, Dispatch.in_flight)]
