"""lifecycles/agent-doc-races.md, M = a: the active turn and its cycle."""

from ...machines import cycle, fallback, turn
from ...machines.actor import Actor
from ...machines.cycle import Cycle, Reason
from ...machines.fallback import Fallback
from ...machines.turn import Turn
from ..generate.world import Fire, fire
from .documents import (
    HARNESS,
    REPAIR,
    WRITER,
    admits,
    admitted,
    answered,
    begins,
    came,
    captured,
    captures,
    closed,
    closing,
    commits,
    committed,
    drafts,
    edits,
    ends_without,
    finished,
    gives_up,
    has,
    notes,
    opens,
    owned,
    passed,
    preflight,
    queued,
    resumes,
    running,
    succeeds,
    taken,
    takes,
    verifies,
    writes,
    writes_disk,
)
from .scenario import Later, Race, Without
from .world import is_in, unborn

__all__ = ["RACES"]

LOGGED = "r1 and the log of its capture"
WHOLE = "preflight_started response_captured write_applied committed"
HOLDING = Without(Cycle, (cycle.response_held,))
SUCCEEDING = Without(Cycle, (cycle.previous_ended,))
FOLLOWING = Without(Turn, (turn.previous_over,))
CHECKING = Without(Turn, (turn.check_passed,))
BASED = Without(Turn, (turn.baseline_bound,))
ENDING = Without(Turn, (turn.cycle_ended,))


def checkpoint(cycle: str, *, same: bool) -> Fire:
    return fire(cycle, Cycle.partial_checkpoint, same_cycle=same)


