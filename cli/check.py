"""`leverframe check`: whether recorded traces are behaviours of the machines."""

import gc
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .words import visible

if TYPE_CHECKING:
    from ..machines.checking import Report
    from .report import Judged

__all__ = ["check"]


class Output(StrEnum):
    text = "text"
    json = "json"


def check(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Traces: files, folders, journals, or - for standard input.")
    ],
    format: Annotated[
        str | None, typer.Option(help="The reader to use, found by itself when left out; a wrong name lists them.")
    ] = None,
    output: Annotated[Output, typer.Option(help="text for a person, json for a program.")] = Output.text,
    require_complete: Annotated[
        bool, typer.Option("--require-complete", help="An incomplete trace fails, too.")
    ] = False,
    allow_unreadable: Annotated[
        bool, typer.Option("--allow-unreadable", help="What cannot be read does not fail.")
    ] = False,
) -> None:
    """Judge traces by the machines: lawful, and if not, at which line, by which rule, and why.

    Exit code 0: all ok or incomplete; 1: a violation; 2: wrong usage; 3: something could not be read or decided.
    """
    from ..machines.checking import worst
    from .judging import FORMATS, judge_paths
    from .report import Judged, as_json, summary

    if format is not None and format not in FORMATS:
        raise typer.BadParameter(f"no format {visible(format)!r}; the formats are {', '.join(FORMATS)}")
    gc.set_threshold(200_000, 50, 1000)  # a large trace makes many small objects, and hardly a cycle
    for path in paths:
        if path != "-" and not Path(path).exists():
            raise typer.BadParameter(f"{visible(path)}: no such file or folder")
    judged: list[Judged] = []
    skipped = 0
    for one in judge_paths(paths, format):
        if one is None:
            skipped += 1
            continue
        judged.append(one)
        _tell(one, output)
    verdict = worst([one.report.verdict for one in judged])
    if output is Output.json:
        typer.echo(as_json(judged, verdict))
    else:
        typer.echo(summary(judged, skipped))
    raise typer.Exit(_code([one.report for one in judged], require_complete, allow_unreadable))


def _tell(judged: "Judged", output: Output) -> None:
    from .report import as_text

    if judged.report.verdict == "unreadable":
        typer.echo(f"leverframe: {visible(judged.source)}: {visible(judged.report.note)}", err=True)
    if output is Output.text:
        for line in as_text(judged):
            typer.echo(line)


def _code(reports: "list[Report]", require_complete: bool, allow_unreadable: bool) -> int:
    verdicts = {report.verdict for report in reports}
    if "violation" in verdicts or (require_complete and "incomplete" in verdicts):
        return 1
    failing = {"undecided"} if allow_unreadable else {"undecided", "unreadable"}
    return 3 if verdicts & failing else 0
