"""A small world to race in: a few instances, and who may do what to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from ...machines.kernel import Event, Machine, Ref, Request, State
from ...machines.kernel.fields import Field

__all__ = ["Actor", "Fire", "World", "fire"]


@attrs.frozen(eq=False)
class Fire:
    """Something that an actor may do: an event at a named instance."""

    instance: str
    event: Event[Any]
    given: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.instance}.{self.event.name}"

    @property
    def ref(self) -> Ref:
        ref: Ref = self.event.machine.ref(self.instance)
        return ref

    @property
    def links(self) -> tuple[str, ...]:
        """The instances without which the event cannot pass."""
        links = self.event.machine.table.links
        return tuple(self.given[name] for name in links if name in self.given and not links[name].optional)

    @property
    def open(self) -> tuple[Field, ...]:
        """The fields of the payload that decide and were not given."""
        return tuple(field for field in self.event.spec.fields if field.decides and field.name not in self.given)

    def request(self, **more: Any) -> Request:
        """The request, with values for the fields that are open."""
        links = self.event.machine.table.links
        given = {name: links[name].to.ref(value) if name in links else value for name, value in self.given.items()}
        request: Request = self.event(**given, **more)
        return request


def fire(instance: str, event: Event[Any], **given: Any) -> Fire:
    """Say what may be done: `fire("cycle", Approval.deny, lease="click_lease", always=False)`.

    Args:
        instance: a name; the machine is that of the event.
        event: what happens to it.
        **given: payload fields, and links by the names of other instances; a field that is left out may be anything.
    """
    return Fire(instance, event, given)


@attrs.frozen
class Actor:
    """Who acts, as an adapter would authenticate them, and what they may do, in the order in which they do it."""

    by: Any
    fires: Sequence[Fire]


@attrs.frozen
class World:
    """How instances come to be, who may do what to them, and what only one of all actors can bring about."""

    by: Any
    """Who opens it."""
    opening: Sequence[Fire]
    """What is done before anybody races; all of it is accepted."""
    actors: Mapping[str, Actor]
    decided: Mapping[Ref, State]
    """Instances, and the state into which one actor at most takes each."""

    @property
    def fires(self) -> tuple[Fire, ...]:
        return (*self.opening, *(fire for actor in self.actors.values() for fire in actor.fires))

    def machines(self) -> dict[str, type[Machine]]:
        return {fire.event.machine.table.name: fire.event.machine for fire in self.fires}
