"""What no kernel did, SQLite itself refuses: for every shipped machine, every state and every way in."""

import importlib
import inspect
import json
import pkgutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .. import machines
from ..adapters.stores.errors import StoreError
from ..adapters.stores.sqlite import SQLiteStore
from ..machines.kernel import Accepted, Kernel, Machine, Snapshot
from ..machines.kernel.fields import Field
from ..machines.kernel.step import absent
from ..machines.kernel.store import Entry
from ..machines.kernel.table import Table
from .lever import Bell, Frame, Lever, move


def shipped() -> list[type[Machine]]:
    """Every machine in `machines/*.py`, and those of the tests."""
    found: dict[str, type[Machine]] = {}
    for module in pkgutil.iter_modules(machines.__path__):
        if not module.ispkg:
            for value in vars(importlib.import_module(f"{machines.__name__}.{module.name}")).values():
                if inspect.isclass(value) and issubclass(value, Machine) and "table" in vars(value):
                    found[value.table.name] = value
    return [*found.values(), Frame, Bell, Lever]


def value_of(field: Field) -> Any:
    if field.optional:
        return None
    domain = field.domain()
    return domain[0] if domain else {"epoch": 0, "id": "x", "ids": frozenset()}[field.kind]


def data_of(table: Table) -> Any:
    """Some data: triggers do not read it."""
    if table.data is None:
        return None
    return table.data(**{field.name: value_of(field) for field in table.data_fields if field.required})


def adopted(machine: type[Machine]) -> Iterator[Entry]:
    """An instance in each state of a machine, called after it."""
    table = machine.table
    for state in table.states.values():
        if state != table.absent:
            ref = machine.ref(str(state.id))
            after = Snapshot(ref, state, 1, data_of(table))
            decision = Accepted(ref, absent(table, ref), after, f"absent adopt {state.id}")
            yield Entry(decision, "adopt", after.data, None, None, {}, table, adopted="for a test")


class File:
    """A file with an instance in each state, opened by another program; each try is undone."""

    def __init__(self, path: Path, machine: type[Machine]) -> None:
        self.table = machine.table
        store = SQLiteStore(path, synchronous="NORMAL")
        for entry in adopted(machine):
            with store.transaction() as work:
                work.append(entry)
        store.close()
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.living = [str(state.id) for state in self.table.states.values() if state != self.table.absent]

    def refusal(self, *statements: tuple[str, tuple[Any, ...]]) -> str | None:
        """What SQLite says to these statements; None when it takes them."""
        self.connection.execute("BEGIN")
        try:
            for sql, values in statements:
                self.connection.execute(sql, values)
        except sqlite3.IntegrityError as error:
            return str(error).removeprefix(f"{self.table.name}: ")
        finally:
            self.connection.execute("ROLLBACK")
        return None

    def journal(self, id: str, state: str, version: int, adopted: str | None = None) -> tuple[str, tuple[Any, ...]]:
        """A row that follows the last one, as a forger would write it who knows the format."""
        sql = """
            INSERT INTO journal
                (seq, machine, id, event, payload, links, state, version, data, prev, adopted, table_hash, ts)
            SELECT (SELECT max(seq) + 1 FROM journal), ?, ?, 'forged', '{}', '{}', ?, ?, data,
                (SELECT seq FROM instance WHERE machine = ? AND id = ?), ?, table_hash, 0
            FROM instance WHERE machine = ? LIMIT 1"""
        name = self.table.name
        return sql, (name, id, state, version, name, id, adopted, name)

    def update(self, id: str, state: str, version: int) -> tuple[str, tuple[Any, ...]]:
        sql = "UPDATE instance SET state = ?, version = ?, seq = (SELECT max(seq) FROM journal) WHERE id = ?"
        return sql, (state, version, id)

    def insert(self, id: str, state: str, version: int, how: str = "INSERT") -> tuple[str, tuple[Any, ...]]:
        sql = f"""{how} INTO instance (machine, id, state, version, data, links, table_hash, seq)
            SELECT machine, ?, ?, ?, data, links, table_hash, (SELECT max(seq) FROM journal)
            FROM instance WHERE machine = ? LIMIT 1"""
        return sql, (id, state, version, self.table.name)


