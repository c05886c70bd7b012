"""Values that a trace does not show: what stands for them while a machine decides.

A `Probe` stands for a value until a guard or an update looks at it, which most never do. Then it could be any id that
is known, or one that nobody else has; any counter that is known, or one between, below or above those. A value of the
second kind is marked, and so is what a machine computes from it: in data it is UNKNOWN again, to be asked again when
more is known.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NoReturn

import attrs

from ..kernel.fields import UNKNOWN, Field, fields_of
from .toomany import TooMany

__all__ = ["Known", "Probe", "Touched", "dark_fields", "forget", "is_dark", "put"]

_SUBSETS = 6
"""Ids of which every subset is tried."""


class Touched(Exception):  # noqa: N818  # no error: it says what has to be worked out
    """Something looked at a value that is open."""

    def __init__(self, probe: Any) -> None:
        super().__init__(probe)
        self.probe = probe


class Probe:
    """Stands for a value that is not None and not shown; it can be handed on and held against its range, no more."""

    __slots__ = ("field",)

    def __init__(self, field: Field) -> None:
        self.field = field

    def _touch(self, *_: Any) -> NoReturn:
        raise Touched(self)

    def __le__(self, other: Any) -> bool:
        if self.field.kind == "int" and type(other) is int and self.field.values[1] <= other:
            return True
        self._touch()

    def __ge__(self, other: Any) -> bool:
        if self.field.kind == "int" and type(other) is int and self.field.values[0] >= other:
            return True
        self._touch()

    __eq__ = __ne__ = __lt__ = __gt__ = __bool__ = __hash__ = _touch
    __add__ = __radd__ = __sub__ = __rsub__ = __or__ = __ror__ = __and__ = __rand__ = _touch
    __contains__ = __iter__ = __len__ = __int__ = __index__ = _touch


class _Id(str):
    """An id that nothing shown has: equal to itself alone, whatever a trace may contain."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Id):
            return str.__eq__(self, other)
        return False if isinstance(other, str) else NotImplemented

    def __ne__(self, other: object) -> bool:
        if isinstance(other, str):
            return not self == other
        return NotImplemented

    def __hash__(self) -> int:
        return str.__hash__(self)


class _Counter(int):
    """A counter that is none of the shown ones."""

    __slots__ = ()

    def __add__(self, other: int) -> int:
        return _Counter(int(self) + other)

    def __sub__(self, other: int) -> int:
        return _Counter(int(self) - other)

    __radd__ = __add__


def is_dark(value: Any) -> bool:
    """Whether a value stands for one that the trace does not show."""
    if isinstance(value, frozenset):
        return any(isinstance(item, _Id | Probe) for item in value)
    return value is UNKNOWN or isinstance(value, _Id | _Counter | Probe)


def dark_fields(data: Any) -> tuple[Field, ...]:
    """The deciding fields of data or a payload that are not known."""
    if data is None or data is UNKNOWN:
        return ()
    return tuple(field for field in fields_of(type(data)) if field.decides and getattr(data, field.name) is UNKNOWN)


def forget(data: Any) -> Any:
    """Data with each value that only stood for one as UNKNOWN again."""
    if data is None or data is UNKNOWN:
        return data
    stood = {field.name: UNKNOWN for field in fields_of(type(data)) if is_dark(getattr(data, field.name))}
    return attrs.evolve(data, **stood) if stood else data


def put(data: Any, probe: Probe, value: Any) -> Any:
    """Data, a payload or a single id with a value in the place of a probe."""
    if data is probe:
        return value
    if data is None or not attrs.has(type(data)):
        return data
    found = {field.name: value for field in fields_of(type(data)) if getattr(data, field.name) is probe}
    return attrs.evolve(data, **found) if found else data


class Known:
    """The ids and counters that one event can see.

    Args:
        shown: data, payloads and single ids.
    """

    def __init__(self, shown: Iterable[Any]) -> None:
        ids: set[Any] = set()
        counters = {0}
        """Where every counter begins."""
        for one in shown:
            if one is None or one is UNKNOWN:
                continue
            if not attrs.has(type(one)):
                ids.add(one)
                continue
            for field in fields_of(type(one)):
                value = getattr(one, field.name)
                if value is None or value is UNKNOWN:
                    continue
                if field.kind == "id":
                    ids.add(value)
                elif field.kind == "ids":
                    ids |= value
                elif field.kind == "epoch":
                    counters.add(value)
        self.ids = tuple(sorted(ids, key=str))
        self.counters = tuple(sorted(counters))

    def values(self, field: Field, fresh: int) -> Sequence[Any]:
        """Every value but None that a field which is not shown may have here.

        Args:
            field: what a probe stands for.
            fresh: how many ids that nothing shown has there are already: it may or may not be one of them.
        """
        if field.kind == "epoch":
            return self._counters()
        if field.kind == "int":
            return range(field.values[0], field.values[1] + 1)
        ids = (*self.ids, *(_Id(f"\0{number}") for number in range(fresh + 1)))
        return ids if field.kind == "id" else self._sets(ids)

    def _counters(self) -> Sequence[int]:
        """Each known one, and one or two for each gap between them: no guard tells more of them apart."""
        known = self.counters
        others = {value + change for value in known for change in (-1, 1)} | {known[-1] + 2}
        return (*known, *(_Counter(value) for value in sorted(others - set(known)) if value >= 0))

    def _sets(self, ids: Sequence[Any]) -> Sequence[frozenset[Any]]:
        if len(ids) > _SUBSETS:
            raise TooMany(f"a set that is not shown could have any of {len(ids)} ids")
        return [frozenset(some) for size in range(len(ids) + 1) for some in combinations(ids, size)]
