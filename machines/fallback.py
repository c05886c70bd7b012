"""The fallback patch: one response on its way into an open editor, by socket or by file, applied at most once.

What may race: the socket's apply against the file's; a slow acknowledgement against the timeout; two windows that
watch one folder; the commit of the cycle against a late watcher; the user's typing against the patch's base; a newer
patch for the same file name, or for the same response. Who wins: the first claim while the cycle is open and the base
is the visible text. Whatever comes later is refused as applied, or finds the patch rejected; a timeout is "unknown",
and the response is never given up.

An edit is decided first, made then, and told last: `watch_apply` and `disk_write` claim the patch; `edited` says that
it was made, `edit_failed` that nothing was changed. While it is claimed, nobody else decides anything about it.

Source: seed agent-doc-lifecycles, "Late Fallback Patch Replay" and "Elimination Boundary" (profile E2);
lifecycles/agent-doc-tables.md, 12 (its `send` is `deliver`). Ours are `file_written` and `file_failed`, which answer
the writing and the removal of the file; claimed, with what leads out of it; and discarded, where a rejected patch ends
when its file is gone: the end says whether a patch was applied, for its cycle counts those that were.

What it repairs: a patch asks its own cycle, and not whichever is the newest (holes e.4-1, e.4-2, race 96); the apply is
remembered for ever and for every window (holes 5 and 6, race 97); an unapplied patch's file is never overwritten, also
not by a queued copy (hole 7, race 99); of several patches that deliver one response one is applied, whoever tells of it
(e.3-X4); an edit that turns out impossible is not told as applied; cleaning removes only the own file [as built: any];
a rejected or unparsable answer is never an ok; a sent patch and a disk write ask the cycle too, where the table names
only the base.
"""

from typing import Any, Self

import attrs

from .cycle import Cycle, CycleData, Reason
from .kernel import (
    Event,
    Id,
    Link,
    Machine,
    Principal,
    Seen,
    State,
    effect,
    guard,
    monitor,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
)
from .patch import (
    Ack,
    Copy,
    Delivery,
    Disk,
    Draft,
    FallbackData,
    FileFound,
    Foreign,
    Outcome,
    Queue,
    Transport,
    Trouble,
    Watch,
    Whole,
)

__all__ = [
    "Ack",
    "Copy",
    "Delivery",
    "Disk",
    "Draft",
    "Fallback",
    "FallbackData",
    "FileFound",
    "Foreign",
    "Outcome",
    "Queue",
    "Transport",
    "Trouble",
    "Watch",
    "Whole",
    "remove_file",
    "send_patch",
    "write_file",
]


@guard("patch-binds-cycle", "a patch belongs to a cycle that is open, and so the document's current one")
def cycle_open(cycle: Seen[CycleData] | None) -> bool:
    return cycle is not None and cycle.state in Cycle.opened


@guard("patch-binds-cycle", "a patch belongs to an open cycle, unless it is of the kind that names none")
def cycle_open_or_legacy(legacy: bool, cycle: Seen[CycleData] | None) -> bool:
    return legacy or (cycle is not None and cycle.state in Cycle.opened)


@guard("capture-before-mutation", "a patch delivers what its cycle captured, or says why there is nothing")
def captured_first(legacy: bool, response: Id | None, reason: Reason | None, cycle: Seen[CycleData] | None) -> bool:
    captured = cycle is not None and response is not None and response == cycle.data.response
    return captured or reason is not None or legacy


@guard("apply-once", "its cycle counts the patches that deliver its response: name it as `delivers`, too")
def counted(legacy: bool, response: Id | None, delivers: Seen[CycleData] | None) -> bool:
    if legacy or response is None:
        return delivers is None
    return delivers is not None and delivers.data.response == response


@guard("apply-once", "another patch has delivered this response, or is about to")
def undelivered(delivers: Seen[CycleData] | None) -> bool:
    return delivers is None or delivers.tallies["delivered"] == 0


@guard("retained-keeps-file", "only a file that was found can be kept")
def came_by_file(data: FallbackData) -> bool:
    return data.transport is Transport.FILE


