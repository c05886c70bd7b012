"""The output guard's evaluation of one tool result: heuristic first, the model perhaps, rows, then a warning.

What may race: the evaluation, and whatever aborts its owner (a Stop, a successor, a close). An abort that comes first
refuses it: no row, no warning, no fold after that. Rows that were admitted before it stay, without a warning. A verdict
that is there beats a timeout and a cancel; it may raise the risk, but neither lower it nor undo a redaction.

What it repairs: V6, the model's own words quote the secret that the heuristic redacted, and are stored and shown as
they are. Here rows and warning wait for those words to be redacted, too; no word of them is a field of this machine.

The option `output_guard` off means that there is no evaluation at all. The owner is the witness, as in lease.py.

Source: seed turnstone-approval, the output guard; lifecycles/turnstone-tables.md 10; turnstone.md (d), G1 to G10.
"""

from enum import Enum

import attrs

from .kernel import (
    Epoch,
    Event,
    Id,
    Link,
    Machine,
    Seen,
    State,
    guard,
    invariant,
    never,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
    under,
)
from .lease import aborted
from .session import Session, SessionData

__all__ = [
    "Begun",
    "EvaluationData",
    "GuardEvaluation",
    "Risk",
    "Screened",
    "Selected",
    "Verdict",
    "Words",
    "merged_risk",
]


class Risk(Enum):
    """From harmless to worst; the order of writing is the order of risk."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


_ORDER = tuple(Risk)


@attrs.frozen
class EvaluationData:
    """The witness, and what was found so far."""

    epoch: Epoch
    generation: Epoch
    heuristic: Risk | None = None
    redact: bool = False
    llm: Risk | None = None
    """None while the model has given no verdict: then it has no words, either."""
    flags: frozenset[Id] = frozenset()


@attrs.frozen
class Begun:
    epoch: Epoch
    """The epoch in which the generation of the call began."""
    generation: Epoch


@attrs.frozen
class Screened:
    risk: Risk
    redact: bool
    flags: frozenset[Id]


@attrs.frozen
class Selected:
    guard_live: bool  # a link from part 2 on
    """Is the selected guard object still live, so that it grants a lease?"""


@attrs.frozen
class Verdict:
    risk: Risk
    flags: frozenset[Id]


@attrs.frozen
class Words:
    reasoning_redacted: bool
    """Did the redaction go over the model's own words, or are there none?"""


def merged_risk(data: EvaluationData) -> Risk:
    """The worse of what heuristic and model found."""
    return max(data.heuristic or Risk.NONE, data.llm or Risk.NONE, key=_ORDER.index)


@guard("guard-refused-after-stop", "no evaluation begins for an owner that was stopped, superseded or shut")
def begins_live(epoch: Epoch, generation: Epoch, session: Seen[SessionData]) -> bool:
    return not aborted(epoch, generation, session)


@guard("guard-refused-after-stop", "nothing of an evaluation is stored or shown once its owner was aborted")
def owner_live(data: EvaluationData, session: Seen[SessionData]) -> bool:
    return not aborted(data.epoch, data.generation, session)


@guard("guard-refused-after-stop", "an evaluation is refused only because its owner was stopped, superseded or shut")
def owner_gone(data: EvaluationData, session: Seen[SessionData]) -> bool:
    return aborted(data.epoch, data.generation, session)


@guard("guard-lease-live", "a retired or closed guard grants no new lease")
def guard_is_live(guard_live: bool) -> bool:
    return guard_live


@guard("no-raw-secret-stored", "the model's words are redacted like the output before any row is stored")
def words_redacted(data: EvaluationData, reasoning_redacted: bool) -> bool:
    return reasoning_redacted or data.llm is None


@guard("guard-only-raises", "what was found or redacted is warned of")
def nothing_found(data: EvaluationData) -> bool:
    return merged_risk(data) is Risk.NONE and not data.redact


@guard("guard-only-raises", "where nothing was found or redacted nobody is warned")
def something_found(data: EvaluationData) -> bool:
    return merged_risk(data) is not Risk.NONE or data.redact


