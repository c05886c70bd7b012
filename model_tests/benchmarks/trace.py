"""A native trace of any length for the benchmarks: approvals under leases, with guards, links, tallies and refusals."""

import json
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

__all__ = ["write_trace"]

HEADER: dict[str, Any] = {"leverframe": 1, "order": "total", "complete": True}


def write_trace(path: str, events: int) -> None:
    """Write a header and this many event lines: 4 machines, about 300,000 instances and 5 % refusals in a million."""
    with open(path, "w", encoding="utf-8") as out:
        for row in islice(rows(), events + 1):
            out.write(json.dumps(row, separators=(",", ":")) + "\n")


def rows() -> Iterator[dict[str, Any]]:
    yield HEADER
    for number in count():
        session, admission = f"s{number}", f"ui{number}"
        yield event("session", session, "start", {"principal": "alice"})
        yield event("admission", admission, "start")
        for round_ in range(40):
            yield from approval(session, admission, f"{number}.{round_}")
        yield event("session", session, "stop")
        yield event("session", session, "close")


def approval(session: str, admission: str, name: str) -> Iterator[dict[str, Any]]:
    """One card: its bundle's lease, the card, a click under a lease of its own, and a second click that is late."""
    bundle, click, card = f"lb{name}", f"lc{name}", f"a{name}"
    witness = {"session": session, "admission": admission}
    asked = {"epoch": 0, "generation": 0}
    clicked = {"digest": f"d{name[-1]}", "always": False, "feedback": False}
    yield event("lease", bundle, "start", asked, witness)
    yield event("lease", bundle, "grant")
    shown = {"digest": f"d{name[-1]}", "principal": "alice", "bounded": True}
    yield event("approval", card, "start", shown, {**witness, "bundle": bundle})
    yield event("approval", card, "show")
    yield event("lease", bundle, "release")
    yield event("approval", card, "publish")
    yield event("lease", click, "start", asked, witness)
    yield event("lease", click, "grant")
    yield event("approval", card, "approve", clicked, {"lease": click}, by="alice")
    yield event("approval", card, "deny", clicked, {"lease": click}, by="alice", outcome="refused")
    yield event("lease", click, "release")
    yield event("approval", card, "tell", {"approved": True})
    yield event("approval", card, "unregister")


def event(
    machine: str,
    id: str,
    name: str,
    payload: dict[str, Any] | None = None,
    links: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    row = {"machine": machine, "id": id, "event": name, **more}
    if payload:
        row["payload"] = payload
    if links:
        row["links"] = links
    return row
