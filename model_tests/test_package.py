"""The package is what its folders, its README and its build configuration say."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import settings

from .. import __version__, machines
from ..machines import catalogue
from .where import PACKAGE, checkout

NAME = __name__.removesuffix(".model_tests.test_package")
"""What the package is called here: `leverframe` when installed, the folder's name in a checkout."""


def python(*args: str, cwd: Path) -> str:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([sys.executable, *args], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def listed_packages() -> list[str]:
    project = tomllib.loads((checkout() / "pyproject.toml").read_text("utf-8"))
    packages: list[str] = project["tool"]["setuptools"]["packages"]
    return packages


def rooms(root: Path) -> list[Path]:
    return [init.parent for init in sorted(root.glob("*/__init__.py"))]


def test_the_listed_packages_are_the_folders_with_code() -> None:
    root = checkout()
    folders = {file.parent.relative_to(root) for room in rooms(root) for file in room.rglob("*.py")}
    assert sorted(listed_packages()) == sorted(["leverframe", *(".".join(("leverframe", *f.parts)) for f in folders)])


def test_each_folder_with_code_is_a_package() -> None:
    folders = {file.parent for room in rooms(PACKAGE) for file in room.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_ci_runs_every_command_of_the_readme() -> None:
    root = checkout()
    sections = re.split("^## ", (root / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    commands = {text.split("\n", 1)[0]: re.findall("^python3 .*", text, re.MULTILINE) for text in sections}
    assert {title: len(found) for title, found in commands.items() if found} == {"Run": 1, "Test": 1}
    assert re.findall(r"\$\(readme (\w+)\)", (root / ".ci" / "run").read_text("utf-8")) == ["Run", "Test"]


def test_own_code_is_imported_relatively() -> None:
    own = {"leverframe", *(room.name for room in rooms(PACKAGE))}
    absolute = []
    for file in [*PACKAGE.glob("*.py"), *(file for room in rooms(PACKAGE) for file in room.rglob("*.py"))]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            else:
                continue
            absolute += [f"{file}:{node.lineno} {name}" for name in names if name.partition(".")[0] in own]
    assert absolute == []


def test_the_checkout_and_the_package_print_the_same() -> None:
    examples = str(checkout() / "examples")
    here = python("-m", "cli", "check", examples, cwd=checkout())
    assert here == python("-m", NAME, "check", examples, cwd=PACKAGE.parent)
    assert "2 traces: 2 ok" in here


IMPORT_MACHINES = """
import importlib, pkgutil, sys, threading
import attrs, statemachine

name = sys.argv[1]
before = set(sys.modules)
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
machines = importlib.import_module(name + ".machines")
for module in pkgutil.walk_packages(machines.__path__, machines.__name__ + "."):
    if not module.name.startswith((machines.__name__ + ".checking", machines.__name__ + ".systems")):
        importlib.import_module(module.name)
new = set(sys.modules) - before
print(sorted(m for m in new if m.startswith(name + ".") and not m.startswith(machines.__name__)))
print(sorted({m.partition(".")[0] for m in new} - {name.partition(".")[0]} - sys.stdlib_module_names))
print(threading.active_count())
print([path for path in opened if not path.endswith((".py", ".pyc"))])
"""


def test_importing_machines_takes_nothing_else() -> None:
    """No adapter, no CLI, no optional package, no thread, no file. Checking and systems may take numpy."""
    above = PACKAGE.parents[NAME.count(".")]
    assert python("-B", "-c", IMPORT_MACHINES, NAME, cwd=above).splitlines() == ["[]", "[]", "1", "[]"]


LOADED = """
import sys
from importlib import import_module

name, module, *arguments = sys.argv[1:]
try:
    sys.argv = ["leverframe", *arguments]
    found = import_module(name + module)
    if arguments:
        found.main()
except SystemExit:
    pass
print(sorted({m.removeprefix(name + ".") for m in sys.modules if m.startswith(name + ".")}), file=sys.stderr)
print(sorted({"rich", "msgspec", "sqlite_utils", "statemachine", "attrs"} & sys.modules.keys()), file=sys.stderr)
"""


def loaded(module: str, *arguments: str) -> tuple[set[str], set[str]]:
    """Our own modules, and those of others that take long, that are imported by then."""
    above = PACKAGE.parents[NAME.count(".")]
    command = [sys.executable, "-c", LOADED, NAME, module, *arguments]
    done = subprocess.run(command, cwd=above, capture_output=True, text=True)
    own, foreign = (set(ast.literal_eval(line)) for line in done.stderr.splitlines())
    return own, foreign


def test_importing_machines_waits_for_no_lifecycle() -> None:
    own, foreign = loaded(".machines")
    assert {name for name in own if not name.startswith("machines.kernel")} == {"machines"}
    assert foreign == {"attrs", "statemachine"}


def test_a_lifecycle_is_there_when_it_is_asked_for() -> None:
    for name in machines.__all__:
        assert getattr(machines, name) is vars(catalogue).get(name, getattr(machines.kernel, name, None))
    with pytest.raises(AttributeError, match="has no attribute 'Lorry'"):
        machines.Lorry  # noqa: B018


def test_help_waits_for_no_other_room() -> None:
    own, foreign = loaded(".cli.main", "--help")
    assert {name.partition(".")[0] for name in own} == {"cli"}
    assert foreign == set()


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """A copy of the checkout in a folder whose name is no identifier, with a version of its own."""
    root = checkout()
    copy = tmp_path / "leverframe-0.1-main"
    for room in {package.split(".")[1] for package in listed_packages() if "." in package}:
        shutil.copytree(root / room, copy / room)
    shutil.copytree(root / ".ci" / "here", copy / ".ci" / "here")
    (copy / "__init__.py").write_text('__version__ = "copy"\n', "utf-8")
    return copy


def test_python_m_cli_runs_the_code_of_a_checkout_of_any_name(renamed: Path) -> None:
    assert python("-m", "cli", "--version", cwd=renamed) == "leverframe copy"


SPAWN = """
import multiprocessing, runpy, sys

sys.argv = ["cli", "--version"]
try:
    runpy.run_module("cli", run_name="__main__")
except SystemExit:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(eval, ("__import__('leverframe').__version__",)))
"""


def test_worker_processes_of_python_m_cli_run_the_same_code(renamed: Path) -> None:
    assert python("-c", SPAWN, cwd=renamed).splitlines() == ["leverframe copy", "copy"]


def test_python_m_runs_the_package() -> None:
    above = PACKAGE.parents[NAME.count(".")]
    assert python("-m", NAME, "--version", cwd=above) == f"leverframe {__version__}"


def test_the_hypothesis_profile_is_loaded() -> None:
    assert settings.get_current_profile_name() == os.environ.get("LEVERFRAME_PROFILE", "dev")
