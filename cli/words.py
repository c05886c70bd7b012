"""What several commands share when they read their arguments."""

from collections.abc import Mapping, Sequence

import typer

from ..machines.kernel import Machine, Table

__all__ = ["pick"]


def pick(machines: Mapping[str, type[Machine]], names: Sequence[str]) -> list[Table]:
    """The tables of the named machines, or of all.

    Raises:
        typer.BadParameter: a name is no machine; the text lists those that are.
    """
    for name in names:
        if name not in machines:
            raise typer.BadParameter(f"no machine {name}; the machines are {', '.join(machines)}")
    return [machines[name].table for name in names or machines]
