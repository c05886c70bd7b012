"""The file route on a real folder: applied once or rejected, with hostile files, two windows and a crash anywhere."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ..adapters.editors.files import FileRoute
from ..adapters.editors.folder import Folder, Patch
from ..adapters.editors.texts import digest, write_whole
from ..adapters.stores.points import under_schedule
from ..adapters.stores.sqlite import SQLiteStore
from ..adapters.traces.sources import open_source
from ..machines import MACHINES, Cycle, Fallback, Kernel, MemoryStore
from ..machines.checking import Begin, Report, judge
from ..machines.kernel import Accepted, BadInput, Ref, Refused
from ..machines.kernel.store import Store
from .grounds import MemoryGround

BODY = "A lever is pulled.\n"
DOCUMENT = """# Notes

<!-- agent:answer kind=reply -->
What is pulled?
<!-- /agent:answer -->

<!-- agent:answers -->
<!-- /agent:answers -->
The user's own.\r
"""
ANSWERED = DOCUMENT.replace("What is pulled?\n", f"What is pulled?\n{BODY}")


def kernel_of(store: Store) -> Kernel:
    return Kernel(store, mode=dict.fromkeys(MACHINES.values(), "enforce"))


class Desk:
    """A document with one open cycle that has captured BODY, and a window that watches the patches."""

    def __init__(self, root: Path) -> None:
        self.root, self.document, self.patches = root, root / "notes.md", root / "patches"
        self.document.write_bytes(DOCUMENT.encode())
        self.store = MemoryStore()
        self.kernel = kernel_of(self.store)
        self.route = self.window("editor")
        self.cycle = self.open("c1", first=True)

    def window(self, editor: str) -> FileRoute:
        return FileRoute(self.kernel, self.root, self.patches, editor)

    def open(self, id: str, **start: Any) -> Ref:
        self.kernel.start(Cycle, id=id, baseline="b", **{"first": False, **start})
        return self.kernel.fire(Cycle.ref(id), Cycle.capture(response=digest(BODY), body=BODY)).ref

    def send(self, **given: Any) -> Ref:
        asked = {"cycle": self.cycle, "document": "notes.md", "component": "answer", "text": BODY, **given}
        sent = self.route.send(**asked)
        assert isinstance(sent, Accepted), sent
        return sent.ref

    def commit(self) -> None:
        written = {"response": digest(BODY), "reason": None, "body_once": True, "one_boundary": True}
        self.kernel.fire(self.cycle, Cycle.write(**written))
        done = self.kernel.fire(self.cycle, Cycle.commit(reason=None, in_staged=True, in_archive=False))
        assert done.accepted

    def state(self, patch: Ref) -> Any:
        found = self.kernel.get(patch)
        return found and found.state

    def events(self, patch: Ref) -> list[str]:
        return [entry.event for entry in self.store.journal if entry.decision.ref == patch]

    def text(self) -> str:
        return self.document.read_bytes().decode()

    def file(self, patch: Ref, kind: str = "json") -> Path:
        return self.patches / f"{patch.id}.{kind}"

    def kinds(self) -> list[str]:
        """What lies in the folder, the lease aside."""
        return sorted(file.suffix for file in self.patches.iterdir() if "lease" not in file.name)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    (report,) = judge(MACHINES, [Begin("", complete=True), *MemoryGround(desk.store).journal()])
    assert report.verdict in ("ok", "incomplete"), report.violations


def test_a_patch_is_written_applied_acknowledged_and_cleaned(desk: Desk) -> None:
    patch = desk.send()
    written = msgspec.json.decode(desk.file(patch).read_bytes(), type=Patch)
    assert (written.cycle, written.component, written.text) == ("c1", "answer", BODY)
    assert written.base == digest("\nWhat is pulled?\n") and digest(desk.file(patch).read_bytes()) == patch.id
    assert desk.state(patch) == Fallback.file_queued and desk.text() == DOCUMENT

    desk.route.poll()
    assert desk.text() == ANSWERED
    assert desk.route.wait(patch, 0) == written.content == digest(f"\nWhat is pulled?\n{BODY}")
    assert desk.kinds() == [".ack", ".claim"] and desk.state(patch) == Fallback.cleaned
    assert desk.events(patch) == [
        "start",
        "send_unavailable",
        "queue_file",
        "file_written",
        "watch_apply",
        "edited",
        "cleanup",
    ]


def test_the_edit_changes_its_component_alone_and_keeps_the_files_mode(desk: Desk) -> None:
    """Bytes that are no UTF-8, foreign line ends and the user's later typing elsewhere stay."""
    desk.send()
    typed = DOCUMENT.encode().replace(b"# Notes", b"# My notes\xff")
    desk.document.write_bytes(typed)
    desk.document.chmod(0o640)
    desk.route.poll()
    assert desk.document.read_bytes() == typed.replace(b"pulled?\n", f"pulled?\n{BODY}".encode())
    assert desk.document.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in desk.root.iterdir()) == ["notes.md", "patches"]


