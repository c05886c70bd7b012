"""Whether a trace is a behaviour of the machines, on traces that fit on a page."""

from itertools import permutations
from typing import Any

import pytest

from ..machines.checking import Begin, Debt, Record, Report, Torn, Violation, judge
from .traces import COMPLETE, SLICE, TINY
from .traces import report as reported

Line = dict[str, Any]


def report(*lines: Line, header: Any = COMPLETE) -> Report:
    return reported(lines, header, TINY)


def frame(event: str | None, id: str = "f", **more: Any) -> Line:
    return line("frame", id, event, **({"payload": {"box": "west"}} if event == "start" else {}), **more)


def lever(event: str | None, id: str = "l", **more: Any) -> Line:
    given: Line = {}
    if event == "start":
        given = {"payload": {"number": id, "ways": []}, "links": {"frame": "f"}}
    if event == "pull":
        given = {"payload": {"force": 9, "way": "left"}, "by": "amy", "links": {"bell": None}}
    if event == "arrived":
        given = {"payload": {"by_itself": True}}
    return line("lever", id, event, **{**given, **more})


def staff(event: str | None, hand: str | None = None, **more: Any) -> Line:
    given: Line = {"payload": {"hand": hand}} if hand else {}
    if event == "start":
        given = {"links": {"line": "f"}}
    return line("staff", "s", event, **{**given, **more})


def line(machine: str, id: str, event: str | None, **more: Any) -> Line:
    return {"machine": machine, "id": id, **({"event": event} if event else {}), **more}


def calls(row: Line, call: str, **back: Any) -> tuple[Line, Line]:
    """An event as a call: its two ends."""
    end = {"machine": row["machine"], "id": row["id"], "event": row["event"]}
    return {**row, "phase": "invoke", "call": call}, {**end, "phase": "return", "call": call, **back}


def broken(found: Report) -> list[tuple[str, int]]:
    assert (found.verdict == "violation") == bool(found.violations)
    return [(violation.rule, violation.line) for violation in found.violations]


def the_one(found: Report) -> Violation:
    assert found.verdict == "violation", found
    (violation,) = found.violations
    return violation


BEGIN = (frame("start"), lever("start"))
"""Lines 2 and 3."""


# --- events -----------------------------------------------------------------------------------------------------------


def test_a_lawful_trace_is_ok() -> None:
    found = report(*BEGIN, lever("pull"), lever("arrived"), lever("put_back"), frame("close"))
    assert (found.verdict, found.events, found.instances, found.trace) == ("ok", 6, 2, "t")
    assert (found.open, found.not_checked, found.note) == ((), (), "")


def test_an_event_that_the_state_refuses_is_a_violation_under_the_rule_of_the_refusal() -> None:
    found = the_one(report(*BEGIN, lever("pull"), lever("put_back"), lever("arrived")))
    assert (found.rule, found.line, found.machine, found.id) == ("lever-moves-in-order", 5, "lever", "l")
    assert (found.state, found.event, found.because_line) == ("pulled", "put_back", 4)
    assert found.expected == ("arrived", "stuck", "lost")
    assert found.failed == ()
    assert "lever l is pulled" in found.message


def test_a_false_guard_is_named_with_what_it_saw_and_the_line_that_made_it_so() -> None:
    found = the_one(report(*BEGIN, frame("tick"), frame("close"), lever("pull")))
    assert (found.rule, found.line, found.because_line) == ("frame-open", 6, 5)
    assert found.failed == (("frame_open", "frame=shut (box=west, epoch=1) pulled=0"),)


def test_what_is_settled_changes_nothing() -> None:
    found = report(*BEGIN, lever("scrap"), lever("scrap", state="broken"), lever("scrap"))
    assert found.verdict == "ok"


def test_invariants_ranges_and_monitors_are_judged() -> None:
    begin = (frame("start"), staff("start"))
    assert broken(report(*begin, staff("wear"))) == [("staff-sound", 4)]
    assert broken(report(*begin, staff("take", "amy"), staff("drop"))) == [("staff-hung-by-nobody", 5)]
    assert broken(report(*begin, staff("take", "amy"), staff("snatch", "ben"))) == [("staff-changes-no-hand", 5)]
    trips = [staff(event, "amy") for event in ("take", "give") * 3]
    assert broken(report(*begin, *trips, staff("take", "amy"))) == [("within-range", 10)]
    assert broken(report(*begin, staff("look"), staff("take", "amy"), staff("look"))) == [("staff-seen-once", 6)]


