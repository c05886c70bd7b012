"""The small world of agent-doc's race rows: a document with its cycles, patches, turns, actor, attempts, and its facts.

Ids say what they are: c1 is the document's first cycle, t1 the turn that opened it, r1 its response, p1 a patch; actor
is the record of the document's session, d1 an attempt to start a turn in its pane. Each list of moves takes an instance
to where a race begins; a fire has what its event is given when nothing is wrong.
"""

from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

from ...machines.actor import Actor
from ...machines.cycle import Cycle, Reason
from ...machines.dispatch import Dispatch, Mode
from ...machines.fallback import Fallback, Outcome
from ...machines.kernel import Event
from ...machines.turn import Turn
from ..generate.world import Fire, fire
from .scenario import Fact, Move, Who

WRITER, HARNESS, SUPERVISOR = Who("the writer", "writer"), Who("the harness", "harness"), Who("the supervisor", "owner")
"""The writer opens, finalizes and sends; the harness answers; the supervisor speaks for the pane."""
ROUTE, CLICK = Who("the route", "route"), Who("the second click", "route")
SOCKET = Who("the editor's socket", "window 1")
ONE, TWO = Who("window 1", "window 1"), Who("window 2", "window 2")
"""Windows of an editor, which watch the folder of patches."""
REPAIR = Who("the repair", "repair")
CLOCK = Who("the clock")


# --- the cycle --------------------------------------------------------------------------------------------------------


def opens(cycle: str, after: str | None = None, baseline: str = "text") -> Fire:
    """The preflight of the document's first cycle, or of the one after another."""
    previous = {} if after is None else {"previous": after}
    return fire(cycle, Cycle.start, baseline=baseline, first=after is None, **previous)


def captures(cycle: str, response: str) -> Fire:
    return fire(cycle, Cycle.capture, response=response)


def writes(cycle: str, response: str | None, **other: Any) -> Fire:
    """The candidate holds the response, once."""
    given = {"response": response, "reason": None, "body_once": True, "one_boundary": True, **other}
    return fire(cycle, Cycle.write, **given)


def commits(cycle: str, **other: Any) -> Fire:
    """The staged text holds the response."""
    return fire(cycle, Cycle.commit, **{"reason": None, "in_staged": True, "in_archive": False, **other})


def ends_without(cycle: str, reason: Reason) -> Fire:
    """A commit that holds no response, and says why."""
    return commits(cycle, reason=reason, in_staged=False)


def gives_up(cycle: str, *, old: bool = False, explicit: bool = False) -> Fire:
    return fire(cycle, Cycle.abandon, older_than_bound=old, explicit=explicit)


def notes(cycle: str, *, mutated: bool = False, blocked: bool = False) -> Fire:
    return fire(cycle, Cycle.bookkeep, mutated=mutated, adoption_blocked=blocked, dropped=False)


def captured(cycle: str, response: str = "r1", after: str | None = None) -> list[Move]:
    """A cycle that has its response."""
    return [WRITER.does(opens(cycle, after)), WRITER.does(captures(cycle, response))]


def closed(cycle: str, response: str = "r1") -> list[Move]:
    """The response is written and committed."""
    return [WRITER.does(writes(cycle, response)), WRITER.does(commits(cycle))]


def committed(cycle: str, response: str = "r1", after: str | None = None) -> list[Move]:
    """A whole cycle."""
    return [*captured(cycle, response, after), *closed(cycle, response)]


# --- the patch --------------------------------------------------------------------------------------------------------


def drafts(
    patch: str, cycle: str | None, response: str | None = "r1", *, counted: bool | None = None, **other: Any
) -> Fire:
    """A patch that delivers the response of a cycle, and is counted by it; or repairs without one, and is not."""
    link = {} if cycle is None else {"cycle": cycle}
    if cycle is not None and (response is not None if counted is None else counted):
        link["delivers"] = cycle
    given = {"legacy": False, "response": response, "reason": None, "editor": None, **other}
    return fire(patch, Fallback.start, **given, **link)


def prewrites(patch: str, **other: Any) -> Fire:
    return fire(patch, Fallback.prewrite, **{"name_free": True, **other})