@guard("patch-supersede-explicit", "the file name is held by an unapplied patch: supersede it first")
def name_is_free(name_free: bool, holder: "Seen[FallbackData] | None") -> bool:
    return holder.state in Fallback.done if holder is not None else name_free


@guard("patch-binds-cycle", "an old supervisor delivers nothing")
def supervised(supervisor_current: bool) -> bool:
    return supervisor_current


@guard("patch-binds-cycle", "a degraded route is not tried again by a patch")
def route_usable(route_sound: bool) -> bool:
    return route_sound


@guard("stale-patch-rejected", "the patch's cycle is over: only its own commit or a rebuilt patch can follow")
def still_due(data: FallbackData, cycle: Seen[CycleData] | None, newer_committed: bool) -> bool:
    return not newer_committed if data.legacy else cycle is not None and cycle.state in Cycle.opened


@guard("stale-patch-rejected", "the patch's cycle is open")
def overdue(data: FallbackData, cycle: Seen[CycleData] | None, newer_committed: bool) -> bool:
    return newer_committed if data.legacy else cycle is not None and cycle.state in Cycle.ended


@guard("apply-once", "another window has taken the patch")
def unclaimed(claimed: bool) -> bool:
    return not claimed


@guard("apply-once", "no mark says that another window has taken the patch")
def claimed_elsewhere(claimed: bool) -> bool:
    return claimed


@guard("patch-base-current", "the visible text is no longer what the patch was made from")
def base_visible(base_current: bool) -> bool:
    return base_current


@guard("patch-base-current", "the visible text is what the patch was made from")
def base_gone(base_current: bool) -> bool:
    return not base_current


@guard("lease-fenced", "the file stays for the document's owner, or for the editor that it is meant for")
def for_this_editor(data: FallbackData, my_lease: bool, by: Principal) -> bool:
    return my_lease and (data.editor is None or data.editor == by)


@guard("ack-needs-proof", "only an adopted or already present body, proven on the visible text, is delivered")
def proven_there(outcome: Outcome, proven: bool) -> bool:
    return outcome in (Outcome.ADOPTED, Outcome.ALREADY_THERE) and proven


@guard("patch-binds-cycle", "what is visible needs no second delivery, but a proof")
def body_missing(body_visible: bool) -> bool:
    return not body_visible


@guard("patch-binds-cycle", "only a visible and proven body is taken as applied")
def body_there(body_visible: bool, proven: bool) -> bool:
    return body_visible and proven


@guard("stale-patch-rejected", "the commit is this response's, or HEAD holds its body")
def response_committed(data: FallbackData, body_in_head: bool, cycle: Seen[CycleData] | None) -> bool:
    own = cycle is not None and cycle.state == Cycle.committed and data.response in (None, cycle.data.response)
    return own or body_in_head


@guard("foreign-commit-keeps-response", "a foreign commit without the body leaves the response to be issued again")
def not_in_head(body_in_head: bool) -> bool:
    return not body_in_head


@guard("no-full-content", "a whole-document payload is observed, never applied")
def is_managed(managed: bool) -> bool:
    return managed


@guard("no-disk-behind-editor", "the disk is not written while an editor may hold the document")
def no_editor(editor_absent: bool) -> bool:
    return editor_absent


@guard("no-disk-behind-editor", "the disk is written only over the text that was read")
def text_as_read(text_unchanged: bool) -> bool:
    return text_unchanged


@guard("cleanup-own-patch", "a patch removes its own file, never another's")
def owns_file(own_file: bool) -> bool:
    return own_file


def born(legacy: bool, response: Id | None, editor: Principal | None) -> FallbackData:
    return FallbackData(legacy, response, editor)


def by_socket(data: FallbackData) -> FallbackData:
    return attrs.evolve(data, transport=Transport.SOCKET)


def by_file(data: FallbackData) -> FallbackData:
    return attrs.evolve(data, transport=Transport.FILE)


