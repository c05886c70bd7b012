"""A payload as what it decides, apart from its ids and from what it carries."""

from collections.abc import Mapping
from typing import Any

from ..kernel.errors import BadInput
from ..kernel.fields import Field
from .parsed import parsed

__all__ = ["Split"]

_REMEMBERED = 1 << 12
_NEITHER: tuple[None, tuple[Any, ...]] = (None, ())


class Split:
    """Takes the ids and the carried fields out of payloads of one event.

    Args:
        fields: of the payload.
    """

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.ids = tuple(field.name for field in fields if field.kind in ("id", "ids"))
        self.carried = tuple(field.name for field in fields if not field.decides)
        self.whole = not (self.ids or self.carried)
        """There is nothing to take out: raw JSON can stand for itself."""
        self.known: dict[bytes, tuple[Any, Any]] = {}

    def __call__(self, payload: Any) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:
        """The parts of a payload.

        Args:
            payload: raw JSON as bytes, or fields by name.

        Returns:
            what is left with the type of each value, and the ids; None and no id where an id is not given, or the
            payload has to be judged as a whole.
        """
        if payload.__class__ is not bytes:
            return self._parts(payload)
        known = self.known.get(payload)
        if known is None:
            try:
                fields = parsed(payload, "a payload")
            except BadInput:
                return _NEITHER
            found = self._parts(fields)
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            known = self.known[payload] = found
        return known

    def _parts(self, fields: Any) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:
        if not isinstance(fields, Mapping):
            return _NEITHER
        ids: list[str] = []
        left: list[Any] = []
        for name, value in fields.items():
            if name in self.carried:
                if value.__class__ is not str:
                    return _NEITHER
            elif name not in self.ids:
                if value.__hash__ is None:
                    return _NEITHER
                left.append((name, value.__class__, value))
        for name in self.ids:
            value = fields.get(name)
            some = [value] if value.__class__ is str else value
            if some.__class__ not in (list, frozenset) or not all(one.__class__ is str for one in some):
                return _NEITHER
            some = sorted(set(some))
            left.append((name, value.__class__, len(some)))
            ids += some
        return tuple(left), tuple(ids)
