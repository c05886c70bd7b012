"""Whether a trace is a behaviour of the machines: one pass, one belief an instance, no verdict of its own.

Hidden moves, open calls and unknown fields are one mechanism: the set of candidates that an instance may be in. Linked
sets are narrowed by what was accepted and never multiplied, so a violation is reported only when no candidate is left.
"""

from collections.abc import Mapping
from typing import Any

from ..kernel.errors import BadInput
from ..kernel.fields import read_value
from .belief import Candidate
from .blame import Blame, explain, observed, observed_data, plainly
from .calls import Call
from .debts import endangered, overdue
from .event_ids import EventIds
from .exact import exactly
from .instance import Instance
from .key import Key
from .lane import Lane, Plan, Result
from .possible import Possible, chance_of, outcomes, rules_of
from .record import Begin, Recorded, Report, Verdict, Violation
from .toomany import TooMany
from .world import BUDGET, World

__all__ = ["Checker"]


class Checker:
    """Judges one trace, record by record.

    Args:
        world: of the machines; it can follow one trace at a time.
        begin: what the reader says about the trace.
    """

    def __init__(self, world: World, begin: Begin) -> None:
        self.begin = begin
        self.world = world
        world.begin(begin)
        self.violations: list[Violation] = []
        self.undecided = ""
        self.events = 0
        self._lanes = self.world.lanes
        self._total = begin.total
        self._actors: set[str | None] = set()
        self._event_ids = EventIds()

    def feed(self, record: Recorded) -> None:
        """Take the next record of the trace.

        Raises:
            BadInput: the record names an unknown machine, event or field, or a value of another type.
        """
        lane = self._lanes.get(record.machine)
        if lane is None:
            raise BadInput(f"unknown machine {record.machine!r}; known: {', '.join(sorted(self._lanes))}")
        instance = lane.instances.get(record.id)
        if instance is None:
            instance = self.world.meet(lane, record)
        if not self._total:
            self._actors.add(record.actor)
        event = record.event
        if event is None:
            self._long_way(lane, instance, record, None, None)
            return
        self.events += 1
        plan = lane.plans.get(event) or lane.plan(event)
        if (
            record.phase is not None
            or record.event_id in self._event_ids
            or instance.busy is not None
            or self.world.loose
        ):
            self._long_way(lane, instance, record, plan, None)
            return
        key = plan.key(instance, record)
        if key is None:
            self._long_way(lane, instance, record, plan, None)
            return
        if record.outcome == "refused":
            if key not in plan.refused:
                self._long_way(lane, instance, record, plan, key)
                return
        else:
            change = plan.accepted.get(key)
            if change is None:
                self._long_way(lane, instance, record, plan, key)
                return
            if record.event_id is not None:
                self._event_ids.bind(record.event_id, instance, event, record.payload)
            if plan.birth:
                self.world.born(instance, record)
            if change.counted:
                self.world.recount(instance, change.counted, record.line)
            if change.moves:
                instance.state_line = record.line
            if change.names is not None:
                names = plan.names(instance, record)
                instance.names = tuple([names[place] for place in change.names])
            instance.shape, instance.looked_at = change.after, None
            if instance.debtors is not None:
                self._overdue(instance, record)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)

    def finish(self) -> Report:
        """The verdict, now that the trace is over."""
        debts = tuple(debt for lane in self._lanes.values() for debt in lane.debts())
        violations, note, not_checked = tuple(self.violations), self.undecided, set(self.world.not_checked)
        if len(self._actors) > 1:
            note = "the order of different actors is not given, so no order of their events can be ruled out"
            not_checked |= {violation.rule for violation in violations}
            violations = ()
        verdict: Verdict = "violation" if violations else "undecided" if note else "incomplete" if debts else "ok"
        return Report(
            self.begin.trace,
            verdict,
            sum(len(lane.instances) for lane in self._lanes.values()),
            self.events,
            violations,
            open=debts,
            not_checked=tuple(sorted(not_checked)),
            note=note,
        )

    def _long_way(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan | None, key: Key | None) -> None:
        """Work out what a record means, where that is not known from another one."""
        if not instance.belief.candidates:
            return  # it broke a rule before: what follows is a consequence
        try:
            if plan is None:
                self.world.settle(instance)
                self._observe(instance, record)
            elif record.event_id is not None and record.phase != "return" and self._repeated(instance, record, plan):
                return
            elif record.phase == "return":
                self._return(instance, record)
            elif record.phase == "invoke":
                self.world.invoke(instance, record, self.world.call(lane, instance, record, plan))
            else:
                self._event(lane, instance, record, plan, key)
        except TooMany as many:
            self.undecided = self.undecided or f"line {record.line}: {instance.ref}: {many}"
            self.world.not_checked |= lane.table.rules.keys()
            self.world.forget(instance)

    # --- events -----------------------------------------------------------------------------------------------------

    def _event(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan, key: Key | None) -> None:
        world, refused = self.world, record.outcome == "refused"
        world.settle(instance)
        before, was, call = instance.belief, instance.names, world.call(lane, instance, record, plan)
        names = plan.names(instance, record) if key is not None else ()
        result = exactly(instance, call, plan, refused=refused) if key is not None else None
        if result is None:
            result = self._work_out(instance, call, refused=refused)
        if result.after is None and not (refused and self._refused_outside(instance, record, plan)):
            rule = self._impossible(instance, record, call, refused=refused)
            world.not_checked |= result.open - {rule}
            return
        after = result.after
        if refused:
            if after is not instance.belief and self._refused_outside(instance, record, plan):
                after = instance.belief
        elif plan.birth:
            world.born(instance, record)
        elif record.links and not lane.life_names.isdisjoint(record.links) and not instance.belief.final:
            world.attach(instance, record.links)
        assert after is not None
        world.not_checked |= result.open
        for link, belief in result.narrowed:
            world.change(call.links[link], belief, call.links[link].state_line)
        if after is not instance.belief:
            world.change(instance, after, instance.state_line if refused else record.line)
        if key is not None and result.plain:
            if not refused:
                lane.remember(plan, key, names, before, was, result)
            elif result.after is before and not plan.birth:  # a birth names instances that have to be met, too
                lane.refuse(plan, key)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)
        self._overdue(instance, record)

    def _work_out(self, instance: Instance, call: Call, *, refused: bool) -> Result:
        """Let every candidate take the event: the belief after, the links as narrowed, the rules left open."""
        lane, ask = instance.lane, self.world.ask(instance, call)
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
        if len(after) > BUDGET:
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
        return Result(lane.beliefs.of(after, shaded), narrowed, frozenset(open_rules))

    def _narrow(self, call: Call, used: Mapping[str, set[int]]) -> tuple[Any, ...]:
        """The linked instances that can only have been in part of what was possible."""
        narrowed = []
        for link, indexes in used.items():
            target = call.links.get(link)
            if isinstance(target, Instance) and target.belief.sole is None:
                values = self.world.alternatives(target)
                cells = {values[index][0] for index in indexes}
                kept = [candidate for candidate in target.belief.candidates if candidate[0] in cells]
                if kept and len(kept) < len(target.belief.candidates):
                    narrowed.append((link, target.lane.beliefs.of(kept, target.belief.shaded)))
        return tuple(narrowed)

    def _repeated(self, instance: Instance, record: Recorded, plan: Plan) -> bool:
        """A known event id: the same event again changes nothing, another one under it is refused."""
        if record.outcome == "refused":
            return False
        assert record.event_id is not None
        known = self._event_ids.get(record.event_id)
        if known is None:
            self._event_ids.bind(record.event_id, instance, plan.name, record.payload)
            return False
        if not known.same(instance, plan.name, record.payload):
            why = f"event id {record.event_id} is bound to another event: {known.event} of {known.instance.ref}"
            self._violate(instance, record, plainly("event-id-bound", why, instance))
        return True

    def _refused_outside(self, instance: Instance, record: Recorded, plan: Plan) -> bool:
        """Whether a refusal may have a cause outside of the machine: a bound event id, or another instance's debt."""
        if endangered(instance):
            return True
        known = None if record.event_id is None else self._event_ids.get(record.event_id)
        return known is not None and not known.same(instance, plan.name, record.payload)

    def _return(self, instance: Instance, record: Recorded) -> None:
        """Keep the candidates in which a call has become what its return says."""
        busy = instance.occupied()
        kind = busy.calls.pop(record.call or "", None)
        if kind is None:
            raise BadInput(f"call {record.call!r} of {instance.ref} returns and was never invoked")
        self.world.settle(instance)
        call = busy.kinds[kind]
        lapsed = record.outcome == "lapsed"
        refused = lapsed or record.outcome == "refused"
        outside = refused and self._refused_outside(instance, record, instance.lane.plan(call.request.name))
        kept: set[Candidate] = set()
        for cell, done in instance.belief.candidates:
            times = dict(done)
            if refused and (lapsed or outside or call.chance.refusable) and times.get(kind, 0) < call.invoked:
                kept.add((cell, done))
            elif not refused and times.get(kind, 0) > 0:
                times[kind] -= 1
                kept.add((cell, tuple(sorted((k, n) for k, n in times.items() if n))))
        if not kept:
            open_rules = call.chance.doubts | self._work_out(instance, call, refused=refused).open
            self.world.not_checked |= open_rules - {self._impossible(instance, record, call, refused=refused)}
            return
        if not refused:
            self.world.not_checked |= frozenset() if call.chance.sure else call.chance.doubts
        elif not (lapsed or call.chance.surely_refusable):
            self.world.not_checked.add("refused-without-cause")
        busy.close(kind)
        if refused and not busy.kinds and instance.belief is instance.lane.beliefs.unborn:
            instance.links = instance.lane.nowhere
        changed = instance.lane.beliefs.of(kept, instance.belief.shaded)
        if changed is not instance.belief:
            self.world.change(instance, changed, record.line)
        if record.state is not None or record.data is not None:
            self._observe(instance, record)
        self._overdue(instance, record)

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
                self.world.change(instance, changed, instance.state_line)
            return
        meaning = table.meanings.get(str(instance.belief.cells[0].state.id))
        said = record.state or ", ".join(f"{name}={value}" for name, value in data.items())
        why = f"the record says {said}, and {instance.ref} is {instance.belief.states()}"
        self._violate(instance, record, plainly(meaning.name if meaning else "state-contradicted", why, instance))

    # --- violations -------------------------------------------------------------------------------------------------

    def _impossible(self, instance: Instance, record: Recorded, call: Call, *, refused: bool) -> str:
        """Report what no candidate can have done; returns the rule."""
        if refused:
            why = f"{call.request.name} is said to be refused, and {instance.ref} would have taken it"
            blame = plainly("refused-without-cause", why, instance)
        else:
            blame = explain(instance, call, self.world.ask)
        self._violate(instance, record, blame)
        return blame.rule

    def _overdue(self, instance: Instance, record: Recorded) -> None:
        """A debt that can no longer be paid, now that this instance has changed, is broken at this record."""
        for debtor, blame in overdue(self.world, instance):
            self._violate(debtor, record, blame)

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
        self.world.forget(instance)
