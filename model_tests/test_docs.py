"""The documents tell the truth: their Python runs, their commands print what stands there, every command is shown."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from ..cli.main import app
from .where import checkout

PACKAGE = __package__.rpartition(".")[0]


def documents() -> list[Path]:
    root = checkout()
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def sessions(text: str) -> list[tuple[str, str]]:
    """Each command of the console blocks, with the output that stands below it."""
    found = []
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.rstrip("\n")))
    return found


def test_python_in_the_documents_runs() -> None:
    for document in documents():
        names: dict[str, object] = {"__name__": "docs"}
        for block in blocks(document.read_text("utf-8"), "python"):
            code = block.replace("from leverframe.", f"from {PACKAGE}.")
            exec(compile(code, str(document), "exec"), names)


def test_commands_in_the_documents_print_what_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout())
    for document in documents():
        for command, output in sessions(document.read_text("utf-8")):
            program, *arguments = shlex.split(command)
            assert program == "leverframe", f"{document.name}: {command}"
            result = CliRunner().invoke(app, arguments)
            assert result.output.rstrip("\n") == output, f"{document.name}: {command}"


def test_every_command_is_shown_in_the_documents() -> None:
    shown = {
        shlex.split(command)[1] for document in documents() for command, _ in sessions(document.read_text("utf-8"))
    }
    group = typer.main.get_command(app)
    assert sorted(set(group.commands) - shown) == []  # type: ignore[attr-defined]