RACES = [
    Race(
        "agent-doc-51",
        "capture without write, called committed",
        captured("c1"),
        [WRITER.may_not("commit-holds-response", ends_without("c1", Reason.NO_OP)), *closed("c1")],
        [passed("c1", WHOLE)],
        without=[HOLDING],
    ),
    Race(
        "agent-doc-52",
        "visible response, no commit",
        running("t1", "c1"),
        [
            HARNESS.does(fire("t1", Turn.console_only)),
            WRITER.may_not("turn-order", succeeds("t1")),
            HARNESS.does(captures("c1", "r1"), takes("t1")),
            WRITER.does(fire("t1", Turn.operations_built)),
            *closing("t1"),
            *closed("c1"),
            WRITER.may_not("success-after-check", succeeds("t1", checked=False)),
            WRITER.does(succeeds("t1")),
        ],
        [taken("t1", Turn.commit_done, {"session_checked": True}), came("c1 committed", "t1 committed")],
        without=[CHECKING],
        later="closeout: the session check sees a response that is visible and in no commit",
    ),
    Race(
        "agent-doc-53",
        "second answer captured in the same cycle",
        captured("c1"),
        [
            HARNESS.may_not("one-response-per-cycle", captures("c1", "r2")),
            WRITER.does(writes("c1", "r1")),
            WRITER.may_not("commit-holds-response", commits("c1", in_staged=False)),
            HARNESS.may_not("one-response-per-cycle", captures("c1", "r2")),
            HARNESS.may_not("one-response-per-cycle", writes("c1", "r2")),
            WRITER.does(commits("c1")),
        ],
        [
            taken("c1", Cycle.write, {"response": "r1"}),
            taken("c1", Cycle.commit, {"in_staged": True}),
            passed("c1", WHOLE),
        ],
        without=[Without(Cycle, (cycle.same_response,)), HOLDING],
    ),
    Race(
        "agent-doc-54",
        "cycle id reused for days",
        committed("c1"),
        [
            HARNESS.may_not("no-event-after-terminal", captures("c1", "r2")),
            WRITER.may_not("no-event-after-terminal", writes("c1", "r2")),
            WRITER.repeats(commits("c1")),
            *committed("c2", "r2", after="c1"),
        ],
        [has("c1", response="r1"), passed("c1", WHOLE), passed("c2", WHOLE), has("c2", response="r2")],
    ),
    Race(
        "agent-doc-55",
        "repeated terminal bookkeeping",
        captured("c1"),
        [
            *closed("c1"),
            REPAIR.repeats(commits("c1")),
            REPAIR.repeats(commits("c1", in_staged=False)),
            REPAIR.may_not("no-event-after-terminal", notes("c1", mutated=True)),
            REPAIR.may_not("no-event-after-terminal", fire("c1", Cycle.rewind, capture_retired=True)),
        ],
        [taken("c1", Cycle.commit, {}), taken("c1", Cycle.bookkeep), passed("c1", WHOLE)],
    ),
    Race(
        "agent-doc-56",
        "checkpoint writer outlives cycle",
        [WRITER.does(opens("c1")), HARNESS.does(checkpoint("c1", same=True))],
        [
            REPAIR.does(gives_up("c1", explicit=True)),
            HARNESS.may_not("checkpoint-binds-cycle", checkpoint("c1", same=True)),
            WRITER.does(opens("c2", after="c1")),
            HARNESS.may_not("checkpoint-binds-cycle", checkpoint("c2", same=False)),
        ],
        [taken("c1", Cycle.partial_checkpoint, {}), taken("c2", Cycle.partial_checkpoint)],
        without=[Without(Cycle, (cycle.own_checkpoint,))],
    ),
    Race(
        "agent-doc-57",
        "empty preflight blocks for ever",
        running("t1", "c1"),
        [
            WRITER.does(fire("t1", Turn.harness_interrupted)),
            REPAIR.may_not("abandon-only-empty", gives_up("c1")),
            REPAIR.does(gives_up("c1", old=True), fire("t1", Turn.safe_abandon)),
            *running("t2", "c2", after=("t1", "c1")),
        ],
        [
            taken("c1", Cycle.abandon, {"older_than_bound": True}),
            came("c1 abandoned", "t1 abandoned", "t2 admitted", "c2 preflight_started"),
        ],
        without=[Without(Cycle, (cycle.old_or_explicit,))],
        later="prompt: the prompt of an abandoned cycle is the next one's",
    ),
    Race(
        "agent-doc-58",
        "inspection opens a cycle: a probe ends before it does",
        admitted("t1", "c1"),
        [
            WRITER.does(fire("t1", Turn.probe_cancelled)),
            WRITER.does(begins("t2", "c2", "t1")),
            WRITER.does(admits("t2")),
        ],
        [passed("t1", "idle admitted abandoned"), unborn("c1"), passed("t2", "idle admitted")],
    ),
    Race(
        "agent-doc-58",
        "inspection opens a cycle: and ends it again",
        [*admitted("t1", "c1"), WRITER.does(opens("c1"), preflight("t1"))],
        [
            WRITER.may_not("abandon-only-empty", fire("t1", Turn.probe_cancelled)),
            WRITER.does(gives_up("c1", explicit=True), fire("t1", Turn.probe_cancelled)),
            *running("t2", "c2", after=("t1", "c1")),
        ],
        [passed("c1", "preflight_started abandoned"), is_in("t2", Turn.agent_running)],
        order="opened",
        without=[ENDING],
    ),
    Race(
        "agent-doc-58",
        "inspection opens a cycle: what has changed something is no probe",
        [*admitted("t1", "c1"), WRITER.does(opens("c1"), preflight("t1")), WRITER.does(notes("c1", mutated=True))],
        [
            WRITER.may_not("abandon-only-empty", fire("t1", Turn.probe_cancelled)),
            WRITER.may_not("abandon-only-empty", gives_up("c1", explicit=True), fire("t1", Turn.probe_cancelled)),
        ],
        [is_in("t1", Turn.preflight_opened), is_in("c1", Cycle.preflight_started)],
        order="changed",
        without=[ENDING],
    ),
    Race(
        "agent-doc-59",
        "recursive invocation opens cycle: within a turn it opens none",
        running("t1", "c1"),
        [
            HARNESS.may_not("single-active-turn", begins("t2", "c2", "t1")),
            HARNESS.may_not("single-open-cycle", opens("c2", after="c1")),
            HARNESS.does(captures("c1", "r1"), takes("t1")),
            WRITER.does(fire("t1", Turn.operations_built)),
            *finished("t1", "c1"),
        ],
        [unborn("t2", "c2"), passed("c1", WHOLE), is_in("t1", Turn.committed)],
        order="within",
        without=[FOLLOWING, SUCCEEDING],
    ),
    Race(
        "agent-doc-59",
        "recursive invocation opens cycle: the guard comes after the preflight",
        [*admitted("t1", "c1"), WRITER.does(opens("c1"), preflight("t1"))],
        [
            HARNESS.does(gives_up("c1", explicit=True), fire("t1", Turn.no_work)),
            *answered("t2", "c2", after=("t1", "c1")),
            *finished("t2", "c2"),
        ],
        [passed("c1", "preflight_started abandoned"), passed("c2", WHOLE), is_in("t2", Turn.committed)],
        order="after",
    ),
    Race(
        "agent-doc-60",
        "stale explicit baseline drops earlier answer",
        [*answered("t1", "c1"), *finished("t1", "c1"), *running("t2", "c2", ("t1", "c1"), "text with r1")],
        [
            HARNESS.may_not("baseline-binds-cycle", captures("c2", "r2"), takes("t2", "text")),
            HARNESS.does(captures("c2", "r2"), takes("t2", "text", rebased=True)),
            WRITER.does(fire("t2", Turn.operations_built)),
            WRITER.does(fire("t2", Turn.apply_blocked)),
            WRITER.may_not("retry-needs-capture", resumes("t2", "text with r1")),
            WRITER.does(resumes("t2", "text", rebased=True)),
        ],
        [taken("t2", Turn.captured, {"rebased": True}), taken("t2", Turn.retry, {"rebased": True})],
        without=[BASED, Without(Turn, (turn.baseline_proven,))],
    ),
    Race(
        "agent-doc-61",
        "baseline moved with the document",
        running("t1", "c1"),
        [
            HARNESS.may_not("baseline-binds-cycle", captures("c1", "r1"), takes("t1", "no baseline")),
            HARNESS.does(captures("c1", "r1"), takes("t1", "text")),
        ],
        [taken("t1", Turn.captured, {"baseline": "text"})],
        without=[BASED],
        later="adapters/vcs: the baseline is looked up under the key that moved with the document",
    ),
    Race(
        "agent-doc-62",
        "merge computed, file changed before write",
        answered("t1", "c1"),
        [
            WRITER.may_not("patch-base-current", verifies("t1", base_current=False)),
            WRITER.may_not("commit-needs-proof", fire("t1", Turn.commit_policy)),
            *finished("t1", "c1"),
        ],
        [taken("t1", Turn.verified, {"base_current": True}), is_in("t1", Turn.committed)],
        without=[Without(Turn, (turn.still_visible,))],
    ),
    Race(
        "agent-doc-63",
        "idle check expires during blocked read: in the preflight",
        admitted("t1", "c1"),
        [
            WRITER.may_not("baseline-matches-diff", opens("c1"), preflight("t1", idle=False)),
            WRITER.does(opens("c1"), preflight("t1")),
        ],
        [taken("t1", Turn.open_preflight, {"editor_idle": True})],
        order="preflight",
        without=[Without(Turn, (turn.user_idle,))],
        later="adapters/editors: it samples before and after, and typing in either is typing",
    ),
    Race(
        "agent-doc-63",
        "idle check expires during blocked read: the disk is not chosen meanwhile",
        [*captured("c1"), *queued("p1")],
        [
            WRITER.may_not("no-disk-behind-editor", writes_disk("p1", text_unchanged=False)),
            WRITER.does(writes_disk("p1")),
            WRITER.does(edits("p1")),
        ],
        [taken("p1", Fallback.disk_write, {"text_unchanged": True}), is_in("p1", Fallback.applied)],
        order="disk",
        without=[Without(Fallback, (fallback.text_as_read,))],
    ),
    Race(
        "agent-doc-64",
        "captured replay deadlock on queue edit",
        [*answered("t1", "c1"), WRITER.does(fire("t1", Turn.apply_blocked))],
        [
            WRITER.may_not("retry-needs-capture", resumes("t1", "text with a longer queue")),
            WRITER.does(resumes("t1", "text with a longer queue", rebased=True)),
            WRITER.does(fire("t1", Turn.operations_built)),
            *finished("t1", "c1"),
        ],
        [taken("t1", Turn.retry, {"rebased": True}), is_in("t1", Turn.committed), has("c1", response="r1")],
        without=[Without(Turn, (turn.baseline_proven,))],
        later="capture: a queue that was edited alone refreshes the baseline",
    ),
    Race(
        "agent-doc-65",
        "write-applied capture discarded because hashes moved",
        [*captured("c1"), WRITER.does(writes("c1", "r1")), WRITER.does(begins("t2", "c2"))],
        [
            WRITER.may_not("prompt-behind-closeout", admits("t2", "c1")),
            WRITER.may_not("single-open-cycle", opens("c2", after="c1")),
            REPAIR.may_not("phase-never-back", fire("c1", Cycle.rewind, capture_retired=True)),
            REPAIR.may_not("abandon-only-empty", gives_up("c1", explicit=True)),
            WRITER.does(commits("c1")),
            WRITER.does(admits("t2", "c1")),
        ],
        [passed("c1", WHOLE), has("c1", response="r1"), unborn("c2"), came("c1 committed", "t2 admitted")],
        without=[Without(Turn, (turn.no_open_cycle,)), SUCCEEDING],
        later="capture: it is rebased where the text has only grown",
    ),
    Race(
        "agent-doc-66",
        "compact makes capture look missing",
        [*captured("c1"), WRITER.does(writes("c1", "r1"))],
        [
            WRITER.does(commits("c1", in_staged=False, in_archive=True)),
            REPAIR.repeats(commits("c1", in_staged=False)),
            REPAIR.may_not("no-event-after-terminal", writes("c1", "r1")),
        ],
        [passed("c1", WHOLE), taken("c1", Cycle.write, {})],
        later="closeout: the session check, too, counts an archive that HEAD references",
    ),
    Race(
        "agent-doc-67",
        "closeout waits for idle, idle waits for closeout",
        [*owned("actor", Actor.ready_seen, Actor.busy_seen), *answered("t1", "c1")],
        [
            WRITER.does(fire("t1", Turn.apply_blocked)),
            WRITER.does(resumes("t1")),
            WRITER.does(fire("t1", Turn.operations_built)),
            *finished("t1", "c1"),
        ],
        [is_in("actor", Actor.busy), is_in("t1", Turn.committed), passed("c1", WHOLE)],
    ),
    Later("agent-doc-68", '"commits itself" with no driver', "closeout"),
    Race(
        "agent-doc-69",
        "exit code success though open",
        [*answered("t1", "c1"), *closing("t1"), WRITER.does(writes("c1", "r1"))],
        [
            WRITER.may_not("success-after-check", succeeds("t1")),
            WRITER.may_not("single-active-turn", begins("t2", "c2", "t1")),
            WRITER.may_not("single-open-cycle", opens("c2", after="c1")),
            WRITER.does(commits("c1")),
            WRITER.does(succeeds("t1")),
            WRITER.does(begins("t2", "c2", "t1")),
        ],
        [came("c1 committed", "t1 committed", "t2 idle"), unborn("c2")],
        without=[Without(Turn, (turn.cycle_committed,)), FOLLOWING, SUCCEEDING],
    ),
    Race(
        "agent-doc-70",
        "failed closeout mutates backlog",
        captured("c1"),
        [
            WRITER.may_not(
                "commit-holds-response",
                notes("c1", mutated=True),
                writes("c1", "r1"),
                commits("c1", in_staged=False),
            )
        ],
        [passed("c1", "preflight_started response_captured"), has("c1", mutated=False)],
        without=[HOLDING],
        later="queue: its heads are struck in the same commit",
    ),
    Later("agent-doc-71", "foreign staged files swept into commit", "adapters/vcs"),
    Race(
        "agent-doc-72",
        "self-feeding capture",
        captured("c1"),
        [
            HARNESS.may_not("one-response-per-cycle", captures("c1", LOGGED)),
            HARNESS.may_not("patch-base-current", writes("c1", LOGGED)),
            *closed("c1"),
            HARNESS.may_not("no-event-after-terminal", writes("c1", LOGGED)),
            HARNESS.may_not("patch-binds-cycle", drafts("p1", "c1")),
        ],
        [taken("c1", Cycle.write, {"response": "r1"}), passed("c1", WHOLE), unborn("p1")],
        without=[Without(Cycle, (cycle.same_body,)), Without(Fallback, (fallback.cycle_open_or_legacy,))],
        later="adapters/terminals: a body is final and bounded",
    ),
    Race(
        "agent-doc-73",
        "already committed cycle hides uncommitted exchange",
        [*answered("t1", "c1"), *closing("t1"), *closed("c1")],
        [
            WRITER.may_not("success-after-check", succeeds("t1", checked=False)),
            *committed("c2", "r2", after="c1"),
            WRITER.does(succeeds("t1")),
        ],
        [taken("t1", Turn.commit_done, {"session_checked": True}), came("c2 committed", "t1 committed")],
        without=[CHECKING],
        later="closeout: the check asks no harness whose exchange is not committed",
    ),
]
