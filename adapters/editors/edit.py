"""One edit: the text of a patch goes into one component of one document, at once or not at all.

The new document is staged beside the old one, the mark is written, the staged file becomes the document by one rename.
So a mark without a staged file says, after any crash, that the edit was made.
"""

import shutil
from pathlib import Path

from .folder import Folder, Patch
from .texts import digest, replace, split, write_whole

__all__ = ["Edit", "find"]


def find(root: Path, document: str, component: str) -> tuple[bytes, bytes, bytes] | None:
    """A document as it is now: before, in and after a component that it has exactly once, else None.

    Raises:
        FileNotFoundError: the document is not there.
    """
    path = (root / document).resolve()
    return split(path.read_bytes(), component) if path.is_relative_to(root) else None


class Edit:
    """What a window that has claimed a patch does, and what it finds of itself after a crash.

    Args:
        root: holds the document, which is not touched outside of it.
        folder: holds the patch and its mark.
        id: the patch's.
        patch: what is to be put where.
    """

    def __init__(self, root: Path, folder: Folder, id: str, patch: Patch) -> None:
        self.root, self.folder, self.id, self.patch = root, folder, id, patch
        self.document = (root / patch.document).resolve()
        self.staged = self.document.with_name(f".{self.document.name}.{id[:16]}")

    def base(self) -> tuple[bytes, bytes, bytes] | None:
        """The document, cut at its component, if that is the text from which the patch was made."""
        found = find(self.root, self.patch.document, self.patch.component)
        return found if found is not None and digest(found[1]) == self.patch.base else None

    def make(self, editor: str) -> bool:
        """Make the edit; False when the document is no longer the text that was decided upon."""
        found = self.base()
        if found is None:
            return False
        before, text, after = found
        write_whole(self.staged, before + text + self.patch.text.encode() + after)
        shutil.copymode(self.document, self.staged)
        self.folder.claim(self.id, editor)
        if self.document.read_bytes() != before + text + after:  # the last look, as near to the rename as it gets
            return False
        replace(self.staged, self.document)
        return True

    def was_made(self) -> bool:
        """After a crash: did the rename come about?"""
        return self.folder.claimed(self.id) and not self.staged.exists()

    def undo(self) -> None:
        """Leave nothing of an edit that was not made. The mark goes first: alone it would say that it was made."""
        self.folder.unclaim(self.id)
        self.staged.unlink(missing_ok=True)
