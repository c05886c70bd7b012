"""What the commands print, and that each says how it is used and what it does not know."""

import re
from pathlib import Path

import pytest
import typer.main

from .. import __version__
from ..cli.main import app
from ..machines.catalogue import MACHINES
from ..machines.kernel.own_rules import OWN_RULES
from .commands import Ran, leverframe, leverframe_process
from .where import PACKAGE, checkout

COMMANDS: list[str] = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
RULES = sorted({rule for machine in MACHINES.values() for rule in machine.table.rules})
EVERYWHERE = ["every machine"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_does_and_takes(command: str) -> None:
    ran = leverframe(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].strip().startswith(f"Usage: leverframe {command}")
    sentence = re.sub(r"\s+", " ", ran.out.partition("\n\n")[2].strip())
    assert re.match(r"[A-Z][^.]*\w[.:]? ", sentence), ran.out
    assert "\n  --help" in ran.out


def test_help_lists_every_command_with_its_sentence() -> None:
    ran = leverframe("--help")
    assert (ran.code, ran.err) == (0, "")
    for command in COMMANDS:
        assert re.search(rf"^  {command}  +\w", ran.out, re.MULTILINE), command


def test_check_explains_its_exit_codes() -> None:
    text = re.sub(r"\s+", " ", leverframe("check", "--help").out)
    assert "Exit code 0: all ok or incomplete; 1: a violation; 2: wrong usage; 3: something could not be read" in text


def test_the_version_is_that_of_the_package() -> None:
    assert leverframe("--version") == leverframe("--version", "check")
    assert leverframe("--version").out == f"leverframe {__version__}\n"


# --- show -------------------------------------------------------------------------------------------------------------


def test_show_lists_every_machine_on_a_line() -> None:
    ran = leverframe("show")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()] == list(MACHINES)
    for line, machine in zip(ran.out.splitlines(), MACHINES.values(), strict=True):
        assert line.endswith(machine.table.doc.splitlines()[0])
        assert re.findall(r"\d+", line)[:2] == [str(len(machine.table.states) - 1), str(len(machine.table.events))]


@pytest.mark.parametrize("name", MACHINES)
def test_show_tells_of_each_state_what_each_event_does_there(name: str) -> None:
    table = MACHINES[name].table
    ran = leverframe("show", name)
    assert (ran.code, ran.err) == (0, "")
    head, *parts = ran.out.rstrip("\n").split("\n\n")
    assert head == f"{name}: {table.doc}"
    assert [part.split()[0] for part in parts] == list(table.states)
    for part, state in zip(parts, table.states.values(), strict=True):
        first, *lines = part.splitlines()
        assert ("(final)" in first) == state.final
        assert ("owes" in first) == (state.id in table.owes)
        told: list[str] = []
        for line in lines:
            if move := re.fullmatch(r"  (\w+) -> (\w+)(?:  if (.+))?", line):
                told.append(move[1])
                ways = table.moves[str(state.id), move[1]]
                guards = [(way.target.id, [guard.rule.name for guard in way.guards if guard.rule]) for way in ways]
                assert (move[2], move[3].split(", ") if move[3] else []) in guards
            elif settled := re.fullmatch(r"  (\w+) is settled  \((\S+)\)", line):
                told.append(settled[1])
                assert table.settled[str(state.id), settled[1]].name == settled[2]
            else:
                refused = re.fullmatch(r"  refuses (.+)  \((\S+)\)", line)
                assert refused, line
                told += refused[1].split(", ")
                assert {table.refusals[str(state.id), event].rule.name for event in refused[1].split(", ")} == {
                    refused[2]
                }
        assert sorted(set(told)) == sorted(table.events)


def test_show_takes_several_machines() -> None:
    several = leverframe("show", "lease", "session").out
    assert several == leverframe("show", "lease").out + leverframe("show", "session").out


# --- rules and explain ------------------------------------------------------------------------------------------------


def test_rules_lists_each_rule_once_with_a_sentence_and_its_machines() -> None:
    ran = leverframe("rules")
    assert (ran.code, ran.err) == (0, "")
    found = {}
    for line in ran.out.splitlines():
        parsed = re.fullmatch(r"(\S+) +(\S.*)  \((.+)\)", line)
        assert parsed, line
        found[parsed[1]] = parsed[3].split(", ")
        sentences = {machine.table.rules.get(parsed[1]) for machine in MACHINES.values()}
        assert parsed[2] in {*sentences, OWN_RULES.get(parsed[1])}
    assert list(found) == sorted({*RULES, *OWN_RULES})
    for rule, machines in found.items():
        held = [name for name, machine in MACHINES.items() if rule in machine.table.rules]
        assert machines == (EVERYWHERE if rule in OWN_RULES else held)


def test_rules_of_one_machine_are_those_it_holds() -> None:
    ran = leverframe("rules", "lease")
    assert [line.split()[0] for line in ran.out.splitlines()] == sorted(MACHINES["lease"].table.rules)


