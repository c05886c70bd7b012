"""One instance as the checker follows it: what it may be, what it points to, and what counts for it."""

from typing import TYPE_CHECKING, Any

from ..kernel.snapshot import Ref
from ..kernel.table import Table
from .belief import Belief
from .calls import Busy
from .shape import Names
from .tallies import Tallies

if TYPE_CHECKING:
    from .lane import Lane

__all__ = ["FAR", "Instance"]

FAR = 1 << 40
"""More dependents than there can be: an instance whose birth the trace does not show may have any number."""


class Instance:
    """The checker's view of one instance; small, because a trace may have millions."""

    __slots__ = (
        "busy",
        "debtors",
        "id",
        "lane",
        "links",
        "looked_at",
        "names",
        "shape",
        "state_line",
        "tallies",
        "tally_line",
    )

    def __init__(self, lane: "Lane", id: str) -> None:
        self.lane = lane
        self.id = id
        self.shape = lane.unborn
        self.names: Names = ()
        self.looked_at: Belief | None = None
        """What it may be, as long as that is the last thing that happened; else it is made of shape and names."""
        self.links: tuple[Any, ...] = lane.nowhere
        """Where each link for life points, in the order of `lane.life`: an Instance, None or UNKNOWN."""
        self.tallies: Tallies = lane.zero
        self.busy: Busy | None = None
        self.debtors: dict[Instance, None] | None = None
        """Instances whose debt may become overdue when this one changes."""
        self.state_line = 0
        self.tally_line = 0

    @property
    def belief(self) -> Belief:
        """What it may be."""
        if self.looked_at is None:
            self.looked_at = self.shape.belief(self.names)
        return self.looked_at

    @belief.setter
    def belief(self, belief: Belief) -> None:
        self.shape, self.names = self.lane.shapes.of(belief)
        self.looked_at = belief

    @property
    def ref(self) -> Ref:
        return Ref(self.lane.table.name, self.id)

    @property
    def table(self) -> Table:
        return self.lane.table

    def occupied(self) -> Busy:
        """The instance's open calls and the like, made when first needed."""
        if self.busy is None:
            self.busy = Busy()
        return self.busy

    def owed(self, debtor: "Instance") -> None:
        """Remember that another instance's debt may become overdue when this one changes."""
        if self.debtors is None:
            self.debtors = {}
        self.debtors[debtor] = None

    def life(self) -> dict[str, Any]:
        """Each link for life by name."""
        return dict(zip(self.lane.life, self.links, strict=True))
