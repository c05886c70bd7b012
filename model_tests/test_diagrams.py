"""Drawings and tables show what the machines are, and documents notice when they no longer do."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ..cli.diagrams import diagrams
from ..diagrams.blocks import block
from ..diagrams.embed import embed
from ..diagrams.mermaid import mermaid
from ..machines.catalogue import MACHINES
from ..machines.kernel import BadInput, Event, Machine, State, Table, guard, refused, rule, settled


@guard("door-has-key", "a lock | a key")
def key() -> bool:
    return True


@guard("door-has-key", "a lock | a key")
def right_key() -> bool:
    return True


@guard("door-is-whole", "what is broken off locks nothing")
def whole() -> bool:
    return True


class Door(Machine):
    """A door that is closed, knocked at, and locked once."""

    absent = State(initial=True)
    ajar = State()
    locked = State(final=True)

    start: Event[None] = absent.to(ajar)
    knock: Event[None] = ajar.to(ajar)
    turn: Event[None] = ajar.to(locked, cond=[key, right_key, whole]) | ajar.to(ajar)
    slam: Event[None] = ajar.to(locked)

    rules = [
        rule("door-is-hung", absent, why="there is no door yet"),
        settled(turn, when=locked, rule="door-locks-once", why="it is locked already"),
        rule("door-locks-once", locked),
        refused(start, when=ajar, rule="door-is-hung"),
    ]


DRAWING = """\
stateDiagram-v2
    accTitle: door
    state "ajar" as ajar
    ajar: ↺ <b>knock</b><br/>↺ <b>turn</b>
    [*] --> ajar: <b>start</b>
    ajar --> locked: <b>turn</b><br/>door-has-key<br/>door-is-whole<br/><b>slam</b>
    locked --> [*]
"""

LEGEND = "Bold is an event, below it the rules that must hold; ↺ stays in its state.\n"

TABLE = """\
→ leads to, ↺ stays, = is already done; anything else is the rule that refuses the event.

|  | `absent` | `ajar` | `locked` |
| --- | --- | --- | --- |
| `start` | **→ `ajar`** | door-is-hung | door-locks-once |
| `knock` | door-is-hung | **↺** | door-locks-once |
| `turn` | door-is-hung | **→ `locked`** or **↺** | = door-locks-once |
| `slam` | door-is-hung | **→ `locked`** | door-locks-once |
"""

RULES = """\
| rule | why |
| --- | --- |
| `door-has-key` | a lock \\| a key |
| `door-is-hung` | there is no door yet |
| `door-is-whole` | what is broken off locks nothing |
| `door-locks-once` | it is locked already |
"""


class Hostile(Machine):
    """Names that are words, nodes or emphasis to Mermaid."""

    absent = State(initial=True)
    click = State()
    Note = State()
    root_end = State()
    __x__ = State()
    end = State(final=True)

    start: Event[None] = absent.to(click)
    state_x: Event[None] = click.to(Note) | Note.to(root_end) | root_end.to(root_end)
    _y_: Event[None] = root_end.to(__x__) | __x__.to(end)

    rules = [rule("hostile-otherwise", otherwise=True, why="nothing else happens here")]


HOSTILE = """\
stateDiagram-v2
    accTitle: hostile
    state "click" as 0_click
    state "Note" as 0_Note
    state "root_end" as 0_root_end
    0_root_end: ↺ <b>state_x</b>
    state "#95;#95;x#95;#95;" as 0___x__
    state "end" as 0_end
    [*] --> 0_click: <b>start</b>
    0_click --> 0_Note: <b>state_x</b>
    0_Note --> 0_root_end: <b>state_x</b>
    0_root_end --> 0___x__: <b>#95;y#95;</b>
    0___x__ --> 0_end: <b>#95;y#95;</b>
    0_end --> [*]
