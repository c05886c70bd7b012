"""Every change is one decided, journalled transaction, and every caller learns its own outcome."""

import threading
from collections.abc import Callable
from random import Random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..machines.catalogue import MACHINES
from ..machines.kernel import (
    UNKNOWN,
    Accepted,
    BadInput,
    Decision,
    Effect,
    Event,
    Kernel,
    Machine,
    MemoryStore,
    Ref,
    Refused,
    Request,
    Seen,
    Snapshot,
    State,
    step,
)
from ..machines.kernel.step import fault, known_names
from .box import Box, Watch
from .generate.values import draw_case
from .lever import Bell, Frame, FrameData, Lever, LeverData, Way, move, ring
from .staff import Staff, StaffData

PULL: dict[str, Any] = {"force": 40, "way": "left", "note": "gently"}


class Signalbox:
    """A kernel with an open frame, and what its handlers were given."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.kernel = Kernel(self.store, mode={Frame: "enforce", Lever: "enforce", Staff: "enforce"})
        self.frame = self.kernel.start(Frame, id="f", box="west")

    def lever(self, id: str = "l", frame: Any = None) -> Decision:
        return self.kernel.start(Lever, id=id, frame=frame or self.frame, number=id, ways=["left"])

    def bell(self) -> Decision:
        bell = self.kernel.start(Bell, id="b")
        self.kernel.fire(bell, Bell.strike())
        return bell

    def staff(self, line: Any = None) -> Decision:
        return self.kernel.start(Staff, id="s", line=line or self.frame)


@pytest.fixture
def box() -> Signalbox:
    return Signalbox()


def accepted(decision: Decision) -> Accepted:
    assert isinstance(decision, Accepted), decision
    return decision


def refused(decision: Decision, rule: str = "") -> Refused:
    assert isinstance(decision, Refused), decision
    assert not rule or decision.rule == rule
    return decision


# --- one step ---------------------------------------------------------------------------------------------------------


def test_an_accepted_decision_shows_the_instance_before_and_after(box: Signalbox) -> None:
    lever = accepted(box.lever())
    assert (lever.before.state, lever.before.version, lever.before.data) == (Lever.table.states["absent"], 0, None)
    pulled = accepted(box.kernel.fire(lever, Lever.pull(**PULL), by="amy"))
    assert pulled.before == lever.after
    assert (pulled.after.state.id, pulled.after.version) == ("pulled", 2)
    assert pulled.after.data == LeverData("l", frozenset({"left"}), "amy", 40, Way.LEFT)
    assert pulled.transition == "normal pull pulled"
    assert box.kernel.get(lever) == pulled.after


def test_a_refusal_names_every_false_guard_with_what_it_saw_and_what_is_possible(box: Signalbox) -> None:
    lever = box.lever()
    box.kernel.fire(box.frame, Frame.close())
    silent = box.kernel.start(Bell, id="silent")
    no = refused(box.kernel.fire(lever, Lever.pull(**PULL, bell=silent)), "frame-open")
    assert [(failed.guard, failed.rule) for failed in no.failed] == [
        ("frame_open", "frame-open"),
        ("announced", "bell-before-pull"),
    ]
    assert no.failed[0].saw == {"frame": Seen(Frame.table.states["shut"], FrameData("west"), {"pulled": 0})}
    assert no.expected == ("pull", "scrap")
    assert "lever l is normal" in no.message


def test_the_way_with_the_fewest_false_guards_is_blamed_and_then_the_first() -> None:
    random, several = Random(1), 0
    for machine in MACHINES.values():
        for (state, event), ways in machine.table.moves.items():
            for _ in range(30 if len(ways) > 1 else 3):
                case = draw_case(random, machine, machine.table.states[state], event)
                decision = step(machine.table, case.snapshot, case.request, case.by, case.links)
                known = known_names(machine.table, case.snapshot, case.request, case.by, case.links)
                faults = [[no for guard in way.guards if (no := fault(machine.table, guard, known))] for way in ways]
                if isinstance(decision, Refused) and decision.failed:
                    least = min(map(len, faults))
                    assert list(decision.failed) == next(found for found in faults if len(found) == least)
                    assert decision.rule == decision.failed[0].rule
                    several += max(map(len, faults)) > least
                elif isinstance(decision, Accepted) and decision.transition:
                    assert decision.transition == str(ways[[bool(found) for found in faults].index(False)])
    assert several > 20


def test_a_refused_birth_leaves_nothing(box: Signalbox) -> None:
    box.kernel.fire(box.frame, Frame.close())
    refused(box.lever("late"), "frame-open")
    assert box.kernel.get(Lever.ref("late")) is None
    assert box.kernel.dependents(box.frame, Lever) == ()


def test_a_start_without_id_makes_one() -> None:
    kernel = Kernel(MemoryStore(), ids=iter(["one", "two"]).__next__)
    assert [kernel.start(Bell).ref for _ in range(2)] == [Bell.ref("one"), Bell.ref("two")]


def test_a_second_start_is_refused(box: Signalbox) -> None:
    refused(box.kernel.start(Frame, id="f", box="west"), "frame-opened-once")
    lever, other = box.lever(), box.kernel.start(Frame, id="other", box="east")
    refused(box.lever(frame=other), "lever-placed-once")
    assert box.kernel.get(lever) == accepted(lever).after


def test_what_is_settled_changes_nothing(box: Signalbox) -> None:
    closed = accepted(box.kernel.fire(box.frame, Frame.close()))
    rows = len(box.store.journal)
    again = accepted(box.kernel.fire(box.frame, Frame.close()))
    assert (again.before, again.after, again.transition, again.effects) == (closed.after, closed.after, "", ())
    assert len(box.store.journal) == rows


def test_a_missing_link_is_refused_unless_it_is_optional(box: Signalbox) -> None:
    no = refused(box.lever(frame=Frame.ref("nowhere")), "link-present")
    assert no.failed[0].saw == {"frame": None}
    refused(box.kernel.start(Lever, id="l", number="l", ways=[]), "link-present")
    assert box.kernel.fire(box.lever(), Lever.pull(**PULL)).accepted
    assert box.kernel.fire(box.lever("m"), Lever.pull(**PULL, bell=Bell.ref("nowhere"))).accepted


def test_a_link_may_name_what_is_born_later(box: Signalbox) -> None:
    staff = box.staff(line=Frame.ref("later"))
    assert staff.accepted
    refused(box.kernel.fire(staff, Staff.take(hand="amy")), "link-present")
    box.kernel.start(Frame, id="later", box="east")
    assert box.kernel.fire(staff, Staff.take(hand="amy")).accepted


def test_a_link_of_one_event_is_not_kept(box: Signalbox) -> None:
    lever = box.lever()
    pulled = accepted(box.kernel.fire(lever, Lever.pull(**PULL, bell=box.bell())))
    assert set(pulled.after.links) == {"frame"}
    assert box.store.journal[-1].links == {"bell": Bell.ref("b")}


@pytest.mark.parametrize(
    ("event", "rule"), [("wear", "staff-sound"), ("drop", "staff-hung-by-nobody"), ("snatch", "staff-changes-no-hand")]
)
def test_what_would_break_an_invariant_is_refused_under_its_rule(box: Signalbox, event: str, rule: str) -> None:
    staff = box.staff()
    if event != "wear":
        box.kernel.fire(staff, Staff.take(hand="amy"))
    before = box.kernel.get(staff)
    request = {"wear": Staff.wear, "drop": Staff.drop, "snatch": Staff.snatch}[event]
    refused(box.kernel.fire(staff, request(hand="ben") if event == "snatch" else request()), rule)
    assert box.kernel.get(staff) == before


def test_what_would_leave_its_range_is_refused(box: Signalbox) -> None:
    staff = box.staff()
    for _ in range(3):
        assert box.kernel.fire(staff, Staff.take(hand="amy")).accepted
        assert box.kernel.fire(staff, Staff.give(hand="amy")).accepted
    no = refused(box.kernel.fire(staff, Staff.take(hand="amy")), "within-range")
    assert "trips would be 4" in no.message


FRAME = Seen(Frame.table.states["open"], FrameData("west"), {"pulled": 0})


@pytest.mark.parametrize(
    ("links", "hand", "rule"),
    [
        ({"line": UNKNOWN}, "amy", "staff-on-open-line"),
        ({"line": FRAME}, UNKNOWN, "link-present"),
        ({}, "amy", "link-present"),
    ],
)
def test_what_is_unknown_is_refused(links: dict[str, Any], hand: Any, rule: str) -> None:
    hung = Snapshot(Staff.ref("s"), Staff.table.states["hung"], 1, StaffData())
    assert step(Staff.table, hung, Staff.take(hand="amy"), None, {"line": FRAME}).accepted
    refused(step(Staff.table, hung, Staff.take(hand=hand), None, links), rule)


def test_a_guard_refuses_what_is_unknown_to_it() -> None:
    out = Snapshot(Staff.ref("s"), Staff.table.states["out"], 1, StaffData("amy"))
    refused(step(Staff.table, out, Staff.give(hand=UNKNOWN), None, {"line": FRAME}), "staff-by-its-hand")


def test_a_state_that_the_machine_does_not_have_is_refused(box: Signalbox) -> None:
    lever = accepted(box.lever())
    strange = State()
    strange._set_id("lifted")
    box.store.snapshots[lever.ref] = attrs.evolve(lever.after, state=strange)
    no = refused(box.kernel.fire(lever, Lever.pull(**PULL)), "unknown-state")
    assert "lifted" in no.message


# --- tallies and dependents -------------------------------------------------------------------------------------------


def test_a_tally_counts_the_dependents_in_the_named_states(box: Signalbox) -> None:
    levers = [box.lever(name) for name in "abc"]
    for lever in levers[:2]:
        box.kernel.fire(lever, Lever.pull(**PULL))
    assert tally(box) == 2
    box.kernel.fire(levers[0], Lever.arrived(by_itself=True))
    assert tally(box) == 2
    refused(box.kernel.fire(box.frame, Frame.close()), "frame-closes-clear")
    box.kernel.fire(levers[0], Lever.put_back())
    box.kernel.fire(levers[1], Lever.stuck())
    assert tally(box) == 0
    assert box.kernel.fire(box.frame, Frame.close()).accepted


def tally(box: Signalbox) -> int:
    frame = box.kernel.get(box.frame)
    assert frame is not None
    return frame.tallies["pulled"]


def test_dependents_are_those_that_link_for_life_in_order_of_birth(box: Signalbox) -> None:
    levers = [box.lever(name) for name in "cab"]
    box.staff()
    other = box.kernel.start(Frame, id="other", box="east")
    box.lever("d", frame=other)
    assert box.kernel.dependents(box.frame, Lever) == tuple(lever.ref for lever in levers)
    assert box.kernel.dependents(box.bell(), Lever) == ()


def test_enabled_lists_what_the_state_could_take(box: Signalbox) -> None:
    assert box.kernel.enabled(Lever.ref("unborn")) == ("start",)
    assert box.kernel.enabled(box.lever()) == ("pull", "scrap")
    box.kernel.fire(box.frame, Frame.close())
    assert box.kernel.enabled(box.frame) == ("close",)


def test_a_step_that_would_make_a_debt_unpayable_is_refused(box: Signalbox) -> None:
    staff = box.staff()
    box.kernel.fire(staff, Staff.take(hand="amy"))
    rows = len(box.store.journal)
    refused(box.kernel.fire(box.frame, Frame.close()), "staff-hung-before-shut")
    assert len(box.store.journal) == rows
    box.kernel.fire(staff, Staff.give(hand="amy"))
    assert box.kernel.fire(box.frame, Frame.close()).accepted


def test_a_debt_that_reads_what_is_missing_is_asked_at_its_birth(box: Signalbox) -> None:
    """Until then it cannot be said to be too late; the step that would make it so is refused, whichever comes last."""
    watch = box.kernel.start(Watch, id="w", box=Box.ref("x"), bell=Bell.ref("late"))
    assert box.kernel.start(Box, id="x").accepted
    assert box.kernel.fire(Box.ref("x"), Box.air()).accepted
    assert box.kernel.fire(Box.ref("x"), Box.close()).accepted  # without a bell no watch is over
    bell = box.kernel.start(Bell, id="late")
    refused(box.kernel.fire(bell, Bell.strike()), "watch-ended-in-time")
    assert box.kernel.fire(watch, Watch.sign_off()).accepted
    assert box.kernel.fire(bell, Bell.strike()).accepted


def test_an_effect_that_must_be_shown_a_missing_link_refuses_its_step(box: Signalbox) -> None:
    watch = box.kernel.start(Watch, id="w", box=Box.ref("x"), bell=Bell.ref("late"))
    no = refused(box.kernel.fire(watch, Watch.sign_off()), "link-present")
    assert "report needs bell, which is not known" in no.message
    box.kernel.start(Bell, id="late")
    assert accepted(box.kernel.fire(watch, Watch.sign_off())).effects[0].payload == ["silent", None]


# --- several at once --------------------------------------------------------------------------------------------------


def test_fire_all_takes_all_each_seeing_the_one_before(box: Signalbox) -> None:
    lever = box.lever()
    done = box.kernel.fire_all(
        [
            (lever, Lever.pull(**PULL)),
            (lever, Lever.arrived(by_itself=True)),
            (lever, Lever.scrap()),
            (box.frame, Frame.close()),
        ]
    )
    assert [decision.accepted for decision in done] == [True] * 4
    assert accepted(done[1]).before == accepted(done[0]).after
    assert tally(box) == 0


def test_fire_all_takes_none_when_one_is_refused(box: Signalbox) -> None:
    lever = box.lever()
    before, rows = box.kernel.get(lever), len(box.store.journal)
    done = box.kernel.fire_all(
        [(lever, Lever.pull(**PULL)), (box.frame, Frame.close()), (box.frame, Frame.tick())],
        event_ids=["e1", "e2", "e3"],
    )
    assert [(decision.ref.id, refused(decision).rule) for decision in done] == [
        ("l", "all-or-none"),
        ("f", "frame-closes-clear"),
        ("f", "all-or-none"),
    ]
    assert (box.kernel.get(lever), len(box.store.journal), tally(box)) == (before, rows, 0)
    assert box.kernel.fire(box.frame, Frame.tick(), event_id="e1").accepted


def test_fire_all_of_nothing_does_nothing(box: Signalbox) -> None:
    assert box.kernel.fire_all([]) == ()


def test_an_exception_within_a_step_leaves_nothing(box: Signalbox) -> None:
    lever = box.lever()
    before, rows = box.kernel.get(lever), len(box.store.journal)
    with pytest.raises(BadInput):
        box.kernel.fire_all([(lever, Lever.pull(**PULL)), (lever, Frame.tick())])
    assert (box.kernel.get(lever), len(box.store.journal)) == (before, rows)


# --- event ids --------------------------------------------------------------------------------------------------------


def test_a_repeated_event_id_returns_the_first_decision_and_changes_nothing(box: Signalbox) -> None:
    first = accepted(box.kernel.fire(box.frame, Frame.tick(), event_id="e"))
    box.kernel.fire(box.frame, Frame.tick())
    assert box.kernel.fire(box.frame, Frame.tick(), event_id="e") == first
    frame = box.kernel.get(box.frame)
    assert frame is not None
    assert frame.data.epoch == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda box: (box.lever("m"), Lever.pull(**PULL)),
        lambda box: (Lever.ref("l"), Lever.scrap()),
        lambda box: (Lever.ref("l"), Lever.pull(**{**PULL, "force": 41})),
        lambda box: (Lever.ref("l"), Lever.pull(**{**PULL, "note": "hard"})),
    ],
    ids=["another instance", "another event", "another payload", "another text"],
)
def test_an_event_id_is_bound_to_instance_event_and_payload(
    box: Signalbox, other: Callable[[Signalbox], tuple[Any, Request]]
) -> None:
    box.kernel.fire(box.lever(), Lever.pull(**PULL), event_id="e")
    refused(box.kernel.fire(*other(box), event_id="e"), "event-id-bound")


def test_a_refusal_is_not_remembered_under_its_event_id(box: Signalbox) -> None:
    lever = box.lever()
    refused(box.kernel.fire(lever, Lever.arrived(by_itself=True), event_id="e"), "lever-moves-in-order")
    box.kernel.fire(lever, Lever.pull(**PULL))
    assert box.kernel.fire(lever, Lever.arrived(by_itself=True), event_id="e").accepted


def test_an_event_id_repeats_within_one_transaction_too(box: Signalbox) -> None:
    first, second = box.kernel.fire_all([(box.frame, Frame.tick())] * 2, event_ids=["e", "e"])
    assert second == first
    assert box.kernel.get(box.frame) == accepted(first).after


def test_refusals_are_audited_within_a_bound() -> None:
    kernel = Kernel(store := MemoryStore(audit=3))
    bell = kernel.start(Bell, id="b")
    for _ in range(5):
        kernel.fire(bell, Bell.start())
    assert [(event, no.rule) for event, no in store.audit] == [("start", "bell-hung-once")] * 3
    assert len(store.journal) == 1


# --- observing and adopting -------------------------------------------------------------------------------------------


def test_observing_blocks_nothing_and_says_what_would_be_refused() -> None:
    kernel = Kernel(store := MemoryStore(), mode={Lever: "observe", Frame: "enforce"})
    frame = kernel.start(Frame, id="f", box="west")
    lever = kernel.start(Lever, id="l", frame=frame, number="l", ways=[])
    assert accepted(lever).would_refuse is None
    rows = len(store.journal)
    free = accepted(kernel.fire(lever, Lever.put_back(), event_id="e"))
    assert free.would_refuse is not None
    assert free.would_refuse.rule == "lever-moves-in-order"
    assert (free.before, free.after, len(store.journal)) == (free.after, accepted(lever).after, rows)
    refused(kernel.start(Frame, id="f", box="west"), "frame-opened-once")


def test_observing_blocks_no_event_id_and_no_unknown_value_either() -> None:
    kernel = Kernel(store := MemoryStore(), mode={Frame: "observe", Lever: "observe"})
    frame = kernel.start(Frame, id="f", box="west")
    lever = kernel.start(Lever, id="l", frame=frame, number="l", ways=[])
    kernel.fire(lever, Lever.pull(**PULL), event_id="e")
    rows = len(store.journal)
    bound = accepted(kernel.fire(frame, Frame.close(), event_id="e"))
    unknown = accepted(kernel.fire(lever, Lever.arrived(by_itself=UNKNOWN)))
    rules = [decision.would_refuse.rule for decision in (bound, unknown) if decision.would_refuse]
    assert rules == ["event-id-bound", "payload-known"]
    assert (bound.before, unknown.before, len(store.journal)) == (bound.after, unknown.after, rows)


def test_adopting_takes_a_live_instance_once_and_says_so(box: Signalbox) -> None:
    data = LeverData("l", frozenset({"left"}), "amy", 40, Way.LEFT)
    state = Lever.table.states["pulled"]
    taken = accepted(box.kernel.adopt(Lever.ref("l"), state, data, why="pulled before", links={"frame": box.frame}))
    assert taken.after == box.kernel.get(Lever.ref("l"))
    assert (taken.after.state, taken.after.data, taken.after.version) == (state, data, 1)
    assert (box.store.journal[-1].adopted, tally(box)) == ("pulled before", 1)
    assert box.kernel.dependents(box.frame, Lever) == (Lever.ref("l"),)
    refused(box.kernel.adopt(Lever.ref("l"), state, data, why="again"), "adopt-once")
    assert box.kernel.fire(taken, Lever.arrived(by_itself=False)).accepted


@pytest.mark.parametrize(
    ("state", "data"), [(Bell.table.states["rung"], LeverData("l", frozenset())), (Lever.table.states["normal"], None)]
)
def test_adopting_takes_only_a_state_and_data_of_the_machine(box: Signalbox, state: State, data: Any) -> None:
    with pytest.raises(BadInput, match="lever l cannot be adopted"):
        box.kernel.adopt(Lever.ref("l"), state, data, why="so")


# --- effects ----------------------------------------------------------------------------------------------------------


def test_effects_are_delivered_after_the_commit_in_order_and_once(box: Signalbox) -> None:
    seen: list[tuple[str, Any, str]] = []

    @box.kernel.handler(move)
    def moving(effect: Effect) -> dict[str, Any]:
        state = box.kernel.get(effect.ref)
        assert state is not None
        seen.append((effect.name, effect.payload["note"], state.state.id))
        return {"by_itself": False}

    @box.kernel.handler(ring)
    def ringing(effect: Effect) -> None:
        state = box.kernel.get(effect.ref)
        assert state is not None
        seen.append((effect.name, effect.payload, state.state.id))

    lever = box.lever()
    pulled = accepted(box.kernel.fire(lever, Lever.pull(**PULL)))
    assert [effect.id for effect in pulled.effects] == ["lever l/2.0", "lever l/2.1"]
    assert seen == [("move", "gently", "pulled"), ("ring", "l", "thrown")]
    assert box.kernel.deliver() == 0


@pytest.mark.parametrize(
    ("outcome", "state"),
    [({"by_itself": True}, "thrown"), (OSError("no"), "broken"), (TimeoutError(), "pulled"), (None, "pulled")],
    ids=["done", "failed", "unknown", "said nothing"],
)
def test_a_handler_answers_done_failed_or_unknown(box: Signalbox, outcome: Any, state: str) -> None:
    @box.kernel.handler(move)
    def moving(effect: Effect) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    lever = box.lever()
    assert accepted(box.kernel.fire(lever, Lever.pull(**PULL))).after.state.id == "pulled"
    found = box.kernel.get(lever)
    assert found is not None
    assert found.state.id == state
    assert not [pending for pending in box.store.outbox if pending.effect.name == "move"]


def test_an_effect_waits_in_order_until_it_has_a_handler(box: Signalbox) -> None:
    rung: list[str] = []
    box.kernel.handler(ring)(lambda effect: rung.append(effect.id))
    lever = box.lever()
    box.kernel.fire(lever, Lever.pull(**PULL))
    assert (rung, box.kernel.deliver()) == ([], 0)
    box.kernel.handler(move)(lambda effect: {"by_itself": True})
    assert box.kernel.deliver() == 2
    assert rung == ["lever l/2.1"]


def test_an_effect_of_one_instance_does_not_wait_for_another(box: Signalbox) -> None:
    rung: list[str] = []
    box.kernel.handler(ring)(lambda effect: rung.append(effect.payload))
    box.kernel.fire(box.lever("held"), Lever.pull(**PULL))
    thrown = LeverData("free", frozenset())
    box.kernel.adopt(Lever.ref("free"), Lever.table.states["thrown"], thrown, why="so", links={"frame": box.frame})
    box.kernel.fire(Lever.ref("free"), Lever.put_back())
    assert rung == ["free"]


def test_a_handler_may_fire_itself(box: Signalbox) -> None:
    decided: list[Decision] = []

    @box.kernel.handler(move)
    def moving(effect: Effect) -> dict[str, Any]:
        decided.append(box.kernel.fire(effect.ref, Lever.arrived(by_itself=False)))
        decided.append(box.kernel.fire(box.frame, Frame.tick()))
        return {"by_itself": True}

    lever = box.lever()
    box.kernel.fire(lever, Lever.pull(**PULL))
    assert [decision.accepted for decision in decided] == [True, True]
    found = box.kernel.get(lever)
    assert found is not None
    assert (found.state.id, found.version) == ("thrown", 3)
    assert [event for event, _ in box.store.audit] == ["arrived"]


def test_an_interrupt_stays_one_when_its_effect_cannot_be_given_back(
    box: Signalbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    @box.kernel.handler(move)
    def moving(effect: Effect) -> None:
        raise KeyboardInterrupt

    def full(*given: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(box.store, "release", full)
    with pytest.raises(KeyboardInterrupt) as caught:
        box.kernel.fire(box.lever(), Lever.pull(**PULL))
    assert caught.value.__notes__ == ["lever l/2.0 could not be given back (the disk is full): it waits for a restart"]


def test_an_answer_takes_the_links_of_its_request(box: Signalbox) -> None:
    """A pull under a bell is answered by `arrived`, which knows no bell; what it knows is passed on."""
    box.kernel.handler(move)(lambda effect: {"by_itself": True})
    pulled = box.kernel.fire(box.lever(), Lever.pull(**PULL, bell=box.bell()))
    found = box.kernel.get(pulled)
    assert found is not None
    assert found.state.id == "thrown"


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_waiting_ends_with_the_state_or_with_the_deadline(box: Signalbox) -> None:
    lever = box.lever()
    pulled, thrown = Lever.table.states["pulled"], Lever.table.states["thrown"]
    late = box.kernel.wait(lever, until=thrown, deadline=0)
    assert (late.timed_out, late.snapshot) == (True, box.kernel.get(lever))
    puller = threading.Timer(0.02, lambda: box.kernel.fire(lever, Lever.pull(**PULL)))
    puller.start()
    found = box.kernel.wait(lever, until=[pulled, thrown], deadline=5)
    puller.join()
    assert not found.timed_out
    assert found.snapshot is not None
    assert found.snapshot.state == pulled
    assert box.kernel.wait(Lever.ref("unborn"), until=pulled, deadline=0).snapshot is None


# --- races ------------------------------------------------------------------------------------------------------------


def test_of_many_that_race_one_wins_and_each_learns_its_own_outcome(box: Signalbox) -> None:
    lever = box.lever()
    decided: dict[str, Decision] = {}
    start = threading.Barrier(8)

    def pull(name: str) -> None:
        start.wait()
        decided[name] = box.kernel.fire(lever, Lever.pull(**PULL), by=name)

    threads = [threading.Thread(target=pull, args=(f"t{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [name for name, decision in decided.items() if decision.accepted]
    found = box.kernel.get(lever)
    assert found is not None
    assert (found.data.hand, found.version) == (winner, 2)
    assert {decision.rule for decision in decided.values() if isinstance(decision, Refused)} == {"lever-moves-in-order"}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=40))
@settings(max_examples=60)
def test_the_journal_alone_says_where_every_instance_is(moves: list[tuple[str, int]]) -> None:
    box = Signalbox()
    requests: list[Callable[[], Request]] = [
        lambda: Lever.pull(**PULL),
        lambda: Lever.arrived(by_itself=True),
        Lever.put_back,
        Lever.stuck,
        Lever.lost,
        Lever.scrap,
    ]
    for name in "abc":
        box.lever(name)
    for name, number in moves:
        before = box.kernel.get(Lever.ref(name))
        decision = box.kernel.fire(Lever.ref(name), requests[number](), by="amy")
        if isinstance(decision, Accepted) and decision.transition:
            assert decision.before == before
        else:
            assert box.kernel.get(Lever.ref(name)) == before
    last = {entry.decision.after.ref: entry.decision.after for entry in box.store.journal}
    assert {ref: box.kernel.get(ref) for ref in last} == last
    standing = [after for after in last.values() if after.state.id in ("pulled", "thrown")]
    assert tally(box) == len(standing)


# --- bad input --------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[Callable[[Signalbox], object], str]] = {
    "an event of another machine": (
        lambda box: box.kernel.fire(box.frame, Bell.strike()),
        "bell.strike cannot be fired at frame f: it is no event of frame",
    ),
    "what is no address": (
        lambda box: box.kernel.fire("f", Frame.tick()),
        "addressed by a Ref, a Snapshot or a Decision",
    ),
    "a machine that the kernel has not met": (
        lambda box: box.kernel.get(Ref("signal", "x")),
        "this kernel has met no machine signal, and not just one is imported: name it in mode=",
    ),
    "a link to another machine": (
        lambda box: box.lever(frame=Bell.ref("b")),
        "link frame takes a frame; got bell b",
    ),
    "a link for life that moves": (
        lambda box: (box.lever(), box.kernel.fire(Lever.ref("l"), Lever.pull(**PULL, frame=Frame.ref("other")))),
        "link frame of lever l is for life and points to frame f",
    ),
    "a link for life that comes later": (
        lambda box: (
            box.kernel.adopt(Staff.ref("s"), Staff.table.states["hung"], StaffData(), why="so"),
            box.kernel.fire(Staff.ref("s"), Staff.take(hand="amy", line=box.frame)),
        ),
        "link line of staff s is for life and points to nowhere",
    ),
    "a link that is no address": (
        lambda box: box.lever(frame="f"),
        "a link takes a Ref, a Snapshot or a Decision; got 'f'",
    ),
    "two machines of one name": (
        lambda box: box.kernel.start(Frame.variant("other", why="so"), box="west"),
        "two machines are called frame: one kernel runs one definition of each",
    ),
    "a missing field": (lambda box: Lever.pull(way="left"), "lever.pull lacks its field force"),
    "an unknown field": (
        lambda box: Lever.pull(**PULL, strength=1),
        "lever.pull has no field strength; its fields are force, way, note",
    ),
    "a payload where there is none": (lambda box: Frame.tick(loud=True), "frame.tick has no payload; got loud"),
    "an int out of its range": (
        lambda box: Lever.pull(force=101, way="left"),
        "lever.pull.force is 101; expected an integer from 0 to 100",
    ),
    "a bool for an int": (
        lambda box: Lever.pull(force=True, way="left"),
        "lever.pull.force is True; expected an integer from 0 to 100",
    ),
    "an unknown word": (
        lambda box: Lever.pull(force=1, way="up"),
        "lever.pull.way is 'up'; expected straight or left",
    ),
    "a number for a bool": (
        lambda box: Lever.arrived(by_itself=1),
        "lever.arrived.by_itself is 1; expected true or false",
    ),
    "null for an id": (lambda box: Staff.take(hand=None), "staff.take.hand is None; expected a string"),
    "a list for an id": (lambda box: Staff.take(hand=["amy"]), "staff.take.hand is ['amy']; expected a string"),
    "a string for a list of ids": (
        lambda box: Lever.start(number="l", ways="left"),
        "lever.start.ways is 'left'; expected a list of strings",
    ),
    "a list of lists for ids": (
        lambda box: Lever.start(number="l", ways=[["left"]]),
        "lever.start.ways is [['left']]; expected a list of strings",
    ),
    "a bool among ids": (
        lambda box: Lever.start(number="l", ways=["left", True]),
        "lever.start.ways is ['left', True]; expected a list of strings",
    ),
    "a very long value": (lambda box: Staff.take(hand=["x" * 100]), "..."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line(box: Signalbox, case: str) -> None:
    act, text = BAD[case]
    with pytest.raises(BadInput) as caught:
        act(box)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_machine_says_its_events_for_what_it_is_asked() -> None:
    assert isinstance(Lever.pull, Event)
    assert (str(Lever.pull), repr(Lever.pull), str(Lever.ref("l"))) == ("lever.pull", "<event lever.pull>", "lever l")
    assert Lever.pull(**PULL).fields() == {"force": 40, "way": Way.LEFT, "note": "gently"}
    assert Frame.tick().fields() == {}
    assert issubclass(Lever, Machine)
