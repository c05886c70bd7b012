"""What the SQLite store says when its file cannot be used, and what its settings do."""

import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ..adapters.stores.errors import StoreError
from ..adapters.stores.sqlite import SQLiteStore
from ..machines.kernel import Accepted, BadInput, Kernel, Refused
from .lever import Bell, Frame, Lever
from .test_sqlite import PULL, at, process, query, tick, world


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
            assert isinstance(decision, Accepted)
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
    assert isinstance(decision, Refused) and decision.rule == "unknown-state"


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
    store, half = kernel.store, Bell.ref("\ud800")
    for call in (partial(store.read, Bell.table, half), partial(store.dependents, half, Lever.table)):
        with pytest.raises(BadInput, match="store.db cannot hold .*: half a surrogate pair is no text$"):
            call()
    tick(kernel, 1)


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
