"""What a host runs: declaration, table, step, kernel and the memory store."""

from .errors import BadInput, DefinitionError
from .fields import UNKNOWN, Epoch, Id, Principal, Range, carried
from .kernel import Kernel
from .links import Link, Seen, State, Tally
from .machine import Event, Machine
from .memory import MemoryStore
from .refusals import never
from .rules import (
    effect,
    fire_and_forget,
    guard,
    invariant,
    monitor,
    owe,
    refused,
    rule,
    settled,
    step_invariant,
    under,
)
from .snapshot import Accepted, Decision, Effect, Ref, Refused, Request, Snapshot
from .step import step
from .table import Table
from .variant import Way

__all__ = [
    "UNKNOWN",
    "Accepted",
    "BadInput",
    "Decision",
    "DefinitionError",
    "Effect",
    "Epoch",
    "Event",
    "Id",
    "Kernel",
    "Link",
    "Machine",
    "MemoryStore",
    "Principal",
    "Range",
    "Ref",
    "Refused",
    "Request",
    "Seen",
    "Snapshot",
    "State",
    "Table",
    "Tally",
    "Way",
    "carried",
    "effect",
    "fire_and_forget",
    "guard",
    "invariant",
    "monitor",
    "never",
    "owe",
    "refused",
    "rule",
    "settled",
    "step",
    "step_invariant",
    "under",
]
