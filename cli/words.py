"""What several commands share: how they read names, and how they show foreign text.

What a command needs of the other rooms it imports when it runs, so that `leverframe --help` waits for none of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..machines.kernel import Table

__all__ = ["pick", "visible"]


def visible(text: str) -> str:
    """Make control and direction characters of foreign text visible, so that output is no injection."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def pick(names: Sequence[str]) -> "list[Table]":
    """The tables of the named machines, or of all.

    Raises:
        typer.BadParameter: a name is no machine; the text lists those that are.
    """
    from ..machines.catalogue import MACHINES

    for name in names:
        if name not in MACHINES:
            raise typer.BadParameter(f"no machine {name}; the machines are {', '.join(MACHINES)}")
    return [MACHINES[name].table for name in names or MACHINES]
