"""lifecycles/turnstone-tables.md, table 7, as its section 0 splits it: admission and lease.

The table's idle, leased, draining and claiming are (open, 0), (open, n), (sweeping, n) and (sweeping, 0). A `request`
is the `start` of a lease and its answer, `grant` or `refuse`; n-1 is what leaving `granted` does to the tally.
"""

from typing import Any

from ...machines.admission import Admission, AdmissionData
from ...machines.kernel import Seen, State
from ...machines.lease import Lease, LeaseData
from ...machines.session import Session, SessionData
from .row import Row

__all__ = ["ROWS"]

A, L = Admission, Lease
OWNED, UNOWNED = LeaseData(3, 5), LeaseData(None, None)
NONE, ONE, TWO = AdmissionData(0), AdmissionData(1), AdmissionData(2)
QUEUED = "section 0: a request that waits is a lease in `asked`; grant is what must not happen yet"
COUNTED = "n is the tally of leases in `granted`: the row is the lease's own move, seen from the other side"
OVERLAP = "against the letter of 7.20: two sweeps overlap, and this one may have claimed nothing; the last end waits"


def session(state: State = Session.open, epoch: int = 3, last: int = 5) -> Seen[Any]:
    return Seen(state, SessionData("ann", epoch, last), {"owed": 0})


def admission(sweeps: int = 0, active: int = 0) -> Seen[Any]:
    state = Admission.sweeping if sweeps else Admission.open
    return Seen(state, AdmissionData(sweeps), {"active": active, "untold": 0})


def n(active: int, untold: int = 0) -> dict[str, int]:
    return {"active": active, "untold": untold}


ABORTED = (
    session(epoch=4),
    session(last=6),
    session(Session.closing, epoch=4),
    session(Session.shut, epoch=4),
    session(Session.shut),
)
IDLE, LEASED, DRAINING, CLAIMING = admission(), admission(0, 2), admission(1, 2), admission(1)


def request(number: int, where: Seen[Any]) -> list[Row]:
    """A request whose witness is aborted: it is refused, and never granted."""
    id = f"turnstone-7.{number}"
    return [
        row
        for owner in ABORTED
        for links in ({"session": owner, "admission": where},)
        for row in (
            Row(id, L, (L.asked,), (L.grant,), None, "lease-after-stop", OWNED, links=links),
            Row(id, L, (L.asked,), (L.refuse,), L.refused, "lease-after-stop", OWNED, links=links),
        )
    ]


def granted(number: int, where: Seen[Any]) -> list[Row]:
    id = f"turnstone-7.{number}"
    live = {"session": session(), "admission": where}
    return [
        Row(id, L, (L.asked,), (L.grant,), L.granted, "lease-counted", OWNED, links=live, then=OWNED),
        Row(
            id,
            L,
            (L.asked,),
            (L.grant,),
            L.granted,
            "lease-counted",
            OWNED,
            links={"session": session(Session.closing), "admission": where},
            note="a session that closes is live for those whose epoch it has not moved past",
        ),
        Row(
            id,
            L,
            (L.asked,),
            (L.grant,),
            L.granted,
            "lease-counted",
            UNOWNED,
            links={"session": None, "admission": where},
            note="no witness at all is never aborted",
        ),
        Row(
            id,
            L,
            (L.asked,),
            (L.grant,),
            None,
            "lease-after-stop",
            OWNED,
            links={"session": None, "admission": where},
            note="a witness that cannot be read counts as aborted",
        ),
        Row(
            id,
            L,
            (L.asked,),
            (L.grant,),
            None,
            "lease-after-stop",
            UNOWNED,
            links={"session": session(), "admission": where},
            note="a witness that was not given counts as aborted",
        ),
        Row(
            id,
            L,
            (L.asked,),
            (L.refuse,),
            None,
            "sweep-delays-successor",
            OWNED,
            links=live,
            note="a live owner's request is never refused",
        ),
        Row(id, L, (L.asked,), (L.refuse,), None, "sweep-delays-successor", UNOWNED, links={**live, "session": None}),
    ]


def queued(number: int, where: Seen[Any]) -> list[Row]:
    id = f"turnstone-7.{number}"
    live = {"session": session(), "admission": where}
    return [
        Row(
            id,
            L,
            (L.absent,),
            (L.start,),
            L.asked,
            "sweep-delays-successor",
            payload={"epoch": 3, "generation": 5},
            links=live,
            then=OWNED,
        ),
        Row(id, L, (L.asked,), (L.grant,), None, "sweep-delays-successor", OWNED, links=live, note=QUEUED),
        Row(id, L, (L.asked,), (L.refuse,), None, "sweep-delays-successor", OWNED, links=live, note="not denied"),
    ]