def delivers(patch: str, **other: Any) -> Fire:
    return fire(patch, Fallback.deliver, **{"supervisor_current": True, "route_sound": True, **other})


def times_out(patch: str) -> Fire:
    return fire(patch, Fallback.timeout)


def answers(patch: str, outcome: Outcome = Outcome.ADOPTED, *, proven: bool) -> Fire:
    """What the editor answers; proven when it carries the hash of a text that holds the response."""
    return fire(patch, Fallback.ack_result, outcome=outcome, proven=proven)


def queues(patch: str, **other: Any) -> Fire:
    """A file for a response that is not visible, under a name that is free."""
    return fire(patch, Fallback.queue_file, **{"body_visible": False, "proven": False, "name_free": True, **other})


def applies(patch: str, **other: Any) -> Fire:
    """A window finds the patch, and its base is the visible text."""
    given = {"claimed": False, "base_current": True, "my_lease": True, "newer_committed": False, **other}
    return fire(patch, Fallback.watch_apply, **given)


def edits(patch: str) -> Fire:
    """... and has made the edit."""
    return fire(patch, Fallback.edited)


def cannot_edit(patch: str) -> Fire:
    """... and could not make it: nothing has changed."""
    return fire(patch, Fallback.edit_failed)


def applied(patch: str, who: Who = ONE) -> list[Move]:
    """A window finds the patch and makes the edit."""
    return [who.does(applies(patch)), who.does(edits(patch))]


def writes_disk(patch: str, **other: Any) -> Fire:
    """The text is written into the file itself, with no editor anywhere."""
    given = {"editor_absent": True, "text_unchanged": True, "newer_committed": False, **other}
    return fire(patch, Fallback.disk_write, **given)


def hears_of_commit(patch: str, *, body_in_head: bool = False) -> Fire:
    return fire(patch, Fallback.cycle_committed, body_in_head=body_in_head)


def clears(patch: str, *, own_file: bool = True) -> Fire:
    return fire(patch, Fallback.cleanup, own_file=own_file)


def sent(patch: str, cycle: str = "c1", response: str | None = "r1", **other: Any) -> list[Move]:
    """A patch on its way over the socket."""
    return [WRITER.does(drafts(patch, cycle, response, **other)), WRITER.does(delivers(patch))]


def unanswered(patch: str, cycle: str = "c1", response: str | None = "r1", **other: Any) -> list[Move]:
    """... of which nothing is known."""
    return [*sent(patch, cycle, response, **other), WRITER.does(times_out(patch))]


def queued(patch: str, cycle: str = "c1", response: str | None = "r1", **other: Any) -> list[Move]:
    """... and which therefore waits as a file."""
    return [*unanswered(patch, cycle, response, **other), WRITER.does(queues(patch))]


def retained(patch: str, cycle: str = "c1", response: str | None = "r1", **other: Any) -> list[Move]:
    """... that nobody took: file and response are kept."""
    return [*queued(patch, cycle, response, **other), WRITER.does(times_out(patch))]


# --- the turn ---------------------------------------------------------------------------------------------------------


def begins(turn: str, cycle: str, after: str | None = None) -> Fire:
    previous = {} if after is None else {"previous": after}
    return fire(turn, Turn.start, cycle=cycle, first=after is None, **previous)


def admits(turn: str, newest: str | None = None, *, unresolved: bool = False) -> Fire:
    link = {} if newest is None else {"newest": newest}
    return fire(turn, Turn.admit, first=newest is None, capture_unresolved=unresolved, **link)


def preflight(turn: str, *, idle: bool = True) -> Fire:
    return fire(turn, Turn.open_preflight, baseline_diffed=True, editor_idle=idle)


def takes(turn: str, baseline: Any = "text", *, rebased: bool = False) -> Fire:
    """The turn takes the response that its cycle has captured."""
    return fire(turn, Turn.captured, baseline=baseline, rebased=rebased)


def verifies(turn: str, *, base_current: bool = True) -> Fire:
    return fire(turn, Turn.verified, base_current=base_current, user_text_kept=True)


