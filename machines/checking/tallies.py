"""What an instance's tallies may be, interned: equal tallies are one object, and how they move is worked out once."""

__all__ = ["Count", "Tallies", "tallies_of"]

Count = tuple[int, int, bool]
"""Least and most of a tally, and whether it is open because the trace does not show what counts."""


class Tallies(tuple[Count, ...]):
    """The counts of one owner, in the order of its table; compared by identity, since equal ones are one object."""

    _moved: "dict[tuple[int, Count], Tallies]"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def moved(self, index: int, change: Count) -> "Tallies":
        """These tallies, one of them changed."""
        known = self._moved.get((index, change))
        if known is None:
            least, most, open_ = self[index]
            changed = (least + change[0], most + change[1], open_ or change[2])
            known = self._moved[index, change] = tallies_of((*self[:index], changed, *self[index + 1 :]))
        return known


_KNOWN: dict[tuple[Count, ...], Tallies] = {}


def tallies_of(counts: tuple[Count, ...]) -> Tallies:
    """The one object for these counts."""
    known = _KNOWN.get(counts)
    if known is None:
        known = _KNOWN[counts] = Tallies(counts)
        known._moved = {}
    return known
