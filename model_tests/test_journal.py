"""The journal of a store reads as a native trace, and a hostile file ends in one line."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ..adapters.stores.sqlite import SQLiteStore
from ..adapters.traces.journal import read, read_journal
from ..machines.checking import Begin, Record, judge
from ..machines.kernel import BadInput, Kernel
from .lever import Bell, Frame, Lever, LeverData
from .staff import Staff


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with a birth, a step with everything, an adoption, and an event without anything."""
    store = SQLiteStore(tmp_path / "store.db", clock=lambda: 12.5)
    kernel = Kernel(store)
    frame = kernel.start(Frame, id="f", box="b")
    bell = kernel.start(Bell, id="b")
    kernel.fire(bell, Bell.strike())
    kernel.start(Lever, id="l", frame=frame, number=1, ways=frozenset(["y", "x"]))
    pull = Lever.pull(force=3, way="left", note="é\ud800", bell=bell)
    kernel.fire(Lever.ref("l"), pull, by="me", event_id="e1")
    data = LeverData(7, frozenset(), "me")
    kernel.adopt(Lever.ref("old"), Lever.thrown, data, why="found so", links={"frame": frame})
    store.close()
    return tmp_path / "store.db"


def test_a_journal_is_a_native_trace(path: Path) -> None:
    nothing: dict[str, Any] = dict(payload={}, links={}, by=None, event_id=None, ts=12.5)
    placed = dict(payload={"number": 1, "ways": ["x", "y"]}, links={"frame": "f"})
    pulled = dict(payload={"force": 3, "way": "left", "note": "é\ud800"}, links={"bell": "b"}, by="me", event_id="e1")
    data = {"number": 7, "ways": [], "hand": "me", "force": 0, "way": "straight"}
    assert list(read_journal(path)) == [
        (1, {"machine": "frame", "id": "f", "event": "start", "state": "open", **nothing, "payload": {"box": "b"}}),
        (2, {"machine": "bell", "id": "b", "event": "start", "state": "silent", **nothing}),
        (3, {"machine": "bell", "id": "b", "event": "strike", "state": "rung", **nothing}),
        (4, {"machine": "lever", "id": "l", "event": "start", "state": "normal", **nothing, **placed}),
        (5, {"machine": "lever", "id": "l", "event": "pull", "state": "pulled", **nothing, **pulled}),
        (
            6,
            {"machine": "lever", "id": "old", "state": "thrown", "data": data, "links": {"frame": "f"}}
            | {"adopted": "found so"},
        ),
    ]


def test_reading_leaves_no_trace_beside_the_file(path: Path) -> None:
    before = path.read_bytes()
    path.chmod(0o444)
    assert len(list(read_journal(path))) == 6
    assert path.read_bytes() == before and [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_a_journal_in_use_is_read_to_its_last_row(path: Path) -> None:
    """The last rows stand in the log beside the file as long as somebody has it open."""
    store = SQLiteStore(path)
    Kernel(store).fire(Lever.ref("l"), Lever.stuck())
    rows = read_journal(path)
    assert next(rows)[0] == 1
    Kernel(store).fire(Frame.ref("f"), Frame.tick())  # reading keeps nobody from writing
    assert [seq for seq, _ in rows] == [2, 3, 4, 5, 6, 7]
    assert len(list(read_journal(path))) == 8


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="^cannot be opened: No such file or directory$"):
        read_journal(tmp_path / "no.db")


@pytest.mark.parametrize("content", [b"", b"{}", b"SQLite format 2\0", b"\0" * 4096])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(BadInput, match="^is no SQLite database: give the file of a SQLiteStore$"):
        read_journal(tmp_path / "x.db")


def test_a_database_cut_off_after_its_header(tmp_path: Path, path: Path) -> None:
    (tmp_path / "x.db").write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadInput, match="cannot be read: "):
        list(read_journal(tmp_path / "x.db"))


ENDLESS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i FROM n)"
FOREIGN = [
    "CREATE TABLE other (a)",
    "CREATE TABLE meta (key, value); CREATE TABLE journal (seq)",
    f"CREATE TABLE meta (key, value); CREATE VIEW journal AS {ENDLESS} SELECT i AS seq FROM n",
    f"CREATE TABLE journal (seq); CREATE VIEW meta AS {ENDLESS} SELECT i AS key, i AS value FROM n",
]