def succeeds(turn: str, *, checked: bool = True) -> Fire:
    return fire(turn, Turn.commit_done, session_checked=checked)


def resumes(turn: str, baseline: str = "text", *, rebased: bool = False) -> Fire:
    return fire(turn, Turn.retry, baseline=baseline, rebased=rebased)


def admitted(turn: str, cycle: str, after: tuple[str, str] | None = None) -> list[Move]:
    """A turn for the next prompt; `after` a turn and a cycle."""
    last, newest = after or (None, None)
    return [WRITER.does(begins(turn, cycle, last)), WRITER.does(admits(turn, newest))]


def running(turn: str, cycle: str, after: tuple[str, str] | None = None, baseline: str = "text") -> list[Move]:
    """... whose cycle is open, and on which a harness works."""
    return [
        *admitted(turn, cycle, after),
        WRITER.does(opens(cycle, after and after[1], baseline), preflight(turn)),
        WRITER.does(fire(turn, Turn.expose_plan, parse_valid=True)),
        HARNESS.does(fire(turn, Turn.backend_accepted, of_this_cycle=True)),
    ]


def answered(turn: str, cycle: str, response: str = "r1", after: tuple[str, str] | None = None) -> list[Move]:
    """... and has answered: the response is captured, and its operations wait to be verified."""
    return [
        *running(turn, cycle, after),
        HARNESS.does(captures(cycle, response), takes(turn)),
        WRITER.does(fire(turn, Turn.operations_built)),
    ]


def closing(turn: str) -> list[Move]:
    """The result is verified on the visible text, and to be committed."""
    return [WRITER.does(verifies(turn)), WRITER.does(fire(turn, Turn.commit_policy))]


def finished(turn: str, cycle: str, response: str = "r1") -> list[Move]:
    """Verified, written, committed, checked and told."""
    return [*closing(turn), *closed(cycle, response), WRITER.does(succeeds(turn))]


# --- the actor, and the attempts to start a turn ----------------------------------------------------------------------

Seat = tuple[int, str, str]
"""A generation, a session, a pane."""
SEAT: Seat = (1, "s1", "%1")


def _seat(seat: Seat) -> dict[str, Any]:
    return dict(zip(("generation", "session", "pane"), seat, strict=True))


def claims(actor: str, seat: Seat = SEAT, *, committed: int = 0, displaced: str | None = None) -> Fire:
    """The first owner of a document, in a pane that is free or that another document's record still names."""
    link = {} if displaced is None else {"displaced": displaced}
    given = {"committed": committed, "session": seat[1], "pane": seat[2], "pane_free": displaced is None}
    return fire(actor, Actor.start, **given, **link)


def rebinds(actor: str, seat: Seat, *, committed: int = 1, dead: bool = False, handed_over: bool = False) -> Fire:
    given = {"committed": committed, "session": seat[1], "pane": seat[2], "pane_free": True}
    return fire(actor, Actor.rebind, **given, owner_dead=dead, handed_over=handed_over)


def reports(actor: str, event: Event[Any], seat: Seat = SEAT, **other: Any) -> Fire:
    """What a session says about itself."""
    return fire(actor, event, **_seat(seat), **other)


def owned(actor: str, *events: Event[Any], seat: Seat = SEAT) -> list[Move]:
    """The record of a session that started, and what it has reported since."""
    return [SUPERVISOR.does(claims(actor, seat)), *(SUPERVISOR.does(reports(actor, event, seat)) for event in events)]


def tries(attempt: str, after: str | None = None, actor: str = "actor", **other: Any) -> Fire:
    previous = {} if after is None else {"previous": after}
    given = {"mode": Mode.DISPATCH_ONLY, "prompt_work": True, "first": after is None, **other}
    return fire(attempt, Dispatch.start, actor=actor, **given, **previous)


def looks(attempt: str, seat: Seat = SEAT) -> Fire:
    return fire(attempt, Dispatch.pane_observed, **_seat(seat))


def proves(attempt: str, generation: int = 1, **other: Any) -> Fire:
    """The harness in the pane takes input now."""
    given = {"generation": generation, "taken_after_busy": True, "authority_sound": True, **other}
    return fire(attempt, Dispatch.ready_proof, **given)


