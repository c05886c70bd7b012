"""Lawful traces of any machines: a random walk through a small world of linked instances, written as native lines.

Each line carries every optional field, so that a test can take any of them away. What was refused is written, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from ...machines.kernel import Accepted, Kernel, Machine, MemoryStore, Ref, Refused, Request, Seen, Snapshot, step
from ...machines.kernel.fields import Field, fields_of
from ...machines.kernel.payloads import plain
from ...machines.kernel.step import absent
from .values import PRINCIPALS, values

__all__ = ["HEADER", "Walk", "component"]

HEADER: Mapping[str, Any] = {"leverframe": 1, "order": "total", "complete": True, "trace": "walk"}
_TRIES = 12


def component(machine: type[Machine]) -> tuple[type[Machine], ...]:
    """A machine and all that it links to, directly or not."""
    found = [machine]
    for one in found:
        found += [link.to for link in one.table.links.values() if link.to not in found]
    return tuple(dict.fromkeys(found))


class Walk:
    """A world of a few instances of each machine, and the steps that were made in it.

    Args:
        random: where the choices come from.
        machines: closed under links, see `component`.
        ids: the ids of the instances; every machine has one of each.
    """

    def __init__(self, random: Random, machines: Sequence[type[Machine]], ids: Sequence[str] = ("i1", "i2")) -> None:
        self.random = random
        self.kernel = Kernel(MemoryStore(), mode=dict.fromkeys(machines, "enforce"))
        self.refs = [(machine, machine.ref(id)) for machine in machines for id in ids]
        self.ids = ids
        self.lines: list[dict[str, Any]] = []
        self.written = 0

    def lawful(self, steps: int, refusals: float = 0.15, looks: float = 0.1) -> list[dict[str, Any]]:
        """Walk on, and return all lines so far.

        Args:
            steps: how many lines to write at most.
            refusals: the share of refused ones.
            looks: the share of observations.
        """
        for _ in range(steps):
            wanted = self.random.random()
            if wanted < looks:
                self._look()
            else:
                self._step(accepted=wanted >= looks + refusals)
        return self.lines

    def refused(self) -> tuple[dict[str, Any], Refused] | None:
        """A line that says of an event that it happened, and the refusal that says that it cannot have."""
        for _ in range(10 * _TRIES):
            machine, ref, request, by = self._draw()
            decision = self._decide(machine, ref, request, by)
            if isinstance(decision, Refused):
                return self._line(ref, request, by), decision
        return None

    def _step(self, accepted: bool) -> None:
        for _ in range(_TRIES):
            machine, ref, request, by = self._draw()
            if self._decide(machine, ref, request, by).accepted != accepted:
                continue
            line = self._line(ref, request, by)
            if self.kernel.fire(ref, request, by=by).accepted != accepted:
                continue  # it would have made the debt of another instance unpayable
            after = self.kernel.get(ref)
            self.lines.append({**line, **({} if accepted else {"outcome": "refused"}), **(_state(after) if after else {})})
            return

    def _look(self) -> None:
        born = [found for _, ref in self.refs if (found := self.kernel.get(ref))]
        if born:
            seen = self.random.choice(born)
            self.lines.append({"machine": seen.ref.machine, "id": seen.ref.id, **_state(seen)})

    def _draw(self) -> tuple[type[Machine], Ref, Request, Any]:
        machine, ref = self.random.choice(self.refs)
        table, snapshot = machine.table, self.kernel.get(ref)
        takes = table.takes(snapshot.state if snapshot else table.absent)
        name = self.random.choice(takes if takes and self.random.random() < 0.8 else tuple(table.events))
        known = list(self._values(machine, ref, snapshot))
        event = getattr(machine, name)
        given = {field.name: self._value(field, known) for field in table.events[name].fields}
        links = {}
        for link in table.links.values():
            if (link.per_event or name == "start") and self.random.random() < 0.9:
                links[link.name] = link.to.ref(self.random.choice(self.ids))
        return machine, ref, Request(event, event.payload(given), links), self.random.choice(PRINCIPALS)

    def _values(self, machine: type[Machine], ref: Ref, own: Snapshot[Any] | None) -> Iterator[tuple[str, Any]]:
        """The kind and value of every field of the instance and of all that it could see."""
        seen = [self.kernel.get(link.to.ref(id)) for link in machine.table.links.values() for id in self.ids]
        for snapshot in (own, *seen):
            if snapshot is not None and snapshot.data is not None:
                for field in fields_of(type(snapshot.data)):
                    yield field.kind, getattr(snapshot.data, field.name)

    def _value(self, field: Field, known: list[tuple[str, Any]]) -> Any:
        """A value that is known in the world, as often as one that need not be."""
        near = [value for kind, value in known if kind == field.kind and (value is not None or field.optional)]
        if field.kind in ("id", "ids", "epoch") and near and self.random.random() < 0.7:
            return self.random.choice(near)
        return self.random.choice(values(field))

    def _decide(self, machine: type[Machine], ref: Ref, request: Request, by: Any) -> Accepted | Refused:
        snapshot = self.kernel.get(ref) or absent(machine.table, ref)
        life = {**snapshot.links, **request.links}
        found = {name: self.kernel.get(target) for name, target in life.items()}
        links = {name: seen and Seen(seen.state, seen.data, dict(seen.tallies)) for name, seen in found.items()}
        return step(machine.table, snapshot, request, by, links)

    def _line(self, ref: Ref, request: Request, by: Any) -> dict[str, Any]:
        self.written += 1
        number = self.written
        line: dict[str, Any] = {"machine": ref.machine, "id": ref.id, "event": request.name}
        table = request.event.machine.table
        given = {name: target.id for name, target in request.links.items()}
        asked = [name for name, link in table.links.items() if link.per_event or request.name == "start"]
        if asked:
            line["links"] = {**dict.fromkeys(asked), **given}
        if request.payload is not None:
            line["payload"] = plain(request.payload)
        return {**line, "by": by, "event_id": f"e{number}", "actor": f"t{self.random.randint(1, 3)}", "ts": float(number)}


def _state(snapshot: Snapshot[Any]) -> dict[str, Any]:
    data = plain(snapshot.data) if snapshot.data is not None else None
    return {"state": str(snapshot.state.id), **({"data": data} if data else {})}


