"""Whatever a file is, `check` says in one line what is wrong with it and what to do, or judges it; it never breaks."""

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .commands import leverframe, leverframe_process

Line = dict[str, Any]

HEADER: Line = {"leverframe": 1, "order": "total", "complete": True}
SLICE: Line = {"leverframe": 1, "order": "total"}
START: Line = {"machine": "session", "id": "s", "event": "start", "payload": {"principal": "alice"}}
STOP: Line = {"machine": "session", "id": "s", "event": "stop"}
EDGE = '{"machine":"session","id":"s","event":"edge","payload":{"was_set":true}}'

KEYS = {"source", "trace", "format", "instances", "events", "verdict", "violations", "warnings", "open", "not_checked"}
VIOLATION = {"rule", "line", "machine", "id", "state", "event", "message", "expected", "failed", "because_line"}


def lines(*rows: Line | str | bytes) -> bytes:
    """Rows as the bytes of a trace."""
    made = [
        row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode() for row in rows
    ]
    return b"".join(row + b"\n" for row in made)


def of(row: Line, **more: Any) -> Line:
    return {**row, **more}


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def database(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


UNREADABLE: dict[str, tuple[bytes | Callable[[Path], None], str]] = {
    "an empty file": (b"", "is empty: a trace has a line for each record"),
    "blank lines": (b"\n \n\t\n", "is empty: a trace has a line for each record"),
    "a header alone, torn": (b'{"leverframe":1,', "is no trace: its first line is no JSON"),
    "binary": (bytes(range(256)) * 40, "is binary: a trace is JSON Lines or a Leverframe journal"),
    "a compiled file": (b"\x7fELF\x02\x01\x01\0\0\0", "is binary"),
    "invalid UTF-8 in the first line": (b'{"machine":"se\xffssion"}\n', "is no UTF-8 text: byte 14 of its first line"),
    "UTF-16": ('{"machine":"session"}\n'.encode("utf-16"), "is "),
    "invalid UTF-8 in a later line": (lines(HEADER, START, b'{"machine":"s\xff"}'), "line 3: "),
    "no JSON at all": (b"hello\nworld\n", "is no trace: its first line is no JSON"),
    "a list": (b"[1, 2]\n", "is of no known format: known are native, turnstone, journal"),
    "an object of nobody": (b'{"hello": "world"}\n', "is of no known format"),
    "no JSON in a later line": (lines(HEADER, START, "{"), "line 3: "),
    "two records on one line": (lines(HEADER, f"{EDGE}{EDGE}"), "line 2: "),
    "two records on the first line": (lines(f"{EDGE} {EDGE}"), "is no trace: its first line is no JSON"),
    "2,000 levels in the first line": (lines(f'{{"machine":"session","id":{nested(2000)}}}'), "nested too deeply"),
    "2,000 levels in a later line": (lines(HEADER, START, f'{{"machine":{nested(2000)}}}'), "line 3: "),
    "2,000 levels in a payload": (lines(HEADER, START, EDGE.replace("true", nested(2000))), "line 3: "),
    "100,000 levels": (lines(HEADER, START, EDGE.replace("true", nested(100_000))), "line 3: "),
    "2,000 levels in meta": (lines(HEADER, START, EDGE[:-1] + f',"meta":{nested(2000)}}}'), "line 3: "),
    "NaN": (lines(HEADER, START, EDGE.replace("true", "NaN")), "line 3: "),
    "NaN as a time": (lines(HEADER, START, EDGE[:-1] + ',"ts":NaN}'), "line 3: "),
    "infinity": (lines(HEADER, START, EDGE.replace("true", "Infinity")), "line 3: "),
    "a number for a bool": (lines(HEADER, START, EDGE.replace("true", "1e400")), "expected true or false"),
    "a huge integer": (
        lines(HEADER, of(START, event="claim", payload={"expected": 10**400})),
        "line 2: session.claim.expected is 1000",
    ),
    "an endless integer": (
        lines(HEADER, START, of(STOP, event="claim", payload=0)).replace(b"0", b"9" * 10_000),
        "line 3: ",
    ),
    "an unknown machine": (lines(HEADER, of(START, machine="sesion")), "line 2: unknown machine 'sesion'; known: "),
    "an unknown event": (lines(HEADER, START, of(STOP, event="stopp")), "line 3: session has no event 'stopp'; its ev"),
    "an unknown state": (lines(HEADER, of(START, state="opened")), "line 2: session has no state 'opened'; its states"),
    "an unknown data field": (lines(HEADER, of(START, data={"epohc": 1})), "line 2: session has no data field 'epohc'"),
    "an unknown link": (lines(HEADER, of(START, links={"chat": "c"})), "line 2: session has no link 'chat'; its links"),
    "an unknown field of a payload": (
        lines(HEADER, of(START, payload={"principal": "a", "name": "b"})),
        "line 2: session.start has no field name; its fields are principal",
    ),
    "an unknown field of a line": (lines(HEADER, of(START, evnt="start")), "line 2: "),
    "an unknown field of the header": (lines(of(HEADER, completed=True), START), "line 1: "),
    "a header of another version": (
        lines(of(HEADER, leverframe=2), START),
        "line 1: this header is of another version",
    ),
    "an unknown order": (lines(of(HEADER, order="random"), START), "line 1: this header is of another version"),
    "an unknown outcome": (lines(HEADER, of(START, outcome="maybe")), "line 2: "),
    "an unknown phase": (lines(HEADER, of(START, phase="begin")), "line 2: "),
    "a return without invoke": (lines(HEADER, of(START, phase="return", call="c")), "line 2: call 'c' of session s"),
    "no machine": (lines(HEADER, {"id": "s", "event": "start"}), "line 2: "),
    "an id that is a number": (lines(HEADER, of(START, id=7)), "line 2: "),
    "an id that is null": (lines(HEADER, of(START, id=None)), "line 2: "),
    "a payload that is a list": (
        lines(HEADER, of(START, payload=["alice"])),
        "line 2: the payload of session.start is n",
    ),
    "a payload that is a text": (
        lines(HEADER, of(START, payload="alice")),
        "line 2: the payload of session.start is n",
    ),
    "a payload of the wrong type": (
        lines(HEADER, of(START, payload={"principal": ["alice"]})),
        "line 2: session.start.principal is ['alice']; expected a string",
    ),
    "data of the wrong type": (
        lines(HEADER, of(START, data={"epoch": "0"})),
        "line 2: session.epoch is '0'; expected a c",
    ),
    "links that are a list": (lines(HEADER, of(START, links=["a"])), "line 2: "),
    "a database that is none": (b"SQLite format 3\0" + b"\0" * 4096, "cannot be read: "),
    "a database that is cut off": (b"SQLite format 3\0", "cannot be read: "),
    "a database of somebody else": (
        lambda path: database(path, "CREATE TABLE bookmark (url TEXT)"),
        "is a database without a journal: give the file of a SQLiteStore",
    ),
    "a journal of another version": (
        lambda path: database(
            path,
            "CREATE TABLE meta (key TEXT, value TEXT)",
            "CREATE TABLE journal (seq INTEGER PRIMARY KEY)",
            "INSERT INTO meta VALUES ('leverframe', '99')",
        ),
        "is a journal of version '99', and this program knows 1",
    ),
    "a database with a journal of other columns": (
        lambda path: database(
            path,
            "CREATE TABLE meta (key TEXT, value TEXT)",
            "CREATE TABLE journal (seq INTEGER PRIMARY KEY)",
            "INSERT INTO meta VALUES ('leverframe', '1')",
        ),
        "cannot be read: no such column",
    ),
}
"""What cannot be read, and what is said about it after the file's name."""

JUDGED: dict[str, tuple[bytes, int, str, str]] = {
    "one id in two machines": (
        lines(HEADER, START, {"machine": "admission", "id": "s", "event": "start"}),
        0,
        "ok",
        "",
    ),
    "an event of an unborn instance in a slice": (lines(SLICE, STOP), 0, "ok", ""),
    "an event of an unborn instance without a header": (lines(STOP), 0, "ok", ""),
    "an event of an unborn instance in a complete trace": (lines(HEADER, STOP), 1, "violation", "session-open"),
    "a header alone": (lines(HEADER), 0, "ok", ""),
    "a byte order mark is no record": (b"\xef\xbb\xbf" + lines(HEADER, START), 3, "unreadable", "is no trace"),
    "lines that end as on Windows": (lines(HEADER, START, STOP).replace(b"\n", b"\r\n"), 0, "ok", ""),
    "blank lines between": (lines(HEADER, "", START, "  ", STOP), 0, "ok", ""),
    "a torn last line": (lines(HEADER, START) + b'{"machine":"sess', 0, "incomplete", ""),
    "a torn last line after a violation": (lines(HEADER, STOP) + b'{"machine":"sess', 1, "violation", "session-open"),
    "a last line without its end": (lines(HEADER, START, STOP)[:-1], 0, "ok", ""),
    "a torn last line within a character": (lines(HEADER, START) + b'{"machine":"sess\xc3', 0, "incomplete", ""),
    "a line of 10 MB": (lines(HEADER, of(START, meta="x" * 10_000_000), STOP), 0, "ok", ""),
    "an id of 10 MB": (lines(HEADER, of(START, id="x" * 10_000_000)), 0, "ok", ""),
    "a key twice in a line: the last one counts": (
        lines(HEADER, START, '{"machine":"session","id":"x","id":"s","event":"start","event":"stop"}'),
        0,
        "ok",
        "",
    ),
    "a key twice in a payload: the last one counts": (
        lines(HEADER, START, EDGE.replace("true", 'true,"was_set":false'), of(STOP, data={"epoch": 2})),
        0,
        "ok",
        "",
    ),
    "a record after what cannot be read is not judged": (
        lines(HEADER, START, of(STOP, event="stopp"), of(STOP, event="start")),
        3,
        "unreadable",
        "line 3",
    ),
    "a violation before what cannot be read stands": (
        lines(HEADER, STOP, "{", STOP),
        1,
        "violation",
        "session-open",
    ),
}


def written(content: bytes | Callable[[Path], None], path: Path) -> str:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_told_in_one_line(case: str, tmp_path: Path) -> None:
    content, note = UNREADABLE[case]
    path = written(content, tmp_path / "trace.jsonl")
    ran = leverframe("check", path)
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    assert ran.err.startswith(f"leverframe: {path}: ")
    assert note in ran.err
    assert len(ran.err) < 400 + len(path)
    assert ran.out.splitlines()[-1] == "1 trace: 1 unreadable"
    assert leverframe("check", path, "--allow-unreadable").code == 0


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_an_entry_of_the_json(case: str, tmp_path: Path) -> None:
    content, note = UNREADABLE[case]
    path = written(content, tmp_path / "trace.jsonl")
    found = documented(leverframe("check", path, "--output", "json").out)
    assert (found["verdict"], found["traces"][0]["verdict"], found["traces"][0]["source"]) == (
        "unreadable",
        "unreadable",
        path,
    )
    assert note in found["traces"][0]["note"]


@pytest.mark.parametrize("case", JUDGED)
def test_what_looks_strange_is_judged(case: str, tmp_path: Path) -> None:
    content, code, verdict, rule = JUDGED[case]
    path = written(content, tmp_path / "trace.jsonl")
    ran = leverframe("check", path, "--output", "json")
    assert ran.code == code
    assert ran.err.count("\n") == (verdict == "unreadable")
    (trace,) = documented(ran.out)["traces"]
    assert trace["verdict"] == verdict
    if verdict == "violation":
        assert [violation["rule"] for violation in trace["violations"]] == [rule]
    else:
        assert rule in trace.get("note", "")


def documented(text: str) -> Any:
    """The JSON of a report, with the keys that docs/compatibility.md names, and no other."""
    found = json.loads(text)
    assert set(found) == {"schema", "tool", "verdict", "traces"}
    for trace in found["traces"]:
        assert set(trace) - {"note"} == KEYS
        assert all(set(violation) == VIOLATION for violation in trace["violations"])
        assert all(set(failed) == {"guard", "saw"} for v in trace["violations"] for failed in v["failed"])
        assert all(set(debt) == {"machine", "id", "state", "owes", "line"} for debt in trace["open"])
    return found


# --- paths ------------------------------------------------------------------------------------------------------------


def test_no_such_file_is_wrong_usage(tmp_path: Path) -> None:
    path = str(tmp_path / "missing.jsonl")
    for arguments in ((path,), (written(lines(HEADER), tmp_path / "a.jsonl"), path)):
        ran = leverframe("check", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert f"{path}: no such file or folder" in ran.err


def test_a_folder_without_traces_is_told(tmp_path: Path) -> None:
    ran = leverframe("check", str(tmp_path))
    assert (ran.code, ran.err) == (3, f"leverframe: {tmp_path}: has no trace in it\n")
    (tmp_path / "notes.txt").write_text("hello", "utf-8")
    ran = leverframe("check", str(tmp_path))
    assert (ran.code, ran.err) == (3, f"leverframe: {tmp_path}: has no trace in it\n")
    assert ran.out.splitlines()[-1] == "1 trace: 1 unreadable; 1 file of no known format skipped"


def test_a_file_in_a_folder_that_no_reader_knows_is_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    written(lines(HEADER, START), tmp_path / "deep" / "a.jsonl")
    written(lines(HEADER, STOP), tmp_path / ".hidden" / "b.jsonl")
    unknown = written(b"hello", tmp_path / "deep" / "notes.txt")
    ran = leverframe("check", str(tmp_path))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "1 trace: 1 ok; 1 file of no known format skipped"
    named = leverframe("check", str(tmp_path), unknown)
    assert named.code == 3
    assert named.err.startswith(f"leverframe: {unknown}: is no trace: ")


def test_a_trace_in_a_folder_that_cannot_be_read_to_its_end_is_unreadable(tmp_path: Path) -> None:
    path = written(lines(HEADER, START, "{"), tmp_path / "a.jsonl")
    ran = leverframe("check", str(tmp_path))
    assert ran.code == 3
    assert ran.err.startswith(f"leverframe: {path}: line 3: ")


def test_a_violation_beats_what_cannot_be_read(tmp_path: Path) -> None:
    bad, unread = written(lines(HEADER, STOP), tmp_path / "a.jsonl"), written(b"", tmp_path / "b.jsonl")
    ran = leverframe("check", unread, bad)
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "2 traces: 1 violation, 1 unreadable"


def test_an_incomplete_trace_fails_only_when_asked_to(tmp_path: Path) -> None:
    path = written(lines(HEADER, START) + b"{", tmp_path / "a.jsonl")
    assert leverframe("check", path).code == 0
    assert leverframe("check", path, "--require-complete").code == 1


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_the_system_does_not_give_is_told_in_one_line() -> None:
    ran = leverframe("check", "/proc/self/mem")
    assert ran.code == 3
    assert ran.err.startswith("leverframe: /proc/self/mem: cannot be read: ")
    assert ran.err.count("\n") == 1


def test_standard_input_is_a_file_like_any_other() -> None:
    for content, code, verdict in ((lines(HEADER, START), 0, "ok"), (lines(HEADER, STOP), 1, "violation")):
        ran = leverframe("check", "-", stdin=content)
        assert (ran.code, ran.out.splitlines()[0].split("  ")[0]) == (code, f"-: {verdict}")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"hello\n", b"SQLite format 3\0" + b"\0" * 4096])