def test_a_changed_component_is_not_overwritten_and_a_rebuilt_patch_follows(desk: Desk) -> None:
    first = desk.send()
    typed = DOCUMENT.replace("pulled?", "pulled, and by whom?")
    desk.document.write_bytes(typed.encode())
    desk.route.poll()
    assert desk.text() == typed and desk.state(first) == Fallback.discarded
    assert desk.route.wait(first, 0) is None and desk.kinds() == [".claim"]
    second = desk.send(attempt=2)
    desk.route.poll()
    assert desk.text() == typed.replace("whom?\n", f"whom?\n{BODY}") and desk.route.wait(second, 0)


def test_a_patch_of_an_ended_cycle_is_rejected_before_anything_visible_changes(desk: Desk) -> None:
    patch = desk.send()
    desk.commit()
    desk.route.poll()
    assert desk.text() == DOCUMENT and desk.kinds() == [".claim"] and desk.state(patch) == Fallback.discarded


def test_a_patch_asks_its_own_cycle_and_not_the_newest(desk: Desk) -> None:
    """C2 is open; the patch is of C1."""
    desk.send()
    desk.commit()
    desk.open("c2", previous=desk.cycle)
    desk.route.poll()
    assert desk.text() == DOCUMENT


@pytest.mark.parametrize("later", [False, True])
def test_a_file_that_comes_back_is_removed_and_applied_no_more(desk: Desk, later: bool) -> None:
    """A restored backup, a second window, a repeated effect: in the same cycle, or after its commit."""
    patch = desk.send()
    raw = desk.file(patch).read_bytes()
    desk.route.poll()
    if later:
        desk.commit()
        desk.document.write_bytes(DOCUMENT.encode())
    before = desk.text()
    desk.file(patch).write_bytes(raw)
    desk.route.poll()
    assert desk.text() == before and desk.kinds() == [".ack", ".claim"]


def test_a_mark_without_a_record_rejects(desk: Desk) -> None:
    """The journal came from a backup: the mark outlives it."""
    patch = desk.send()
    desk.file(patch, "claim").write_text("another")
    desk.route.poll()
    assert desk.text() == DOCUMENT and desk.state(patch) == Fallback.discarded and desk.kinds() == [".claim"]


def test_only_the_lease_holder_applies(desk: Desk) -> None:
    other = desk.window("other")
    patch = desk.send()
    assert other.folder.leased() and not desk.route.folder.leased()
    desk.route.poll()
    assert desk.text() == DOCUMENT and desk.state(patch) == Fallback.file_queued
    assert desk.store.audit[-1][1].rule == "lease-fenced"
    other.poll()
    desk.route.poll()
    assert desk.text() == ANSWERED and desk.state(patch) == Fallback.cleaned


def test_silence_is_no_answer_and_the_patch_still_applies(desk: Desk) -> None:
    patch = desk.send()
    assert desk.route.wait(patch, 0.01) is None
    assert desk.state(patch) == Fallback.retained and desk.file(patch).exists()
    desk.route.poll()
    assert desk.text() == ANSWERED and desk.route.wait(patch, 0) is not None


def test_watching_looks_again_and_again_and_sleeps_by_the_given_clock(desk: Desk) -> None:
    slept: list[float] = []
    patch = desk.send()
    over = lambda: desk.state(patch) == Fallback.cleaned and len(slept) > 2  # noqa: E731
    desk.route.watch(until=over, every=7.0, sleep=slept.append)
    assert slept == [7.0, 7.0, 7.0] and desk.text() == ANSWERED


