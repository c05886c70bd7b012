"""What Turnstone does that no run of ours shows, written out row by row after its source: lawful, or not and why."""

from collections.abc import Callable
from typing import Any

import pytest

from .recordings import report


class Flow:
    """A run, written row by row. A letter is a thread; the turn's own is `w` until another one sends."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.worker = "w"
        self.items: list[dict[str, Any]] = []

    def row(self, component: str, op: str, thread: str | None = None, **fields: Any) -> "Flow":
        same = {"run": "r", "seq": len(self.rows), "ts": 0.0, "thread": thread or self.worker}
        self.rows.append({**same, "component": component, "op": op, **fields})
        return self

    def session(self, op: str, thread: str | None = None, **fields: Any) -> "Flow":
        return self.row("session", op, thread, session="s", **fields)

    def send(self, number: int, thread: str = "w") -> "Flow":
        self.worker = thread
        self.session("send_called").session("generation_claimed", generation=number)
        return self.row("storage", "message_row_saved", role="user")

    def commit(
        self, what: str, number: int, current: int | None = None, admitted: bool = True, thread: str | None = None
    ) -> "Flow":
        fields = {"generation": number, "current_generation": current or number, "what": what, "admitted": admitted}
        return self.session("commit", thread, **fields)

    def batch(self, number: int) -> "Flow":
        self.row("storage", "message_row_saved", role="assistant").commit("_commit_model_result", number)
        return self.commit("_start_tools", number).session("tools_begin", generation=number, call_ids=["c"])

    def leased(self, *inside: tuple[str, str, dict[str, Any]]) -> "Flow":
        self.row("ui", "lease_requested").row("ui", "lease_granted")
        for component, op, fields in inside:
            self.row(component, op, **fields)
        return self.row("ui", "lease_released")

    def gate(self, number: int, cycle: str, **fields: Any) -> "Flow":
        """Up to the card of a batch of one call, c."""
        self.items = [{"call_id": "c", "needs_approval": True}]
        self.commit("_publish_attention", number)
        smart = {"enabled": False, "threshold": 0.95}
        self.row("ui", "gate_entered", items=self.items, smart=smart, **fields)
        self.leased(("ui", "round_purged", {"call_ids": ["c"]}))
        self.leased(("client_stream", "tool_pending_published", {"items": self.items}))
        return self.leased(
            ("ui", "cycle_registered", {"cycle_id": cycle, "call_ids": ["c"], "execution_principal_id": "a"}),
            ("client_stream", "approve_request_published", {"cycle_id": cycle, "items": self.items}),
        )

    def click(self, cycle: str, decision: str = "approved", thread: str = "ui", **fields: Any) -> "Flow":
        yes = decision == "approved"
        who = {} if decision == "timeout" else {"resolver_principal_id": "a"}
        self.row("ui", "resolve_called", thread, approved=yes, cycle_id=cycle, **who, **fields)
        self.row("ui", "lease_requested", thread).row("ui", "lease_granted", thread)
        self.row("ui", "cycle_claimed", thread, cycle_id=cycle, approved=yes, decision=decision)
        self.row("client_stream", "approval_resolved_published", thread, cycle_id=cycle, approved=yes)
        self.row("ui", "lease_released", thread)
        return self.row("ui", "resolve_returned", thread, claimed_cycle_id=cycle, noop=False)

    def returned(self, cycle: str, approved: bool = False) -> "Flow":
        self.row("ui", "cycle_unregistered", cycle_id=cycle)
        return self.row("ui", "gate_returned", approved=approved, items=self.items)

    def saved(self, thread: str | None = None, call: str = "c") -> "Flow":
        return self.row("storage", "message_row_saved", thread, role="tool", call_id=call)

    def stop(self, epoch: int, thread: str = "stop") -> "Flow":
        return self.session("stop_called", thread, epoch=epoch).session("stop_returned", thread, epoch=epoch + 1)

    def sweep(self, *cycles: str, thread: str = "stop") -> "Flow":
        self.row("ui", "sweep_called", thread)
        for cycle in cycles:
            self.row("ui", "cycle_claimed", thread, cycle_id=cycle, approved=False, decision="denied")
            self.row("client_stream", "approval_resolved_published", thread, cycle_id=cycle, approved=False)
        return self.row("ui", "sweep_returned", thread)

    def exit(self, number: int, current: int | None = None, sent: str = "send_returned") -> "Flow":
        self.session("cancel_consumed", generation=number, current=current or number)
        return self.session(sent, generation=current or number)

    def cancelled(self, number: int) -> "Flow":
        """The rest of a turn whose gate has returned after a Stop."""
        self.commit("_publish_post_approval", number, admitted=False).session("tools_raised", generation=number)
        self.session("cancel_synthesis").saved().commit("_finalize_cancelled_generation", number)
        return self.exit(number)

    def orphan(self, number: int, current: int) -> "Flow":
        """The rest of a turn that was abandoned meanwhile."""
        self.commit("_publish_post_approval", number, current, False).session("tools_raised", generation=number)
        return self.commit("_finalize_cancelled_generation", number, current, False).exit(number, current)

    def done(self, number: int, guarded: bool = True) -> "Flow":
        """The rest of a turn whose call was approved."""
        self.commit("_publish_post_approval", number).row("client_stream", "tool_result_published", "p", call_id="c")
        self.session("tools_end", generation=number)
        if guarded:
            self.session("guard_begin", generation=number, call_id="c")
            self.session("guard_end", generation=number, call_id="c", risk="none", flags=[], changed=False)
        self.session("cancel_synthesis").saved().commit("_fold_tool_batch", number)
        self.row("storage", "message_row_saved", role="assistant").commit("_commit_model_result", number)
        return self.exit(number)

    def turn(self, number: int, cycle: str) -> "Flow":
        return self.send(number).batch(number).gate(number, cycle).click(cycle).returned(cycle, True).done(number)

    def force(self, number: int, current: int) -> "Flow":
        self.session("force_abandon_called", "op", generation=number).session("cancel_synthesis", "op").saved("op")
        self.commit("_finalize_force_abandon", 0, current, thread="op")
        return self.session("force_abandon_returned", "op", abandoned=True, generation=current)

    def asking(self, number: int = 1, cycle: str = "k", **fields: Any) -> "Flow":
        return self.send(number).batch(number).gate(number, cycle, **fields)


def forced_successor() -> Flow:
    flow = Flow().asking().stop(0).force(1, 2).send(3, "w3").batch(3).gate(3, "k3").sweep("k")
    flow.worker = "w"
    flow.returned("k").orphan(1, 3)
    flow.worker = "w3"
    return flow.click("k3").returned("k3", True).done(3)


def overlapping_sweeps() -> Flow:
    flow = Flow().asking().stop(0, "x").stop(1, "y").row("ui", "sweep_called", "x").row("ui", "sweep_called", "y")
    flow.row("ui", "cycle_claimed", "y", cycle_id="k", approved=False, decision="denied")
    flow.row("ui", "sweep_returned", "x")
    flow.row("client_stream", "approval_resolved_published", "y", cycle_id="k", approved=False)
    return flow.row("ui", "sweep_returned", "y").returned("k").cancelled(1)


def answered_against_its_card() -> Flow:
    """A person approves, and the call is turned away all the same."""
    flow = Flow().asking().click("k")
    flow.items = [{"call_id": "c", "needs_approval": True, "denied": True}]
    return flow.returned("k", True).done(1)


def denied_by_policy() -> Flow:
    """Policy denies d; a person, who sees both on one card, approves the rest."""
    flow = Flow().send(1).row("storage", "message_row_saved", role="assistant").commit("_commit_model_result", 1)
    flow.commit("_start_tools", 1).session("tools_begin", generation=1, call_ids=["c", "d"])
    flow.items = [{"call_id": call, "needs_approval": True} for call in "cd"]
    flow.commit("_publish_attention", 1)
    flow.row("ui", "gate_entered", items=flow.items, smart={"enabled": False, "threshold": 0.95})
    flow.leased(("ui", "round_purged", {"call_ids": ["c", "d"]}))
    flow.leased(("client_stream", "tool_pending_published", {"items": flow.items}))
    card = [flow.items[0], {"call_id": "d", "error": "blocked by policy"}]
    flow.leased(
        ("ui", "cycle_registered", {"cycle_id": "k", "call_ids": ["c", "d"], "execution_principal_id": "a"}),
        ("client_stream", "approve_request_published", {"cycle_id": "k", "items": card}),
    )
    flow.items = [flow.items[0], {"call_id": "d", "needs_approval": True, "denied": True}]
    flow.click("k").returned("k", True).commit("_publish_post_approval", 1)
    flow.row("client_stream", "tool_result_published", "p", call_id="c").session("tools_end", generation=1)
    flow.session("cancel_synthesis").saved().saved(call="d").commit("_fold_tool_batch", 1)
    return flow.row("storage", "message_row_saved", role="assistant").commit("_commit_model_result", 1).exit(1)


def timed_out(**wait: Any) -> Flow:
    flow = Flow().asking(**wait).click("k", "timeout", "w", timeout=True).returned("k")
    flow.commit("_publish_post_approval", 1).row("client_stream", "tool_result_published", call_id="c")
    flow.session("tools_end", generation=1).session("cancel_synthesis").saved().commit("_fold_tool_batch", 1)
    return flow.exit(1)


def never_begun() -> Flow:
    """A batch with the same id twice is rejected before its tools begin; each call gets its row all the same."""
    flow = Flow().send(1).row("storage", "message_row_saved", role="assistant").commit("_commit_model_result", 1)
    return flow.session("cancel_synthesis").saved().saved().exit(1, sent="send_raised")


def soft_close(ready: bool, late: bool) -> Flow:
    """A soft close; it ends before, or after, the rows that it waits for are written."""
    flow = Flow().asking().session("soft_close_called", "op").stop(0, "op")
    flow.session("send_called", "x").session("generation_claim_refused", "x").session("send_raised", "x")
    flow.sweep("k", thread="op").returned("k")
    if late:
        flow.cancelled(1)
    flow.session("soft_close_returned", "op", ready=ready)
    return flow if late else flow.cancelled(1)


def unswept(ready: bool) -> Flow:
    """A soft close that writes its rows over a card that it has not denied."""
    flow = Flow().asking().session("soft_close_called", "op").stop(0, "op").cancelled(1)
    return flow.session("soft_close_returned", "op", ready=ready)


def closed() -> Flow:
    flow = soft_close(True, True).session("close_called", "op").sweep(thread="op")
    return flow.session("close_returned", "op")


def stopped_at_the_gate() -> Flow:
    """A Stop comes while attention is published; the commit is reported, and the gate entered, after it."""
    flow = Flow().send(1).batch(1).stop(0).commit("_publish_attention", 1)
    flow.items = [{"call_id": "c", "needs_approval": True}]
    flow.row("ui", "gate_entered", items=flow.items).row("ui", "lease_requested").row("ui", "lease_refused")
    return flow.row("ui", "gate_returned", approved=False, items=flow.items).sweep().cancelled(1)


def late_rows_after_close() -> Flow:
    flow = Flow().asking().stop(0).sweep("k").returned("k").commit("_publish_post_approval", 1, admitted=False)
    flow.session("tools_raised", generation=1).session("cancel_synthesis").session("close_called", "op")
    flow.sweep(thread="op").session("close_returned", "op")
    return flow.saved().commit("_finalize_cancelled_generation", 1).exit(1)


def closed_over_a_call(settled: bool) -> Flow:
    flow = Flow().asking().session("close_called", "op")
    if settled:
        flow.saved("op")
    flow.sweep("k", thread="op").session("close_returned", "op").returned("k")
    return flow.orphan(1, 1)


LAWFUL: dict[str, Callable[[], Flow]] = {
    "a turn": lambda: Flow().turn(1, "k"),
    "a successor by force, and the late sweep of the Stop before it": forced_successor,
    "two Stops whose sweeps overlap": overlapping_sweeps,
    "a deadline": lambda: timed_out(approval_wait_seconds=0.1),
    "a deadline of a wait that is not told": timed_out,
    "policy denies one call of a card that is approved": denied_by_policy,
    "a batch that is rejected before it begins": never_begun,
    "no output guard": lambda: Flow().asking().click("k").returned("k", True).done(1, guarded=False),
    "an idle Stop between two turns": lambda: Flow().turn(1, "k").stop(0).sweep().turn(2, "l"),
    "a soft close gives up over owed rows": lambda: soft_close(False, False).turn(2, "l"),
    "a soft close gives up over storage": lambda: soft_close(False, True).turn(3, "l"),
    "a soft close and a close": closed,
    "a Stop while a gate is entered": stopped_at_the_gate,
    "rows that are written late, after a close": late_rows_after_close,
    "a close that writes the owed row itself": lambda: closed_over_a_call(True),
}


@pytest.mark.parametrize("flow", LAWFUL.values(), ids=LAWFUL)
def test_a_lawful_flow(flow: Callable[[], Flow]) -> None:
    one = report(flow().rows)
    assert (one.verdict, one.violations, one.open) == ("ok", (), ())


def click_before_stop() -> Flow:
    """V4: a click takes its lease before the Stop and decides after it."""
    flow = Flow().asking().row("ui", "resolve_called", "ui", approved=True, cycle_id="k", resolver_principal_id="a")
    flow.row("ui", "lease_requested", "ui").row("ui", "lease_granted", "ui").stop(0)
    return flow.row("ui", "cycle_claimed", "ui", cycle_id="k", approved=True, decision="approved")


UNLAWFUL: dict[str, tuple[Callable[[], Flow], str, str]] = {
    "a click before a Stop approves after it": (click_before_stop, "approval-owner-live", "cycle_claimed"),
    "a turn is claimed over an owed row": (lambda: Flow().asking().send(2), "claim-debt-open", "generation_claimed"),
    "a close leaves an owed row": (lambda: closed_over_a_call(False), "calls-closed-by-terminal", "close_returned"),
    "an approved call is denied": (answered_against_its_card, "approval-binds-call", "commit"),
    "a soft close shuts over a card that it has not denied": (
        lambda: unswept(True),
        "close-denies-gates-first",
        "soft_close_returned",
    ),
    "a lease is granted after a Stop": (
        lambda: Flow().send(1).batch(1).stop(0).gate(1, "k"),
        "lease-after-stop",
        "lease_granted",
    ),
    "a wait that was captured as unbounded times out": (
        lambda: timed_out(approval_wait_seconds=None),
        "approval-deadline-captured",
        "resolve_called",
    ),
    "a sweep takes the card of a live owner": (
        lambda: Flow().asking().sweep("k"),
        "sweep-spares-successor",
        "cycle_claimed",
    ),
}


@pytest.mark.parametrize(("flow", "rule", "op"), UNLAWFUL.values(), ids=UNLAWFUL)
def test_an_unlawful_flow(flow: Callable[[], Flow], rule: str, op: str) -> None:
    rows = flow().rows
    one = report(rows)
    assert [(found.rule, rows[found.line - 1]["op"]) for found in one.violations][:1] == [(rule, op)]


def test_what_a_deadline_keeps_to_is_not_checked_where_the_wait_is_not_told() -> None:
    assert "approval-deadline-captured" in report(timed_out().rows).not_checked
    assert "approval-deadline-captured" not in report(timed_out(approval_wait_seconds=0.1).rows).not_checked
