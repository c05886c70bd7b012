"""Session, generation and toolcall, as the rows of a Turnstone run show them.

Spans. A commit, a claim and an exit are reported when they are over; so is a refusal of one. Each began after the
thread's previous row that is no part of it: neither storage, nor client_stream, nor cancel_synthesis. The calls of a
batch are admitted by the commit of their assistant block, which does not name them: from there to tools_begin. A call
that was denied was so after policy had answered, whose own denials come before the card's, until the commit after the
gate. The row of a call is a part of the commit that follows it on its thread, or of the force around it, and says which
of the three ways of answering a call it was; where no commit follows (a failed turn's finalizer is not reported) the
call is answered like in a fold. A second row of a call is one more answer. A close writes the rows of owed calls from
close_called on; those that it has not written at close_returned it did not write.

Hidden, because no row reports them: `execute`, the start of a call that was let through; `gate_cancelled`, the receipt
staged for a call of a failed turn; `guard_returned`, when the output guard is off and nothing reviews a batch;
`debt_timeout`, `debt_settled` and `tickets_unsettled`, of which one or two end a soft close that gave up.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...machines.checking import Record
from ...machines.toolcall import Reason
from .turnstone_run import Row
from .turnstone_scene import Batch, Scene, Thread, Turn

__all__ = ["Turns"]

_COMMITS = {
    "_commit_model_result": "admit",
    "_start_tools": "admit_uncancelled",
    "_publish_attention": "admit_uncancelled",
    "_publish_post_approval": "admit_uncancelled",
    "_fold_tool_batch": "fold",
}
"""What a commit allows; one of another name is taken for the kind that is refused least."""
_REASONS = [reason.value for reason in Reason]
_ACCEPTED = "_commit_model_result"
_CLEARED = "_publish_post_approval"
_CANCELLED = "_finalize_cancelled_generation"
_OVER = ("tools_end", "tools_raised")
"""The ends of a batch."""


class Turns:
    """Translates the rows of the component session, and the rows of calls."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.run = scene.run
        self.rows: Mapping[str, Callable[[Row, Thread], None]] = {
            "generation_claimed": self.claimed,
            "generation_claim_refused": self.claim_refused,
            "cancel_consumed": self.exited,
            "send_returned": self.sent,
            "send_raised": self.sent,
            "commit": self.committed,
            "publication_refused": self.unpublished,
            "tools_begin": self.tools_begun,
            "tools_end": self.tools_ended,
            "tools_raised": self.tools_over,
            "tool_result_published": self.result,
            "message_row_saved": self.saved,
            "stop_called": self.stop_called,
            "stop_returned": self.stop_returned,
            "soft_close_called": self.soft_close_called,
            "soft_close_returned": self.soft_close_returned,
            "close_called": self.close_called,
            "close_returned": self.close_returned,
            "force_abandon_called": self.force_called,
            "force_abandon_returned": self.force_returned,
        }

    # --- turns ------------------------------------------------------------------------------------------------------

    def claimed(self, row: Row, thread: Thread) -> None:
        number, session = row.count("generation"), self.scene.session(thread)
        if number is None:
            return
        since = self.run.since(row)
        turn = Turn(f"{session}/{number}", session, number, self.scene.epoch(session, since))
        self.scene.turns[session, number] = turn
        thread.turns.append(turn)
        self.run.over(since, row, "session", session, "claim", {"expected": None})
        self._turn(turn, "start", since, row, {"number": number}, links={"session": session})

    def claim_refused(self, row: Row, thread: Thread) -> None:
        self.run.over(self.run.since(row), row, "session", self.scene.session(thread), "claim", outcome="refused")

    def exited(self, row: Row, thread: Thread) -> None:
        turn = self.scene.named(row)
        if turn is None or turn.over:
            return
        turn.over = True
        current = row.count("current")
        sent = self.run.later(row, "send_returned", "send_raised")
        raised = sent is not None and sent.op == "send_raised"
        ended = "exit_cancelled" if turn.cancelled else "exit_failed" if raised else "exit_ok"
        self._turn(turn, ended if current in (None, turn.number) else "superseded", self.run.since(row), row)

    def sent(self, row: Row, thread: Thread) -> None:
        if thread.turns:
            thread.turns.pop()

    def unpublished(self, row: Row, thread: Thread) -> None:
        turn = self.scene.named(row)
        if turn is not None:
            self._turn(turn, "admit_uncancelled", self.run.since(row), row, outcome="refused")

    def committed(self, row: Row, thread: Thread) -> None:
        what, refused = row.said("what"), row.flag("admitted") is False
        outcome = "refused" if refused else None
        turn, since = self.scene.named(row), self.run.since(row)
        if turn is None:
            if row.count("generation") == 0 and not thread.forces:
                self.run.over(since, row, "session", self.scene.session(thread), "commit_unscoped", outcome=outcome)
            return
        if what == _CLEARED and not refused:
            self._turn(turn, "admit_uncancelled", since, row)
            for batch in thread.batches[-1:]:
                self._cleared(batch, since, row)
            return
        self._turn(turn, _COMMITS.get(what, "admit"), since, row, outcome=outcome)
        if refused:
            return
        if what == _ACCEPTED:
            turn.accepted, turn.batch = since, None
        elif what == _CANCELLED:
            turn.cancelled = True
            if turn.batch is not None:
                self._turn(turn, "rows_complete", since, row)

    def _turn(
        self, turn: Turn, event: str, since: Row, row: Row, payload: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        self.run.over(since, row, "generation", turn.id, event, payload, **more)

    # --- calls ------------------------------------------------------------------------------------------------------

    def tools_begun(self, row: Row, thread: Thread) -> None:
        turn = self.scene.named(row)
        if turn is None:
            return
        since = turn.accepted or self.run.since(row)
        calls = {raw: f"{turn.id}/{thread.fresh('batch')}/{raw}" for raw in row.texts("call_ids")}
        entered = next(self.run.within(row, "gate_entered", *_OVER), None)
        turn.batch = Batch(turn, calls, gate=thread.fresh("gate") if entered else None)
        thread.batches.append(turn.batch)
        self._turn(turn, "tools_admitted", since, row)
        cards = {
            raw: later.text("cycle_id")
            for later in self.run.within(row, "cycle_registered", *_OVER)
            for raw in later.texts("call_ids")
        }
        for raw, id in calls.items():
            asked: dict[str, str | None] = {"gate": turn.batch.gate, "cycle": cards.get(raw)}
            links = {"session": turn.session, "generation": turn.id, **asked}
            self.run.over(since, row, "toolcall", id, "start", links=links)

    def _cleared(self, batch: Batch, since: Row, row: Row) -> None:
        """The post-approval commit lets through, or turns away, what the gate before it answered."""
        for item in batch.answers:
            raw = item.get("call_id")
            call = batch.calls.get(raw) if isinstance(raw, str) else None
            if call is None or raw is None or item.get("error"):
                continue
            if item.get("denied") or (batch.approved is False and item.get("needs_approval")):
                self.run.over(batch.policed or since, row, "toolcall", call, "denied")
                continue
            batch.cleared.add(raw)
            if "auto_approve_reason" in item:
                reason = item["auto_approve_reason"]
                known = {"reason": reason if reason in _REASONS else None}
                self.run.over(since, row, "toolcall", call, "bypassed", known)
            elif item.get("needs_approval"):
                self.run.over(since, row, "toolcall", call, "approved")
            self.run.hidden(row, "toolcall", call, "execute")

    def result(self, row: Row, thread: Thread) -> None:
        raw = row.text("call_id")
        if raw is None or row.flag("accepted"):
            return
        for batch in self.scene.batches():
            if raw in batch.cleared and raw not in batch.written:
                self.run.at(row, "toolcall", batch.calls[raw], "result")

    def tools_ended(self, row: Row, thread: Thread) -> None:
        batch = thread.batches[-1] if thread.batches else None
        self.tools_over(row, thread)
        if batch is None or self._reviewed(row, batch):
            return
        for raw in batch.cleared:
            self.run.hidden(row, "toolcall", batch.calls[raw], "guard_returned")

    def _reviewed(self, row: Row, batch: Batch) -> bool:
        """Whether the output guard looks at the results of a batch, on whatever thread, before they are folded."""
        begun = self.run.meanwhile(row, "guard_begin", self.run.later(row, "commit"))
        return any(later.count("generation") == batch.turn.number for later in begun)

    def tools_over(self, row: Row, thread: Thread) -> None:
        if thread.batches:
            thread.batches.pop()

    def saved(self, row: Row, thread: Thread) -> None:
        raw = row.text("call_id") if row.text("role") == "tool" else None
        turn = thread.forces[-1][1] if thread.forces else self.scene.owner(thread)
        if raw is not None and thread.closes:
            self._closed(row, thread, raw)
            return
        report = self.run.report(row)
        if raw is None or turn is None or turn.batch is None or report is None:
            return
        call, since = turn.batch.calls.get(raw, f"{turn.id}/{raw}"), self.run.since(row)
        what = report.said("what") if report.op == "commit" else None
        if raw in turn.batch.written:
            self.run.over(since, row, "toolcall", call, "answer")
            return
        turn.batch.written.add(raw)
        if thread.forces:
            self.run.over(thread.forces[-1][0], row, "toolcall", call, "force_abandon")
        elif what == _CANCELLED:
            self.run.over(since, row, "toolcall", call, "stop")
        else:
            if report.op != "commit":
                self.run.hidden(since, "toolcall", call, "gate_cancelled")
            self.run.over(since, row, "toolcall", call, "answer")

    def _closed(self, row: Row, thread: Thread, raw: str) -> None:
        """A close writes the row of a call that is owed one."""
        writes = thread.closes[-1][2]
        for turn in self.scene.turns.values():
            call = turn.batch.calls.get(raw) if turn.batch else None
            if turn.batch and call in writes and raw not in turn.batch.written:
                turn.batch.written.add(raw)
                self.run.back(row, writes.pop(call))
                return

    # --- the end of turns -------------------------------------------------------------------------------------------

    def stop_called(self, row: Row, thread: Thread) -> None:
        session = self.scene.session(thread)
        inner = thread.soft_closes and thread.soft_closes[-1] is not None
        stop = None if inner else self.run.invoke(row, "session", session, "stop")
        thread.stops.append((self.scene.moves(session, row), stop))

    def stop_returned(self, row: Row, thread: Thread) -> None:
        if not thread.stops:
            return
        span, stop = thread.stops.pop()
        span.ended = row
        if stop is not None:
            self.run.back(row, stop)
        elif thread.soft_closes and (closing := thread.soft_closes[-1]) is not None:
            self.run.back(row, closing)
            thread.soft_closes[-1] = None

    def soft_close_called(self, row: Row, thread: Thread) -> None:
        thread.soft_closes.append(self.run.invoke(row, "session", self.scene.session(thread), "soft_close"))

    def soft_close_returned(self, row: Row, thread: Thread) -> None:
        session, since = self.scene.session(thread), self.run.since(row)
        if not thread.soft_closes:
            return
        closing, ready = thread.soft_closes.pop(), row.flag("ready")
        if closing is not None:
            self.run.back(row, closing, None if ready else "refused")
        elif ready:
            self.run.over(since, row, "session", session, "debt_settled")
            self.run.over(since, row, "session", session, "tickets_settled")
        else:
            for event in ("debt_timeout", "debt_settled", "tickets_unsettled"):
                self.run.hidden(since, "session", session, event)

    def close_called(self, row: Row, thread: Thread) -> None:
        session = self.scene.session(thread)
        close = self.run.invoke(row, "session", session, "close")
        batches = [turn.batch for turn in self.scene.turns.values() if turn.session == session and turn.batch]
        owed = [id for batch in batches for raw, id in batch.calls.items() if raw not in batch.written]
        writes = {id: self.run.invoke(row, "toolcall", id, "stop") for id in owed}
        thread.closes.append((self.scene.moves(session, row), close, writes))

    def close_returned(self, row: Row, thread: Thread) -> None:
        if not thread.closes:
            return
        span, close, writes = thread.closes.pop()
        span.ended = row
        for unwritten in writes.values():
            self.run.back(row, unwritten, "lapsed")
        self.run.back(row, close)

    def force_called(self, row: Row, thread: Thread) -> None:
        turn = self.scene.named(row)
        answer = self.run.later(row, "force_abandon_returned")
        calls: list[Record] = []
        if turn is not None and (answer is None or answer.flag("abandoned")):
            number = {"number": turn.number}
            calls.append(self.run.invoke(row, "session", turn.session, "abandon", number))
        if turn is not None and not turn.over:
            calls.append(self.run.invoke(row, "generation", turn.id, "force_abandon"))
        thread.forces.append((row, turn, tuple(calls)))

    def force_returned(self, row: Row, thread: Thread) -> None:
        if not thread.forces:
            return
        _, turn, calls = thread.forces.pop()
        for call in calls:
            self.run.back(row, call, None if row.flag("abandoned") else "refused")
        if turn is not None and row.flag("abandoned"):
            turn.over = True
