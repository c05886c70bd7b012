"""The common case: everything that an event reads is known, so there is one case, and one step decides it."""

from typing import Any

from ..kernel.fields import UNKNOWN
from ..kernel.links import Seen
from ..kernel.snapshot import Ref, Refused, Snapshot
from ..kernel.step import step
from .belief import Cell
from .calls import Call
from .dark import dark_fields
from .instance import Instance
from .lane import Plan, Result
from .possible import watched

__all__ = ["exactly"]


def exactly(instance: Instance, call: Call, plan: Plan, *, refused: bool) -> Result | None:
    """What an event does to an instance of which all is known.

    Args:
        instance: it has no open call, and nothing counts of which the trace does not show where.
        call: the event with its links.
        plan: what it reads.
        refused: whether the trace says that it was refused.

    Returns:
        the same as the longer way, which looks at every case; None where something is open.
    """
    cell = instance.belief.sole
    if cell is None or cell.dark or not instance.tallies.exact or (plan.by and call.by is UNKNOWN):
        return None
    if dark_fields(call.request.payload):
        return None
    links: dict[str, Any] = {}
    for name, _, _ in plan.links:
        target = call.links.get(name, UNKNOWN)
        if isinstance(target, Instance):
            shown = _shown(target)
            if shown is UNKNOWN or target is instance:
                return None
            links[name] = shown
        elif target is None:
            links[name] = None
        else:
            return None
    lane, table = instance.lane, instance.lane.silent
    counts = dict(zip(table.tallies, (least for least, _, _ in instance.tallies.counts), strict=True))
    snapshot = Snapshot(Ref(table.name, "?"), cell.state, 0 if cell.state is table.absent else 1, cell.data, {}, counts)
    decision = step(table, snapshot, call.request, None if call.by is UNKNOWN else call.by, links)
    memory = decision if isinstance(decision, Refused) else watched(table, cell, call.request, decision)
    if isinstance(decision, Refused) or isinstance(memory, Refused):
        return Result(instance.belief if refused else None)
    if refused:
        return Result(None)
    assert isinstance(memory, tuple)
    return Result(lane.beliefs.of([(lane.beliefs.cell(decision.after.state, decision.after.data, memory), ())]))


def _shown(target: Instance) -> Any:
    """What a guard sees of a linked instance, UNKNOWN where it could be more than one thing."""
    cell: Cell | None = target.belief.sole
    if cell is None or cell.dark or not target.tallies.exact:
        return UNKNOWN
    if cell.state is target.table.absent:
        return None
    counts = zip(target.table.tallies, (least for least, _, _ in target.tallies.counts), strict=True)
    return Seen(cell.state, cell.data, dict(counts))
