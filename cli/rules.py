"""`leverframe rules` and `leverframe explain`: what protects the lifecycles, for a reader."""

from typing import TYPE_CHECKING, Annotated

import typer

from .words import pick

if TYPE_CHECKING:
    from ..machines.kernel import Table

__all__ = ["explain", "rules"]


def rules(
    machines: Annotated[
        list[str] | None, typer.Argument(metavar="[MACHINE...]", help="All machines when none is named.")
    ] = None,
) -> None:
    """List every rule with its sentence and the machines that hold it."""
    from ..machines.kernel.own_rules import OWN_RULES

    held: dict[str, list[str]] = {}
    why: dict[str, str] = {}
    for table in pick(machines or []):
        for name, sentence in table.rules.items():
            held.setdefault(name, []).append(table.name)
            why.setdefault(name, sentence)
    if not machines:
        held |= {name: ["every machine"] for name in OWN_RULES}
        why |= OWN_RULES
    width = max(map(len, held), default=0)
    for name in sorted(held):
        typer.echo(f"{name:<{width}}  {why[name]}  ({', '.join(held[name])})")


def explain(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule's name, as a report gives it.")],
) -> None:
    """Say what a rule protects, and where: which guards, states and debts carry it."""
    from difflib import get_close_matches

    from ..machines.kernel.own_rules import OWN_RULES

    tables = [table for table in pick([]) if rule in table.rules]
    if rule in OWN_RULES:
        typer.echo(f"{rule} (every machine): {OWN_RULES[rule]}")
    elif not tables:
        known = sorted({*OWN_RULES, *(name for table in pick([]) for name in table.rules)})
        near = get_close_matches(rule, known, 5)
        hint = f"; did you mean {', '.join(near)}?" if near else "; `leverframe rules` lists them"
        raise typer.BadParameter(f"no rule {rule}{hint}")
    for table in tables:
        typer.echo(f"{rule} ({table.name}): {table.rules[rule]}")
        for line in _places(table, rule):
            typer.echo(f"  {line}")


def _places(table: "Table", rule: str) -> list[str]:
    lines = [
        f"guards {move}: {guard.name}({', '.join(guard.names)})"
        for move in table.transitions
        for guard in move.guards
        if guard.rule and guard.rule.name == rule
    ]
    refused: dict[str, list[str]] = {}
    for (state, event), no in table.refusals.items():
        if no.rule.name == rule:
            refused.setdefault(state, []).append(event)
    lines += [f"refuses in {state}: {', '.join(events)}" for state, events in refused.items()]
    lines += [
        f"settled in {state}: {event}" for (state, event), settled in table.settled.items() if settled.name == rule
    ]
    lines += [f"owed by {state}" for state, debt in table.owes.items() if debt.rule == rule]
    checks = (*table.invariants, *table.step_invariants)
    lines += [f"holds always: {check.name}" for check in checks if check.rule and check.rule.name == rule]
    lines += ["watched over all steps" for watch in table.monitors if watch.rule.name == rule]
    return lines
