"""Addresses, requests and immutable values: what goes into a step and what comes out of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from .errors import BadInput
from .links import State
from .shape import is_text

if TYPE_CHECKING:
    from .machine import Event

__all__ = ["Accepted", "Decision", "Effect", "Failed", "Ref", "Refused", "Request", "Snapshot", "ref_of"]

D = TypeVar("D")
_NOTHING: Mapping[str, Any] = {}


@attrs.frozen(cache_hash=True)
class Ref:
    """The address of one instance: the machine's name and the instance's id."""

    machine: str
    id: str

    def __str__(self) -> str:
        return f"{self.machine} {self.id}"


def ref_of(value: Any, what: str) -> Ref:
    """The address that a Ref, a Snapshot or a Decision has.

    Args:
        value: one of these.
        what: what takes it, for the error.

    Raises:
        BadInput: it is none of these, or no store can keep its id.
    """
    ref = getattr(value, "ref", value)
    if not isinstance(ref, Ref):
        raise BadInput(f"{what} a Ref, a Snapshot or a Decision; got {value!r}")
    if not is_text(ref.id):
        raise BadInput(f"{what} a {ref.machine} with a text as id, half a surrogate pair is none; got {ref.id!a}")
    return ref


@attrs.frozen(eq=False)
class Request:
    """An event with its payload and the links given with it: a request to move, not yet decided.

    Made by calling a machine's event: `Approval.approve(digest=d, always=False)`.
    """

    event: "Event[Any]"
    payload: Any
    links: Mapping[str, Ref] = _NOTHING

    @property
    def name(self) -> str:
        return str(self.event.name)

    def fields(self) -> dict[str, Any]:
        """The payload's fields by name."""
        return {} if self.payload is None else attrs.asdict(self.payload, recurse=False)


@attrs.frozen
class Snapshot(Generic[D]):
    """The immutable value of one instance at one version."""

    ref: Ref
    state: State
    version: int
    data: D
    links: Mapping[str, Ref] = attrs.field(factory=dict, hash=False)
    tallies: Mapping[str, int] = attrs.field(factory=dict, eq=False)

    def counting(self, tallies: Mapping[str, int]) -> "Snapshot[D]":
        """The same with other tallies."""
        return Snapshot(self.ref, self.state, self.version, self.data, self.links, tallies)


@attrs.frozen
class Failed:
    """A guard that said no, with the values it saw."""

    guard: str
    rule: str
    why: str
    saw: Mapping[str, Any] = attrs.field(hash=False)


@attrs.frozen
class Effect:
    """An output that a transition describes and never performs; the outbox delivers it to a handler, at least once."""

    name: str
    payload: Any
    id: str = ""
    ref: Ref | None = None


@attrs.frozen
class Refused:
    """The event may not happen now. Nothing has changed, and nothing is remembered."""

    ref: Ref
    rule: str
    message: str
    failed: tuple[Failed, ...] = ()
    expected: tuple[str, ...] = ()
    """The events that the state could take."""
    accepted: bool = attrs.field(default=False, init=False)
    would_refuse: "Refused | None" = attrs.field(default=None, init=False)


@attrs.frozen
class Accepted:
    """The event happened. In observe mode `would_refuse` holds what enforcing would have answered."""

    ref: Ref
    before: Snapshot[Any]
    after: Snapshot[Any]
    transition: str
    """`source event target`; empty when nothing changed."""
    effects: tuple[Effect, ...] = ()
    would_refuse: Refused | None = None
    accepted: bool = attrs.field(default=True, init=False)


Decision = Accepted | Refused
