"""The words of a declaration: what protects a transition, refuses an event, a state owes, an effect awaits.

Everything here is data that `Machine` reads once. A rule name is stable and public: refusals, reports and documents
use it.
"""

import functools
import re
import types
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import attrs

from .errors import DefinitionError
from .links import State

__all__ = [
    "Awaited",
    "Invariant",
    "Monitor",
    "Owe",
    "Refusal",
    "Rule",
    "Settled",
    "effect",
    "fire_and_forget",
    "guard",
    "invariant",
    "monitor",
    "owe",
    "refused",
    "rule",
    "rule_of",
    "settled",
    "step_invariant",
    "under",
]

F = TypeVar("F", bound=Callable[..., Any])
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@attrs.frozen
class Rule:
    """The stable name of what is protected, and one sentence of why."""

    name: str
    why: str

    def __attrs_post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DefinitionError(f"rule {self.name!r} is not kebab-case: use words like 'approval-resolved-once'")


def rule_of(function: Callable[..., Any]) -> Rule | None:
    """The rule that a guard or invariant protects; None for any other function."""
    found = getattr(function, "__rule__", None)
    return found if isinstance(found, Rule) else None


def _marked(name: str, why: str) -> Callable[[F], F]:
    rule = Rule(name, why)

    def mark(function: F) -> F:
        function.__rule__ = rule  # type: ignore[attr-defined]
        return function

    return mark


def guard(rule: str, why: str) -> Callable[[F], F]:
    """Name what a predicate protects. The function stays an ordinary pure function.

    Args:
        rule: the rule under which an event is refused when the predicate is false.
        why: one sentence for the one who is refused.
    """
    return _marked(rule, why)


def under(rule: str, why: str, predicate: Callable[..., bool]) -> Callable[..., bool]:
    """The same predicate protecting another rule: one condition often guards several lifecycles' rules.

    Returns:
        a new guard; the given one keeps its own rule.
    """
    copy = types.FunctionType(
        predicate.__code__, predicate.__globals__, predicate.__name__, predicate.__defaults__, predicate.__closure__
    )
    functools.update_wrapper(copy, predicate)
    del copy.__wrapped__  # type: ignore[attr-defined]  # python-statemachine would read the other function's rule
    marked: Callable[..., bool] = _marked(rule, why)(copy)
    return marked


def invariant(rule: str, why: str) -> Callable[[F], F]:
    """Name a predicate over `state` and `data` that every reachable snapshot satisfies."""
    return _marked(rule, why)


def step_invariant(rule: str, why: str) -> Callable[[F], F]:
    """Name a predicate over `before` and `after` (both data) that every step satisfies."""
    return _marked(rule, why)


Invariant = Callable[..., bool]


@attrs.frozen
class Monitor:
    """A small machine fed with all steps of an instance; it is bad once a rule about the past is broken."""

    rule: Rule
    start: Any
    advance: Callable[[Any, str, Any, Any], Any]
    """(memory, event name, snapshot before, snapshot after) to the next memory; memory is hashable."""
    bad: Callable[[Any], bool]


def monitor(
    rule: str, why: str, *, start: Any, advance: Callable[[Any, str, Any, Any], Any], bad: Callable[[Any], bool]
) -> Monitor:
    """Declare a rule about the past of one instance, kept apart from the machine that it watches."""
    return Monitor(Rule(rule, why), start, advance, bad)


@attrs.frozen
class Refusal:
    """A named refusal: of events in states, of whatever a state does not handle, or of all that is left."""

    rule: str
    why: str | None
    events: tuple[Any, ...]
    states: tuple[State, ...]
    rank: Literal["cell", "state", "event", "rest"]


def rule(name: str, *states: State, why: str | None = None, otherwise: bool = False) -> Refusal:
    """What a state means: any event that it does not handle is refused under this name.

    Args:
        name: the rule.
        states: the states it speaks for.
        why: one sentence; may be left out where the rule is explained elsewhere in the same machine.
        otherwise: speak for every pair of state and event that nothing else names (the machine's order of events).
    """
    if bool(states) == otherwise:
        raise DefinitionError(f"rule {name!r}: name its states, or say otherwise=True and name none")
    return Refusal(name, why, (), states, "rest" if otherwise else "state")


def refused(
    *events: Any, when: State | Iterable[State] = (), otherwise: bool = False, rule: str, why: str | None = None
) -> Refusal:
    """Refuse events by name: in the given states, or with `otherwise` wherever no state speaks for them."""
    states = (when,) if isinstance(when, State) else tuple(when)
    if not events or bool(states) == otherwise:
        raise DefinitionError(f"refused(..., rule={rule!r}) needs events, and either when= or otherwise=True")
    return Refusal(rule, why, events, states, "event" if otherwise else "cell")


@attrs.frozen
class Settled:
    """Events that a final state takes as already done: accepted, and nothing changes."""

    events: tuple[Any, ...]
    states: tuple[State, ...]
    rule: str
    why: str | None


def settled(*events: Any, when: State | Iterable[State], rule: str, why: str | None = None) -> Settled:
    """Declare that a final state accepts these events as already done: no version, no row, no effect."""
    return Settled(events, (when,) if isinstance(when, State) else tuple(when), rule, why)


@attrs.frozen
class Owe:
    """What a non-final state still owes, and what makes it too late."""

    rule: str
    why: str | None
    until: Callable[..., bool] | None


def owe(rule: str, why: str | None = None, *, until: Callable[..., bool] | None = None) -> Owe:
    """Declare a debt of a state: paid by leaving it, open at the end of a trace, broken when `until` comes first.

    Args:
        rule: the rule that an unpaid debt breaks.
        why: one sentence.
        until: a pure predicate over `data` and links for life; once true, the debt can no longer be paid. It is asked
            of each step of an instance that it reads: the kernel refuses one after which a debt stays unpaid.
    """
    return Owe(rule, why, until)


@attrs.frozen
class Awaited:
    """An effect and the events that answer it; none when nothing waits for it, and then why."""

    effect: Callable[..., Any]
    done: Any = None
    failed: Any = None
    unknown: Any = None
    reason: str = ""


def effect(effect: Callable[..., Any], *, done: Any, failed: Any, unknown: Any) -> Awaited:
    """Name the events that answer an effect: performed, failed, and performed-or-not is unknown (a timeout)."""
    return Awaited(effect, done, failed, unknown)


def fire_and_forget(effect: Callable[..., Any], reason: str) -> Awaited:
    """Declare an effect that nothing waits for, and say why that is safe."""
    return Awaited(effect, reason=reason)
