"""lifecycles/agent-doc-races.md, M = e, 1, 2, 11 to 15, 18, 19 and 97 to 99, and 62 and 96 of the same machine: a patch
that comes late, twice or to nobody, or cannot be applied.
"""

from typing import Any

from ...machines import cycle, fallback
from ...machines.cycle import Cycle, Reason
from ...machines.fallback import Fallback, remove_file
from ...machines.kernel import Way
from ..generate.world import fire
from .documents import (
    ONE,
    REPAIR,
    SOCKET,
    TWO,
    WRITER,
    answers,
    applied,
    applies,
    came,
    cannot_edit,
    captured,
    captures,
    clears,
    closed,
    committed,
    drafts,
    edits,
    ends_without,
    gave_out,
    has,
    hears_of_commit,
    opens,
    passed,
    prewrites,
    queued,
    queues,
    retained,
    sent,
    times_out,
    unanswered,
    writes_disk,
)
from .scenario import Race, Without
from .world import done_by, is_in

__all__ = ["RACES"]

UNFENCED = Without(Fallback, (fallback.still_due,))
UNBASED = Without(Fallback, (fallback.base_visible,))
UNMARKED = Without(Fallback, (fallback.unclaimed,))
UNLEASED = Without(Fallback, (fallback.for_this_editor,))
ONE_NAME = Without(Fallback, (fallback.name_is_free,))
FORGIVING = Without(Fallback, add=(Way(Fallback.rejected, Fallback.watch_apply, Fallback.applied),))
"""It takes a rejected patch."""
HELD = {"name_free": False, "holder": "p1"}
"""The file's name is that of p1."""
REPAIRS: dict[str, Any] = {"response": None, "reason": Reason.HANDOFF}
"""A patch that repairs, and delivers no response."""

