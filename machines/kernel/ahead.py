"""What would be read after a step: asked before anything of it is written."""

from collections.abc import Collection
from typing import Any

from .snapshot import Accepted, Ref, Snapshot
from .store import Transaction, counts
from .table import Table

__all__ = ["Ahead"]


class Ahead:
    """A transaction as it will read when one more step is appended.

    Args:
        work: the transaction; nothing is written to it.
        table: the machine that takes the step.
        decision: the step.
    """

    def __init__(self, work: Transaction, table: Table, decision: Accepted) -> None:
        self.work = work
        self.after = decision.after
        self.moved = {(owner, tally): change for owner, tally, change in counts(table, decision)}

    def read(self, table: Table, ref: Ref) -> Snapshot[Any] | None:
        found = self.after if ref == self.after.ref else self.work.read(table, ref)
        if found is None or not self.moved:
            return found
        return found.counting({name: n + self.moved.get((ref, name), 0) for name, n in found.tallies.items()})

    def dependents(self, owner: Ref, table: Table, states: Collection[str]) -> tuple[Ref, ...]:
        """Those that may be in one of these states."""
        known, own = self.work.dependents(owner, table, states), self.after.ref
        if own.machine == table.name and owner in self.after.links.values() and own not in known:
            return (*known, own)
        return known
