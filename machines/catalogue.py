"""Every lifecycle that is shipped, by name."""

from collections.abc import Mapping

from .actor import Actor
from .admission import Admission
from .approval import Approval
from .cycle import Cycle
from .dispatch import Dispatch
from .fallback import Fallback
from .gate import Gate
from .generation import Generation
from .guard_evaluation import GuardEvaluation
from .kernel import Machine
from .lease import Lease
from .session import Session
from .toolcall import Toolcall
from .turn import Turn

__all__ = ["MACHINES"]

MACHINES: Mapping[str, type[Machine]] = {
    machine.table.name: machine
    for machine in (
        Session,
        Generation,
        Toolcall,
        Admission,
        Lease,
        Approval,
        Gate,
        GuardEvaluation,
        Cycle,
        Turn,
        Actor,
        Dispatch,
        Fallback,
    )
}
