"""A wrong declaration is refused when its class is created, and the text names the offender and the fix."""

import ast
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import GenericAlias
from typing import Any

import attrs
import pytest

from ..machines import kernel
from ..machines.approval import Approval
from ..machines.catalogue import MACHINES
from ..machines.kernel import (
    Accepted,
    DefinitionError,
    Event,
    Link,
    Machine,
    Seen,
    State,
    Table,
    Tally,
    Way,
    effect,
    guard,
    invariant,
    owe,
    refused,
    rule,
    settled,
    step,
    step_invariant,
)
from ..machines.kernel.step import fault, known_names
from ..machines.kernel.table import Bound
from .generate.seek import seek
from .generate.values import Case, draw_case
from .lever import Frame, Lever, clear, later
from .staff import Staff

KERNEL = Path(kernel.__file__).parent


@attrs.frozen
class Data:
    flag: bool = False


@attrs.frozen
class Given:
    flag: bool


@attrs.define
class Mutable:
    flag: bool


@attrs.frozen
class Wordy:
    words: str


@attrs.frozen
class Reserved:
    source: bool


class Plain:
    pass


@guard("go-when-green", "nobody goes on red")
def green(flag: bool) -> bool:
    return flag


@guard("go-when-green", "nobody goes on red")
def sunny(weather: bool) -> bool:
    return weather


@guard("go-when-green", "nobody goes on red")
def by_default(flag: bool = True) -> bool:
    return flag


@guard("go-when-green", "nobody goes on red")
async def some_time(flag: bool) -> bool:
    return flag


def ruleless(flag: bool) -> bool:
    return flag


def born() -> Data:
    return Data()


def born_other() -> Given:
    return Given(True)


def born_untold():  # type: ignore[no-untyped-def]
    return Data()


def changed(data: Data) -> Data:
    return data


def swapped(data: Data) -> Given:
    return Given(data.flag)


def signal() -> None:
    """An effect."""


@invariant("always-green", "it is always green")
def needs_weather(weather: bool) -> bool:
    return weather


@step_invariant("always-green", "it is always green")
def needs_data(data: Data) -> bool:
    return data.flag


def frame_shut(frame: Seen[Any]) -> bool:
    return frame.state == Frame.shut


def always() -> bool:
    return True


class Lamp:
    """The body of a lawful machine, to be spoilt in one place."""

    def __init__(self) -> None:
        self.absent, self.on, self.off = State(initial=True), State(), State(final=True)
        self.body: dict[str, Any] = {"absent": self.absent, "on": self.on, "off": self.off}
        self.notes: dict[str, Any] = {}

    def event(self, name: str, transitions: Any, payload: Any = None) -> None:
        self.body[name] = transitions
        self.notes[name] = GenericAlias(Event, (payload or type(None),))

    def set(self, **entries: Any) -> None:
        self.body.update(entries)

    def made(self) -> type[Machine]:
        if "start" not in self.body:
            self.event("start", self.absent.to(self.on))
        if "go" not in self.body:
            self.event("go", self.on.to(self.off))
        body = {"__module__": __name__, "__doc__": "A lamp.", "__annotations__": self.notes, **self.body}
        make: Callable[..., type[Machine]] = type(Machine)
        return make("Lamp", (Machine,), body)


def goes(lamp: Lamp, payload: Any = None, **how: Any) -> None:
    lamp.event("go", lamp.on.to(lamp.off, **how), payload)


def unhinted(lamp: Lamp) -> None:
    goes(lamp)
    del lamp.notes["go"]


def no_state_before_birth(lamp: Lamp) -> None:
    lamp.body = {"dark": State(initial=True), "on": lamp.on, "off": lamp.off}
    lamp.event("start", lamp.body["dark"].to(lamp.on))


def compound(lamp: Lamp) -> None:
    class Nested(State.Compound):
        inner = State(initial=True)

    lamp.set(nested=Nested)
    lamp.event("nest", lamp.on.to(Nested))


def entered(lamp: Lamp) -> None:
    lamp.set(on=State(enter=signal))
    lamp.on = lamp.body["on"]


def counts_undeclared(lamp: Lamp) -> None:
    tally = Tally()
    tally.__set_name__(Frame, "lamps")
    lamp.set(frame=Link(Frame, counts={tally: (lamp.on,)}))


def misnamed(lamp: Lamp, kind: str) -> None:
    if kind == "state":
        lamp.set(source=State())
        lamp.event("lose", lamp.on.to(lamp.body["source"]) | lamp.body["source"].to(lamp.off))
    elif kind == "event":
        lamp.event("send", lamp.on.to(lamp.on))
    else:
        lamp.set(data=Link(Frame))


