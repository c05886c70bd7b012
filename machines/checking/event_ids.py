"""Event ids of a trace: an id is bound to the event that was accepted under it, so that a repeat is known as one."""

from collections.abc import Mapping
from typing import Any

import attrs

from ..kernel.errors import BadInput
from .instance import Instance
from .parsed import parsed

__all__ = ["Binding", "EventIds"]

_MOST = 1 << 16
"""Ids remembered: what is delivered again comes soon, and memory does not grow with the trace."""


@attrs.frozen(eq=False)
class Binding:
    """What an event id stands for."""

    instance: Instance
    event: str
    payload: Any

    def same(self, instance: Instance, event: str, payload: Any) -> bool:
        """Whether another event is this one, as far as both are shown."""
        if self.instance is not instance or self.event != event:
            return False
        if self.payload == payload:
            return True
        first, second = _fields(self.payload), _fields(payload)
        return all(first[name] == second[name] for name in first.keys() & second.keys())


class EventIds(dict[str | None, Binding]):
    """The last ids and what they are bound to; the oldest is forgotten."""

    def bind(self, event_id: str, instance: Instance, event: str, payload: Any) -> None:
        """Bind a new id."""
        if len(self) >= _MOST:
            del self[next(iter(self))]
        self[event_id] = Binding(instance, event, payload)


def _fields(payload: Any) -> Mapping[str, Any]:
    fields = parsed(payload, "a payload") if isinstance(payload, bytes) else payload or {}
    if not isinstance(fields, Mapping):
        raise BadInput(f"a payload is no object: {fields!r:.60}")
    return fields
