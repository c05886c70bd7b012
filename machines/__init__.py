"""What may happen: the lifecycles, and the kernel that runs them.

Importing this takes attrs, python-statemachine and the standard library; it starts no thread and opens no file. The
lifecycles are imported when the first of them is asked for: who runs machines of their own waits for none.
"""

from typing import TYPE_CHECKING, Any

from .kernel import Kernel, MemoryStore

if TYPE_CHECKING:
    from .actor import Actor
    from .admission import Admission
    from .approval import Approval
    from .catalogue import MACHINES
    from .cycle import Cycle
    from .dispatch import Dispatch
    from .fallback import Fallback
    from .gate import Gate
    from .generation import Generation
    from .guard_evaluation import GuardEvaluation
    from .lease import Lease
    from .session import Session
    from .toolcall import Toolcall
    from .turn import Turn

__all__ = [
    "MACHINES",
    "Actor",
    "Admission",
    "Approval",
    "Cycle",
    "Dispatch",
    "Fallback",
    "Gate",
    "Generation",
    "GuardEvaluation",
    "Kernel",
    "Lease",
    "MemoryStore",
    "Session",
    "Toolcall",
    "Turn",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import catalogue

    return getattr(catalogue, name)
