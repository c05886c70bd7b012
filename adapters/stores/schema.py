"""The tables of a store's file. They are public: `docs/compatibility.md` says how they change."""

import sqlite3
from collections.abc import Mapping

from .connections import Connections
from .errors import StoreError
from .triggers import kept

__all__ = ["SCHEMA", "prepare"]

SCHEMA = "1"
"""The version of these tables; kept in meta under `leverframe`."""

_JSON = str
"""A text column that holds JSON; a link in it is `{"name": ["machine", "id"]}`."""

_TABLES: Mapping[str, tuple[Mapping[str, type], str | tuple[str, ...]]] = {
    "meta": (dict(key=str, value=str), "key"),
    "instance": (
        dict(machine=str, id=str, state=str, version=int, data=_JSON, links=_JSON, table_hash=str, seq=int),
        ("machine", "id"),
    ),
    "link": (
        dict(machine=str, id=str, name=str, owner_machine=str, owner_id=str, seq=int),
        ("machine", "id", "name"),
    ),
    "tally": (dict(owner_machine=str, owner_id=str, name=str, n=int), ("owner_machine", "owner_id", "name")),
    "journal": (
        dict(seq=int, machine=str, id=str, event=str, payload=_JSON, by=_JSON, event_id=str, links=_JSON)
        | dict(state=str, version=int, data=_JSON, prev=int, adopted=str, would_refuse=_JSON, table_hash=str)
        | dict(ts=float),
        "seq",
    ),
    "outbox": (
        dict(seq=int, number=int, effect=str, machine=str, id=str, name=str, payload=_JSON, taken_by=str, answered=str),
        ("seq", "number"),
    ),
    "audit": (dict(seq=int, machine=str, id=str, event=str, rule=str, message=str, ts=float), "seq"),
}
"""Columns and primary key. `journal.seq` numbers all steps; `prev` is the step before of the same instance,
`would_refuse` the rule and message of what would have refused it where a machine is only observed, `instance.seq` its
last one, `link.seq` the one that gave the link, `outbox.seq` the one that described the effect."""

_NULLABLE = {"by", "event_id", "prev", "adopted", "would_refuse", "taken_by", "answered"}

_INDEXES = (
    "CREATE INDEX link_owner ON link (owner_machine, owner_id, machine, seq)",
    "CREATE UNIQUE INDEX journal_event_id ON journal (event_id) WHERE event_id IS NOT NULL",
    "CREATE INDEX outbox_open ON outbox (seq, number) WHERE answered IS NULL",
    "CREATE INDEX outbox_open_of ON outbox (machine, id) WHERE answered IS NULL",
)


def prepare(connections: Connections) -> None:
    """Make the file and its tables when they are not there; leave the file of another program alone.

    Raises:
        StoreError: the file holds something else, or tables of another version.
    """
    path = connections.path
    if sqlite3.sqlite_version_info < (3, 38):
        raise StoreError(f"{path} needs SQLite 3.38 or later, and this Python has {sqlite3.sqlite_version}")
    with connections.told():
        connections.mine("rwc")
        new = _is_empty(connections)
        if not new:
            _check(connections)
        (mode,) = connections.read("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":
            raise StoreError(f"{path} lies where SQLite keeps no write-ahead log: give a path on a local disk")
    if new:
        with connections.aside() as connection:
            if _is_empty(connections):  # nobody was quicker
                _create(connection)
            _check(connections)


def _is_empty(connections: Connections) -> bool:
    return connections.read("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _check(connections: Connections) -> None:
    path = connections.path
    try:
        found = connections.read("SELECT value FROM meta WHERE key = 'leverframe'").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # anything but: no such table or column
            raise
        found = None
    if found is None:
        raise StoreError(f"{path} is the database of another program: give another path")
    if found[0] != SCHEMA:
        raise StoreError(f"{path} has tables of version {found[0]}, not {SCHEMA}: take the program that wrote it")


def _create(connection: sqlite3.Connection) -> None:
    from sqlite_utils import Database  # takes long to import, and only a new file needs it

    database = Database(connection, execute_plugins=False, strict=True)
    for name, (columns, key) in _TABLES.items():
        database.table(name).create(dict(columns), pk=key, not_null=set(columns) - _NULLABLE)
    for statement in (*_INDEXES, *kept().values()):
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('leverframe', ?)", (SCHEMA,))
