"""The approval gate: one approve call for one batch, from its entry to one answer for all.

What may race: the gate's own steps, a Stop, and whoever decides its card. A Stop that comes first refuses the next
lease (or ends a Smart wait), so that nothing more is shown and the gate ends cancelled. Once it prompts, the gate
decides nothing any more: it follows its cycle, whoever won there.

What it repairs: V1, the gate leaves at its deadline although its card is still live: here only a decided cycle ends
`waiting`. V2 and V3 are repaired where reasons are read through the gate and not copied (verdict, part 2). A policy
that cannot be asked allows nothing: without an answer the whole batch goes to a person. And a batch of which policy
denied something and left nothing never reaches the grants, where it would end approved (a hole of the table).

Up to three leases, each given with the event that it allows; all belong to the gate's own witness. The cycle is named
when the gate is born and must not exist then: a gate that needs no person never has one. Whether the wait for a person
ends at all was captured with the card, and is read there.

Source: seed turnstone-approval, "Policy, Smart Approval, and human gate"; lifecycles/turnstone-tables.md 8;
turnstone-races.md 1 to 5, 20, 21, 38 to 40.
"""

from typing import Annotated

import attrs

from .approval import Approval, ApprovalData, Outcome
from .kernel import Epoch, Event, Link, Machine, Range, Seen, State, guard, owe, rule, under
from .lease import Lease, LeaseData, aborted
from .session import Session, SessionData

__all__ = ["Entered", "Gate", "GateData", "Granted", "Judged", "Policed", "Verdicts"]

_SMART_MOST = 50
Count = Annotated[int, Range(0, 51)]
"""How many items; 51 stands for more than Smart Approval takes."""
Confidence = Annotated[int, Range(0, 1000)]
"""In thousandths; what is not a number between 0 and 1 is None."""


@attrs.frozen
class GateData:
    """What a gate decides upon: its witness, its batch, and the options as they were captured at its entry."""

    epoch: Epoch
    generation: Epoch
    items: Count
    pending: Count
    """How many items still need a yes from somebody."""
    ids_distinct: bool
    budget_item: bool
    blanket: bool
    smart_on: bool
    stamps_coherent: bool
    threshold: Confidence | None
    any_denied: bool = False
    policy_known: bool = True


@attrs.frozen
class Entered:
    epoch: Epoch
    """The epoch in which the batch's generation began."""
    generation: Epoch
    items: Count
    pending: Count
    """How many items need approval."""
    ids_distinct: bool
    """Are the call ids of the items that need approval distinct, and none of them empty?"""
    budget_item: bool
    """Is one of them a budget override? It can be allowed by a person only."""
    blanket: bool
    """Does the blanket flag allow everything?"""
    smart_on: bool
    stamps_coherent: bool
    """Do all items carry the same Smart options, as captured when they were prepared?"""
    threshold: Confidence | None
    """The captured confidence that Smart Approval asks for."""


@attrs.frozen
class Policed:
    left: Count
    """How many items still need a yes: those that no policy allowed or denied."""
    any_denied: bool


@attrs.frozen
class Granted:
    all_granted: bool  # a link from part 2 on
    """Are the names of all pending items granted: configured, or Always for this principal?"""


@attrs.frozen
class Judged:
    all_judged: bool  # a link from part 2 on
    """Does the judge's batch hold every pending item?"""


@attrs.frozen
class Verdicts:
    all_llm: bool  # a link from part 2 on
    """Is there a verdict of the judge itself for every pending item, and no fallback?"""
    all_approve: bool  # a link from part 2 on
    confidence: Confidence | None  # a link from part 2 on
    """The lowest of them; None when one of them is absent, not finite or out of range."""
    this_generation: bool  # a link from part 2 on
    """Do all come from the judge generation of this batch?"""
    heuristic_safe: bool  # a link from part 2 on
    """Does no heuristic verdict say deny or critical?"""


@guard("no-new-work-after-cancel", "no batch enters a gate for an owner that was stopped, superseded or shut")
def owner_live(epoch: Epoch, generation: Epoch, session: Seen[SessionData]) -> bool:
    return not aborted(epoch, generation, session)


@guard("gate-follows-claim", "a cycle that was there before its gate was not asked for by it")
def unasked(cycle: Seen[ApprovalData] | None) -> bool:
    return cycle is None


@guard("no-new-work-after-cancel", "a Smart wait ends as cancelled only when its owner was stopped")
def owner_aborted(data: GateData, session: Seen[SessionData]) -> bool:
    return aborted(data.epoch, data.generation, session)


@guard("no-new-work-after-cancel", "verdicts qualify a batch only while its owner is live")
def still_live(data: GateData, session: Seen[SessionData]) -> bool:
    return not aborted(data.epoch, data.generation, session)


