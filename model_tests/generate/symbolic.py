"""What a machine's functions can be given, made of ints, bools and enums that a prover chooses.

A part is made when it is first read: of what no guard looks at, no case is distinguished. The states of a link are
tried one by one. Ids and counters are ints without an upper bound; a set of ids has at most two members.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

import attrs

from ...machines.kernel import Seen, Table
from ...machines.kernel.fields import Field

__all__ = ["COUNTER", "IDENTITY", "Choose", "Make", "Moot", "any_data", "any_seen", "any_value"]

Choose = Callable[[type, str], Any]
"""Any value of a type (int, bool or an enum), under a name."""

Make = Callable[[Choose], Any]

IDENTITY = Field("", "id", optional=True, required=True)
COUNTER = Field("", "epoch", optional=False, required=True)


class Moot(Exception):
    """What was chosen is no value that a field can have, or not what a claim presupposes."""


class _Word(Enum):
    """An enum that shows as its value."""

    def __repr__(self) -> str:
        return str(self.value)


def any_value(field: Field, name: str) -> Make:
    """Any value of a field."""
    make = _values(field, name)
    none = f"{name} is None"
    return (lambda choose: None if choose(bool, none) else make(choose)) if field.optional and field.decides else make


def _values(field: Field, name: str) -> Make:
    if field.kind == "carried":
        return lambda choose: ""
    if field.kind in ("bool", "enum"):
        return lambda choose: choose(field.type, name)
    if field.kind == "id":
        return lambda choose: choose(int, name)
    if field.kind == "ids":
        size, first, second = f"size of {name}", f"{name}[0]", f"{name}[1]"

        def members(choose: Choose) -> Any:
            count = choose(int, size)
            if count < 1:
                return frozenset()
            return frozenset([choose(int, first)] if count == 1 else [choose(int, first), choose(int, second)])

        return members
    least, most = field.values if field.kind == "int" else (0, None)

    def number(choose: Choose) -> Any:
        value = choose(int, name)
        if value < least or (most is not None and value > most):
            raise Moot
        return value

    return number


def any_data(table: Table, name: str) -> Make:
    """Any data of a machine; None where it has none."""
    if table.data is None:
        return lambda choose: None
    return _object(table.data, {field.name: any_value(field, f"{name}.{field.name}") for field in table.data_fields})


def any_seen(table: Table, name: str) -> Make:
    """Anything that a link can show of an instance of a machine, or None."""
    states = {id: state for id, state in table.states.items() if state is not table.absent}
    new_enum: Any = _Word
    choice = new_enum(f"{table.name}_state", {id: id for id in states})
    first, *others = [(choice[id], state) for id, state in states.items()]
    none, which = f"{name} is None", f"{name}.state"
    tallies = {tally: any_value(COUNTER, f"{name}.{tally}") for tally in table.tallies}

    def state(choose: Choose) -> Any:
        chosen = choose(choice, which)
        for word, other in others:
            if chosen == word:
                return other
        return first[1]

    def counted(choose: Choose) -> dict[str, Any]:
        return {tally: make(choose) for tally, make in tallies.items()}

    seen = _object(Seen, {"state": state, "data": any_data(table, name), "tallies": counted})
    return lambda choose: None if choose(bool, none) else seen(choose)


def _object(cls: type, fields: Mapping[str, Make]) -> Make:
    lazy = _lazy(cls)

    def make(choose: Choose) -> Any:
        made: Any = object.__new__(lazy)
        made.__dict__["later"] = fields, choose
        return made

    return make


@cache
def _lazy(cls: type) -> type:
    """A subclass of a frozen attrs class that passes for it, and whose fields are made when they are first read."""

    def field(name: str) -> property:
        def read(self: Any) -> Any:
            known = self.__dict__
            if name not in known:
                fields, choose = known["later"]
                known[name] = fields[name](choose)
            return known[name]

        return property(read)

    fields = {attribute.name: field(attribute.name) for attribute in attrs.fields(cls)}
    return type(cls.__name__, (cls,), {**fields, "__class__": property(lambda self: cls)})