def test_a_poisoned_instance_is_reported_once_and_the_others_are_judged_on() -> None:
    found = report(*BEGIN, lever("arrived"), lever("arrived"), lever("start", "m"), lever("put_back", "m"))
    assert broken(found) == [("lever-moves-in-order", 4), ("lever-moves-in-order", 7)]
    assert [violation.id for violation in found.violations] == ["l", "m"]


def test_a_poisoned_instance_may_count_or_not() -> None:
    """Nobody knows whether the lever stands pulled: the frame may close, and it may be refused."""
    bad = (*BEGIN, lever("arrived"))
    for outcome in ("accepted", "refused"):
        found = report(*bad, frame("close", outcome=outcome))
        assert broken(found) == [("lever-moves-in-order", 4)]
    assert "frame-closes-clear" in report(*bad, frame("close")).not_checked


# --- outcomes, observations and event ids -----------------------------------------------------------------------------


def test_a_refusal_that_the_machine_would_give_is_lawful_and_changes_nothing() -> None:
    found = report(*BEGIN, lever("arrived", outcome="refused", state="normal"), lever("pull", outcome="accepted"))
    assert found.verdict == "ok"


def test_a_refusal_without_cause_is_a_violation() -> None:
    found = the_one(report(*BEGIN, lever("pull", outcome="refused")))
    assert (found.rule, found.line) == ("refused-without-cause", 4)
    assert "lever l would have taken it" in found.message


def test_a_refusal_may_come_from_the_debt_of_another_instance() -> None:
    out = (frame("start"), staff("start"), staff("take", "amy"))
    assert report(*out, frame("close", outcome="refused")).verdict == "incomplete"
    hung = (*out, staff("give", "amy"))
    assert broken(report(*hung, frame("close", outcome="refused"))) == [("refused-without-cause", 6)]


def test_an_observation_that_agrees_changes_nothing() -> None:
    seen = lever(None, state="normal", data={"number": "l", "hand": None})
    assert report(*BEGIN, seen, lever("pull", state="pulled", data={"hand": "amy", "force": 9})).verdict == "ok"
    assert report(*BEGIN, seen).events == 2


@pytest.mark.parametrize(
    ("seen", "said"),
    [({"state": "pulled"}, "pulled"), ({"data": {"force": 1}}, "force=1"), ({"data": {"ways": ["x"]}}, "x")],
)
def test_an_observation_that_contradicts_is_a_violation_of_what_the_state_means(seen: Line, said: str) -> None:
    found = the_one(report(*BEGIN, lever("scrap"), lever(None, **seen)))
    assert (found.rule, found.line, found.state) == ("lever-scrapped-once", 5, "broken")
    assert said in found.message
    stated = the_one(report(*BEGIN, lever("scrap", **seen)))
    assert (stated.rule, stated.line) == ("lever-scrapped-once", 4)


def test_an_observation_narrows_what_is_open() -> None:
    hidden = (*BEGIN, calls(lever("pull"), "c")[0])
    assert report(*hidden, lever("arrived")).verdict == "ok"
    assert report(*hidden, lever(None, state="pulled"), lever("arrived")).verdict == "ok"
    found = the_one(report(*hidden, lever(None, state="thrown")))
    assert (found.rule, found.line, found.state) == ("state-contradicted", 5, "normal|pulled")


def test_a_repeated_event_id_changes_nothing() -> None:
    tick = frame("tick", event_id="e")
    assert report(*BEGIN, tick, tick, frame(None, data={"epoch": 1})).verdict == "ok"
    pull = lever("pull", event_id="e")
    assert report(*BEGIN, pull, lever("arrived"), pull, lever("put_back")).verdict == "ok"


def test_an_event_id_under_another_event_is_a_violation() -> None:
    first = lever("pull", event_id="e")
    assert broken(report(*BEGIN, first, lever("arrived", event_id="e"))) == [("event-id-bound", 5)]
    other = lever("pull", event_id="e", payload={"force": 8, "way": "left"})
    assert broken(report(*BEGIN, first, other)) == [("event-id-bound", 5)]