def authorizes(attempt: str, seat: Seat = SEAT, newest: str | None = None, **other: Any) -> Fire:
    """For a document without a cycle, or with a newest one."""
    link = {} if newest is None else {"cycle": newest}
    given = {"kind_as_recorded": True, "first": newest is None, "capture_open": False, "lease_held_by_other": False}
    return fire(attempt, Dispatch.authorize, **{**_seat(seat), **given, **other}, **link)


def types(attempt: str, newest: str | None = None, **other: Any) -> Fire:
    """Into the pane of a document without a cycle, or with a newest one, which may not be there yet."""
    link = {} if newest is None else {"cycle": newest}
    given = {"first": newest is None, "capture_open": False, "lease_held_by_other": False}
    return fire(attempt, Dispatch.inject, **{**given, **other}, **link)


def started(attempt: str, cycle: str | None = None, generation: int = 1, *, pane_changed: bool = False) -> Fire:
    link = {} if cycle is None else {"cycle": cycle}
    return fire(attempt, Dispatch.start_proof, generation=generation, pane_changed=pane_changed, **link)


def bound(attempt: str, after: str | None = None, who: Who = ROUTE, actor: str = "actor") -> list[Move]:
    """An attempt that knows its pane."""
    return [who.does(tries(attempt, after, actor)), who.does(looks(attempt))]


def authorized(attempt: str, after: str | None = None, who: Who = ROUTE) -> list[Move]:
    """... has its proof, and may type."""
    return [*bound(attempt, after, who), who.does(proves(attempt)), who.does(authorizes(attempt))]


def typed(attempt: str, after: str | None = None, who: Who = ROUTE) -> list[Move]:
    """... and whose keys are on their way."""
    return [*authorized(attempt, after, who), who.does(types(attempt))]


# --- facts ------------------------------------------------------------------------------------------------------------


def passed(id: str, states: str) -> Fact:
    """The states that an instance came through, in order, from its birth to where it is now."""

    def found(arena: Any) -> str:
        steps = (entry.decision for entry in arena.ground.store.journal if entry.decision.ref.id == id)
        return " ".join(step.after.state.id for step in steps if step.after.state != step.before.state)

    return Fact(f"the states of {id}", found, states)


def has(id: str, **data: Any) -> Fact:
    """What an instance has in its data at the end."""

    def found(arena: Any) -> dict[str, Any]:
        now = arena.now(id)
        return {name: getattr(now.data, name) for name in data} if now else {}

    return Fact(f"the data of {id}", found, dict(data))


def taken(id: str, event: Event[Any], *payloads: dict[str, Any]) -> Fact:
    """How often an instance took an event, and some of what it was given each time; no payloads mean never."""

    def found(arena: Any) -> list[dict[str, Any]]:
        entries = [one for one in arena.ground.store.journal if (one.decision.ref.id, one.event) == (id, event.name)]
        asked = zip(entries, chain(payloads, repeat({})), strict=False)
        return [{name: getattr(entry.payload, name) for name in fields} for entry, fields in asked]

    return Fact(f"{event.name} of {id}", found, list(payloads))


def gave_out(effect: Callable[..., Any], *ids: str) -> Fact:
    """The instances that gave out an effect, once for each time, in order; nobody else did."""

    def found(arena: Any) -> list[str]:
        steps = (entry.decision for entry in arena.ground.store.journal)
        return [step.ref.id for step in steps for made in step.effects if made.name == effect.__name__]

    return Fact(effect.__name__, found, list(ids))


def came(*arrivals: str) -> Fact:
    """These came about in this order: `d1 blocked`, `d2 unknown`; each means the first time."""

    def found(arena: Any) -> list[str]:
        steps = (entry.decision for entry in arena.ground.store.journal)
        moved = [step.after for step in steps if step.after.state != step.before.state]
        return [one for one in dict.fromkeys(f"{now.ref.id} {now.state.id}" for now in moved) if one in arrivals]

    return Fact("the order", found, list(arrivals))
