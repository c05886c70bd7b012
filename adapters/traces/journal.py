"""The journal of a SQLite store as a trace: its rows in the native form, each with its number as the line.

The file may be anybody's. It is opened read-only and untrusted, nothing in it is run, and what is too large, too deep
or of another type ends the reading with one line.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ...machines.catalogue import MACHINES
from ...machines.checking import Begin, Record
from ...machines.kernel import BadInput

__all__ = ["NAME", "read", "read_journal"]

NAME = "journal"

_MAGIC = b"SQLite format 3\0"
_LONGEST = 16 * 2**20
"""Bytes that a value, and so a row, may have."""
_TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name IN ('meta', 'journal')"
_SCHEMA = "SELECT value FROM meta WHERE key = 'leverframe'"
_ROWS = """
    SELECT rowid AS seq, machine, id, event, payload, "by", event_id, links, state, data, adopted, ts
    FROM journal ORDER BY rowid"""


def read(path: Path) -> Iterator[Begin | Record]:
    """Read a journal as one complete trace; a link that a birth leaves out points nowhere.

    Raises:
        BadInput: as `read_journal`, and later for a row that cannot be read.
    """
    rows = read_journal(path)
    yield Begin(path.stem, complete=True)
    for number, row in rows:
        row.pop("ts", None)
        adopted = row.pop("adopted", None) is not None
        if (adopted or row.get("event") == "start") and row["machine"] in MACHINES:
            links = MACHINES[row["machine"]].table.links
            row["links"] = {**{name: None for name, link in links.items() if not link.per_event}, **row["links"]}
        yield Record(**row, line=number, adopted=adopted)


def read_journal(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a journal from its first row to its last, as they are when reading begins.

    Args:
        path: the file of a SQLiteStore, which may be in use.

    Returns:
        each row's number and the row: an event with its payload, links, `by` (None: nobody was known), event id, the
        state after and the time; or, where an instance was adopted, the state and data that were found, and why.

    Raises:
        BadInput: the file is no such journal, or a row of it cannot be read; one line without the file's name.
    """
    connection = _opened(os.fspath(path))
    try:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "query_only=ON"):
            connection.execute(f"PRAGMA {pragma}")
        (tables,) = connection.execute(_TABLES).fetchone()
        found = connection.execute(_SCHEMA).fetchone() if tables == 2 else None
    except sqlite3.Error as error:
        connection.close()
        raise BadInput(f"cannot be read: {error}") from None
    if found != ("1",):
        connection.close()
        if found is None:
            raise BadInput("is a database without a journal: give the file of a SQLiteStore")
        raise BadInput(f"is a journal of version {found[0]!r}, and this program knows 1: take the one that wrote it")
    return _rows(connection)


def _opened(name: str) -> sqlite3.Connection:
    try:
        with open(name, "rb") as file:
            begin = file.read(len(_MAGIC))
    except OSError as error:
        raise BadInput(f"cannot be opened: {error.strerror}") from None
    if begin != _MAGIC:
        raise BadInput("is no SQLite database: give the file of a SQLiteStore")
    # a log beside it means that somebody writes, or did until a crash: then it belongs to what must be read
    fixed = "" if os.path.exists(f"{name}-wal") else "&immutable=1"
    connection = sqlite3.connect(f"{Path(name).absolute().as_uri()}?mode=ro{fixed}", uri=True, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    return connection


def _rows(connection: sqlite3.Connection) -> Iterator[tuple[int, dict[str, Any]]]:
    seq = 0
    try:
        connection.row_factory = sqlite3.Row  # its seq is the row's number, and a hostile table is not sorted
        for row in connection.execute(_ROWS):
            seq = row["seq"]
            yield seq, _row(row)
    except RecursionError:
        raise BadInput(f"row {seq}: nested too deeply to be a record") from None
    except ValueError as error:
        raise BadInput(f"row {seq}: {error}") from None
    except sqlite3.Error as error:
        raise BadInput(f"what follows row {seq} cannot be read: {error}") from None
    finally:
        connection.close()


def _row(row: sqlite3.Row) -> dict[str, Any]:
    for what in ("machine", "id", "event", "state"):
        if not isinstance(row[what], str):
            raise ValueError(f"its {what} is no text")
    links = {name: _target(target) for name, target in _object(row, "links").items()}
    if row["adopted"] is not None:
        found = {"machine": row["machine"], "id": row["id"], "state": row["state"]}
        return {**found, "data": _object(row, "data"), "links": links, "adopted": row["adopted"]}
    return {
        "machine": row["machine"],
        "id": row["id"],
        "event": row["event"],
        "payload": _object(row, "payload"),
        "links": links,
        "by": None if row["by"] is None else _value(row, "by"),
        "event_id": row["event_id"],
        "state": row["state"],
        "ts": row["ts"],
    }


def _target(target: Any) -> str:
    if isinstance(target, list) and len(target) == 2 and isinstance(target[1], str):
        return target[1]
    raise ValueError("a link of it is not [machine, id]")


def _object(row: sqlite3.Row, what: str) -> dict[str, Any]:
    value = _value(row, what)
    if not isinstance(value, dict):
        raise ValueError(f"its {what} is no JSON object")
    return value


def _value(row: sqlite3.Row, what: str) -> Any:
    text = row[what]
    if not isinstance(text, str):
        raise ValueError(f"its {what} is no JSON text")
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"its {what} is no JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice in one JSON object")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


_decode = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number).decode
