"""A row of a table of races: what named actors do, one after the other, what each is told, and what is true then.

    Race(
        "agent-doc-13",
        "two windows apply one broadcast patch",
        [
            *queued("p1", "c1"),
            barred("window 2", "lease-fenced", "p1", Fallback.watch_apply, **{**SEEN, "my_lease": False}),
            does("window 1", "p1", Fallback.watch_apply, Fallback.applied, **SEEN),
        ],
        [came_by("p1", Fallback.applied, "window 1")],
        without=Without(Fallback, drop=[for_this_editor]),
    )

It runs on a real kernel, and it can fail: on the machine `without` what protects it, one of its facts is false.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from ...machines.catalogue import MACHINES
from ...machines.checking import Begin, Checker, Record, Recorded
from ...machines.kernel import Accepted, Decision, Event, Kernel, Machine, MemoryStore, Ref, Refused, Snapshot, State, Way
from ...machines.kernel.payloads import plain
from ...machines.kernel.store import Entry
from ..generate.world import Fire, fire
from ..grounds import MemoryGround

__all__ = [
    "Fact",
    "Move",
    "Race",
    "Run",
    "Without",
    "barred",
    "came_by",
    "does",
    "emits",
    "ends",
    "happens",
    "in_order",
    "keeps",
    "only",
    "reached",
    "together",
]


@attrs.frozen(eq=False)
class Move:
    """One commit of one actor, and what the actor is told."""

    actor: str
    fires: tuple[Fire, ...]
    to: State | None = None
    """The state that the last instance is in then; None where it does not matter, or nothing changes."""
    rule: str = ""
    """Why it is refused; empty when it is accepted."""

    def __str__(self) -> str:
        return f"{self.actor}: {' + '.join(map(str, self.fires))}"

    def wrong(self, decisions: Sequence[Decision]) -> str:
        """What differs from what was expected, in words; empty when nothing does."""
        culprit = next((one for one in decisions if isinstance(one, Refused) and one.rule != "all-or-none"), None)
        if self.rule != (culprit.rule if culprit else ""):
            told = f"refused under {culprit.rule}: {culprit.message}" if culprit else "accepted"
            return f"{self} is {told}; expected {f'a refusal under {self.rule}' if self.rule else 'acceptance'}"
        last = decisions[-1]
        if self.to is not None and isinstance(last, Accepted) and last.after.state != self.to:
            return f"{self} leads to {last.after.state.id}; expected {self.to.id}"
        return ""


def does(actor: str, instance: str, event: Event[Any], to: State | None = None, /, **given: Any) -> Move:
    """The actor may do this, and it leads there; fields and links are given as to `fire`."""
    return Move(actor, (fire(instance, event, **given),), to)


def barred(actor: str, rule: str, instance: str, event: Event[Any], /, **given: Any) -> Move:
    """The actor tries this, and is refused under the rule."""
    return Move(actor, (fire(instance, event, **given),), rule=rule)


def together(actor: str, *fires: Fire, rule: str = "") -> Move:
    """Several events in one commit, all or none; with a rule, one of them is refused under it and nothing happens."""
    return Move(actor, fires, rule=rule)


class Run:
    """A race that was run: what every move was told, and what the store holds.

    Args:
        race: its moves.
        machines: varied machines that take the place of those of the same name.
    """

    def __init__(self, race: "Race", machines: Sequence[type[Machine]] = ()) -> None:
        self.store = MemoryStore()
        self.told: list[tuple[Move, tuple[Decision, ...]]] = []
        self.names: dict[str, Ref] = {}
        self.machines: dict[str, type[Machine]] = {}
        self.actors: dict[int, str] = {}
        self._varied = {machine.table.name: machine for machine in machines}
        kernel = Kernel(self.store)
        for move in race.moves:
            fires = [self._ask(one) for one in move.fires]
            before = len(self.store.journal)
            self.told.append((move, kernel.fire_all([(one.ref, one.request()) for one in fires], by=move.actor)))
            self.actors.update(dict.fromkeys(range(before, len(self.store.journal)), move.actor))

    def _ask(self, asked: Fire) -> Fire:
        name = asked.event.machine.table.name
        machine = self.machines.setdefault(name, self._varied.get(name, asked.event.machine))
        ref = self.names.setdefault(asked.instance, asked.ref)
        assert ref == asked.ref, f"{asked.instance} is a {ref.machine} and a {name}: give it two names"
        return fire(asked.instance, getattr(machine, asked.event.name), **asked.given)

    def now(self, instance: str) -> Snapshot[Any] | None:
        """An instance at the end; None when it was never born."""
        ref = self.names.get(instance)
        return self.store.read(self.machines[ref.machine].table, ref) if ref else None

    def entries(self, instance: str | None = None, event: str | None = None) -> list[Entry]:
        """The journal, or what it has of an instance and an event."""
        return [entry for _, entry in self.numbered(instance) if event in (None, entry.event)]

    def numbered(self, instance: str | None = None) -> Iterator[tuple[int, Entry]]:
        """The journal with the place of each entry."""
        for number, entry in enumerate(self.store.journal):
            if instance in (None, entry.decision.ref.id):
                yield number, entry

    def arrival(self, instance: str, state: State) -> int | None:
        """The place in the journal where an instance first came into a state."""
        return next((number for number, entry in self.numbered(instance) if _came(entry, state)), None)

    def unlawful(self) -> Iterator[str]:
        """What conformance has against the journal, and against what was accepted and refused; it must be nothing."""
        for what, records in (("the journal", MemoryGround(self.store).journal()), ("what was told", self._calls())):
            checker = Checker({**MACHINES, **self.machines}, Begin(what, complete=True))
            for record in records:
                checker.feed(record)
            report = checker.finish()
            yield from (f"{what} breaks {found.rule}: {found.message}" for found in report.violations)
            if report.note:
                yield f"{what} cannot be judged: {report.note}"

    def _calls(self) -> Iterator[Recorded]:
        """Every move as a record with its outcome; of those in one commit only what was accepted."""
        for move, decisions in self.told:
            if len(decisions) > 1 and move.rule:
                continue
            for one, decision in zip(map(self._ask, move.fires), decisions, strict=True):
                request = one.request()
                links = {name: target.id for name, target in request.links.items()}
                outcome = "accepted" if decision.accepted else "refused"
                payload = plain(request.payload)
                yield Record(
                    one.ref.machine, one.ref.id, request.name, payload, links, by=move.actor, outcome=outcome
                )


def _came(entry: Entry, state: State) -> bool:
    """A step that leads an instance into a state from another one."""
    return entry.decision.after.state == state != entry.decision.before.state


@attrs.frozen(eq=False)
class Fact:
    """Something that is true of a run, or false."""

    text: str
    holds: Callable[[Run], bool]


def ends(instance: str, state: State | None, **data: Any) -> Fact:
    """The instance is in this state at the end, with these values in its data; with None it was never born."""

    def holds(run: Run) -> bool:
        now = run.now(instance)
        if now is None or state is None:
            return now is state
        return now.state == state and all(getattr(now.data, name) == value for name, value in data.items())

    said = f" with {', '.join(f'{name}={value}' for name, value in data.items())}" if data else ""
    return Fact(f"{instance} ends as {state.id if state else 'unborn'}{said}", holds)


def keeps(instance: str, **data: Any) -> Fact:
    """Every step of the instance leaves these values in its data."""

    def holds(run: Run) -> bool:
        steps = [entry.decision.after.data for entry in run.entries(instance)]
        return all(getattr(step, name) == value for step in steps for name, value in data.items())

    return Fact(f"{instance} never has another {' or '.join(data)}", holds)


def reached(state: State, times: int, *instances: str) -> Fact:
    """So many times one of these instances came into the state."""

    def holds(run: Run) -> bool:
        return sum(_came(entry, state) for name in instances for entry in run.entries(name)) == times

    return Fact(f"{' or '.join(instances)} comes into {state.id} {times} times", holds)


def came_by(instance: str, state: State, actor: str) -> Fact:
    """It was this actor, and nobody else, who brought the instance into the state."""

    def holds(run: Run) -> bool:
        return [run.actors[number] for number, entry in run.numbered(instance) if _came(entry, state)] == [actor]

    return Fact(f"{instance} comes into {state.id} by {actor} alone", holds)


def happens(instance: str, event: Event[Any], times: int) -> Fact:
    """The instance took the event so many times."""
    return Fact(
        f"{instance} takes {event.name} {times} times", lambda run: len(run.entries(instance, event.name)) == times
    )


def only(instance: str, event: Event[Any], **given: Any) -> Fact:
    """Whenever the instance took the event, its payload had these values."""

    def holds(run: Run) -> bool:
        taken = [entry.payload for entry in run.entries(instance, event.name)]
        return all(getattr(payload, name) == value for payload in taken for name, value in given.items())

    said = ", ".join(f"{name}={value}" for name, value in given.items())
    return Fact(f"{instance} takes {event.name} only with {said}", holds)


def in_order(*arrivals: tuple[str, State]) -> Fact:
    """The instances came into these states, in this order."""

    def holds(run: Run) -> bool:
        places = [run.arrival(*arrival) for arrival in arrivals]
        known = [place for place in places if place is not None]
        return len(known) == len(places) and known == sorted(known)

    return Fact(", then ".join(f"{instance} {state.id}" for instance, state in arrivals), holds)


def emits(effect: Callable[..., Any], times: int, *instances: str) -> Fact:
    """The effect was given out so many times, by these instances together."""

    def holds(run: Run) -> bool:
        made = [one.name for name in instances for entry in run.entries(name) for one in entry.decision.effects]
        return made.count(effect.__name__) == times

    return Fact(f"{' and '.join(instances)} give out {effect.__name__} {times} times", holds)


@attrs.frozen(eq=False)
class Without:
    """The machine without what protects a race."""

    machine: type[Machine]
    drop: Sequence[Any] = ()
    """Guards, or (state, event) pairs."""
    add: Sequence[Way] = ()
    replace: Mapping[Callable[..., Any], Callable[..., Any]] | None = None

    def variant(self) -> type[Machine]:
        why = "to see the race lost"
        return self.machine.variant("unprotected", drop=self.drop, add=self.add, replace=self.replace, why=why)


@attrs.frozen(eq=False)
class Race:
    """A row; several races may share one, and a row that cannot be run yet says what it needs."""

    id: str
    """`agent-doc-13`: row 13 of the page of agent-doc's races."""
    name: str
    moves: Sequence[Move] = ()
    facts: Sequence[Fact] = ()
    """The required outcome."""
    without: Without | None = None
    note: str = ""
    """The part of the required outcome that no machine of today decides."""
    needs: str = ""
    """The machine of part 2, or the adapter, without which nothing of the row can be said."""

    def false(self, run: Run) -> Iterable[str]:
        """The facts that are false."""
        return [fact.text for fact in self.facts if not fact.holds(run)]