def test_watching_looks_once_even_when_nothing_is_waited_for(desk: Desk) -> None:
    """A crash between the last decision and its removal leaves a file that no machine waits for."""
    patch = desk.send()
    desk.route.watch(until=lambda: True)
    assert desk.state(patch) == Fallback.cleaned and desk.kinds() == [".ack", ".claim"]


def test_a_document_that_is_just_being_replaced_is_looked_at_again(desk: Desk) -> None:
    patch = desk.send()
    desk.document.rename(desk.root / "away.md")
    desk.route.poll()
    assert desk.state(patch) == Fallback.file_queued
    (desk.root / "away.md").rename(desk.document)
    desk.route.poll()
    assert desk.text() == ANSWERED


def test_what_cannot_be_sent_is_said_and_nothing_is_drafted(desk: Desk) -> None:
    journal = len(desk.store.journal)
    for given in (
        {"component": "missing"},
        {"component": "answer", "text": "<!-- /agent:answer -->"},
        {"document": "../notes.md"},
        {"document": "/etc/hostname"},
    ):
        with pytest.raises(BadInput, match="has not one component"):
            desk.send(**given)
    with pytest.raises(BadInput, match="too long"):
        desk.send(text="x" * 2**22)
    desk.document.write_text(DOCUMENT + DOCUMENT)
    with pytest.raises(BadInput, match="has not one component"):
        desk.send()
    assert len(desk.store.journal) == journal and desk.kinds() == []


def test_what_the_cycle_did_not_capture_is_not_drafted(desk: Desk) -> None:
    refused = desk.route.send(desk.cycle, "notes.md", "answer", "something else\n")
    assert isinstance(refused, Refused) and refused.rule == "capture-before-mutation" and desk.kinds() == []


def test_a_name_that_is_taken_is_not_overwritten(desk: Desk) -> None:
    """A file of this very name, and no record of it: somebody else's."""
    patch = desk.send()
    other = Desk(desk.root)
    refused = other.route.send(other.cycle, "notes.md", "answer", BODY)
    assert isinstance(refused, Refused) and refused.rule == "patch-supersede-explicit"
    assert other.state(patch) is None


def tampered(raw: bytes) -> bytes:
    return raw.replace(b"lever", b"trigger")


def extended(raw: bytes) -> bytes:
    return raw[:-1] + b',"evil":1}'


UNREADABLE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "torn": lambda raw: raw[:-20],
    "another text": tampered,
    "another field": extended,
    "one field twice": lambda raw: raw.replace(b'{"cycle":"c1"', b'{"cycle":"c0","cycle":"c1"'),
    "binary": lambda raw: b"\0" * 100,
    "too long": lambda raw: b" " * (4 * 2**20 + 1),
    "deep": lambda raw: b"[" * 100_000,
}


@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_a_changed_file_is_rejected_kept_aside_and_never_applied(desk: Desk, change: Callable[[bytes], bytes]) -> None:
    patch = desk.send()
    raw = change(desk.file(patch).read_bytes())
    desk.file(patch).write_bytes(raw)
    desk.route.poll()
    desk.route.poll()
    assert desk.text() == DOCUMENT and desk.state(patch) == Fallback.discarded
    assert "conflict" in desk.events(patch) and desk.kinds() == [".aside", ".claim"]
    assert desk.file(patch, "aside").read_bytes() == raw


@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_no_patch_is_set_aside(desk: Desk, change: Callable[[bytes], bytes]) -> None:
    """Also when it is called after its own bytes, as a forger would."""
    sent = desk.send()
    raw = change(desk.file(sent).read_bytes())
    desk.route.poll()
    forged = desk.patches / f"{digest(raw)}.json"
    forged.write_bytes(raw)
    desk.route.poll()
    assert desk.text() == ANSWERED and not forged.exists() and forged.with_suffix(".aside").exists()


def test_a_patch_that_nobody_drafted_is_set_aside(desk: Desk) -> None:
    base, content = digest("\nWhat is pulled?\n"), digest("\nWhat is pulled?\nx")
    forged = Patch(cycle="c1", document="notes.md", component="answer", base=base, content=content, text="x", attempt=1)
    raw = msgspec.json.encode(forged)
    (desk.patches / f"{digest(raw)}.json").write_bytes(raw)
    desk.route.poll()
    assert desk.text() == DOCUMENT and desk.kinds() == [".aside"]


