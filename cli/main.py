"""The command `leverframe`: puts the commands together and turns a usage error into one line and exit code 2."""

import os
import sys
from typing import Annotated

import typer

from .. import __version__
from .check import check
from .diagrams import diagrams
from .rules import explain, rules
from .show import show
from .words import visible

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
for command in (check, show, rules, explain, diagrams):
    app.command()(command)


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"leverframe {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True)] = False,
) -> None:
    """Check, explore, prove and draw the lifecycles of an AI-agent harness."""


def main() -> None:
    try:
        sys.exit(app(prog_name="leverframe", standalone_mode=False))
    except typer.TyperException as error:
        typer.echo(f"leverframe: {visible(error.format_message())} (see leverframe --help)", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # what cannot be read is told where it is read: this is the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that nothing is written to it again at the end
        typer.echo(f"leverframe: the output cannot be written: {error.strerror}", err=True)
        sys.exit(3)
