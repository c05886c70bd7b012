"""Effects leave through the outbox: after the commit, at least once, in order per instance, answered by an event."""

import threading
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from .errors import BadInput
from .snapshot import Effect, Ref
from .store import Pending, Store

__all__ = ["Delivery"]

Handler = Callable[[Effect], Any]
Answer = Callable[[Effect, str, Mapping[str, Ref], Mapping[str, Any]], Any]


class Delivery:
    """Takes waiting effects one by one, calls their handlers, and fires what answers them.

    Args:
        store: its outbox.
        answer: fires the event that answers an effect: (effect, done|failed|unknown, links, payload fields).
    """

    def __init__(self, store: Store, answer: Answer) -> None:
        self.store = store
        self.answer = answer
        self.handlers: dict[str, Handler] = {}
        self.taker = uuid4().hex
        self.running = threading.local()

    def register(self, effect: str) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            self.handlers[effect] = handler
            return handler

        return keep

    def run(self) -> int:
        """Deliver until nothing that has a handler waits; returns how many were delivered.

        Called again from within a handler or an answer it leaves the work to the loop that is running.
        """
        if getattr(self.running, "now", False):
            return 0
        self.running.now = True
        try:
            return self._drain()
        finally:
            self.running.now = False

    def _drain(self) -> int:
        delivered = 0
        while self.handlers and (pending := self.store.take(self.taker, self.handlers)) is not None:
            self._perform(pending)
            delivered += 1
        return delivered

    def _perform(self, pending: Pending) -> None:
        """Call the handler, fire the answer, and only then settle: a crash in between repeats, it loses nothing.

        The answer is bound to the effect's id, so that a repeat cannot answer twice. A `done` that does not say what
        its event needs to know is answered as unknown.
        """
        effect = pending.effect
        assert effect.ref is not None
        given: Mapping[str, Any] = {}
        try:
            returned = self.handlers[effect.name](effect)
        except TimeoutError:
            how = "unknown"
        except Exception:
            how = "failed"
        else:
            how, given = "done", returned if isinstance(returned, Mapping) else {}
        try:
            self.answer(effect, how, pending.links, given)
        except BadInput:
            how = "unknown"
            self.answer(effect, how, pending.links, {})
        self.store.settle(pending, self.taker, how)