@pytest.fixture(params=shipped(), ids=lambda machine: machine.table.name, scope="module")
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[File]:
    opened = File(tmp_path_factory.mktemp("triggers") / "store.db", request.param)
    yield opened
    opened.connection.close()


def test_a_state_is_left_only_by_a_transition(file: File) -> None:
    """Each pair of states, even where the journal was forged to agree."""
    lawful = {(str(move.source.id), str(move.target.id)) for move in file.table.transitions}
    for source in file.living:
        for target in (*file.table.states, "nonsense"):
            tried = file.refusal(file.journal(source, target, 2), file.update(source, target, 2))
            expected = None if (source, target) in lawful else "no transition leads to this state"
            assert tried == expected, (source, target)


def test_a_transition_without_its_journal_row_is_refused(file: File) -> None:
    for move_ in file.table.transitions:
        if move_.source != file.table.absent:
            tried = file.refusal(file.update(str(move_.source.id), str(move_.target.id), 2))
            assert tried == "the journal has no such step", str(move_)


def test_no_version_is_skipped_repeated_or_taken_back(file: File) -> None:
    for source in file.living:
        for version in (-1, 0, 1, 3, 4, 2**40):
            assert file.refusal(file.update(source, source, version)) == "the next version is one more"
            tried = file.refusal(file.journal(source, source, version))
            assert tried == "a journal row follows the last one of its instance"


def test_an_instance_begins_at_version_one_where_start_leads(file: File) -> None:
    births = {str(move.target.id) for move in file.table.transitions if move.source == file.table.absent}
    for state in (*file.table.states, "nonsense"):
        tried = file.refusal(file.journal("new", state, 1), file.insert("new", state, 1))
        allowed = state in births
        assert tried == (None if allowed else "no start leads to this state, and it is not marked as adopted"), state
        for version in (0, 2):
            assert file.refusal(file.insert("new", state, version)) == "an instance begins at version 1"


def test_what_is_marked_as_adopted_begins_in_any_living_state(file: File) -> None:
    for state in (*file.table.states, "nonsense"):
        tried = file.refusal(file.journal("new", state, 1, "why"), file.insert("new", state, 1))
        assert (tried is None) == (state in file.living), state


def test_a_birth_without_its_journal_row_is_refused(file: File) -> None:
    births = [str(move.target.id) for move in file.table.transitions if move.source == file.table.absent]
    for state in births:
        assert file.refusal(file.insert("new", state, 1)) == "the journal has no such step"


@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"])
def test_no_insert_passes_over_an_instance(file: File, how: str) -> None:
    for state in file.living:
        for version in (1, 2):
            assert file.refusal(file.insert(state, state, version, how)) == "an instance is born once"


def test_no_upsert_passes_over_an_instance(file: File) -> None:
    sql, values = file.insert(file.living[0], file.living[-1], 1)
    assert file.refusal((f"{sql} ON CONFLICT DO UPDATE SET state = excluded.state", values)) is not None


def test_no_insert_passes_under_another_name_into_the_same_place(file: File) -> None:
    """REPLACE on the row's number would delete the instance that has it, and no delete trigger would run."""
    sql = """
        INSERT OR REPLACE INTO instance (rowid, machine, id, state, version, data, links, table_hash, seq)
        SELECT rowid, machine, 'new', state, 1, data, links, table_hash, seq FROM instance WHERE id = ?"""
    for state in file.living:
        assert file.refusal((sql, (state,))) == "an instance is born once"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("id = 'new'", "an instance keeps its name"),
        ("machine = 'other'", "an instance keeps its name"),
        ("rowid = rowid + 1000", "an instance keeps its name"),
        ("table_hash = 'x'", "another definition is in force"),
        ("data = '1'", "the journal has no such step"),
    ],
)
@pytest.mark.parametrize("how", ["UPDATE", "UPDATE OR REPLACE", "UPDATE OR IGNORE"])
def test_a_step_changes_nothing_else(file: File, change: str, text: str, how: str) -> None:
    for move_ in file.table.transitions:
        if move_.source != file.table.absent:
            id, state = str(move_.source.id), str(move_.target.id)
            sql = f"{how} instance SET state = ?, version = 2, seq = (SELECT max(seq) FROM journal), {change}"
            assert file.refusal(file.journal(id, state, 2), (f"{sql} WHERE id = ?", (state, id))) == text


