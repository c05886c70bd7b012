"""The command as a person types it: in this process, where it is fast, or in one of its own."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any
from unittest.mock import patch

import attrs

from ..cli.main import main
from .where import PACKAGE

__all__ = ["Ran", "leverframe", "leverframe_process"]


@attrs.frozen
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def leverframe(*arguments: str, stdin: bytes = b"") -> Ran:
    """Run the command in this process; an exception that it lets pass is the test's."""
    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    with (
        patch.object(sys, "argv", ["leverframe", *arguments]),
        patch.object(sys, "stdin", given),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code: int | str = 0
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return Ran(code, out.getvalue(), err.getvalue())


def leverframe_process(*arguments: str, stdin: bytes = b"", stdout: Any = subprocess.PIPE) -> Ran:
    """Run the command in a process of its own, as `python -m`."""
    name = __name__.removesuffix(".model_tests.commands")
    above = PACKAGE.parents[name.count(".")]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments],
        cwd=above,
        env=env,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    return Ran(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())
