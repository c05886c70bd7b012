"""`leverframe show`: a machine for a reader: its states, what each event does in each, and its rules."""

from typing import TYPE_CHECKING, Annotated

import typer

from .words import pick

if TYPE_CHECKING:
    from ..machines.kernel import Table

__all__ = ["show"]


def show(
    machines: Annotated[
        list[str] | None, typer.Argument(metavar="[MACHINE...]", help="All machines, a line each, when none is named.")
    ] = None,
) -> None:
    """Show machines as text: transitions with their guards, refusals by rule, debts."""
    if not machines:
        for table in pick([]):
            typer.echo(
                f"{table.name:<18} {len(table.states) - 1:>2} states  {len(table.events):>2} events  "
                f"{table.doc.splitlines()[0]}"
            )
        return
    for table in pick(machines):
        for line in describe(table):
            typer.echo(line)


def describe(table: "Table") -> list[str]:
    """A table as lines of text."""
    lines = [f"{table.name}: {table.doc}", ""]
    for state in table.states.values():
        kind = " (final)" if state.final else ""
        debt = f"  owes {table.owes[str(state.id)].rule}" if state.id in table.owes else ""
        lines.append(f"{state.id}{kind}{debt}")
        for (source, event), ways in table.moves.items():
            if source == state.id:
                for way in ways:
                    guards = ", ".join(guard.rule.name for guard in way.guards if guard.rule)
                    lines.append(f"  {event} -> {way.target.id}" + (f"  if {guards}" if guards else ""))
        lines += [
            f"  {event} is settled  ({rule.name})"
            for (source, event), rule in table.settled.items()
            if source == state.id
        ]
        refused: dict[str, list[str]] = {}
        for (source, event), no in table.refusals.items():
            if source == state.id:
                refused.setdefault(no.rule.name, []).append(event)
        lines += [f"  refuses {', '.join(events)}  ({rule})" for rule, events in refused.items()]
        lines.append("")
    return lines[:-1]
