"""Why a record is impossible: the nearest condition that was false, what it saw, and the line that made it so.

All of it is worked out only when a record was refused.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from ..kernel.fields import UNKNOWN
from ..kernel.links import Seen
from ..kernel.snapshot import Failed, Refused
from ..kernel.table import Table
from .ask import Ask
from .belief import Cell
from .calls import Call
from .dark import is_dark
from .instance import Instance
from .possible import nearest, outcomes

__all__ = ["Blame", "explain", "observed", "observed_data", "plainly"]


@attrs.frozen
class Blame:
    """The parts of a violation that do not depend on the record."""

    rule: str
    message: str
    state: str
    failed: tuple[tuple[str, str], ...]
    expected: tuple[str, ...]
    because: int | None


def observed(cell: Cell, state: str | None, data: Mapping[str, Any]) -> bool:
    """Whether a cell agrees with what a record says; what the trace leaves open agrees with anything."""
    if state is not None and cell.state.id != state:
        return False
    if cell.data is UNKNOWN or cell.data is None:
        return cell.data is UNKNOWN or not data
    return all(getattr(cell.data, name) in (value, UNKNOWN) for name, value in data.items())


def observed_data(cell: Cell, table: Table, data: Mapping[str, Any]) -> Any:
    """The data of a cell, with what a record says of it in the place of what was not known."""
    if not cell.dark or cell.state is table.absent:
        return cell.data
    if cell.data is UNKNOWN:
        whole = table.data is not None and all(field.name in data for field in table.data_fields if field.decides)
        return table.data(**data) if whole and table.data else UNKNOWN
    return attrs.evolve(
        cell.data, **{name: value for name, value in data.items() if getattr(cell.data, name) is UNKNOWN}
    )


def explain(instance: Instance, call: Call, ask: Callable[[Instance, Call], Ask]) -> Blame:
    """Name the nearest refusal of an event over all candidates of its instance, in the order of the states."""
    table, asked = instance.lane.silent, ask(instance, call)
    refusals: list[Refused] = []
    for cell in instance.belief.cells:
        refusals += outcomes(table, cell, asked, lambda state, data, memory: Cell(state, data, memory)).refused
    if not refusals:
        return Blame(
            "refused-without-cause",
            f"{call.request.name} had no effect",
            instance.belief.states(),
            (),
            (),
            instance.state_line,
        )
    blamed = nearest(refusals)
    failed = tuple((fault.guard, _shown(fault)) for fault in blamed.failed)
    return Blame(
        blamed.rule,
        blamed.message.replace(f"{table.name} ?", str(instance.ref)),
        instance.belief.states(),
        failed,
        blamed.expected,
        _because(instance, call, blamed),
    )


def plainly(rule: str, why: str, instance: Instance) -> Blame:
    """A violation that no guard explains."""
    return Blame(rule, why, instance.belief.states(), (), (), instance.state_line or None)


def _because(instance: Instance, call: Call, refused: Refused) -> int | None:
    """The last line that changed what the blamed guard reads; for a refusal by state, what changed the state."""
    names = set(refused.failed[0].saw) if refused.failed else {"data"}
    lines = [target.state_line for name in names if isinstance(target := call.links.get(name), Instance)]
    if names & set(instance.table.tallies):
        lines.append(instance.tally_line)
    if "data" in names or not lines:
        lines.append(instance.state_line)
    return max(lines) or None


def _shown(fault: Failed) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in fault.saw.items())


def _count(count: int | range) -> str:
    return str(count) if isinstance(count, int) else f"{count[0]}..{count[-1]}"


def _value(value: Any) -> str:
    if is_dark(value):
        return "?"
    if isinstance(value, Seen):
        tallies = "".join(f" {name}={_count(count)}" for name, count in value.tallies.items())
        return f"{value.state.id} {_value(value.data)}{tallies}"
    if attrs.has(type(value)):
        fields = attrs.asdict(value, recurse=False).items()
        return "(" + ", ".join(f"{name}={_value(field)}" for name, field in fields) + ")"
    return str(getattr(value, "value", value))
