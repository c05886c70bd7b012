"""Payloads and data as plain values: for the journal, and as the digest that binds an event id."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from .errors import BadInput
from .fields import Field, fields_of, read_value, write_value

__all__ = ["digest", "plain", "unplain"]


def plain(value: Any) -> dict[str, Any]:
    """A data or payload object as what JSON can hold."""
    if value is None:
        return {}
    return {field.name: write_value(field, getattr(value, field.name)) for field in fields_of(type(value))}


def unplain(cls: type | None, fields: tuple[Field, ...], given: Mapping[str, Any], where: str) -> Any:
    """The object that `plain` wrote.

    Raises:
        BadInput: a field is missing, unknown or of another type.
    """
    if cls is None:
        return None
    try:
        return cls(**{name: read_value(field, given[name], where) for field in fields if (name := field.name) in given})
    except TypeError:
        missing = next((field.name for field in fields if field.required and field.name not in given), "?")
        raise BadInput(f"{where} lacks its field {missing}") from None


def digest(payload: Any) -> str:
    """SHA-256 of a payload's canonical JSON: what an event id is bound to."""
    text = json.dumps(plain(payload), sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