def test_a_repeat_may_show_less_or_in_another_order() -> None:
    first = lever("pull", event_id="e")
    for payload in ({"way": "left", "force": 9}, {"way": "left"}, {}):
        assert report(*BEGIN, first, {**first, "payload": payload}).verdict == "ok"
    bare = {name: value for name, value in first.items() if name != "payload"}
    assert report(*BEGIN, first, bare).verdict == "ok"


def test_an_event_id_that_another_instance_has_is_a_violation() -> None:
    first = lever("pull", event_id="e")
    assert broken(report(*BEGIN, first, frame("tick", event_id="e"))) == [("event-id-bound", 5)]


def test_an_event_id_that_is_bound_elsewhere_may_be_refused() -> None:
    for first in (lever("pull", event_id="e"), frame("tick", event_id="e")):
        late = lever("start", "m", event_id="e", outcome="refused")
        assert report(*BEGIN, first, late).verdict == "ok"
    assert broken(report(*BEGIN, lever("start", "m", event_id="e", outcome="refused"))) == [
        ("refused-without-cause", 4)
    ]


# --- calls ------------------------------------------------------------------------------------------------------------


def test_an_invoke_that_never_returns_may_have_happened_or_not() -> None:
    hidden, _ = calls(lever("pull"), "c")
    assert report(*BEGIN, hidden, lever("arrived")).verdict == "ok"
    assert report(*BEGIN, hidden, lever("scrap")).verdict == "ok"
    assert report(*BEGIN, hidden).verdict == "ok"
    assert broken(report(*BEGIN, lever("arrived"))) == [("lever-moves-in-order", 4)]
    assert broken(report(*BEGIN, hidden, lever("put_back"))) == [("lever-moves-in-order", 5)]


def test_an_invoke_happens_once_at_most() -> None:
    hidden, _ = calls(lever("pull"), "c")
    twice = (*BEGIN, hidden, lever("arrived"), lever("put_back"), lever("arrived"))
    assert broken(report(*twice)) == [("lever-moves-in-order", 7)]


def test_a_call_happens_somewhere_between_its_ends() -> None:
    begin, end = calls(frame("close"), "c")
    inside = (
        *BEGIN,
        begin,
        lever("start", "m"),
        lever("pull", "m"),
        lever("arrived", "m"),
        lever("put_back", "m"),
        end,
    )
    assert report(*inside).verdict == "ok"
    assert broken(report(*inside, lever("pull", "m"))) == [("frame-open", 10)]


def test_a_call_cannot_happen_before_it_is_invoked_or_after_it_returned() -> None:
    begin, end = calls(lever("pull"), "c")
    assert broken(report(*BEGIN, lever("arrived"), begin, end)) == [("lever-moves-in-order", 4)]
    assert broken(report(*BEGIN, begin, end, lever("scrap"))) == [("lever-moves-in-order", 6)]


def test_a_call_that_could_not_have_happened_is_a_violation_where_it_returns() -> None:
    begin, end = calls(lever("arrived"), "c")
    found = the_one(report(*BEGIN, begin, frame("tick"), end))
    assert (found.rule, found.line, found.state) == ("lever-moves-in-order", 6, "normal")


def test_a_call_that_was_refused_needs_a_time_at_which_it_would_have_been() -> None:
    begin, end = calls(lever("pull"), "c", outcome="refused")
    assert report(*BEGIN, begin, lever("scrap"), end).verdict == "ok"
    assert report(*BEGIN, begin, frame("close"), end).verdict == "ok"
    assert broken(report(*BEGIN, begin, frame("tick"), end)) == [("refused-without-cause", 6)]


