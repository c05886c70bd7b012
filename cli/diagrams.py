"""`leverframe diagrams`: machines as drawings, printed or kept up to date inside documents."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from .words import pick, visible

__all__ = ["diagrams"]


class Format(StrEnum):
    MERMAID = "mermaid"


def diagrams(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME | embed DOC", help="Machines, all when none is named."),
    ] = None,
    format: Annotated[Format, typer.Option(help="The language of the printed drawings.")] = Format.MERMAID,
    check: Annotated[bool, typer.Option("--check", help="With embed: only say what has drifted.")] = False,
) -> None:
    """Print the drawings of machines, or `embed` them in documents.

    `embed` rewrites what stands in a Markdown document between the lines `<!-- leverframe: approval -->` and
    `<!-- /leverframe -->`: with a machine's name its drawing, with `approval table` what each event does in each state,
    with `approval rules` its rules.

    Exit code 0: done, or nothing has drifted; 1: with --check, something has drifted; 2: wrong usage.
    """
    if names and names[0] == "embed":
        _embed([Path(name) for name in names[1:]], check)
    elif check:
        raise typer.BadParameter("--check goes with embed: leverframe diagrams embed README.md --check")
    else:
        from ..diagrams.mermaid import mermaid

        typer.echo("\n".join(mermaid(table) for table in pick(names or [])), nl=False)


def _embed(paths: list[Path], check: bool) -> None:
    if not paths:
        raise typer.BadParameter("embed needs a document: leverframe diagrams embed README.md")
    stale = [document for document in map(_read, paths) if document.drifted]  # all are read before any is written
    for document in stale:
        if not check:
            document.path.write_bytes(document.fresh.encode())
        for line, what in document.drifted:
            typer.echo(visible(f"{document.path}:{line}: {what} {'has drifted' if check else 'is brought up to date'}"))
    raise typer.Exit(1 if check and stale else 0)


class _Document(NamedTuple):
    path: Path
    fresh: str
    drifted: list[tuple[int, str]]


def _read(path: Path) -> _Document:
    from ..diagrams.blocks import block
    from ..diagrams.embed import drifted, embed
    from ..machines.catalogue import MACHINES
    from ..machines.kernel import BadInput

    draw = partial(block, MACHINES)
    try:
        text = path.read_bytes().decode()
        return _Document(path, embed(text, draw), drifted(text, draw))
    except OSError as error:
        problem = error.strerror
    except UnicodeDecodeError:
        problem = "no UTF-8 text"
    except BadInput as bad:
        problem = str(bad)
    raise typer.BadParameter(visible(f"{path}: {problem}"))