def pairless(lamp: Lamp) -> None:
    lamp.on.to(lamp.off)


def other_birth(lamp: Lamp) -> None:
    lamp.event("light", lamp.absent.to(lamp.on))


def born_twice(lamp: Lamp) -> None:
    lamp.event("start", lamp.absent.to(lamp.on) | lamp.on.to(lamp.on))


def back(lamp: Lamp) -> None:
    lamp.event("vanish", lamp.on.to(lamp.absent))


def shadowed(lamp: Lamp) -> None:
    lamp.event("go", lamp.on.to(lamp.off) | lamp.on.to(lamp.on))


def two_births(lamp: Lamp, first: Any, second: Any) -> None:
    lamp.event("start", lamp.absent.to(lamp.on, cond=green, on=first) | lamp.absent.to(lamp.on, on=second), Given)


def other_data(lamp: Lamp) -> None:
    lamp.event("start", lamp.absent.to(lamp.on, on=born))
    goes(lamp, on=swapped)


def trap(lamp: Lamp) -> None:
    lamp.set(dim=State())
    lamp.event("fade", lamp.on.to(lamp.body["dim"]))


def unlisted_effect(lamp: Lamp) -> None:
    goes(lamp, after=signal)


def unanswered(lamp: Lamp) -> None:
    goes(lamp, after=signal)
    lamp.set(effects=[effect(signal, done=lamp.body["go"], failed=None, unknown=None)])


def owing(lamp: Lamp, state: State) -> None:
    lamp.set(owes={state: owe("lamp-goes-out", "a lamp goes out")})


def owing_for_one_event(lamp: Lamp) -> None:
    lamp.set(frame=Link(Frame, per_event=True))
    lamp.set(owes={lamp.on: owe("lamp-goes-out", "a lamp goes out", until=frame_shut)})


def ruling(lamp: Lamp, *rules: Any) -> None:
    lamp.set(rules=list(rules))


def saying(lamp: Lamp, word: Any, state: State, event: Any = None) -> None:
    goes(lamp)
    ruling(lamp, word(event or lamp.body["go"], when=state, rule="lamp-lit", why="so"))


def inherit(lamp: Lamp) -> None:
    absent, dim = State(initial=True), State(final=True)
    type("Brighter", (lamp.made(),), {"__module__": __name__, "absent": absent, "dim": dim, "fade": absent.to(dim)})


