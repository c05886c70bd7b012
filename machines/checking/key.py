"""What the outcome of an event depends on, as one value to look up.

The key of an event begins with the shape of its instance and what its payload decides. What some guard or update reads
besides follows: the instance's own tallies, the shape and tallies of each linked instance, and where ids of different
origin meet, which of them are equal. Shapes and tallies are interned, so they are compared by identity.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from .instance import Instance
from .payload import Split
from .record import Recorded
from .shape import Names

__all__ = ["Key", "KeyOf", "NamesOf", "Read", "key_of"]

Key = tuple[Any, ...]
KeyOf = Callable[[Instance, Recorded], Key | None]
NamesOf = Callable[[Instance, Recorded], Names]
_NONE: Mapping[str, Any] = {}


@attrs.frozen
class Read:
    """A link that some guard or update of an event reads."""

    link: str
    instances: Mapping[str, Instance]
    place: int
    """Among the links for life, -1 for one that is given with the event."""
    named: bool
    """Whether its data has ids."""


def key_of(
    reads: tuple[Read, ...], split: Split, *, named: bool, by: bool, tallies: bool, birth: bool
) -> tuple[KeyOf, NamesOf]:
    """Make the functions that give the keys of one event; written as text and compiled, as they run for every record.

    Args:
        reads: the links that are read.
        split: what takes the ids and the carried fields out of a payload.
        named: whether the instance's own data has ids.
        by: whether the principal is read.
        tallies: whether the instance's own tallies are.
        birth: whether the event is the birth: the record may give links for life that are not read.

    Returns:
        a function of an instance and a record that gives the key, or None for what has to be looked at the long way:
        a link that is moved, missing or not read, an instance that is not known yet or has open calls, a payload in
        which something is left out; and one that gives all names which the step can meet, in order.
    """
    per_event = sum(read.place < 0 for read in reads)
    key, names = ["instance.shape", "payload"], ["instance.names"] if named and not birth else []
    lines = ["payload = record.payload"]
    if split.whole:
        lines.append("if payload.__class__ is not bytes and payload is not None:")
        lines.append("    payload = split(payload)[0]")
        lines.append("    if payload is None: return None")
    else:
        lines.append("payload, ids = payload.__class__ is bytes and known.get(payload) or split(payload)")
        lines.append("if payload is None: return None")
        names += ["ids"] if split.ids else []
    if by:
        lines.append("if record.by.__class__ is int: return None")
        key.append("record.by is None")
        names.append("(record.by,)")
    key += ["instance.tallies"] if tallies else []
    if per_event or not birth:
        lines.append("given = record.links or none")
    if not birth:
        lines.append(f"if len(given) != {per_event}: return None")
    for number, read in enumerate(reads):
        by_id = f"instances_{number}.get(given.get({read.link!r}))"
        lines.append(f"link_{number} = " + (f"instance.links[{read.place}]" if read.place >= 0 else by_id))
        lines.append(f"if link_{number}.__class__ is not Instance or link_{number}.busy is not None: return None")
        key += [f"link_{number}.shape", f"link_{number}.tallies"]
        names += [f"link_{number}.names"] if read.named else []
    every = " + ".join(names) or "()"
    meeting = [f"*map((names := {every}).index, names)"] if len(names) > 1 or len(split.ids) > 1 else []
    text = [
        "def key(instance, record):",
        *(f"    {line}" for line in [*lines, f"return ({', '.join([*key, *meeting])},)"]),
        "def names(instance, record):",
        *(f"    {line}" for line in [*lines, f"return {every}"]),
    ]
    scope: dict[str, Any] = {f"instances_{number}": read.instances for number, read in enumerate(reads)}
    scope |= {"Instance": Instance, "known": split.known, "none": _NONE, "split": split}
    exec("\n".join(text), scope)  # noqa: S102  # names of links are identifiers, and nothing of a trace is in it
    return scope["key"], scope["names"]
