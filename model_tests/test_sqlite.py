"""The SQLite store across processes, crashes and schedules, and what it says when its file cannot be used."""

import multiprocessing
import os
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from ..adapters.stores.errors import StoreError
from ..adapters.stores.points import under_schedule
from ..adapters.stores.sqlite import SQLiteStore
from ..machines.kernel import BadInput, Kernel
from .lever import Bell, Frame, Lever

PULL = Lever.pull(force=3, way="left")
PROCESSES = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")


def world(path: Path, levers: int = 1) -> Kernel:
    """A frame with levers, kept in a file."""
    kernel = Kernel(SQLiteStore(path, synchronous="NORMAL"))
    kernel.start(Frame, id="f", box="b")
    for number in range(levers):
        kernel.start(Lever, id=f"l{number}", frame=Frame.ref("f"), number=number, ways=frozenset())
    return kernel


def at(kernel: Kernel, ref: Any) -> tuple[str, int]:
    snapshot = kernel.get(ref)
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
        rules.append("won" if decision.accepted else decision.rule)
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
    """The death of a task's process, as far as its connection can tell."""


class Baton:
    """Runs tasks in threads, one at a time, each until its next point; a choice says who goes on."""

    def __init__(self, choose: Callable[[int], int], crash: Callable[[], bool] = lambda: False) -> None:
        self.choose = choose
        self.crash = crash
        self.trace: list[str] = []
        self.control = threading.Semaphore(0)

    def run(self, **tasks: Callable[[], Any]) -> dict[str, Any]:
        gates = {name: threading.Semaphore(0) for name in tasks}
        self.where, self.blocked = dict.fromkeys(tasks, "start"), dict.fromkeys(tasks, False)
        self.dying: set[str] = set()
        results: dict[str, Any] = {}

        def body(name: str) -> None:
            gates[name].acquire()

            def hook(label: str, blocked: bool) -> None:
                self.where[name], self.blocked[name] = label, blocked
                self.control.release()
                gates[name].acquire()
                if name in self.dying:
                    raise Crash

            try:
                with under_schedule(hook):
                    results[name] = tasks[name]()
            except Crash:
                results[name] = None
            except Exception as error:
                results[name] = error
            self.control.release()

        threads = [threading.Thread(target=body, args=[name], daemon=True) for name in tasks]
        for thread in threads:
            thread.start()
        while len(results) < len(tasks):
            self._next(gates, [name for name in tasks if name not in results and not self.blocked[name]])
        for thread in threads:
            thread.join()
        return results

    def _next(self, gates: dict[str, threading.Semaphore], ready: list[str]) -> None:
        assert ready, f"deadlock: {self.where}"
        name = ready[self.choose(len(ready)) if len(ready) > 1 else 0]
        if self.where[name] != "start" and self.crash():
            self.dying.add(name)
        self.trace.append(f"{'†' if name in self.dying else ''}{name}@{self.where[name]}")
        gates[name].release()
        assert self.control.acquire(timeout=10), f"{name} sleeps past its point"
        if not self.blocked[name]:
            self.blocked = dict.fromkeys(self.blocked, False)


def pulled_against_closed(folder: Path, baton: Baton) -> list[str]:
    """Closing the frame and pulling its lever exclude each other; returns the trace."""
    path = folder / f"{len(list(folder.iterdir()))}.db"
    kernel = world(path)
    out = baton.run(
        pull=partial(kernel.fire, Lever.ref("l0"), PULL, by="me"), close=partial(kernel.fire, Frame.ref("f"), Frame.close())
    )
    note(" -> ".join(baton.trace))
    note(str(out))
    states = at(kernel, Lever.ref("l0")), at(kernel, Frame.ref("f"))
    events = [event for (event,) in query(path, "SELECT event FROM journal WHERE event <> 'start'")]
    possible = {"pull": (("pulled", 2), ("open", 1)), "close": (("normal", 1), ("shut", 2)), "": (("normal", 1), ("open", 1))}
    assert len(events) <= 1 and states == possible["".join(events)]
    for name, decision in out.items():
        assert decision is None or decision.accepted == (events == [name]), name
    return baton.trace


