"""Reports for a person and for a program. No verdict is made here."""

import json
from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

import attrs

from .. import __version__
from ..machines.checking import SEVERITY, Report, Verdict, Violation
from .words import visible

__all__ = ["Judged", "as_json", "as_text", "summary"]


@attrs.frozen
class Judged:
    """A report with the file it is about."""

    source: str
    format: str
    report: Report


def as_json(judged: Iterable[Judged], verdict: Verdict) -> str:
    """One object for all traces; its form is public, see docs/compatibility.md."""
    traces = [_trace(one) for one in judged]
    return json.dumps(
        {"schema": 1, "tool": f"leverframe {__version__}", "verdict": verdict, "traces": traces}, indent=1
    )


def _trace(judged: Judged) -> dict[str, Any]:
    report = judged.report
    found = {
        "source": judged.source,
        "trace": report.trace,
        "format": judged.format,
        "instances": report.instances,
        "events": report.events,
        "verdict": report.verdict,
        "violations": [_violation(violation) for violation in report.violations],
        "warnings": list(report.warnings),
        "open": [attrs.asdict(debt) for debt in report.open],
        "not_checked": list(report.not_checked),
    }
    return {**found, "note": report.note} if report.note else found


def _violation(violation: Violation) -> dict[str, Any]:
    return {
        **attrs.asdict(violation),
        "expected": list(violation.expected),
        "failed": [{"guard": guard, "saw": saw} for guard, saw in violation.failed],
    }


def as_text(judged: Judged) -> Iterator[str]:
    """The lines for a person: the verdict, and for each violation where, which rule, what was seen and allowed."""
    report = judged.report
    name = visible(judged.source)
    if report.trace and report.trace not in judged.source:
        name += f" [{visible(report.trace)}]"
    yield f"{name}: {report.verdict}  ({_count(report.events, 'event')}, {_count(report.instances, 'instance')})"
    if report.note:
        yield f"  {visible(report.note)}"
    for violation in report.violations:
        yield f"  line {violation.line}: {violation.rule}"
        yield f"    {visible(violation.message)}"
        for guard, saw in violation.failed:
            yield f"    {guard} saw {visible(saw)}"
        if violation.because_line:
            yield f"    made so by line {violation.because_line}"
        if violation.expected:
            yield f"    {violation.machine} {visible(violation.id)} could take {', '.join(violation.expected)}"
    for debt in report.open:
        yield f"  line {debt.line}: {debt.machine} {visible(debt.id)} is {debt.state} and still owes {debt.owes}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def summary(judged: Iterable[Judged], skipped: int) -> str:
    """The last lines: how many traces had which verdict, and the rules that could not be decided in some of them."""
    reports = [one.report for one in judged]
    verdicts = [report.verdict for report in reports]
    parts = [f"{verdicts.count(verdict)} {verdict}" for verdict in reversed(SEVERITY) if verdict in verdicts]
    text = f"{_count(len(verdicts), 'trace')}: {', '.join(parts)}"
    if skipped:
        text += f"; {_count(skipped, 'file')} of no known format skipped"
    rules = sorted({rule for report in reports for rule in report.not_checked})
    if rules:
        open_ = sum(bool(report.not_checked) for report in reports)
        where = "" if open_ == len(reports) else f" in {_count(open_, 'trace')}"
        said = f"{_count(len(rules), 'rule')} not decided{where}, for want of what no record shows: {', '.join(rules)}"
        text += "\n" + fill(said, 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return text
