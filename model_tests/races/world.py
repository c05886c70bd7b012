"""The small world of the race rows: one chat with its generations, gates, cards, calls and evaluations, and its facts.

Ids say what they are: g1 is the first generation, K1 a card, G1 its gate, L1 the lease of its bundle, a and b calls.
A witness is (epoch, number of the generation): W1 is g1's, W2 that of a successor claimed after one Stop.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ...machines.admission import Admission
from ...machines.approval import Approval
from ...machines.gate import Gate
from ...machines.generation import Generation
from ...machines.guard_evaluation import GuardEvaluation, Risk
from ...machines.kernel import Kernel, State
from ...machines.lease import Lease
from ...machines.session import Session
from ...machines.toolcall import Toolcall, Wrote
from ..generate.world import Fire, fire
from .scenario import Arena, Fact, Move, Who

ANN, BOB = Who("ann", "ann"), Who("bob", "bob")
"""Ann owns the chat, Bob is a peer."""
STOP = Who("stop", "ann")
CLOCK = Who("the clock")
SCREEN = Who("the surfaces")
"""They perform the effects, in a thread of their own."""
WORKER, NEXT = Who("the worker of g1"), Who("the worker of g2")
HOST = Who("the host")

SESSION = {"session": "session"}
HOME = {"session": "session", "admission": "admission"}
W1, W2 = {"epoch": 0, "generation": 1}, {"epoch": 1, "generation": 2}
KEPT = {"deleted": False, "convergence": False}
"""A commit into a workstream that is still there."""

STOPS = STOP.does(fire("session", Session.stop))


def chat() -> list[Move]:
    """A session with its admission, and g1 at work."""
    return [
        HOST.does(fire("session", Session.start, principal="ann")),
        HOST.does(fire("admission", Admission.start)),
        claim("g1", 1),
    ]


def claiming(generation: str, number: int, expected: int | None = None) -> tuple[Fire, Fire]:
    """The claim of a generation: the session gives the number, the generation begins under it."""
    return (
        fire("session", Session.claim, expected=expected),
        fire(generation, Generation.start, number=number, **SESSION),
    )


def claim(generation: str, number: int) -> Move:
    return (WORKER if number == 1 else NEXT).does(*claiming(generation, number))


# --- leases and cards -------------------------------------------------------------------------------------------------


def ask(who: Who, lease: str, witness: dict[str, int]) -> Move:
    return who.does(fire(lease, Lease.start, **witness, **HOME))


def lease(who: Who, name: str, witness: dict[str, int] = W1) -> list[Move]:
    """A lease that is asked for and granted."""
    return [ask(who, name, witness), who.does(fire(name, Lease.grant))]


def refused_lease(who: Who, name: str, witness: dict[str, int] = W1) -> list[Move]:
    """A lease that comes after the Stop."""
    return [
        ask(who, name, witness),
        who.may_not("lease-after-stop", fire(name, Lease.grant)),
        who.does(fire(name, Lease.refuse)),
    ]


def back(who: Who, lease: str) -> Move:
    return who.does(fire(lease, Lease.release))


def card(cycle: str, bundle: str, bounded: bool = True) -> Fire:
    return fire(cycle, Approval.start, digest="d", principal="ann", bounded=bounded, bundle=bundle, **HOME)


def latch(cycle: str) -> Move:
    return WORKER.does(fire(cycle, Approval.publish))


def prompt(cycle: str, witness: dict[str, int] = W1) -> list[Move]:
    """A card that went out whole, without the gate around it: its bundle's lease is given back, its latch set."""
    bundle = cycle.replace("K", "L")
    return [
        *lease(WORKER, bundle, witness),
        WORKER.does(card(cycle, bundle)),
        SCREEN.delivers(),
        back(WORKER, bundle),
        latch(cycle),
    ]


def yes(cycle: str, lease: str, **more: Any) -> Fire:
    return fire(cycle, Approval.approve, lease=lease, **{"digest": "d", "always": False, "feedback": False, **more})


def no(cycle: str, lease: str, **more: Any) -> Fire:
    return fire(cycle, Approval.deny, lease=lease, **{"digest": "d", "always": False, "feedback": False, **more})


def sweep(*cycles: str, who: Who = STOP) -> list[Move]:
    """A whole sweep, which takes these cycles and no other."""
    return [
        who.does(fire("admission", Admission.sweep_begin)),
        who.claims(*cycles),
        SCREEN.delivers(),
        who.does(fire("admission", Admission.sweep_end)),
    ]


# --- gates ------------------------------------------------------------------------------------------------------------


def enters(gate: str, cycle: str, witness: dict[str, int] = W1, **options: Any) -> Move:
    """A batch that enters its gate: one plain item, unless the options say otherwise."""
    plain = {"items": 1, "pending": 1, "ids_distinct": True, "budget_item": False, "blanket": False, "smart_on": False}
    given = {**plain, "stamps_coherent": True, "threshold": None, **options}
    return WORKER.does(fire(gate, Gate.start, cycle=cycle, **witness, **given, **SESSION))