def test_nothing_is_deleted(file: File) -> None:
    for state in file.living:
        assert file.refusal(("DELETE FROM instance WHERE id = ?", (state,))) == "an instance is never deleted"
        assert file.refusal(("DELETE FROM journal WHERE id = ?", (state,))) == "a journal row is never deleted"
    assert file.refusal(("DELETE FROM instance", ())) == "an instance is never deleted"
    assert file.refusal(("DELETE FROM journal", ())) == "a journal row is never deleted"


COLUMNS = (
    "seq machine id event payload by event_id links state version data prev adopted would_refuse table_hash ts".split()
)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_journal_row_never_changes(file: File, column: str) -> None:
    sql = f'UPDATE OR REPLACE journal SET "{column}" = "{column}"'
    assert file.refusal((sql, ())) == "a journal row never changes"


@pytest.mark.parametrize("seq", ["max(seq)", "max(seq) + 2", "1", "0", "-1", "NULL", "-max(seq)"])
@pytest.mark.parametrize("how", ["INSERT", "REPLACE"])
def test_a_journal_row_follows_the_last_one(file: File, seq: str, how: str) -> None:
    sql, values = file.journal(file.living[0], file.living[0], 2)
    assert "INSERT" in sql and "max(seq) + 1" in sql
    forged = sql.replace("INSERT", how).replace("max(seq) + 1", seq)
    assert file.refusal((forged, values)) == "a journal row follows the last one"


def test_the_triggers_are_what_refuses(file: File) -> None:
    """Without them every one of these ways in is open: no other constraint does their work."""
    found = file.connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    gone = [(f'DROP TRIGGER "{name}"', ()) for (name,) in found]
    state = file.living[0]
    assert file.refusal(*gone, file.update(state, "nonsense", 7)) is None
    assert file.refusal(*gone, file.insert(state, "nonsense", 7, "REPLACE")) is None
    assert file.refusal(*gone, ("DELETE FROM instance", ()), ("DELETE FROM journal", ())) is None
    assert file.refusal(*gone, ("UPDATE journal SET state = 'nonsense'", ())) is None


@pytest.fixture
def lever(tmp_path: Path) -> File:
    """A file with a lever that was pulled under an event id, and whose effects wait."""
    file = File(tmp_path / "store.db", Lever)
    kernel = Kernel(SQLiteStore(tmp_path / "store.db"))
    frame = kernel.start(Frame, id="f", box="b")
    kernel.start(Lever, id="l", frame=frame, number=1, ways=frozenset())
    assert kernel.fire(Lever.ref("l"), Lever.pull(force=1, way="left"), by="me", event_id="e1").accepted
    return file


def test_an_event_id_is_bound_once(lever: File) -> None:
    sql, values = lever.journal("l", "thrown", 3)
    forged = sql.replace("INSERT", "REPLACE").replace("ts)", "ts, event_id)").replace("0\n", "0, 'e1'\n")
    assert lever.refusal((forged, values)) == "an event id is bound once"


@pytest.mark.parametrize("change", ["owner_id = 'x'", "name = 'x'", "seq = 0"])
def test_a_link_for_life_stays(lever: File, change: str) -> None:
    assert lever.refusal((f"UPDATE link SET {change}", ())) == "a link for life never changes"
    assert lever.refusal(("DELETE FROM link", ())) == "a link for life is never deleted"
    sql = "REPLACE INTO link SELECT machine, id, name, owner_machine, 'x', seq FROM link"
    assert lever.refusal((sql, ())) == "a link for life is given once"
    columns = "rowid, machine, id, name, owner_machine, owner_id, seq"
    sql = f"REPLACE INTO link ({columns}) SELECT rowid, 'x', '', '', '', '', 0 FROM link"
    assert lever.refusal((sql, ())) == "a link for life is given once"