RACES = [
    Race(
        "agent-doc-1",
        "late-fallback-after-commit",
        [*captured("c1"), *queued("p1")],
        [
            WRITER.may_not("no-disk-behind-editor", writes_disk("p1", editor_absent=False)),
            *closed("c1"),
            ONE.does(applies("p1")),
            ONE.does(clears("p1")),
        ],
        [passed("p1", "drafted sent unproven file_queued rejected discarded"), gave_out(remove_file, "p1")],
        without=[UNFENCED],
        later="adapters/editors: the removed file leaves a durable mark",
    ),
    Race(
        "agent-doc-1",
        "late-fallback-after-commit: the patch hears of the commit before the watcher finds it",
        [*captured("c1"), *queued("p1")],
        [*closed("c1"), WRITER.does(hears_of_commit("p1")), ONE.may_not("stale-patch-rejected", applies("p1"))],
        [passed("p1", "drafted sent unproven file_queued rejected"), gave_out(remove_file, "p1")],
        order="told",
        without=[FORGIVING],
    ),
    Race(
        "agent-doc-1",
        "late-fallback-after-commit: a window had claimed the patch, and comes back after the commit",
        [*captured("c1"), *queued("p1"), ONE.does(applies("p1"))],
        [
            *closed("c1"),
            WRITER.does(hears_of_commit("p1")),
            TWO.may_not("apply-once", applies("p1")),
            ONE.does(cannot_edit("p1")),
            ONE.does(applies("p1")),
            ONE.does(clears("p1")),
        ],
        [passed("p1", "drafted sent unproven file_queued claimed retained rejected discarded")],
        order="claimed",
        without=[UNFENCED],
    ),
    Race(
        "agent-doc-2",
        "leftover-patch-on-plugin-start: in two documents",
        [
            *captured("c1"),
            WRITER.does(drafts("p1", "c1")),
            WRITER.does(prewrites("p1")),
            *closed("c1"),
            *captured("c2", "r2"),
            *queued("p2", "c2", "r2"),
            *closed("c2", "r2"),
        ],
        [ONE.does(applies("p1")), ONE.does(clears("p1")), ONE.does(applies("p2")), ONE.does(clears("p2"))],
        [
            passed("p1", "drafted prewritten rejected discarded"),
            passed("p2", "drafted sent unproven file_queued rejected discarded"),
            gave_out(remove_file, "p1", "p2"),
        ],
        without=[UNFENCED],
    ),
    Race(
        "agent-doc-11",
        "late patch re-materialises minutes later: the fence is the cycle",
        [*captured("c1"), *queued("p1"), *closed("c1"), *committed("c2", "r2", after="c1")],
        [ONE.does(applies("p1"))],
        [passed("p1", "drafted sent unproven file_queued rejected")],
        order="cycle",
        without=[UNFENCED],
    ),
    Race(
        "agent-doc-11",
        "late patch re-materialises minutes later: the fence is the text",
        [*captured("c1"), *queued("p1")],
        [ONE.does(applies("p1", base_current=False))],
        [passed("p1", "drafted sent unproven file_queued rejected")],
        order="text",
        without=[UNBASED],
    ),
    Race(
        "agent-doc-12",
        "mid-turn foreign commit swallows response: it comes before the capture",
        [WRITER.does(opens("c1"))],
        [
            REPAIR.does(ends_without("c1", Reason.COMPACT)),
            WRITER.may_not("no-event-after-terminal", captures("c1", "r1")),
            *captured("c2", "r1", after="c1"),
            *sent("p1", "c2"),
            SOCKET.does(answers("p1", proven=True)),
            *closed("c2"),
        ],
        [
            passed("p1", "drafted sent applied"),
            passed("c2", "preflight_started response_captured write_applied committed"),
            has("c2", response="r1"),
        ],
        order="before-capture",
    ),
    Race(
        "agent-doc-12",
        "mid-turn foreign commit swallows response: the captured cycle cannot be closed without it",
        [*captured("c1"), *unanswered("p1")],
        [
            REPAIR.may_not("commit-holds-response", ends_without("c1", Reason.COMPACT)),
            REPAIR.does(fire("p1", Fallback.foreign_commit, body_in_head=False)),
            WRITER.does(hears_of_commit("p1")),
            WRITER.does(queues("p1")),
            *applied("p1"),
            *closed("c1"),
        ],
        [passed("p1", "drafted sent unproven file_queued claimed applied"), came("p1 applied", "c1 committed")],
        order="after-capture",
        without=[
            Without(Cycle, (cycle.response_held,)),
            Without(Fallback, (fallback.response_committed,)),
        ],
    ),
    Race(
        "agent-doc-12",
        "mid-turn foreign commit swallows response: HEAD is evidence that it holds the response",
        [*captured("c1"), *unanswered("p1")],
        [
            REPAIR.does(fire("p1", Fallback.foreign_commit, body_in_head=True)),
            ONE.may_not("stale-patch-rejected", applies("p1")),
        ],
        [passed("p1", "drafted sent unproven rejected")],
        order="evidence",
        without=[Without(Fallback, (fallback.not_in_head,))],
    ),
    Race(
        "agent-doc-13",
        "two windows apply one broadcast patch",
        [*captured("c1"), *queued("p1")],
        [
            TWO.may_not("lease-fenced", applies("p1", my_lease=False)),
            ONE.does(applies("p1")),
            TWO.may_not("apply-once", applies("p1", my_lease=False)),
            ONE.does(edits("p1")),
            TWO.may_not("apply-once", applies("p1", my_lease=False)),
        ],
        [passed("p1", "drafted sent unproven file_queued claimed applied"), done_by("window 1", "p1.watch_apply")],
        without=[UNLEASED],
        later="ownership: of two windows one holds the lease",
    ),
    Race(
        "agent-doc-14",
        "patches for dead editors accumulate",
        [*captured("c1"), *queued("p1", editor="window 1")],
        [
            TWO.may_not("lease-fenced", applies("p1")),
            TWO.may_not("retained-keeps-file", clears("p1")),
            WRITER.does(fire("p1", Fallback.superseded)),
            WRITER.does(clears("p1")),
            WRITER.does(drafts("p2", "c1")),
            WRITER.does(prewrites("p2", **HELD)),
            *applied("p2", TWO),
        ],
        [
            passed("p1", "drafted sent unproven file_queued rejected discarded"),
            passed("p2", "drafted prewritten claimed applied"),
            done_by("window 2", "p2.watch_apply"),
        ],
        without=[UNLEASED],
        later="adapters/editors: a patch is superseded for a consumer only when that is provably dead",
    ),
    Race(
        "agent-doc-15",
        "stale queue-consume patch",
        [WRITER.does(opens("c1")), *queued("p1", response=None, reason=Reason.PENDING_ONLY)],
        [ONE.does(applies("p1", base_current=False)), TWO.may_not("stale-patch-rejected", applies("p1"))],
        [passed("p1", "drafted sent unproven file_queued rejected")],
        without=[UNBASED],
        later="queue: a strike names the node of its head",
    ),
    Race(
        "agent-doc-18",
        "superseded retry target resurrected",
        [*captured("c1"), *retained("p1"), WRITER.does(drafts("p2", "c1"))],
        [
            WRITER.may_not("patch-supersede-explicit", prewrites("p2", **HELD)),
            WRITER.does(fire("p1", Fallback.superseded)),
            WRITER.does(prewrites("p2", **HELD)),
            ONE.may_not("stale-patch-rejected", applies("p1")),
            *applied("p2"),
        ],
        [
            passed("p1", "drafted sent unproven file_queued retained rejected"),
            came("p1 rejected", "p2 prewritten", "p2 applied"),
        ],
        without=[ONE_NAME],
    ),
    Race(
        "agent-doc-19",
        "intermediate repair image replayed",
        [WRITER.does(opens("c1")), *retained("p1", **REPAIRS), *unanswered("p2", **REPAIRS)],
        [
            WRITER.may_not("patch-supersede-explicit", queues("p2", **HELD)),
            WRITER.does(fire("p1", Fallback.superseded)),
            WRITER.does(queues("p2", **HELD)),
            WRITER.does(times_out("p2")),
            ONE.may_not("stale-patch-rejected", applies("p1")),
            *applied("p2"),
        ],
        [
            passed("p1", "drafted sent unproven file_queued retained rejected"),
            came("p1 rejected", "p2 file_queued", "p2 applied"),
        ],
        without=[ONE_NAME],
    ),
    Race(
        "agent-doc-62",
        "merge computed, file changed before write: an edit turns out impossible, and that of a rebuilt patch does not",
        [*captured("c1"), *queued("p1")],
        [
            ONE.does(applies("p1")),
            ONE.does(cannot_edit("p1")),
            ONE.does(applies("p1", base_current=False)),
            ONE.does(clears("p1")),
            WRITER.does(drafts("p2", "c1")),
            WRITER.does(prewrites("p2", **HELD)),
            *applied("p2"),
        ],
        [
            passed("p1", "drafted sent unproven file_queued claimed retained rejected discarded"),
            passed("p2", "drafted prewritten claimed applied"),
        ],
        order="edit",
        without=[Without(Fallback, ((Fallback.claimed, Fallback.edit_failed),))],
    ),
    Race(
        "agent-doc-96",
        "binary guard passes, patch for older cycle",
        [*captured("c1"), *queued("p1"), *closed("c1"), WRITER.does(opens("c2", after="c1"))],
        [ONE.does(applies("p1"))],
        [passed("p1", "drafted sent unproven file_queued rejected"), is_in("c2", Cycle.preflight_started)],
        without=[UNFENCED],
    ),
    Race(
        "agent-doc-97",
        "claim marker consumed once: the patch was rejected, whether or not a window finds the mark",
        [*captured("c1"), *queued("p1"), *closed("c1")],
        [
            WRITER.does(hears_of_commit("p1")),
            ONE.may_not("stale-patch-rejected", applies("p1", claimed=True)),
            TWO.may_not("stale-patch-rejected", applies("p1")),
        ],
        [passed("p1", "drafted sent unproven file_queued rejected")],
        order="rejected",
        without=[FORGIVING],
    ),
    Race(
        "agent-doc-97",
        "claim marker consumed once: another window has the patch",
        [*captured("c1"), *queued("p1")],
        [ONE.does(applies("p1", claimed=True)), TWO.may_not("stale-patch-rejected", applies("p1"))],
        [passed("p1", "drafted sent unproven file_queued rejected")],
        order="claimed",
        without=[UNMARKED],
    ),
    Race(
        "agent-doc-98",
        "snapshot newer than patch heuristic: another document's commit is no end of this patch",
        [*captured("c1"), *queued("p1"), *committed("c2", "r2")],
        [
            WRITER.does(hears_of_commit("p1")),
            TWO.may_not("retained-keeps-file", clears("p1")),
            *applied("p1"),
        ],
        [passed("p1", "drafted sent unproven file_queued claimed applied")],
        without=[Without(Fallback, (fallback.response_committed,))],
    ),
    Race(
        "agent-doc-99",
        "newer patch overwrites unapplied older one",
        [*captured("c1"), *retained("p1"), WRITER.does(drafts("p2", "c1"))],
        [
            WRITER.may_not("patch-supersede-explicit", prewrites("p2", **HELD)),
            *applied("p1"),
            WRITER.does(prewrites("p2", **HELD)),
            ONE.does(applies("p2", base_current=False)),
        ],
        [
            passed("p1", "drafted sent unproven file_queued retained claimed applied"),
            passed("p2", "drafted prewritten rejected"),
            came("p1 applied", "p2 prewritten"),
        ],
        without=[ONE_NAME, Without(Fallback, (fallback.base_visible, fallback.undelivered))],
    ),
]
