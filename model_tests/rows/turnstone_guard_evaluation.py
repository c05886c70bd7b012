"""lifecycles/turnstone-tables.md, table 10: the output guard's evaluation. Its owner is seen through the session."""

from typing import Any

import attrs

from ...machines.guard_evaluation import EvaluationData, GuardEvaluation, Risk
from ...machines.kernel import Seen, State
from ...machines.session import Session, SessionData
from .row import Row

__all__ = ["ROWS"]

E = GuardEvaluation
NEW = EvaluationData(3, 5)
BEGUN = {"epoch": 3, "generation": 5}
CLEAR: dict[str, Any] = {"risk": "none", "redact": False, "flags": []}
LEAK: dict[str, Any] = {"risk": "high", "redact": True, "flags": ["leak"]}
CLEAN_DATA = EvaluationData(3, 5, Risk.NONE)
LEAK_DATA = EvaluationData(3, 5, Risk.HIGH, True, None, frozenset(["leak"]))
REDACTED, RAW = {"reasoning_redacted": True}, {"reasoning_redacted": False}
OPEN = (E.begun, E.screened, E.judging, E.merged, E.admitted)
ENDED = (E.clean, E.warned, E.refused_eval)
SINGLE = (E.llm_skipped, E.llm_error, E.merge)
TAKEN: dict[str, tuple[State, ...]] = {
    "heuristic_done": (E.begun,),
    "llm_skipped": (E.screened,),
    "llm_started": (E.screened,),
    "llm_verdict": (E.judging,),
    "llm_error": (E.judging,),
    "merge": (E.screened,),
    "admit_rows": (E.merged,),
    "show_warning": (E.admitted,),
    "owner_aborted": OPEN,
}


def judged(data: EvaluationData, risk: Risk, *flags: str) -> EvaluationData:
    return attrs.evolve(data, llm=risk, flags=data.flags | set(flags))


def session(state: State = Session.open, epoch: int = 3, last: int = 5) -> dict[str, Seen[Any]]:
    return {"session": Seen(state, SessionData("ann", epoch, last), {"owed": 1})}


LIVE = session()
ABORTED = (
    session(epoch=4),
    session(last=6),
    session(Session.closing, 4),
    session(Session.shut, 4),
    session(Session.shut),
)


def others(states: tuple[State, ...], id: str, rule: str, taken: dict[str, tuple[State, ...]]) -> list[Row]:
    """Every event in every state, but those that another row takes there."""
    events: list[tuple[Any, dict[str, Any]]] = [
        *((event, {}) for event in SINGLE),
        (E.start, BEGUN),
        (E.heuristic_done, LEAK),
        (E.llm_started, {"guard_live": True}),
        (E.llm_verdict, {"risk": "low", "flags": []}),
        (E.admit_rows, REDACTED),
        (E.show_warning, REDACTED),
        (E.owner_aborted, {}),
    ]
    return [
        Row(id, E, (state,), (event,), None, rule, None if state == E.absent else LEAK_DATA, payload, LIVE)
        for state in states
        for event, payload in events
        if state not in taken.get(event.name, ())
    ]


