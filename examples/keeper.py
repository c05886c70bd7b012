"""Ask a model one question and keep its answer in a Markdown document, whatever happens in between.

    python examples/keeper.py FOLDER

Stop it at any moment, with Ctrl-C or kill -9, and start it again: it goes on from what its journal says, and the answer
comes into FOLDER/notes.md once. `leverframe check FOLDER/journal.db` says whether all of it was lawful.
"""

import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leverframe.adapters.editors.files import FileRoute
from leverframe.adapters.editors.texts import digest, write_whole
from leverframe.adapters.models.answer import Answer
from leverframe.adapters.models.stream import Provider
from leverframe.adapters.stores.errors import StoreError
from leverframe.adapters.stores.sqlite import SQLiteStore
from leverframe.machines import MACHINES, Cycle, Fallback, Generation, Kernel, Session
from leverframe.machines.kernel import BadInput, Decision, Ref, Refused, Request, Snapshot
from leverframe.machines.session import signal as stopped
from leverframe.model_tests.fake_model import serve

SAYS = "A lever frame holds the levers of a signal box,\nand makes a conflicting pull impossible.\n"
PAGE = "# What is a lever frame?\n\n<!-- agent:answer -->\n<!-- /agent:answer -->\n"


class Keeper:
    """A folder with a document, the texts of its answers, the patches on their way, and the journal of all of it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.texts, self.document = folder / "texts", folder / "notes.md"
        self.texts.mkdir(parents=True, exist_ok=True)
        if not self.document.exists():
            write_whole(self.document, PAGE.encode())
        self.kernel = Kernel(SQLiteStore(folder / "journal.db"), mode=dict.fromkeys(MACHINES.values(), "enforce"))
        self.route = FileRoute(self.kernel, folder, folder / "patches", editor="keeper")
        self.model = Provider(self.kernel, url, headers={}, gone=lambda: not self.document.exists())
        self.kernel.handler(stopped)(self.model.stop)
        self.session = self.kernel.start(Session, id="chat", principal="you", event_id="the chat").ref
        self.cycle = self.kernel.start(Cycle, id="notes.md", baseline=digest(PAGE), first=True, event_id="the page").ref
        self.kernel.deliver()  # what a crash left in the outbox

    def keep(self) -> None:
        """Do what the cycle waits for, until it is committed. A crash anywhere in here only means: begin this again."""
        steps = {
            Cycle.preflight_started: self.ask,
            Cycle.response_captured: self.deliver,
            Cycle.write_applied: self.commit,
        }
        while (state := self.now(self.cycle).state) != Cycle.committed:
            steps[state]()

    def ask(self) -> None:
        """Stream an answer. It is admitted, captured and the turn's end in one transaction, or it never was."""
        for left in self.kernel.dependents(self.session, Generation):
            self.kernel.fire(left, Generation.exit_failed())  # its process died; refused for each that has ended
        number = self.now(self.session).data.last + 1
        turn = Generation.ref(f"turn-{number}")
        claim, start = Session.claim(expected=None), Generation.start(number=number, session=self.session)
        must(*self.kernel.fire_all([(self.session, claim), (turn, start)]))
        ended = self.model.ask(turn, b"{}", self.capture, show=lambda text: print(text, end="", flush=True))
        if ended.why:
            raise SystemExit(f"\n{ended.why}: start again to go on")

    def capture(self, answer: Answer) -> Sequence[tuple[Ref, Request]]:
        """What goes into the answer's transaction. Its text is kept by its digest; without the capture, a mere file."""
        if not answer.whole:
            return []
        write_whole(self.texts / digest(answer.text), answer.text.encode())
        return [(self.cycle, Cycle.capture(response=digest(answer.text), body=answer.text))]

    def deliver(self) -> None:
        """Send the answer by the file route, again when the user's typing got in its way, until it is acknowledged."""
        response = self.now(self.cycle).data.response
        body = (self.texts / response).read_bytes().decode()
        self.route.watch(until=self.settled)
        while not any(self.route.folder.acknowledged(patch.id) for patch in self.patches()):
            must(self.route.send(self.cycle, "notes.md", "answer", body, attempt=len(self.patches()) + 1))
            self.route.watch(until=self.settled)
        text = self.document.read_bytes().decode()
        once, whole = text.count(body) == 1, text.count("<!-- /agent:answer -->") == 1
        written = Cycle.write(response=response, reason=None, body_once=once, one_boundary=whole)
        must(self.kernel.fire(self.cycle, written))

    def commit(self) -> None:
        """Here a version control system would commit the document first."""
        text = self.document.read_bytes().decode()
        body = (self.texts / self.now(self.cycle).data.response).read_bytes().decode()
        committing = Cycle.commit(reason=None, in_staged=body in text, in_archive=False, commit=digest(text))
        must(self.kernel.fire(self.cycle, committing))

    def stop(self, *_: Any) -> None:
        """On Ctrl-C. In a thread of its own: it interrupts the main thread, perhaps in the middle of a fire."""
        threading.Thread(target=lambda: self.kernel.fire(self.session, Session.stop())).start()

    def patches(self) -> Sequence[Ref]:
        return self.kernel.dependents(self.cycle, Fallback)

    def settled(self) -> bool:
        return all(self.now(patch).state in Fallback.ended for patch in self.patches())

    def now(self, ref: Ref) -> Snapshot[Any]:
        snapshot = self.kernel.get(ref)
        assert snapshot is not None
        return snapshot


def must(*decisions: Decision) -> None:
    for decision in decisions:
        if isinstance(decision, Refused):
            raise SystemExit(f"{decision.message} ({decision.rule})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python examples/keeper.py FOLDER")
    try:
        keeper = Keeper(Path(sys.argv[1]), serve(SAYS))
        signal.signal(signal.SIGINT, keeper.stop)
        keeper.keep()
    except (BadInput, StoreError) as error:
        raise SystemExit(str(error)) from None
    print(f"kept in {keeper.document}")
