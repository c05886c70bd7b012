"""What a kernel asks of a store: one serializable transaction at a time over snapshots, journal and outbox."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import attrs

from .snapshot import Accepted, Effect, Ref, Refused, Snapshot
from .table import Table

__all__ = ["Entry", "Pending", "Store", "Transaction", "counts"]


@attrs.frozen
class Entry:
    """One accepted step, as the journal keeps it."""

    decision: Accepted
    event: str
    payload: Any
    by: Any
    event_id: str | None
    links: Mapping[str, Ref]
    """The links given with this event, for life or for this event alone."""
    table: Table
    adopted: str | None = None
    """Why a live instance was taken over in this state, when it was."""


def counts(table: Table, decision: Accepted) -> Iterator[tuple[Ref, str, int]]:
    """How a step moves the tallies of those that it links to, born or not: owner, tally, by how much."""
    before, after = decision.before, decision.after
    for link, tally, states in table.counting:
        owner = after.links.get(link)
        change = (after.state.id in states) - (before.state.id in states and link in before.links)
        if owner is not None and change:
            yield owner, tally, change


@attrs.frozen
class Pending:
    """An effect in the outbox, waiting for its handler."""

    effect: Effect
    links: Mapping[str, Ref]
    """The links of the request that caused it: the answer is fired with those that it takes."""


class Transaction(Protocol):
    """Reads and writes of one decision, serializable with every other that touches the same instances."""

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        """The instance with its links and tallies; None when it is not born."""

    def tallies(self, table: Table, ref: Ref) -> Mapping[str, int]:
        """How many count for an instance, born or not."""

    def recorded(self, event_id: str) -> Entry | None:
        """The accepted step that this event id is bound to."""

    def dependents(self, owner: Ref, table: Table, states: Collection[str] | None = None) -> tuple[Ref, ...]:
        """As Store.dependents, with what this transaction has written; where states are named, only those in one."""

    def append(self, entry: Entry) -> None:
        """Write the journal row, the instance row, what it counts for its owners, and the outbox."""

    def rollback(self) -> None:
        """Undo all appended so far; the transaction goes on empty."""

    def refuse(self, refused: Refused, event: str) -> None:
        """Keep a refusal in the audit, which is bounded; where a commit waits for the disk, it may be kept after it."""


class Store(Protocol):
    """Keeps instances, journal and outbox. Closing the process at any instruction loses no accepted step."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin; leaving the block commits, an exception undoes."""

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        """The instance as last committed, without a lock."""

    def dependents(self, owner: Ref, table: Table) -> tuple[Ref, ...]:
        """The instances of a machine that link to this one for life, in order of birth."""

    def take(self, taker: str, names: Iterable[str]) -> Pending | None:
        """Claim the oldest waiting effect that has a handler and whose instance has no older one waiting or taken."""

    def release(self, pending: Pending, taker: str) -> None:
        """Give a claim back: the effect waits again, for any taker."""

    def settle(self, pending: Pending, taker: str, answer: str) -> None:
        """Mark a claimed effect as answered."""

    def wait(self, seconds: float | None) -> None:
        """Sleep until something is committed, or this long; may return early."""
