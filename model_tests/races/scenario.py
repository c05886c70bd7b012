"""The form of Turnstone's race rows: who does what in which order, what each is told, and what must be true at the end.

    Race(
        "turnstone-17",
        "Double resolution",
        [*chat(), *prompt("K1"), *leased(ANN, "one"), *leased(ANN, "two")],
        [
            ANN.does(no("K1", "one")),
            ANN.may_not("approval-resolved-once", yes("K1", "two")),
            SCREEN.delivers(),
        ],
        [is_in("K1", Approval.told, outcome=Outcome.DENIED), showed("K1 card", "K1 denied")],
    )

Written by hand from lifecycles/turnstone-races.md and never read by the product; `test_races` runs each on a real
kernel and counts them against the page. A row that says `||` has one race for each order. Effects are delivered when
the surfaces say so, in the middle of a race too, and a transport may break.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from ...machines.approval import Approval, announce, card
from ...machines.checking import Record
from ...machines.kernel import (
    Accepted,
    BadInput,
    Decision,
    Effect,
    Kernel,
    Machine,
    MemoryStore,
    Ref,
    Request,
    Way,
)
from ...machines.kernel.kernel import Mode
from ...machines.kernel.payloads import plain
from ...machines.session import Session, signal
from ..generate.world import Fire, fire
from ..grounds import MemoryGround

__all__ = ["Arena", "Fact", "Later", "Move", "Race", "Who", "Without"]

ACCEPTED, SETTLED, BAD = "accepted", "already done", "bad input"


class Move(Protocol):
    """One thing that somebody does."""

    def play(self, arena: "Arena") -> None: ...


@attrs.frozen
class Who:
    """Somebody who moves, as an adapter would authenticate them."""

    name: str
    by: Any = None

    def does(self, *fires: Fire) -> Move:
        """Fires, in one transaction if these are several, and it happens."""
        return _Fires(self, fires, ACCEPTED)

    def repeats(self, *fires: Fire) -> Move:
        """Fires what has been done already: accepted, and nothing changes."""
        return _Fires(self, fires, SETTLED)

    def may_not(self, rule: str, *fires: Fire) -> Move:
        """Fires and is refused under a rule; of several fires nothing happens."""
        return _Fires(self, fires, rule)

    def cannot_say(self, *fires: Fire) -> Move:
        """Wants what no request can say."""
        return _Fires(self, fires, BAD)

    def delivers(self, *broken: str) -> Move:
        """Performs all effects that wait; for the instances named the transport breaks."""
        return _Delivers(self, frozenset(broken))

    def claims(self, *cycles: str) -> Move:
        """Cancels every cycle of the session, one fire each, as a sweep does; only those named are taken."""
        return _Claims(self, cycles)

    def looks(self, at: Callable[[Kernel], Any], finds: Any) -> Move:
        """Looks something up, as a handler does that pins what it found."""
        return _Looks(self, at, finds)


@attrs.frozen
class _Fires:
    who: Who
    fires: tuple[Fire, ...]
    told: str

    def play(self, arena: "Arena") -> None:
        arena.expect(f"{self.who.name}: {', '.join(map(str, self.fires))}", arena.fire(self.who, self.fires), self.told)


@attrs.frozen
class _Delivers:
    who: Who
    broken: frozenset[str]

    def play(self, arena: "Arena") -> None:
        arena.log.append(f"{self.who.name} deliver")
        arena.deliver(self.broken)


@attrs.frozen
class _Claims:
    who: Who
    cycles: tuple[str, ...]

    def play(self, arena: "Arena") -> None:
        found = [ref.id for ref in arena.kernel.dependents(Session.ref("session"), Approval)]
        told = {id: arena.fire(self.who, (fire(id, Approval.cancel),)) for id in found}
        claimed = tuple(id for id in found if told[id] == ACCEPTED)
        arena.expect(f"{self.who.name}: cancel {told}", str(claimed), str(self.cycles))


@attrs.frozen
class _Looks:
    who: Who
    at: Callable[[Kernel], Any]
    finds: Any

    def play(self, arena: "Arena") -> None:
        arena.expect(f"{self.who.name} looks", str(self.at(arena.kernel)), str(self.finds))


@attrs.frozen
class Fact:
    """Something that must be true at the end."""

    about: str
    found: Callable[["Arena"], Any]
    wanted: Any

    def broken(self, arena: "Arena") -> str:
        """What is found instead; empty when it is true."""
        found = self.found(arena)
        return "" if found == self.wanted else f"{self.about}: {found}, and must be {self.wanted}"


@attrs.frozen
class Without:
    """A machine without some of its guards: the required outcome of a race must not survive it."""

    machine: type[Machine]
    guards: Sequence[Any] = ()
    """What to drop: guards, updates, or (state, event) pairs."""
    replace: Mapping[Callable[..., Any], Callable[..., Any]] = attrs.field(factory=dict)
    add: Sequence[Way] = ()

    @property
    def name(self) -> str:
        gone = [*self.guards, *self.replace, *(way.event for way in self.add)]
        return "-".join(getattr(one, "__name__", str(one)) for one in gone)

    def variant(self) -> type[Machine]:
        why = "to see that the guard is needed"
        name = f"without {self.name}"
        return self.machine.variant(name, drop=self.guards, replace=self.replace, add=self.add, why=why)


@attrs.frozen
class Race:
    """A race row in one order."""

    id: str
    """`turnstone-17`: the row of the page; several orders share it."""
    name: str
    opening: Sequence[Move]
    moves: Sequence[Move]
    end: Sequence[Fact]
    """The required outcome, apart from what each mover is told."""
    order: str = ""
    without: Sequence[Without] = ()
    later: str = ""
    """What the row requires beyond this, and the machine of part 2 that it needs: `verdict: stamped once`."""

    @property
    def label(self) -> str:
        return f"{self.id}-{self.order}" if self.order else self.id


@attrs.frozen
class Later:
    """A race row of which nothing can be said yet."""

    id: str
    name: str
    machine: str


class Arena:
    """A kernel on an empty memory store, what everybody was told, and what the surfaces showed.

    Args:
        varied: a machine to run in place of the one whose name it has; what movers are told is then not checked.
    """

    def __init__(self, varied: type[Machine] | None = None) -> None:
        self.varied = varied
        self.strict = True
        self.ground = MemoryGround(MemoryStore())
        mixed: dict[type[Machine], Mode] = {} if varied is None else {varied: "enforce"}
        self.kernel = Kernel(self.ground.store, mixed)
        surfaces: dict[type[Machine], Mode] = {self._as_run(machine): "enforce" for machine in (Approval, Session)}
        self._surfaces = Kernel(self.ground.store, {**mixed, **surfaces})
        self._broken: frozenset[str] = frozenset()
        for effect in (card, announce, signal):
            self._surfaces.handler(effect)(self._show)
        self.screen: list[str] = []
        """What the surfaces were asked to show of cards, in order."""
        self.signals: list[int] = []
        self.log: list[str] = []
        self.records: list[Record] = []
        """The journal, with every request that was refused or changed nothing at its place."""
        self.told: dict[int, str] = {}
        """What the one who fired was told, by the line of each such request."""
        self._journalled = 0

    def run(self, race: Race) -> None:
        """Play a race; its facts are left to ask.

        Raises:
            AssertionError: somebody was told something else than the row says; the text has all that happened.
        """
        for move in race.opening:
            move.play(self)
        self.strict = self.varied is None
        for move in race.moves:
            move.play(self)

    def expect(self, what: str, told: str, wanted: str) -> None:
        self.log.append(f"{what}: {told}")
        happened = "\n".join(self.log)
        assert told == wanted or not self.strict, f"{happened}\n... and must be: {wanted}"

    def fire(self, who: Who, fires: Sequence[Fire]) -> str:
        """What the one who fired is told: accepted, already done, bad input, or the rule of the refusal."""
        try:
            requests = [(one.ref, self._request(one)) for one in fires]
        except BadInput:
            return BAD
        decisions = self.kernel.fire_all(requests, by=who.by)
        self._follow()
        told = _told(decisions)
        if len(requests) == 1 and told != ACCEPTED:
            self._keep(_record(*requests[0], who.by, "accepted" if told == SETTLED else "refused"))
            self.told[len(self.records)] = told
        return told

    def deliver(self, broken: frozenset[str]) -> None:
        self._broken = broken
        self._surfaces.deliver()
        self._follow()

    def went(self, id: str) -> list[str]:
        """The events that an instance took, oldest first."""
        return [entry.event for entry in self.ground.store.journal if entry.decision.ref.id == id]

    def now(self, id: str) -> Any:
        """The snapshot of an instance; None when it was never born."""
        refs = (entry.decision.ref for entry in self.ground.store.journal)
        ref = next((ref for ref in refs if ref.id == id), None)
        return ref and self.kernel.get(ref)

    def _as_run(self, machine: type[Machine]) -> type[Machine]:
        return self.varied if self.varied is not None and self.varied.table.name == machine.table.name else machine

    def _request(self, asked: Fire) -> Request:
        return attrs.evolve(asked, event=getattr(self._as_run(asked.event.machine), asked.event.name)).request()

    def _show(self, effect: Effect) -> Any:
        assert effect.ref is not None
        if effect.name == signal.__name__:
            self.signals.append(effect.payload)
            return None
        self.screen.append(f"{effect.ref.id} {effect.payload['text'] or 'card'}")
        if effect.ref.id in self._broken:
            raise ConnectionError("the transport is broken")
        return {"approved": effect.payload["approved"]} if effect.name == announce.__name__ else None

    def _follow(self) -> None:
        """Keep what the journal has got since."""
        rows = list(self.ground.journal())
        for row in rows[self._journalled :]:
            assert isinstance(row, Record)
            self._keep(row)
        self._journalled = len(rows)

    def _keep(self, record: Record) -> None:
        self.records.append(attrs.evolve(record, line=len(self.records) + 1))


def _told(decisions: Sequence[Decision]) -> str:
    for decision in decisions:
        if not isinstance(decision, Accepted) and decision.rule != "all-or-none":
            return decision.rule
    changed = any(isinstance(decision, Accepted) and decision.transition for decision in decisions)
    return ACCEPTED if changed else SETTLED


def _record(ref: Ref, request: Request, by: Any, outcome: str) -> Record:
    links = {name: target.id for name, target in request.links.items()}
    return Record(ref.machine, ref.id, request.name, plain(request.payload), links, by=by, outcome=outcome)
