"""What a tester runs: traces and whether the machines allow them."""

from .conformance import Checker
from .judge import judge
from .record import SEVERITY, Begin, Debt, Record, Recorded, Report, Torn, Verdict, Violation, worst
from .world import World

__all__ = [
    "SEVERITY",
    "Begin",
    "Checker",
    "Debt",
    "Record",
    "Recorded",
    "Report",
    "Torn",
    "Verdict",
    "Violation",
    "World",
    "judge",
    "worst",
]
