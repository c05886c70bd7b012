"""A belief without the names in it: what is left when ids are only told apart.

Guards can do nothing with an id but compare it with another one, so a step that was worked out once holds for all
instances that differ in the names of their ids alone. An instance is followed as a shape and its names; the belief
itself is made when somebody has to look at it.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any
from weakref import WeakValueDictionary

import attrs

from ..kernel.fields import UNKNOWN
from .belief import Belief, Beliefs, Candidate

__all__ = ["Names", "Shape", "Shapes"]

Names = tuple[str, ...]


@attrs.frozen
class _Place:
    """Stands for the id with this number among the names."""

    number: int


class Shape:
    """A belief in which each id is a number; interned, so equal ones are one object."""

    __slots__ = ("__weakref__", "_belief", "_candidates", "_shapes", "owing", "shaded")

    def __init__(self, shapes: "Shapes", belief: Belief, candidates: tuple[Candidate, ...], size: int) -> None:
        self._shapes = shapes
        self._belief = None if size else belief
        self._candidates = candidates
        self.shaded = belief.shaded
        self.owing = bool(candidates) and belief.owing

    def belief(self, names: Names) -> Belief:
        """The belief with these names."""
        if self._belief is not None:
            return self._belief
        return self._shapes.named(self._candidates, names, self.shaded)


class Shapes:
    """The interned shapes of one machine.

    Args:
        beliefs: of the same machine.
    """

    def __init__(self, beliefs: Beliefs) -> None:
        self._beliefs = beliefs
        self._known: WeakValueDictionary[Any, Shape] = WeakValueDictionary()
        self.ids = tuple(field.name for field in beliefs.table.data_fields if field.kind in ("id", "ids"))
        """The fields of data that are ids or sets of them."""

    def of(self, belief: Belief) -> tuple[Shape, Names]:
        """The shape of a belief, and its names in the order in which its candidates have them."""
        names: dict[str, int] = {}
        candidates = tuple(
            (self._beliefs.cell(cell.state, self._placed(cell.data, names), cell.memory), done)
            for cell, done in belief.candidates
        )
        if not all(_nameless(cell.memory) for cell, _ in candidates):
            return Shape(self, belief, belief.candidates, 0), ()  # equal to no other one: a monitor may know names, too
        key = (candidates, belief.shaded)
        shape = self._known.get(key)
        if shape is None:
            shape = self._known[key] = Shape(self, belief, candidates, len(names))
        return shape, tuple(names)

    def _placed(self, data: Any, names: dict[str, int]) -> Any:
        """Data with a number for each name."""

        def place(value: Any) -> Any:
            return _Place(names.setdefault(value, len(names))) if isinstance(value, str) else value

        return self._mapped(data, place)

    def named(self, candidates: tuple[Candidate, ...], names: Names, shaded: bool) -> Belief:
        """The belief with these candidates, each number a name again."""

        def name(value: Any) -> Any:
            return names[value.number] if isinstance(value, _Place) else value

        return self._beliefs.of(
            [
                (self._beliefs.cell(cell.state, self._mapped(cell.data, name), cell.memory), done)
                for cell, done in candidates
            ],
            shaded,
        )

    def _mapped(self, data: Any, change: Callable[[Any], Any]) -> Any:
        """Data with each id changed."""
        if data is None or data is UNKNOWN or not self.ids:
            return data
        changed = {}
        for field in self.ids:
            value = getattr(data, field)
            if isinstance(value, frozenset):
                changed[field] = frozenset(change(one) for one in sorted(value, key=str))
            else:
                changed[field] = change(value)
        return attrs.evolve(data, **changed)


def _nameless(value: Any) -> bool:
    """Whether what the monitors know can hold no name."""
    if isinstance(value, tuple):
        return all(map(_nameless, value))
    return value is None or value is UNKNOWN or isinstance(value, bool | int | Enum)