"""

Arrow = tuple[str, str, str, tuple[str, ...]]
"""Source, event, target, rules."""


def drawn(text: str) -> Iterator[Arrow]:
    """What a reader of a drawing sees."""
    text = text.replace("#95;", "_")
    names = {id: name for name, id in re.findall('state "(.*)" as (.*)', text)} | {"[*]": "absent"}
    for source, target, label in re.findall(r"^ +(\S+)(?: --> (\S+))?: (.*)$", text, re.MULTILINE):
        for move in re.findall(r"<b>.*?(?=(?:<br/>)?(?:↺ )?<b>|$)", label):
            event, *rules = move.replace("<b>", "").replace("</b>", "").split("<br/>")
            ends = [names.get(end, end) for end in (source, target or source)]
            yield ends[0], event, ends[1], tuple(rules)


def declared(table: Table) -> Iterator[Arrow]:
    for move in table.transitions:
        rules = dict.fromkeys(guard.rule.name for guard in move.guards if guard.rule)
        yield str(move.source.id), move.event, str(move.target.id), tuple(rules)


@pytest.mark.parametrize("machine", [*MACHINES.values(), Door, Hostile], ids=lambda machine: machine.table.name)
def test_a_drawing_shows_every_transition_and_guard_and_no_other(machine: type[Machine]) -> None:
    assert Counter(drawn(mermaid(machine.table))) == Counter(declared(machine.table))


@pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
def test_a_drawing_ends_in_the_final_states(machine: type[Machine]) -> None:
    ends = re.findall(r"^ +(?:0_)?(\S+) --> \[\*\]$", mermaid(machine.table), re.MULTILINE)
    assert ends == [state.id for state in machine.table.final]


def test_a_drawing_reads_like_this() -> None:
    assert mermaid(Door.table) == DRAWING


def test_names_that_mermaid_would_misread_are_only_shown() -> None:
    assert mermaid(Hostile.table) == HOSTILE


def draw(what: str) -> str:
    return block({"door": Door}, what)


def marked(what: str, body: str = "") -> str:
    return f"<!-- leverframe: {what} -->\n{body}<!-- /leverframe -->\n"


@pytest.mark.parametrize(
    ("what", "shown"),
    [("door", f"```mermaid\n{DRAWING}```\n\n{LEGEND}"), ("door table", TABLE), ("door rules", RULES)],
    ids=["drawing", "table", "rules"],
)
def test_a_marked_block_becomes(what: str, shown: str) -> None:
    old, new = marked(what, "old\n"), marked(what, f"\n{shown}\n")
    assert embed(f"# A\n\n{old}text\n{old}", draw) == f"# A\n\n{new}text\n{new}"


def test_embedding_twice_is_embedding_once() -> None:
    once = embed(marked("door") + marked("door table") + marked("door rules"), draw)
    assert embed(once, draw) == once


def test_a_marker_in_a_code_fence_is_an_example() -> None:
    examples = f"```html\n{marked('door')}```\n~~~~\n```\n{marked('nothing')}~~~~\n"
    assert embed(examples + marked("door"), draw) == examples + embed(marked("door"), draw)


def test_line_ends_of_a_document_are_kept() -> None:
    assert embed(marked("door").replace("\n", "\r\n"), draw) == embed(marked("door"), draw).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (marked("dor"), "line 3: no machine dor; the machines are door"),
        (marked("door picture"), "line 3: door has no picture to show"),
        ("<!-- leverframe: door -->\n", "line 3: this marker is alone"),
        (f"<!-- leverframe: door -->\n{marked('door')}", "line 3: this marker is alone"),
        ("<!-- /leverframe -->\n", "line 3: this marker is alone"),
    ],
    ids=["no machine", "no kind", "no end", "no end before the next", "no beginning"],
)
def test_a_block_that_means_nothing_is_named_by_its_line(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=re.escape(problem)):
        embed(f"# A\n\n{text}", draw)


def run(*args: str | Path) -> tuple[int, str]:
    app = typer.Typer(rich_markup_mode=None)
    app.command()(diagrams)
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    return done.exit_code, done.output


def test_the_command_prints_the_named_machines_or_all() -> None:
    assert run("session") == (0, mermaid(MACHINES["session"].table))
    assert run() == (0, "\n".join(mermaid(machine.table) for machine in MACHINES.values()))


def test_check_names_each_block_that_has_drifted_and_changes_nothing(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text(marked("session") + marked("session rules"), "utf-8")
    assert run("embed", document)[0] == 0
    fresh = document.read_text("utf-8")
    assert run("embed", document, "--check") == (0, "")
    drifted = fresh.replace("<b>stop</b>", "<b>halt</b>", 1)
    document.write_text(drifted, "utf-8")
    assert run("embed", document, "--check") == (1, f"{document}:1: session has drifted\n")
    assert document.read_text("utf-8") == drifted
    assert run("embed", document)[0] == 0
    assert document.read_text("utf-8") == fresh


def test_no_document_is_written_when_one_is_wrong(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(marked("session"), "utf-8")
    bad.write_text(marked("nothing"), "utf-8")
    assert run("embed", good, bad)[0] == 2
    assert good.read_text("utf-8") == marked("session")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["nothing"], "no machine nothing"),
        (["session", "--check"], "--check goes with embed"),
        (["embed"], "embed needs a document"),
        (["embed", "missing.md"], "missing.md: No such file"),
        (["--format", "picture"], "picture"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_and_says_why(args: list[str], problem: str) -> None:
    code, output = run(*args)
    assert code == 2
    assert problem in " ".join(output.split())


def test_a_document_that_is_no_text_is_named(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_bytes(b"\xff")
    code, output = run("embed", document)
    assert code == 2
    assert "no UTF-8 text" in output