@given(data=st.data())
@settings(max_examples=60)
def test_every_schedule_of_two_connections_has_one_winner(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("schedules")
    choose = lambda count: data.draw(st.integers(0, count - 1), label="next")  # noqa: E731
    crash = lambda: data.draw(st.sampled_from([False] * 7 + [True]), label="crash?")  # noqa: E731
    pulled_against_closed(folder, Baton(choose, crash))


def test_a_schedule_can_run_one_connection_into_another(tmp_path: Path) -> None:
    turns = iter([0, 0, 0, 1, 1])
    trace = pulled_against_closed(tmp_path, Baton(lambda count: next(turns, 0)))
    assert trace[:5] == ["pull@start", "pull@begin", "pull@read", "close@start", "close@begin"]
    assert "close@busy" in trace and trace.index("pull@commit") < trace.index("close@busy")


# Errors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_a_path_in_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no/store.db cannot be opened: does its folder exist"):
        SQLiteStore(tmp_path / "no" / "store.db")
    with pytest.raises(StoreError, match="cannot be opened"):
        SQLiteStore(tmp_path)


@pytest.mark.parametrize("content", [b"no database, but a text that is long enough", b"x" * 5000])
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match="store.db is no SQLite database: give another path$"):
        SQLiteStore(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("sql", ["CREATE TABLE a (b)", "CREATE TABLE meta (a, b)", "CREATE TABLE meta (key, value)"])
def test_the_database_of_another_program_is_left_alone(path: Path, sql: str) -> None:
    query(path, sql)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="store.db is the database of another program: give another path$"):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_tables_of_another_version(path: Path) -> None:
    world(path).store.close()  # type: ignore[attr-defined]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '2' WHERE key = 'leverframe'")
    connection.commit()
    with pytest.raises(StoreError, match="has tables of version 2, not 1: take the program that wrote it$"):
        SQLiteStore(path)


def test_a_file_that_is_locked_for_too_long(path: Path) -> None:
    world(path)
    kernel = Kernel(SQLiteStore(path, busy_timeout=0.05))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    with pytest.raises(StoreError, match="store.db is locked by another writer for longer than busy_timeout"):
        kernel.fire(Lever.ref("l0"), PULL, by="me")
    assert time.monotonic() - began < 2
    assert at(kernel, Lever.ref("l0")) == ("normal", 1)  # reading needs no lock
    other.execute("COMMIT")
    assert kernel.fire(Lever.ref("l0"), PULL, by="me").accepted


def use_read_only(path: Path) -> None:
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        kernel = Kernel(SQLiteStore(path))
        kernel.fire(Lever.ref("l0"), PULL, by="me")
    except StoreError as error:
        os._exit(7 if "store.db is read-only: give this process the right" in str(error) else 8)
    os._exit(9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_file_that_is_read_only() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "store.db")
        world(path).store.close()  # type: ignore[attr-defined]
        path.chmod(0o444)
        path.parent.chmod(0o555)
        try:
            user = process(use_read_only, path)
            user.join()
        finally:
            path.parent.chmod(0o755)
        assert user.exitcode == 7


def test_a_full_disk_loses_nothing(path: Path) -> None:
    kernel = world(path)
    connection = kernel.store.connections.mine()  # type: ignore[attr-defined]
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages + 2}")
    versions = [1]
    with pytest.raises(StoreError, match="store.db has no room left on its disk: free some and fire again$"):
        for _ in range(1000):
            decision = kernel.fire(Frame.ref("f"), Frame.tick())
            assert decision.accepted
            versions.append(decision.after.version)
    assert len(versions) > 2 and at(kernel, Frame.ref("f")) == ("open", versions[-1])
    with pytest.raises(StoreError):
        kernel.fire(Frame.ref("f"), Frame.tick())
    connection.execute("PRAGMA max_page_count=1000000")
    tick(kernel, 1)
    assert query(path, "SELECT count(*), max(version) FROM journal WHERE id = 'f'") == [(versions[-1] + 1,) * 2]


def test_a_damaged_file(path: Path) -> None:
    world(path, 50).store.close()  # type: ignore[attr-defined]
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreError, match="store.db is damaged: stop what writes it, keep a copy"):
        kernel = Kernel(SQLiteStore(path), mode={Lever: "enforce"})
        kernel.get(Lever.ref("l0"))