def test_links_pipes_and_folders_in_place_of_a_file_are_rejected(desk: Desk) -> None:
    secret = desk.root / "secret"
    held: list[int] = []

    def pipe(at: Path) -> None:
        os.mkfifo(at)
        held.append(os.open(at, os.O_RDWR | os.O_NONBLOCK))  # somebody who may write, and does not

    makers: list[Callable[[Path], None]] = [lambda at: at.symlink_to(secret), os.mkfifo, pipe, os.mkdir]
    for number, make in enumerate(makers):
        patch = desk.send(attempt=number + 1)
        secret.write_bytes(desk.file(patch).read_bytes())
        desk.file(patch).unlink()
        make(desk.file(patch))
        desk.route.poll()
        assert desk.text() == DOCUMENT and desk.state(patch) == Fallback.discarded
        assert not os.path.lexists(desk.file(patch)) and secret.exists()
    os.close(held.pop())


def test_names_that_lead_elsewhere_are_no_patches(desk: Desk) -> None:
    for name in ("..json", "..%2f.json", "A" * 64 + ".json", "a" * 63 + ".json", "a" * 64 + ".json\n", "x.json"):
        (desk.patches / name).write_text("{}")
    before = sorted(os.listdir(desk.patches))
    desk.route.poll()
    assert sorted(os.listdir(desk.patches)) == before and not desk.store.audit


def test_a_document_that_came_to_lie_outside_is_not_touched(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    patch = desk.send()
    outside = tmp_path_factory.mktemp("outside") / "notes.md"
    desk.document.rename(outside)
    desk.document.symlink_to(outside)
    desk.route.poll()
    assert outside.read_bytes().decode() == DOCUMENT and desk.state(patch) == Fallback.discarded


def test_an_acknowledgement_that_cannot_be_read_is_none(desk: Desk) -> None:
    patch = desk.send()
    for raw in (b"", b"ok", b'{"content":"yes"}', b'{"content":1}', b'{"content":"%s","x":1}' % (b"a" * 64)):
        desk.file(patch, "ack").write_bytes(raw)
        assert desk.route.folder.acknowledged(patch.id) is None
    desk.file(patch, "ack").write_bytes(b'{"content":"%s"}' % (b"a" * 64))
    assert desk.route.folder.acknowledged(patch.id) == "a" * 64


def test_a_draft_that_a_forger_linked_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / ".x.draft").symlink_to(target)
    write_whole(tmp_path / "x", b"new")
    assert target.read_text() == "mine" and (tmp_path / "x").read_bytes() == b"new"


