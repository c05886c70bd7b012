"""The runtime: every change of an instance is one decided, journalled transaction."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from .ahead import Ahead
from .delivery import Delivery
from .errors import BadInput
from .fields import UNKNOWN
from .links import Link, Seen, State
from .machine import Event, Machine
from .payloads import digest, plain, unplain
from .shape import is_text
from .snapshot import Accepted, Decision, Effect, Ref, Refused, Request, Snapshot, ref_of
from .step import absent, missing, step
from .store import Entry, Store, Transaction
from .table import Table
from .waiting import Waited, wait

__all__ = ["Kernel", "Mode"]

Mode = Literal["enforce", "observe"]
_NO_MODES: Mapping[type[Machine], Mode] = {}


class Kernel:
    """Decides and remembers. Nothing else changes an instance.

    Args:
        store: where instances, journal and outbox are kept.
        mode: per machine, whether a refusal blocks ("enforce", the default) or is only answered ("observe").
        ids: makes the id of an instance that is started without one.
    """

    def __init__(
        self,
        store: Store,
        mode: Mapping[type[Machine], Mode] = _NO_MODES,
        ids: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.store = store
        self.ids = ids
        self._observed = {machine.table.name for machine, how in mode.items() if how == "observe"}
        self._tables: dict[str, Table] = {}
        self._delivery = Delivery(self.store, self._answer)
        for machine in mode:
            self._learn(machine)

    def start(
        self,
        machine: type[Machine],
        *,
        id: str | None = None,
        by: Any = None,
        event_id: str | None = None,
        **given: Any,
    ) -> Decision:
        """Bring an instance to life.

        Args:
            machine: its lifecycle.
            id: its id; made up when left out.
            by: who acts.
            event_id: makes the call idempotent: a repeat returns the first decision.
            **given: links (refs, snapshots or decisions) and the payload of the machine's `start`.

        Returns:
            this caller's own decision; `.ref` addresses the instance.
        """
        ref = machine.ref(self.ids() if id is None else id)
        return self.fire(ref, _event(machine, "start")(**given), by=by, event_id=event_id)

    def fire(self, ref: Any, request: Request, *, by: Any = None, event_id: str | None = None) -> Decision:
        """Ask one instance to take one event, in one transaction.

        Args:
            ref: the instance: a Ref, a Snapshot or a Decision.
            request: the event with its payload and per-event links.
            by: who acts, as the adapter authenticated them.
            event_id: binds the event: a repeat returns the recorded decision, another event under it is refused.

        Returns:
            this caller's own decision. Of callers that race, those whose event can no longer follow are refused.

        Raises:
            BadInput: the event belongs to another machine, or an id or `by` is none that every store can keep.
        """
        with self.store.transaction() as work:
            decision = self._decide(work, _ref(ref), request, by, event_id)
            if isinstance(decision, Refused):
                work.refuse(decision, request.name)
        if decision.accepted:
            self._delivery.follow()
        return decision

    def fire_all(
        self, fires: Sequence[tuple[Any, Request]], *, by: Any = None, event_ids: Sequence[str | None] = ()
    ) -> tuple[Decision, ...]:
        """Take several events in one transaction, all or none, each seeing the one before.

        Returns:
            a decision each. If one is refused nothing happened: the others are refused under `all-or-none`.
        """
        ids = tuple(event_ids) or (None,) * len(fires)
        decisions: list[Decision] = []
        with self.store.transaction() as work:
            for (target, request), event_id in zip(fires, ids, strict=True):
                decision = self._decide(work, _ref(target), request, by, event_id)
                decisions.append(decision)
                if isinstance(decision, Refused):
                    work.rollback()
                    work.refuse(decision, request.name)
                    break
        last = decisions[-1] if decisions else None
        if isinstance(last, Refused):
            return tuple(
                last if number == len(decisions) - 1 else _not_alone(_ref(target), last)
                for number, (target, _) in enumerate(fires)
            )
        self._delivery.follow()
        return tuple(decisions)

    def adopt(self, ref: Any, state: State, data: Any, *, why: str, links: Mapping[str, Any] | None = None) -> Decision:
        """Take a live instance into the journal as it is, marked as adopted.

        Args:
            ref: an address that has no instance yet.
            state: the state it is in.
            data: its data, of the machine's data class.
            why: what it was before.
            links: its links for life.

        Raises:
            BadInput: state, data or links are none that the machine has.
        """
        ref = _ref(ref)
        table = self._table(ref.machine)
        known = table.states.get(str(state.id)) == state and state != table.absent
        if not isinstance(data, table.data or type(None)) or not known:
            raise BadInput(f"{ref} cannot be adopted: {state!r} or {data!r} does not belong to {table.name}")
        data = unplain(table.data, table.data_fields, plain(data), table.name)
        kept = {name: _ref(value) for name, value in (links or {}).items()}
        for name, target in kept.items():
            if name not in table.links or table.links[name].per_event:
                raise BadInput(f"{ref} cannot be adopted: {table.name} has no link {name} for life")
            self._target(table.links[name], target)
        with self.store.transaction() as work:
            if work.read(table, ref) is not None:
                return Refused(ref, "adopt-once", f"{ref} is known already, and what is known is not adopted again")
            before = absent(table, ref, work.tallies(table, ref))
            after = Snapshot(ref, state, 1, data, kept, before.tallies)
            decision = Accepted(ref, before, after, f"absent adopt {state.id}")
            work.append(Entry(decision, "adopt", data, None, None, kept, table, adopted=why))
        return decision

    def get(self, ref: Any) -> Snapshot[Any] | None:
        """The instance as last committed, without a lock; None when it was never born."""
        ref = _ref(ref)
        return self.store.read(self._table(ref.machine), ref)

    def enabled(self, ref: Any) -> tuple[str, ...]:
        """The events that the instance's state could take now, guards aside."""
        snapshot = self.get(ref)
        table = self._table(_ref(ref).machine)
        return table.takes(snapshot.state if snapshot else table.absent)

    def dependents(self, owner: Any, machine: type[Machine]) -> tuple[Ref, ...]:
        """The instances of a machine that link to this one for life; fire each on its own, a crash may come between."""
        self._learn(machine)
        return self.store.dependents(_ref(owner), machine.table)

    def wait(self, ref: Any, *, until: State | Iterable[State], deadline: float | None = None) -> Waited:
        """Sleep until an instance is in one of these states, or for `deadline` seconds; loses no wake-up.

        Returns:
            `.snapshot` as it is then, and `.timed_out`.
        """
        return wait(self.store, lambda: self.get(ref), (until,) if isinstance(until, State) else tuple(until), deadline)

    def handler(self, effect: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register what performs an effect: `@kernel.handler(card)`.

        It is called with the Effect (`.payload`, `.id`) after the commit, at least once, in order per instance. What it
        returns is the payload of the `done` event (None or a dict of fields); an exception answers with `failed`, a
        TimeoutError with `unknown`. One that is interrupted (KeyboardInterrupt, SystemExit) is not answered: it is
        called again when the effect is next delivered.
        """
        return self._delivery.register(effect.__name__)

    def deliver(self) -> int:
        """Perform the effects that wait in the outbox, such as those that a crash left; returns how many.

        Raises:
            Exception: what kept an effect from being answered; calls that decide leave it to this one to say so. The
                effect is not performed again, only answered, by a later call.
        """
        return self._delivery.run()

    def _decide(self, work: Transaction, ref: Ref, request: Request, by: Any, event_id: str | None) -> Decision:
        table = self._learn(request.event.machine)
        if ref.machine != table.name:
            raise BadInput(f"{request.event} cannot be fired at {ref}: it is no event of {ref.machine}")
        if not (by is None or isinstance(by, str) or type(by) is int):
            who = f"{request.name} of {ref} is fired by {by!r:.60}"
            raise BadInput(f"{who}: a principal is named by a text or an integer")
        if not (event_id is None or is_text(event_id)):
            raise BadInput(f"{event_id!a:.60} is no event id: it is a text, and half a surrogate pair is none")
        recorded = None if event_id is None else work.recorded(event_id)
        if recorded is not None and _binds(recorded, ref, request):
            return recorded.decision
        snapshot = work.read(table, ref) or absent(table, ref, work.tallies(table, ref))
        observed = table.name in self._observed
        if recorded is None:
            decision = self._step(work, table, snapshot, request, by)
        else:
            what = f"{recorded.event} of {recorded.decision.ref}"
            decision = Refused(ref, "event-id-bound", f"event id {event_id} is bound to another event: {what}")
        if isinstance(decision, Accepted) and decision.transition:
            late = self._overdue(work, table, decision, request.name) if table.machine.debtors else None
            if late is None or observed:
                decision = attrs.evolve(decision, would_refuse=late) if late else decision
                work.append(Entry(decision, request.name, request.payload, by, event_id, request.links, table))
                return decision
            decision = late
        if isinstance(decision, Refused) and observed:
            return Accepted(ref, snapshot, snapshot, "", would_refuse=decision)
        return decision

    def _step(self, work: Transaction, table: Table, snapshot: Snapshot[Any], request: Request, by: Any) -> Decision:
        """Decide by what the links show."""
        ref = snapshot.ref
        if snapshot.state.id not in table.states:
            return Refused(ref, "unknown-state", f"{ref} is in {snapshot.state.id}, which {table.name} does not have")
        for name, target in request.links.items():
            self._target(table.links[name], target)
            if table.links[name].per_event or snapshot.state is table.absent or request.name == "start":
                continue
            if snapshot.links.get(name) != target:
                kept = snapshot.links.get(name, "nowhere")
                raise BadInput(f"{request.event}: link {name} of {ref} is for life and points to {kept}")
        seen = {}
        for name in table.reads.get((str(snapshot.state.id), request.name), ()):
            if (owner := request.links.get(name) or snapshot.links.get(name)) is not None:
                seen[name] = self._see(work, table.links[name], owner)
        decision = step(table, snapshot, request, by, seen)
        if isinstance(decision, Accepted) and decision.transition:
            for field in table.events[request.name].fields:
                if getattr(request.payload, field.name) is UNKNOWN:
                    why = f"{request.name} is refused: the kernel decides upon no unknown value"
                    return Refused(ref, "payload-known", why)
        return decision

    def _overdue(self, work: Transaction, changed: Table, decision: Accepted, event: str) -> Refused | None:
        """The refusal of a step after which another instance could no longer pay what it owes.

        Where a link points to nothing yet, that cannot be said: it is asked again of the birth of what is missing.
        """
        ahead = Ahead(work, changed, decision)
        for machine in changed.machine.debtors:
            table = self._learn(machine)
            for debtor in ahead.dependents(decision.ref, table, table.until):
                snapshot = ahead.read(table, debtor)
                until = table.until.get(str(snapshot.state.id)) if snapshot else None
                if snapshot is None or until is None:
                    continue
                seen = {name: self._see(ahead, table.links[name], target) for name, target in snapshot.links.items()}
                known = {**dict.fromkeys(table.links), **seen, "data": snapshot.data}
                if missing(table, until, known) is None and until(known) is True:
                    owed = table.owes[str(snapshot.state.id)].rule
                    why = f"{debtor} still is {snapshot.state.id}, and {table.rules[owed]}"
                    return Refused(decision.ref, owed, f"{event} is refused: {why}")
        return None

    def _see(self, work: Transaction | Ahead, link: Link, target: Ref) -> Seen[Any] | None:
        found = work.read(self._target(link, target), target)
        return None if found is None else Seen(found.state, found.data, dict(found.tallies))

    def _target(self, link: Link, target: Ref) -> Table:
        table = self._learn(link.to)
        if target.machine != table.name:
            raise BadInput(f"link {link.name} takes a {table.name}; got {target}")
        return table

    def _answer(self, effect: Effect, how: str, links: Mapping[str, Ref], given: Mapping[str, Any]) -> None:
        assert effect.ref is not None
        table = self._table(effect.ref.machine)
        done, failed, unknown, _ = table.awaited[effect.name]
        name = {"done": done, "failed": failed, "unknown": unknown}[how]
        if name is not None:
            taken = {link: target for link, target in links.items() if table.links[link].per_event}
            request = _event(table.machine, name)(**given, **taken)
            self.fire(effect.ref, request, event_id=f"effect {effect.id}")

    def _learn(self, machine: type[Machine]) -> Table:
        """The definition that this kernel runs; a variant also stands for the machine that it varies."""
        name = machine.table.name
        known = self._tables.setdefault(name, machine.table)
        if known is not machine.table and known.machine.family is not machine:
            raise BadInput(f"two machines are called {name}: one kernel runs one definition of each")
        return known

    def _table(self, machine: str) -> Table:
        """The definition of a machine that is known by name alone, as after a restart."""
        if machine not in self._tables:
            named = [cls for cls in Machine.__subclasses__() if hasattr(cls, "table") and cls.table.name == machine]
            found = [cls for cls in named if not cls.table.variant]
            if len(found) != 1:
                raise BadInput(
                    f"this kernel has met no machine {machine}, and not just one is imported: name it in mode="
                )
            self._learn(found[0])
        return self._tables[machine]


def _event(machine: type[Machine], name: str) -> Event[Any]:
    event = getattr(machine, name)
    assert isinstance(event, Event)
    return event


def _ref(value: Any) -> Ref:
    return ref_of(value, "an instance is addressed by")


def _binds(recorded: Entry, ref: Ref, request: Request) -> bool:
    """Whether an event id is bound to this very event."""
    if (recorded.decision.ref, recorded.event) != (ref, request.name):
        return False
    return digest(recorded.payload) == digest(request.payload)


def _not_alone(ref: Ref, culprit: Refused) -> Refused:
    return Refused(ref, "all-or-none", f"nothing happened to {ref}, for {culprit.message}")
