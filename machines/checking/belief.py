"""What may be true of one instance: a set of possible states, each with the open calls that have happened in it.

Beliefs are interned as long as somebody has them: equal sets are one object, and are compared by identity.
"""

from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

from ..kernel.fields import UNKNOWN, fields_of
from ..kernel.links import State
from ..kernel.table import Table
from .dark import dark_fields

__all__ = ["Belief", "Beliefs", "Candidate", "Cell", "widest"]


class Cell:
    """A state with its data and the memory of the machine's monitors; what the trace does not show is UNKNOWN."""

    __slots__ = ("__weakref__", "dark", "data", "memory", "state")

    def __init__(self, state: State, data: Any, memory: tuple[Any, ...]) -> None:
        self.state = state
        self.data = data
        self.memory = memory
        self.dark = data is UNKNOWN or UNKNOWN in memory or bool(dark_fields(data))


Candidate = tuple[Cell, tuple[tuple[int, int], ...]]
"""A cell, and for each kind of open call how many of its calls have happened."""


class Belief:
    """An immutable, interned set of candidates of one machine; never empty but for the poisoned one."""

    __slots__ = ("__weakref__", "candidates", "cells", "counts", "final", "owing", "shaded", "sole", "unborn")

    def __init__(self, table: Table, candidates: frozenset[Candidate], counts: Any, shaded: bool) -> None:
        self.candidates = tuple(candidates)
        if len(candidates) > 1:
            order = list(table.states)
            self.candidates = tuple(sorted(candidates, key=lambda one: (order.index(str(one[0].state.id)), one[1])))
        self.cells = tuple(dict.fromkeys(cell for cell, _ in self.candidates))
        self.sole = self.cells[0] if len(self.candidates) == 1 and not self.candidates[0][1] else None
        self.shaded = shaded
        """Which of its cells it is in depends on something that the trace does not show, not on its order alone."""
        self.unborn = any(cell.state is table.absent for cell in self.cells)
        self.final = all(cell.state.final for cell in self.cells)
        self.owing = all(str(cell.state.id) in table.owes for cell in self.cells)
        self.counts = counts(
            tuple(_share(cell.state in states for cell in self.cells) for _, _, states in table.counted)
        )
        """Least and most that an instance adds to its owners, in the order of `table.counted`."""

    def states(self) -> str:
        """The possible states, for a person."""
        return "|".join(dict.fromkeys(str(cell.state.id) for cell in self.cells)) or "unknown"


def _share(counted: Iterable[bool]) -> tuple[int, int]:
    values = set(counted)
    return int(values == {True}), int(True in values)


def widest(candidates: frozenset[Candidate]) -> frozenset[Candidate]:
    """The candidates without those that a wider one contains: equal to it in all that it knows."""
    wide = [candidate for candidate in candidates if candidate[0].dark]
    if not wide or len(candidates) == 1:
        return candidates
    return frozenset(one for one in candidates if not any(_contains(other, one) for other in wide if other is not one))


def _contains(wide: Candidate, one: Candidate) -> bool:
    (cell, done), (other, its_done) = wide, one
    if cell.state is not other.state or done != its_done or cell is other:
        return False
    if any(known not in (UNKNOWN, its) for known, its in zip(cell.memory, other.memory, strict=True)):
        return False
    if cell.data is UNKNOWN or cell.data is None:
        return cell.data is UNKNOWN or other.data is None
    if other.data is UNKNOWN:
        return False
    names = [field.name for field in fields_of(type(cell.data))]
    return all(getattr(cell.data, name) in (UNKNOWN, getattr(other.data, name)) for name in names)


class Beliefs:
    """The interning tables of one machine."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._cells: WeakValueDictionary[Any, Cell] = WeakValueDictionary()
        self._beliefs: WeakValueDictionary[tuple[frozenset[Candidate], bool], Belief] = WeakValueDictionary()
        self._counts: dict[Any, Any] = {}
        self.start = tuple(watch.start for watch in table.monitors)
        self.unborn = self.of([(self.cell(table.absent, None, self.start), ())])
        unseen = (UNKNOWN,) * len(self.start)
        lives = [state for state in table.states.values() if state is not table.absent]
        self.slice = self.of([(self.cell(state, UNKNOWN if table.data else None, unseen), ()) for state in lives], True)
        """Anything but unborn: an instance whose birth the trace does not show."""
        self.anything = self.of([*self.unborn.candidates, *self.slice.candidates], True)
        """An instance that another one points to, and that the trace has not shown yet."""
        self.poisoned = Belief(table, frozenset(), self._count, True)
        """An instance that broke a rule: what follows it is a consequence."""

    def cell(self, state: State, data: Any, memory: tuple[Any, ...]) -> Cell:
        key = (state.id, data, memory)
        found = self._cells.get(key)
        if found is None:
            found = self._cells[key] = Cell(state, data, memory)
        return found

    def of(self, candidates: Iterable[Candidate], shaded: bool = False) -> Belief:
        kept = widest(frozenset(candidates))
        key = (kept, shaded and len({cell for cell, _ in kept}) != 1)
        found = self._beliefs.get(key)
        if found is None:
            found = self._beliefs[key] = Belief(self.table, kept, self._count, key[1])
        return found

    def _count(self, counts: Any) -> Any:
        """Equal counts as one object: most steps change nothing about how an instance counts."""
        return self._counts.setdefault(counts, counts)
