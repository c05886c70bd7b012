"""The SQLite store across processes, crashes and schedules: one winner, nothing lost, nobody held up."""

import itertools
import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from ..adapters.stores.points import under_schedule
from ..adapters.stores.sqlite import SQLiteStore
from ..machines.kernel import Kernel, Ref, Refused
from .generate.schedule import Schedule, Watch, every
from .lever import Frame, Lever

PULL = Lever.pull(force=3, way="left")
PROCESSES: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")


def world(path: Path, levers: int = 1) -> Kernel:
    """A frame with levers, kept in a file."""
    kernel = Kernel(SQLiteStore(path, synchronous="NORMAL"))
    kernel.start(Frame, id="f", box="b")
    for number in range(levers):
        kernel.start(Lever, id=f"l{number}", frame=Frame.ref("f"), number=number, ways=frozenset())
    return kernel


def at(kernel: Kernel, ref: Ref) -> tuple[str, int]:
    snapshot = kernel.store.read({"lever": Lever, "frame": Frame}[ref.machine].table, ref)
    assert snapshot is not None
    return str(snapshot.state.id), snapshot.version


def query(path: Path, sql: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def process(run: Callable[..., Any], *given: Any) -> Any:
    started = PROCESSES.Process(target=run, args=given)
    started.start()
    return started


def until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not met():
        assert time.monotonic() < end
        time.sleep(0.005)


# Processes


def pull_all(path: Path, name: str, levers: int) -> None:
    kernel = Kernel(SQLiteStore(path, synchronous="NORMAL"))
    until((path.parent / "go").exists)
    rules = []
    for number in range(levers):
        decision = kernel.fire(Lever.ref(f"l{number}"), PULL, by=name)
        rules.append(decision.rule if isinstance(decision, Refused) else "won")
    (path.parent / name).write_text("\n".join(rules))


def test_of_processes_that_race_one_wins_each_and_every_loser_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    kernel = world(path, 40)
    racers = [process(pull_all, path, name, 40) for name in "abcd"]
    (tmp_path / "go").touch()
    for racer in racers:
        racer.join()
    told = [(tmp_path / name).read_text().splitlines() for name in "abcd"]
    for number, rules in enumerate(zip(*told, strict=True)):
        assert sorted(rules) == ["lever-moves-in-order"] * 3 + ["won"]
        found = kernel.get(Lever.ref(f"l{number}"))
        assert found is not None and found.version == 2 and found.data.hand == "abcd"[rules.index("won")]
    assert query(path, "SELECT count(*) FROM journal WHERE event = 'pull'") == [(40,)]


def open_once(path: Path, name: str) -> None:
    until((path.parent / "go").exists)
    kernel = Kernel(SQLiteStore(path))
    kernel.start(Frame, id=name, box="b")


def test_processes_may_make_one_file_at_once(tmp_path: Path) -> None:
    for round in range(3):
        folder = tmp_path / str(round)
        folder.mkdir()
        makers = [process(open_once, folder / "store.db", name) for name in "abcdef"]
        (folder / "go").touch()
        for maker in makers:
            maker.join()
            assert maker.exitcode == 0
        assert query(folder / "store.db", "SELECT id FROM instance ORDER BY id") == [(name,) for name in "abcdef"]


def fire_later(path: Path) -> None:
    time.sleep(0.1)
    Kernel(SQLiteStore(path)).fire(Lever.ref("l0"), PULL, by="another process")


def test_a_wait_sees_what_another_process_commits(tmp_path: Path) -> None:
    kernel = world(tmp_path / "store.db")
    other = process(fire_later, tmp_path / "store.db")
    assert not kernel.wait(Lever.ref("l0"), until=Lever.pulled, deadline=10).timed_out
    other.join()


def tick(kernel: Kernel, count: int) -> None:
    for _ in range(count):
        assert kernel.fire(Frame.ref("f"), Frame.tick()).accepted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_uses_connections_of_its_own(tmp_path: Path) -> None:
    kernel = world(tmp_path / "store.db")
    forks = [process(tick, kernel, 50) for _ in range(3)]
    tick(kernel, 50)
    for fork in forks:
        fork.join()
        assert fork.exitcode == 0
    assert at(kernel, Frame.ref("f")) == ("open", 201)
    assert query(tmp_path / "store.db", "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(("synchronous", "begun"), [("NORMAL", 1), ("FULL", 2)])
def test_a_refusal_is_kept_by_its_own_transaction_unless_that_waits_for_the_disk(
    tmp_path: Path, synchronous: Literal["NORMAL", "FULL"], begun: int
) -> None:
    kernel = Kernel(SQLiteStore(tmp_path / "store.db", synchronous=synchronous))
    passed: list[str] = []
    with under_schedule(lambda label, blocked: passed.append(label)):
        assert not kernel.fire(Frame.ref("f"), Frame.tick()).accepted
    assert passed.count("begin") == begun
    assert query(tmp_path / "store.db", "SELECT event, rule FROM audit") == [("tick", "frame-opened-first")]


# Crashes


def claim_and_hang(path: Path) -> None:
    assert SQLiteStore(path).take("first", ["move"]) is not None
    (path.parent / "claimed").touch()
    time.sleep(60)


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    kernel = world(path)
    kernel.fire(Lever.ref("l0"), PULL, by="me")
    first = process(claim_and_hang, path)
    until((tmp_path / "claimed").exists)
    assert kernel.store.take("second", ["move", "ring"]) is None
    os.kill(first.pid, signal.SIGKILL)
    first.join()
    pending = kernel.store.take("second", ["move", "ring"])
    assert pending is not None and pending.effect.id == "lever l0/2.0"
    kernel.store.settle(pending, "first", "done")  # whoever comes back from the dead has no say
    assert query(path, "SELECT answered FROM outbox WHERE number = 0") == [(None,)]
    kernel.store.settle(pending, "second", "done")
    assert query(path, "SELECT answered FROM outbox WHERE number = 0") == [("done",)]
    kernel.store.close()  # type: ignore[attr-defined]
    assert [file.name for file in tmp_path.iterdir() if "taker" in file.name] == []


def test_a_closed_store_lets_go_of_what_it_claimed(tmp_path: Path) -> None:
    kernel = world(tmp_path / "store.db")
    kernel.fire(Lever.ref("l0"), PULL, by="me")
    first = SQLiteStore(tmp_path / "store.db")
    assert first.take("t", ["move"]) is not None
    assert kernel.store.take("t", ["move"]) is None
    first.close()
    assert kernel.store.take("t", ["move"]) is not None


def die_at(path: Path, point: int) -> None:
    passed = 0

    def hook(label: str, blocked: bool) -> None:
        nonlocal passed
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1
        (path.parent / "passed").write_text(label)

    kernel = Kernel(SQLiteStore(path, synchronous="NORMAL"))
    with under_schedule(hook):
        decision = kernel.fire(Lever.ref("l0"), PULL, by="me", event_id="e1")
    (path.parent / "told").write_text(str(decision.accepted))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_crash_at_any_point_leaves_all_of_a_step_or_nothing(tmp_path: Path) -> None:
    seen = set()
    for point in range(100):
        folder = tmp_path / str(point)
        folder.mkdir()
        path = folder / "store.db"
        world(path).store.close()  # type: ignore[attr-defined]
        victim = process(die_at, path, point)
        victim.join()
        kernel = Kernel(SQLiteStore(path, synchronous="NORMAL"))
        effects = query(path, "SELECT count(*) FROM outbox")
        pulls = query(path, "SELECT count(*) FROM journal WHERE event = 'pull'")
        tallies = query(path, "SELECT total(n) FROM tally")
        assert kernel.dependents(Frame.ref("f"), Lever) == (Lever.ref("l0"),)
        snapshot = kernel.store.read(Lever.table, Lever.ref("l0"))
        assert snapshot is not None
        state, count = str(snapshot.state.id), snapshot.version - 1
        assert (state, effects, pulls, tallies) == (["normal", "pulled"][count], [(2 * count,)], [(count,)], [(count,)])
        seen.add(state)
        if (folder / "told").exists():
            assert state == "pulled" and victim.exitcode == 0
            break
        # and the one who was not told asks again
        assert kernel.fire(Lever.ref("l0"), PULL, by="me", event_id="e1").accepted
        assert query(path, "SELECT count(*) FROM journal WHERE event = 'pull'") == [(1,)]
    else:
        pytest.fail("it never came to an end")
    assert seen == {"normal", "pulled"} and point > 5


# Schedules


class Crash(BaseException):
    """The death of a process, as far as its connection can tell."""


def crashing(point: int) -> Watch:
    """Passes the points of `pull` on until the one at which it dies; those of `close` all."""

    @contextmanager
    def watch(hook: Callable[[str, bool], None]) -> Iterator[None]:
        left = itertools.count(point if threading.current_thread().name == "pull" else 1_000, -1)

        def passed(label: str, blocked: bool) -> None:
            hook(label, blocked)
            if next(left) == 0:
                raise Crash

        with under_schedule(passed):
            yield

    return watch


def pulled_against_closed(path: Path, schedule: Schedule) -> None:
    """Pulling a lever and closing its frame exclude each other, whoever goes first and whoever dies."""
    kernel, lever, frame = world(path), Lever.ref("l0"), Frame.ref("f")

    def pull() -> Any:
        with suppress(Crash):
            return kernel.fire(lever, PULL, by="me")

    out = schedule.run({"pull": pull, "close": partial(kernel.fire, frame, Frame.close())})
    events = [event for (event,) in query(path, "SELECT event FROM journal WHERE event <> 'start'")]
    states = {"pull": (("pulled", 2), ("open", 1)), "close": (("normal", 1), ("shut", 2))}
    assert len(events) == 1 and (at(kernel, lever), at(kernel, frame)) == states[events[0]], str(schedule)
    for name, decision in out.items():
        assert decision is None or decision.accepted == (events == [name]), str(schedule)


def test_every_schedule_of_two_connections_has_one_winner(tmp_path: Path) -> None:
    runs = []
    for number, choose in enumerate(every(2)):
        schedule = Schedule(choose, under_schedule)
        pulled_against_closed(tmp_path / f"{number}.db", schedule)
        runs.append(str(schedule))
    assert len(set(runs)) == len(runs) > 20
    assert any("close:busy" in run for run in runs) and any("pull:busy" in run for run in runs)


@pytest.mark.parametrize("point", range(9))
def test_whoever_dies_holds_nobody_up(tmp_path: Path, point: int) -> None:
    for number, choose in enumerate(every(1)):
        pulled_against_closed(tmp_path / f"{number}.db", Schedule(choose, crashing(point)))