def test_every_rule_can_be_explained_with_a_place_where_it_holds() -> None:
    for rule in RULES:
        ran = leverframe("explain", rule)
        assert (ran.code, ran.err) == (0, "")
        parts = re.split(r"^(?=\S)", ran.out, flags=re.MULTILINE)[1:]
        held = [name for name, machine in MACHINES.items() if rule in machine.table.rules]
        assert [part.partition(":")[0] for part in parts] == [f"{rule} ({name})" for name in held]
        assert all(part.count("\n  ") >= 1 for part in parts), ran.out


def test_the_rules_that_hold_for_every_machine_can_be_explained() -> None:
    for rule, sentence in OWN_RULES.items():
        assert leverframe("explain", rule) == Ran(0, f"{rule} (every machine): {sentence}\n", "")
    assert not set(OWN_RULES) & set(RULES)


def test_every_rule_that_is_written_out_in_the_code_is_one_of_them() -> None:
    used = set()
    for room in ("kernel", "checking"):
        for file in (PACKAGE / "machines" / room).glob("*.py"):
            text = file.read_text("utf-8")
            used |= set(re.findall(r"""(?:Refused|_refused|plainly|Failed)\([^"()]*"([a-z]+(?:-[a-z]+)+)\"""", text))
    assert used <= set(OWN_RULES)
    assert {"event-id-bound", "all-or-none", "refused-without-cause"} <= used


def test_a_rule_that_comes_close_is_suggested() -> None:
    ran = leverframe("explain", "approval-resolve-once")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean" in ran.err
    assert "approval-resolved-once" in ran.err
    assert "`leverframe rules` lists them" in leverframe("explain", "xyzzy").err


# --- wrong names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("show", "sesion"), "no machine sesion; the machines are session, "),
        (("show", "lease", "sesion"), "no machine sesion; the machines are session, "),
        (("rules", "sesion"), "no machine sesion; the machines are session, "),
        (("diagrams", "sesion"), "no machine sesion; the machines are session, "),
        (("explain", "no-such"), "no rule no-such"),
        (("explain",), "Missing argument 'RULE'"),
        (("explain", "lease-counted", "more"), "unexpected extra argument"),
        (("show", "--format", "x"), "No such option"),
        (("diagrams", "--format", "x"), "'x'"),
        (("chekc", "x"), "No such command 'chekc'"),
        (("show", "\x1b[2J\u202e"), "no machine \\x1b[2J\\u202e"),
        (("explain", "\x1b[2J\u202e"), "no rule \\x1b[2J\\u202e"),
        (("check", "\x1b[2J\u202e"), "\\x1b[2J\\u202e: no such file or folder"),
        (("\x1b[2J\u202e",), "\\x1b[2J\\u202e"),
    ],
)
def test_what_is_not_known_is_told_in_one_line_with_what_is(arguments: tuple[str, ...], named: str) -> None:
    ran = leverframe(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("leverframe: ")
    assert ran.err.rstrip("\n").isprintable(), ran.err
    assert named in ran.err


# --- check ------------------------------------------------------------------------------------------------------------


def test_check_prints_the_same_each_time() -> None:
    paths = [str(checkout() / "examples"), str(checkout() / "docs")]
    for output in ("text", "json"):
        first = leverframe("check", *paths, "--output", output)
        assert first.out
        assert leverframe("check", *paths, "--output", output) == first
        assert leverframe_process("check", *paths, "--output", output) == first


def test_check_finds_the_examples_lawful() -> None:
    ran = leverframe("check", str(checkout() / "examples"))
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^\d+ traces: \d+ ok", ran.out, re.MULTILINE)


def test_check_shows_a_person_where_what_and_why(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"leverframe":1,"order":"total","complete":true,"trace":"run-7"}\n'
        '{"machine":"session","id":"s","event":"start","payload":{"principal":"alice"}}\n'
        '{"machine":"session","id":"s","event":"stop"}\n'
        '{"machine":"session","id":"s","event":"claim","payload":{"expected":0}}\n'
        '{"machine":"session","id":"t","event":"start","payload":{"principal":"bob"}}\n'
        '{"machine":"session","id":"t","event":"soft_close"}\n',
        "utf-8",
    )
    ran = leverframe("check", str(path))
    assert ran.code == 1
    why = "a worker sent for before a Stop ends as cancelled and claims nothing"
    assert ran.out.splitlines() == [
        f"{path} [run-7]: violation  (5 events, 2 instances)",
        "  line 4: claim-epoch-current",
        f"    claim is refused: session s is open, and {why}",
        "    as_expected saw data=(principal=alice, epoch=1, last=0, draining=False), expected=0",
        "    made so by line 3",
        "    session s could take claim, stop, edge, abandon, soft_close, close, commit_unscoped",
        "  line 6: session t is closing and still owes close-refused-keeps-session",
        "1 trace: 1 violation",
    ]
