"""Lawful traces of any machines: a random walk through a small world of linked instances, written as native lines.

Each line carries every optional field, so that a test can take any of them away. What was refused is written, too.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from ...machines.kernel import Accepted, Kernel, Machine, MemoryStore, Ref, Refused, Request, Seen, Snapshot, step
from ...machines.kernel.fields import Field, fields_of
from ...machines.kernel.payloads import plain
from ...machines.kernel.step import absent
from ...machines.kernel.store import Store
from .values import PRINCIPALS, values

__all__ = ["HEADER", "Walk", "component"]

HEADER: Mapping[str, Any] = {"leverframe": 1, "order": "total", "complete": True, "trace": "walk"}
_TRIES = 8
"""Instances and events that are tried for a step,"""
_DRAWS = 16
"""and payloads with links for each of them."""


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
        machines: closed under links, see `component`; the first takes more steps than the others.
        store: where they are kept; in memory when left out.
        ids: the ids of the instances; every machine has one of each.
    """

    def __init__(
        self,
        random: Random,
        machines: Sequence[type[Machine]],
        store: Store | None = None,
        ids: Sequence[str] = ("i1", "i2"),
    ) -> None:
        self.random = random
        self.kernel = Kernel(store or MemoryStore(), mode=dict.fromkeys(machines, "enforce"))
        self.refs = [(machine, machine.ref(id)) for machine in machines for id in ids]
        self.fired: Counter[tuple[str, str, str]] = Counter()
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
            machine, ref, name = self._choose()
            request, by = self._draw(machine, ref, name)
            decision = self._decide(machine, ref, request, by)
            if isinstance(decision, Refused):
                return self._line(ref, request, by), decision
        return None

    def _step(self, accepted: bool) -> None:
        for _ in range(_TRIES):
            machine, ref, name = self._choose()
            best = self._best(machine, ref, name, accepted)
            if best is None:
                continue
            request, by = best
            line = self._line(ref, request, by)
            if self.kernel.fire(ref, request, by=by).accepted != accepted:
                continue  # it would have made the debt of another instance unpayable
            after = self.kernel.get(ref)
            self.lines.append(
                {**line, **({} if accepted else {"outcome": "refused"}), **(_state(after) if after else {})}
            )
            return

    def _look(self) -> None:
        born = [found for _, ref in self.refs if (found := self.kernel.get(ref))]
        if born:
            seen = self.random.choice(born)
            self.lines.append({"machine": seen.ref.machine, "id": seen.ref.id, **_state(seen)})

    def _choose(self) -> tuple[type[Machine], Ref, str]:
        """An instance and an event, rather one that was not tried in this state before, and rather no end."""
        machine, ref = self.random.choice(self.refs[: len(self.ids)] if self.random.random() < 0.3 else self.refs)
        table, snapshot = machine.table, self.kernel.get(ref)
        state = snapshot.state if snapshot else table.absent
        takes = table.takes(state)
        if not takes or self.random.random() < 0.15:
            return machine, ref, self.random.choice(tuple(table.events))
        weights = []
        for event in takes:
            ends = all(way.target.final for way in table.moves.get((str(state.id), event), ()))
            weights.append((0.2 if ends else 1.0) / (1 + self.fired[table.name, str(state.id), event]) ** 2)
        (name,) = self.random.choices(takes, weights)
        self.fired[table.name, str(state.id), name] += 1
        return machine, ref, name

    def _draw(self, machine: type[Machine], ref: Ref, name: str) -> tuple[Request, Any]:
        table, snapshot = machine.table, self.kernel.get(ref)
        event = getattr(machine, name)
        links = {}
        for link in table.links.values():
            if (link.per_event or name == "start") and self.random.random() < 0.9:
                links[link.name] = self._target(link.to)
        kept = snapshot.links.values() if snapshot else ()
        known = [one for target in (ref, *kept, *links.values()) for one in self._values(target)]
        given = {field.name: self._value(field, known) for field in table.events[name].fields}
        return Request(event, event.payload(given), links), self.random.choice(PRINCIPALS)

    def _best(self, machine: type[Machine], ref: Ref, name: str, accepted: bool) -> tuple[Request, Any] | None:
        """The first that comes out as wanted; of births the most promising of a few."""
        drawn = (self._draw(machine, ref, name) for _ in range(_DRAWS))
        found = (one for one in drawn if self._decide(machine, ref, *one).accepted == accepted)
        if name != "start" or not accepted:
            return next(found, None)
        return max(islice(found, 8), key=lambda one: self._promise(machine, ref, *one), default=None)

    def _promise(self, machine: type[Machine], ref: Ref, request: Request, by: Any) -> int:
        """How much could follow a birth: a lease that was asked for in vain is no start of a long life."""
        decision = self._decide(machine, ref, request, by)
        if not isinstance(decision, Accepted):
            return 0
        born = decision.after
        names = machine.table.takes(born.state)
        then = (self._decide(machine, ref, *self._draw(machine, ref, name), born) for name in names * 2)
        return sum(isinstance(one, Accepted) and not one.after.state.final for one in then)

    def _target(self, machine: type[Machine]) -> Ref:
        """An instance to link to, rather one that lives."""
        refs = [machine.ref(id) for id in self.ids]
        alive = [ref for ref in refs if (found := self.kernel.get(ref)) and not found.state.final]
        return self.random.choice(alive if alive and self.random.random() < 0.8 else refs)

    def _values(self, ref: Ref) -> Iterator[tuple[str, Any]]:
        """The kind and value of every field of an instance."""
        found = self.kernel.get(ref)
        if found is not None and found.data is not None:
            for field in fields_of(type(found.data)):
                yield field.kind, getattr(found.data, field.name)

    def _value(self, field: Field, known: list[tuple[str, Any]]) -> Any:
        """A value that is known in the world, as often as one that need not be."""
        near = [value for kind, value in known if kind == field.kind and (value is not None or field.optional)]
        if field.kind in ("id", "ids", "epoch") and near and self.random.random() < 0.7:
            return self.random.choice(near)
        return self.random.choice(values(field))

    def _decide(
        self, machine: type[Machine], ref: Ref, request: Request, by: Any, snapshot: Snapshot[Any] | None = None
    ) -> Accepted | Refused:
        snapshot = snapshot or self.kernel.get(ref) or absent(machine.table, ref)
        life = {**snapshot.links, **request.links}
        found = {name: self.kernel.get(target) for name, target in life.items()}
        links = {n: None if one is None else Seen(one.state, one.data, dict(one.tallies)) for n, one in found.items()}
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
        return {
            **line,
            "by": by,
            "event_id": f"e{number}",
            "actor": f"t{self.random.randint(1, 3)}",
            "ts": float(number),
        }


def _state(snapshot: Snapshot[Any]) -> dict[str, Any]:
    data = plain(snapshot.data) if snapshot.data is not None else None
    return {"state": str(snapshot.state.id), **({"data": data} if data else {})}