WRONG: dict[str, tuple[Callable[[Lamp], object], str, str]] = {
    "a payload of no attrs class": (lambda lamp: goes(lamp, Plain), "Lamp.go: Plain", "@attrs.frozen"),
    "a payload that can be changed": (lambda lamp: goes(lamp, Mutable), "Lamp.go: Mutable", "@attrs.frozen"),
    "a field that cannot be enumerated": (lambda lamp: goes(lamp, Wordy), "Wordy.words", "= carried()"),
    "a deciding field with a default": (lambda lamp: goes(lamp, Data), "go.flag", "must be given"),
    "an event without payload type": (unhinted, "event go", "`go: Event[None] = ...`"),
    "no state before birth": (no_state_before_birth, "before birth", "`absent = State(initial=True)`"),
    "a compound state": (compound, "nested", "compose machines by links"),
    "a callback on a state": (entered, "state on", "after="),
    "a callback by its name": (lambda lamp: lamp.set(on_go=born), "on_go", "cond=, on= or after="),
    "a count that the owner does not declare": (
        counts_undeclared,
        "link frame counts into lamps",
        "write `lamps = Tally()`",
    ),
    "a count by a link of one event": (
        lambda lamp: lamp.set(frame=Link(Frame, per_event=True, counts={Frame.pulled: (lamp.on,)})),
        "link frame",
        "only a link for life can",
    ),
    "a count of a foreign state": (
        lambda lamp: lamp.set(frame=Link(Frame, counts={Frame.pulled: (Staff.out,)})),
        "link frame counts out",
        "name its own",
    ),
    "a state with a taken name": (lambda lamp: misnamed(lamp, "state"), "source", "call it otherwise"),
    "an event with a taken name": (lambda lamp: misnamed(lamp, "event"), "send", "call it otherwise"),
    "a link with a taken name": (lambda lamp: misnamed(lamp, "link"), "data", "call it otherwise"),
    "a payload field with a taken name": (lambda lamp: goes(lamp, Reserved), "go.source", "call it otherwise"),
    "a transition without event": (pairless, "a transition from on", "on.to(...)`"),
    "another birth than by start": (other_birth, "absent --light", "birth is by `start`"),
    "a start of what lives": (born_twice, "on --start", "from `absent`"),
    "a way back to absent": (back, "on --vanish", "ends in a final state"),
    "a way that hides the next": (shadowed, "on go off", "put it last"),
    "nothing that is born": (
        lambda lamp: lamp.made().variant("x", drop=[(lamp.absent, Lever.start)], why="so"),
        "nothing is born",
        "absent.to(...)`",
    ),
    "an internal transition": (
        lambda lamp: lamp.event("stay", lamp.on.to(lamp.on, internal=True)),
        "on --stay",
        "internal and targetless",
    ),
    "a validator": (lambda lamp: goes(lamp, validators=born), "on --go", "use guards in cond="),
    "a callback before": (lambda lamp: goes(lamp, before=born), "on --go", "one update in on="),
    "a condition turned round": (lambda lamp: goes(lamp, Given, unless=green), "on --go", "must be true"),
    "a guard without rule": (lambda lamp: goes(lamp, Given, cond=ruleless), "guard ruleless", "@guard(rule, why)"),
    "two updates": (lambda lamp: goes(lamp, on=[born, changed]), "got born, changed", "one update"),
    "a guard that is a lambda": (lambda lamp: goes(lamp, cond=lambda: True), "<lambda>", "module-level functions"),
    "a guard named in a string": (lambda lamp: goes(lamp, cond="green"), "'green'", "module-level functions"),
    "a guard that is async": (lambda lamp: goes(lamp, Given, cond=some_time), "some_time", "one pure call"),
    "a guard with a default": (lambda lamp: goes(lamp, Given, cond=by_default), "by_default takes flag", "without def"),
    "a guard that asks for an unknown name": (
        lambda lamp: goes(lamp, Given, cond=sunny),
        "sunny asks for weather",
        ": by, flag",
    ),
    "an update that returns other data": (
        other_data,
        "swapped returns",
        "the data class is",
    ),
    "births with other data": (lambda lamp: two_births(lamp, born, born_other), "ways of being born", "same class"),
    "a birth without data": (lambda lamp: two_births(lamp, born, None), "ways of being born", "needs an update"),
    "a birth that does not say its data": (
        lambda lamp: lamp.event("start", lamp.absent.to(lamp.on, on=born_untold)),
        "update of `start`",
        "annotate it",
    ),
    "an invariant that asks for more": (
        lambda lamp: lamp.set(invariants=[needs_weather]),
        "needs_weather",
        "data, state",
    ),
    "a step invariant that asks for more": (
        lambda lamp: lamp.set(step_invariants=[needs_data]),
        "needs_data",
        "after, before",
    ),
    "an invariant without rule": (lambda lamp: lamp.set(invariants=[always]), "invariant always", "decorate it"),
    "a debt of a final state": (lambda lamp: owing(lamp, lamp.off), "off owes lamp-goes-out", "only a live state"),
    "a debt before birth": (lambda lamp: owing(lamp, lamp.absent), "absent owes lamp-goes-out", "only a live state"),
    "a debt until what one event shows": (owing_for_one_event, "frame_shut asks for frame", "known: data"),
    "an effect that is not listed": (unlisted_effect, "its effect signal", "list effect(signal, done=...)"),
    "an effect that is answered in part": (unanswered, "effect signal", "failed= and unknown="),
    "a volatile machine that loses no owner": (
        lambda lamp: lamp.set(durable=False),
        "`owner_lost`",
        "what becomes of it",
    ),
    "a rule without a sentence": (lambda lamp: ruling(lamp, rule("lamp-lit", lamp.on)), "'lamp-lit'", "give why="),
    "a rule with a name of another form": (
        lambda lamp: guard("Lamp_Lit", "why"),
        "'Lamp_Lit'",
        "'approval-resolved-once'",
    ),
    "a rule of no state": (lambda lamp: rule("lamp-lit", why="so"), "'lamp-lit'", "otherwise=True"),
    "a rule of some states and of all": (
        lambda lamp: rule("lamp-lit", lamp.on, otherwise=True),
        "'lamp-lit'",
        "name none",
    ),
    "a refusal of nothing": (lambda lamp: refused(when=lamp.on, rule="lamp-lit"), "'lamp-lit'", "needs events"),
    "a refusal of no state": (lambda lamp: refused("go", rule="lamp-lit"), "'lamp-lit'", "when= or otherwise=True"),
    "a refusal of a foreign event": (
        lambda lamp: saying(lamp, refused, lamp.on, Lever.pull),
        "<event lever.pull>",
        "pass the event itself",
    ),
    "a refusal in a foreign state": (
        lambda lamp: saying(lamp, refused, Staff.table.states["out"]),
        "<state out>",
        "name one of its own",
    ),
    "a refusal of what is taken": (
        lambda lamp: saying(lamp, refused, lamp.on),
        "go is refused in on (lamp-lit)",
        "also taken",
    ),
    "what is settled and not final": (
        lambda lamp: saying(lamp, settled, lamp.on),
        "go is settled in on",
        "write it as a transition",
    ),
    "a state that nothing reaches": (lambda lamp: lamp.set(dim=State(final=True)), "Lamp", "dim"),
    "a state without a way out": (trap, "Lamp", "dim"),
    "a machine that inherits from another": (inherit, "Brighter", "Lamp.variant(...)"),
    "a variant that drops what is not used": (
        lambda lamp: lamp.made().variant("x", drop=[clear], why="so"),
        "lamp: a variant drops or replaces clear",
        "does not use",
    ),
    "a variant that replaces what is not used": (
        lambda lamp: lamp.made().variant("x", replace={later: later}, why="so"),
        "replaces later",
        "does not use",
    ),
    "a variant that drops a transition that is not there": (
        lambda lamp: lamp.made().variant("x", drop=[(lamp.off, Lever.pull)], why="so"),
        "drops pull in off",
        "no such transition",
    ),
}
"""What is done to the lamp, how the text names the offender, and how it names the fix."""


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_declaration_names_the_offender_and_the_fix(case: str) -> None:
    spoil, offender, fix = WRONG[case]
    with pytest.raises(DefinitionError) as caught:
        lamp = Lamp()
        spoil(lamp)
        lamp.made()
    text = str(caught.value)
    assert offender in text
    assert fix in text
    assert "\n" not in text


