"""Debts that can no longer be paid: what a state owes until a linked condition holds, and the condition holds."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from ..kernel.fields import UNKNOWN
from ..kernel.links import Seen
from .blame import Blame
from .instance import Instance
from .possible import said_of
from .world import World

__all__ = ["endangered", "overdue"]


def endangered(instance: Instance) -> bool:
    """Whether a change of an instance could break another one's debt: then it may be refused for that alone."""
    return any(
        debtor.table.until.get(str(cell.state.id)) for debtor in instance.debtors or () for cell in debtor.belief.cells
    )


def overdue(world: World, instance: Instance) -> Iterator[tuple[Instance, Blame]]:
    """The debtors whose debt is broken, now that this instance has changed, each with what to say about it."""
    for debtor in tuple(instance.debtors or ()):
        assert instance.debtors is not None
        if debtor.belief.final:
            del instance.debtors[debtor]
            continue
        late, dark = _late(world, debtor)
        if late == {True} and debtor.belief.owing:
            state, seen = debtor.belief.cells[0].state, debtor.belief.states()
            owe = debtor.table.owes[str(state.id)]
            why = f"{debtor.ref} still is {seen}, and {debtor.table.rules[owe.rule]}"
            yield debtor, Blame(owe.rule, why, seen, (), debtor.table.takes(state), debtor.state_line)
        elif len(late) > 1 and dark:
            world.not_checked |= {owe.rule for owe in debtor.table.owes.values() if owe.until}


def _late(world: World, debtor: Instance) -> tuple[set[bool], bool]:
    """Whether the debt is unpaid and too late, in each case; and whether that depends on what is not shown."""
    table, links = debtor.table, debtor.life()
    late: set[bool] = set()
    dark = debtor.belief.shaded
    for cell in debtor.belief.cells:
        until = table.until.get(str(cell.state.id))
        if until is None:
            late.add(False)
            continue
        own = UNKNOWN if cell.data is UNKNOWN else Seen(cell.state, cell.data)
        seen = [_shown(world, links[name]) if name != "data" else (own,) for name in until.names]
        dark = dark or any(isinstance(links.get(name), Instance) and links[name].belief.shaded for name in until.names)
        for values in product(*seen):
            known = dict(zip(until.names, values, strict=True))
            if any(value is UNKNOWN for value in values):
                dark, late = True, {True, False}
            elif any(value is None and not table.links[name].optional for name, value in known.items()):
                late.add(False)
            else:
                said = said_of(until, known)
                dark, late = dark or len(said) > 1, late | said
    return late, dark


def _shown(world: World, target: Any) -> tuple[Any, ...]:
    """What a link may show."""
    if isinstance(target, Instance):
        return tuple(value for _, value in world.alternatives(target))
    return (target,)