def type_after_the_decision(desk: Desk, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    """The user types once the machine has accepted, before the edit."""
    claim = Folder.claim

    def slow(folder: Folder, id: str, editor: str) -> None:
        claim(folder, id, editor)
        desk.document.write_bytes(typed.encode())

    monkeypatch.setattr(Folder, "claim", slow)
    desk.route.poll()
    monkeypatch.setattr(Folder, "claim", claim)


def test_typing_elsewhere_between_decision_and_edit_is_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    patch = desk.send()
    type_after_the_decision(desk, monkeypatch, "Typed.\n" + DOCUMENT)
    assert desk.text() == "Typed.\n" + DOCUMENT and desk.state(patch) == Fallback.retained
    assert desk.kinds() == [".json"] and sorted(os.listdir(desk.root)) == ["notes.md", "patches"]
    desk.route.poll()
    assert desk.text() == "Typed.\n" + ANSWERED and desk.state(patch) == Fallback.cleaned


def test_typing_in_the_component_between_decision_and_edit_is_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is acknowledged or told as applied: the patch is rejected, and a rebuilt one follows."""
    patch = desk.send()
    typed = DOCUMENT.replace("pulled?", "pulled now?")
    type_after_the_decision(desk, monkeypatch, typed)
    assert desk.text() == typed and desk.route.wait(patch, 0) is None and desk.state(patch) == Fallback.retained
    desk.route.poll()
    assert desk.text() == typed and desk.route.wait(patch, 0) is None and desk.state(patch) == Fallback.discarded
    assert desk.kinds() == [".claim"] and sorted(os.listdir(desk.root)) == ["notes.md", "patches"]
    rebuilt = desk.send(attempt=2)
    desk.route.poll()
    assert desk.text() == typed.replace("now?\n", f"now?\n{BODY}") and desk.route.wait(rebuilt, 0)


class Killed(BaseException):
    """The process is gone at this instruction."""


class Death:
    """Comes at the nth point: a point of the store, or before or after a file operation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for name in ("replace", "unlink"):
            monkeypatch.setattr(os, name, self.around(getattr(os, name)))
        monkeypatch.setattr(os, "fsync", self.around(lambda descriptor: None))  # no power is cut here

    def point(self, label: str = "", blocked: bool = False) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise Killed

    def around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            self.point()
            done = real(*args, **options)
            self.point()
            return done

        return wrapped


def live(root: Path, death: Death, at: int | None, typed: str | None, between: str | None) -> bool:
    """One life of the host, from whatever its journal and folder say; False when it died before the end.

    Args:
        root: the folder of the document.
        death: comes at a point.
        at: the point; None lets it live.
        typed: what the user has made of the document before the window looks.
        between: what the user makes of it between the decision and the edit.
    """
    claim = Folder.claim

    def slow(folder: Folder, id: str, editor: str) -> None:
        claim(folder, id, editor)
        if between is not None:
            (root / "notes.md").write_bytes(between.encode())

    with ExitStack() as gone:
        store = gone.enter_context(closing(SQLiteStore(root / "journal.db", synchronous="NORMAL")))
        kernel = kernel_of(store)
        route = FileRoute(kernel, root, root / "patches", "editor")
        gone.callback(route.folder.close)
        patched = gone.enter_context(pytest.MonkeyPatch.context())
        patched.setattr(Folder, "claim", slow)
        death.left = at
        try:
            with under_schedule(death.point):
                kernel.deliver()
                if not kernel.dependents(CYCLE, Fallback):
                    assert route.send(CYCLE, "notes.md", "answer", BODY).accepted
                if typed is not None:
                    (root / "notes.md").write_bytes(typed.encode())
                route.poll()
                route.poll()
                return True
        except Killed:
            return False
        finally:
            death.left = None


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """A folder in which a cycle has captured BODY, and nothing more."""
    root = tmp_path / "captured"
    root.mkdir()
    (root / "notes.md").write_bytes(DOCUMENT.encode())
    with closing(SQLiteStore(root / "journal.db", synchronous="NORMAL")) as store:
        kernel = kernel_of(store)
        kernel.start(Cycle, id=CYCLE.id, baseline="b", first=True)
        kernel.fire(CYCLE, Cycle.capture(response=digest(BODY), body=BODY))
    return root


def verdict(journal: Path) -> Report:
    with journal.open("rb") as source:
        (report,) = judge(MACHINES, open_source(str(journal), source, journal).stream)
    return report


CYCLE = Cycle.ref("c1")
TYPED = DOCUMENT.replace("pulled?", "pulled, and by whom?")
ENDS = {
    "applied": (None, None, ANSWERED, [".ack", ".claim"]),
    "rejected": (TYPED, None, TYPED, [".claim"]),
    "impossible": (None, TYPED, TYPED, [".claim"]),
}


@pytest.mark.parametrize(("typed", "between", "text", "kinds"), ENDS.values(), ids=ENDS)
def test_a_crash_at_any_instruction_loses_nothing_and_doubles_nothing(
    captured: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str | None,
    between: str | None,
    text: str,
    kinds: list[str],
) -> None:
    """Each life dies at one point, and the next ends the work; each fourth life dies again while it recovers."""
    death = Death(monkeypatch)
    at = 0
    while True:
        root = captured.with_name(str(at))
        shutil.copytree(captured, root)
        if live(root, death, at, typed, between):
            break
        if at % 4 == 0:
            live(root, death, at // 2, typed, between)
        assert live(root, death, None, typed, between)
        assert (root / "notes.md").read_bytes().decode() == text, at
        assert sorted(file.name for file in root.iterdir() if "journal" not in file.name) == ["notes.md", "patches"], at
        assert sorted(file.suffix for file in (root / "patches").iterdir() if "lease" not in file.name) == kinds, at
        report = verdict(root / "journal.db")
        assert report.verdict == "incomplete", report
        assert [debt.machine for debt in report.open] == ["cycle"], at
        at += 1
    assert at > 60
