"""A model's answer as a stream, which a Stop cuts at any moment, committed whole or not at all.

An answer goes into one transaction with its calls and the host's own rows. A stream that ends without `message_stop` is
no answer: nothing of it is committed. Why a stream broke off is not guessed from how it broke; the machine `generation`
is asked, and only a Stop that it knows of ends a turn as cancelled.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Timer
from urllib.parse import urlsplit

import attrs

from ...machines.approval import Approval
from ...machines.generation import Generation
from ...machines.kernel import BadInput, Effect, Kernel, Ref, Refused, Request, State
from ...machines.toolcall import Toolcall
from .answer import Answer, Arriving, Call, StreamError
from .wire import Wire

__all__ = ["Ended", "Provider", "owed"]

Fires = Sequence[tuple[Ref, Request]]
Rows = Callable[[Answer], Fires]


@attrs.frozen
class Ended:
    """How a turn's stream ended."""

    state: State
    """Of the generation: finished, failed, stopped, abandoned; active while the answer's calls are owed."""
    answer: Answer
    why: str
    """One line; empty when the answer was committed."""


def owed(turn: Ref, call: Call) -> Ref:
    """The toolcall of a call. A provider's own ids come again in later turns."""
    return Toolcall.ref(f"{turn.id}/{call.id}")


class Provider:
    """One endpoint that speaks Anthropic's Messages API.

    Args:
        kernel: decides.
        url: of the endpoint; http or https.
        headers: sent with each request.
        gone: whether the workstream is deleted for good; asked at each commit.
        silence: seconds to wait for the connection, and for whatever comes next on it.
        longest: seconds that a whole answer may take.
        most: bytes that it may have.
    """

    def __init__(
        self,
        kernel: Kernel,
        url: str,
        headers: Mapping[str, str],
        gone: Callable[[], bool],
        silence: float = 60,
        longest: float = 900,
        most: int = 64 * 2**20,
    ) -> None:
        self.kernel, self.url, self.headers, self.gone = kernel, urlsplit(url), headers, gone
        self.silence, self.longest, self.most = silence, longest, most
        self._open: set[tuple[Ref, Wire]] = set()
        if self.url.scheme not in ("http", "https") or not self.url.hostname:
            raise BadInput("a provider's url begins with http:// or https:// and a host")

    def ask(self, turn: Ref, body: bytes, rows: Rows, show: Callable[[str], object] = lambda text: None) -> Ended:
        """Ask, receive, commit and end the turn; a turn whose answer has calls goes on.

        Args:
            turn: a generation that is claimed and active.
            body: the request, in JSON.
            rows: what to fire in one transaction with an answer, also with one that a Stop cut; it may be refused.
            show: gets each text as it arrives, and none after a Stop of this process.
        """
        arriving, why = Arriving(), ""
        try:
            with self._wire(turn) as wire:
                for event in wire.events(body, self.headers, self.most):
                    if text := arriving.take(event):
                        show(text)
                    if arriving.whole:
                        break
                if not arriving.whole:
                    raise StreamError("the model's stream ended before its answer did")
        except StreamError as broken:
            why = str(broken)
        return self._end(turn, arriving.answer(), rows, why)

    def stop(self, effect: Effect) -> None:
        """Cut the streams that a Stop of their session leaves behind; for the host's handler of `signal`."""
        for turn, wire in tuple(self._open):
            begun = self.kernel.get(turn)
            if begun and begun.links["session"] == effect.ref and begun.data.epoch < effect.payload:
                wire.cut("the session was stopped")

    @contextmanager
    def _wire(self, turn: Ref) -> Iterator[Wire]:
        """A connection that a Stop can find; closed at once when one was before."""
        wire = Wire(self.url, self.silence)
        late = Timer(self.longest, wire.cut, ["the model took too long: whether it answered is not known"])
        late.daemon = True
        self._open.add((turn, wire))
        try:
            late.start()
            registered = self.kernel.fire(turn, Generation.stream_registered())
            if isinstance(registered, Refused):
                raise StreamError(registered.message)
            yield wire
        finally:
            late.cancel()
            self._open.remove((turn, wire))
            wire.close()

    def _end(self, turn: Ref, answer: Answer, rows: Rows, why: str) -> Ended:
        """Try the ends from the best to the worst: the machine accepts the one that is true."""
        begun = self.kernel.get(turn)
        assert begun is not None
        commit = {"deleted": self.gone(), "convergence": False}
        if answer.whole:
            last: Fires = [(turn, Generation.exit_ok())]
            if answer.calls:
                owners = {"session": begun.links["session"], "generation": turn}
                ids = [owed(turn, call).id for call in answer.calls]
                calls = [(Toolcall.ref(id), Toolcall.start(cycle=Approval.ref(id), **owners)) for id in ids]
                last = [(turn, Generation.tools_admitted()), *calls]
            why = self._refused([(turn, Generation.admit_uncancelled(**commit)), *rows(answer), *last])
            if not why:
                return Ended(Generation.active if answer.calls else Generation.finished, answer, "")
            answer = attrs.evolve(answer, calls=(), whole=False)
        cut: Fires = [(turn, Generation.admit(**commit)), *rows(answer)] if answer.text else []
        ends = [(turn, Generation.exit_cancelled()), (turn, Generation.exit_failed()), (turn, Generation.superseded())]
        for fires in ([*cut, ends[0]], *([end] for end in ends)):
            if not self._refused(fires):
                break
        ended = self.kernel.get(turn)
        assert ended is not None
        return Ended(ended.state, answer, why)

    def _refused(self, fires: Fires) -> str:
        """Fire them, all or none; why not, or nothing."""
        refused = [one for one in self.kernel.fire_all(fires) if isinstance(one, Refused)]
        return min(refused, key=lambda one: one.rule == "all-or-none").message if refused else ""