def test_calls_that_overlap_may_happen_in_any_order() -> None:
    pull, pulled = calls(lever("pull"), "a")
    arrive, arrived = calls(lever("arrived"), "b")
    for lines in ((pull, arrive, arrived, pulled), (arrive, pull, pulled, arrived), (arrive, pull, arrived, pulled)):
        assert report(*BEGIN, *lines, lever("put_back")).verdict == "ok"
    assert broken(report(*BEGIN, arrive, arrived, pull, pulled)) == [("lever-moves-in-order", 5)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_calls_of_two_instances_may_each_wait_for_the_other(order: tuple[int, ...]) -> None:
    """A soft close lets the owed call stop, which lets the close go on: all three are under way at once."""
    begin = (
        line("session", "s", "start", payload={"principal": "amy"}),
        line("session", "s", "claim", payload={"expected": 0}),
        line("generation", "g", "start", payload={"number": 1}, links={"session": "s"}),
        line("generation", "g", "tools_admitted"),
        line("toolcall", "t", "start", links={"session": "s", "generation": "g", "cycle": None}),
    )
    close, stop = calls(line("session", "s", "soft_close"), "a"), calls(line("toolcall", "t", "stop"), "b")
    settle = calls(line("session", "s", "debt_settled"), "c")
    opened = [(close, stop, settle)[place][0] for place in order]
    assert reported([*begin, *opened, settle[1]]).verdict == "incomplete"
    without = [row for row in opened if row["machine"] != "toolcall"]
    assert broken(reported([*begin, *without, settle[1]])) == [("close-waits-for-debt", 9)]


def test_a_link_to_itself_shows_an_instance_as_it_is_by_then() -> None:
    pane = {"generation": 1, "session": "s", "pane": "p"}
    again = {"committed": 1, "session": "s", "pane": "q", "pane_free": False, "owner_dead": False, "handed_over": False}
    start = {"committed": 0, "session": "s", "pane": "p", "pane_free": True}
    begin = (line("actor", "a", "start", payload=start, links={"displaced": None}),)
    closed, _ = calls(line("actor", "a", "closed_seen", payload=pane), "c")
    rebind = calls(line("actor", "a", "rebind", payload=again, links={"displaced": "a"}), "d")
    assert reported([*begin, closed, *rebind]).verdict == "ok"
    assert broken(reported([*begin, *rebind])) == [("pane-binds-document", 4)]


def test_equal_overlapping_calls_are_counted_not_multiplied() -> None:
    ends = [calls(frame("tick"), f"c{number}") for number in range(100)]
    opened, closed = [begin for begin, _ in ends], [end for _, end in ends]
    assert report(frame("start"), *opened, *closed, frame(None, data={"epoch": 100})).verdict == "ok"
    late = report(frame("start"), *opened, *closed, frame(None, data={"epoch": 101}))
    assert broken(late) == [("state-contradicted", 203)]
    some = report(frame("start"), *opened, *closed[:40], frame(None, data={"epoch": 39}))
    assert broken(some) == [("state-contradicted", 143)]


def test_too_many_overlapping_calls_are_undecided_and_say_where() -> None:
    ends = [calls(frame("tick", by=f"p{number}"), f"c{number}")[0] for number in range(14)]
    found = report(frame("start"), *ends, frame("tick"), lever("start"), lever("arrived"))
    assert found.verdict == "violation", "another instance is judged on"
    found = report(frame("start"), *ends, frame("tick"), lever("start"))
    assert found.verdict == "undecided"
    assert "frame f" in found.note
    assert "overlapping" in found.note
    assert "frame-closes-clear" in found.not_checked


def test_a_hidden_call_counts_for_its_owner_perhaps() -> None:
    hidden, _ = calls(lever("pull"), "c")
    for outcome in ("accepted", "refused"):
        assert report(*BEGIN, hidden, frame("close", outcome=outcome)).verdict == "ok"
    assert broken(report(*BEGIN, frame("close", outcome="refused"))) == [("refused-without-cause", 4)]
    pulled = (*BEGIN, hidden, lever(None, state="pulled"), frame("close"))
    assert broken(report(*pulled)) == [("frame-closes-clear", 6)]


# --- what the trace does not show -------------------------------------------------------------------------------------


def test_an_event_of_an_unborn_instance_is_a_slice_or_a_violation_of_a_complete_trace() -> None:
    found = report(lever("put_back"), header=SLICE)
    assert found.verdict == "ok"
    assert "lever-placed-first" in found.not_checked
    assert broken(report(lever("put_back"))) == [("lever-placed-first", 2)]


def test_a_slice_is_judged_from_its_first_event_on() -> None:
    assert broken(report(lever("put_back"), lever("arrived"), header=SLICE)) == [("lever-moves-in-order", 3)]
    assert report(lever("arrived"), lever("put_back"), header=SLICE).verdict == "ok"
    assert report(lever("arrived"), header=None).verdict == "ok"


def test_a_slice_may_begin_with_a_refused_start() -> None:
    assert report(lever("start", outcome="refused"), lever("arrived"), header=SLICE).verdict == "ok"


def test_any_number_may_count_for_an_instance_whose_birth_is_not_shown() -> None:
    for outcome in ("accepted", "refused"):
        assert report(frame("close", outcome=outcome), header=SLICE).verdict == "ok"
        assert report(frame(None, state="open"), frame("close", outcome=outcome), header=SLICE).verdict == "ok"
    born = (frame("start"), lever("start"), lever("pull"))
    assert broken(report(*born, frame("close"), header=SLICE)) == [("frame-closes-clear", 5)]


def test_a_link_to_an_unborn_instance_is_a_violation_where_a_guard_reads_it() -> None:
    assert broken(report(lever("start"))) == [("link-present", 2)]
    assert report(lever("start"), header=SLICE).verdict == "ok"
    ahead = (staff("start"), frame("start"), staff("take", "amy"), staff("give", "amy"))
    assert report(*ahead).verdict == "ok"
    assert broken(report(staff("start"), staff("take", "amy"))) == [("link-present", 3)]


def test_a_link_that_is_not_shown_may_point_anywhere() -> None:
    unlinked = lever("start", links={})
    found = report(frame("start"), frame("close"), unlinked, lever("pull"))
    assert found.verdict == "ok"
    assert {"frame-open", "link-present"} <= set(found.not_checked)
    for outcome in ("accepted", "refused"):
        counted = (frame("start"), unlinked, lever("pull"), frame("close", outcome=outcome))
        assert report(*counted).verdict == "ok"


def test_what_counts_somewhere_counts_in_every_owner_from_then_on() -> None:
    before = (frame("start"), frame("close"))
    after = (frame("start", "g"), lever("start", links={}), lever("pull"), frame("close", "g"))
    assert "frame-closes-clear" in report(*before, *after).not_checked
    assert "frame-closes-clear" not in report(*before, frame("start", "g"), frame("close", "g")).not_checked


def test_what_was_accepted_narrows_what_a_linked_instance_can_have_been() -> None:
    """The bell of an accepted pull was rung, or was not there: it is not struck now."""
    bell = line("bell", "b", "strike")
    pull = lever("pull", links={"bell": "b"})
    assert report(*BEGIN, bell, header=SLICE).verdict == "ok"
    assert broken(report(*BEGIN, pull, bell, header=SLICE)) == [("bell-hung-first", 5)]


def test_a_monitor_knows_nothing_of_a_slice() -> None:
    seen = staff(None, state="hung", data={"hand": None, "trips": 0, "worn": False})
    found = report(seen, staff("look"), staff("look"), header=SLICE)
    assert (found.verdict, "staff-seen-once" in found.not_checked) == ("ok", True)


def test_a_value_that_is_not_shown_may_be_none_where_it_can_be() -> None:
    """Without a session there is no witness, so that both counters of this lease are null."""
    lines = (
        line("admission", "a", "start"),
        line("lease", "l", "start", links={"session": None, "admission": "a"}),
        line("lease", "l", "grant"),
        line("lease", "l", "release"),
    )
    assert reported(lines).verdict == "ok"


def test_a_link_for_life_does_not_move() -> None:
    found = report(*BEGIN, frame("start", "g"), lever("pull", links={"frame": "g"}))
    assert (found.verdict, found.note) == (
        "unreadable",
        "line 5: link frame of lever l is for life and points to frame f",
    )


def test_a_field_that_is_not_shown_may_have_any_value() -> None:
    begin = (frame("start"), staff("start"))
    found = report(*begin, staff("take", "amy"), staff("give"))
    assert (found.verdict, found.not_checked) == ("ok", ("staff-by-its-hand",))
    assert report(*begin, staff("take"), staff("give", "ben")).verdict == "ok"
    assert report(*begin, staff("take"), staff("give", "amy"), staff("take"), staff("give", "ben")).verdict == "ok"


def test_a_value_that_is_not_shown_stays_the_same_once_it_is_known() -> None:
    begin = (frame("start"), staff("start"), staff("take"))
    seen = staff(None, data={"hand": "amy"})
    assert report(*begin, seen, staff("give", "amy")).verdict == "ok"
    assert broken(report(*begin, seen, staff("give", "ben"))) == [("staff-by-its-hand", 6)]
    assert broken(report(*begin, staff("give", "amy"), staff(None, data={"hand": "amy"}))) == [("staff-on-its-hook", 6)]


def test_who_acted_may_be_unknown() -> None:
    pull = lever("pull", by=None)
    assert report(*BEGIN, pull, lever(None, data={"hand": "ben"}), lever(None, data={"hand": "ben"})).verdict == "ok"
    told = (*BEGIN, pull, lever(None, data={"hand": "ben"}), lever(None, data={"hand": "amy"}))
    assert broken(report(*told)) == [("state-contradicted", 6)]


def test_the_order_of_several_actors_is_undecided_unless_it_is_total() -> None:
    lines = [{**row, "actor": actor} for row, actor in zip((*BEGIN, lever("arrived")), "aab", strict=True)]
    assert report(*lines).verdict == "violation"
    found = report(*lines, header={**COMPLETE, "order": "actor"})
    assert (found.verdict, found.violations, found.not_checked) == ("undecided", (), ("lever-moves-in-order",))
    assert "order" in found.note
    alone = [{**row, "actor": "a"} for row in lines]
    assert broken(report(*alone, header={**COMPLETE, "order": "actor"})) == [("lever-moves-in-order", 4)]


# --- debts ------------------------------------------------------------------------------------------------------------


def test_what_is_owed_at_the_end_makes_a_trace_incomplete() -> None:
    found = report(frame("start"), staff("start"), staff("take", "amy"))
    assert (found.verdict, found.open) == ("incomplete", (Debt("staff", "s", "out", "staff-hung-before-shut", 4),))
    assert report(frame("start"), staff("start"), staff("take", "amy"), staff("give", "amy")).verdict == "ok"


def test_what_can_no_longer_be_paid_is_a_violation_at_the_line_that_made_it_so() -> None:
    found = the_one(report(frame("start"), staff("start"), staff("take", "amy"), frame("tick"), frame("close")))
    assert (found.rule, found.line, found.machine, found.id) == ("staff-hung-before-shut", 6, "staff", "s")
    assert (found.state, found.because_line) == ("out", 4)
    assert "give" in found.expected
    begin, end = calls(frame("close"), "c")
    out = (frame("start"), staff("start"), staff("take", "amy"))
    assert broken(report(*out, begin, frame("tick", outcome="refused"), end)) == [("staff-hung-before-shut", 7)]
    assert report(*out, begin, staff("give", "amy"), end).verdict == "ok"


def test_a_debt_whose_end_is_not_shown_is_not_checked() -> None:
    found = report(frame("start"), staff("start", links={}), staff("take", "amy"), frame("close"))
    assert found.verdict == "incomplete"
    assert "staff-hung-before-shut" in found.not_checked


# --- blame ------------------------------------------------------------------------------------------------------------


def test_the_nearest_candidate_is_blamed() -> None:
    """One that is hidden could be normal, where a guard is false, or pulled, where the state is: a guard is nearer."""
    hidden, _ = calls(lever("pull"), "c")
    found = the_one(report(*BEGIN, hidden, frame("close"), lever("pull")))
    assert (found.rule, [guard for guard, _ in found.failed]) == ("frame-open", ["frame_open"])
    assert (found.line, found.because_line) == (6, 5)


def test_every_false_guard_is_listed_in_written_order() -> None:
    bell = line("bell", "b", "start")
    found = the_one(report(*BEGIN, bell, frame("close"), lever("pull", links={"bell": "b"})))
    assert found.rule == "frame-open"
    assert [guard for guard, _ in found.failed] == ["frame_open", "announced"]


def test_a_tally_is_blamed_on_the_line_that_counted() -> None:
    found = the_one(report(*BEGIN, lever("pull"), frame("tick"), frame("close")))
    assert (found.rule, found.line, found.because_line) == ("frame-closes-clear", 6, 4)
    assert found.failed == (("clear", "pulled=1"),)


def test_what_the_trace_leaves_open_is_shown_as_such() -> None:
    found = the_one(
        report(frame("start"), staff("start"), staff("take"), staff(None, data={"hand": "a"}), staff("give", "b"))
    )
    assert found.failed == (("own_hand", "data=(hand=a, trips=1, worn=False), hand=b"),)
    dark = (line("session", "s", "start"), line("session", "s", "claim", payload={"expected": 7}))
    said = "data=(principal=?, epoch=0, last=0, draining=False), expected=7"
    assert the_one(reported(dark)).failed == (("as_expected", said),)


# --- streams ----------------------------------------------------------------------------------------------------------


def test_each_trace_of_a_stream_is_judged_by_itself() -> None:
    start = Record("bell", "b", "start", line=1)
    strike = Record("bell", "b", "strike", line=2)
    found = list(
        judge(TINY, [Begin("one", True), start, strike, Begin("two", True), strike, Begin("three", True), start])
    )
    assert [(one.trace, one.verdict) for one in found] == [("one", "ok"), ("two", "violation"), ("three", "ok")]


def test_one_id_in_two_machines_is_two_instances() -> None:
    found = report(frame("start", "x"), lever("start", "x", links={"frame": "x"}), lever("pull", "x"))
    assert (found.verdict, found.instances) == ("ok", 2)


def test_a_record_without_meaning_spoils_its_trace_alone() -> None:
    good, bad = Record("bell", "b", "start", line=1), Record("bell", "b", "sing", line=2)
    found = list(judge(TINY, [Begin("one"), good, bad, good, Begin("two"), good]))
    assert [one.verdict for one in found] == ["unreadable", "ok"]
    assert found[0].note == "line 2: bell has no event 'sing'; its events are start, strike"
    late = list(judge(TINY, [Begin("one", True), Record("bell", "b", "strike", line=1), bad]))
    assert [one.verdict for one in late] == ["violation"]


def test_a_torn_end_leaves_what_stands_before_it() -> None:
    def stream(event: str) -> Any:
        yield Begin("one", True)
        yield Record("bell", "b", event, line=1)
        raise Torn("line 2: cut off")

    assert [one.verdict for one in judge(TINY, stream("start"))] == ["incomplete"]
    assert [one.verdict for one in judge(TINY, stream("strike"))] == ["violation"]


@pytest.mark.parametrize(
    ("row", "note"),
    [
        (line("signal", "x", "start"), "unknown machine 'signal'; known: bell, frame, lever, staff"),
        (line("bell", "b", "sing"), "bell has no event 'sing'; its events are start, strike"),
        (line("bell", "b", "start", payload={"loud": True}), "bell.start has no payload; got loud"),
        (line("bell", "b", "start", payload=[1]), "the payload of bell.start is no object: [1]"),
        (line("bell", "b", "start", links={"frame": "f"}), "bell has no link 'frame'; its links are none"),
        (lever("start", links={"frame": "f", "bed": "b"}), "lever has no link 'bed'; its links are frame, bell"),
        (
            lever("pull", payload={"force": "9", "way": "left"}),
            "lever.pull.force is '9'; expected an integer from 0 to 100",
        ),
        (lever(None, state="up"), "lever has no state 'up'; its states are absent, normal, pulled, thrown, broken"),
        (
            lever(None, data={"colour": 1}),
            "lever has no data field 'colour'; its fields are number, ways, hand, force, way",
        ),
        (lever(None, data={"force": 900}), "lever.force is 900; expected an integer from 0 to 100"),
        (calls(lever("scrap"), "c")[1], "call 'c' of lever l returns and was never invoked"),
    ],
)
def test_a_record_without_meaning_is_told_in_one_line(row: Line, note: str) -> None:
    for header in (COMPLETE, SLICE):
        found = report(*BEGIN, row, header=header)
        assert (found.verdict, found.note) == ("unreadable", f"line 4: {note}")
    again = report(*BEGIN, lever("pull"), lever("arrived"), lever("put_back"), row, row)
    assert again.note == f"line 7: {note}"


def test_a_link_that_no_guard_reads_is_checked_however_often_the_event_was_seen() -> None:
    bells = [line("bell", f"b{number}", "start") for number in range(3)]
    found = report(*bells, line("bell", "b", "start", links={"frame": "f"}))
    assert found.note == "line 5: bell has no link 'frame'; its links are none"