leased_live = under("guard-lease-live", "the model is asked only for a live owner", owner_live)
warning_redacted = under(
    "no-raw-secret-shown", "a warning carries no raw secret, the model's words too", words_redacted
)


def begun_for(epoch: Epoch, generation: Epoch) -> EvaluationData:
    return EvaluationData(epoch, generation)


def screened_as(data: EvaluationData, risk: Risk, redact: bool, flags: frozenset[Id]) -> EvaluationData:
    return attrs.evolve(data, heuristic=risk, redact=redact, flags=data.flags | flags)


def merged_with(data: EvaluationData, risk: Risk, flags: frozenset[Id]) -> EvaluationData:
    return attrs.evolve(data, llm=risk, flags=data.flags | flags)


@invariant("guard-heuristic-first", "the heuristic is the first to find anything, and nothing passes it by")
def heuristic_came_first(state: State, data: EvaluationData) -> bool:
    if data.heuristic is not None:
        return state not in (GuardEvaluation.begun,)
    unscreened = state in (GuardEvaluation.begun, GuardEvaluation.refused_eval)
    return unscreened and data.llm is None and not data.redact and not data.flags


@invariant("guard-only-raises", "the model gives one verdict, and it is merged with what the heuristic found")
def model_speaks_once(state: State, data: EvaluationData) -> bool:
    return data.llm is None or state not in (GuardEvaluation.screened, GuardEvaluation.judging)


@step_invariant("guard-only-raises", "risk and flags only grow, and no redaction is undone")
def only_raises(before: EvaluationData, after: EvaluationData) -> bool:
    worse = max(merged_risk(before), merged_risk(after), key=_ORDER.index)
    return worse is merged_risk(after) and before.flags <= after.flags and (after.redact or not before.redact)


class GuardEvaluation(Machine):
    """One tool result under the output guard: clean, warned of, or refused because its owner is gone."""

    session = Link(Session)

    absent = State(initial=True)
    begun = State()
    screened = State()
    judging = State()
    merged = State()
    admitted = State()
    clean = State(final=True)
    warned = State(final=True)
    refused_eval = State(final=True)

    start: Event[Begun] = absent.to(begun, cond=begins_live, on=begun_for)
    heuristic_done: Event[Screened] = begun.to(screened, on=screened_as)
    llm_skipped: Event[None] = screened.to(merged)
    llm_started: Event[Selected] = screened.to(judging, cond=[guard_is_live, leased_live])
    llm_verdict: Event[Verdict] = judging.to(merged, on=merged_with)
    llm_error: Event[None] = judging.to(merged)
    merge: Event[None] = never()
    admit_rows: Event[Words] = merged.to(admitted, cond=[owner_live, words_redacted]) | merged.to(
        refused_eval, cond=owner_gone
    )
    show_warning: Event[Words] = (
        admitted.to(warned, cond=[owner_live, something_found, warning_redacted])
        | admitted.to(clean, cond=[owner_live, nothing_found])
        | admitted.to(refused_eval, cond=owner_gone)
    )
    owner_aborted: Event[None] = refused_eval.from_(begun, screened, judging, merged, admitted, cond=owner_gone)

    rules = [
        rule("guard-heuristic-first", begun, why="the heuristic is first, and always"),
        rule("guard-order", absent, screened, judging, merged, admitted, why="screen, judge, merge, admit rows, warn"),
        rule("no-event-after-terminal", clean, warned, refused_eval, why="what has ended stays ended"),
        refused(merge, when=screened, rule="guard-heuristic-first"),
        settled(
            owner_aborted,
            when=(clean, warned, refused_eval),
            rule="stop-is-idempotent",
            why="a repeated end changes nothing",
        ),
    ]
    owes = {
        state: owe("guard-before-fold", "no result is folded before its evaluation has ended")
        for state in (begun, screened, judging, merged, admitted)
    }
    invariants = [heuristic_came_first, model_speaks_once]
    step_invariants = [only_raises]
