"""Admission, lease, approval and gate, as the rows of a Turnstone run show them.

A gate is entered once the row before it has let it in (a commit, a dispatch or a claim), which is reported late itself.
A sweep spans from sweep_called to sweep_returned: its barrier goes up after the first and comes down before the second,
so that both its ends are invoked and returned there. A lease is granted or refused between its request and the row that
says so, and given back after the thread's previous row. A claim is a sweep's if its thread is sweeping, else a click's
or a deadline's. What a card or an announcement shows tells that policy and grants were asked before.

Hidden, because no row reports them: `publish`, the latch that is set once the card's lease is given back;
`grants_result`, the lookup of grants, which is left out where policy ends the gate. A resolution that found nothing
(noop) says nothing about a cycle; one that raised was refused by the cycle that it names.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .turnstone_run import Row
from .turnstone_scene import Card, Click, GateCall, Scene, Thread, Turn

__all__ = ["Gates"]

_MOST = 51
_OVER = ("gate_returned", "gate_raised")
_BUDGET = "__budget_override__"


class Gates:
    """Translates the rows of the component ui, and what clients see of approvals."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.run = scene.run
        self._confidence: dict[str, int | None] = {}
        """Of the last live verdict on each raw call id, in thousandths."""
        self.rows: Mapping[str, Callable[[Row, Thread], None]] = {
            "lease_requested": self.requested,
            "lease_granted": self.granted,
            "lease_refused": self.refused,
            "lease_released": self.released,
            "gate_entered": self.entered,
            "gate_returned": self.gate_over,
            "gate_raised": self.gate_over,
            "round_purged": self.purged,
            "tool_pending_published": self.announced,
            "tool_info_published": self.informed,
            "smart_wait_begin": self.smart_begun,
            "smart_wait_end": self.smart_ended,
            "smart_decided": self.smart_decided,
            "llm_verdict_live": self.verdict,
            "cycle_registered": self.registered,
            "approve_request_published": self.shown,
            "cycle_claimed": self.claimed,
            "approval_resolved_published": self.told,
            "cycle_unregistered": self.unregistered,
            "resolve_called": self.clicked,
            "resolve_returned": self.resolved,
            "resolve_raised": self.resolved,
            "sweep_called": self.sweep_called,
            "sweep_returned": self.sweep_returned,
        }

    # --- leases and sweeps --------------------------------------------------------------------------------------------

    def requested(self, row: Row, thread: Thread) -> None:
        turn, session = self._owner(thread)
        lease = thread.fresh("lease")
        thread.leases.append(lease)
        links = {"session": session, "admission": self.scene.admission(row)}
        self.run.at(row, "lease", lease, "start", turn.witness() if turn else {}, links=links)

    def _owner(self, thread: Thread) -> tuple[Turn | None, str]:
        """Whose lease it would be: that of the cycle clicked at, else of the thread's own turn."""
        if thread.clicks:
            card = thread.clicks[-1].card
            return (card.turn, card.session) if card else (None, self.scene.session(thread))
        if thread.gates:
            return thread.gates[-1].turn, self.scene.session(thread)
        return None, self.scene.session(thread)

    def granted(self, row: Row, thread: Thread) -> None:
        if thread.leases:
            self.run.over(self.run.before(row), row, "lease", thread.leases[-1], "grant")

    def refused(self, row: Row, thread: Thread) -> None:
        if not thread.leases:
            return
        lease = thread.leases.pop()
        self.run.over(self.run.before(row), row, "lease", lease, "refuse")
        if thread.gates and not thread.clicks:
            self.run.at(row, "gate", thread.gates[-1].id, "lease_refused", links={"lease": lease})

    def released(self, row: Row, thread: Thread) -> None:
        if thread.leases:
            self.run.over(self.run.before(row), row, "lease", thread.leases.pop(), "release")

    def sweep_called(self, row: Row, thread: Thread) -> None:
        admission = self.scene.admission(row)
        begin = self.run.invoke(row, "admission", admission, "sweep_begin")
        thread.sweeps.append((begin, self.run.invoke(row, "admission", admission, "sweep_end")))

    def sweep_returned(self, row: Row, thread: Thread) -> None:
        if thread.sweeps:
            for end in thread.sweeps.pop():
                self.run.back(row, end)

    # --- gates --------------------------------------------------------------------------------------------------------

    def entered(self, row: Row, thread: Thread) -> None:
        items, turn = row.tables("items"), self.scene.owner(thread)
        batch = thread.batches[-1] if thread.batches else None
        asked = next(self.run.within(row, "cycle_registered", *_OVER), None)
        card = asked.text("cycle_id") if asked else None
        own = batch.gate if batch and not batch.gated else None
        gate = GateCall(own or thread.fresh("gate"), row, turn, items, batch, card)
        if batch:
            batch.gated = True
        thread.gates.append(gate)
        links = {"session": turn.session if turn else self.scene.session(thread), "cycle": card}
        payload = {**(turn.witness() if turn else {}), **self._options(gate)}
        let_in = self.run.since(row)
        self.run.over(self.run.since(let_in), row, "gate", gate.id, "start", payload, links=links)
        for item in items if batch else ():
            call = batch.calls.get(str(item.get("call_id"))) if batch else None
            if call is None:
                continue
            if item.get("error"):
                self.run.at(row, "toolcall", call, "prepare_failed")
                continue
            needs = {"needs_approval": item["needs_approval"]} if "needs_approval" in item else {}
            self.run.at(row, "toolcall", call, "prepare_ok", needs)
            self.run.at(row, "toolcall", call, "gate_opened")

    def _options(self, gate: GateCall) -> dict[str, Any]:
        """The batch and the captured options. Smart options stand in the row only where all items agree on them."""
        pending = _pending(gate.items)
        ids = [item.get("call_id") for item in pending]
        told = self.run.within(gate.entered, "tool_info_published", *_OVER)
        shown = [item for later in told for item in later.tables("items")]
        options: dict[str, Any] = {}
        if "items" in gate.entered.fields:
            options["items"] = min(len(gate.items), _MOST)
            options["pending"] = min(len(pending), _MOST)
            options["ids_distinct"] = all(ids) and len(set(map(str, ids))) == len(ids)
            options["budget_item"] = any(item.get("func_name") == _BUDGET for item in gate.items)
            options["blanket"] = any(item.get("auto_approve_reason") == "blanket" for item in shown)
        smart = gate.entered.table("smart")
        if smart:
            options["smart_on"] = smart.get("enabled") is True
            options["stamps_coherent"] = True
            options["threshold"] = _thousandths(smart.get("threshold"))
        return options

    def purged(self, row: Row, thread: Thread) -> None:
        self._leased(row, thread, "purge_lease")

    def announced(self, row: Row, thread: Thread) -> None:
        self._leased(row, thread, "announce_lease")

    def informed(self, row: Row, thread: Thread) -> None:
        self._policed(row, thread, row)
        self._leased(row, thread, "auto_lease")

    def _leased(self, row: Row, thread: Thread, event: str) -> None:
        if thread.gates:
            self.run.at(row, "gate", thread.gates[-1].id, event, links={"lease": thread.lease()})

    def _policed(self, row: Row, thread: Thread, shows: Row | None) -> None:
        """What the gate shows next tells what policy had said: who was allowed, and who was denied."""
        gate = thread.gates[-1] if thread.gates else None
        if gate is None or gate.policed:
            return
        gate.policed = True
        if gate.batch is not None:
            gate.batch.policed = row
        answer: dict[str, Any] = {}
        if shows is not None and "items" in shows.fields and "items" in gate.entered.fields:
            failed = [item.get("call_id") for item in gate.items if item.get("error")]
            items = shows.tables("items")
            allowed = sum(item.get("auto_approve_reason") == "policy" for item in items)
            denied = sum(bool(item.get("error")) and item.get("call_id") not in failed for item in items)
            left = len(_pending(gate.items)) - allowed - denied
            answer = {"left": min(max(left, 0), _MOST), "any_denied": denied > 0}
        elif "needed" in row.fields:
            answer = {"left": min(len(row.texts("needed")), _MOST)}
        self.run.at(row, "gate", gate.id, "policy_result", answer)
        self.run.hidden(row, "gate", gate.id, "grants_result")

    def smart_begun(self, row: Row, thread: Thread) -> None:
        if not thread.gates:
            return
        gate = thread.gates[-1]
        shows = self.run.later(row, "tool_info_published", "approve_request_published", *_OVER)
        self._policed(row, thread, shows if shows and shows.op not in _OVER else None)
        gate.waiting = row
        self.run.at(row, "gate", gate.id, "smart_start")

    def smart_ended(self, row: Row, thread: Thread) -> None:
        if thread.gates:
            missing = set(row.texts("needed")) - set(row.texts("have"))
            thread.gates[-1].timely = not missing or "have" not in row.fields

    def smart_decided(self, row: Row, thread: Thread) -> None:
        if not thread.gates:
            return
        gate = thread.gates[-1]
        since = gate.waiting or self.run.since(row)
        if not gate.timely:
            self.run.over(since, row, "gate", gate.id, "smart_deadline")
            return
        found = [self._confidence.get(call) for call in row.texts("call_ids")]
        known = [confidence for confidence in found if confidence is not None]
        lowest = {"confidence": min(known) if known and len(known) == len(found) else None}
        self.run.over(since, row, "gate", gate.id, "smart_ready", lowest if self._confidence else {})

    def verdict(self, row: Row, thread: Thread) -> None:
        verdict = row.table("verdict")
        if "call_id" in verdict and "confidence" in verdict:
            self._confidence[str(verdict["call_id"])] = _thousandths(verdict["confidence"])

    def gate_over(self, row: Row, thread: Thread) -> None:
        if not thread.gates:
            return
        gate = thread.gates.pop()
        if gate.batch is not None:
            gate.batch.answers, gate.batch.approved = row.tables("items"), row.flag("approved")
        if gate.card is not None and row.op == "gate_returned":
            self.run.at(row, "gate", gate.id, "cycle_resolved")

    # --- cycles -------------------------------------------------------------------------------------------------------

    def registered(self, row: Row, thread: Thread) -> None:
        id = row.text("cycle_id")
        if id is None:
            return
        turn = thread.gates[-1].turn if thread.gates else self.scene.owner(thread)
        session = turn.session if turn else self.scene.session(thread)
        self.scene.cards[id] = Card(id, turn, session, row.texts("call_ids"))
        links = {"session": session, "admission": self.scene.admission(row), "bundle": thread.lease()}
        principal = row.text("execution_principal_id")
        shows: dict[str, Any] = {"principal": principal} if principal else {}
        entered = thread.gates[-1].entered.fields if thread.gates else {}
        if "approval_wait_seconds" in entered:
            shows["bounded"] = entered["approval_wait_seconds"] is not None
        self.run.at(row, "approval", id, "start", shows, links=links)
        self.run.hidden(row, "approval", id, "publish")

    def shown(self, row: Row, thread: Thread) -> None:
        id = row.text("cycle_id")
        if id is not None:
            self.run.at(row, "approval", id, "show")
        self._policed(row, thread, row)
        self._leased(row, thread, "prompt_lease")

    def clicked(self, row: Row, thread: Thread) -> None:
        thread.clicks.append(Click(row, self._card(row, thread)))
        if row.flag("timeout") and thread.gates:
            self.run.at(row, "gate", thread.gates[-1].id, "deadline")

    def _card(self, row: Row, thread: Thread) -> Card | None:
        """The cycle that a click means: the one it claims, else the one it names, else the last with its call."""
        taken = next(self.run.within(row, "cycle_claimed", "resolve_returned", "resolve_raised"), None)
        if taken is not None:
            return self.scene.cards.get(taken.text("cycle_id") or "")
        named, raw = row.text("cycle_id"), row.text("call_id")
        if named is not None:
            return self.scene.cards.get(named)
        return next((card for card in reversed(self.scene.cards.values()) if raw in card.calls), None)

    def claimed(self, row: Row, thread: Thread) -> None:
        id, yes = row.text("cycle_id"), row.flag("approved")
        if id is None:
            return
        if yes is None:
            yes = row.text("decision") == "approved"
        event = "approve" if yes else "deny"
        if thread.sweeps and not yes:
            self.run.at(row, "approval", id, "cancel")
            return
        if row.text("decision") == "timeout":
            self.run.at(row, "approval", id, "time_out")
            return
        click = thread.clicks[-1] if thread.clicks else None
        if click is not None:
            click.claimed = True
        self._click(row, thread, id, event, click)

    def _click(self, row: Row, thread: Thread, id: str, event: str, click: Click | None, **more: Any) -> None:
        said = click.row if click else row
        payload = {"always": said.flag("always") is True, "feedback": bool(said.text("feedback"))}
        by = said.text("resolver_principal_id") or None
        self.run.at(row, "approval", id, event, payload, by=by, links={"lease": thread.lease()}, **more)

    def told(self, row: Row, thread: Thread) -> None:
        id, approved = row.text("cycle_id"), row.flag("approved")
        if id is None:
            return
        for click in thread.clicks[-1:]:
            click.told = True
        self.run.at(row, "approval", id, "tell", {} if approved is None else {"approved": approved})

    def resolved(self, row: Row, thread: Thread) -> None:
        if not thread.clicks:
            return
        click = thread.clicks.pop()
        if row.op == "resolve_returned" or click.card is None:
            return
        if not click.claimed:
            event = "approve" if click.row.flag("approved") else "deny"
            self._click(row, thread, click.card.id, event, click, outcome="refused")
        elif not click.told:
            self.run.at(row, "approval", click.card.id, "tell_failed")

    def unregistered(self, row: Row, thread: Thread) -> None:
        id = row.text("cycle_id")
        if id is not None:
            self.run.at(row, "approval", id, "unregister")


def _pending(items: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
    return [item for item in items if item.get("needs_approval") and not item.get("error")]


def _thousandths(value: Any) -> int | None:
    """A share in thousandths; None for what is no number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return int(value * 1000 + 1e-6)
