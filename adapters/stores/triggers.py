"""SQLite itself refuses what no kernel did: states that no transition leads to, skipped versions, deletions.

The triggers of a machine are compiled from its table. They hold for every program that opens the file, and keep nobody
from removing them on purpose: they close the side door that is used by accident.
"""

import sqlite3
from collections.abc import Iterable, Mapping

from ...machines.kernel.table import Table
from .errors import StoreError

__all__ = ["install", "kept", "of_machine", "other_definition"]

_Checks = Iterable[tuple[str, str]]
"""What must not be, as SQL, and what is said when it is."""

_SAME = "machine = new.machine AND id = new.id"
_TAKEN = "EXISTS (SELECT 1 FROM {table} WHERE {key}) OR EXISTS (SELECT 1 FROM {table} WHERE rowid = new.rowid)"
"""Asked before each insert: REPLACE would delete the row that is there, and no delete trigger would see it."""


def install(connection: sqlite3.Connection, table: Table, path: str) -> None:
    """Let a machine into the file, within the transaction that is open.

    Raises:
        StoreError: the file holds instances that another definition of this machine decided.
    """
    key = f"machine {table.name}"
    (known,) = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone() or (None,)
    if known != table.hash:
        if connection.execute("SELECT 1 FROM instance WHERE machine = ? LIMIT 1", (table.name,)).fetchone():
            raise StoreError(other_definition(path, table, known))
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, table.hash))
    there = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    for name, statement in of_machine(table).items():
        if there.get(name) != statement:
            connection.execute(f"DROP TRIGGER IF EXISTS {_name(name)}")
            connection.execute(statement)


def other_definition(path: str, table: Table, found: object) -> str:
    """The one sentence about rows that this program must not touch."""
    return (
        f"{path} holds {table.name} instances decided by definition {found}, and this program's is {table.hash}: "
        "run the program that wrote them, or migrate the file"
    )


def of_machine(table: Table) -> Mapping[str, str]:
    """The statements that make a machine's triggers, by name."""
    name, machine = table.name, _text(table.name)
    successors: dict[str, dict[str, None]] = {}
    for move in table.transitions:
        successors.setdefault(str(move.source.id), {})[str(move.target.id)] = None
    births = _among(successors.pop("absent"))
    living = _among(state for state in table.states if state != "absent")
    adopted = f"({living}) AND EXISTS (SELECT 1 FROM journal WHERE seq = new.seq AND adopted IS NOT NULL)"
    steps = "".join(f" WHEN {_text(source)} THEN {_among(targets)}" for source, targets in successors.items())
    sealed = (
        (f"new.table_hash IS NOT {_text(table.hash)}", f"{name}: another definition is in force"),
        (
            f"NOT EXISTS (SELECT 1 FROM journal WHERE seq = new.seq AND {_SAME} AND version = new.version"
            " AND state = new.state AND data = new.data)",
            f"{name}: the journal has no such step",
        ),
    )
    birth = (
        (_TAKEN.format(table="instance", key=_SAME), f"{name}: an instance is born once"),
        ("new.version IS NOT 1", f"{name}: an instance begins at version 1"),
        (f"NOT ({births} OR {adopted})", f"{name}: no start leads to this state, and it is not marked as adopted"),
    )
    step = (
        (
            "new.machine IS NOT old.machine OR new.id IS NOT old.id OR new.rowid IS NOT old.rowid",
            f"{name}: an instance keeps its name",
        ),
        ("new.version IS NOT old.version + 1", f"{name}: the next version is one more"),
        (f"NOT CASE old.state{steps or ' WHEN NULL THEN 0'} ELSE 0 END", f"{name}: no transition leads to this state"),
    )
    return dict(
        (
            _trigger(f"{name}_birth", f"BEFORE INSERT ON instance WHEN new.machine = {machine}", (*birth, *sealed)),
            _trigger(f"{name}_step", f"BEFORE UPDATE ON instance WHEN old.machine = {machine}", (*step, *sealed)),
        )
    )


def kept() -> Mapping[str, str]:
    """The statements that make the triggers of every store, by name."""
    never = (
        ("instance_stays", "BEFORE DELETE ON instance", "an instance is never deleted"),
        ("journal_stays", "BEFORE DELETE ON journal", "a journal row is never deleted"),
        ("journal_fixed", "BEFORE UPDATE ON journal", "a journal row never changes"),
        ("link_stays", "BEFORE DELETE ON link", "a link for life is never deleted"),
        ("link_fixed", "BEFORE UPDATE ON link", "a link for life never changes"),
        ("outbox_stays", "BEFORE DELETE ON outbox", "an effect is never deleted"),
        (
            "outbox_fixed",
            "BEFORE UPDATE OF rowid, seq, number, effect, machine, id, name, payload ON outbox",
            "an effect is taken and answered, and never changes",
        ),
        ("outbox_answered", "BEFORE UPDATE ON outbox WHEN old.answered IS NOT NULL", "an effect is answered once"),
    )
    unknown = "NOT EXISTS (SELECT 1 FROM meta WHERE key = 'machine ' || new.machine)"
    link = _TAKEN.format(table="link", key=f"{_SAME} AND name = new.name")
    effect = _TAKEN.format(table="outbox", key="seq = new.seq AND number = new.number")
    last = (
        f"CASE WHEN new.prev IS NULL THEN new.version IS NOT 1 OR EXISTS (SELECT 1 FROM instance WHERE {_SAME})"
        f" ELSE NOT EXISTS (SELECT 1 FROM instance WHERE {_SAME} AND version = new.version - 1 AND seq = new.prev) END"
    )
    bound = "new.event_id IS NOT NULL AND EXISTS (SELECT 1 FROM journal WHERE event_id = new.event_id)"
    journal = (
        ("new.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM journal)", "a journal row follows the last one"),
        (last, "a journal row follows the last one of its instance"),
        (bound, "an event id is bound once"),
    )
    return dict(
        (
            *(_trigger(name, when, [("1", why)]) for name, when, why in never),
            _trigger("instance_known", "BEFORE INSERT ON instance", [(unknown, "no kernel has met this machine")]),
            _trigger("link_once", "BEFORE INSERT ON link", [(link, "a link for life is given once")]),
            _trigger("outbox_once", "BEFORE INSERT ON outbox", [(effect, "an effect is described once")]),
            _trigger("journal_next", "BEFORE INSERT ON journal", journal),
        )
    )


def _trigger(name: str, when: str, checks: _Checks) -> tuple[str, str]:
    cases = "".join(f" WHEN {condition} THEN RAISE(ABORT, {_text(why)})" for condition, why in checks)
    return name, f"CREATE TRIGGER {_name(name)} {when} BEGIN SELECT CASE{cases} END; END"


def _among(states: Iterable[str]) -> str:
    # not IN, which builds a table at each look
    return "(" + (" OR ".join(f"new.state = {_text(state)}" for state in states) or "0") + ")"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
