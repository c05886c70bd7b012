"""lifecycles/turnstone-races.md 73 to 76, 85 and 86: the output guard, and who comes while it works."""

from ...machines import generation, guard_evaluation, toolcall
from ...machines.generation import Generation
from ...machines.guard_evaluation import GuardEvaluation, Risk
from ...machines.lease import Lease
from ...machines.session import Session
from ...machines.toolcall import Toolcall, Wrote
from ..generate.world import fire
from .scenario import Race, Without
from .world import (
    HOST,
    NEXT,
    STOPS,
    W2,
    WORKER,
    back,
    chat,
    claim,
    claiming,
    commit,
    counts,
    each,
    evaluation,
    folds,
    force,
    forces,
    in_order,
    is_in,
    lease,
    ready,
    rows,
    running,
    says,
    stores,
    sweep,
    warns,
    went,
    wrote,
)

__all__ = ["RACES"]

OWNED_GUARD = Without(GuardEvaluation, (guard_evaluation.owner_live,))

RACES = [
    Race(
        "turnstone-73",
        "Force successor during guard",
        [*chat(), *running("a"), *each("a", Toolcall.result), *evaluation("E1", redact=True)],
        [
            STOPS,
            forces("a"),
            claim("g2", 3),
            says("E1", Risk.NONE),
            WORKER.does(stores("E1")),
            WORKER.may_not("no-event-after-terminal", warns("E1")),
            WORKER.may_not("no-event-after-terminal", fire("a", Toolcall.guard_returned)),
            WORKER.may_not("call-result-exactly-once", fire("a", Toolcall.answer)),
            WORKER.may_not("call-result-exactly-once", *folds("a")),
            WORKER.may_not("generation-superseded", fire("g1", Generation.fold)),
        ],
        [
            is_in("E1", GuardEvaluation.refused_eval),
            wrote("a", Wrote.OBSERVED),
            is_in("g1", Generation.abandoned, number=1),
            is_in("g2", Generation.active, number=3),
            counts("session", owed=0),
        ],
        without=[OWNED_GUARD],
    ),
    Race(
        "turnstone-74",
        "Warning vs successor claim",
        [*chat(), *evaluation("E1", redact=True, judged=False), WORKER.does(stores("E1"))],
        [WORKER.does(warns("E1")), claim("g2", 2)],
        [is_in("E1", GuardEvaluation.warned), in_order("E1.show_warning", "g2.start")],
        order="warning-first",
    ),
    Race(
        "turnstone-74",
        "Warning vs successor claim",
        [*chat(), *evaluation("E1", redact=True, judged=False), WORKER.does(stores("E1"))],
        [claim("g2", 2), WORKER.does(warns("E1"))],
        [is_in("E1", GuardEvaluation.refused_eval), in_order("E1.admit_rows", "g2.start", "E1.show_warning")],
        order="claim-first",
        without=[OWNED_GUARD],
    ),
    Race(
        "turnstone-75",
        "Successor just before a result commit",
        ready("a", "b"),
        [
            NEXT.may_not("claim-debt-open", *claiming("g2", 2)),
            forces("a", "b"),
            claim("g2", 3),
            WORKER.may_not("call-result-exactly-once", *folds("a", "b")),
            WORKER.may_not("generation-superseded", commit("g1")),
        ],
        [wrote("a", Wrote.OBSERVED), wrote("b", Wrote.OBSERVED), is_in("g1", Generation.abandoned)],
        order="force",
    ),
    Race(
        "turnstone-75",
        "Successor just before a result commit: between the number of the force and its rows",
        ready("a", "b"),
        [
            HOST.does(fire("session", Session.abandon, number=1)),
            WORKER.may_not("generation-superseded", *folds("a", "b")),
            WORKER.may_not("generation-superseded", fire("a", Toolcall.answer)),
            HOST.does(*force("a", "b")[1:]),
        ],
        [wrote("a", Wrote.OBSERVED), wrote("b", Wrote.OBSERVED), is_in("g1", Generation.abandoned)],
        order="between",
        without=[Without(Toolcall, (toolcall.current, toolcall.folds_or_staged))],
    ),
    Race(
        "turnstone-75",
        "Successor just before a result commit: no call is open",
        chat(),
        [
            claim("g2", 2),
            WORKER.may_not("generation-superseded", commit("g1")),
            WORKER.does(fire("g1", Generation.superseded)),
            WORKER.may_not("generation-superseded", commit("g1")),
        ],
        [went("g1", "start superseded"), is_in("g2", Generation.active)],
        order="claim",
        without=[Without(Generation, (generation.current,))],
    ),
    Race(
        "turnstone-76",
        "Stop during guard",
        [*chat(), *running("a"), *each("a", Toolcall.result), *evaluation("E1")],
        [
            STOPS,
            WORKER.does(fire("E1", GuardEvaluation.owner_aborted)),
            WORKER.does(fire("a", Toolcall.guard_refused)),
            WORKER.does(*rows("a")),
            WORKER.does(fire("g1", Generation.exit_cancelled)),
            claim("g2", 2),
            *evaluation("E2", W2),
            says("E2", Risk.NONE),
            WORKER.does(stores("E2")),
            WORKER.does(warns("E2")),
        ],
        [
            is_in("E1", GuardEvaluation.refused_eval),
            wrote("a", Wrote.OBSERVED),
            is_in("g1", Generation.stopped),
            is_in("E2", GuardEvaluation.clean),
        ],
        later="guard object: its event is set, it is rotated out, its limiter is kept",
    ),
    Race(
        "turnstone-85",
        'LLM "none" on a leaked key',
        [*chat(), *evaluation("E1", redact=True)],
        [says("E1", Risk.NONE), WORKER.does(stores("E1")), WORKER.does(warns("E1"))],
        [is_in("E1", GuardEvaluation.warned, redact=True, heuristic=Risk.HIGH, llm=Risk.NONE)],
    ),
    Race(
        "turnstone-86",
        "Slow audit storage vs Stop",
        [*chat(), *evaluation("E1", judged=False), *lease(WORKER, "L1")],
        [
            WORKER.may_not("no-storage-in-lease", fire("L1", Lease.storage)),
            back(WORKER, "L1"),
            WORKER.does(stores("E1")),
            WORKER.repeats(fire("L1", Lease.storage)),
            STOPS,
            *sweep(),
            WORKER.does(warns("E1")),
        ],
        [
            is_in("E1", GuardEvaluation.refused_eval),
            in_order("L1.release", "E1.admit_rows", "session.stop", "admission.sweep_end", "E1.show_warning"),
        ],
        without=[OWNED_GUARD],
    ),
]
