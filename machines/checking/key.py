"""What the outcome of an event depends on, as one value to look up: by identity, as beliefs and tallies are interned.

The key of an event begins with the belief of its instance and the payload. What some guard or update of the event reads
besides follows: the principal, the instance's own tallies, and the belief and tallies of each linked instance.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .instance import Instance
from .record import Recorded

__all__ = ["Key", "KeyOf", "Read", "key_of"]

Key = tuple[Any, ...]
KeyOf = Callable[[Instance, Recorded], Key | None]
Read = tuple[str, Mapping[str, Instance], int]
"""A link that is read: its name, the instances of its machine, its place among the links for life or -1."""

_NONE: Mapping[str, Any] = {}


def key_of(reads: tuple[Read, ...], *, by: bool, tallies: bool, birth: bool) -> KeyOf:
    """Make the function that gives the keys of one event; written as text and compiled, as it runs for every record.

    Args:
        reads: the links that are read.
        by: whether the principal is.
        tallies: whether the instance's own tallies are.
        birth: whether the event is the birth: the record may give links for life that are not read.

    Returns:
        a function of an instance and a record. It gives None for what has to be looked at the long way: a link that
        is moved, missing or not read, an instance that is not known yet or has open calls.
    """
    per_event = [number for number, (_, _, place) in enumerate(reads) if place < 0]
    key = ["instance.belief", "record.payload"]
    key += ["record.by"] if by else []
    key += ["instance.tallies"] if tallies else []
    lines = ["def key(instance, record):"]
    if per_event or not birth:
        lines.append("given = record.links or none")
    if not birth:
        lines.append(f"if len(given) != {len(per_event)}: return None")
    for number, (name, _, place) in enumerate(reads):
        found = f"instance.links[{place}]" if place >= 0 else f"instances_{number}.get(given.get({name!r}))"
        lines.append(f"link_{number} = {found}")
        lines.append(f"if link_{number}.__class__ is not Instance or link_{number}.busy is not None: return None")
        key += [f"link_{number}.belief", f"link_{number}.tallies"]
    lines.append(f"return ({', '.join(key)})")
    names = {f"instances_{number}": instances for number, (_, instances, _) in enumerate(reads)}
    scope: dict[str, Any] = {**names, "Instance": Instance, "none": _NONE}
    exec("\n    ".join(lines), scope)  # noqa: S102  # no text of the trace is in it
    made: KeyOf = scope["key"]
    return made