ROWS = [
    # birth: owner live
    Row("section-0-births", E, (E.absent,), (E.start,), E.begun, payload=BEGUN, links=LIVE, then=NEW),
    *(
        Row("section-0-births", E, (E.absent,), (E.start,), None, "guard-refused-after-stop", None, BEGUN, links)
        for links in ABORTED
    ),
    *others((E.absent,), "section-0-births", "guard-order", {"start": (E.absent,)}),
    # heuristic
    *(
        Row("turnstone-10.1", E, (E.begun,), (E.heuristic_done,), E.screened, "", NEW, payload, links, then=then)
        for payload, then in ((CLEAR, CLEAN_DATA), (LEAK, LEAK_DATA))
        for links in (LIVE, *ABORTED)
    ),
    # model
    *(
        Row("turnstone-10.2", E, (E.screened,), (E.llm_skipped,), E.merged, "", LEAK_DATA, {}, links, then=LEAK_DATA)
        for links in (LIVE, *ABORTED)
    ),
    Row("turnstone-10.3", E, (E.screened,), (E.llm_started,), E.judging, "", LEAK_DATA, {"guard_live": True}, LIVE),
    Row(
        "turnstone-10.4",
        E,
        (E.screened,),
        (E.llm_started,),
        None,
        "guard-lease-live",
        LEAK_DATA,
        {"guard_live": False},
        LIVE,
    ),
    *(
        Row("turnstone-10.4", E, (E.screened,), (E.llm_started,), None, "guard-lease-live", LEAK_DATA, payload, links)
        for links in ABORTED
        for payload in ({"guard_live": True}, {"guard_live": False})
    ),
    *(
        Row(
            "turnstone-10.5",
            E,
            (E.judging,),
            (E.llm_verdict,),
            E.merged,
            "guard-only-raises",
            data,
            {"risk": risk.value, "flags": flags},
            links,
            then=judged(data, risk, *flags),
        )
        for data in (CLEAN_DATA, LEAK_DATA)
        for risk in Risk
        for flags in ([], ["injection"], ["leak"])
        for links in (LIVE, ABORTED[0])
    ),
    *(
        Row("turnstone-10.6", E, (E.judging,), (E.llm_error,), E.merged, "", LEAK_DATA, {}, links, then=LEAK_DATA)
        for links in (LIVE, *ABORTED)
    ),
    # rows
    *(
        Row("turnstone-10.7", E, (E.merged,), (E.admit_rows,), E.admitted, "", data, payload, LIVE, then=data)
        for data, payload in (
            (CLEAN_DATA, REDACTED),
            (CLEAN_DATA, RAW),
            (LEAK_DATA, RAW),
            (judged(LEAK_DATA, Risk.NONE), REDACTED),
        )
    ),
    *(
        Row(
            "turnstone-10.7",
            E,
            (E.merged,),
            (E.admit_rows,),
            None,
            "no-raw-secret-stored",
            judged(data, risk),
            RAW,
            LIVE,
            note="V6: the model has spoken, and its words are as they came",
        )
        for data in (CLEAN_DATA, LEAK_DATA)
        for risk in (Risk.NONE, Risk.HIGH)
    ),
    *(
        Row(
            "turnstone-10.8",
            E,
            (E.merged,),
            (E.admit_rows,),
            E.refused_eval,
            "guard-refused-after-stop",
            data,
            payload,
            links,
        )
        for links in ABORTED
        for data in (CLEAN_DATA, judged(LEAK_DATA, Risk.HIGH))
        for payload in (REDACTED, RAW)
    ),
    # warning
    *(
        Row("turnstone-10.9", E, (E.admitted,), (E.show_warning,), E.clean, "", data, payload, LIVE)
        for data in (CLEAN_DATA, judged(CLEAN_DATA, Risk.NONE))
        for payload in (REDACTED, RAW)
    ),
    *(
        Row("turnstone-10.10", E, (E.admitted,), (E.show_warning,), E.warned, "", data, payload, LIVE)
        for data, payload in (
            (LEAK_DATA, REDACTED),
            (LEAK_DATA, RAW),
            (judged(LEAK_DATA, Risk.NONE), REDACTED),
            (judged(CLEAN_DATA, Risk.LOW), REDACTED),
            (EvaluationData(3, 5, Risk.NONE, True), REDACTED),
            (EvaluationData(3, 5, Risk.LOW), REDACTED),
        )
    ),
    *(
        Row(
            "turnstone-10.10",
            E,
            (E.admitted,),
            (E.show_warning,),
            None,
            "no-raw-secret-shown",
            data,
            RAW,
            LIVE,
            note="V6",
        )
        for data in (judged(LEAK_DATA, Risk.NONE), judged(CLEAN_DATA, Risk.LOW))
    ),
    *(
        Row(
            "turnstone-10.11",
            E,
            (E.admitted,),
            (E.show_warning,),
            E.refused_eval,
            "guard-refused-after-stop",
            data,
            payload,
            links,
        )
        for links in ABORTED
        for data in (CLEAN_DATA, judged(LEAK_DATA, Risk.HIGH))
        for payload in (REDACTED, RAW)
    ),
    # aborted
    *(Row("turnstone-10.12", E, OPEN[1:], (E.owner_aborted,), E.refused_eval, "", LEAK_DATA, {}, at) for at in ABORTED),
    *(Row("turnstone-10.12", E, (E.begun,), (E.owner_aborted,), E.refused_eval, "", NEW, {}, at) for at in ABORTED),
    Row(
        "turnstone-10.12",
        E,
        OPEN,
        (E.owner_aborted,),
        None,
        "guard-refused-after-stop",
        LEAK_DATA,
        {},
        LIVE,
        note="section 0: no broadcast; the row says what must hold",
    ),
    Row("turnstone-10.13", E, (E.screened,), (E.merge,), None, "guard-heuristic-first", LEAK_DATA, {}, LIVE),
    Row("turnstone-10.14", E, ENDED, (E.owner_aborted,), "settled", "stop-is-idempotent", LEAK_DATA, {}, ABORTED[0]),
    *others(ENDED, "turnstone-10.15", "no-event-after-terminal", {"owner_aborted": ENDED}),
    *others((E.begun,), "turnstone-10.16", "guard-heuristic-first", TAKEN),
    *others(OPEN[1:], "turnstone-10.17", "guard-order", TAKEN),
]