def steps(gate: str, witness: dict[str, int] = W1, left: int = 1, any_denied: bool = False) -> list[Move]:
    """From its entry through purge, announcement, policy and grants: something is left to ask."""
    one, two = f"{gate}.purge", f"{gate}.announce"
    return [
        *lease(WORKER, one, witness),
        WORKER.does(fire(gate, Gate.purge_lease, lease=one)),
        back(WORKER, one),
        *lease(WORKER, two, witness),
        WORKER.does(fire(gate, Gate.announce_lease, lease=two)),
        back(WORKER, two),
        WORKER.does(fire(gate, Gate.policy_result, left=left, any_denied=any_denied)),
        WORKER.does(fire(gate, Gate.grants_result, all_granted=False)),
    ]


def prompts(gate: str, cycle: str, witness: dict[str, int] = W1, bounded: bool = True) -> list[Move]:
    """The gate's last lease, its card in one bundle with it, and the latch."""
    bundle = f"{gate}.end"
    return [
        *lease(WORKER, bundle, witness),
        WORKER.does(fire(gate, Gate.prompt_lease, lease=bundle), card(cycle, bundle, bounded)),
        SCREEN.delivers(),
        back(WORKER, bundle),
        latch(cycle),
    ]


def waits(gate: str, cycle: str, witness: dict[str, int] = W1, bounded: bool = True, **options: Any) -> list[Move]:
    """A gate that asked a person and waits for its card."""
    return [enters(gate, cycle, witness, **options), *steps(gate, witness), *prompts(gate, cycle, witness, bounded)]


def smart(gate: str, cycle: str, threshold: int) -> list[Move]:
    """A gate that waits for verdicts instead of a person."""
    judged = WORKER.does(fire(gate, Gate.smart_start, all_judged=True))
    return [enters(gate, cycle, smart_on=True, threshold=threshold), *steps(gate), judged]


def verdicts(gate: str, confidence: int) -> Move:
    """All verdicts are there, and all say yes."""
    good = dict.fromkeys(("all_llm", "all_approve", "this_generation", "heuristic_safe"), True)
    return WORKER.does(fire(gate, Gate.smart_ready, confidence=confidence, **good))


def wakes(gate: str) -> Move:
    return WORKER.does(fire(gate, Gate.cycle_resolved))


# --- calls and evaluations --------------------------------------------------------------------------------------------


def batch(*calls: str, cycle: str = "K1", generation: str = "g1", gate: str = "G1") -> list[Move]:
    """Calls that are admitted and prepared; the gate is theirs, and the cycle the one that may ask for them."""
    links = {"generation": generation, "gate": gate, "cycle": cycle, **SESSION}
    return [
        WORKER.does(
            fire(generation, Generation.tools_admitted), *(fire(call, Toolcall.start, **links) for call in calls)
        ),
        *(WORKER.does(fire(call, Toolcall.prepare_ok, digest="d", needs_approval=True)) for call in calls),
    ]


def each(calls: Iterable[str], *events: Any, **given: Any) -> list[Move]:
    """The same events for each call, one fire each."""
    return [WORKER.does(fire(call, event, **given)) for call in calls for event in events]


def cleared(*calls: str) -> list[Move]:
    """Calls that a person approved and that have not started."""
    return [
        *batch(*calls),
        *each(calls, Toolcall.gate_opened),
        *prompt("K1"),
        *lease(ANN, "click"),
        ANN.does(yes("K1", "click")),
        back(ANN, "click"),
        SCREEN.delivers(),
        *each(calls, Toolcall.approved),
    ]


def running(*calls: str) -> list[Move]:
    return [*cleared(*calls), *each(calls, Toolcall.execute)]


def rows(calls: Iterable[str]) -> tuple[Fire, ...]:
    """What the cancel path of g1 writes, in one commit: a row for each call, and the debt is paid."""
    return (*(fire(call, Toolcall.stop) for call in calls), fire("g1", Generation.rows_complete))


def force(*calls: str) -> tuple[Fire, ...]:
    """A force-abandon of g1, in one commit: a number of its own, a row for each call, the end of the generation."""
    return (
        fire("session", Session.abandon, number=1),
        *(fire(call, Toolcall.force_abandon) for call in calls),
        fire("g1", Generation.force_abandon, slot_pinned=True),
    )


def commit(generation: str) -> Fire:
    return fire(generation, Generation.admit_uncancelled, **KEPT)


def folds(*calls: str) -> tuple[Fire, ...]:
    """The fold of g1, in one commit: a row for each call, and the debt is paid."""
    return (*(fire(call, Toolcall.answer) for call in calls), fire("g1", Generation.fold))


def forces(*calls: str) -> Move:
    return HOST.does(*force(*calls))


