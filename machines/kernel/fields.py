"""The vocabulary of deciding fields: what may stand in data and payloads, and what it ranges over.

A field that decides is a bool, an enum, a bounded int, a counter or an opaque id, so that exploration and proof can
enumerate it. A text or a time is `carried`: it travels in journal and effects, and nothing may decide upon it.
"""

import types
import typing
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import attrs

from .errors import BadInput, DefinitionError
from .shape import shaped

__all__ = [
    "UNKNOWN",
    "Epoch",
    "Field",
    "Id",
    "Kind",
    "Principal",
    "Range",
    "carried",
    "fields_of",
    "read_value",
    "write_value",
]


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown.UNKNOWN
"""The value of a field that a trace format cannot carry. The kernel refuses upon it; the checker tries every value."""

Kind = Literal["bool", "enum", "int", "epoch", "id", "ids", "carried"]


@attrs.frozen
class Range:
    """Bounds of an int that decides, both ends included: `Annotated[int, Range(0, 1000)]`."""

    least: int
    most: int


@attrs.frozen
class _Mark:
    kind: Kind


Id = Annotated[Hashable, _Mark("id")]
"""An opaque identity: it can be compared for equality and put in a set, and nothing else.

In a run it is a string (a digest, a uuid), in exploration and proof a small int: only equality is possible, so renaming
ids can never change a verdict.
"""

Principal = Annotated[Hashable, _Mark("id")]
"""Who acts, as the adapter that authenticated them says; compared for equality only."""

Epoch = Annotated[int, _Mark("epoch")]
"""A counter that only grows, compared by == and <."""

_CARRIED = "leverframe.carried"


def carried(default: Any = "") -> Any:
    """Declare a text, a time or any other value that travels along and never decides.

    It is what JSON gives back as it is, and of the type of its annotation where that is a text, a bool or a number.

    Args:
        default: the value when none is given.

    Returns:
        An attrs field that is no part of the equality of its class, so two payloads that differ only in it are equal.
    """
    return attrs.field(default=default, eq=False, kw_only=True, metadata={_CARRIED: True})


@attrs.frozen
class Field:
    """One field of a data or payload class, as the table knows it."""

    name: str
    kind: Kind
    optional: bool
    required: bool
    values: tuple[Any, ...] = ()
    """Every value of a bool or an enum; the two ends of a bounded int."""
    type: Any = None

    @property
    def decides(self) -> bool:
        return self.kind != "carried"

    def domain(self) -> tuple[Any, ...] | None:
        """Every value this field can have, or None where that depends on the run (ids and counters)."""
        if self.kind == "int":
            values: tuple[Any, ...] = tuple(range(self.values[0], self.values[1] + 1))
        elif self.kind in ("bool", "enum"):
            values = self.values
        else:
            return None
        return (*values, None) if self.optional else values


_FIELDS: dict[type, tuple[Field, ...]] = {}


def fields_of(cls: type, where: str = "") -> tuple[Field, ...]:
    """List the fields of a frozen attrs class, in order.

    Args:
        cls: a data or payload class.
        where: what to call the class in an error; its own name by default.

    Raises:
        DefinitionError: the class is not frozen attrs, or a deciding field is of no type that can be enumerated.
    """
    known = _FIELDS.get(cls)
    if known is None:
        known = _FIELDS[cls] = _inspect(cls, where or cls.__qualname__)
    return known


def _inspect(cls: type, where: str) -> tuple[Field, ...]:
    if not attrs.has(cls):
        raise DefinitionError(f"{where} is no attrs class: decorate it with @attrs.frozen")
    if cls.__setattr__ is object.__setattr__ or getattr(cls, "__hash__", None) is None:
        raise DefinitionError(f"{where} can be changed or not hashed: decorate it with @attrs.frozen")
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple(_field(attribute, hints[attribute.name], where) for attribute in attrs.fields(cls))


def _field(attribute: "attrs.Attribute[Any]", hint: Any, where: str) -> Field:
    required = attribute.default is attrs.NOTHING
    carries = attribute.metadata.get(_CARRIED)
    hint, optional = _without_none(hint)
    if carries:
        return Field(attribute.name, "carried", optional, required, type=hint)
    kind, values = _kind(hint)
    if kind is None:
        raise DefinitionError(
            f"{where}.{attribute.name} decides, and {_spell(hint)} cannot be enumerated: use bool, an Enum, "
            "Annotated[int, Range(least, most)], Epoch, Id or frozenset[Id]; or declare the field `= carried()`"
        )
    return Field(attribute.name, kind, optional, required, values, hint)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        if len(members) == 1:
            return members[0], True
    return hint, False


def _kind(hint: Any) -> tuple[Kind | None, tuple[Any, ...]]:
    if hint is bool:
        return "bool", (False, True)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "enum", tuple(hint)
    if get_origin(hint) is Annotated:
        for mark in get_args(hint)[1:]:
            if isinstance(mark, Range):
                return "int", (mark.least, mark.most)
            if isinstance(mark, _Mark):
                return mark.kind, ()
    if get_origin(hint) is frozenset and _kind(get_args(hint)[0])[0] == "id":
        return "ids", ()
    return None, ()


def _spell(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def write_value(field: Field, value: Any) -> Any:
    """Turn a field's value into what JSON can hold: enums by value, sets of ids as sorted lists."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value, key=str)
    return value


def read_value(field: Field, value: Any, where: str) -> Any:
    """Turn a JSON value into the field's own.

    Raises:
        BadInput: the value is of another type or outside the bounds; the text says where and what was expected.
    """
    if value is UNKNOWN:
        return value
    if value is None:
        if field.optional:
            return None
    elif field.kind == "carried":
        if _carries(field.type, value):
            return value
    elif field.kind == "bool":
        if isinstance(value, bool):
            return value
    elif field.kind == "enum":
        for member in field.values:
            if value is member or (type(value) is type(member.value) and value == member.value):
                return member
    elif field.kind == "id":
        if _is_id(value):
            return value
    elif field.kind == "ids":
        if isinstance(value, list | tuple | frozenset) and all(_is_id(item) for item in value):
            return frozenset(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        least, most = field.values if field.kind == "int" else (0, 2**53)
        if least <= value <= most:
            return value
    raise BadInput(f"{where}.{field.name} is {_short(value)}; expected {_expected(field)}")


_CARRIES: Mapping[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "an integer"),
    float: ((int, float), "a number"),
}


def _carries(hint: Any, value: Any) -> bool:
    """Whether a value is of its field's type, as far as JSON tells types apart, and comes back as it is."""
    if hint in _CARRIES and (not isinstance(value, _CARRIES[hint][0]) or isinstance(value, bool) != (hint is bool)):
        return False
    try:
        return bool(shaped(value) == value)
    except (TypeError, RecursionError):
        return False


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _expected(field: Field) -> str:
    if field.kind == "enum":
        what = " or ".join(str(member.value) for member in field.values)
    elif field.kind == "int":
        what = "an integer from {} to {}".format(*field.values)
    elif field.kind == "carried":
        what = _CARRIES[field.type][1] if field.type in _CARRIES else "what JSON can hold"
    else:
        what = {"bool": "true or false", "epoch": "a counter", "id": "a string", "ids": "a list of strings"}[field.kind]
    return f"{what} or null" if field.optional else what
