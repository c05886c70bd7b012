"""`python -m leverframe.model_tests.benchmarks`: speeds as ratios, measured in one run beside the floor and the peers.

Needs the extra `bench` for the peers. Never a test: the figures depend on the machine, the ratios less so.
"""

import argparse
import gc
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from ...adapters.stores.sqlite import SQLiteStore
from ...adapters.traces.sources import open_source
from ...machines.catalogue import MACHINES
from ...machines.checking import judge
from ...machines.kernel import Kernel, MemoryStore
from ...machines.session import Session
from .machines import PEERS
from .trace import write_trace

__all__ = ["main"]


class _Fields(msgspec.Struct):
    """The fields that a checker reads of a line; decoding them alone is the floor."""

    machine: str
    id: str
    event: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"")
    links: dict[str, str | None] | None = None
    by: str | None = None
    outcome: str | None = None


def per_second(times: int, work: Callable[[], object]) -> float:
    """How often per second, when `work` does it this many times."""
    gc.collect()
    began = time.perf_counter()
    work()
    return times / (time.perf_counter() - began)


def check_speed(folder: Path, events: int) -> list[tuple[str, float]]:
    gc.set_threshold(200_000, 50, 1000)  # as the command does
    path = folder / "trace.jsonl"
    write_trace(str(path), events)
    decode = msgspec.json.Decoder(_Fields).decode

    def floor() -> None:
        with path.open("rb") as lines:
            next(lines)
            for line in lines:
                decode(line)

    def check() -> None:
        with path.open("rb") as source:
            for report in judge(MACHINES, open_source(str(path), source, path).stream):
                assert not report.violations and report.events == events, report

    return [("msgspec decoding (floor)", per_second(events, floor)), ("check", per_second(events, check))]


def fire_speed(fires: int) -> list[tuple[str, float]]:
    kernel = Kernel(MemoryStore())
    session = kernel.start(Session, id="s", principal="alice")
    stop = Session.stop()

    def fire() -> None:
        for number in range(fires):
            kernel.fire(session, stop, event_id=f"e{number}")

    rows = [("fire in memory, with journal, event id and effect", per_second(fires, fire))]
    for name, make in PEERS.items():
        two_events = make()

        def work(two_events: Callable[[], None] = two_events) -> None:
            for _ in range(fires // 2):
                two_events()

        rows.append((name, per_second(fires, work)))
    return rows


def sqlite_speed(folder: Path, synchronous: Literal["FULL", "NORMAL"], fires: int) -> list[tuple[str, float]]:
    store = SQLiteStore(folder / f"{synchronous}.db", synchronous=synchronous)
    kernel = Kernel(store)
    session = kernel.start(Session, id="s", principal="alice")
    stop = Session.stop()

    def fire() -> None:
        for _ in range(fires):
            kernel.fire(session, stop)

    raw = sqlite3.connect(folder / f"raw-{synchronous}.db", isolation_level=None)
    raw.execute("pragma journal_mode=wal")
    raw.execute(f"pragma synchronous={synchronous}")
    raw.execute(
        "create table instance(machine text, id text, state text, version int, data text, primary key(machine, id))"
        " without rowid"
    )
    raw.execute(
        "create table journal(seq integer primary key, machine text, id text, event text, state text, version int,"
        " data text)"
    )
    raw.execute("insert into instance values('session', 's', 'open', 1, '{}')")

    def floor() -> None:
        for _ in range(fires):
            raw.execute("begin immediate")
            state, version, data = raw.execute(
                "select state, version, data from instance where machine=? and id=?", ("session", "s")
            ).fetchone()
            raw.execute(
                "update instance set state=?, version=? where machine=? and id=? and version=?",
                (state, version + 1, "session", "s", version),
            )
            raw.execute(
                "insert into journal values(null, ?, ?, ?, ?, ?, ?)", ("session", "s", "stop", state, version + 1, data)
            )
            raw.execute("commit")

    return [
        (f"raw sqlite3, {synchronous} (floor)", per_second(fires, floor)),
        (f"fire on SQLite, {synchronous}", per_second(fires, fire)),
    ]


def main() -> None:
    """Measure, and print a table: rows of one block are compared with its first row."""
    options = argparse.ArgumentParser(prog="leverframe-benchmarks", description=__doc__)
    options.add_argument("--events", type=int, default=1_000_000, help="length of the trace to check")
    options.add_argument("--fires", type=int, default=20_000, help="fires in memory; a fifth as many on SQLite")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        blocks = [
            check_speed(folder, given.events),
            fire_speed(given.fires),
            sqlite_speed(folder, "NORMAL", given.fires // 5),
            sqlite_speed(folder, "FULL", given.fires // 5),
        ]
    for block in blocks:
        for label, rate in block:
            print(f"{label:<52} {rate:>12,.0f}/s  {rate / block[0][1]:>7.2f}x")
        print()


if __name__ == "__main__":
    main()
