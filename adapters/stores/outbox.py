"""The outbox in SQLite: effects leave in order per instance, each claimed by one living process at a time."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from ...machines.kernel import Effect, Ref
from ...machines.kernel.store import Pending
from . import texts
from .connections import Connections
from .takers import Takers

__all__ = ["Outbox", "described", "put"]

_PUT = "INSERT INTO outbox (seq, number, effect, machine, id, name, payload) VALUES (?, ?, ?, ?, ?, ?, ?)"
_DESCRIBED = "SELECT name, payload, effect FROM outbox WHERE seq = ? ORDER BY number"
_FIRST = """
    SELECT o.rowid, o.taken_by, o.name, o.payload, o.effect, o.machine, o.id, j.links
    FROM outbox o JOIN journal j ON j.seq = o.seq
    WHERE o.answered IS NULL AND o.taken_by IS {claimed} NULL AND o.name IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (
        SELECT 1 FROM outbox p
        WHERE p.answered IS NULL AND p.machine = o.machine AND p.id = o.id AND p.rowid < o.rowid
    )
    ORDER BY o.seq, o.number"""
_WAITING, _CLAIMED = _FIRST.format(claimed=""), _FIRST.format(claimed="NOT")
_TAKE = "UPDATE outbox SET taken_by = ? WHERE rowid = ? AND taken_by IS ? AND answered IS NULL"
_CLAIM = "answered IS NULL AND machine = ? AND id = ? AND effect = ? AND taken_by = ?"
_SETTLE = f"UPDATE outbox SET answered = ? WHERE {_CLAIM}"
_RELEASE = f"UPDATE outbox SET taken_by = NULL WHERE {_CLAIM}"


def put(connection: sqlite3.Connection, seq: int, ref: Ref, effects: Iterable[Effect]) -> None:
    """Add what the journal row `seq` described."""
    for number, effect in enumerate(effects):
        payload = texts.write_effect(effect.name, ref, effect.payload)
        connection.execute(_PUT, (seq, number, effect.id, ref.machine, ref.id, effect.name, payload))


def described(connection: sqlite3.Connection, seq: int, ref: Ref) -> tuple[Effect, ...]:
    """What the journal row `seq` described."""
    found = connection.execute(_DESCRIBED, (seq,))
    return tuple(Effect(name, texts.read(payload), id, ref) for name, payload, id in found)


class Outbox:
    """Claims and answers. An effect whose taker died is waiting again."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.takers = Takers(connections.path)

    def take(self, taker: str, names: Iterable[str]) -> Pending | None:
        wanted = texts.write_names(names)
        while (found := self._first(wanted)) is not None:
            rowid, claimed, name, payload, effect, machine, id, links = found
            with self.connections.aside() as connection:
                won = connection.execute(_TAKE, (self.takers.hold(taker), rowid, claimed)).rowcount
            if won:
                return Pending(Effect(name, texts.read(payload), effect, Ref(machine, id)), texts.read_links(links))
        return None

    def release(self, pending: Pending, taker: str) -> None:
        with self.connections.aside() as connection:
            connection.execute(_RELEASE, self._claim(pending.effect, taker))

    def settle(self, pending: Pending, taker: str, answer: str) -> None:
        with self.connections.aside() as connection:
            connection.execute(_SETTLE, (answer, *self._claim(pending.effect, taker)))

    def _claim(self, effect: Effect, taker: str) -> tuple[str, ...]:
        assert effect.ref is not None
        return effect.ref.machine, effect.ref.id, effect.id, self.takers.name(taker)

    def _first(self, wanted: str) -> Any:
        with self.connections.told():
            waiting = self.connections.read(_WAITING, (wanted,)).fetchone()
            if waiting is not None:
                return waiting
            claimed = self.connections.read(_CLAIMED, (wanted,)).fetchall()
            return next((row for row in claimed if self.takers.gone(row[1])), None)
