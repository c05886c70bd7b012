"""A generated race: actors of a small world plan what they will fire, then all fire at once under a drawn schedule.

`race_of(world, ground)` is a Hypothesis state machine. It has a rule for each thing that an actor may do, enabled while
the tables say that some state which the instance may be in takes the event, a rule for the pauses of each actor, and a
rule `all_at_once` that runs what was planned on a real kernel and store, each actor in a thread of its own. What a
failure prints can be read as Python:

    state.deadline_cycle_time_out()
    state.click_a_cycle_deny(digest='a', always=False, feedback=False)
    state.click_a_pauses(before=3)
    state.all_at_once()

followed by what cannot be, the schedule, and what every caller was told.
"""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from ...machines.kernel import Kernel, Ref, Request
from .history import Ground, History
from .schedule import Schedule, pausing
from .values import values
from .world import Fire, World

__all__ = ["Arena", "race_of"]

_AT_ONCE = 6
"""Fires that one race has at most, over all actors."""
_STEPS = 9
"""Steps that one fire takes, or a few less: an actor may pause before any of them."""

Programs = Mapping[str, Sequence[tuple[Ref, Request]]]
"""What each actor fires, one after the other."""


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

    def race(self, programs: Programs, schedule: Schedule) -> None:
        """Let every actor run its program, and check what each was told.

        Raises:
            AssertionError: something happened that cannot; the text says what, and has the schedule and all calls.
        """
        before = len(self.history.calls)
        schedule.run({actor: self._runner(actor, program, schedule) for actor, program in programs.items()})
        wrong = "\n".join((*self.history.faults(self.ground), *self._twice()))
        told = "\n".join(map(str, self.history.calls[before:]))
        assert not wrong, f"{wrong}\n{schedule}\n{told}"

    def _runner(self, actor: str, program: Sequence[tuple[Ref, Request]], schedule: Schedule) -> Callable[[], None]:
        def run() -> None:
            for ref, request in program:
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
        self.open()

    def open(self) -> None:
        self.arena = Arena(self.world, type(self).ground())
        self.raced = False
        self.clear()

    def clear(self) -> None:
        """Nothing is planned, and every instance is in the state that it is in."""
        self.planned: list[tuple[str, Fire, Request]] = []
        self.pauses: set[tuple[str, int]] = set()
        self.may = {fire.instance: {self.arena.state(fire)} for fire in self.world.fires}

    def can(self, actor: str, fire: Fire) -> bool:
        """Whether, for all that the tables say, the event may be taken after some of what is planned."""
        script = self.world.actors[actor].fires
        done = [script.index(planned) for other, planned, _ in self.planned if other == actor]
        if len(self.planned) == _AT_ONCE or script.index(fire) <= max(done, default=-1):
            return False
        if any(self.may[link] == {"absent"} for link in fire.links):
            return False
        table, event = fire.event.machine.table, fire.event.name
        return any((state, event) in table.moves or (state, event) in table.settled for state in self.may[fire.instance])

    def plan(self, actor: str, fire: Fire, request: Request) -> None:
        self.planned.append((actor, fire, request))
        may, moves = self.may[fire.instance], fire.event.machine.table.moves
        events = {request.name for _, planned, request in self.planned if planned.instance == fire.instance}
        while more := {str(way.target.id) for state in may for event in events for way in moves.get((state, event), ())} - may:
            may |= more

    def more(self) -> bool:
        """Whether anything else can be planned."""
        return any(self.can(name, fire) for name, actor in self.world.actors.items() for fire in actor.fires)

    def contested(self) -> bool:
        """Whether two actors want something of the same instance."""
        wanted = {(actor, fire.instance) for actor, fire, _ in self.planned}
        return len(wanted) > len({instance for _, instance in wanted})

    def teardown(self) -> None:
        self.arena.ground.close()

    # Hypothesis tries rules without arguments first, then by name: when it shrinks, it tries to race at once.
    @precondition(lambda self: (self.contested() and self.pauses) or (self.planned and not self.more()))
    @rule()
    def all_at_once(self) -> None:
        programs: dict[str, list[tuple[Ref, Request]]] = {actor: [] for actor in self.world.actors}
        for actor, fire, request in self.planned:
            programs[actor].append((fire.ref, request))
        schedule = Schedule(pausing(programs, self.pauses), self.arena.ground.watch)
        self.arena.race({actor: program for actor, program in programs.items() if program}, schedule)
        type(self).ran(schedule)
        self.raced = True
        self.clear()

    @precondition(lambda self: self.raced and not self.planned)
    @rule()
    def start_over(self) -> None:
        self.arena.ground.close()
        self.open()


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
        rules[f"{name}_pauses"] = _pausing(name)
    given = {"world": world, "ground": staticmethod(ground), "ran": staticmethod(ran), "__module__": __name__}
    return types.new_class("Race", (_Race,), {}, lambda namespace: namespace.update(rules | given))


def _planning(actor: str, fire: Fire) -> Any:
    def plan(self: _Race, **drawn: Any) -> None:
        self.plan(actor, fire, fire.request(**drawn))

    drawn = {field.name: st.sampled_from(values(field)) for field in fire.open}
    plan.__name__ = plan.__qualname__ = f"{actor}_{fire.instance}_{fire.event.name}"
    return precondition(lambda self: self.can(actor, fire))(rule(**drawn)(plan))


def _pausing(actor: str) -> Any:
    def planned(self: _Race) -> int:
        return [other for other, *_ in self.planned].count(actor)

    def pause(self: _Race, before: int) -> None:
        self.pauses.add((actor, before))

    pause.__name__ = pause.__qualname__ = f"{actor}_pauses"
    before = st.runner().flatmap(lambda self: st.integers(0, _STEPS * planned(self) - 1))
    return precondition(planned)(rule(before=before)(pause))
