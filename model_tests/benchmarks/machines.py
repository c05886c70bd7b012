"""The same small lifecycle in the peers' own words: four states, one guard, one field that is updated."""

from collections.abc import Callable
from typing import Any

__all__ = ["PEERS"]


def transitions_peer() -> Callable[[], None]:
    from transitions import Machine

    class Cycle:
        tries = 0

        def allowed(self, limit: int) -> bool:
            return self.tries < limit

        def count(self, limit: int) -> None:
            self.tries += 1

    cycle: Any = Cycle()
    Machine(
        cycle,
        states=["open", "shown", "done"],
        transitions=[
            {"trigger": "show", "source": "open", "dest": "shown", "conditions": "allowed", "after": "count"},
            {"trigger": "hide", "source": "shown", "dest": "open"},
        ],
        initial="open",
        send_event=False,
    )

    def two_events() -> None:
        cycle.show(1 << 60)
        cycle.hide()

    return two_events


def automat_peer() -> Callable[[], None]:
    from typing import Protocol

    from automat import TypeMachineBuilder

    class Moves(Protocol):
        def show(self, limit: int) -> None: ...
        def hide(self) -> None: ...

    class Core:
        tries = 0

    builder = TypeMachineBuilder(Moves, Core)
    opened, shown = builder.state("open"), builder.state("shown")

    @opened.upon(Moves.show).to(shown)
    def count(moves: Moves, core: Core, limit: int) -> None:
        if core.tries < limit:
            core.tries += 1

    @shown.upon(Moves.hide).to(opened)
    def back(moves: Moves, core: Core) -> None: ...

    made = builder.build()(Core())

    def two_events() -> None:
        made.show(1 << 60)
        made.hide()

    return two_events


def statemachine_peer() -> Callable[[], None]:
    from statemachine import State, StateMachine

    class Cycle(StateMachine):
        open = State(initial=True)
        shown = State()
        show = open.to(shown, cond="allowed", on="count")
        hide = shown.to(open)

        tries = 0

        def allowed(self, limit: int) -> bool:
            return self.tries < limit

        def count(self) -> None:
            self.tries += 1

    cycle = Cycle()

    def two_events() -> None:
        cycle.send("show", limit=1 << 60)
        cycle.send("hide")

    return two_events


PEERS: dict[str, Callable[[], Callable[[], None]]] = {
    "transitions": transitions_peer,
    "automat": automat_peer,
    "python-statemachine": statemachine_peer,
}
"""Name to a function that makes one that fires two events."""
