"""What a durable `fire` costs beside the bare SQLite that it stands on.

The floor does with five statements what no store can do without: BEGIN IMMEDIATE, SELECT the instance, INSERT a journal
row of the same width, UPDATE the instance, COMMIT. `with kernel` is the same floor with a kernel in memory deciding
between two of its rounds: more than the two add up to, for their code does not fit into one processor's cache. Rounds
alternate, so that a busy machine slows all.

    python -m leverframe.model_tests.benchmarks.sqlite_fire [FIRES]
"""

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ...adapters.stores.sqlite import SQLiteStore
from ...machines.kernel import Kernel, MemoryStore
from ...machines.kernel.store import Store
from ..lever import Frame

_ROUNDS = 10
_INSTANCES = 100
_TABLES = """
    CREATE TABLE instance (
        machine TEXT, id TEXT, state TEXT, version INTEGER, data TEXT, links TEXT, hash TEXT,
        PRIMARY KEY (machine, id));
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY, machine TEXT, id TEXT, event TEXT, payload TEXT, "by" TEXT, links TEXT, state TEXT,
        version INTEGER, data TEXT, hash TEXT, ts REAL);"""
_SELECT = "SELECT state, version, data, links, hash FROM instance WHERE machine = ? AND id = ?"
_INSERT = """
    INSERT INTO journal (machine, id, event, payload, "by", links, state, version, data, hash, ts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_UPDATE = "UPDATE instance SET state = ?, version = ?, data = ? WHERE machine = ? AND id = ? AND version = ?"


def floor(path: Path, synchronous: str) -> Callable[[int], None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; {_TABLES}")
    data, table_hash = '{"box":"b","epoch":1}', "0123456789abcdef"
    for number in range(_INSTANCES):
        row = ("frame", f"f{number}", "open", 1, data, "{}", table_hash)
        connection.execute("INSERT INTO instance VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    execute = connection.execute

    def run(fires: int) -> None:
        for number in range(fires):
            id = f"f{number % _INSTANCES}"
            execute("BEGIN IMMEDIATE")
            version = execute(_SELECT, ("frame", id)).fetchone()[1] + 1
            row = ("frame", id, "tick", "{}", None, "{}", "open", version, data, table_hash, time.time())
            execute(_INSERT, row)
            execute(_UPDATE, ("open", version, data, "frame", id, version - 1))
            execute("COMMIT")

    return run


def with_kernel(bare: Callable[[int], None]) -> Callable[[int], None]:
    decide = fires_of(MemoryStore())

    def run(fires: int) -> None:
        for _ in range(fires):
            decide(1)
            bare(1)

    return run


def fires_of(store: Store) -> Callable[[int], None]:
    kernel = Kernel(store)
    refs = [kernel.start(Frame, id=f"f{number}", box="b").ref for number in range(_INSTANCES)]

    def run(fires: int) -> None:
        for number in range(fires):
            assert kernel.fire(refs[number % _INSTANCES], Frame.tick()).accepted

    return run


def main(fires: int) -> None:
    print(f"{'':24}{'floor/s':>12}{'with kernel':>12}{'fire/s':>12}{'of floor':>10}{'of both':>10}")
    levels: tuple[Literal["NORMAL", "FULL"], ...] = ("NORMAL", "FULL")
    for synchronous in levels:
        folder = Path(tempfile.mkdtemp())
        try:
            bare = floor(folder / "floor.db", synchronous)
            store = SQLiteStore(folder / "store.db", synchronous=synchronous)
            contenders = [bare, with_kernel(bare), fires_of(store)]
            best = [0.0, 0.0, 0.0]
            for _ in range(_ROUNDS):
                for number, run in enumerate(contenders):
                    began = time.perf_counter()
                    run(fires)
                    best[number] = max(best[number], fires / (time.perf_counter() - began))
            figures = "".join(f"{rate:12,.0f}" for rate in best)
            print(f"synchronous={synchronous:12}{figures}{best[2] / best[0]:10.0%}{best[2] / best[1]:10.0%}")
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