def test_an_effect_is_taken_answered_and_otherwise_stays(lever: File) -> None:
    for column in ("rowid", "seq", "number", "effect", "machine", "id", "name", "payload"):
        tried = lever.refusal((f"UPDATE outbox SET {column} = {column}", ()))
        assert tried == "an effect is taken and answered, and never changes", column
    assert lever.refusal(("DELETE FROM outbox", ())) == "an effect is never deleted"
    assert lever.refusal(("REPLACE INTO outbox SELECT * FROM outbox", ())) == "an effect is described once"
    answer = ("UPDATE outbox SET taken_by = 't', answered = 'done'", ())
    assert lever.refusal(answer) is None
    assert lever.refusal(answer, ("UPDATE outbox SET answered = NULL", ())) == "an effect is answered once"


def test_an_instance_of_a_machine_that_no_kernel_met_is_refused(lever: File) -> None:
    sql, values = lever.insert("new", "normal", 1)
    tried = lever.refusal((sql.replace("SELECT machine", "SELECT 'stranger'"), values))
    assert tried == "no kernel has met this machine"


def test_triggers_that_were_removed_come_back(lever: File, tmp_path: Path) -> None:
    lever.connection.execute("DROP TRIGGER lever_step")
    assert lever.refusal(lever.update("l", "nonsense", 3)) is None
    kernel = Kernel(SQLiteStore(tmp_path / "store.db"))
    assert kernel.fire(Lever.ref("l"), Lever.arrived(by_itself=True)).accepted
    assert lever.refusal(lever.update("l", "nonsense", 4)) == "no transition leads to this state"


VARIED: Any = Lever.variant("silent", drop=[move], why="for the tests of stores")


def test_rows_of_another_definition_are_refused_in_one_sentence(lever: File, tmp_path: Path) -> None:
    kernel = Kernel(SQLiteStore(tmp_path / "store.db"))
    text = (
        f"store.db holds lever instances decided by definition {Lever.table.hash}, and this program's is "
        f"{VARIED.table.hash}: run the program that wrote them, or migrate the file$"
    )
    with pytest.raises(StoreError, match=text):
        kernel.fire(VARIED.ref("l"), VARIED.arrived(by_itself=True))
    with pytest.raises(StoreError, match=text):
        kernel.start(VARIED, id="another", frame=Frame.ref("f"), number=1, ways=frozenset())
    assert Kernel(SQLiteStore(tmp_path / "store.db")).fire(Lever.ref("l"), Lever.stuck()).accepted


def test_of_two_definitions_that_of_the_first_row_stays(tmp_path: Path) -> None:
    old, new = (Kernel(SQLiteStore(tmp_path / "store.db")) for _ in range(2))
    frame = old.start(Frame, id="f", box="b")
    assert new.start(VARIED, id="l", frame=frame, number=1, ways=frozenset()).accepted
    with pytest.raises(StoreError, match=f"decided by definition {VARIED.table.hash}"):
        old.start(Lever, id="l2", frame=frame, number=1, ways=frozenset())


def test_the_triggers_of_a_machine_are_made_in_the_transaction_that_meets_it(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    connection = sqlite3.connect(tmp_path / "store.db")
    made = "SELECT name FROM sqlite_master WHERE name LIKE 'bell%'"
    with store.transaction() as work:
        work.append(next(adopted(Bell)))
        assert connection.execute(made).fetchall() == []
        work.rollback()
        work.append(next(adopted(Bell)))
    assert sorted(connection.execute(made)) == [("bell_birth",), ("bell_step",)]
    found = dict(connection.execute("SELECT key, value FROM meta"))
    assert json.loads(found["leverframe"]) == 1 and found["machine bell"] == Bell.table.hash
