"""What CrossHair proves of the guards and updates of the approval cycle, and that it would notice a wrong one."""

import attrs
import pytest

from ..machines.approval import Approval, ApprovalData, Outcome, approved, as_shown
from ..machines.kernel import Id, Machine, Seen, Way, guard
from ..machines.session import SessionData
from .generate.proof import Claim, Proof, claims


@pytest.mark.parametrize("claim", list(claims(Approval)), ids=str)
def test_it_is_confirmed_for_all_values(claim: Claim) -> None:
    proof = claim.prove(seconds=120)
    assert proof.verdict == "confirmed", proof.why


def proven(machine: type[Machine], name: str, seconds: float = 20.0) -> Proof:
    (claim,) = (claim for claim in claims(machine) if claim.name == name)
    return claim.prove(seconds)


def test_an_update_that_leaves_a_resolved_cycle_undecided_is_refuted() -> None:
    def undecided(data: ApprovalData) -> ApprovalData:
        return data

    wrong = Approval.variant("undecided", replace={approved: undecided}, why="planted")
    proof = proven(wrong, "published approve resolved keeps what is promised")
    assert proof.verdict == "refuted"
    assert "data.outcome is None=True" in proof.why


def test_an_update_that_changes_a_decided_outcome_is_refuted() -> None:
    def overruled(data: ApprovalData) -> ApprovalData:
        return attrs.evolve(data, outcome=Outcome.DENIED)

    late = Way(Approval.resolved, Approval.time_out, Approval.resolved, on=overruled)
    wrong = Approval.variant("late", add=[late], why="planted")
    proof = proven(wrong, "resolved time_out resolved keeps what is promised")
    assert proof.verdict == "refuted"
    assert "data.outcome=<Outcome." in proof.why
    assert "data.outcome=<Outcome.DENIED" not in proof.why


def test_a_guard_that_fails_for_some_value_is_refuted() -> None:
    @guard("approval-binds-content", "planted")
    def careless(data: ApprovalData, digest: Id, session: Seen[SessionData] | None) -> bool:
        return data.digest == digest and session.data.epoch == data.epoch  # type: ignore[union-attr]

    wrong = Approval.variant("careless", replace={as_shown: careless}, why="planted")
    proof = proven(wrong, "careless says yes or no")
    assert proof.verdict == "refuted"
    assert proof.why.startswith("AttributeError")
    assert "session is None=True" in proof.why


def test_a_guard_that_says_neither_yes_nor_no_is_refuted() -> None:
    @guard("approval-binds-content", "planted")
    def loose(data: ApprovalData, digest: Id) -> bool:
        return data.epoch  # type: ignore[return-value]

    wrong = Approval.variant("loose", replace={as_shown: loose}, why="planted")
    assert proven(wrong, "loose says yes or no").verdict == "refuted"


def test_two_ways_that_do_not_exclude_each_other_are_refuted() -> None:
    @guard("approval-deadline-captured", "planted")
    def undecided(data: ApprovalData) -> bool:
        return data.outcome is None

    back = Way(Approval.published, Approval.time_out, Approval.registered, cond=(undecided,))
    wrong = Approval.variant("back", add=[back], why="planted")
    proof = proven(wrong, "published time_out resolved excludes published time_out registered")
    assert proof.verdict == "refuted"


def test_a_way_that_nothing_can_take_is_refuted() -> None:
    @guard("approval-has-request", "planted")
    def never_so(data: ApprovalData) -> bool:
        return data.outcome is not None

    wrong = Approval.variant("never", replace={as_shown: never_so}, why="planted")
    proof = proven(wrong, "published approve resolved keeps what is promised")
    assert (proof.verdict, proof.why) == ("refuted", "nothing is as it presupposes")


def test_what_is_not_tried_to_the_end_is_bounded() -> None:
    proof = proven(Approval, "published approve resolved keeps what is promised", seconds=0.1)
    assert proof.verdict == "bounded"