def test_the_lamp_that_the_cases_spoil_is_a_machine() -> None:
    assert list(Lamp().made().table.events) == ["start", "go"]


def places(error: str) -> set[tuple[str, int]]:
    """Every line of the kernel that raises an error of this kind."""
    found = set()
    for file in KERNEL.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = node.exc.func
                called = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
                if called in (error, "_wrong"):
                    found.add((file.name, node.lineno))
    return found


def test_every_definition_error_of_the_kernel_has_a_case() -> None:
    met = set()
    for spoil, _, _ in WRONG.values():
        lamp = Lamp()
        try:
            spoil(lamp)
            lamp.made()
        except DefinitionError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            met.add((Path(last.filename).name, last.lineno))
    assert sorted(places("DefinitionError") - met) == []


def moves_of(table: Table) -> list[Any]:
    return [(str(move), move.guards, move.update, move.effects) for move in table.transitions]


def said(table: Table) -> dict[str, Any]:
    """All that a table says, without the objects that each class has of its own."""
    return {
        "states": [(id, state.initial, state.final) for id, state in table.states.items()],
        "moves": moves_of(table),
        "refusals": table.refusals,
        "settled": table.settled,
        "meanings": table.meanings,
        "rules": table.rules,
        "awaited": table.awaited,
        "owes": {state: debt.rule for state, debt in table.owes.items()},
        "until": table.until,
        "links": {name: (link.per_event, link.optional) for name, link in table.links.items()},
        "counted": [(link, tally, [state.id for state in states]) for link, tally, states in table.counted],
        "tallies": table.tallies,
        "invariants": table.invariants,
        "step_invariants": table.step_invariants,
        "monitors": table.monitors,
        "durable": (table.durable, table.owner_lost),
        "data": table.data,
        "events": table.events,
    }


TESTED: dict[str, type[Machine]] = {**MACHINES, **{m.table.name: m for m in (Frame, Lever, Staff)}}


@pytest.mark.parametrize("name", TESTED)
def test_a_variant_that_changes_nothing_says_the_same_under_another_hash(name: str) -> None:
    machine = TESTED[name]
    same = machine.variant("same", why="to compare").table
    assert said(same) == said(machine.table)
    assert same.hash != machine.table.hash
    assert (same.name, same.variant, same.why) == (name, "same", "to compare")


def guards_of(machine: type[Machine]) -> list[Bound]:
    return list({guard.function: guard for move in machine.table.transitions for guard in move.guards}.values())


