"""Whether a trace is a behaviour of the machines: one pass, one belief an instance, no verdict of its own.

Hidden moves, open calls and unknown fields are one mechanism: the set of candidates that an instance may be in. Linked
sets are narrowed by what was accepted and never multiplied, so a violation is reported only when no candidate is left.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..kernel.errors import BadInput
from ..kernel.fields import UNKNOWN, read_value
from ..kernel.links import Seen
from ..kernel.machine import Machine
from .belief import Belief, Candidate, Cell
from .blame import Blame, explain, observed
from .instance import Call, Instance
from .lane import Lane, Plan, Result
from .possible import Ask, TooMany, outcomes
from .record import Begin, Recorded, Report, Verdict, Violation

__all__ = ["Checker"]

_NONE: Mapping[str, Any] = {}
_BUDGET = 4096
"""Candidates an instance, above which a verdict is undecided."""


class Checker:
    """Judges one trace, record by record.

    Args:
        machines: the lifecycles by name.
        begin: what the reader says about the trace.
    """

    def __init__(self, machines: Mapping[str, type[Machine]], begin: Begin) -> None:
        self.begin = begin
        self.lanes = {name: Lane(machine) for name, machine in machines.items()}
        self.violations: list[Violation] = []
        self.not_checked = set(begin.not_checked)
        self.undecided = ""
        self.events = 0
        self.actors: set[str] = set()

    def feed(self, record: Recorded) -> None:
        """Take the next record of the trace.

        Raises:
            BadInput: the record names an unknown machine, event or field, or a value of another type.
        """
        lane = self.lanes.get(record.machine)
        if lane is None:
            raise BadInput(f"unknown machine {record.machine!r}; known: {', '.join(sorted(self.lanes))}")
        instance = lane.instances.get(record.id)
        if instance is None:
            instance = self._meet(lane, record)
        if record.actor is not None and not self.begin.total:
            self.actors.add(record.actor)
        if record.event is not None:
            self.events += 1
        if instance.belief is lane.beliefs.poisoned:
            return  # it broke a rule before: what follows is a consequence
        try:
            if record.event is None:
                self._settle(instance)
                self._observe(instance, record)
            else:
                self._event(lane, instance, record, lane.plan(record.event))
        except TooMany as many:
            self.undecided = self.undecided or f"line {record.line}: {instance.ref}: {many}"
            self._poison(instance)

    def finish(self) -> Report:
        """The verdict, now that the trace is over."""
        debts = tuple(debt for lane in self.lanes.values() for debt in lane.debts())
        note = self.undecided
        if len(self.actors) > 1:
            note = "the order of different actors is not given, so no order of their events can be ruled out"
        verdict: Verdict = "violation" if self.violations else "undecided" if note else "incomplete" if debts else "ok"
        return Report(
            self.begin.trace,
            verdict,
            sum(len(lane.instances) for lane in self.lanes.values()),
            self.events,
            tuple(self.violations),
            open=debts,
            not_checked=tuple(sorted(self.not_checked - {violation.rule for violation in self.violations})),
            note=note,
        )

    def _meet(self, lane: Lane, record: Recorded) -> Instance:
        born = record.event == "start" or (self.begin.complete and not record.adopted)
        instance = Instance(lane, record.id, lane.beliefs.unborn if born else lane.beliefs.slice)
        lane.instances[record.id] = instance
        if record.adopted:
            self._attach(instance, record.links or _NONE)
        return instance

    def _find(self, machine: str, id: str) -> Instance:
        """A linked instance; one that was never seen is unborn in a complete trace, and may be anything in a slice."""
        lane = self.lanes[machine]
        found = lane.instances.get(id)
        if found is None:
            found = Instance(lane, id, lane.beliefs.unborn if self.begin.complete else lane.beliefs.anything)
            lane.instances[id] = found
        return found

    # --- events -----------------------------------------------------------------------------------------------------

    def _event(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan) -> None:
        refused = record.outcome == "refused"
        if record.event_id is not None and not refused and self._repeated(instance, record, plan.name):
            return
        if record.phase is not None:
            if record.phase == "return":
                self._return(instance, record)
            else:
                self._invoke(instance, record, self._call(lane, instance, record, plan))
            return
        if instance.busy is not None:
            self._settle(instance)
        key = self._key(instance, record, plan, refused)
        result = lane.memo.get(key)
        if result is None:
            result = self._work_out(instance, self._call(lane, instance, record, plan), refused)
            if result.after is None:
                self.not_checked |= result.open
                self._impossible(instance, record, self._call(lane, instance, record, plan), refused)
                return
            if key is not None:
                lane.memo[key] = result
        if result.rare:
            self._open_and_narrow(lane, instance, record, result)
        after = result.after
        assert after is not None
        if plan.birth and not refused:
            self._attach(instance, record.links or _NONE)
        if after is not instance.belief:
            self._change(instance, after, instance.state_line if refused else record.line)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)
        if instance.busy is not None and instance.busy.debtors:
            self._overdue(instance, record)

    def _key(self, instance: Instance, record: Recorded, plan: Plan, refused: bool) -> Any:
        """What the outcome depends on, by identity where it is interned; None when it cannot be remembered."""
        payload = record.payload
        if payload is not None and payload.__class__ is not bytes:
            return None
        by = record.by if plan.by else None
        tallies = instance.tallies if plan.tallies else None
        if not plan.links:
            return instance.belief, plan, payload, refused, by, tallies
        key: list[Any] = [instance.belief, plan, payload, refused, by, tallies]
        given = record.links or _NONE
        for name, machine, place in plan.links:
            target: Any
            if name in given:
                id = given[name]
                target = None if id is None else self.lanes[machine].instances.get(id) or self._find(machine, id)
            else:
                target = instance.links[place] if place >= 0 else UNKNOWN
            if target.__class__ is Instance:
                if target.busy is not None:
                    self._settle(target)
                key += (target.belief, target.tallies)
            else:
                key.append(target)
        return tuple(key)

    def _open_and_narrow(self, lane: Lane, instance: Instance, record: Recorded, result: Result) -> None:
        self.not_checked |= result.open
        if result.narrowed:
            links = self._links(lane, instance, record)
            for link, belief in result.narrowed:
                self._change(links[link], belief, links[link].state_line)

    def _target(self, lane: Lane, name: str, id: Any) -> Instance:
        link = lane.table.links.get(name)
        if link is None:
            raise BadInput(f"{lane.table.name} has no link {name!r}; its links are {', '.join(lane.table.links) or 'none'}")
        if not isinstance(id, str):
            raise BadInput(f"link {name} takes an id; got {id!r}")
        return self._find(link.to.table.name, id)

    def _links(self, lane: Lane, instance: Instance, record: Recorded) -> dict[str, Any]:
        """Each link that is known now: the instance's own for life, and those given with the record."""
        links = instance.life()
        for name, id in (record.links or {}).items():
            target = None if id is None else self._target(lane, name, id)
            links[name] = target
        for name in links:
            if name not in lane.table.links:
                raise BadInput(f"{lane.table.name} has no link {name!r}; its links are {', '.join(lane.table.links) or 'none'}")
        return links

    def _call(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan) -> Call:
        by = UNKNOWN if record.by is None else record.by
        return Call(lane.request(plan.name, record.payload), by, self._links(lane, instance, record), record.line)

    def _attach(self, instance: Instance, given: Mapping[str, Any]) -> None:
        """Point the links for life where the birth says."""
        lane = instance.lane
        links: list[Any] = []
        for name, machine in lane.targets:
            id = given.get(name, UNKNOWN)
            links.append(self.lanes[machine].instances.get(id) or self._find(machine, id) if id.__class__ is str else id)
        instance.links = tuple(links)
        if lane.table.until:
            for target in links:
                if isinstance(target, Instance):
                    target.occupied().debtors[instance] = None

    def _ask(self, instance: Instance, call: Call) -> Ask:
        links = {}
        for name in instance.table.links:
            target = call.links.get(name, UNKNOWN)
            if isinstance(target, Instance):
                self._settle(target)
                links[name] = tuple(value for _, value in _alternatives(target))
            else:
                links[name] = (target,)
        return Ask(call.request, call.by, links, dict(zip(instance.table.tallies, instance.tallies, strict=True)))

    def _work_out(self, instance: Instance, call: Call, refused: bool) -> Result:
        """Let every candidate take the event: the belief after, the links as narrowed, the rules left open."""
        lane, ask = instance.lane, self._ask(instance, call)
        after: set[Candidate] = set()
        used: dict[str, set[int]] = {}
        open_rules: set[str] = set()
        for cell, done in instance.belief.candidates:
            found = outcomes(lane.table, cell, ask, lane.beliefs.cell)
            open_rules |= found.open
            if refused:
                if found.refused:
                    after.add((cell, done))
                continue
            for reached, chosen in found.after.items():
                after.add((reached, done))
                for link, indexes in chosen.items():
                    used.setdefault(link, set()).update(indexes)
        if len(after) > _BUDGET:
            raise TooMany(f"{len(after)} candidates")
        narrowed = self._narrow(call, used)
        return Result(lane.beliefs.of(after) if after else None, narrowed, frozenset(open_rules), bool(narrowed or open_rules))

    def _narrow(self, call: Call, used: Mapping[str, set[int]]) -> tuple[tuple[str, Belief], ...]:
        narrowed = []
        for link, indexes in used.items():
            target = call.links.get(link)
            if isinstance(target, Instance) and target.belief.sole is None:
                values = _alternatives(target)
                cells = {values[index][0] for index in indexes}
                kept = [candidate for candidate in target.belief.candidates if candidate[0] in cells]
                if kept and len(kept) < len(target.belief.candidates):
                    narrowed.append((link, target.lane.beliefs.of(kept)))
        return tuple(narrowed)

    def _impossible(self, instance: Instance, record: Recorded, call: Call, refused: bool) -> None:
        if refused:
            why = f"{call.request.name} is said to be refused, and {instance.ref} would have taken it"
            self._violate(instance, record, _plainly("refused-without-cause", why, instance))
        else:
            self._violate(instance, record, explain(instance, call, self._ask))

    def _repeated(self, instance: Instance, record: Recorded, name: str) -> bool:
        """A known event id: the same event again changes nothing, another one under it is refused."""
        if record.phase == "return":
            return False
        busy = instance.occupied()
        assert record.event_id is not None
        known = busy.event_ids.get(record.event_id)
        content = (name, _plain(record.payload))
        if known is None:
            busy.bind(record.event_id, content)
            return False
        if known != content:
            why = f"event id {record.event_id} is bound to another event: {known[0]}"
            self._violate(instance, record, _plainly("event-id-bound", why, instance))
        return True

    # --- calls ------------------------------------------------------------------------------------------------------

    def _invoke(self, instance: Instance, record: Recorded, call: Call) -> None:
        if call.request.name == "start":
            self._attach(instance, record.links or _NONE)
        busy = instance.occupied()
        kind = busy.open(call)
        if record.call is not None:
            busy.calls[record.call] = kind
        for target in call.links.values():
            if isinstance(target, Instance):
                target.occupied().watchers[instance] = None
        for name, _, _ in instance.table.counted:
            owner = instance.life()[name]
            if isinstance(owner, Instance):
                owner.occupied().feeders[instance] = None

    def _return(self, instance: Instance, record: Recorded) -> None:
        busy = instance.occupied()
        kind = busy.calls.pop(record.call or "", None)
        if kind is None:
            raise BadInput(f"call {record.call!r} of {instance.ref} returns and was never invoked")
        self._settle(instance)
        call = busy.kinds[kind]
        refused = record.outcome == "refused"
        kept: set[Candidate] = set()
        for cell, done in instance.belief.candidates:
            times = dict(done)
            if refused and call.refusable and times.get(kind, 0) < call.invoked:
                kept.add((cell, done))
            elif not refused and times.get(kind, 0) > 0:
                times[kind] -= 1
                kept.add((cell, tuple(sorted((k, n) for k, n in times.items() if n))))
        if not kept:
            self._impossible(instance, record, call, refused)
            return
        busy.close(kind)
        changed = instance.lane.beliefs.of(kept)
        if changed is not instance.belief:
            self._change(instance, changed, record.line)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)
        self._overdue(instance, record)

    def _settle(self, instance: Instance) -> None:
        """Let every open call happen wherever it can, as linked instances are now; calls that count here come first."""
        busy = instance.busy
        if busy is None or busy.settling or not (busy.kinds or busy.feeders):
            return
        busy.settling = True
        try:
            for feeder in tuple(busy.feeders):
                self._settle(feeder)
            if busy.kinds:
                found = self._closure(instance, busy.kinds)
                if found is not instance.belief:
                    self._change(instance, found, instance.state_line)
        finally:
            busy.settling = False

    def _closure(self, instance: Instance, kinds: Mapping[int, Call]) -> Belief:
        lane = instance.lane
        found = set(instance.belief.candidates)
        todo = list(found)
        asks = {kind: self._ask(instance, call) for kind, call in kinds.items()}
        while todo:
            cell, done = todo.pop()
            times = dict(done)
            for kind, call in kinds.items():
                if times.get(kind, 0) >= call.invoked:
                    continue
                possible = outcomes(lane.table, cell, asks[kind], lane.beliefs.cell)
                call.refusable = call.refusable or bool(possible.refused)
                self.not_checked |= possible.open
                later = tuple(sorted({**times, kind: times.get(kind, 0) + 1}.items()))
                for reached in possible.after:
                    if (reached, later) not in found:
                        found.add((reached, later))
                        todo.append((reached, later))
            if len(found) > _BUDGET:
                raise TooMany(f"{len(found)} candidates, from {len(kinds)} kinds of overlapping calls")
        return lane.beliefs.of(found)

    # --- what changes -----------------------------------------------------------------------------------------------

    def _change(self, instance: Instance, belief: Belief, line: int) -> None:
        """Give an instance another belief; whoever has an open call that reads it looks once more at it as it was."""
        before = instance.belief
        if instance.busy is not None:
            for watcher in tuple(instance.busy.watchers):
                self._settle(watcher)
            before = instance.belief
        if before.counts is not belief.counts:
            self._recount(instance, before, belief, line)
        if before.cells != belief.cells:
            instance.state_line = line
        instance.belief = belief

    def _recount(self, instance: Instance, before: Belief, belief: Belief, line: int) -> None:
        """Move the tallies of the owners by what this instance adds to them."""
        for (place, index), was, now in zip(instance.lane.counted, before.counts, belief.counts, strict=True):
            owner = instance.links[place]
            if was == now or owner.__class__ is not Instance:
                continue
            if owner.busy is not None:
                for watcher in (owner, *owner.busy.watchers):
                    if watcher is not instance:
                        self._settle(watcher)
            tallies = owner.tallies
            least, most = tallies[index]
            changed = (least + now[0] - was[0], most + now[1] - was[1])
            owner.tallies = (*tallies[:index], changed, *tallies[index + 1 :])
            owner.tally_line = line

    def _violate(self, instance: Instance, record: Recorded, blame: Blame) -> None:
        self.violations.append(
            Violation(
                blame.rule,
                record.line,
                instance.table.name,
                instance.id,
                blame.state,
                record.event or "",
                blame.message,
                blame.expected,
                blame.failed,
                blame.because,
            )
        )
        self._poison(instance)

    def _poison(self, instance: Instance) -> None:
        """Stop judging an instance; from now on it may or may not count for its owners."""
        if instance.busy is not None:
            instance.busy.kinds.clear()
        for (place, index), (least, most) in zip(instance.lane.counted, instance.belief.counts, strict=True):
            owner = instance.links[place]
            if isinstance(owner, Instance):
                low, high = owner.tallies[index]
                owner.tallies = (*owner.tallies[:index], (low - least, high + 1 - most), *owner.tallies[index + 1 :])
        instance.belief = instance.lane.beliefs.poisoned

    def _observe(self, instance: Instance, record: Recorded) -> None:
        """Keep the candidates that agree with what the record says about the state and the data."""
        table = instance.table
        if record.state is not None and record.state not in table.states:
            raise BadInput(f"{table.name} has no state {record.state!r}; its states are {', '.join(table.states)}")
        fields = {field.name: field for field in table.data_fields}
        data = {}
        for name, value in (record.data or {}).items():
            if name not in fields:
                raise BadInput(f"{table.name} has no data field {name!r}; its fields are {', '.join(fields) or 'none'}")
            data[name] = read_value(fields[name], value, table.name)
        kept = [candidate for candidate in instance.belief.candidates if observed(candidate[0], record.state, data)]
        if table.data is not None and len(data) == len(fields):
            whole, beliefs = table.data(**data), instance.lane.beliefs
            kept = [(beliefs.cell(cell.state, whole, cell.memory), done) for cell, done in kept]
        if kept:
            changed = instance.lane.beliefs.of(kept)
            if changed is not instance.belief:
                self._change(instance, changed, instance.state_line)
            return
        meaning = table.meanings.get(str(instance.belief.cells[0].state.id))
        said = record.state or ", ".join(f"{name}={value}" for name, value in data.items())
        why = f"the record says {said}, and {instance.ref} is {instance.belief.states()}"
        self._violate(instance, record, _plainly(meaning.name if meaning else "state-contradicted", why, instance))

    # --- debts ------------------------------------------------------------------------------------------------------

    def _overdue(self, instance: Instance, record: Recorded) -> None:
        """A debt that can no longer be paid, now that this instance has changed, is broken at this record."""
        for debtor in tuple(instance.busy.debtors) if instance.busy else ():
            if debtor.belief.final:
                del instance.busy.debtors[debtor]  # type: ignore[union-attr]
            elif debtor.belief.owing and self._late(debtor):
                state = debtor.belief.cells[0].state
                owe = debtor.table.owes[str(state.id)]
                why = f"{debtor.ref} still is {debtor.belief.states()}, and {debtor.table.rules[owe.rule]}"
                expected = debtor.table.takes(state)
                self._violate(debtor, record, Blame(owe.rule, why, debtor.belief.states(), (), expected, debtor.state_line))

    def _late(self, debtor: Instance) -> bool:
        """Whether the debt is unpaid and too late in every case."""
        shown = {
            name: tuple(value for _, value in _alternatives(target)) if isinstance(target, Instance) else (target,)
            for name, target in debtor.life().items()
        }
        for cell in debtor.belief.cells:
            until = debtor.table.until.get(str(cell.state.id))
            if until is None or (cell.data is UNKNOWN and "data" in until.names):
                return False
            for name in until.names:
                if name != "data" and (len(shown[name]) != 1 or not isinstance(shown[name][0], Seen)):
                    return False
            if until({"data": cell.data, **{name: values[0] for name, values in shown.items()}}) is not True:
                return False
        return True


