"""A machine as Markdown tables: what each event does in each state, and what each rule protects."""

from collections.abc import Iterable

from ..machines.kernel import Table

__all__ = ["outcomes", "rules"]


def outcomes(table: Table) -> str:
    """Every event in every state: where it may lead, or the rule that refuses it."""
    legend = "→ leads to, ↺ stays, = is already done; anything else is the rule that refuses the event.\n\n"
    states = list(table.states)
    return legend + _rows(
        ["", *(f"`{state}`" for state in states)],
        ([f"`{event}`", *(_cell(table, state, event) for state in states)] for event in table.events),
    )


def rules(table: Table) -> str:
    """Every rule and its sentence."""
    return _rows(["rule", "why"], ([f"`{rule}`", why] for rule, why in sorted(table.rules.items())))


def _cell(table: Table, state: str, event: str) -> str:
    if (state, event) in table.moves:
        targets = dict.fromkeys(move.target.id for move in table.moves[state, event])
        return " or ".join("**↺**" if target == state else f"**→ `{target}`**" for target in targets)
    if (state, event) in table.settled:
        return f"= {table.settled[state, event].name}"
    return table.refusals[state, event].rule.name


def _rows(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_escape(cell) for cell in line)} |\n" for line in lines)


def _escape(cell: str) -> str:
    return " ".join(cell.split()).replace("|", r"\|")
