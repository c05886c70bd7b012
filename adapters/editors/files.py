"""The file route: a patch travels as a file in a folder, and whoever watches the folder edits the document.

The machine `fallback` decides each step; this does what it accepted, and tells it what came of that.

An edit is one rename: the new document is staged beside the old one, the mark is written, the staged file becomes the
document. So a mark without a staged file says, after any crash, that the edit was made.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ...machines.fallback import Fallback, remove_file, write_file
from ...machines.kernel import BadInput, Decision, Effect, Kernel, Ref, Refused
from .folder import MOST, Folder, Patch
from .texts import digest, has_marker, replace, split, write_whole

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
        found = self._find(document, component)
        if found is None or has_marker(text):
            raise BadInput(f"{document} has not one component {component}, or the text for it has a marker: escape it")
        base, content = digest(found[1]), digest(found[1] + text.encode())
        names = {"cycle": cycle.id, "document": document, "component": component}
        raw = msgspec.json.encode(Patch(**names, base=base, content=content, text=text, attempt=attempt))
        if len(raw) > MOST:
            raise BadInput(f"the text for {document} is too long for a patch file: {len(raw)} bytes of {MOST}")
        patch = Fallback.ref(digest(raw))
        free = not self.folder.holds(patch.id)
        decisions = self.kernel.fire_all(
            [
                (patch, Fallback.start(legacy=False, response=digest(text), reason=None, editor=None, cycle=cycle)),
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
        if self.kernel.wait(patch, until=Fallback.cleaned, deadline=deadline).timed_out:
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
        patch = self.folder.get(ref.id)
        if patch is None:
            self.kernel.fire(ref, Fallback.conflict(reason="its file is not what was drafted"), by=self.editor)
            self.folder.drop(ref.id)
            return
        found, leased = self._find(patch.document, patch.component), self.folder.leased()
        seen = Fallback.watch_apply(
            claimed=self.folder.claimed(ref.id),
            base_current=found is not None and digest(found[1]) == patch.base,
            my_lease=leased,
            newer_committed=True,  # asked of a patch that names no cycle, which this route does not carry
        )
        decision = self.kernel.fire(ref, seen, by=self.editor, event_id=f"{ref.id} applied by {self.editor}")
        mine = not isinstance(decision, Refused) or decision.rule == "event-id-bound"  # accepted now, or before a crash
        snapshot = self.kernel.get(ref)
        if snapshot is None:
            self.folder.set_aside(ref.id)
            return
        over = snapshot.state in (Fallback.rejected, Fallback.cleaned)
        if over or (snapshot.state == Fallback.applied and mine and leased and self._edit(ref.id, patch)):
            self.kernel.fire(ref, Fallback.cleanup(own_file=True), by=self.editor)
            self.folder.drop(ref.id)

    def _edit(self, id: str, patch: Patch) -> bool:
        """Make the edit, or find it made; False while the component is not the text that was decided upon."""
        document = (self.root / patch.document).resolve()
        staged = document.with_name(f".{document.name}.{id[:16]}")
        if staged.exists() or not self.folder.claimed(id):
            found = self._find(patch.document, patch.component)
            if found is None or digest(found[1]) != patch.base:
                return False
            before, text, after = found
            write_whole(staged, before + text + patch.text.encode() + after)
            shutil.copymode(document, staged)
            self.folder.claim(id, self.editor)
            if document.read_bytes() != before + text + after:  # the last look, as near to the rename as it gets
                return False
            replace(staged, document)
        self.folder.acknowledge(id, patch.content)
        return True

    def _find(self, document: str, component: str) -> tuple[bytes, bytes, bytes] | None:
        """A document as it is now: before, in and after a component that it has exactly once, else None."""
        path = (self.root / document).resolve()
        return split(path.read_bytes(), component) if path.is_relative_to(self.root) else None

    def _write(self, effect: Effect) -> None:
        assert effect.ref is not None
        _, text = effect.payload
        self.folder.put(effect.ref.id, text.encode())

    def _remove(self, effect: Effect) -> Mapping[str, bool]:
        assert effect.ref is not None
        self.folder.claim(effect.ref.id, self.editor)
        self.folder.drop(effect.ref.id)
        return {"own_file": True}
