"""A generated race: actors of a small world plan what they will fire, then all fire at once under a drawn schedule.

`race_of(world, ground)` is a Hypothesis state machine. It has a rule for each thing that an actor may do, enabled while
the tables say that some state which the instance may be in takes the event. `teardown` runs what was planned on a real
kernel and store, each actor in a thread of its own, for a rule that did so would stand in the way of shrinking. What a
failure prints can be read as Python:

    state.click_a_cycle_deny(always=False, digest='a', feedback=False, pause=3)
    state.deadline_cycle_time_out(pause=None)
    state.teardown()

followed by what cannot be, the schedule, and what every caller was told. An actor that pauses, here before the fourth
step of its denial, lets all others go first.
"""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from ...machines.kernel import Kernel, Ref, Request
from .history import Ground, History
from .schedule import Choose, Queue, Schedule
from .values import values
from .world import Fire, World

__all__ = ["Arena", "race_of"]

_STEPS = 10
"""Steps that one fire takes, or a few less: an actor may pause before any of them."""

Program = Sequence[tuple[Ref, Request, int | None]]
"""What an actor fires, one after the other, and after how many steps of it the actor pauses."""


class Arena:
    """A world that was opened on a ground, in which programs race."""

    def __init__(self, world: World, ground: Ground) -> None:
        self.world = world
        self.ground = ground
        self.history = History(world.machines())
        self.kernels = {name: Kernel(ground.store) for name in world.actors}
        opening = Kernel(ground.store)
        for fire in world.opening:
            decision = self.history.alone(opening, "opening", fire.ref, fire.request(), world.by)
            assert decision.accepted, f"the opening is refused at {fire}: {decision}"

    def state(self, fire: Fire) -> str:
        """The state that the instance of a fire is in."""
        table = fire.event.machine.table
        snapshot = self.ground.store.read(table, fire.ref)
        return str(snapshot.state.id if snapshot else table.absent.id)

    def race(self, programs: Mapping[str, Program], choose: Choose | None = None) -> Schedule:
        """Let every actor run its program, and check what each was told.

        Args:
            programs: by actor.
            choose: who goes on; by default one after the other, but for the pauses.

        Raises:
            AssertionError: something happened that cannot; the text says what, and has the schedule and all calls.
        """
        before, queue = len(self.history.calls), Queue(programs)
        schedule = Schedule(choose or queue, self.ground.watch)
        schedule.run({actor: self._runner(actor, program, schedule, queue) for actor, program in programs.items()})
        wrong = "\n".join((*self.history.faults(self.ground), *self._twice()))
        told = "\n".join(map(str, self.history.calls[before:]))
        assert not wrong, f"{wrong}\n{schedule}\n{told}"
        return schedule

    def _runner(self, actor: str, program: Program, schedule: Schedule, queue: Queue) -> Callable[[], None]:
        def run() -> None:
            for ref, request, pause in program:
                if pause is not None:
                    queue.pause(actor, pause)
                schedule.at(f"{ref.id}.{request.name}")
                self.history.call(self.kernels[actor], actor, ref, request, self.world.actors[actor].by)

        return run

    def _twice(self) -> Iterator[str]:
        for ref, state in self.world.decided.items():
            winners = self.history.winners(ref, state)
            if len(winners) > 1:
                yield f"{ref} was taken to {state.id} by {', '.join(call.actor for call in winners)}"


class _Race(RuleBasedStateMachine):
    """The rules that every race has; those of its world are added."""

    world: World
    ground: Callable[[], Ground]
    ran: Callable[[Schedule], None]

    def __init__(self) -> None:
        super().__init__()
        self.arena = Arena(self.world, type(self).ground())
        self.planned: dict[str, list[tuple[Fire, Request, int | None]]] = {actor: [] for actor in self.world.actors}
        self.may = {fire.instance: {self.arena.state(fire)} for fire in self.world.fires}
        """The states that an instance may be in after some of what is planned."""

    def can(self, fire: Fire) -> bool:
        """Whether, for all that the tables say, the event may be taken after some of what is planned."""
        if any(self.may[link] == {"absent"} for link in fire.links):
            return False
        table = fire.event.machine.table
        pairs = [(state, fire.event.name) for state in self.may[fire.instance]]
        return any(pair in table.moves or pair in table.settled for pair in pairs)

    def plan(self, actor: str, fire: Fire, request: Request, pause: int | None) -> None:
        self.planned[actor].append((fire, request, pause))
        self.planned[actor].sort(key=lambda planned: self.world.actors[actor].fires.index(planned[0]))
        planned = [each for program in self.planned.values() for each in program]
        events = {request.name for other, request, _ in planned if other.instance == fire.instance}
        may, moves = self.may[fire.instance], fire.event.machine.table.moves
        taken = {pair: ways for pair, ways in moves.items() if pair[1] in events}
        while more := {str(way.target.id) for (state, _), ways in taken.items() if state in may for way in ways} - may:
            may |= more

    def teardown(self) -> None:
        programs = {
            actor: [(fire.ref, request, pause) for fire, request, pause in program]
            for actor, program in self.planned.items()
            if program
        }
        try:
            type(self).ran(self.arena.race(programs))
        finally:
            self.arena.ground.close()


def race_of(
    world: World, ground: Callable[[], Ground], *, ran: Callable[[Schedule], None] = lambda schedule: None
) -> type[RuleBasedStateMachine]:
    """Generate the race of a world.

    Args:
        world: the instances and the actors.
        ground: makes an empty store to race on.
        ran: told of each schedule that was run without fault.
    """
    rules: dict[str, Any] = {}
    for name, actor in world.actors.items():
        for fire in actor.fires:
            rules[f"{name}_{fire.instance}_{fire.event.name}"] = _planning(name, fire)
    given = {"world": world, "ground": staticmethod(ground), "ran": staticmethod(ran), "__module__": __name__}
    return types.new_class("Race", (_Race,), {}, lambda namespace: namespace.update(rules | given))


def _planning(actor: str, fire: Fire) -> Any:
    def plan(self: _Race, pause: int | None, **drawn: Any) -> None:
        self.plan(actor, fire, fire.request(**drawn), pause)

    drawn: dict[str, Any] = {field.name: st.sampled_from(values(field)) for field in fire.open}
    plan.__name__ = plan.__qualname__ = f"{actor}_{fire.instance}_{fire.event.name}"
    planned: Any = rule(pause=st.none() | st.integers(0, _STEPS - 1), **drawn)
    return precondition(lambda self: self.can(fire))(planned(plan))
