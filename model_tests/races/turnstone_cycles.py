"""lifecycles/turnstone-races.md 29 to 40: several cards at once, and what a click that names none or another means.

Who clicks without a cycle's id is answered by a handler: it looks one up, pins it, and fires at that.
"""

from ...machines import approval, gate, toolcall
from ...machines.approval import Approval, Outcome
from ...machines.gate import Gate
from ...machines.toolcall import Reason, Staged, Toolcall
from ..generate.world import fire
from .scenario import Later, Race, Without
from .world import (
    ANN,
    BOB,
    SCREEN,
    WORKER,
    back,
    batch,
    chat,
    each,
    enters,
    is_in,
    no,
    of_call,
    oldest,
    prompt,
    prompts,
    showed,
    smart,
    steps,
    took,
    undecided,
    verdicts,
    waits,
    wakes,
    went,
    yes,
)
from .world import lease as leased

__all__ = ["RACES"]

APPROVED, DENIED = {"outcome": Outcome.APPROVED}, {"outcome": Outcome.DENIED}
OPEN = {"outcome": None}
TWO = [*chat(), *prompt("K1"), *prompt("K2")]

RACES: list[Race | Later] = [
    Race(
        "turnstone-29",
        "Independent decisions",
        [*chat(), *waits("G1", "K1"), *waits("G2", "K2"), *leased(ANN, "one"), *leased(ANN, "two")],
        [
            ANN.does(yes("K1", "one")),
            ANN.does(no("K2", "two")),
            SCREEN.delivers(),
            wakes("G1"),
            wakes("G2"),
        ],
        [
            is_in("K1", Approval.told, **APPROVED),
            is_in("K2", Approval.told, **DENIED),
            is_in("G1", Gate.approved),
            is_in("G2", Gate.denied),
            showed("K1 card", "K2 card", "K1 approved", "K2 denied"),
        ],
        without=[Without(Gate, (gate.cycle_approved,))],
    ),
    Race(
        "turnstone-30",
        "Legacy selector",
        [*TWO, *leased(ANN, "click")],
        [
            ANN.looks(oldest, "K1"),
            ANN.does(yes("K1", "click")),
            ANN.looks(oldest, "K2"),
        ],
        [is_in("K1", Approval.resolved, **APPROVED), is_in("K2", Approval.published, **OPEN)],
    ),
    Race(
        "turnstone-31",
        "Legacy with nothing pending at lookup",
        chat(),
        [ANN.looks(oldest, None), *prompt("K1")],
        [is_in("K1", Approval.published, **OPEN), showed("K1 card")],
    ),
    Race(
        "turnstone-32",
        "Lookup pinned, cycle lost the race",
        [*TWO, *leased(ANN, "one"), *leased(BOB, "two")],
        [
            ANN.looks(oldest, "K1"),
            BOB.does(no("K1", "two")),
            ANN.may_not("approval-resolved-once", yes("K1", "one", always=True)),
        ],
        [
            is_in("K1", Approval.resolved, **DENIED),
            is_in("K2", Approval.published, **OPEN),
            went("K1", "start show publish deny"),
        ],
        later="grant: that none was made; the refusal is all there is to make one of",
    ),
    Race(
        "turnstone-33",
        "Stale call id",
        [
            *chat(),
            *batch("a"),
            *each("a", Toolcall.gate_opened),
            *prompt("K1"),
            *prompt("K2"),
            *leased(ANN, "click"),
        ],
        [
            ANN.does(no("K1", "click")),
            ANN.looks(of_call("a"), None),
            ANN.looks(undecided, ("K2",)),
            ANN.may_not("approval-resolved-once", yes("K1", "click")),
        ],
        [is_in("K1", Approval.resolved, **DENIED), is_in("K2", Approval.published, **OPEN)],
    ),
    Race(
        "turnstone-34",
        "Any member call id",
        [*chat(), *batch("a", "b"), *each("ab", Toolcall.gate_opened), *prompt("K1"), *leased(ANN, "click")],
        [
            ANN.looks(of_call("b"), "K1"),
            ANN.does(yes("K1", "click")),
            *each("ab", Toolcall.approved),
        ],
        [is_in("K1", Approval.resolved, **APPROVED), is_in("a", Toolcall.cleared), is_in("b", Toolcall.cleared)],
    ),
    Later("turnstone-35", "Always on the oldest only", "grant"),
    Later("turnstone-36", "Always per principal", "grant"),
    Race(
        "turnstone-37",
        "Peer may not add feedback or Always",
        [*chat(), *prompt("K1"), *leased(BOB, "click")],
        [
            BOB.may_not("approval-peer-limits", yes("K1", "click", feedback=True)),
            BOB.may_not("approval-peer-limits", yes("K1", "click", always=True)),
            BOB.may_not("approval-peer-limits", no("K1", "click", feedback=True)),
            BOB.may_not("approval-peer-limits", no("K1", "click", always=True)),
        ],
        [is_in("K1", Approval.published, **OPEN), showed("K1 card")],
        order="with-them",
        without=[Without(Approval, (approval.within_limits,))],
    ),
    Race(
        "turnstone-37",
        "Peer may not add feedback or Always: but say yes",
        [*chat(), *prompt("K1"), *leased(BOB, "click")],
        [BOB.may_not("approval-peer-limits", yes("K1", "click", feedback=True)), BOB.does(yes("K1", "click"))],
        [
            is_in("K1", Approval.resolved, **APPROVED),
            took("K1", "approve", always=False, feedback=False),
        ],
        order="plain",
        without=[Without(Approval, (approval.within_limits,))],
    ),
    Race(
        "turnstone-38",
        "Smart gate beside a human gate",
        [*chat(), *waits("G1", "K1")],
        [
            *smart("G2", "K2", 700),
            verdicts("G2", 900),
            *leased(WORKER, "auto"),
            WORKER.does(fire("G2", Gate.auto_lease, lease="auto")),
            back(WORKER, "auto"),
        ],
        [
            is_in("G2", Gate.approved),
            is_in("G1", Gate.waiting),
            is_in("K1", Approval.published, **OPEN),
            showed("K1 card"),
        ],
        later="verdict: those of K1 are neither purged nor stamped",
    ),
    Race(
        "turnstone-39",
        "Two Smart gates, config reload between",
        [*chat(), *smart("G1", "K1", 500), *smart("G2", "K2", 900)],
        [verdicts("G1", 600), verdicts("G2", 950)],
        [is_in("G1", Gate.qualified, threshold=500), is_in("G2", Gate.qualified, threshold=900)],
        order="both-qualify",
    ),
    Race(
        "turnstone-39",
        "Two Smart gates, config reload between: the same confidence is enough for one only",
        [*chat(), *smart("G1", "K1", 500), *smart("G2", "K2", 900)],
        [verdicts("G2", 600), verdicts("G1", 600)],
        [is_in("G1", Gate.qualified), is_in("G2", Gate.prompting)],
        order="one-qualifies",
        without=[Without(Gate, (gate.confident,))],
    ),
    Race(
        "turnstone-40",
        "Mixed policy batch",
        [
            *chat(),
            *batch("a", "b"),
            WORKER.does(fire("a", Toolcall.bypassed, reason=Reason.POLICY)),
            *each("b", Toolcall.gate_opened),
            enters("G1", "K1", items=2, pending=2),
            *steps("G1", left=1),
            *prompts("G1", "K1"),
            *leased(ANN, "click"),
        ],
        [
            ANN.does(no("K1", "click")),
            SCREEN.delivers(),
            wakes("G1"),
            WORKER.does(fire("b", Toolcall.denied)),
            *each("a", Toolcall.execute),
        ],
        [
            took("a", "bypassed", reason=Reason.POLICY),
            is_in("a", Toolcall.running),
            is_in("b", Toolcall.reviewed),
            is_in("G1", Gate.denied),
        ],
        later="verdict: a late one of the judge is stored for a under `policy`",
    ),
    Race(
        "turnstone-40",
        "Mixed policy batch: what policy denied stays denied when a person approves the rest, and only that",
        [
            *chat(),
            *batch("a", "b"),
            *each("ab", Toolcall.gate_opened),
            enters("G1", "K1", items=2, pending=2),
            *steps("G1", left=1, any_denied=True),
            WORKER.does(fire("a", Toolcall.denied)),
            *prompts("G1", "K1"),
            *leased(ANN, "click"),
        ],
        [
            ANN.does(yes("K1", "click")),
            WORKER.may_not("approval-binds-call", fire("b", Toolcall.denied)),
            *each("b", Toolcall.approved, Toolcall.execute),
        ],
        [
            is_in("K1", Approval.resolved, **APPROVED),
            is_in("a", Toolcall.reviewed, staged=Staged.DENIED),
            is_in("b", Toolcall.running, staged=None),
        ],
        order="denied",
        without=[Without(Toolcall, (toolcall.was_denied,))],
    ),
]
