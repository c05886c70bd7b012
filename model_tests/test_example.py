"""The example program, killed anywhere and started again: the answer arrives once, and `check` accepts the journal."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..adapters.traces.sources import open_source
from ..machines import MACHINES
from ..machines.checking import Report, judge
from .where import PACKAGE, checkout

PAGE = "# What is a lever frame?\n\n<!-- agent:answer -->{}<!-- /agent:answer -->\n"
ANSWER = "\nA lever frame holds the levers of a signal box,\nand makes a conflicting pull impossible.\n"
KEPT = PAGE.format(ANSWER)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which `leverframe` is the package under test, whatever it is called here."""
    if not checkout().joinpath("examples").is_dir():
        pytest.skip("needs the repository's examples")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "leverframe").symlink_to(PACKAGE)
    paths = [str(tmp_path / "path"), str(checkout() / "examples")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def running(env: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The program as a person starts it."""
    program = [sys.executable, str(checkout() / "examples" / "keeper.py"), str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def verdict(journal: Path) -> Report:
    with journal.open("rb") as source:
        (report,) = judge(MACHINES, open_source(str(journal), source, journal).stream)
    return report


def test_killed_while_it_streams_and_after_it_goes_on_and_keeps_the_answer_once(
    env: dict[str, str], tmp_path: Path
) -> None:
    folder, chance = tmp_path / "kept", random.Random(7)
    for seen in ("A", "A lever frame holds", "impossible.", "impossible.", ""):
        with running(env, folder) as process:
            assert process.stdout is not None
            heard = ""
            while seen not in heard and (more := process.stdout.read(1)):
                heard += more
            time.sleep(chance.uniform(0, 0.03) if seen else 0)
            process.send_signal(signal.SIGKILL if seen else 0)
            process.wait()
        report = verdict(folder / "journal.db")
        assert report.verdict in ("ok", "incomplete"), report.violations
        assert (folder / "notes.md").read_text("utf-8") in (KEPT, PAGE.format("\n"))
    assert (folder / "notes.md").read_text("utf-8") == KEPT
    command = [sys.executable, "-m", "leverframe", "check", "--require-complete", str(folder / "journal.db")]
    checked = subprocess.run(command, env=env, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_ctrl_c_stops_the_model_and_the_next_start_goes_on(env: dict[str, str], tmp_path: Path) -> None:
    with running(env, tmp_path / "kept") as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(5)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 1
        assert process.stderr.read() == "\nthe session was stopped: start again to go on\n"
    with running(env, tmp_path / "kept") as process:
        assert process.wait(10) == 0
    assert (tmp_path / "kept" / "notes.md").read_text("utf-8") == KEPT
    report = verdict(tmp_path / "kept" / "journal.db")
    assert report.verdict == "ok", report


LIVES = """
import os, signal, sys
from pathlib import Path

import keeper
from leverframe.adapters.stores.points import under_schedule


def live(folder, left):
    def point(label="", blocked=False):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(real):
        def wrapped(*args, **options):
            point()
            done = real(*args, **options)
            point()
            return done
        return wrapped

    for name in ("replace", "unlink", "fsync"):
        setattr(os, name, around(getattr(os, name)))
    with under_schedule(point):
        keeper.Keeper(folder, keeper.serve(keeper.SAYS, 0)).keep()


def fork(folder, left):
    child = os.fork()
    if child == 0:
        sys.stdout = open(os.devnull, "w")
        live(folder, left)
        os._exit(0)
    return os.waitpid(child, 0)[1]


root, first, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
at = first
while True:
    folder = root / str(at)
    killed = fork(folder, at)
    if killed == 0:
        break
    assert killed == signal.SIGKILL, killed
    fork(folder, at // 3)  # it dies again, while it recovers or later
    assert fork(folder, 0) == 0
    at += step
print(at)
"""


def test_killed_at_any_durable_step_it_goes_on_and_keeps_the_answer_once(env: dict[str, str], tmp_path: Path) -> None:
    """At every eleventh point of the store and of the files, and a second time in the life after."""
    root = tmp_path / "lives"
    done = subprocess.run([sys.executable, "-c", LIVES, str(root), "3", "11"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 150
    for folder in root.iterdir():
        assert (folder / "notes.md").read_text("utf-8") == KEPT, folder
        report = verdict(folder / "journal.db")
        assert report.verdict == "ok", (folder, report)
        left = sorted(file.suffix for file in (folder / "patches").iterdir() if "lease" not in file.name)
        assert left == [".ack", ".claim"], folder
