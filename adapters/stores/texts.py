"""What the columns that hold JSON hold, and what cannot be held.

Effects' payloads are what JSON can hold: a tuple comes back as a list, an enum as its value, an attrs object as a dict.
"""

import json
from collections.abc import Iterable, Mapping, Set
from enum import Enum
from typing import Any

import attrs

from ...machines.kernel import BadInput, Ref, Refused

__all__ = [
    "read",
    "read_links",
    "read_refused",
    "write",
    "write_effect",
    "write_links",
    "write_names",
    "write_principal",
    "write_refused",
]


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Set):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    raise TypeError(f"a {type(value).__name__}")


_strict = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_effects = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)
read = json.JSONDecoder().decode


def write(value: Any, what: str, encoder: json.JSONEncoder = _strict) -> str:
    """A value as JSON.

    Raises:
        BadInput: JSON has no such value, or it would come back as another.
    """
    try:
        return encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{what} holds what JSON cannot: {error}; use texts, numbers, lists and dicts") from None


def write_effect(name: str, ref: Ref, payload: Any) -> str:
    return write(payload, f"effect {name} of {ref}", _effects)


def write_principal(by: Any, what: str) -> str | None:
    if by is None:
        return None
    if not isinstance(by, str) and type(by) is not int:
        raise BadInput(f"{what} is fired by {by!r}: a principal is named by a text or an integer")
    return _strict.encode(by)


def write_names(names: Iterable[str]) -> str:
    return _strict.encode(list(names))


def write_links(links: Mapping[str, Ref]) -> str:
    return _strict.encode({name: (ref.machine, ref.id) for name, ref in links.items()}) if links else "{}"


def read_links(text: str) -> dict[str, Ref]:
    return {name: Ref(*target) for name, target in read(text).items()} if text != "{}" else {}


def write_refused(refused: Refused | None) -> str | None:
    return None if refused is None else _strict.encode({"rule": refused.rule, "message": refused.message})


def read_refused(ref: Ref, text: str | None) -> Refused | None:
    return None if text is None else Refused(ref, **read(text))
