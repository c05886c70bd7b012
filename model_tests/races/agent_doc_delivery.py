"""lifecycles/agent-doc-races.md, M = e, 3 to 10, 16, 17 and 95: what is known of a patch that was sent."""

from ...machines import fallback
from ...machines.cycle import Reason
from ...machines.fallback import Fallback, Outcome, Transport, send_patch, write_file
from ...machines.kernel import Way
from ...machines.turn import Turn
from ..generate.world import fire
from .documents import (
    ONE,
    SOCKET,
    TWO,
    WRITER,
    answered,
    answers,
    applied,
    applies,
    came,
    cannot_edit,
    captured,
    clears,
    closed,
    commits,
    delivers,
    drafts,
    edits,
    finished,
    gave_out,
    has,
    hears_of_commit,
    passed,
    prewrites,
    queued,
    queues,
    sent,
    taken,
    times_out,
    unanswered,
    verifies,
    writes_disk,
)
from .scenario import Race, Without
from .world import done_by, unborn

__all__ = ["RACES"]

UNBASED = Without(Fallback, (fallback.base_visible, fallback.undelivered))
UNPROVEN = Without(Fallback, (fallback.proven_there,))
UNMARKED = Without(Fallback, (fallback.unclaimed,))
BEHIND_EDITOR = Without(Fallback, (fallback.no_editor,))
FORGETFUL = Without(Fallback, add=(Way(Fallback.applied, Fallback.watch_apply, Fallback.applied),))
"""It takes an applied patch once more."""
CROWDED = Without(Fallback, add=(Way(Fallback.claimed, Fallback.watch_apply, Fallback.claimed),))
"""It gives a claimed patch to the next window, too."""
UNCOUNTED = Without(Fallback, (fallback.undelivered,))
DEAF = Without(Fallback, ((Fallback.unproven, Fallback.ack_result),))
"""It hears no answer after the time-out."""

