"""Recorded runs of Turnstone: JSON Lines, one row a line, several runs in a file, each a trace of its own.

Rows are joined into records by turnstone_turns, turnstone_gates and turnstone_guards; which record a row becomes
depends on its op, on ids, on which thread wrote it and on what that thread had begun: never on texts, times or names.
Rows of the component harness are about the recording, and are left out. So are rows of machines that do not exist yet;
their rules are listed as not checked.

A payload field that no row has is left out, and so are those that a link will give from part 2 on. An accepted claim
has no expected epoch: none, or that of the claim, would make no difference.

Source: shared/traces/turnstone/README.md; lifecycles/turnstone-tables.md, section 0.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from ...machines.checking import Begin, Recorded, Torn
from ...machines.kernel import BadInput
from .lines import Lines
from .turnstone_gates import Gates
from .turnstone_guards import Guards
from .turnstone_run import Row, Run
from .turnstone_scene import Scene, Thread
from .turnstone_turns import Turns

__all__ = ["NAME", "NOT_CHECKED", "detect", "read"]

NAME = "turnstone"

NOT_CHECKED = (
    # judge batch and item
    "judge-abort-stops-dispatch",
    "judge-batch-order",
    "judge-done-once",
    "judge-item-order",
    "judge-lane-current",
    "judge-one-lane",
    "judge-one-main-batch",
    "judge-only-gated-items",
    "judge-optional",
    "judge-width",
    # verdict
    "auto-reason-binds-gate",
    "auto-reason-exact",
    "decision-binds-cycle",
    "fallback-never-approves",
    "late-verdict-audited",
    "smart-stamps-qualified",
    "superseded-verdict-is-audit-only",
    "verdict-adopted-once",
    "verdict-before-gate",
    "verdict-binds-generation",
    "verdict-decision-final",
    "verdict-delivered-once",
    "verdict-order",
    "verdict-row-decided",
    # guard object, lane, alias gate
    "alias-fifo",
    "alias-limit",
    "client-closed-once",
    "client-created-once",
    "guard-worker-lease",
    "lane-current-for-new-work",
    "lane-pinned",
    "lane-unrelated-reload",
    # workstream
    "abandon-idle-first",
    "state-by-current-generation",
    "workstream-closed-final",
    "workstream-order",
    # no row has what it asks for: the epoch that a worker was sent for; text is published raw first, on purpose
    "claim-epoch-current",
    "guard-before-publish",
)
"""Rules of the machines of part 2, and two that this format cannot show."""

_FIELDS = {"run", "seq", "thread", "component", "op"}


def detect(first: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is a row of Turnstone."""
    return first.keys() >= _FIELDS


def read(lines: Lines, name: str) -> Iterator[Begin | Recorded]:
    """Read recorded runs of Turnstone.

    Args:
        lines: the lines of the file.
        name: unused: each row names its run.

    Raises:
        BadInput: a line is no row; what stands before it is read.
    """
    run: str | None = None
    rows: list[Row] = []
    wrong: BadInput | None = None
    for number, line in lines:
        try:
            fields = _decode(number, line)
        except BadInput as bad:
            wrong = bad
            break
        if fields["run"] != run:
            if run is not None:
                yield from _run(run, rows)
            run, rows = fields["run"], []
        if fields["component"] != "harness":
            rows.append(Row(number, len(rows), fields["thread"], fields["component"], fields["op"], fields))
    if run is not None:
        yield from _run(run, rows)
    if wrong is not None:
        raise wrong


def _run(name: str, rows: list[Row]) -> Iterator[Begin | Recorded]:
    yield Begin(name, complete=True, total=True, not_checked=NOT_CHECKED)
    run = Run(tuple(rows))
    scene = Scene(run)
    parts: dict[str, list[Callable[[Row, Thread], None]]] = {}
    for part in (Turns(scene), Gates(scene), Guards(scene)):
        for op, translate in part.rows.items():
            parts.setdefault(op, []).append(translate)
    for row in run.rows:
        thread = scene.thread(row)
        for translate in parts.get(row.op, ()):
            translate(row, thread)
    yield from run.records()


def _decode(number: int, line: bytes) -> Mapping[str, Any]:
    try:
        fields = msgspec.json.decode(line)
    except RecursionError:
        raise BadInput(f"line {number}: nested too deeply to be a record") from None
    except msgspec.DecodeError as wrong:
        kind = BadInput if line.endswith(b"\n") else Torn
        raise kind(f"line {number}: {wrong}") from None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in _FIELDS - {"seq"}):
        raise BadInput(f"line {number}: a row has run, thread, component and op, each a string")
    return fields
