"""`leverframe check`: whether recorded traces are behaviours of the machines."""

import gc
import sys
from collections.abc import Iterator
from enum import Enum, StrEnum
from io import BufferedReader
from pathlib import Path
from typing import Annotated, cast

import typer

from ..adapters.traces.sources import FORMATS, files, open_source
from ..machines.catalogue import MACHINES
from ..machines.checking import Report, judge, worst
from ..machines.kernel import BadInput
from .progress import progress
from .report import Judged, as_json, as_text, summary, visible

__all__ = ["check"]

Format = Enum("Format", {name: name for name in (*FORMATS, "journal")})  # type: ignore[misc]


class Output(StrEnum):
    text = "text"
    json = "json"


def check(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Traces: files, folders, journals, or - for standard input.")
    ],
    format: Annotated[Format | None, typer.Option(help="The reader to use; found by itself when left out.")] = None,
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
    gc.set_threshold(200_000, 50, 1000)  # a large trace makes many small objects, and hardly a cycle
    for path in paths:
        if path != "-" and not Path(path).exists():
            raise typer.BadParameter(f"{visible(path)}: no such file or folder")
    judged: list[Judged] = []
    skipped = 0
    for path in paths:
        before = len(judged)
        for one in _judge(path, format.value if format else None):
            if one is None:
                skipped += 1
                continue
            judged.append(one)
            _tell(one, output)
        if len(judged) == before:
            note = "has no trace in it" if Path(path).is_dir() else "has no record in it"
            judged.append(Judged(path, "", Report("", "unreadable", 0, 0, note=note)))
            _tell(judged[-1], output)
    verdict = worst([one.report.verdict for one in judged])
    if output is Output.json:
        typer.echo(as_json(judged, verdict))
    else:
        typer.echo(summary(judged, skipped))
    raise typer.Exit(_code([one.report for one in judged], require_complete, allow_unreadable))


def _judge(path: str, format: str | None) -> Iterator[Judged | None]:
    """The reports on a path; None for a file in a folder that no reader knows."""
    if path == "-":
        yield from _one("-", cast(BufferedReader, sys.stdin.buffer), None, format, named=True)
        return
    for file in files(Path(path)):
        try:
            source = file.open("rb")
        except OSError as error:
            yield Judged(str(file), "", Report("", "unreadable", 0, 0, note=f"cannot be opened: {error.strerror}"))
            continue
        with source, progress(source, visible(str(file))):
            yield from _one(str(file), source, file, format, named=not Path(path).is_dir())


def _one(
    name: str, source: BufferedReader, path: Path | None, format: str | None, *, named: bool
) -> Iterator[Judged | None]:
    try:
        found = open_source(name, source, path, format)
    except BadInput as bad:
        yield Judged(name, "", Report("", "unreadable", 0, 0, note=str(bad))) if named else None
        return
    for report in judge(MACHINES, found.stream):
        yield Judged(name, found.format, report)


def _tell(judged: Judged, output: Output) -> None:
    if judged.report.verdict == "unreadable":
        typer.echo(f"leverframe: {visible(judged.source)}: {visible(judged.report.note)}", err=True)
    if output is Output.text:
        for line in as_text(judged):
            typer.echo(line)


def _code(reports: list[Report], require_complete: bool, allow_unreadable: bool) -> int:
    verdicts = {report.verdict for report in reports}
    if "violation" in verdicts or (require_complete and "incomplete" in verdicts):
        return 1
    failing = {"undecided"} if allow_unreadable else {"undecided", "unreadable"}
    return 3 if verdicts & failing else 0