def ready(*calls: str) -> list[Move]:
    """Calls whose guarded results wait for the fold."""
    return [*chat(), *running(*calls), *each(calls, Toolcall.result, Toolcall.guard_returned)]


def evaluation(name: str, witness: dict[str, int] = W1, *, redact: bool = False, judged: bool = True) -> list[Move]:
    """An output guard that screened a result and, perhaps, asks the model."""
    risk = Risk.HIGH if redact else Risk.NONE
    screened = {"risk": risk, "redact": redact, "flags": frozenset()}
    asks, skips = fire(name, GuardEvaluation.llm_started, guard_live=True), fire(name, GuardEvaluation.llm_skipped)
    return [
        WORKER.does(fire(name, GuardEvaluation.start, **witness, **SESSION)),
        WORKER.does(fire(name, GuardEvaluation.heuristic_done, **screened)),
        WORKER.does(asks if judged else skips),
    ]


def says(name: str, risk: Risk) -> Move:
    return WORKER.does(fire(name, GuardEvaluation.llm_verdict, risk=risk, flags=frozenset()))


def stores(name: str) -> Fire:
    return fire(name, GuardEvaluation.admit_rows, reasoning_redacted=True)


def warns(name: str) -> Fire:
    return fire(name, GuardEvaluation.show_warning, reasoning_redacted=True)


# --- facts ------------------------------------------------------------------------------------------------------------


def is_in(id: str, state: State, **data: Any) -> Fact:
    """An instance is in a state, with these values in its data."""

    def found(arena: Arena) -> Any:
        now = arena.now(id)
        return (now.state.id, {name: getattr(now.data, name) for name in data}) if now else None

    return Fact(id, found, (state.id, data))


def wrote(call: str, what: Wrote) -> Fact:
    return is_in(call, Toolcall.answered, wrote=what)


def unborn(*ids: str) -> Fact:
    """None of these ever came to be."""
    return Fact(f"born of {', '.join(ids)}", lambda arena: [id for id in ids if arena.now(id)], [])


def went(id: str, events: str) -> Fact:
    """All that ever happened to an instance, in order."""
    return Fact(f"the events of {id}", lambda arena: " ".join(arena.went(id)), events)


def showed(*lines: str) -> Fact:
    """All that the surfaces showed of cards, in order: `K1 card`, `K1 cancelled`."""
    return Fact("the screen", lambda arena: arena.screen, list(lines))


def signalled(*epochs: int) -> Fact:
    """The epochs before which streams, child scopes and judges were told to end."""
    return Fact("the signals", lambda arena: arena.signals, list(epochs))


def counts(id: str, **tallies: int) -> Fact:
    return Fact(
        f"the tallies of {id}", lambda arena: {name: arena.now(id).tallies[name] for name in tallies}, dict(tallies)
    )


def in_order(*steps: str) -> Fact:
    """These happened, in this order: `admission.sweep_end`, `L2.grant`; each means the first of its kind."""

    def found(arena: Arena) -> list[str]:
        happened = [f"{entry.decision.ref.id}.{entry.event}" for entry in arena.ground.store.journal]
        return [step for step in dict.fromkeys(happened) if step in steps]

    return Fact("the order", found, list(steps))


def took(id: str, event: str, **payload: Any) -> Fact:
    """An instance took an event once, with these values in its payload."""

    def found(arena: Arena) -> list[dict[str, Any]]:
        entries = [entry for entry in arena.ground.store.journal if entry.decision.ref.id == id]
        return [{name: getattr(one.payload, name) for name in payload} for one in entries if one.event == event]

    return Fact(f"{id}.{event}", found, [payload])


def done_by(who: Any, *steps: str) -> Fact:
    """Who did these: `K1.cancel`."""

    def found(arena: Arena) -> dict[str, Any]:
        entries = {f"{entry.decision.ref.id}.{entry.event}": entry.by for entry in arena.ground.store.journal}
        return {step: entries.get(step) for step in steps}

    return Fact("done by", found, dict.fromkeys(steps, who))


# --- selectors: what a handler looks up before it fires ---------------------------------------------------------------


def undecided(kernel: Kernel) -> tuple[str, ...]:
    """The cards of the session that nobody has decided, oldest first."""
    found = (kernel.get(ref) for ref in kernel.dependents(Session.ref("session"), Approval))
    return tuple(card.ref.id for card in found if card and card.state in (Approval.registered, Approval.published))


def oldest(kernel: Kernel) -> str | None:
    return next(iter(undecided(kernel)), None)


def of_call(call: str) -> Callable[[Kernel], str | None]:
    """The undecided card that asks for a call."""

    def found(kernel: Kernel) -> str | None:
        snapshot = kernel.get(Toolcall.ref(call))
        cycle = snapshot.links["cycle"].id if snapshot else None
        return cycle if cycle in undecided(kernel) else None

    return found