RACES = [
    Race(
        "agent-doc-3",
        "sidecar-timeout-claimed-success",
        [*captured("c1"), *sent("p1")],
        [
            SOCKET.does(answers("p1", proven=False)),
            WRITER.may_not("commit-holds-response", commits("c1", in_staged=False)),
            WRITER.does(queues("p1")),
            *applied("p1"),
            *closed("c1"),
        ],
        [passed("p1", "drafted sent unproven file_queued claimed applied"), came("p1 applied", "c1 committed")],
        without=[UNPROVEN],
    ),
    Race(
        "agent-doc-4",
        "double-apply socket+file: the socket's apply is told at once",
        [*captured("c1"), WRITER.does(drafts("p1", "c1")), WRITER.does(prewrites("p1")), WRITER.does(delivers("p1"))],
        [
            SOCKET.does(applies("p1")),
            WRITER.may_not("apply-once", times_out("p1")),
            TWO.may_not("apply-once", applies("p1")),
            SOCKET.does(edits("p1")),
            WRITER.may_not("apply-once", times_out("p1")),
            TWO.may_not("apply-once", applies("p1")),
            SOCKET.may_not("apply-once", answers("p1", proven=True)),
        ],
        [passed("p1", "drafted prewritten sent claimed applied"), done_by("window 1", "p1.watch_apply")],
        without=[FORGETFUL, CROWDED],
    ),
    Race(
        "agent-doc-4",
        "double-apply socket+file: the socket's apply is not told, and has left its mark",
        [*captured("c1"), WRITER.does(drafts("p1", "c1")), WRITER.does(prewrites("p1")), WRITER.does(delivers("p1"))],
        [
            WRITER.does(times_out("p1")),
            TWO.does(applies("p1", claimed=True)),
            SOCKET.may_not("no-event-after-terminal", answers("p1", proven=True)),
        ],
        [passed("p1", "drafted prewritten sent unproven rejected")],
        order="slow",
        without=[UNMARKED],
    ),
    Race(
        "agent-doc-5",
        "different-boundary retry: the retry has the same id",
        [*captured("c1"), *unanswered("p1")],
        [
            WRITER.may_not("patch-order", drafts("p1", "c1")),
            WRITER.does(queues("p1")),
            *applied("p1", SOCKET),
            TWO.may_not("apply-once", applies("p1")),
        ],
        [
            passed("p1", "drafted sent unproven file_queued claimed applied"),
            gave_out(send_patch, "p1"),
            taken("p1", Fallback.watch_apply, {}),
            gave_out(write_file, "p1"),
        ],
        without=[FORGETFUL],
        later="adapters/editors: both copies carry the boundary that is derived from the patch id",
    ),
    Race(
        "agent-doc-5",
        "different-boundary retry: a rebuilt patch finds the first one's text",
        [*captured("c1"), *unanswered("p1"), *sent("p2")],
        [*applied("p1", SOCKET), SOCKET.does(applies("p2", base_current=False))],
        [passed("p1", "drafted sent unproven claimed applied"), passed("p2", "drafted sent rejected")],
        order="rebuilt",
        without=[UNBASED],
    ),
    Race(
        "agent-doc-5",
        "different-boundary retry: both are answered as adopted",
        [*captured("c1"), *unanswered("p1"), *sent("p2")],
        [
            SOCKET.does(answers("p2", proven=True)),
            SOCKET.does(answers("p1", Outcome.ALREADY_THERE, proven=True)),
            WRITER.may_not("patch-binds-cycle", queues("p1", body_visible=True, proven=True)),
            WRITER.does(clears("p2")),
            SOCKET.does(answers("p1", proven=True)),
            ONE.may_not("apply-once", applies("p1")),
            WRITER.may_not("apply-once", writes_disk("p1")),
            *closed("c1"),
            WRITER.does(hears_of_commit("p1")),
        ],
        [passed("p1", "drafted sent unproven rejected"), passed("p2", "drafted sent applied cleaned")],
        order="both-answered",
        without=[UNCOUNTED],
    ),
    Race(
        "agent-doc-5",
        "different-boundary retry: the answer to one comes while a window edits for the other",
        [*captured("c1"), *queued("p1"), *sent("p2")],
        [
            ONE.does(applies("p1")),
            SOCKET.does(answers("p2", proven=True)),
            ONE.does(cannot_edit("p1")),
            SOCKET.does(answers("p2", proven=True)),
            ONE.may_not("apply-once", applies("p1")),
            ONE.does(applies("p1", base_current=False)),
        ],
        [
            passed("p1", "drafted sent unproven file_queued claimed retained rejected"),
            passed("p2", "drafted sent unproven applied"),
            came("p1 retained", "p2 applied"),
        ],
        order="while-editing",
        without=[UNCOUNTED],
    ),
    Race(
        "agent-doc-5",
        "different-boundary retry: a patch that repairs is no delivery of the response",
        [*captured("c1"), *sent("p1"), *sent("p2", response=None, reason=Reason.HANDOFF)],
        [
            SOCKET.does(answers("p2", proven=True)),
            SOCKET.does(answers("p1", proven=True)),
            WRITER.may_not("apply-once", drafts("p3", "c1", None, reason=Reason.HANDOFF, counted=True)),
        ],
        [passed("p1", "drafted sent applied"), passed("p2", "drafted sent applied"), unborn("p3")],
        order="repair",
        without=[Without(Fallback, (fallback.counted,))],
    ),
    Race(
        "agent-doc-6",
        "already-applied answered with error then fallback: the answer has a proof",
        [*captured("c1"), *sent("p1")],
        [
            SOCKET.does(answers("p1", Outcome.ALREADY_THERE, proven=True)),
            WRITER.may_not("no-event-after-terminal", queues("p1")),
        ],
        [passed("p1", "drafted sent applied"), gave_out(write_file)],
        order="proven",
    ),
    Race(
        "agent-doc-6",
        "already-applied answered with error then fallback: the sender finds the proof itself",
        [*captured("c1"), *sent("p1")],
        [
            SOCKET.does(answers("p1", Outcome.REJECTED, proven=False)),
            WRITER.does(queues("p1", body_visible=True, proven=True)),
        ],
        [passed("p1", "drafted sent unproven applied"), gave_out(write_file)],
        order="error",
        without=[Without(Fallback, (fallback.body_missing,))],
    ),
    Race(
        "agent-doc-7",
        "false ack timeout below idle wait: the answer comes after it, and counts",
        [*captured("c1"), *sent("p1")],
        [
            WRITER.does(times_out("p1")),
            SOCKET.does(answers("p1", proven=True)),
            WRITER.may_not("no-event-after-terminal", queues("p1")),
        ],
        [passed("p1", "drafted sent unproven applied"), gave_out(send_patch, "p1"), gave_out(write_file)],
        without=[DEAF],
        later="acknowledgement: a pending answer extends the wait, and the budget exceeds the receiver's",
    ),
    Race(
        "agent-doc-7",
        "false ack timeout below idle wait: the file is there before the apply, which has left its mark",
        [*captured("c1"), *sent("p1")],
        [
            WRITER.does(times_out("p1")),
            WRITER.does(queues("p1")),
            *applied("p1", SOCKET),
            TWO.may_not("apply-once", applies("p1", claimed=True)),
        ],
        [passed("p1", "drafted sent unproven file_queued claimed applied"), done_by("window 1", "p1.watch_apply")],
        order="file-first",
        without=[FORGETFUL],
    ),
    Race(
        "agent-doc-8",
        "slow sidecar votes degrade",
        [*captured("c1"), *sent("p1")],
        [
            SOCKET.does(answers("p1", proven=False)),
            WRITER.may_not("no-disk-behind-editor", writes_disk("p1", editor_absent=False)),
            SOCKET.does(answers("p1", proven=True)),
            *closed("c1"),
            *captured("c2", "r2", after="c1"),
            *sent("p2", "c2", "r2"),
        ],
        [
            passed("p1", "drafted sent unproven applied"),
            has("p1", transport=Transport.SOCKET),
            passed("p2", "drafted sent"),
        ],
        without=[BEHIND_EDITOR],
        later="adapters/editors: a proof that comes late is no vote to degrade the route",
    ),
    Race(
        "agent-doc-9",
        "connect-only self heal",
        [*captured("c1"), WRITER.does(drafts("p1", "c1"))],
        [
            WRITER.may_not("patch-binds-cycle", delivers("p1", route_sound=False)),
            WRITER.does(fire("p1", Fallback.degraded)),
            WRITER.does(queues("p1")),
            *applied("p1"),
        ],
        [passed("p1", "drafted unproven file_queued claimed applied"), gave_out(send_patch)],
        without=[Without(Fallback, (fallback.route_usable,))],
        later="adapters/editors: a degraded route is sound again only after a probe that was answered",
    ),
    Race(
        "agent-doc-10",
        "accept backlog wedge: one document's patch hangs, another's does not, and the time-out is unknown",
        [*captured("c1"), *captured("c2", "r2"), *sent("p1")],
        [
            *sent("p2", "c2", "r2"),
            SOCKET.does(answers("p2", proven=True)),
            WRITER.does(times_out("p1")),
            SOCKET.does(answers("p1", proven=True)),
        ],
        [passed("p1", "drafted sent unproven applied"), passed("p2", "drafted sent applied")],
        without=[DEAF],
        later="adapters/editors: handlers run side by side",
    ),
    Race(
        "agent-doc-16",
        "disk equality taken as ACK",
        [*answered("t1", "c1"), *queued("p1")],
        [
            WRITER.may_not("patch-order", answers("p1", proven=True)),
            WRITER.may_not("no-disk-behind-editor", writes_disk("p1", editor_absent=False)),
            WRITER.may_not("patch-base-current", verifies("t1", base_current=False)),
            WRITER.may_not("commit-needs-proof", fire("t1", Turn.commit_policy)),
            *applied("p1"),
            *finished("t1", "c1"),
        ],
        [has("p1", transport=Transport.FILE), came("p1 applied", "t1 apply_verified", "c1 committed")],
        without=[BEHIND_EDITOR],
    ),
    Race(
        "agent-doc-17",
        "generation receipt mistaken for convergence",
        [*answered("t1", "c1"), *sent("p1")],
        [
            SOCKET.does(answers("p1", proven=False)),
            WRITER.may_not("patch-base-current", verifies("t1", base_current=False)),
            WRITER.may_not("commit-needs-proof", fire("t1", Turn.commit_policy)),
            SOCKET.does(answers("p1", proven=True)),
            *finished("t1", "c1"),
        ],
        [came("p1 unproven", "p1 applied", "t1 apply_verified", "c1 committed")],
        without=[UNPROVEN],
    ),
    Race(
        "agent-doc-95",
        "force-disk ack confusion",
        [*captured("c1"), *unanswered("p1")],
        [
            WRITER.may_not("no-disk-behind-editor", writes_disk("p1", editor_absent=False, forced=True)),
            WRITER.does(writes_disk("p1", forced=True)),
            ONE.may_not("apply-once", applies("p1")),
            WRITER.does(edits("p1")),
            ONE.may_not("apply-once", applies("p1")),
            SOCKET.may_not("apply-once", answers("p1", proven=True)),
        ],
        [
            passed("p1", "drafted sent unproven claimed applied"),
            taken("p1", Fallback.disk_write, {"editor_absent": True}),
        ],
        without=[BEHIND_EDITOR],
        later="replay: the text before the force and its target are kept, so that an old buffer is known as old",
    ),
]
