"""From a stream of traces to a report each."""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from ..kernel.errors import BadInput
from ..kernel.machine import Machine
from .conformance import Checker
from .record import Begin, Recorded, Report, Torn, Verdict
from .world import World

__all__ = ["judge"]


def judge(machines: Mapping[str, type[Machine]] | World, stream: Iterable[Begin | Recorded]) -> Iterator[Report]:
    """Judge the traces of one source, one after another.

    Args:
        machines: the lifecycles by name; or the world of them, where several sources are judged one after another.
        stream: what a reader yields: each trace begins with Begin. A BadInput that the reader raises ends the source.

    Yields:
        a report a trace; `unreadable` with a note where a record had no meaning.
    """
    world = machines if isinstance(machines, World) else World(machines)
    checker: Checker | None = None
    spoilt: Report | None = None
    try:
        for item in stream:
            if isinstance(item, Begin):
                if checker is not None:
                    yield spoilt or checker.finish()
                checker, spoilt = Checker(world, item), None
                feed = checker.feed
            elif spoilt is None:
                try:
                    feed(item)
                except BadInput as bad:
                    spoilt = _unreadable(checker, f"line {item.line}: {bad}")
    except Torn as torn:
        yield spoilt or (_unreadable(None, str(torn)) if checker is None else _cut(checker.finish(), str(torn)))
    except BadInput as bad:
        yield spoilt or _unreadable(checker, str(bad))
    else:
        if checker is not None:
            yield spoilt or checker.finish()


def _cut(report: Report, note: str) -> Report:
    """A file that ends within a record: at best incomplete."""
    verdict: Verdict = "incomplete" if report.verdict == "ok" else report.verdict
    return attrs.evolve(report, verdict=verdict, note=report.note or f"{note}; what stands before it was judged")


def _unreadable(checker: Checker | None, note: str) -> Report:
    """What was seen so far, marked as not read to its end; a violation that was found before stands."""
    if checker is None:
        return Report("", "unreadable", 0, 0, note=note)
    report = checker.finish()
    verdict: Verdict = "violation" if report.violations else "unreadable"
    return attrs.evolve(report, verdict=verdict, open=(), note=note)
