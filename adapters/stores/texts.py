"""What the columns that hold JSON hold, and what cannot be held."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

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


_strict = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
read = json.JSONDecoder().decode


def write(value: Any, what: str) -> str:
    """A value as JSON.

    Raises:
        BadInput: JSON has no such value.
    """
    try:
        return _strict.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{what} holds what JSON cannot: {error}; use texts, numbers, lists and dicts") from None


def write_effect(name: str, ref: Ref, payload: Any) -> str:
    return write(payload, f"effect {name} of {ref}")


def write_principal(by: Any, what: str) -> str | None:
    return None if by is None else write(by, f"who fires {what}")


def write_names(names: Iterable[str]) -> str:
    return _strict.encode(list(names))


def write_links(links: Mapping[str, Ref]) -> str:
    return _strict.encode({name: (ref.machine, ref.id) for name, ref in links.items()}) if links else "{}"


@lru_cache(maxsize=1024)
def read_links(text: str) -> Mapping[str, Ref]:
    return {name: Ref(*target) for name, target in read(text).items()} if text != "{}" else {}


def write_refused(refused: Refused | None) -> str | None:
    return None if refused is None else _strict.encode({"rule": refused.rule, "message": refused.message})


def read_refused(ref: Ref, text: str | None) -> Refused | None:
    return None if text is None else Refused(ref, **read(text))
