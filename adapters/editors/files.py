"""The file route: a patch travels as a file in a folder, and whoever watches the folder edits the document.

The machine `fallback` decides each step; this does what it accepted, and tells it what came of that. A window that had
claimed a patch and is gone is spoken for by the next one that holds the lease.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ...machines.fallback import Fallback, remove_file, write_file
from ...machines.kernel import Accepted, BadInput, Decision, Effect, Kernel, Ref, Refused, State
from .edit import Edit, find
from .folder import MOST, Folder, Patch
from .texts import digest, has_marker

__all__ = ["FileRoute"]


class FileRoute:
    """Both ends of the route, in one process or in several that share a store.

    Args:
        kernel: decides; it gets the handlers that write and remove patch files.
        root: holds the documents; none outside of it is touched.
        folder: holds the patches.
        editor: who applies, as the machine knows it.
    """

    def __init__(self, kernel: Kernel, root: Path, folder: Path, editor: str) -> None:
        self.kernel, self.root, self.editor = kernel, root.resolve(), editor
        self.folder = Folder(folder)
        kernel.handler(write_file)(self._write)
        kernel.handler(remove_file)(self._remove)

    def send(self, cycle: Ref, document: str, component: str, text: str, attempt: int = 1) -> Decision:
        """Draft a patch for the response that the cycle captured, `digest(text)`, and queue its file; or neither.

        Raises:
            BadInput: the document has no such component, or the text would end it or is too long.
        """
        found = find(self.root, document, component)
        if found is None or has_marker(text):
            raise BadInput(f"{document} has not one component {component}, or the text for it has a marker: escape it")
        base, content = digest(found[1]), digest(found[1] + text.encode())
        names = {"cycle": cycle.id, "document": document, "component": component}
        raw = msgspec.json.encode(Patch(**names, base=base, content=content, text=text, attempt=attempt))
        if len(raw) > MOST:
            raise BadInput(f"the text for {document} is too long for a patch file: {len(raw)} bytes of {MOST}")
        patch = Fallback.ref(digest(raw))
        draft = {"legacy": False, "response": digest(text), "reason": None, "editor": None}
        free = not self.folder.holds(patch.id)
        decisions = self.kernel.fire_all(
            [
                (patch, Fallback.start(**draft, cycle=cycle, delivers=cycle)),
                (patch, Fallback.send_unavailable(reason="no socket on this route")),
                (patch, Fallback.queue_file(body_visible=False, proven=False, name_free=free, text=raw.decode())),
            ]
        )
        refused = [one for one in decisions if isinstance(one, Refused) and one.rule != "all-or-none"]
        return refused[0] if refused else decisions[-1]

    def wait(self, patch: Ref, deadline: float) -> str | None:
        """The content hash that was acknowledged; None when the patch was rejected, or nothing is known of it yet.

        Silence is no answer: after `timeout` the machine keeps the patch, and it may still be applied.
        """
        if self.kernel.wait(patch, until=Fallback.ended, deadline=deadline).timed_out:
            self.kernel.fire(patch, Fallback.timeout())
        return self.folder.acknowledged(patch.id)

    def watch(
        self, until: Callable[[], bool], every: float = 0.05, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Look through the folder every so many seconds, and once at least: a crash may have left something there."""
        self.poll()
        while not until():
            sleep(every)
            self.poll()

    def poll(self) -> None:
        """Look through the folder once: each patch in it is applied, rejected, or left where it is."""
        for id in self.folder.patches():
            with suppress(FileNotFoundError):  # another window was faster, or the document is being replaced
                self._look(Fallback.ref(id))

    def _look(self, ref: Ref) -> None:
        patch, leased = self.folder.get(ref.id), self.folder.leased()
        if patch is None:
            self.kernel.fire(ref, Fallback.conflict(reason="its file is not what was drafted"), by=self.editor)
            self.folder.drop(ref.id)
            return
        edit = Edit(self.root, self.folder, ref.id, patch)
        if leased and self._state(ref) == Fallback.claimed:  # by a window that is gone, for there is one lease
            self._tell(ref, edit, edit.was_made())
        seen = Fallback.watch_apply(
            claimed=self.folder.claimed(ref.id),
            base_current=edit.base() is not None,
            my_lease=leased,
            newer_committed=True,  # asked of a patch that names no cycle, which this route does not carry
        )
        decision = self.kernel.fire(ref, seen, by=self.editor)
        if isinstance(decision, Accepted) and decision.after.state == Fallback.claimed:
            self._tell(ref, edit, edit.make(self.editor))
        state = self._state(ref)
        if state is None:
            self.folder.set_aside(ref.id)
        elif state in Fallback.done:
            self.kernel.fire(ref, Fallback.cleanup(own_file=True), by=self.editor)
            self.folder.drop(ref.id)

    def _tell(self, ref: Ref, edit: Edit, made: bool) -> None:
        if made:
            self.folder.acknowledge(ref.id, edit.patch.content)
            self.kernel.fire(ref, Fallback.edited(), by=self.editor)
        else:
            edit.undo()
            self.kernel.fire(ref, Fallback.edit_failed(reason="the document has changed"), by=self.editor)

    def _state(self, ref: Ref) -> State | None:
        snapshot = self.kernel.get(ref)
        return None if snapshot is None else snapshot.state

    def _write(self, effect: Effect) -> None:
        assert effect.ref is not None
        _, text = effect.payload
        self.folder.put(effect.ref.id, text.encode())

    def _remove(self, effect: Effect) -> Mapping[str, bool]:
        assert effect.ref is not None
        self.folder.claim(effect.ref.id, self.editor)
        self.folder.drop(effect.ref.id)
        return {"own_file": True}
