"""What an instance's tallies may be, interned: equal tallies are one object, and how they move is worked out once."""

__all__ = ["Count", "Tallies", "tallies_of"]

Count = tuple[int, int, bool]
"""Least and most of a tally, and whether it is open because the trace does not show what counts."""


class Tallies:
    """The counts of one owner, in the order of its table; equal ones are one object, so identity is equality."""

    __slots__ = ("_moved", "counts", "exact")

    def __init__(self, counts: tuple[Count, ...]) -> None:
        self.counts = counts
        self.exact = all(least == most for least, most, _ in counts)
        self._moved: dict[tuple[int, Count], Tallies] = {}

    def moved(self, index: int, change: Count) -> "Tallies":
        """These tallies, one of them changed."""
        known = self._moved.get((index, change))
        if known is None:
            least, most, open_ = self.counts[index]
            changed = (least + change[0], most + change[1], open_ or change[2])
            known = self._moved[index, change] = tallies_of((*self.counts[:index], changed, *self.counts[index + 1 :]))
        return known


_KNOWN: dict[tuple[Count, ...], Tallies] = {}


def tallies_of(counts: tuple[Count, ...]) -> Tallies:
    """The one object for these counts."""
    known = _KNOWN.get(counts)
    if known is None:
        known = _KNOWN[counts] = Tallies(counts)
    return known