def by_disk(data: FallbackData) -> FallbackData:
    return attrs.evolve(data, transport=Transport.DISK)


def send_patch(data: FallbackData, text: str) -> tuple[Principal | None, str]:
    """Deliver the patch over the socket, boundaries derived from its id; the handler returns the fields of an Ack."""
    return data.editor, text


def write_file(data: FallbackData, text: str) -> tuple[Principal | None, str]:
    """Write the patch's file, whole or not at all; the same id and boundaries as over the socket."""
    return data.editor, text


def remove_file(data: FallbackData) -> Principal | None:
    """Remove this patch's file and leave its mark; the handler returns `own_file`.

    Whoever fired `edited` removes the file itself, and fires `cleanup`.
    """
    return data.editor


def count_applies(applies: int, event: str, before: Any, after: Any) -> int:
    came = after.state == Fallback.applied and before.state != Fallback.applied
    return min(applies + 1, 2) if came else applies


def applied_twice(applies: int) -> bool:
    return applies > 1


@step_invariant("foreign-commit-keeps-response", "a patch delivers one response in all its life")
def response_stays(before: FallbackData, after: FallbackData) -> bool:
    return (before.legacy, before.response, before.editor) == (after.legacy, after.response, after.editor)


class Fallback(Machine):
    """One patch id on all its routes: drafted, delivered or queued, claimed, applied or rejected, its file removed."""

    cycle = Link(Cycle, optional=True)
    holder = Link(Self, per_event=True, optional=True)

    absent = State(initial=True)
    drafted = State()
    prewritten = State()
    sent = State()
    file_queued = State()
    claimed = State()
    applied = State()
    unproven = State()
    retained = State()
    rejected = State()
    cleaned = State(final=True)
    discarded = State(final=True)

    waiting = (prewritten, sent, file_queued, unproven, retained)
    """On the way: what it delivers may be visible or not, and its file may be there."""
    in_folder = (prewritten, file_queued, unproven, retained)
    ended = (cleaned, discarded)
    done = (applied, rejected, *ended)
    delivers = Link(Cycle, optional=True, counts={Cycle.delivered: (claimed, applied, cleaned)})
    """Its cycle once more, if it delivers that cycle's response; a repair delivers none."""

    start: Event[Draft] = absent.to(drafted, cond=[cycle_open_or_legacy, captured_first, counted], on=born)
    prewrite: Event[Copy] = drafted.to(prewritten, cond=name_is_free, after=write_file)
    deliver: Event[Delivery] = sent.from_(
        drafted, prewritten, cond=[cycle_open, supervised, route_usable], on=by_socket, after=send_patch
    ) | retained.to(file_queued, cond=cycle_open, on=by_file, after=write_file)
    send_unavailable: Event[Trouble] = unproven.from_(drafted, prewritten)
    degraded: Event[Trouble] = unproven.from_(drafted, prewritten)
    ack_result: Event[Ack] = (
        applied.from_(sent, unproven, cond=[proven_there, undelivered], after=remove_file)
        | claimed.to(applied, cond=proven_there, after=remove_file)
        | sent.to(unproven)
        | unproven.to(unproven)
    )
    timeout: Event[None] = sent.to(unproven) | file_queued.to(retained)
    queue_file: Event[Queue] = (
        unproven.to(file_queued, cond=[cycle_open, body_missing, name_is_free], on=by_file, after=write_file)
        | unproven.to(applied, cond=[body_there, undelivered], after=remove_file)
        | retained.to(file_queued, cond=[cycle_open, name_is_free], on=by_file, after=write_file)
    )
    watch_apply: Event[Watch] = (
        claimed.from_(*in_folder, cond=[unclaimed, still_due, base_visible, for_this_editor, undelivered], on=by_file)
        | claimed.from_(sent, cond=[unclaimed, still_due, base_visible, undelivered])
        | rejected.from_(sent, *in_folder, cond=claimed_elsewhere, after=remove_file)
        | rejected.from_(sent, *in_folder, cond=[unclaimed, overdue], after=remove_file)
        | rejected.from_(sent, *in_folder, cond=[unclaimed, still_due, base_gone], after=remove_file)
    )
    edited: Event[None] = claimed.to(applied)
    edit_failed: Event[Trouble] = claimed.to(retained, cond=came_by_file) | claimed.to(unproven)
    cycle_committed: Event[Foreign] = (
        rejected.from_(drafted, *waiting, cond=response_committed, after=remove_file)
        | drafted.to(drafted)
        | prewritten.to(prewritten)
        | sent.to(sent)
        | file_queued.to(file_queued)
        | unproven.to(unproven)
        | retained.to(retained)
        | claimed.to(claimed)
        | applied.to(applied)
        | rejected.to(rejected)
    )
    foreign_commit: Event[Foreign] = (
        drafted.to(drafted, cond=not_in_head)
        | prewritten.to(prewritten, cond=not_in_head)
        | unproven.to(unproven, cond=not_in_head)
        | retained.to(retained, cond=not_in_head)
        | rejected.from_(drafted, prewritten, sent, file_queued, unproven, retained, after=remove_file)
    )
    superseded: Event[Trouble] = rejected.from_(*waiting, after=remove_file)
    conflict: Event[Trouble] = rejected.from_(*waiting, after=remove_file)
    full_content: Event[Whole] = rejected.from_(drafted, *waiting, cond=is_managed, after=remove_file)
    disk_write: Event[Disk] = claimed.from_(
        file_queued, unproven, retained, cond=[no_editor, text_as_read, still_due, undelivered], on=by_disk
    )
    file_written: Event[None] = (
        prewritten.to(prewritten)
        | sent.to(sent)
        | file_queued.to(file_queued)
        | unproven.to(unproven)
        | retained.to(retained)
        | claimed.to(claimed)
        | applied.to(applied)
        | rejected.to(rejected)
    )
    file_failed: Event[None] = (
        unproven.from_(prewritten, file_queued, unproven, retained)
        | sent.to(sent)
        | claimed.to(claimed)
        | applied.to(applied)
        | rejected.to(rejected)
    )
    cleanup: Event[FileFound] = applied.to(cleaned, cond=owns_file) | rejected.to(discarded, cond=owns_file)

    rules = [
        settled(
            cleanup,
            cycle_committed,
            file_written,
            file_failed,
            when=ended,
            rule="terminal-idempotent",
            why="a repeated end changes nothing and removes nothing",
        ),
        refused(
            cleanup,
            when=(*waiting, claimed),
            rule="retained-keeps-file",
            why="the file of a patch that is neither applied nor rejected stays",
        ),
        refused(
            watch_apply,
            ack_result,
            timeout,
            when=applied,
            rule="apply-once",
            why="a patch is applied at most once over all routes, windows and restarts",
        ),
        refused(
            watch_apply,
            when=rejected,
            rule="stale-patch-rejected",
            why="a patch of an ended cycle ends before anything visible changes",
        ),
        rule("apply-once", claimed, why="a window makes the edit: what it says of it comes next"),
        rule(
            "no-event-after-terminal", *done, why="an applied or rejected patch is over: a rebuilt one has another id"
        ),
        rule("patch-order", absent, drafted, *waiting, why="a patch is drafted, delivered, proven, cleaned, in order"),
    ]
    owes = {
        **{state: owe("retained-keeps-file") for state in (*waiting, claimed)},
        applied: owe("cleanup-own-patch", "after the closeout no file of the patch is left"),
        rejected: owe("cleanup-own-patch"),
    }
    effects = [
        effect(send_patch, done=ack_result, failed=timeout, unknown=timeout),
        effect(write_file, done=file_written, failed=file_failed, unknown=file_failed),
        effect(remove_file, done=cleanup, failed=file_failed, unknown=file_failed),
    ]
    monitors = [
        monitor(
            "apply-once",
            "a patch is applied at most once over all routes, windows and restarts",
            start=0,
            advance=count_applies,
            bad=applied_twice,
        )
    ]
    step_invariants = [response_stays]
