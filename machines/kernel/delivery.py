"""Effects leave through the outbox: after the commit, at least once, in order per instance, answered by an event."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from .errors import BadInput
from .snapshot import Effect, Ref
from .store import Pending, Store

__all__ = ["Delivery"]

Handler = Callable[[Effect], Any]
Answer = Callable[[Effect, str, Mapping[str, Ref], Mapping[str, Any]], Any]
_LOG = logging.getLogger(__name__)


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
        self.unanswered: deque[tuple[Pending, str, Mapping[str, Any]]] = deque()
        """What was performed and could not be answered. Its claim stays: nobody performs it again while we live."""
        self.running = threading.local()

    def register(self, effect: str) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            self.handlers[effect] = handler
            return handler

        return keep

    def run(self) -> int:
        """Deliver until nothing that has a handler waits; returns how many were delivered.

        Called again from within a handler or an answer it leaves the work to the loop that is running.

        Raises:
            Exception: what kept an effect from being answered. The others were delivered; this one was performed, and a
                later run answers it.
        """
        if getattr(self.running, "now", False):
            return 0
        self.running.now = True
        try:
            return self._drain()
        finally:
            self.running.now = False

    def follow(self) -> None:
        """Deliver what a decision described. The decision is made: its caller is told so whatever goes wrong here."""
        if self.handlers or self.unanswered:
            with suppress(Exception):  # told by the log, and by the next `run`
                self.run()

    def _drain(self) -> int:
        delivered, wrong = 0, None
        for _ in range(len(self.unanswered)):
            try:
                claim = self.unanswered.popleft()
            except IndexError:  # another thread was quicker
                break
            try:
                self._reply(*claim)
            except Exception as error:
                wrong = error
            else:
                delivered += 1
        while self.handlers and (pending := self.store.take(self.taker, self.handlers)) is not None:
            how, given = self._perform(pending)
            try:
                self._reply(pending, how, given)
            except Exception as error:
                _LOG.exception("%s is performed (%s) and not answered; deliver() tries again", pending.effect.id, how)
                wrong = error
            else:
                delivered += 1
        if wrong is not None:
            raise wrong
        return delivered

    def _perform(self, pending: Pending) -> tuple[str, Mapping[str, Any]]:
        """Call the handler. One that is interrupted may have done nothing: its effect waits again, for anybody."""
        try:
            returned = self.handlers[pending.effect.name](pending.effect)
        except TimeoutError:
            return "unknown", {}
        except Exception:
            return "failed", {}
        except BaseException as interrupt:
            try:
                self.store.release(pending, self.taker)
            except Exception as error:
                interrupt.add_note(f"{pending.effect.id} could not be given back ({error}): it waits for a restart")
            raise
        return "done", returned if isinstance(returned, Mapping) else {}

    def _reply(self, pending: Pending, how: str, given: Mapping[str, Any]) -> None:
        """Fire the answer, and only then settle: a crash in between repeats, it loses nothing.

        The answer is bound to the effect's id, so that a repeat cannot answer twice. A `done` that does not say what
        its event needs to know is answered as unknown.
        """
        try:
            try:
                self.answer(pending.effect, how, pending.links, given)
            except BadInput:
                how, given = "unknown", {}
                self.answer(pending.effect, how, pending.links, given)
            self.store.settle(pending, self.taker, how)
        except BaseException:
            self.unanswered.append((pending, how, given))
            raise
