"""How one instance sees another: links, the tallies that count dependents, and what a guard is shown.

A guard reads a linked instance's state, data and tallies, and never further. That is the interlock.
"""

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import attrs
from statemachine import State as _State

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["Link", "Seen", "State", "Tally"]

D = TypeVar("D")


class State(_State):
    """A state of a machine: `State(initial=True)` for the one before birth, `State(final=True)` for an end."""

    def __eq__(self, other: object) -> bool:
        """The same state, or that of the same name in a variant of the machine."""
        if isinstance(other, _State):
            return self is other or (self.id, self.name) == (other.id, other.name)
        return bool(self.value == other)

    def __hash__(self) -> int:
        return id(self)  # a class body puts states into dictionaries before they have names

    def __repr__(self) -> str:
        return f"<state {self.id}>"


class Tally:
    """An int on the owner of a link: how many of its dependents are in the states that their link names.

    Declared on the owner (`active = Tally()`), fed by the dependent's `Link(Owner, counts={Owner.active: (granted,)})`.
    Guards of the owner ask for it by name, guards of others read `owner.tallies["active"]`.
    """

    name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Tally({self.name!r})"


class Link:
    """A declared reference from one instance to another, through which a guard reads it.

    Args:
        to: the machine of the other instance, or `typing.Self` for another instance of the same machine.
        per_event: given with each event, not for life.
        optional: a guard may be shown None; otherwise a missing instance is a refusal under `link-present`.
        counts: for each tally of the owner, the states of this machine in which an instance counts.
    """

    name = ""

    def __init__(
        self,
        to: "type[Machine] | Any",
        *,
        per_event: bool = False,
        optional: bool = False,
        counts: "dict[Tally, tuple[State, ...]] | None" = None,
    ) -> None:
        self.to = to
        self.per_event = per_event
        self.optional = optional
        self.counts = counts or {}

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        if self.to is Self:
            self.to = owner

    def __repr__(self) -> str:
        return f"Link({getattr(self.to, '__name__', self.to)!s})"


@attrs.frozen
class Seen(Generic[D]):
    """What a guard is shown of a linked instance."""

    state: State
    data: D
    tallies: dict[str, int] = attrs.field(factory=dict, hash=False)
