"""Every store keeps the same promises: one winner, all or none, nothing lost, nothing doubled, in order."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from ..adapters.stores.sqlite import SQLiteStore
from ..machines.kernel import (
    Accepted,
    BadInput,
    Effect,
    Kernel,
    Machine,
    MemoryStore,
    Ref,
    Refused,
    Snapshot,
    State,
)
from ..machines.kernel.step import absent
from ..machines.kernel.store import Entry, Store
from .box import Box, Watch, report
from .lever import Bell, Frame, Lever, LeverData, Way, move, ring
from .staff import Staff

PULL = Lever.pull(force=3, way="left", note="gently")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore(audit=10)
    else:
        opened = SQLiteStore(tmp_path / "store.db", synchronous="NORMAL", audit=10)
        yield opened
        opened.close()


@pytest.fixture
def kernel(store: Store) -> Kernel:
    """A frame with two levers."""
    kernel = Kernel(store)
    kernel.start(Frame, id="f", box="b")
    for number in (1, 2):
        kernel.start(Lever, id=f"l{number}", frame=Frame.ref("f"), number=number, ways=frozenset(["x", "y"]))
    return kernel


def state(kernel: Kernel, ref: Any) -> str:
    snapshot = kernel.get(ref)
    assert snapshot is not None
    return str(snapshot.state.id)


def refusals(store: Any) -> list[str]:
    """The rules in the audit, oldest first."""
    if isinstance(store, MemoryStore):
        return [refused.rule for _, refused in store.audit]
    found = store.connections.mine().execute("SELECT rule FROM audit ORDER BY seq")
    return [rule for (rule,) in found]


def journalled(store: Any) -> list[tuple[str, str, str]]:
    """What the journal holds, in order: instance, event, state."""
    if isinstance(store, MemoryStore):
        return [(str(e.decision.ref), e.event, str(e.decision.after.state.id)) for e in store.journal]
    return list(store.connections.mine().execute("SELECT machine || ' ' || id, event, state FROM journal ORDER BY seq"))


def birth(machine: type[Machine], state: State, data: Any, *effects: Any, event_id: str | None = None) -> Entry:
    """What a kernel would append for a new instance, effects by their payloads."""
    ref = machine.ref("new")
    described = tuple(Effect("ring", payload, f"{ref}/1.{number}", ref) for number, payload in enumerate(effects))
    after = Snapshot(ref, state, 1, data)
    decision = Accepted(ref, absent(machine.table, ref), after, f"absent start {state.id}", described)
    return Entry(decision, "start", None, None, event_id, {}, machine.table)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call returned, all started together."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        ready.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_what_was_never_born_is_none(kernel: Kernel) -> None:
    assert kernel.get(Lever.ref("l3")) is None


def test_an_instance_comes_back_as_it_was_left(kernel: Kernel) -> None:
    pulled = kernel.fire(Lever.ref("l1"), PULL, by="me")
    assert isinstance(pulled, Accepted)
    assert kernel.get(pulled) == pulled.after
    data = LeverData(1, frozenset(["x", "y"]), "me", 3, Way.LEFT)
    assert (pulled.after.version, pulled.after.data, pulled.after.links) == (2, data, {"frame": Frame.ref("f")})


def test_an_instance_without_data_has_none(kernel: Kernel) -> None:
    bell = kernel.start(Bell)
    kernel.fire(bell, Bell.strike())
    found = kernel.get(bell)
    assert found is not None and found.data is None and found.state == Bell.rung


def test_of_fires_that_exclude_each_other_one_wins_and_the_others_are_told(kernel: Kernel) -> None:
    for round in range(5):
        lever = kernel.start(Lever, id=f"r{round}", frame=Frame.ref("f"), number=1, ways=frozenset()).ref
        done = at_once(*[partial(kernel.fire, lever, PULL, by=by) for by in "abcdefgh"])
        (winner,) = [decision for decision in done if decision.accepted]
        assert {decision.rule for decision in done if not decision.accepted} == {"lever-moves-in-order"}
        assert kernel.get(lever) == winner.after


def test_fires_that_can_follow_one_another_are_all_accepted(kernel: Kernel) -> None:
    done = at_once(*[lambda: [kernel.fire(Frame.ref("f"), Frame.tick()) for _ in range(25)]] * 4)
    assert all(decision.accepted for some in done for decision in some)
    versions = [decision.after.version for some in done for decision in some]
    assert sorted(versions) == list(range(2, 102))
    found = kernel.get(Frame.ref("f"))
    assert found is not None and found.data.epoch == 100


def test_a_guard_over_another_instance_holds_against_a_race_with_it(kernel: Kernel) -> None:
    """The frame closes only while no lever stands pulled, and a lever is pulled only while the frame is open."""
    for round in range(20):
        frame = kernel.start(Frame, id=f"g{round}", box="b").ref
        lever = kernel.start(Lever, id=f"g{round}", frame=frame, number=1, ways=frozenset()).ref
        pulled, closed = at_once(partial(kernel.fire, lever, PULL, by="me"), partial(kernel.fire, frame, Frame.close()))
        assert [pulled.accepted, closed.accepted].count(True) == 1


def test_several_fires_happen_all_or_none(kernel: Kernel, store: Store) -> None:
    before = journalled(store)
    arrive = Lever.arrived(by_itself=True)
    one, two = Lever.ref("l1"), Lever.ref("l2")
    first, second, third = kernel.fire_all([(one, PULL), (two, arrive), (one, arrive)], by="me")
    assert isinstance(first, Refused) and isinstance(second, Refused) and isinstance(third, Refused)
    assert (first.rule, second.rule, third.rule) == ("all-or-none", "lever-moves-in-order", "all-or-none")
    assert (state(kernel, one), state(kernel, two), journalled(store)) == ("normal", "normal", before)
    assert kernel.fire(Frame.ref("f"), Frame.close()).accepted  # nor is the refused pull counted


def test_several_fires_see_one_another(kernel: Kernel) -> None:
    one = Lever.ref("l1")
    done = kernel.fire_all([(one, PULL), (one, Lever.arrived(by_itself=True)), (one, Lever.put_back())], by="me")
    assert all(decision.accepted for decision in done)
    assert state(kernel, one) == "normal"
    pulled, closed = kernel.fire_all([(one, PULL), (Frame.ref("f"), Frame.close())], by="me")
    assert isinstance(closed, Refused) and closed.rule == "frame-closes-clear"


def test_an_event_id_returns_the_first_decision_whatever_happened_since(kernel: Kernel) -> None:
    first = kernel.fire(Lever.ref("l1"), PULL, by="me", event_id="e1")
    kernel.fire(Lever.ref("l1"), Lever.arrived(by_itself=True))
    again = kernel.fire(Lever.ref("l1"), PULL, by="me", event_id="e1")
    assert again == first and isinstance(again, Accepted)
    assert [effect.id for effect in again.effects] == ["lever l1/2.0", "lever l1/2.1"]
    assert state(kernel, Lever.ref("l1")) == "thrown"


def test_the_event_id_of_a_birth_returns_the_birth(kernel: Kernel) -> None:
    given: dict[str, Any] = dict(frame=Frame.ref("f"), number=1, ways=frozenset(["x"]))
    first = kernel.start(Lever, id="l3", event_id="e1", **given)
    kernel.fire(first, Lever.scrap())
    assert kernel.start(Lever, id="l3", event_id="e1", **given) == first


def test_an_event_id_is_bound_to_instance_event_and_payload(kernel: Kernel) -> None:
    kernel.fire(Lever.ref("l1"), PULL, by="me", event_id="e1")
    others = [
        (Lever.ref("l2"), PULL),
        (Lever.ref("l1"), Lever.scrap()),
        (Lever.ref("l1"), Lever.pull(force=4, way="left", note="gently")),
        (Lever.ref("l1"), Lever.pull(force=3, way="left", note="hard")),
        (Frame.ref("f"), Frame.tick()),
    ]
    for ref, request in others:
        decision = kernel.fire(ref, request, event_id="e1")
        assert isinstance(decision, Refused) and decision.rule == "event-id-bound"


def test_a_refused_event_id_is_free(kernel: Kernel) -> None:
    arrive = Lever.arrived(by_itself=True)
    assert not kernel.fire(Lever.ref("l1"), arrive, event_id="e1").accepted
    kernel.fire(Lever.ref("l1"), PULL, by="me")
    assert kernel.fire(Lever.ref("l1"), arrive, event_id="e1").accepted


def test_of_racing_repeats_of_one_event_id_all_get_the_same_decision(kernel: Kernel) -> None:
    frame = Frame.ref("f")
    done = at_once(*[lambda: kernel.fire(frame, Frame.tick(), event_id="e1")] * 6)
    assert all(decision == done[0] for decision in done) and done[0].accepted
    assert done[0].after.version == 2


def test_what_is_settled_is_accepted_and_leaves_no_row(kernel: Kernel, store: Store) -> None:
    kernel.fire(Lever.ref("l1"), Lever.scrap())
    before = journalled(store)
    assert kernel.fire(Lever.ref("l1"), Lever.scrap()).accepted
    assert journalled(store) == before


def test_a_tally_counts_dependents_in_the_named_states(kernel: Kernel) -> None:
    def pulled() -> int:
        found = kernel.get(Frame.ref("f"))
        assert found is not None
        return found.tallies["pulled"]

    counts = [pulled()]
    for number in (1, 2):
        kernel.fire(Lever.ref(f"l{number}"), PULL, by="me")
        counts.append(pulled())
    kernel.fire(Lever.ref("l1"), Lever.arrived(by_itself=True))
    counts.append(pulled())
    kernel.fire(Lever.ref("l1"), Lever.put_back())
    counts.append(pulled())
    kernel.fire(Lever.ref("l2"), Lever.stuck())
    counts.append(pulled())
    assert counts == [0, 1, 2, 2, 1, 0]


def test_those_who_come_before_their_owner_count_for_its_birth(kernel: Kernel) -> None:
    box = Box.ref("x")
    assert isinstance(kernel.start(Box, id="x"), Refused)
    for id in ("w1", "w2"):
        kernel.start(Watch, id=id, box=box, bell=Bell.ref("b"))
    born = kernel.start(Box, id="x")
    assert isinstance(born, Accepted)
    found = kernel.get(box)
    assert found is not None and found.tallies == born.before.tallies == born.after.tallies == {"watching": 2}


def test_what_is_adopted_has_been_counted_for_before(kernel: Kernel) -> None:
    kernel.start(Watch, id="w", box=Box.ref("x"), bell=Bell.ref("b"))
    adopted = kernel.adopt(Box.ref("x"), Box.open, None, why="it stood there")
    assert isinstance(adopted, Accepted) and adopted.after.tallies == {"watching": 1}


def test_dependents_come_in_order_of_birth(kernel: Kernel, store: Store) -> None:
    for id in ("z", "a", "m"):
        kernel.start(Lever, id=id, frame=Frame.ref("f"), number=1, ways=frozenset())
    kernel.start(Frame, id="other", box="b")
    kernel.start(Lever, id="stranger", frame=Frame.ref("other"), number=1, ways=frozenset())
    kernel.fire(Lever.ref("l1"), Lever.scrap())
    expected = [Lever.ref(id) for id in ("l1", "l2", "z", "a", "m")]
    assert list(kernel.dependents(Frame.ref("f"), Lever)) == expected
    assert kernel.dependents(Frame.ref("f"), Bell) == ()
    with store.transaction() as work:
        assert list(work.dependents(Frame.ref("f"), Lever.table)) == expected
        assert list(work.dependents(Frame.ref("f"), Lever.table, {"broken", "pulled"})) == [Lever.ref("l1")]
        assert list(work.dependents(Frame.ref("f"), Lever.table, {"normal"})) == expected[1:]


def test_a_link_for_one_event_makes_no_dependent(kernel: Kernel) -> None:
    bell = kernel.start(Bell)
    kernel.fire(bell, Bell.strike())
    assert kernel.fire(Lever.ref("l1"), Lever.pull(force=1, way="left", bell=bell), by="me").accepted
    assert kernel.dependents(bell, Lever) == ()
    found = kernel.get(Lever.ref("l1"))
    assert found is not None and set(found.links) == {"frame"}


def test_what_is_adopted_goes_on_from_where_it_was(kernel: Kernel) -> None:
    lever = Lever.ref("old")
    data = LeverData(9, frozenset(), "me", 5, Way.LEFT)
    adopted = kernel.adopt(lever, Lever.thrown, data, why="pulled by hand", links={"frame": Frame.ref("f")})
    assert isinstance(adopted, Accepted) and kernel.get(lever) == adopted.after
    assert not kernel.fire(Frame.ref("f"), Frame.close()).accepted  # it counts
    assert kernel.dependents(Frame.ref("f"), Lever)[-1] == lever
    again = kernel.adopt(lever, Lever.normal, data, why="no")
    assert isinstance(again, Refused) and again.rule == "adopt-once"
    assert kernel.fire(lever, Lever.put_back()).accepted


def test_in_observe_mode_a_refusal_is_answered_and_changes_nothing(store: Store) -> None:
    kernel = Kernel(store, mode={Frame: "observe"})
    frame = kernel.start(Frame, id="f", box="b").ref
    before = journalled(store)
    again = kernel.start(Frame, id="f", box="b")
    assert again.accepted and again.would_refuse is not None and again.would_refuse.rule == "frame-opened-once"
    assert (state(kernel, frame), journalled(store)) == ("open", before)


def test_what_another_ones_debt_would_refuse_is_journalled_so_where_it_is_only_observed(store: Store) -> None:
    kernel = Kernel(store, mode={Frame: "observe"})
    frame = kernel.start(Frame, id="f", box="b").ref
    staff = kernel.start(Staff, id="s", line=frame)
    kernel.fire(staff, Staff.take(hand="amy"))
    closed = kernel.fire(frame, Frame.close(), event_id="e1")
    assert isinstance(closed, Accepted) and closed.would_refuse is not None
    assert (state(kernel, frame), closed.would_refuse.rule) == ("shut", "staff-hung-before-shut")
    assert kernel.fire(frame, Frame.close(), event_id="e1") == closed
    with store.transaction() as work:
        entry = work.recorded("e1")
    assert entry is not None and entry.decision.would_refuse == closed.would_refuse


@pytest.mark.parametrize("by", [None, "me", "\ud800", 7, 2**70])
def test_who_acts_comes_back(kernel: Kernel, store: Store, by: Any) -> None:
    kernel.fire(Frame.ref("f"), Frame.tick(), by=by, event_id="e1")
    with store.transaction() as work:
        entry = work.recorded("e1")
    assert entry is not None and (entry.by, type(entry.by)) == (by, type(by))


@pytest.mark.parametrize("by", [True, 1.5, b"me", ("me",), object()])
def test_who_acts_is_named_by_a_text_or_an_integer(kernel: Kernel, store: Store, by: Any) -> None:
    before = journalled(store)
    with pytest.raises(BadInput, match="^tick of frame f is fired by .*: a principal is named by a text or an int"):
        kernel.fire(Frame.ref("f"), Frame.tick(), by=by)
    assert journalled(store) == before


CARRIED: list[dict[str, Any]] = [
    {"name": "\ud800 é", "hour": 3, "words": {"a": [1, 2.5, None, True, "x"], "b": {}}},
    {"name": "", "hour": 0.1, "words": "so"},
    {"hour": None, "words": []},
]


@pytest.mark.parametrize("given", CARRIED)
def test_what_is_carried_comes_back(kernel: Kernel, store: Store, given: dict[str, Any]) -> None:
    kernel.start(Bell, id="b")
    watch = kernel.start(Watch, id="w", box=Box.ref("x"), bell=Bell.ref("b"))
    heard: list[Any] = []
    kernel.handler(report)(lambda effect: heard.append(effect.payload))
    signed = kernel.fire(watch, Watch.sign_off(**given), event_id="e1")
    assert isinstance(signed, Accepted)
    assert heard == [signed.effects[0].payload] == [["silent", given["words"]]]
    assert kernel.fire(watch, Watch.sign_off(**given), event_id="e1") == signed
    with store.transaction() as work:
        entry = work.recorded("e1")
    assert entry is not None and attrs.asdict(entry.payload) == {"name": "", **given}


UNCARRIED: list[tuple[dict[str, Any], str]] = [
    ({"name": 5}, "watch.sign_off.name is 5; expected a text"),
    ({"name": None}, "watch.sign_off.name is None; expected a text"),
    ({"hour": "3"}, "watch.sign_off.hour is '3'; expected a number or null"),
    ({"hour": True}, "watch.sign_off.hour is True; expected a number or null"),
    ({"hour": float("nan")}, "watch.sign_off.hour is nan; expected a number or null"),
    ({"words": (1, 2)}, "watch.sign_off.words is (1, 2); expected what JSON can hold"),
    ({"words": {1: 2}}, "watch.sign_off.words is {1: 2}; expected what JSON can hold"),
    ({"words": {"a": [b"x"]}}, "watch.sign_off.words is {'a': [b'x']}; expected what JSON can hold"),
    ({"words": float("inf")}, "watch.sign_off.words is inf; expected what JSON can hold"),
    ({"words": frozenset("a")}, "watch.sign_off.words is frozenset({'a'}); expected what JSON can hold"),
]


@pytest.mark.parametrize(("given", "text"), UNCARRIED)
def test_what_would_not_come_back_is_not_carried(
    kernel: Kernel, store: Store, given: dict[str, Any], text: str
) -> None:
    kernel.start(Bell, id="b")
    watch = kernel.start(Watch, id="w", box=Box.ref("x"), bell=Bell.ref("b"))
    before = journalled(store)
    with pytest.raises(BadInput) as caught:
        kernel.fire(watch, Watch.sign_off(**given))
    assert (str(caught.value), journalled(store)) == (text, before)


NO_ID = [5, None, b"f", "\ud800"]


@pytest.mark.parametrize("id", NO_ID)
def test_an_id_is_a_text_that_every_store_can_keep(kernel: Kernel, store: Store, id: Any) -> None:
    before = journalled(store)
    wrong = Ref("frame", id)
    calls: list[Callable[[], Any]] = [
        partial(kernel.fire, wrong, Frame.tick()),
        partial(kernel.get, wrong),
        partial(kernel.adopt, wrong, Frame.open, None, why="so"),
        lambda: kernel.start(Lever, id="l3", frame=wrong, number=1, ways=frozenset()),
    ]
    if id is not None:
        calls += [partial(kernel.start, Frame, id=id, box="b")]
        calls += [partial(kernel.fire, Frame.ref("f"), Frame.tick(), event_id=id)]
    for call in calls:
        with pytest.raises(BadInput, match="half a surrogate pair is none"):
            call()
    assert journalled(store) == before


@pytest.mark.parametrize(
    ("data", "links", "text"),
    [
        (LeverData(1, frozenset(), force=101), {}, "lever.force is 101; expected an integer from 0 to 100"),
        (LeverData(object(), frozenset()), {}, "lever.number is <object.*>; expected a string"),
        (LeverData(1, frozenset()), {"bell": Bell.ref("b")}, "lever has no link bell for life"),
        (LeverData(1, frozenset()), {"box": Box.ref("x")}, "lever has no link box for life"),
        (LeverData(1, frozenset()), {"frame": Bell.ref("b")}, "link frame takes a frame; got bell b"),
    ],
)
def test_only_what_every_store_can_keep_is_adopted(kernel: Kernel, data: Any, links: Any, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        kernel.adopt(Lever.ref("old"), Lever.normal, data, why="so", links=links)
    assert kernel.get(Lever.ref("old")) is None


def test_what_is_adopted_has_the_values_of_its_fields(kernel: Kernel) -> None:
    data: Any = LeverData(1, ["x"], way="left")  # type: ignore[arg-type]
    kernel.adopt(Lever.ref("old"), Lever.normal, data, why="so", links={"frame": Frame.ref("f")})
    found = kernel.get(Lever.ref("old"))
    assert found is not None and found.data == LeverData(1, frozenset(["x"]), way=Way.LEFT)


def test_an_exception_undoes_the_transaction(kernel: Kernel, store: Store) -> None:
    before = journalled(store)
    snapshot = kernel.get(Frame.ref("f"))
    assert snapshot is not None
    after = Snapshot(snapshot.ref, Frame.shut, 2, snapshot.data)
    decision = Accepted(snapshot.ref, snapshot, after, "open close shut")
    with pytest.raises(ZeroDivisionError), store.transaction() as work:
        assert work.read(Frame.table, snapshot.ref) == snapshot
        work.append(Entry(decision, "close", None, None, "e1", {}, Frame.table))
        assert work.read(Frame.table, snapshot.ref) == after
        raise ZeroDivisionError
    assert (kernel.get(Frame.ref("f")), journalled(store)) == (snapshot, before)
    assert kernel.fire(Frame.ref("f"), Frame.tick(), event_id="e1").accepted


def test_after_a_rollback_the_transaction_goes_on_empty(kernel: Kernel, store: Store) -> None:
    entry = birth(Bell, Bell.silent, None, event_id="e1")
    with store.transaction() as work:
        work.append(entry)
        work.rollback()
        assert work.read(Bell.table, Bell.ref("new")) is None and work.recorded("e1") is None
        work.append(entry)
    assert store.read(Bell.table, Bell.ref("new")) == entry.decision.after
    assert journalled(store)[-1] == ("bell new", "start", "silent")


def test_the_audit_remembers_the_last_refusals(kernel: Kernel, store: Store) -> None:
    for _ in range(12):
        kernel.fire(Lever.ref("l1"), Lever.put_back())
    kernel.start(Frame, id="f", box="b")
    assert refusals(store) == ["lever-moves-in-order"] * 9 + ["frame-opened-once"]


def test_effects_are_performed_in_order_and_answered(kernel: Kernel) -> None:
    performed: list[Effect] = []

    @kernel.handler(move)
    def _(effect: Effect) -> dict[str, Any]:
        performed.append(effect)
        return {"by_itself": True}

    kernel.handler(ring)(performed.append)
    kernel.fire(Lever.ref("l1"), PULL, by="me")
    assert [(effect.name, effect.id) for effect in performed] == [("move", "lever l1/2.0"), ("ring", "lever l1/2.1")]
    assert performed[0].payload == {"number": 1, "way": "left", "note": "gently", "steps": [1, 2.5, None, True]}
    assert state(kernel, Lever.ref("l1")) == "thrown"
    kernel.fire(Lever.ref("l1"), Lever.put_back())
    assert [effect.id for effect in performed[2:]] == ["lever l1/4.0"]
    assert kernel.deliver() == 0


@pytest.mark.parametrize(("error", "reached"), [(OSError, "broken"), (TimeoutError, "pulled")])
def test_a_handler_that_fails_is_answered_so(kernel: Kernel, error: type[Exception], reached: str) -> None:
    @kernel.handler(move)
    def _(effect: Effect) -> None:
        raise error

    kernel.fire(Lever.ref("l1"), PULL, by="me")
    assert state(kernel, Lever.ref("l1")) == reached


def throws(kernel: Kernel, *outcomes: type[BaseException] | None) -> list[str]:
    """Let the levers be thrown, each outcome once and then without fail; returns the effects as they are performed."""
    performed: list[str] = []
    left = list(outcomes)

    @kernel.handler(move)
    def _(effect: Effect) -> dict[str, Any]:
        performed.append(effect.id)
        if left and (outcome := left.pop(0)) is not None:
            raise outcome
        return {"by_itself": True}

    return performed


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_what_an_interrupted_handler_left_is_delivered_again(
    kernel: Kernel, store: Store, interrupt: type[BaseException]
) -> None:
    throws(kernel, interrupt)
    with pytest.raises(interrupt):
        kernel.fire(Lever.ref("l1"), PULL, by="me")
    assert state(kernel, Lever.ref("l1")) == "pulled"  # the decision stands
    other = Kernel(store, mode={Lever: "enforce"})
    assert throws(other) == [] and other.deliver() == 1
    assert state(other, Lever.ref("l1")) == "thrown"
    assert kernel.deliver() == 0


def test_what_was_performed_and_not_answered_is_answered_without_performing_it_again(
    kernel: Kernel, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    performed = throws(kernel)
    begin = store.transaction
    begun: list[None] = []

    def failing() -> Any:
        begun.append(None)
        if len(begun) in (2, 3):
            raise OSError("the disk is full")
        return begin()

    monkeypatch.setattr(store, "transaction", failing)
    pulled = kernel.fire(Lever.ref("l1"), PULL, by="me")
    assert pulled.accepted and state(kernel, Lever.ref("l1")) == "pulled"
    with pytest.raises(OSError, match="the disk is full"):
        kernel.deliver()
    assert kernel.deliver() == 1
    assert (performed, state(kernel, Lever.ref("l1"))) == (["lever l1/2.0"], "thrown")
    assert kernel.deliver() == 0


def test_an_answer_that_fails_for_ever_holds_up_no_other_instance(
    kernel: Kernel, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    performed = throws(kernel)

    def fails(effect: Effect, *given: Any) -> None:
        if effect.ref == Lever.ref("l1"):
            raise ZeroDivisionError
        answer(effect, *given)

    answer = kernel._delivery.answer
    monkeypatch.setattr(kernel._delivery, "answer", fails)
    for number in (1, 2):
        assert kernel.fire(Lever.ref(f"l{number}"), PULL, by="me").accepted
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kernel.deliver()
    assert performed == ["lever l1/2.0", "lever l2/2.0"]
    assert [state(kernel, Lever.ref(id)) for id in ("l1", "l2")] == ["pulled", "thrown"]


def test_of_threads_that_deliver_at_once_each_answers_what_no_other_does(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    throws(kernel)
    levers = [kernel.start(Lever, id=f"n{id}", frame=Frame.ref("f"), number=1, ways=frozenset()) for id in range(20)]

    def fails(*given: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(kernel._delivery, "answer", fails)
        assert all(kernel.fire(lever, PULL, by="me").accepted for lever in levers)
    assert sum(at_once(*[kernel.deliver] * 4)) == 20
    assert {state(kernel, lever) for lever in levers} == {"thrown"}


def test_a_claim_that_is_given_back_waits_again(kernel: Kernel, store: Store) -> None:
    kernel.fire(Lever.ref("l1"), PULL, by="me")
    claimed = store.take("t", ["move"])
    assert claimed is not None
    store.release(claimed, "someone else")
    assert store.take("u", ["move"]) is None
    store.release(claimed, "t")
    assert store.take("u", ["move"]) == claimed
    store.settle(claimed, "u", "done")
    store.release(claimed, "u")
    assert store.take("t", ["move"]) is None


def test_an_effect_waits_for_the_older_ones_of_its_instance_alone(kernel: Kernel, store: Store) -> None:
    for number in (1, 2):
        kernel.fire(Lever.ref(f"l{number}"), PULL, by="me")
    assert store.take("t", ["ring"]) is None  # each has its move before it
    first = store.take("t", ["move", "ring"])
    second = store.take("t", ["move", "ring"])
    assert first is not None and second is not None
    assert [first.effect.id, second.effect.id] == ["lever l1/2.0", "lever l2/2.0"]
    assert store.take("t", ["move", "ring"]) is None
    store.settle(second, "someone else", "done")
    assert store.take("t", ["ring"]) is None
    store.settle(second, "t", "done")
    third = store.take("u", ["ring"])
    assert third is not None and third.effect.id == "lever l2/2.1"


def test_a_pending_effect_carries_the_links_of_its_cause(kernel: Kernel, store: Store) -> None:
    bell = kernel.start(Bell, id="b")
    kernel.fire(bell, Bell.strike())
    kernel.fire(Lever.ref("l1"), Lever.pull(force=1, way="left", bell=bell), by="me")
    pending = store.take("t", ["move"])
    assert pending is not None and pending.links == {"bell": Bell.ref("b")}
    assert pending.effect.ref == Lever.ref("l1")


def test_no_two_threads_claim_one_effect(kernel: Kernel, store: Store) -> None:
    for id in range(20):
        lever = kernel.start(Lever, id=f"n{id}", frame=Frame.ref("f"), number=1, ways=frozenset())
        kernel.fire(lever, PULL, by="me")

    def claim() -> list[str]:
        claimed = []
        while (pending := store.take(threading.current_thread().name, ["move"])) is not None:
            claimed.append(pending.effect.id)
        return claimed

    claimed = [id for some in at_once(*[claim] * 4) for id in some]
    assert sorted(claimed) == sorted(f"lever n{id}/2.0" for id in range(20))


def test_a_wait_ends_at_once_when_the_state_is_reached(kernel: Kernel) -> None:
    """Whichever comes first, the look or the commit."""
    for round in range(30):
        lever = kernel.start(Lever, id=f"w{round}", frame=Frame.ref("f"), number=1, ways=frozenset()).ref
        wait = partial(kernel.wait, lever, until=Lever.pulled, deadline=10)
        waited, _ = at_once(wait, partial(kernel.fire, lever, PULL, by="me"))
        assert not waited.timed_out and waited.snapshot.state == Lever.pulled


def test_a_commit_wakes_who_waits(kernel: Kernel, store: Store) -> None:
    store.read(Frame.table, Frame.ref("f"))
    woken = threading.Event()

    def sleep() -> None:
        store.read(Frame.table, Frame.ref("f"))
        store.wait(30)
        woken.set()

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    while not woken.wait(0.02):
        kernel.fire(Frame.ref("f"), Frame.tick())
    sleeper.join(5)
    assert not sleeper.is_alive()


def test_a_wait_without_a_commit_lasts_as_long_as_was_said(kernel: Kernel, store: Store) -> None:
    kernel.get(Frame.ref("f"))
    began = time.monotonic()
    store.wait(0.05)
    assert time.monotonic() - began > 0.04
    assert kernel.wait(Frame.ref("f"), until=Frame.shut, deadline=0.05).timed_out
