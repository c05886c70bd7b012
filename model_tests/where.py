"""Where the tests find what is not in the wheel; they skip where it is missing."""

import os
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


def checkout() -> Path:
    """The repository: around this file, or where pytest was started."""
    for folder in (PACKAGE, Path.cwd()):
        project = folder / "pyproject.toml"
        if project.is_file() and tomllib.loads(project.read_text("utf-8"))["project"]["name"] == "leverframe":
            return folder
    pytest.skip("needs the repository: start pytest in its root")


def shared(path: str) -> Path:
    """A file or folder of the recordings and notes that stand beside the checkout."""
    found = Path(os.environ.get("LEVERFRAME_SHARED", "../shared")).resolve() / path
    if not found.exists():
        pytest.skip(f"needs {path} in ../shared, or in the folder that LEVERFRAME_SHARED names")
    return found