def faults_of(machine: type[Machine], case: Case, dropped: Bound | None = None) -> list[int]:
    """How many guards of each way are false, when one is not asked."""
    table = machine.table
    known = known_names(table, case.snapshot, case.request, case.by, case.links)
    return [
        sum(fault(table, guard, known) is not None for guard in way.guards if guard != dropped)
        for way in table.moves[str(case.snapshot.state.id), case.request.name]
    ]


def first(faults: list[int]) -> int | None:
    """The way that is taken, by its place."""
    return faults.index(0) if 0 in faults else None


@pytest.mark.parametrize("name", TESTED)
def test_dropping_a_guard_lets_pass_exactly_what_it_refused(name: str) -> None:
    """And there is something that it refused: no guard is idle because of what is written before it."""
    machine, random, idle = TESTED[name], Random(3), set()
    for dropped in guards_of(machine):
        varied = machine.variant(f"without {dropped.name}", drop=[dropped.function], why="a mutant").table
        freed = 0
        for (state, event), ways in machine.table.moves.items():
            places = [place for place, way in enumerate(ways) if dropped in way.guards]
            for place in places:

                def wrong(case: Case, dropped: Bound = dropped, place: int = place) -> int:
                    faults = faults_of(machine, case, dropped)
                    return faults[place] + faults[:place].count(0) + (first(faults) == first(faults_of(machine, case)))

                found = seek(random, machine, machine.table.states[state], event, wrong, 5_000)
                freed += found is not None
                drawn = [draw_case(random, machine, machine.table.states[state], event) for _ in range(30)]
                for case in drawn if found is None else [found, *drawn]:
                    free = step(varied, case.snapshot, case.request, case.by, case.links)
                    taken = first(faults_of(machine, case, dropped))
                    if isinstance(free, Accepted):
                        assert taken is not None
                        assert free.transition == str(ways[taken])
                    else:
                        assert taken is None or free.rule in for_its_result(machine)
        if not freed:
            idle.add(dropped.name)
    assert idle == set()


def for_its_result(machine: type[Machine]) -> set[str]:
    """The rules under which an event is refused whose guards are all true."""
    checks = (*machine.table.invariants, *machine.table.step_invariants)
    return {"within-range", "link-present", *(check.rule.name for check in checks if check.rule)}


@pytest.mark.parametrize("name", TESTED)
def test_a_variant_without_a_transition_refuses_it_by_a_rule_of_the_machine(name: str) -> None:
    machine = TESTED[name]
    for (state, event), ways in machine.table.moves.items():
        if state == "absent":
            continue
        varied = machine.variant("x", drop=[(ways[0].source, getattr(machine, event))], why="a mutant").table
        assert {pair for pair in machine.table.moves if pair not in varied.moves} == {(state, event)}
        no = varied.refusals[state, event]
        assert no.rank == "made" or no.rule.name in machine.table.rules


def test_a_variant_with_another_transition_takes_it_where_the_machine_refused() -> None:
    assert ("hung", "drop") in Staff.table.refusals
    way = Way(Staff.table.states["hung"], Staff.drop, Staff.table.states["hung"])
    varied = Staff.variant("x", add=[way], why="to compare").table
    assert ("hung", "drop") not in varied.refusals
    assert [str(move) for move in varied.moves["hung", "drop"]] == ["hung drop hung"]


def test_a_variant_may_take_what_the_machine_refuses_by_name() -> None:
    assert Approval.table.refusals["registered", "approve"].rank == "cell"
    way = Way(Approval.table.states["registered"], Approval.approve, Approval.table.states["withdrawn"])
    varied = Approval.variant("x", add=[way], why="to compare").table
    assert [str(move) for move in varied.moves["registered", "approve"]] == ["registered approve withdrawn"]
    assert varied.refusals["registered", "deny"] == Approval.table.refusals["registered", "deny"]


@pytest.mark.parametrize("name", TESTED)
def test_every_rule_of_a_machine_protects_something(name: str) -> None:
    table = TESTED[name].table
    bound = [bound for move in table.transitions for bound in move.guards]
    found = {bound.rule.name for bound in (*bound, *table.invariants, *table.step_invariants) if bound.rule}
    found |= {no.rule.name for no in table.refusals.values()} | {rule.name for rule in table.settled.values()}
    found |= {debt.rule for debt in table.owes.values()} | {watch.rule.name for watch in table.monitors}
    assert sorted(set(table.rules) - found) == []
