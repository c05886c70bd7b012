"""From the paths that are typed to the reports on them."""

import sys
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import cast

from ..adapters.traces import journal, sources
from ..machines.catalogue import MACHINES
from ..machines.checking import Report, World, judge
from ..machines.kernel import BadInput
from .progress import progress
from .report import Judged
from .words import visible

__all__ = ["FORMATS", "judge_paths"]

FORMATS = (*sources.FORMATS, journal.NAME)
"""The names of the readers."""


def judge_paths(paths: Iterable[str], format: str | None) -> Iterator[Judged | None]:
    """The reports on each path, at least one; None for a file in a folder that no reader knows."""
    world = World(MACHINES)
    for path in paths:
        found = False
        for one in _judge(path, format, world):
            found = found or one is not None
            yield one
        if not found:
            note = "has no trace in it" if Path(path).is_dir() else "has no record in it"
            yield Judged(path, "", Report("", "unreadable", 0, 0, note=note))


def _judge(path: str, format: str | None, world: World) -> Iterator[Judged | None]:
    if path == "-":
        yield from _one("-", cast(BufferedReader, sys.stdin.buffer), None, format, world, named=True)
        return
    for file in sources.files(Path(path)):
        try:
            source = file.open("rb")
        except OSError as error:
            yield Judged(str(file), "", Report("", "unreadable", 0, 0, note=f"cannot be opened: {error.strerror}"))
            continue
        with source, progress(source, visible(str(file))):
            yield from _one(str(file), source, file, format, world, named=not Path(path).is_dir())


def _one(
    name: str, source: BufferedReader, path: Path | None, format: str | None, world: World, *, named: bool
) -> Iterator[Judged | None]:
    try:
        found = sources.open_source(name, source, path, format)
    except BadInput as bad:
        yield Judged(name, "", Report("", "unreadable", 0, 0, note=str(bad))) if named else None
        return
    for report in judge(world, found.stream):
        yield Judged(name, found.format, report)