@pytest.mark.parametrize("sql", FOREIGN)
def test_a_database_without_a_journal(tmp_path: Path, sql: str) -> None:
    """What looks like one may be a view that never ends."""
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.executescript(sql)
    connection.close()
    with pytest.raises(BadInput, match="^is a database without a journal: give the file of a SQLiteStore$"):
        read_journal(tmp_path / "x.db")


def test_a_journal_of_another_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '9' WHERE key = 'leverframe'")
    connection.commit()
    connection.close()
    with pytest.raises(BadInput, match="^is a journal of version '9', and this program knows 1: "):
        read_journal(path)


HOSTILE = [
    ("payload", "'[1]'", "its payload is no JSON object"),
    ("payload", "'{'", "its payload is no JSON: .*"),
    ("payload", "'{\"a\": NaN}'", "NaN is no JSON"),
    ("payload", '\'{"a": 1, "a": 2}\'', "a name comes twice in one JSON object"),
    ("payload", "x'00ff'", "its payload is no JSON text"),
    ("payload", "NULL", "its payload is no JSON text"),
    ("payload", f"'{'[' * 100_000}'", "nested too deeply to be a record"),
    ("payload", f"'{{\"a\": {'9' * 5_000}}}'", "Exceeds the limit .*"),
    ("links", '\'{"a": "b"}\'', "a link of it is not \\[machine, id\\]"),
    ("links", '\'{"a": ["b", 1]}\'', "a link of it is not \\[machine, id\\]"),
    ("by", "'{'", "its by is no JSON: .*"),
    ("machine", "x'07'", "its machine is no text"),
    ("state", "NULL", "its state is no text"),
]


@pytest.mark.parametrize(("column", "value", "text"), HOSTILE)
def test_a_row_that_cannot_be_read(tmp_path: Path, path: Path, column: str, value: str, text: str) -> None:
    """The rows before it are still given."""
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("ATTACH ? AS store", (str(path),))
    for table in ("meta", "journal"):
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM store.{table}")
    connection.execute(f'UPDATE journal SET "{column}" = {value} WHERE seq = 5')
    connection.commit()
    connection.close()
    rows = read_journal(tmp_path / "x.db")
    assert [next(rows)[0] for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(BadInput, match=f"^row 5: {text}$"):
        next(rows)


def test_a_text_that_is_no_utf_8_or_too_long(tmp_path: Path, path: Path) -> None:
    for value in ("CAST(x'ff' AS TEXT)", f"zeroblob({17 * 2**20})"):
        copy = tmp_path / "x.db"
        copy.unlink(missing_ok=True)
        connection = sqlite3.connect(copy)
        connection.execute("ATTACH ? AS store", (str(path),))
        for table in ("meta", "journal"):
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM store.{table}")
        connection.execute(f"UPDATE journal SET id = {value} WHERE seq = 5")
        connection.commit()
        connection.close()
        with pytest.raises(BadInput, match="^what follows row [34] cannot be read: "):
            list(read_journal(copy))


def test_a_journal_is_a_complete_trace_in_which_an_adopted_instance_is_marked(path: Path) -> None:
    begin, *records = read(path)
    assert isinstance(begin, Begin) and (begin.trace, begin.complete, begin.total) == ("store", True, True)
    assert all(isinstance(record, Record) for record in records)
    lines = [(record.line, record.event, record.state, record.adopted) for record in records]  # type: ignore[union-attr]
    assert lines[3:] == [(4, "start", "normal", False), (5, "pull", "pulled", False), (6, None, "thrown", True)]


def test_a_monitor_is_judged_by_check_and_not_by_the_kernel(tmp_path: Path) -> None:
    """Its memory is no part of a snapshot, so no decision hangs on it: see docs/kernel.md."""
    kernel = Kernel(SQLiteStore(tmp_path / "store.db"))
    frame = kernel.start(Frame, id="f", box="b")
    staff = kernel.start(Staff, id="s", line=frame)
    assert all(kernel.fire(staff, Staff.look()).accepted for _ in range(2))
    (report,) = judge({"frame": Frame, "staff": Staff}, read(tmp_path / "store.db"))
    assert [(found.rule, found.line) for found in report.violations] == [("staff-seen-once", 4)]