def test_standard_input_that_cannot_be_read_is_told_in_one_line(content: bytes) -> None:
    ran = leverframe("check", "-", stdin=content)
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert ran.err.startswith("leverframe: -: ")


def test_the_format_can_be_named_and_must_be_known(tmp_path: Path) -> None:
    path = written(lines(START), tmp_path / "a.jsonl")
    assert leverframe("check", path, "--format", "native").code == 0
    other = leverframe("check", path, "--format", "turnstone")
    assert (other.code, other.err.count("\n")) == (3, 1)
    journal = leverframe("check", path, "--format", "journal")
    assert (journal.code, journal.err) == (
        3,
        f"leverframe: {path}: is no SQLite database: give the file of a SQLiteStore\n",
    )
    unknown = leverframe("check", path, "--format", "morse")
    assert (unknown.code, unknown.out, unknown.err.count("\n")) == (2, "", 1)
    assert "'morse'" in unknown.err


def test_a_database_is_not_read_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database(path, "CREATE TABLE bookmark (url TEXT)")
    ran = leverframe("check", str(path), "--format", "native")
    assert (ran.code, ran.err.count("\n")) == (3, 1)


@pytest.mark.parametrize(
    "arguments",
    [("check", "--strange", "x"), ("check",), ("check", "x", "--output", "xml"), ("strange",), (), ("--strange",)],
)
def test_wrong_usage_is_told_in_one_line(arguments: tuple[str, ...]) -> None:
    ran = leverframe(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "(see leverframe --help)" in ran.err


# --- what is shown of it ----------------------------------------------------------------------------------------------

BAD = "\x1b[2J\x07\r\n\u202e\u2066\u200b\x00\x85end"


def test_control_and_direction_characters_are_made_visible(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[31m\u202eb"
    folder.mkdir()
    machine = of(STOP, machine=BAD)
    for number, rows in enumerate(
        [
            (HEADER, of(STOP, id=BAD)),
            (of(HEADER, trace=BAD), START, of(STOP, event="edge", payload={"was_set": BAD})),
            (HEADER, machine),
            (HEADER, of(START, payload={"principal": BAD}), of(STOP, data={"principal": "other"})),
            (HEADER, of(START, payload={"principal": BAD}), of(STOP, event="claim", payload={"expected": 7})),
            (HEADER, of(START, id=BAD), {"machine": "session", "id": BAD, "event": "soft_close"}),
        ]
    ):
        path = written(lines(*rows), folder / f"{number}.jsonl")
        for output in ("text", "json"):
            ran = leverframe("check", path, "--output", output)
            shown = (ran.out + ran.err).replace("\n", "")
            assert shown.isprintable(), (number, output, shown)
            assert ran.err.count("\n") == (ran.code == 3)
    assert json.loads(ran.out)["traces"][0]["open"][0]["id"] == BAD


def test_half_a_character_in_an_id_is_shown_and_harms_nothing(tmp_path: Path) -> None:
    path = written(lines(HEADER, '{"machine":"session","id":"\\ud800","event":"stop"}'), tmp_path / "a.jsonl")
    ran = leverframe("check", path)
    assert ran.code in (1, 3)
    assert (ran.out + ran.err).replace("\n", "").isprintable()
    documented(leverframe("check", path, "--output", "json").out)


@pytest.mark.skipif(sys.platform != "linux", reason="only there a file may have any bytes for a name")
def test_a_file_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path / "a") + b"\xff.jsonl")
    for content, code in ((lines(HEADER, STOP), 1), (b"", 3)):
        written(content, Path(path))
        ran = leverframe("check", path)
        assert ran.code == code
        assert (ran.out + ran.err).encode().count(b"\\udcff") == (1 if code == 1 else 2)
        assert documented(leverframe("check", path, "--output", "json").out)["traces"][0]["source"] == path
    assert leverframe_process("check", str(tmp_path)).code == 3


# --- in a process of its own ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["100,000 levels", "a database that is none"])
def test_a_process_of_its_own_ends_the_same_way(case: str, tmp_path: Path) -> None:
    path = written(UNREADABLE[case][0], tmp_path / "trace.jsonl")
    assert leverframe_process("check", path) == leverframe("check", path)


def test_standard_input_of_a_process_is_read() -> None:
    content = lines(HEADER, START, STOP)
    assert leverframe_process("check", "-", stdin=content) == leverframe("check", "-", stdin=content)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a place where nothing can be written")
def test_output_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    path = written(lines(HEADER, STOP), tmp_path / "trace.jsonl")
    with open("/dev/full", "wb") as full:
        ran = leverframe_process("check", path, stdout=full)
    assert (ran.code, ran.err) == (3, "leverframe: the output cannot be written: No space left on device\n")


def test_whoever_reads_the_output_may_go_away(tmp_path: Path) -> None:
    path = written(lines(HEADER, *(of(STOP, id=f"s{number}") for number in range(2_000))), tmp_path / "trace.jsonl")
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as gone:
        ran = leverframe_process("check", path, stdout=gone)
    assert "Traceback" not in ran.err
    assert ran.code != 0
