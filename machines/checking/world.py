"""All instances of one trace and what may be true of each; nothing is judged here.

Every change of a belief goes through `World.change`, which moves the tallies of those that the instance counts for, and
first lets whoever has an open call look once more at things as they were.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..kernel.errors import BadInput
from ..kernel.fields import UNKNOWN
from ..kernel.links import Seen
from ..kernel.machine import Machine
from .ask import Ask, Counts
from .belief import Belief, Candidate, Cell
from .calls import Call
from .instance import FAR, Instance
from .lane import Closure, Lane, Plan
from .possible import Possible, chance_of, outcomes
from .record import Begin, Recorded
from .tallies import Count, tallies_of
from .toomany import TooMany

__all__ = ["BUDGET", "World"]

BUDGET = 4096
"""Candidates an instance, above which a verdict is undecided."""
_WIDE = 64
"""Counts that a tally may have, above which it may have any."""
_NONE: Mapping[str, Any] = {}


class World:
    """What may be true at one point of a trace; what is worked out for one trace serves the next one, too.

    Args:
        machines: the lifecycles by name.
    """

    def __init__(self, machines: Mapping[str, type[Machine]]) -> None:
        self.lanes = {name: Lane(machine) for name, machine in machines.items()}
        for lane in self.lanes.values():
            lane.connect(self.lanes)
        self.complete = False
        self.not_checked: set[str] = set()
        """Rules that depended on something which the trace does not show."""
        self.moves = 0
        """Changes of instances that somebody's open call may read."""
        self.loose = False
        """Whether anything counts of which the trace does not show where."""

    def begin(self, begin: Begin) -> None:
        """Begin with another trace, of which nothing has been seen yet."""
        for lane in self.lanes.values():
            lane.reset()
        self.complete = begin.complete
        self.not_checked = set(begin.not_checked)
        self.moves = 0
        self.loose = False

    # --- instances and their links ----------------------------------------------------------------------------------

    def meet(self, lane: Lane, record: Recorded) -> Instance:
        """An instance at its first record: unborn, or somewhere in its life when this is a slice or it is adopted."""
        instance = lane.instances[record.id] = Instance(lane, record.id)
        if self.complete and not record.adopted:
            return instance
        if record.adopted:
            self._slice(instance, lane.beliefs.slice)
            self.attach(instance, record.links or _NONE)
        else:
            happened = record.event is not None and record.outcome != "refused" and record.phase is None
            if not happened or record.event != "start":
                self._slice(instance, lane.beliefs.slice if happened else lane.beliefs.anything)
                unborn = lane.table.refusals.get(("absent", record.event or ""))
                self.not_checked |= {unborn.rule.name} if happened and unborn else set()
        return instance

    def find(self, machine: str, id: str) -> Instance:
        """A linked instance; one that was never seen is unborn in a complete trace, and may be anything in a slice."""
        lane = self.lanes[machine]
        found = lane.instances.get(id)
        if found is None:
            found = lane.instances[id] = Instance(lane, id)
            if not self.complete:
                self._slice(found, lane.beliefs.anything)
        return found

    def _slice(self, instance: Instance, belief: Belief) -> None:
        """Begin with an instance that may have lived before: it may count anywhere, and any number may count for it."""
        instance.tallies = instance.lane.far
        self.change(instance, belief, 0)
        self.not_checked |= {owe.rule for owe in instance.table.owes.values() if owe.until}

    def call(self, lane: Lane, instance: Instance, record: Recorded, plan: Plan) -> Call:
        """The event of a record with all that it may read."""
        by = UNKNOWN if record.by is None else record.by
        return Call(lane.request(plan.name, record.payload), by, self.links(lane, instance, record), record.line)

    def links(self, lane: Lane, instance: Instance, record: Recorded) -> dict[str, Any]:
        """Each link that is known now: the instance's own for life, and those given with the record.

        Raises:
            BadInput: the machine has no link of a name that the record gives.
        """
        links: dict[str, Any] = dict.fromkeys(lane.life, UNKNOWN) if record.event == "start" else instance.life()
        for name, id in (record.links or _NONE).items():
            if name not in lane.names:
                known = ", ".join(lane.table.links) or "none"
                raise BadInput(f"{lane.table.name} has no link {name!r}; its links are {known}")
            links[name] = None if id is None else self.find(lane.table.links[name].to.table.name, id)
        return links

    def born(self, instance: Instance, record: Recorded) -> None:
        """Point the links for life of an instance that is born."""
        given, lane, links = record.links or _NONE, instance.lane, []
        if len(given) == len(lane.reach) and self.complete and not instance.busy and instance.shape is lane.unborn:
            for name, instances in lane.reach:
                id = given.get(name)
                target = None if id is None else instances.get(id)
                if target is None:
                    break
                links.append(target)
            else:
                instance.links = tuple(links)
                for place in lane.until:
                    links[place].owed(instance)
                return
        self.links(lane, instance, record)
        self.attach(instance, given, birth=True)
        counts = instance.tallies.counts
        if not self.complete and counts and counts[0][1] >= FAR:
            instance.tallies = tallies_of(tuple((least, most - FAR, False) for least, most, _ in counts))

    def attach(
        self, instance: Instance, given: Mapping[str, Any], *, birth: bool = False, perhaps: bool = False
    ) -> None:
        """Point the links for life where the record says; what it leaves out is not known, or stays after a birth.

        A birth that only may happen does not move a link: if another one may, too, it is open where the link points.

        Raises:
            BadInput: a link is moved.
        """
        lane, before = instance.lane, instance.links
        links: list[Any] = []
        for (name, machine), was in zip(lane.targets, before, strict=True):
            if name not in given:
                links.append(UNKNOWN if birth else was)
                continue
            id = given[name]
            target = None if id is None else self.find(machine, id)
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
        for place in lane.until:
            if isinstance(links[place], Instance):
                links[place].owed(instance)
            elif links[place] is UNKNOWN:
                self.not_checked |= {owe.rule for owe in lane.table.owes.values() if owe.until}

    # --- what an event may see --------------------------------------------------------------------------------------

    def ask(self, instance: Instance, call: Call) -> Ask:
        """An event with every alternative of what it reads."""
        links: dict[str, Any] = {}
        shaded, own = set(), set()
        for name, _, _ in instance.lane.plan(call.request.name).links:
            target = call.links.get(name, UNKNOWN)
            if isinstance(target, Instance):
                self.settle(target)
                links[name] = tuple(value for _, value in self.alternatives(target))
                shaded |= {name} if target.belief.shaded else set()
                own |= {name} if target is instance else set()
            else:
                links[name] = (target,)
        tallies: dict[str, Sequence[Any]] = {}
        for name, (least, most, open_) in zip(instance.table.tallies, self._tallies(instance), strict=True):
            tallies[name] = (UNKNOWN,) if most - least > _WIDE else range(least, most + 1)
            shaded |= {name} if open_ else set()
        return Ask(call.request, call.by, links, tallies, frozenset(shaded), frozenset(own))

    def alternatives(self, target: Instance) -> tuple[tuple[Cell | None, Any], ...]:
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

    def _tallies(self, instance: Instance) -> tuple[Count, ...]:
        """How many count for an instance, those included of which the trace does not show where they do."""
        loose = instance.lane.loose
        if not self.loose or not any(loose):
            return instance.tallies.counts
        return tuple(
            (least, most + more, shaded or more > 0)
            for (least, most, shaded), more in zip(instance.tallies.counts, loose, strict=True)
        )

    # --- what changes -----------------------------------------------------------------------------------------------

    def change(self, instance: Instance, belief: Belief, line: int) -> None:
        """Give an instance another belief; whoever has an open call that reads it looks once more at it as it was."""
        if instance.busy is not None:
            for watcher in tuple(instance.busy.watchers):
                self.settle(watcher)
        before = instance.belief
        self.recount(instance, instance.lane.counts(before, belief), line)
        if before.cells != belief.cells:
            instance.state_line = line
        instance.belief = belief
        if instance.busy is not None:
            self.moves += 1

    def recount(self, instance: Instance, counted: tuple[tuple[int, int, Count], ...], line: int) -> None:
        """Move the tallies of the owners by what an instance adds to them."""
        for place, index, count in counted:
            owner = instance.links[place]
            if owner.__class__ is Instance:
                owner.tally_line = line
                if owner.busy is None:
                    owner.tallies = owner.tallies.moved(index, count)
                    continue
            self._count(instance, instance.lane.target_lanes[place], owner, index, count)

    def forget(self, instance: Instance) -> None:
        """Follow an instance no longer; from now on it may or may not count for its owners."""
        if instance.busy is not None:
            instance.busy.kinds.clear()
        for (place, index), (least, most) in zip(instance.lane.counted, instance.belief.counts, strict=True):
            owner = instance.links[place]
            self._count(instance, instance.lane.target_lanes[place], owner, index, (-least, 1 - most, True))
        instance.belief = instance.lane.beliefs.poisoned
        self.moves += 1

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
                self.settle(watcher)

    # --- open calls -------------------------------------------------------------------------------------------------

    def invoke(self, instance: Instance, record: Recorded, call: Call) -> None:
        """Open a call."""
        if call.request.name == "start" and instance.belief.unborn:
            self.attach(instance, record.links or _NONE, birth=True, perhaps=True)
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

    def settle(self, instance: Instance) -> None:
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
                    self.settle(feeder)
                if busy.kinds:
                    found = self._closure(instance, busy.kinds)
                    if found is not instance.belief:
                        self.change(instance, found, instance.state_line)
        finally:
            busy.settling = False

    def _closure(self, instance: Instance, kinds: Mapping[int, Call]) -> Belief:
        """Every candidate that open calls can lead to."""
        seen: list[Any] = [instance.belief, self._tallies(instance)]
        for call in kinds.values():
            for name, _, _ in instance.lane.plan(call.request.name).links:
                target = call.links.get(name, UNKNOWN)
                if isinstance(target, Instance):
                    self.settle(target)
                    seen += (target.belief, self._tallies(target))
                else:
                    seen.append(target)
        key = (*seen, *((kind, *call.content(), call.invoked) for kind, call in kinds.items()))
        found = instance.lane.closures.get(key) or instance.lane.follow(key, self._follow(instance, kinds))
        for kind, chance in found.chances.items():
            kinds[kind].chance |= chance
        self.not_checked |= found.unasked
        return found.belief

    def _follow(self, instance: Instance, kinds: Mapping[int, Call]) -> Closure:
        """Work out where open calls can lead."""
        lane = instance.lane
        found = set(instance.belief.candidates)
        todo = list(found)
        asks = {kind: self.ask(instance, call) for kind, call in kinds.items()}
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
            if len(found) > BUDGET:
                raise TooMany(f"{len(found)} candidates, from {len(kinds)} kinds of overlapping calls")
        every = [possible for ones in tried.values() for possible in ones.values()]
        shaded = instance.belief.shaded or any(possible.split for possible in every)
        chances = {kind: chance_of(ones, shaded) for kind, ones in tried.items()}
        unasked = frozenset(rule for possible in every if possible.after for rule in possible.unasked)
        return Closure(lane.beliefs.of(found, shaded), chances, unasked)