def own(data: GateData, lease: Seen[LeaseData]) -> bool:
    """Was the lease asked for by the gate's own owner?"""
    return (lease.data.epoch, lease.data.generation) == (data.epoch, data.generation)


@guard("lease-after-stop", "a gate changes what is visible only under a lease of its own owner, granted before a Stop")
def leased(data: GateData, lease: Seen[LeaseData]) -> bool:
    return own(data, lease) and lease.state in (Lease.granted,)


@guard("cancel-has-cause", "a gate is cancelled because a lease of its own owner was refused, and no other's")
def lease_was_refused(data: GateData, lease: Seen[LeaseData]) -> bool:
    return own(data, lease) and lease.state in (Lease.refused,)


@guard("gate-order", "a batch with items is announced before policy is asked")
def no_items(data: GateData) -> bool:
    return data.items == 0


@guard("gate-fails-closed", "an answer about more items than were asked is no answer")
def fits(data: GateData, left: Count) -> bool:
    return left <= data.pending


@guard("policy-denial-final", "what policy denied and left nothing to ask ends denied, whatever is granted")
def not_blocked(data: GateData) -> bool:
    return data.pending > 0 or not data.any_denied


@guard("gate-fails-closed", "while policy is unknown no grant allows anything")
def policy_is_known(data: GateData) -> bool:
    return data.policy_known


@guard("always-binds-principal", "grants allow a batch only when they name every item that is left, for this principal")
def granted_all(all_granted: bool) -> bool:
    return all_granted


@guard("always-binds-principal", "a budget override is granted by nothing but a person's answer to it")
def no_budget(data: GateData) -> bool:
    return not data.budget_item


@guard("smart-batch-atomic", "Smart Approval answers only where something is left to ask")
def asks(data: GateData) -> bool:
    return data.pending > 0


@guard("smart-batch-atomic", "Smart Approval was on when the batch was prepared")
def smart(data: GateData) -> bool:
    return data.smart_on


@guard("smart-batch-atomic", "one batch has one set of Smart options")
def coherent(data: GateData) -> bool:
    return data.stamps_coherent


@guard("smart-batch-atomic", "what the blanket flag allows needs no Smart Approval")
def no_blanket(data: GateData) -> bool:
    return not data.blanket


@guard("smart-batch-atomic", "every pending item is judged, or none counts")
def judged_all(all_judged: bool) -> bool:
    return all_judged


@guard("smart-batch-atomic", "verdicts are told apart by call ids: none is empty, none repeats")
def told_apart(data: GateData) -> bool:
    return data.ids_distinct


@guard("smart-batch-atomic", "Smart Approval takes at most fifty items")
def few(data: GateData) -> bool:
    return data.pending <= _SMART_MOST


@guard("smart-batch-atomic", "a fallback never satisfies Smart Approval")
def llm_all(all_llm: bool) -> bool:
    return all_llm


@guard("smart-batch-atomic", "one verdict that does not approve sends the whole batch to a person")
def approve_all(all_approve: bool) -> bool:
    return all_approve


@guard("smart-batch-atomic", "the lowest confidence reaches the threshold captured at entry")
def confident(data: GateData, confidence: Confidence | None) -> bool:
    return confidence is not None and data.threshold is not None and confidence >= data.threshold


@guard("smart-batch-atomic", "a verdict counts for the batch that it was made for")
def own_verdicts(this_generation: bool) -> bool:
    return this_generation


@guard("smart-batch-atomic", "a heuristic that says deny or critical keeps the batch for a person")
def heuristic_agrees(heuristic_safe: bool) -> bool:
    return heuristic_safe


@guard("gate-order", "a gate ends at policy only when policy denied something and left nothing to ask")
def blocked(data: GateData) -> bool:
    return data.any_denied and data.pending == 0


@guard("no-exec-before-approval", "without a person a batch passes only if nothing is left, or all is waved through")
def nothing_to_ask(data: GateData) -> bool:
    return data.pending == 0 or (data.blanket and not data.budget_item)


@guard("gate-follows-claim", "a gate that asked is answered by its own cycle: approved if that was approved")
def cycle_approved(cycle: Seen[ApprovalData] | None) -> bool:
    return cycle is not None and cycle.data.outcome is Outcome.APPROVED


@guard("cancel-settles-approvals-as-cancelled", "a cycle that was cancelled or withdrawn ends its gate as cancelled")
def cycle_cancelled(cycle: Seen[ApprovalData] | None) -> bool:
    if cycle is None:
        return False
    unseen = cycle.data.outcome is None and cycle.state in (Approval.withdrawn,)
    return unseen or cycle.data.outcome is Outcome.CANCELLED


