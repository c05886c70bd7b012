"""What a fallback patch decides upon, and what each of its events carries. The machine is `fallback`.

Source: lifecycles/agent-doc-tables.md, 12, "Data"; agent-doc-formats.md, 8 and 9.
"""

from enum import Enum

import attrs

from .cycle import Reason
from .kernel import Id, Principal, carried

__all__ = [
    "Ack",
    "Copy",
    "Delivery",
    "Disk",
    "Draft",
    "FallbackData",
    "FileFound",
    "Foreign",
    "Outcome",
    "Queue",
    "Transport",
    "Trouble",
    "Watch",
    "Whole",
]


class Transport(Enum):
    """The route that a patch took last."""

    SOCKET = "socket"
    FILE = "file"
    DISK = "disk"


class Outcome(Enum):
    """What an editor answers. An answer that cannot be read is a rejection, a missing one a timeout."""

    ADOPTED = "adopted"
    ALREADY_THERE = "already_there"
    UNPROVEN = "unproven"
    REJECTED = "rejected"


@attrs.frozen
class FallbackData:
    """What a patch decides upon. Its text and its file name travel beside it."""

    legacy: bool
    """It names no cycle or no base: only a document in which nothing newer was committed may take it."""
    response: Id | None
    """What it delivers; a patch that is issued again under another cycle delivers the same."""
    editor: Principal | None
    """The one editor it is meant for; none when it is for the document's owner."""
    transport: Transport | None = None


@attrs.frozen
class Draft:
    legacy: bool
    response: Id | None
    reason: Reason | None
    """Why there is no response to deliver, when there is none."""
    editor: Principal | None


@attrs.frozen
class Copy:
    name_free: bool
    """No other patch's file has this name; else that patch is given as the link `holder`."""
    text: str = carried()


@attrs.frozen
class Delivery:
    supervisor_current: bool
    route_sound: bool
    """The socket is not latched as degraded."""
    text: str = carried()


@attrs.frozen
class Ack:
    outcome: Outcome
    proven: bool  # a link from part 2 on
    content: str = carried()
    """The hash of the text after the apply."""


@attrs.frozen
class Queue:
    body_visible: bool
    proven: bool  # a link from part 2 on
    name_free: bool
    text: str = carried()


@attrs.frozen
class Watch:
    claimed: bool
    """A durable mark beside the file says that another window took the patch."""
    base_current: bool
    """The visible text is the patch's base, compared at this moment."""
    my_lease: bool  # a link from part 2 on
    newer_committed: bool
    """Something was committed since the patch was made; asked of a legacy patch only."""


@attrs.frozen
class Foreign:
    body_in_head: bool


@attrs.frozen
class Whole:
    managed: bool
    """The document is a template or component document."""


@attrs.frozen
class Disk:
    editor_absent: bool
    """No editor is attached, and none can be."""
    text_unchanged: bool
    """The file is what was read before."""
    newer_committed: bool
    forced: bool = carried(False)
    """An operator's force is recorded; it does not outrank an open editor."""


@attrs.frozen
class FileFound:
    own_file: bool
    """The file that went, if one did, was this patch's."""


@attrs.frozen
class Trouble:
    reason: str = carried()
