"""Schedules of real threads: one runs at a time, what ran can be read and run again, and all schedules can be tried."""

import threading
from collections.abc import Callable
from math import comb

import pytest

from ..adapters.stores.points import at, under_schedule
from .generate.schedule import Choose, Deadlock, Queue, Schedule, every


def passing(*labels: str) -> Callable[[], tuple[str, ...]]:
    """A task that passes a point for each label; `busy` blocks it."""

    def work() -> tuple[str, ...]:
        for label in labels:
            at(label, blocked=label == "busy")
        return labels

    return work


def ran(choose: Choose, **tasks: Callable[[], object]) -> str:
    schedule = Schedule(choose, under_schedule)
    schedule.run(tasks)
    return str(schedule)


def test_a_task_goes_on_until_another_is_chosen() -> None:
    assert ran(lambda ready, again: 0, a=passing("1", "2"), b=passing("1")) == "a:1 -> a:2 -> b:1"
    assert ran(lambda ready, again: 1 % len(ready), a=passing("1", "2"), b=passing("1")) == "b:1 -> a:1 -> a:2"


def test_who_pauses_lets_all_others_go_first() -> None:
    queue = Queue("abc")
    queue.pause("a", 1)
    assert ran(queue, a=passing("1", "2"), b=passing("1"), c=passing("1")) == "a:1 -> b:1 -> c:1 -> a:2"


def test_who_is_blocked_waits_until_another_made_a_step() -> None:
    told = ran(Queue("ab"), a=passing("1", "busy", "2"), b=passing("1"))
    assert told == "a:1 -> a:busy -> b:1 -> a:retry -> a:2"


def test_a_deadlock_is_an_error_that_says_how_it_came() -> None:
    with pytest.raises(Deadlock, match="a, b wait for one another after a:1 -> a:busy -> b:1 -> b:busy"):
        ran(Queue("ab"), a=passing("1", "busy"), b=passing("1", "busy"))


def test_what_a_task_raises_ends_the_run_and_all_threads() -> None:
    def broken() -> None:
        at("1")
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        ran(Queue("ab"), a=broken, b=passing("1", "2"))
    assert {thread.name for thread in threading.enumerate()}.isdisjoint("ab")


def test_a_run_returns_what_the_tasks_return() -> None:
    assert Schedule(Queue("ab"), under_schedule).run({"a": passing("1"), "b": passing()}) == {"a": ("1",), "b": ()}


def test_every_schedule_is_tried_once() -> None:
    tasks = {"a": passing("1", "2", "3"), "b": passing("1", "2", "3", "4")}
    told = [ran(choose, **tasks) for choose in every(preemptions=7)]
    assert len(told) == len(set(told)) == comb(7, 3)


def test_preemptions_are_bounded() -> None:
    tasks = {"a": passing("1", "2", "3"), "b": passing("1", "2", "3")}
    assert [len([ran(choose, **tasks) for choose in every(bound)]) for bound in range(3)] == [2, 6, 14]