@guard("gate-follows-claim", "a cycle that was denied or timed out ends its gate as denied")
def cycle_denied(cycle: Seen[ApprovalData] | None) -> bool:
    return cycle is not None and cycle.data.outcome in (Outcome.DENIED, Outcome.TIMED_OUT)


@guard("approval-deadline-captured", "a wait that was captured as unbounded has no deadline")
def ends(cycle: Seen[ApprovalData] | None) -> bool:
    return cycle is not None and cycle.data.bounded


no_override = under("smart-batch-atomic", "a budget override is never for Smart Approval", no_budget)
to_ask = under("gate-order", "a card is for items that are left to ask about", asks)


def entered_with(
    epoch: Epoch,
    generation: Epoch,
    items: Count,
    pending: Count,
    ids_distinct: bool,
    budget_item: bool,
    blanket: bool,
    smart_on: bool,
    stamps_coherent: bool,
    threshold: Confidence | None,
) -> GateData:
    return GateData(
        epoch,
        generation,
        items,
        pending,
        ids_distinct,
        budget_item,
        blanket,
        smart_on,
        stamps_coherent,
        threshold,
    )


def policy_applied(data: GateData, left: Count, any_denied: bool) -> GateData:
    return attrs.evolve(data, pending=left, any_denied=any_denied)


def nothing_allowed(data: GateData) -> GateData:
    return attrs.evolve(data, pending=data.items, blanket=False, smart_on=False, policy_known=False)


def all_covered(data: GateData) -> GateData:
    return attrs.evolve(data, pending=0)


class Gate(Machine):
    """One batch before its approval: policy, grants, Smart, automatic or a person."""

    session = Link(Session)
    cycle = Link(Approval, optional=True)
    lease = Link(Lease, per_event=True)

    absent = State(initial=True)
    entered = State()
    purged = State()
    announced = State()
    policed = State()
    granted = State()
    smart_wait = State()
    qualified = State()
    prompting = State()
    waiting = State()
    approved = State(final=True)
    denied = State(final=True)
    cancelled = State(final=True)

    start: Event[Entered] = absent.to(entered, cond=[owner_live, unasked], on=entered_with)
    purge_lease: Event[None] = entered.to(purged, cond=leased)
    announce_lease: Event[None] = purged.to(announced, cond=leased)
    policy_result: Event[Policed] = purged.to(policed, cond=[no_items, fits], on=policy_applied) | announced.to(
        policed, cond=fits, on=policy_applied
    )
    policy_failed: Event[None] = purged.to(policed, cond=no_items, on=nothing_allowed) | announced.to(
        policed, on=nothing_allowed
    )
    grants_result: Event[Granted] = policed.to(
        granted, cond=[not_blocked, policy_is_known, granted_all, no_budget], on=all_covered
    ) | policed.to(granted, cond=not_blocked)
    smart_start: Event[Judged] = granted.to(
        smart_wait, cond=[asks, smart, coherent, no_blanket, no_override, judged_all, told_apart, few]
    )
    smart_ready: Event[Verdicts] = (
        smart_wait.to(qualified, cond=[still_live, llm_all, approve_all, confident, own_verdicts, heuristic_agrees])
        | smart_wait.to(cancelled, cond=owner_aborted)
        | smart_wait.to(prompting)
    )
    smart_deadline: Event[None] = smart_wait.to(cancelled, cond=owner_aborted) | smart_wait.to(prompting)
    auto_lease: Event[None] = (
        policed.to(denied, cond=[blocked, leased])
        | granted.to(approved, cond=[nothing_to_ask, leased])
        | qualified.to(approved, cond=leased)
    )
    prompt_lease: Event[None] = granted.to(waiting, cond=[to_ask, leased]) | prompting.to(
        waiting, cond=[to_ask, leased]
    )
    lease_refused: Event[None] = cancelled.from_(
        entered, purged, announced, policed, granted, smart_wait, qualified, prompting, cond=lease_was_refused
    )
    publish_failed: Event[None] = waiting.to(waiting)
    cycle_resolved: Event[None] = (
        waiting.to(approved, cond=cycle_approved)
        | waiting.to(cancelled, cond=cycle_cancelled)
        | waiting.to(denied, cond=cycle_denied)
    )
    deadline: Event[None] = waiting.to(waiting, cond=ends)

    rules = [
        rule("no-event-after-terminal", approved, denied, cancelled, why="what has ended stays ended"),
        rule(
            "gate-order",
            absent,
            entered,
            purged,
            announced,
            policed,
            granted,
            smart_wait,
            qualified,
            prompting,
            waiting,
            why="purge, announce, policy, grants, Smart, then one automatic answer or one card",
        ),
    ]
    owes = {waiting: owe("gate-follows-claim")}