def test_a_row_that_cannot_be_read(path: Path) -> None:
    kernel = world(path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER lever_step")
    connection.execute("UPDATE instance SET data = '{}' WHERE id = 'l0'")
    connection.commit()
    with pytest.raises(StoreError, match="store.db has an unreadable row of lever: lever lacks its field number$"):
        kernel.fire(Lever.ref("l0"), PULL, by="me")


def test_a_state_that_the_machine_does_not_have_is_refused(path: Path) -> None:
    kernel = world(path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER lever_step")
    connection.execute("UPDATE instance SET state = 'bent' WHERE id = 'l0'")
    connection.commit()
    decision = kernel.fire(Lever.ref("l0"), PULL, by="me")
    assert not decision.accepted and decision.rule == "unknown-state"


def test_a_file_that_was_moved_away_does_not_come_back_empty(path: Path) -> None:
    kernel = world(path)
    for file in path.parent.iterdir():
        file.unlink()
    errors: list[Exception] = []

    def fire() -> None:
        try:
            kernel.fire(Lever.ref("l0"), PULL, by="me")
        except StoreError as error:
            errors.append(error)

    thread = threading.Thread(target=fire)
    thread.start()
    thread.join()
    assert "store.db cannot be opened" in str(errors[0]) and not path.exists()


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_store_without_a_file(path: str) -> None:
    with pytest.raises(BadInput, match="a store needs a file's path, not '.*': for one in memory take MemoryStore$"):
        SQLiteStore(path)


def test_a_setting_that_is_none(path: Path) -> None:
    wrong: Any = "OFF"
    with pytest.raises(BadInput, match="^synchronous is FULL or NORMAL, not 'OFF'$"):
        SQLiteStore(path, synchronous=wrong)
    assert not path.exists()


@pytest.mark.parametrize("by", [("a", "b"), True, 1.5])
def test_a_principal_that_would_come_back_as_another(path: Path, by: Any) -> None:
    kernel = world(path)
    with pytest.raises(BadInput, match="tick of frame f is fired by .*: a principal is named by a text or an integer$"):
        kernel.fire(Frame.ref("f"), Frame.tick(), by=by)
    tick(kernel, 1)


def test_half_a_surrogate_pair_is_no_id(path: Path) -> None:
    kernel = world(path)
    for call in (partial(kernel.start, Bell, id="\ud800"), partial(kernel.get, Lever.ref("\ud800"))):
        with pytest.raises(BadInput, match="store.db cannot hold .*: half a surrogate pair is no text$"):
            call()
    tick(kernel, 1)


# Settings


@pytest.mark.parametrize("name", ["store.db", "a b?c#d%e.db", "é'\".db"])
def test_any_name_is_a_path(tmp_path: Path, name: str) -> None:
    kernel = world(tmp_path / name)
    assert (tmp_path / name).exists() and at(kernel, Frame.ref("f")) == ("open", 1)
    kernel.store.close()  # type: ignore[attr-defined]
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kernel = Kernel(SQLiteStore("store.db"))
    kernel.start(Frame, id="f", box="b")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    thread = threading.Thread(target=tick, args=[kernel, 3])
    thread.start()
    thread.join()
    assert at(kernel, Frame.ref("f")) == ("open", 4)


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
def test_a_commit_waits_for_the_disk_as_it_was_told(path: Path, synchronous: Any, level: int) -> None:
    kernel = Kernel(SQLiteStore(path, synchronous=synchronous))
    kernel.start(Frame, id="f", box="b")
    kernel.start(Frame, id="f", box="b")  # refused: the audit does not wait, and what comes after does again
    connection = kernel.store.connections.mine()  # type: ignore[attr-defined]
    assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_time_in_the_journal_is_that_of_the_given_clock(path: Path) -> None:
    times: Iterator[float] = iter([5.0, 4.0])  # a clock may even go back
    kernel = Kernel(SQLiteStore(path, clock=partial(next, times)))
    kernel.start(Frame, id="f", box="b")
    tick(kernel, 1)
    assert query(path, "SELECT ts FROM journal ORDER BY seq") == [(5.0,), (4.0,)]
