"""lifecycles/agent-doc-races.md, M = a, 57 and 69, the ends that they leave open: no turn ends before its cycle."""

from ...machines import turn
from ...machines.cycle import Cycle, Reason
from ...machines.turn import Turn
from ..generate.world import fire
from .documents import (
    HARNESS,
    REPAIR,
    WRITER,
    answered,
    begins,
    came,
    captures,
    closing,
    commits,
    ends_without,
    gives_up,
    has,
    notes,
    passed,
    resumes,
    running,
    succeeds,
    takes,
    verifies,
    writes,
)
from .scenario import Race, Without

__all__ = ["RACES"]

ENDING = Without(Turn, (turn.cycle_ended,))

RACES = [
    Race(
        "agent-doc-57",
        "empty preflight blocks for ever: the user cancels",
        running("t1", "c1"),
        [
            HARNESS.may_not("abandon-only-empty", fire("t1", Turn.cancel)),
            HARNESS.does(gives_up("c1", explicit=True), fire("t1", Turn.cancel)),
            *running("t2", "c2", after=("t1", "c1")),
        ],
        [came("c1 abandoned", "t1 abandoned", "t2 admitted", "c2 preflight_started")],
        order="cancelled",
        without=[ENDING],
    ),
    Race(
        "agent-doc-57",
        "empty preflight blocks for ever: it is not empty, and the user cancels",
        [*running("t1", "c1"), WRITER.does(notes("c1", mutated=True))],
        [
            HARNESS.may_not("abandon-only-empty", fire("t1", Turn.cancel)),
            HARNESS.may_not("abandon-only-empty", gives_up("c1", explicit=True), fire("t1", Turn.cancel)),
            HARNESS.may_not("capture-before-mutation", captures("c1", "r1"), takes("t1")),
            HARNESS.does(ends_without("c1", Reason.PENDING_ONLY), fire("t1", Turn.cancel)),
            *running("t2", "c2", after=("t1", "c1")),
        ],
        [came("c1 committed", "t1 abandoned", "t2 admitted", "c2 preflight_started")],
        order="changed",
        without=[ENDING],
    ),
    Race(
        "agent-doc-57",
        "empty preflight blocks for ever: it is not empty, and the pane dies",
        [*running("t1", "c1"), WRITER.does(notes("c1", mutated=True))],
        [
            WRITER.does(fire("t1", Turn.harness_interrupted)),
            REPAIR.may_not("retry-needs-capture", resumes("t1")),
            REPAIR.may_not("abandon-only-empty", fire("t1", Turn.safe_abandon)),
            REPAIR.may_not("abandon-only-empty", gives_up("c1", old=True), fire("t1", Turn.safe_abandon)),
            REPAIR.does(ends_without("c1", Reason.PENDING_ONLY), fire("t1", Turn.safe_abandon)),
            *running("t2", "c2", after=("t1", "c1")),
        ],
        [came("c1 committed", "t1 abandoned", "t2 admitted", "c2 preflight_started")],
        order="changed-and-dead",
        without=[ENDING],
    ),
    Race(
        "agent-doc-69",
        "exit code success though open: the policy makes no commit",
        [*answered("t1", "c1"), WRITER.does(verifies("t1"))],
        [
            WRITER.may_not("no-commit-explicit", fire("t1", Turn.no_commit_policy)),
            WRITER.may_not("no-commit-explicit", fire("c1", Cycle.keep), fire("t1", Turn.no_commit_policy)),
            WRITER.does(writes("c1", "r1")),
            WRITER.may_not("no-commit-explicit", fire("t1", Turn.no_commit_policy)),
            WRITER.may_not("single-active-turn", begins("t2", "c2", "t1")),
            WRITER.does(fire("c1", Cycle.keep), fire("t1", Turn.no_commit_policy)),
            *running("t2", "c2", after=("t1", "c1")),
        ],
        [
            passed("c1", "preflight_started response_captured write_applied committed"),
            came("c1 committed", "t1 no_commit_complete", "t2 idle", "c2 preflight_started"),
        ],
        order="no-commit",
        without=[Without(Turn, (turn.cycle_kept,))],
    ),
    Race(
        "agent-doc-69",
        "exit code success though open: what was kept is no commit",
        [*answered("t1", "c1"), *closing("t1"), WRITER.does(writes("c1", "r1"))],
        [
            WRITER.may_not("success-after-check", fire("c1", Cycle.keep), succeeds("t1")),
            WRITER.does(commits("c1")),
            WRITER.does(succeeds("t1")),
        ],
        [has("c1", kept=False), came("c1 committed", "t1 committed")],
        order="kept",
        without=[Without(Turn, (turn.cycle_committed,))],
    ),
]
