"""Stop, two clicks, a deadline and a successor race for one approval, on every store and under every schedule."""

import time
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from ..machines.admission import Admission
from ..machines.approval import Approval
from ..machines.lease import Lease
from ..machines.session import Session
from .generate.history import Ground
from .generate.race import race_of
from .generate.schedule import Schedule
from .generate.world import Actor, World, fire
from .grounds import BatonLock, MemoryGround, NoLock, Pointed, SQLiteGround

_HOME = {"session": "session", "admission": "admission"}
_FIRST = {**_HOME, "epoch": 0, "generation": 0}

WORLD = World(
    by="a",
    opening=[
        fire("session", Session.start, principal="a"),
        fire("admission", Admission.start),
        fire("bundle", Lease.start, **_FIRST),
        fire("bundle", Lease.grant),
        fire("cycle", Approval.start, digest="a", principal="a", bundle="bundle", **_HOME),
        fire("cycle", Approval.show),
        fire("bundle", Lease.release),
        fire("cycle", Approval.publish),
        fire("lease_a", Lease.start, **_FIRST),
        fire("lease_a", Lease.grant),
        fire("lease_b", Lease.start, **_FIRST),
        fire("later_bundle", Lease.start, epoch=1, generation=1, **_HOME),
    ],
    actors={
        "stop": Actor(
            "a",
            [
                fire("session", Session.stop),
                fire("admission", Admission.sweep_begin),
                fire("cycle", Approval.cancel),
                fire("later", Approval.cancel),
                fire("cycle", Approval.tell),
                fire("later", Approval.tell),
                fire("admission", Admission.sweep_end),
            ],
        ),
        "click_a": Actor(
            "a",
            [
                fire("cycle", Approval.approve, lease="lease_a"),
                fire("cycle", Approval.deny, lease="lease_a"),
                fire("lease_a", Lease.release),
            ],
        ),
        "click_b": Actor(
            "b",
            [
                fire("lease_b", Lease.grant),
                fire("cycle", Approval.approve, lease="lease_b"),
                fire("cycle", Approval.deny, lease="lease_b"),
                fire("later", Approval.approve, lease="lease_b"),
                fire("lease_b", Lease.release),
            ],
        ),
        "deadline": Actor(None, [fire("cycle", Approval.time_out), fire("later", Approval.time_out)]),
        "successor": Actor(
            "a",
            [
                fire("session", Session.claim),
                fire("later_bundle", Lease.grant),
                fire("later", Approval.start, digest="a", principal="a", bundle="later_bundle", **_HOME),
                fire("later", Approval.show),
                fire("later_bundle", Lease.release),
                fire("later", Approval.publish),
            ],
        ),
    },
    decided={Approval.ref("cycle"): Approval.resolved, Approval.ref("later"): Approval.resolved},
)
