"""Whether a trace is a behaviour of the machines: one pass, one belief an instance, no verdict of its own.

Hidden moves, open calls and unknown fields are one mechanism: the set of candidates that an instance may be in. Linked
sets are narrowed by what was accepted and never multiplied, so a violation is reported only when no candidate is left.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from ..kernel.errors import BadInput
from ..kernel.fields import UNKNOWN, read_value
from ..kernel.links import Seen
from ..kernel.machine import Machine
from .belief import Belief, Candidate, Cell
from .blame import Blame, explain, observed, observed_data
from .instance import FAR, Call, Instance
from .lane import Closure, Lane, Plan, Result, parsed
from .possible import Ask, Counts, Possible, chance_of, outcomes, rules_of, said_of
from .record import Begin, Recorded, Report, Verdict, Violation
from .tallies import Count, tallies_of
from .toomany import TooMany

__all__ = ["Checker"]

_NONE: Mapping[str, Any] = {}
_BUDGET = 4096
"""Candidates an instance, above which a verdict is undecided."""
_WIDE = 64
"""Counts that a tally may have, above which it may have any."""


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
        self.moves = 0
        """Changes of instances that somebody's open call may read."""
        self.actors: set[str | None] = set()
        self.loose = False
        """Whether anything counts of which the trace does not show where."""

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
        if not self.begin.total:
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
            self.not_checked |= lane.table.rules.keys()
            self._poison(instance)

    def finish(self) -> Report:
        """The verdict, now that the trace is over."""
        debts = tuple(debt for lane in self.lanes.values() for debt in lane.debts())
        violations, note, not_checked = tuple(self.violations), self.undecided, set(self.not_checked)
        if len(self.actors) > 1:
            note = "the order of different actors is not given, so no order of their events can be ruled out"
            not_checked |= {violation.rule for violation in violations}
            violations = ()
        verdict: Verdict = "violation" if violations else "undecided" if note else "incomplete" if debts else "ok"
        return Report(
            self.begin.trace,
            verdict,
            sum(len(lane.instances) for lane in self.lanes.values()),
            self.events,
            violations,
            open=debts,
            not_checked=tuple(sorted(not_checked)),
            note=note,
        )

    def _meet(self, lane: Lane, record: Recorded) -> Instance:
        """An instance at its first record: unborn, or somewhere in its life when this is a slice or it is adopted."""
        instance = lane.instances[record.id] = Instance(lane, record.id, lane.beliefs.unborn)
        if record.adopted:
            self._slice(instance, lane.beliefs.slice)
            self._attach(instance, record.links or _NONE)
        elif not self.begin.complete:
            happened = record.event is not None and record.outcome != "refused" and record.phase is None
            if not happened or record.event != "start":
                self._slice(instance, lane.beliefs.slice if happened else lane.beliefs.anything)
                unborn = lane.table.refusals.get(("absent", record.event or ""))
                self.not_checked |= {unborn.rule.name} if happened and unborn else set()
        return instance

    def _find(self, machine: str, id: str) -> Instance:
        """A linked instance; one that was never seen is unborn in a complete trace, and may be anything in a slice."""
        lane = self.lanes[machine]
        found = lane.instances.get(id)
        if found is None:
            found = lane.instances[id] = Instance(lane, id, lane.beliefs.unborn)
            if not self.begin.complete:
                self._slice(found, lane.beliefs.anything)
        return found

    def _slice(self, instance: Instance, belief: Belief) -> None:
        """Begin with an instance that may have lived before: it may count anywhere, and any number may count for it."""
        instance.tallies = instance.lane.far
        self._change(instance, belief, 0)
        self.not_checked |= {owe.rule for owe in instance.table.owes.values() if owe.until}

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
        key = self._key(lane, instance, record, plan, refused)
        result = lane.memo.get(key)
        if result is None:
            result = self._work_out(instance, self._call(lane, instance, record, plan), refused)
            if result.after is None and not (refused and self._otherwise_refused(instance, record, plan.name)):
                rule = self._impossible(instance, record, self._call(lane, instance, record, plan), refused)
                self.not_checked |= result.open - {rule}
                return
            if key is not None and result.after is not None:
                lane.memo[key] = result
        after = result.after
        if refused:
            if after is not instance.belief and self._otherwise_refused(instance, record, plan.name):
                after = instance.belief
        elif plan.birth:
            self._attach(instance, record.links or _NONE, birth=True)
            if not self.begin.complete and instance.tallies and instance.tallies[0][1] >= FAR:
                instance.tallies = tallies_of(tuple((least, most - FAR, False) for least, most, _ in instance.tallies))
        elif record.links and not lane.life_names.isdisjoint(record.links) and not instance.belief.final:
            self._attach(instance, record.links)
        assert after is not None
        if result.rare:
            self._open_and_narrow(lane, instance, record, result)
        if after is not instance.belief:
            self._change(instance, after, instance.state_line if refused else record.line)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)
        if instance.busy is not None and instance.busy.debtors:
            self._overdue(instance, record)

    def _key(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan, refused: bool) -> Any:
        """What the outcome depends on, by identity where it is interned; None when it cannot be remembered."""
        payload = record.payload
        if payload is not None and payload.__class__ is not bytes:
            return None
        by = record.by if plan.by else None
        loose, given = self.loose, record.links or _NONE
        tallies = None if not plan.tallies else self._tallies(instance) if loose else instance.tallies
        unread = len(given)
        if not plan.links:
            if unread:
                self._names(lane, given)
            return instance.belief, plan, payload, refused, by, tallies
        key: list[Any] = [instance.belief, plan, payload, refused, by, tallies]
        for name, machine, place in plan.links:
            target: Any
            if name in given:
                unread -= 1
                id = given[name]
                target = None if id is None else self.lanes[machine].instances.get(id) or self._find(machine, id)
            else:
                target = instance.links[place] if place >= 0 and not plan.birth else UNKNOWN
            if target.__class__ is Instance:
                if target.busy is not None:
                    self._settle(target)
                key += (target.belief, self._tallies(target) if loose else target.tallies)
            else:
                key.append(target)
        if unread:
            self._names(lane, given)
        return tuple(key)

    def _names(self, lane: Lane, given: Mapping[str, Any]) -> None:
        """Check that the machine has all links that a record names."""
        for name in given:
            if name not in lane.table.links:
                known = ", ".join(lane.table.links) or "none"
                raise BadInput(f"{lane.table.name} has no link {name!r}; its links are {known}")

    def _open_and_narrow(self, lane: Lane, instance: Instance, record: Recorded, result: Result) -> None:
        self.not_checked |= result.open
        if result.narrowed:
            links = self._links(lane, instance, record)
            for link, belief in result.narrowed:
                self._change(links[link], belief, links[link].state_line)

    def _links(self, lane: Lane, instance: Instance, record: Recorded) -> dict[str, Any]:
        """Each link that is known now: the instance's own for life, and those given with the record."""
        self._names(lane, record.links or _NONE)
        links: dict[str, Any] = dict.fromkeys(lane.life, UNKNOWN) if record.event == "start" else instance.life()
        for name, id in (record.links or {}).items():
            links[name] = None if id is None else self._find(lane.table.links[name].to.table.name, id)
        return links

    def _call(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan) -> Call:
        by = UNKNOWN if record.by is None else record.by
        return Call(lane.request(plan.name, record.payload), by, self._links(lane, instance, record), record.line)

    def _attach(
        self, instance: Instance, given: Mapping[str, Any], *, birth: bool = False, perhaps: bool = False
    ) -> None:
        """Point the links for life where the record says; what it leaves out is not known, or stays after a birth.

        A birth that only may happen does not move a link: if another one may, too, it is open where the link points.
        """
        lane, before = instance.lane, instance.links
        links: list[Any] = []
        for (name, machine), was in zip(lane.targets, before, strict=True):
            if name not in given:
                links.append(UNKNOWN if birth else was)
                continue
            id = given[name]
            target = None if id is None else self.lanes[machine].instances.get(id) or self._find(machine, id)
            if was is not UNKNOWN and was is not target and not instance.belief.unborn:
                kept = "nowhere" if was is None else was.ref
                raise BadInput(f"link {name} of {instance.ref} is for life and points to {kept}")
            links.append(UNKNOWN if perhaps and was is not UNKNOWN and was is not target else target)
        instance.links = tuple(links)
        if instance.belief.counts is not lane.beliefs.unborn.counts:
            for (place, index), share in zip(lane.counted, instance.belief.counts, strict=True):
                if links[place] is not before[place]:
                    machine, open_ = lane.target_lanes[place], instance.belief.shaded
                    self._count(instance, machine, before[place], index, (-share[0], -share[1], False))
                    self._count(instance, machine, links[place], index, (*share, open_))
        for call in instance.busy.kinds.values() if instance.busy is not None else ():
            if call.request.name != "start":  # it was invoked before the birth, and happens after it
                call.links = {**call.links, **instance.life()}
                self._watch(instance, call)
        if lane.table.until:
            for target in links:
                if isinstance(target, Instance):
                    target.occupied().debtors[instance] = None
                elif target is UNKNOWN:
                    self.not_checked |= {owe.rule for owe in lane.table.owes.values() if owe.until}

    def _tallies(self, instance: Instance) -> tuple[Count, ...]:
        """How many count for an instance, those included of which the trace does not show where they do."""
        loose = instance.lane.loose
        if not any(loose):
            return instance.tallies
        return tuple(
            (least, most + more, shaded or more > 0)
            for (least, most, shaded), more in zip(instance.tallies, loose, strict=True)
        )

    def _ask(self, instance: Instance, call: Call) -> Ask:
        """What an event may see."""
        links: dict[str, Any] = {}
        shaded, own = set(), set()
        for name, _, _ in instance.lane.plans[call.request.name].links:
            target = call.links.get(name, UNKNOWN)
            if isinstance(target, Instance):
                self._settle(target)
                links[name] = tuple(value for _, value in self._alternatives(target))
                shaded |= {name} if target.belief.shaded else set()
                own |= {name} if target is instance else set()
            else:
                links[name] = (target,)
        tallies: dict[str, Sequence[Any]] = {}
        for name, (least, most, open_) in zip(instance.table.tallies, self._tallies(instance), strict=True):
            tallies[name] = (UNKNOWN,) if most - least > _WIDE else range(least, most + 1)
            shaded |= {name} if open_ else set()
        return Ask(call.request, call.by, links, tallies, frozenset(shaded), frozenset(own))

    def _work_out(self, instance: Instance, call: Call, refused: bool) -> Result:
        """Let every candidate take the event: the belief after, the links as narrowed, the rules left open."""
        lane, ask = instance.lane, self._ask(instance, call)
        after: set[Candidate] = set()
        used: dict[str, set[int]] = {}
        found: dict[Candidate, Possible] = {}
        for cell, done in instance.belief.candidates:
            one = found[cell, done] = outcomes(lane.silent, cell, ask, lane.beliefs.cell)
            if refused:
                after |= {(cell, done)} if one.refused else set()
                continue
            for reached, chosen in one.after.items():
                after.add((reached, done))
                for link, indexes in chosen.items():
                    used.setdefault(link, set()).update(indexes)
        if len(after) > _BUDGET:
            raise TooMany(f"{len(after)} candidates")
        if not after:
            dark = not refused and (instance.belief.shaded or any(one.dark for one in found.values()))
            return Result(None, open=frozenset(rules_of(found.values())) if dark else frozenset())
        shaded = instance.belief.shaded or (not refused and any(one.split for one in found.values()))
        chance = chance_of(found, instance.belief.shaded)
        if refused:
            open_rules = set() if chance.surely_refusable else {"refused-without-cause"}
        else:
            open_rules = {rule for one in found.values() if one.after for rule in one.unasked}
            open_rules |= set() if chance.sure else chance.doubts
        narrowed = self._narrow(call, {link: indexes for link, indexes in used.items() if link not in ask.own})
        return Result(lane.beliefs.of(after, shaded), narrowed, frozenset(open_rules), bool(narrowed or open_rules))

    def _narrow(self, call: Call, used: Mapping[str, set[int]]) -> tuple[tuple[str, Belief], ...]:
        narrowed = []
        for link, indexes in used.items():
            target = call.links.get(link)
            if isinstance(target, Instance) and target.belief.sole is None:
                values = self._alternatives(target)
                cells = {values[index][0] for index in indexes}
                kept = [candidate for candidate in target.belief.candidates if candidate[0] in cells]
                if kept and len(kept) < len(target.belief.candidates):
                    narrowed.append((link, target.lane.beliefs.of(kept, target.belief.shaded)))
        return tuple(narrowed)

    def _alternatives(self, target: Instance) -> tuple[tuple[Cell | None, Any], ...]:
        """What a guard may see of an instance: each cell with a value for it, UNKNOWN for anything."""
        if not target.belief.candidates:
            return ((None, UNKNOWN),)
        tallies = self._tallies(target)
        countable = all(most - least <= _WIDE for least, most, _ in tallies)
        counts: dict[str, Any] = {
            name: least if least == most else range(least, most + 1)
            for name, (least, most, _) in zip(target.table.tallies, tallies, strict=True)
        }
        open_ = frozenset(name for name, (_, _, shaded) in zip(counts, tallies, strict=True) if shaded)
        shown = counts if all(least == most for least, most, _ in tallies) else Counts(counts, open_)
        values: list[tuple[Cell | None, Any]] = []
        for cell in target.belief.cells:
            if cell.state is target.table.absent:
                values.append((cell, None))
            elif cell.data is UNKNOWN or not countable:
                values.append((cell, UNKNOWN))
            else:
                values.append((cell, Seen(cell.state, cell.data, shown)))
        return tuple(values)

    def _impossible(self, instance: Instance, record: Recorded, call: Call, refused: bool) -> str:
        """Report what no candidate can have done; returns the rule."""
        if refused:
            why = f"{call.request.name} is said to be refused, and {instance.ref} would have taken it"
            blame = _plainly("refused-without-cause", why, instance)
        else:
            blame = explain(instance, call, self._ask)
        self._violate(instance, record, blame)
        return blame.rule

    def _repeated(self, instance: Instance, record: Recorded, name: str) -> bool:
        """A known event id: the same event again changes nothing, another one under it is refused."""
        if record.phase == "return":
            return False
        busy = instance.occupied()
        assert record.event_id is not None
        known = busy.event_ids.get(record.event_id)
        content = (name, record.payload)
        if known is None:
            busy.bind(record.event_id, content)
            return False
        if not _same(known, content):
            why = f"event id {record.event_id} is bound to another event: {known[0]}"
            self._violate(instance, record, _plainly("event-id-bound", why, instance))
        return True

    def _otherwise_refused(self, instance: Instance, record: Recorded, name: str) -> bool:
        """Whether a refusal may have a cause outside of the machine: a bound event id, or another instance's debt."""
        for debtor in instance.busy.debtors if instance.busy else ():
            if any(debtor.table.until.get(str(cell.state.id)) for cell in debtor.belief.cells):
                return True
        if record.event_id is None:
            return False
        for other in (other for lane in self.lanes.values() for other in lane.instances.values()):
            known = other.busy.event_ids.get(record.event_id) if other.busy else None
            if known is not None and (other is not instance or not _same(known, (name, record.payload))):
                return True
        return False

    # --- calls ------------------------------------------------------------------------------------------------------

    def _invoke(self, instance: Instance, record: Recorded, call: Call) -> None:
        if call.request.name == "start" and instance.belief.unborn:
            self._attach(instance, record.links or _NONE, birth=True, perhaps=True)
        busy = instance.occupied()
        busy.settled = -1
        kind = busy.open(call)
        if record.call is not None:
            busy.calls[record.call] = kind
        self._watch(instance, call)
        self.moves += 1  # what may happen from now on may be read by calls that are open already

    def _watch(self, instance: Instance, call: Call) -> None:
        """Let an open call be tried again when what it reads has changed, and before what counts it is read."""
        for target in call.links.values():
            if isinstance(target, Instance):
                target.occupied().watchers[instance] = None
        for place, _ in instance.lane.counted:
            owner = instance.links[place]
            if isinstance(owner, Instance):
                owner.occupied().feeders[instance] = None

    def _return(self, instance: Instance, record: Recorded) -> None:
        busy = instance.occupied()
        kind = busy.calls.pop(record.call or "", None)
        if kind is None:
            raise BadInput(f"call {record.call!r} of {instance.ref} returns and was never invoked")
        self._settle(instance)
        call = busy.kinds[kind]
        lapsed = record.outcome == "lapsed"
        refused = lapsed or record.outcome == "refused"
        kept: set[Candidate] = set()
        for cell, done in instance.belief.candidates:
            times = dict(done)
            if refused and (lapsed or call.chance.refusable) and times.get(kind, 0) < call.invoked:
                kept.add((cell, done))
            elif not refused and times.get(kind, 0) > 0:
                times[kind] -= 1
                kept.add((cell, tuple(sorted((k, n) for k, n in times.items() if n))))
        if refused and self._otherwise_refused(instance, record, call.request.name):
            kept |= {
                (cell, done) for cell, done in instance.belief.candidates if dict(done).get(kind, 0) < call.invoked
            }
        if not kept:
            open_rules = call.chance.doubts | self._work_out(instance, call, refused).open
            self.not_checked |= open_rules - {self._impossible(instance, record, call, refused)}
            return
        if not refused:
            self.not_checked |= frozenset() if call.chance.sure else call.chance.doubts
        elif not (lapsed or call.chance.surely_refusable):
            self.not_checked.add("refused-without-cause")
        busy.close(kind)
        if refused and not busy.kinds and instance.belief is instance.lane.beliefs.unborn:
            instance.links = instance.lane.nowhere
        changed = instance.lane.beliefs.of(kept, instance.belief.shaded)
        if changed is not instance.belief:
            self._change(instance, changed, record.line)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)
        self._overdue(instance, record)

    def _settle(self, instance: Instance) -> None:
        """Let every open call happen wherever it can, as linked instances are now; calls that count here come first.

        What happens here may let calls of others happen, and those more calls here: until nothing does any more.
        """
        busy = instance.busy
        if busy is None or busy.settling or busy.settled == self.moves or not (busy.kinds or busy.feeders):
            return
        busy.settling = True
        try:
            while busy.settled != self.moves:
                busy.settled = self.moves
                for feeder in tuple(busy.feeders):
                    self._settle(feeder)
                if busy.kinds:
                    found = self._closure(instance, busy.kinds)
                    if found is not instance.belief:
                        self._change(instance, found, instance.state_line)
        finally:
            busy.settling = False

    def _closure(self, instance: Instance, kinds: Mapping[int, Call]) -> Belief:
        """Every candidate that open calls can lead to."""
        memo = instance.lane.closures
        seen: list[Any] = [instance.belief, self._tallies(instance)]
        for call in kinds.values():
            for name, _, _ in instance.lane.plans[call.request.name].links:
                target = call.links.get(name, UNKNOWN)
                if isinstance(target, Instance):
                    self._settle(target)
                    seen += (target.belief, self._tallies(target))
                else:
                    seen.append(target)
        key = (*seen, *((kind, *call.content(), call.invoked) for kind, call in kinds.items()))
        found = memo.get(key)
        if found is None:
            found = memo[key] = self._follow(instance, kinds)
        for kind, chance in found.chances.items():
            kinds[kind].chance |= chance
        self.not_checked |= found.unasked
        return found.belief

    def _follow(self, instance: Instance, kinds: Mapping[int, Call]) -> Closure:
        """Work out where open calls can lead."""
        lane = instance.lane
        found = set(instance.belief.candidates)
        todo = list(found)
        asks = {kind: self._ask(instance, call) for kind, call in kinds.items()}
        tried: dict[int, dict[Candidate, Possible]] = {kind: {} for kind in kinds}
        while todo:
            cell, done = todo.pop()
            times = dict(done)
            for kind, call in kinds.items():
                if times.get(kind, 0) >= call.invoked:
                    continue
                possible = tried[kind][cell, done] = outcomes(lane.silent, cell, asks[kind], lane.beliefs.cell)
                later = tuple(sorted({**times, kind: times.get(kind, 0) + 1}.items()))
                for reached in possible.after:
                    if (reached, later) not in found:
                        found.add((reached, later))
                        todo.append((reached, later))
            if len(found) > _BUDGET:
                raise TooMany(f"{len(found)} candidates, from {len(kinds)} kinds of overlapping calls")
        every = [possible for ones in tried.values() for possible in ones.values()]
        shaded = instance.belief.shaded or any(possible.split for possible in every)
        chances = {kind: chance_of(ones, shaded) for kind, ones in tried.items()}
        unasked = frozenset(rule for possible in every if possible.after for rule in possible.unasked)
        return Closure(lane.beliefs.of(found, shaded), chances, unasked)

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
        if instance.busy is not None:
            self.moves += 1

    def _recount(self, instance: Instance, before: Belief, belief: Belief, line: int) -> None:
        """Move the tallies of the owners by what this instance adds to them."""
        lane, links = instance.lane, instance.links
        for place, index, change in lane.changes(before, belief):
            owner = links[place]
            if owner.__class__ is Instance:
                owner.tally_line = line
                if owner.busy is None:
                    owner.tallies = owner.tallies.moved(index, change)
                    continue
            self._count(instance, lane.target_lanes[place], owner, index, change)

    def _count(self, instance: Instance, machine: str, owner: Any, index: int, change: Count) -> None:
        """Let an instance count more or less for its owner, or for any owner when it is not known which."""
        if owner is None:
            return
        if owner is UNKNOWN:
            lane = self.lanes[machine]
            for one in tuple(lane.instances.values()):
                self._look_again(one, instance)
            lane.loose[index] += change[1]
            self.loose = self.loose or change[1] > 0
            self.moves += 1
            return
        if owner.busy is not None:
            self._look_again(owner, instance)
        owner.tallies = owner.tallies.moved(index, change)
        if owner.busy is not None:
            self.moves += 1

    def _look_again(self, owner: Instance, instance: Instance) -> None:
        """Let the open calls that read a tally happen, before another instance changes it."""
        for watcher in (owner, *owner.busy.watchers) if owner.busy is not None else ():
            if watcher is not instance:
                self._settle(watcher)

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
            self._count(instance, instance.lane.target_lanes[place], owner, index, (-least, 1 - most, True))
        instance.belief = instance.lane.beliefs.poisoned
        self.moves += 1

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
        cells = instance.lane.beliefs.cell
        kept = [
            (cells(cell.state, observed_data(cell, table, data), cell.memory), done)
            for cell, done in instance.belief.candidates
            if observed(cell, record.state, data)
        ]
        if kept:
            changed = instance.lane.beliefs.of(kept, instance.belief.shaded)
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
                continue
            late, dark = self._late(debtor)
            if late == {True} and debtor.belief.owing:
                state, seen = debtor.belief.cells[0].state, debtor.belief.states()
                owe = debtor.table.owes[str(state.id)]
                why = f"{debtor.ref} still is {seen}, and {debtor.table.rules[owe.rule]}"
                self._violate(
                    debtor, record, Blame(owe.rule, why, seen, (), debtor.table.takes(state), debtor.state_line)
                )
            elif len(late) > 1 and dark:
                self.not_checked |= {owe.rule for owe in debtor.table.owes.values() if owe.until}

    def _late(self, debtor: Instance) -> tuple[set[bool], bool]:
        """Whether the debt is unpaid and too late, in each case; and whether that depends on what is not shown."""
        table, links = debtor.table, debtor.life()
        late: set[bool] = set()
        dark = debtor.belief.shaded
        for cell in debtor.belief.cells:
            until = table.until.get(str(cell.state.id))
            if until is None:
                late.add(False)
                continue
            own = UNKNOWN if cell.data is UNKNOWN else Seen(cell.state, cell.data)
            seen = [self._shown(links[name]) if name != "data" else (own,) for name in until.names]
            dark = dark or any(
                isinstance(links.get(name), Instance) and links[name].belief.shaded for name in until.names
            )
            for values in product(*seen):
                known = dict(zip(until.names, values, strict=True))
                if any(value is UNKNOWN for value in values):
                    dark, late = True, {True, False}
                elif any(value is None and not table.links[name].optional for name, value in known.items()):
                    late.add(False)
                else:
                    said = said_of(until, known)
                    dark, late = dark or len(said) > 1, late | said
        return late, dark

    def _shown(self, target: Any) -> tuple[Any, ...]:
        """What a link may show."""
        return tuple(value for _, value in self._alternatives(target)) if isinstance(target, Instance) else (target,)


def _plainly(rule: str, why: str, instance: Instance) -> Blame:
    """A violation that no guard explains."""
    return Blame(rule, why, instance.belief.states(), (), (), instance.state_line or None)


def _same(known: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Whether two events are the same, as far as both are shown."""
    if known[0] != other[0] or known[1] == other[1]:
        return known[0] == other[0]
    first, second = _fields(known[1]), _fields(other[1])
    return all(first[name] == second[name] for name in first.keys() & second.keys())


def _fields(payload: Any) -> Mapping[str, Any]:
    fields = parsed(payload, "a payload") if isinstance(payload, bytes) else payload or {}
    if not isinstance(fields, Mapping):
        raise BadInput(f"a payload is no object: {fields!r:.60}")
    return fields
