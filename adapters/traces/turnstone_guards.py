"""The output guard's evaluations, as the rows of a Turnstone run show them.

An evaluation is one guard_begin to guard_end or guard_raised on a thread. Rows are admitted, and a warning is
published, before the first row that reports it; storage is written later. Where the model was not asked, nothing
reports the heuristic before guard_end. The guard object is a machine of part 2: guard_lease only says whether the model
was asked.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .turnstone_run import Row
from .turnstone_scene import GuardCall, Scene, Thread

__all__ = ["Guards"]


class Guards:
    """Translates the rows of the component guard and the brackets around them."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.run = scene.run
        self.rows: Mapping[str, Callable[[Row, Thread], None]] = {
            "guard_begin": self.begun,
            "guard_eval_called": self.asked,
            "guard_lease": self.leased,
            "guard_eval_returned": self.answered,
            "assessment_row_inserted": self.stored,
            "output_warning_published": self.warned,
            "guard_end": self.ended,
            "guard_raised": self.raised,
        }

    def begun(self, row: Row, thread: Thread) -> None:
        turn, raw = self.scene.named(row), row.text("call_id")
        batch = turn.batch if turn else None
        guard = GuardCall(thread.fresh("guard"), turn, batch, raw if batch and raw in batch.cleared else None)
        thread.guards.append(guard)
        links = {"session": turn.session if turn else self.scene.session(thread)}
        witness = turn.witness() if turn else {}
        self.run.over(self.run.since(row), row, "guard_evaluation", guard.id, "start", witness, links=links)

    def asked(self, row: Row, thread: Thread) -> None:
        for guard in thread.guards[-1:]:
            guard.asked = row
            self._screened(row, guard, row.text("heuristic_risk"), row.fields.get("heuristic_flags"))

    def leased(self, row: Row, thread: Thread) -> None:
        for guard in thread.guards[-1:]:
            if guard.asked is not None and row.flag("granted"):
                guard.model = True
                self._over(guard.asked, row, guard, "llm_started")

    def answered(self, row: Row, thread: Thread) -> None:
        for guard in thread.guards[-1:]:
            if not guard.model:
                continue
            if row.text("error") is not None:
                self._at(row, guard, "llm_error")
            else:
                self._at(row, guard, "llm_verdict", _found(row.text("risk_level"), row.fields.get("flags")))

    def stored(self, row: Row, thread: Thread) -> None:
        for guard in thread.guards[-1:]:
            self._admitted(row, guard)

    def warned(self, row: Row, thread: Thread) -> None:
        for guard in thread.guards[-1:]:
            self._shown(row, guard)

    def ended(self, row: Row, thread: Thread) -> None:
        if not thread.guards:
            return
        guard = thread.guards.pop()
        self._shown(row, guard)
        if call := _unanswered(guard):
            self.run.over(self.run.since(row), row, "toolcall", call, "guard_returned")

    def raised(self, row: Row, thread: Thread) -> None:
        if not thread.guards:
            return
        guard = thread.guards.pop()
        self._over(self.run.since(row), row, guard, "owner_aborted")
        if call := _unanswered(guard):
            self.run.at(row, "toolcall", call, "guard_refused")

    def _screened(self, row: Row, guard: GuardCall, risk: str | None, flags: Any) -> None:
        guard.screened = True
        end = self._end(row)
        changed = end.flag("changed")
        found = _found(risk, flags)
        self._at(row, guard, "heuristic_done", found if changed is None else {**found, "redact": changed})

    def _end(self, row: Row) -> Row:
        """How the evaluation ends; where the recording does before it, the row itself, which says nothing of it."""
        return row if row.op == "guard_end" else self.run.later(row, "guard_end", "guard_raised") or row

    def _admitted(self, row: Row, guard: GuardCall) -> None:
        if guard.admitted:
            return
        guard.admitted = True
        if not guard.screened:
            end = self._end(row)
            self._screened(row, guard, end.text("risk"), end.fields.get("flags"))
        if not guard.model:
            self._at(row, guard, "llm_skipped")
        self._over(self.run.since(row), row, guard, "admit_rows")

    def _shown(self, row: Row, guard: GuardCall) -> None:
        self._admitted(row, guard)
        if not guard.warned:
            guard.warned = True
            self._over(self.run.since(row), row, guard, "show_warning")

    def _at(self, row: Row, guard: GuardCall, event: str, payload: Mapping[str, Any] | None = None) -> None:
        self.run.at(row, "guard_evaluation", guard.id, event, payload)

    def _over(self, since: Row, row: Row, guard: GuardCall, event: str) -> None:
        self.run.over(since, row, "guard_evaluation", guard.id, event)


def _unanswered(guard: GuardCall) -> str | None:
    """The call whose output it was; None when it is no call of a batch, or its row was written meanwhile."""
    if guard.batch is None or guard.raw is None or guard.raw in guard.batch.written:
        return None
    return guard.batch.calls[guard.raw]


def _found(risk: str | None, flags: Any) -> dict[str, Any]:
    found: dict[str, Any] = {} if risk is None else {"risk": risk}
    return found if not isinstance(flags, list) else {**found, "flags": flags}
