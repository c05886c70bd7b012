"""Values as JSON gives them back: what a carried value must be already, and what an effect's payload becomes."""

import math
from collections.abc import Mapping, Set
from enum import Enum
from typing import Any

import attrs

__all__ = ["is_text", "shaped"]


def shaped(value: Any) -> Any:
    """The value that every store gives back: enums by value, tuples and sets as lists, attrs objects as dicts.

    Raises:
        TypeError: JSON has no such value, such as NaN.
        RecursionError: it is nested without end.
    """
    if value is None or type(value) in (str, bool, int):
        return value
    if isinstance(value, Enum):
        return shaped(value.value)
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return [shaped(item) for item in value]
    if isinstance(value, Set):
        return sorted(map(shaped, value), key=str)
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: shaped(item) for name, item in value.items()}
    if attrs.has(type(value)):
        return shaped(attrs.asdict(value, recurse=False))
    raise TypeError(f"{value!r:.60} is no text, number, list or dict")


def is_text(value: Any) -> bool:
    """Whether a value names an instance or an event in every store: half a surrogate pair is no text."""
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False