ROWS = [
    # birth, and what comes before it
    Row("section-0-births", A, (A.absent,), (A.start,), A.open, then=NONE),
    Row("section-0-births", A, (A.open,), (A.start,), None, "admission-once", NONE),
    Row("section-0-births", A, (A.sweeping,), (A.start,), None, "admission-once", ONE),
    Row("section-0-births", A, (A.absent,), (A.sweep_begin, A.sweep_end), None, "sweep-begun"),
    Row(
        "section-0-births",
        L,
        (L.absent,),
        (L.start,),
        L.asked,
        payload={"epoch": 3, "generation": 5},
        links={"session": session(epoch=9), "admission": IDLE},
        then=OWNED,
        note="anybody may ask; the witness is the owner's, older than the request",
    ),
    Row(
        "section-0-births",
        L,
        (L.absent,),
        (L.start,),
        L.asked,
        payload={"epoch": None, "generation": None},
        links={"session": None, "admission": IDLE},
        then=UNOWNED,
    ),
    Row(
        "section-0-births",
        L,
        (L.absent,),
        (L.grant, L.refuse, L.release, L.storage, L.owner_lost),
        None,
        "lease-counted",
    ),
    # idle
    *request(1, IDLE),
    *granted(2, IDLE),
    Row("turnstone-7.3", L, (L.asked, L.released, L.refused), (L.release,), None, "lease-counted", OWNED),
    Row("turnstone-7.4", A, (A.open,), (A.sweep_begin,), A.sweeping, "", NONE, tallies=n(0), then=ONE),
    # leased
    *request(5, LEASED),
    *granted(6, LEASED),
    Row("turnstone-7.7", L, (L.granted,), (L.release,), L.released, "", OWNED, note=COUNTED),
    Row("turnstone-7.8", L, (L.granted,), (L.release,), L.released, "", OWNED, note=COUNTED),
    Row("turnstone-7.9", A, (A.open,), (A.sweep_begin,), A.sweeping, "", NONE, tallies=n(2), then=ONE),
    # draining
    *request(10, DRAINING),
    *queued(11, DRAINING),
    Row(
        "turnstone-7.12",
        L,
        (L.granted,),
        (L.release,),
        L.released,
        "",
        OWNED,
        links={"session": session(epoch=4), "admission": admission(1, 1)},
        note=COUNTED,
    ),
    Row(
        "turnstone-7.13",
        L,
        (L.granted,),
        (L.release,),
        L.released,
        "",
        OWNED,
        links={"session": session(epoch=4), "admission": DRAINING},
        note=COUNTED,
    ),
    Row("turnstone-7.14", A, (A.sweeping,), (A.sweep_begin,), A.sweeping, "", ONE, tallies=n(2), then=TWO),
    Row("turnstone-7.14", A, (A.sweeping,), (A.sweep_begin,), A.sweeping, "", ONE, tallies=n(0), then=TWO),
    Row(
        "turnstone-7.14",
        A,
        (A.sweeping,),
        (A.sweep_begin,),
        None,
        "within-range",
        AdmissionData(1000),
        tallies=n(0),
        note="the kernel's own: no more than a thousand sweeps at once",
    ),
    # claiming
    *request(15, CLAIMING),
    *queued(16, CLAIMING),
    Row("turnstone-7.17", L, (L.asked, L.released, L.refused), (L.release,), None, "lease-counted", OWNED),
    Row("turnstone-7.18", A, (A.sweeping,), (A.sweep_end,), A.open, "", ONE, tallies=n(0), then=NONE),
    Row("turnstone-7.19", A, (A.sweeping,), (A.sweep_end,), A.sweeping, "", TWO, tallies=n(0), then=ONE),
    Row(
        "turnstone-7.19",
        A,
        (A.sweeping,),
        (A.sweep_end,),
        A.sweeping,
        "",
        TWO,
        tallies=n(0, 1),
        then=ONE,
        note=OVERLAP,
    ),
    Row("turnstone-7.20", A, (A.sweeping,), (A.sweep_end,), None, "sweep-publishes-before-end", ONE, tallies=n(0, 1)),
    Row("turnstone-7.21", A, (A.sweeping,), (A.sweep_end,), None, "sweep-drains-leases", ONE, tallies=n(1)),
    Row("turnstone-7.21", A, (A.sweeping,), (A.sweep_end,), None, "sweep-drains-leases", TWO, tallies=n(1)),
    Row("turnstone-7.21", A, (A.sweeping,), (A.sweep_end,), None, "sweep-drains-leases", ONE, tallies=n(2, 1)),
    Row("turnstone-7.22", A, (A.open,), (A.sweep_end,), None, "sweep-begun", NONE, tallies=n(0)),
    Row("turnstone-7.22", A, (A.open,), (A.sweep_end,), None, "sweep-begun", NONE, tallies=n(2)),
    # whatever the admission does
    *request(23, IDLE),
    *request(23, DRAINING),
    Row(
        "turnstone-7.24",
        L,
        (L.asked,),
        (L.storage,),
        L.asked,
        "no-storage-in-lease",
        OWNED,
        note="asked of the lease of the writing thread: nobody holds one",
    ),
    Row("turnstone-7.25", L, (L.granted,), (L.storage,), None, "no-storage-in-lease", OWNED),
    Row("turnstone-7.26", L, (L.asked,), (L.storage,), L.asked, "no-storage-in-lease", OWNED),
    Row("turnstone-7.26", L, (L.released, L.refused), (L.storage,), "settled", "no-storage-in-lease", OWNED),
    # a lease beyond the table
    Row("section-0-volatile", L, (L.asked,), (L.owner_lost,), L.refused, "", OWNED),
    Row("section-0-volatile", L, (L.granted,), (L.owner_lost,), L.released, "lease-counted", OWNED),
    Row("section-0-volatile", L, (L.released, L.refused), (L.owner_lost,), "settled", "stop-is-idempotent", OWNED),
    Row(
        "section-0-volatile",
        L,
        (L.granted,),
        (L.grant, L.refuse),
        None,
        "lease-counted",
        OWNED,
        links={"session": session(), "admission": IDLE},
    ),
    Row(
        "section-0-volatile",
        L,
        (L.asked, L.granted),
        (L.start,),
        None,
        "lease-counted",
        OWNED,
        {"epoch": 3, "generation": 5},
    ),
    Row(
        "section-0-final",
        L,
        (L.released, L.refused),
        (L.grant, L.refuse),
        None,
        "no-event-after-terminal",
        OWNED,
        links={"session": session(), "admission": IDLE},
    ),
    Row(
        "section-0-final",
        L,
        (L.released, L.refused),
        (L.start,),
        None,
        "no-event-after-terminal",
        OWNED,
        {"epoch": 3, "generation": 5},
    ),
]
