"""What a marked block of a document may show of a machine: its drawing, its table, its rules."""

from collections.abc import Callable, Mapping

from ..machines.kernel import BadInput, Machine, Table
from .mermaid import mermaid
from .tables import outcomes, rules

__all__ = ["block"]


def _drawing(table: Table) -> str:
    legend = "Bold is an event, below it the rules that must hold; ↺ stays in its state.\n"
    return f"```mermaid\n{mermaid(table)}```\n\n{legend}"


_KINDS: Mapping[str, Callable[[Table], str]] = {"": _drawing, "table": outcomes, "rules": rules}


def block(machines: Mapping[str, type[Machine]], what: str) -> str:
    """Make the Markdown that a marker names: `approval`, `approval table` or `approval rules`.

    Raises:
        BadInput: there is no such machine, or no such thing to show of it.
    """
    name, _, kind = " ".join(what.split()).partition(" ")
    if name not in machines:
        raise BadInput(f"no machine {name}; the machines are {', '.join(machines)}")
    if kind not in _KINDS:
        raise BadInput(f"{name} has no {kind} to show: write {name}, {name} table or {name} rules")
    return _KINDS[kind](machines[name].table)