def _plainly(rule: str, why: str, instance: Instance) -> Blame:
    """A violation that no guard explains."""
    return Blame(rule, why, instance.belief.states(), (), (), instance.state_line or None)


def _alternatives(target: Instance) -> tuple[tuple[Cell | None, Any], ...]:
    """What a guard may see of an instance: each cell with a value for it, UNKNOWN for anything."""
    if not target.belief.candidates:
        return ((None, UNKNOWN),)
    spread: list[dict[str, int]] = [{}]
    for name, (least, most) in zip(target.table.tallies, target.tallies, strict=True):
        spread = [{**tallies, name: value} for tallies in spread for value in range(least, most + 1)]
    values: list[tuple[Cell | None, Any]] = []
    for cell in target.belief.cells:
        if cell.state is target.table.absent:
            values.append((cell, None))
        elif cell.data is UNKNOWN:
            values.append((cell, UNKNOWN))
        else:
            values += [(cell, Seen(cell.state, cell.data, tallies)) for tallies in spread]
    return tuple(values)


def _plain(payload: Any) -> Any:
    """A payload as it can be compared: raw JSON is read first, so that the order of its keys does not matter."""
    if isinstance(payload, bytes):
        payload = json.loads(payload)
    return json.dumps(payload, sort_keys=True, default=str)
