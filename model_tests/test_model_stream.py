"""A model's stream over real sockets: whole and committed, or cut anywhere and nothing; and a Stop that cuts it."""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ..adapters.models.answer import Answer
from ..adapters.models.stream import Ended, Provider, owed
from ..machines import MACHINES, Cycle, Generation, Kernel, MemoryStore, Session, Toolcall
from ..machines.checking import Begin, judge
from ..machines.kernel import BadInput, Ref, Request
from ..machines.session import signal
from .grounds import MemoryGround
from .loopback import Loopback, chunked, events, plain, sized, until

BEGIN: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "well"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "A lever "}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "früme.\n"}},
    {"type": "content_block_stop", "index": 1},
]
CALL: list[dict[str, Any]] = [
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c1", "name": "read"}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"path": '}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '"a.md"}'}},
    {"type": "content_block_stop", "index": 2},
]
END: list[dict[str, Any]] = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
TEXT = "A lever früme.\n"
WHOLE = b"".join(events(*BEGIN, *END))
CALLING = b"".join(events(*BEGIN, *CALL, *END))


class Desk:
    """A host of one chat: a kernel, a session with a claimed turn, and a cycle that waits for its response."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.kernel = Kernel(self.store, mode=dict.fromkeys(MACHINES.values(), "enforce"))
        self.session = self.kernel.start(Session, id="s", principal="me").ref
        self.cycle = self.kernel.start(Cycle, id="c", baseline="b", first=True).ref
        self.turn = self.claim(1)
        self.shown: list[str] = []
        self.asked: list[Answer] = []

    def claim(self, number: int) -> Ref:
        turn = Generation.ref(f"turn-{number}")
        start = Generation.start(number=number, session=self.session)
        done = self.kernel.fire_all([(self.session, Session.claim(expected=None)), (turn, start)])
        assert all(one.accepted for one in done)
        return turn

    def rows(self, answer: Answer) -> Sequence[tuple[Ref, Request]]:
        self.asked.append(answer)
        return [(self.cycle, Cycle.capture(response="r", body=answer.text))] if answer.whole else []

    def ask(self, url: str, rows: Any = None, show: Any = None, **limits: Any) -> Ended:
        provider = Provider(self.kernel, url, {"x-api-key": "k"}, gone=lambda: False, **limits)
        self.kernel.handler(signal)(provider.stop)
        return provider.ask(self.turn, b"{}", rows or self.rows, show or self.shown.append)

    def hear(self, response: bytes, end: str = "hang up", **limits: Any) -> Ended:
        with Loopback(response, end) as server:
            return self.ask(server.url, **limits)

    def stop(self) -> None:
        assert self.kernel.fire(self.session, Session.stop()).accepted

    def state(self, ref: Ref) -> Any:
        found = self.kernel.get(ref)
        return found and found.state

    def events(self, ref: Ref) -> list[str]:
        return [entry.event for entry in self.store.journal if entry.decision.ref == ref]

    def nothing_committed(self) -> bool:
        return self.state(self.cycle) == Cycle.preflight_started and "admit_uncancelled" not in self.events(self.turn)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    (report,) = judge(MACHINES, [Begin("", complete=True), *MemoryGround(desk.store).journal()])
    assert report.verdict in ("ok", "incomplete"), report.violations


@pytest.mark.parametrize("framed", [plain, sized, chunked])
@pytest.mark.parametrize("end", ["hang up", "silence"])
def test_an_answer_is_committed_with_the_hosts_rows_and_ends_the_turn(desk: Desk, framed: Any, end: str) -> None:
    """Nobody waits for a server that has said `message_stop` and keeps the line open."""
    ended = desk.hear(framed(WHOLE), end, silence=5.0)
    assert ended == Ended(Generation.finished, Answer(TEXT, (), True), "")
    assert desk.events(desk.turn) == ["start", "stream_registered", "admit_uncancelled", "exit_ok"]
    assert desk.state(desk.cycle) == Cycle.response_captured
    assert "".join(desk.shown) == TEXT


def test_calls_are_owed_in_the_same_commit_and_the_turn_goes_on(desk: Desk) -> None:
    ended = desk.hear(plain(CALLING))
    assert (ended.state, ended.why) == (Generation.active, "")
    assert [(call.id, call.name, call.input) for call in ended.answer.calls] == [("c1", "read", {"path": "a.md"})]
    assert desk.state(Toolcall.ref("turn-1/c1")) == Toolcall.owed
    assert desk.events(desk.turn) == ["start", "stream_registered", "admit_uncancelled", "tools_admitted"]


def test_the_request_is_what_the_host_said(desk: Desk) -> None:
    with Loopback(plain(WHOLE)) as server:
        desk.ask(server.url)
        assert server.requests[0].startswith(b"POST /v1/messages HTTP/1.1\r\n")
        assert b"x-api-key: k\r\n" in server.requests[0]


def cut_everywhere(response: bytes, end: str, step: int) -> None:
    """At each point before the last byte of `message_stop`: failed, and nothing of it is committed."""
    last = response.rindex(b"message_stop") + len(b'message_stop"}\n\n')
    for at in range(0, last, step):
        desk = Desk()
        ended = desk.hear(response[:at], end)
        assert ended.state == Generation.failed, at
        assert ended.why and not ended.answer.whole and not ended.answer.calls
        assert desk.nothing_committed() and desk.state(Toolcall.ref("turn-1/c1")) is None
        assert TEXT.startswith("".join(desk.shown))


def test_a_stream_cut_anywhere_is_no_answer() -> None:
    cut_everywhere(plain(CALLING), "hang up", 2)


@pytest.mark.parametrize("framed", [sized, chunked])
def test_no_framing_makes_a_cut_stream_an_answer(framed: Any) -> None:
    cut_everywhere(framed(CALLING), "hang up", 13)


def test_nor_does_a_reset_connection() -> None:
    cut_everywhere(plain(CALLING), "reset", 29)


def test_a_stop_wakes_a_reader_that_waits_for_a_silent_server(desk: Desk) -> None:
    """What was seen is cleanup: admitted after the Stop, with the host's rows, and not as an answer."""

    def stop() -> None:
        until(lambda: "früme" in "".join(desk.shown))
        desk.stop()

    with Loopback(plain(b"".join(events(*BEGIN))), "silence") as server:
        stopper = threading.Thread(target=stop)
        stopper.start()
        before = time.monotonic()
        ended = desk.ask(server.url)
        assert time.monotonic() - before < 5
        stopper.join()
    assert ended == Ended(Generation.stopped, Answer(TEXT, (), False), "the session was stopped")
    assert desk.events(desk.turn) == ["start", "stream_registered", "admit", "exit_cancelled"]
    assert desk.asked == [Answer(TEXT, (), False)] and desk.nothing_committed()


def test_nothing_is_shown_after_a_stop(desk: Desk) -> None:
    def show(text: str) -> None:
        desk.shown.append(text)
        desk.stop()

    with Loopback(plain(WHOLE)) as server:
        assert desk.ask(server.url, show=show).state == Generation.stopped
    assert desk.shown == ["A lever "]


def test_a_stop_before_the_stream_closes_it_at_once(desk: Desk) -> None:
    desk.stop()
    with Loopback(plain(WHOLE)) as server:
        ended = desk.ask(server.url)
        assert server.requests == []
    assert ended.state == Generation.stopped and desk.nothing_committed()
    assert desk.events(desk.turn) == ["start", "exit_cancelled"]


def test_the_late_signal_of_an_earlier_stop_cuts_nothing(desk: Desk) -> None:
    """It waited in the outbox while the next turn began."""
    desk.stop()
    desk.kernel.fire(desk.turn, Generation.exit_cancelled())
    desk.turn = desk.claim(2)
    with Loopback(plain(WHOLE)) as server:
        assert desk.ask(server.url, show=lambda text: desk.kernel.deliver()).state == Generation.finished


def test_a_stop_between_the_last_byte_and_the_commit_wins(desk: Desk) -> None:
    def rows(answer: Answer) -> Sequence[tuple[Ref, Request]]:
        if answer.whole:
            desk.stop()
        return desk.rows(answer)

    with Loopback(plain(CALLING)) as server:
        ended = desk.ask(server.url, rows=rows)
    assert (ended.state, ended.answer) == (Generation.stopped, Answer(TEXT, (), False))
    assert "from Stop to exit nothing is admitted but cleanup" in ended.why
    assert desk.nothing_committed() and desk.state(Toolcall.ref("turn-1/c1")) is None


def test_an_orphan_writes_nothing(desk: Desk) -> None:
    """A successor took the turn while the stream ran."""

    def show(text: str) -> None:
        if not desk.shown:
            desk.claim(2)
        desk.shown.append(text)

    with Loopback(plain(WHOLE)) as server:
        ended = desk.ask(server.url, show=show)
    assert ended.state == Generation.abandoned and desk.nothing_committed()
    assert desk.events(desk.turn) == ["start", "stream_registered", "superseded"]


def test_a_closed_session_ends_the_stream_as_stopped(desk: Desk) -> None:
    with Loopback(plain(WHOLE)) as server:
        ended = desk.ask(server.url, show=lambda text: desk.kernel.fire(desk.session, Session.close()))
    assert ended.state == Generation.stopped and desk.nothing_committed()


def test_a_refused_row_takes_the_answer_with_it(desk: Desk) -> None:
    desk.kernel.fire(desk.cycle, Cycle.capture(response="another"))
    ended = desk.hear(plain(WHOLE))
    assert ended.state == Generation.failed and "same_response" not in desk.events(desk.turn)
    assert "after a failed commit resume, never capture again" in ended.why
    assert desk.events(desk.turn) == ["start", "stream_registered", "exit_failed"]


def test_a_call_id_that_comes_again_is_another_call(desk: Desk) -> None:
    """A provider's ids are unique within an answer at best."""
    desk.hear(plain(CALLING))
    call = Toolcall.ref("turn-1/c1")
    desk.stop()
    desk.kernel.fire_all([(call, Toolcall.stop()), (desk.turn, Generation.rows_complete())])
    desk.kernel.fire(desk.turn, Generation.exit_cancelled())
    desk.turn = desk.claim(2)
    ended = desk.hear(plain(CALLING), rows=lambda answer: [])
    assert desk.state(call) == Toolcall.answered
    assert desk.state(owed(desk.turn, ended.answer.calls[0])) == Toolcall.owed


def test_silence_is_unknown_and_bounded(desk: Desk) -> None:
    ended = desk.hear(plain(b"".join(events(*BEGIN))), "silence", silence=0.1)
    assert ended.state == Generation.failed and desk.nothing_committed()
    assert ended.why == "the model is silent: whether it answered is not known"


def test_a_server_that_drips_is_bounded(desk: Desk) -> None:
    with Loopback(plain(WHOLE), drip=0.01) as server:
        ended = desk.ask(server.url, longest=0.2)
    assert ended.state == Generation.failed and desk.nothing_committed()
    assert ended.why == "the model took too long: whether it answered is not known"


def test_no_server_is_a_failed_turn(desk: Desk) -> None:
    with Loopback(b"") as server:
        url = server.url
    ended = desk.ask(url)
    assert ended.state == Generation.failed and "cannot be reached" in ended.why


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **part: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": part}


def close(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


TOOL = {"type": "tool_use", "id": "c", "name": "n"}
OUT_OF_ORDER = {
    "an open block": [start(0, type="text"), *END],
    "a block in a block": [start(0, type="text"), start(1, type="text"), close(1), *END],
    "a piece of no block": [delta(0, type="text_delta", text="x"), *END],
    "a piece of another block": [start(0, type="text"), delta(1, type="text_delta", text="x"), close(0), *END],
    "the end of another block": [start(0, type="text"), close(1), *END],
    "a start without a block": [{"type": "content_block_start", "index": 0}, close(0), *END],
    "an error": [{"type": "error", "error": {"type": "overloaded_error"}}, *END],
    "an input cut short": [start(0, **TOOL), delta(0, type="input_json_delta", partial_json='{"a":'), close(0), *END],
    "an input that is a list": [start(0, **TOOL), delta(0, type="input_json_delta", partial_json="[]"), close(0), *END],
    "a deep input": [start(0, **TOOL), delta(0, type="input_json_delta", partial_json="[" * 9999), close(0), *END],
    "a call without an id": [start(0, type="tool_use", name="n"), close(0), *END],
    "a call without a name": [start(0, type="tool_use", id="c"), close(0), *END],
    "one call id twice": [start(0, **TOOL), close(0), start(1, **TOOL), close(1), *END],
    "a text that is a number": [start(0, type="text"), delta(0, type="text_delta", text=1), close(0), *END],
}


@pytest.mark.parametrize("given", OUT_OF_ORDER.values(), ids=OUT_OF_ORDER)
def test_what_is_out_of_order_is_no_answer(desk: Desk, given: list[dict[str, Any]]) -> None:
    ended = desk.hear(plain(b"".join(events(*given))))
    assert ended.state == Generation.failed and ended.why and "\n" not in ended.why and desk.nothing_committed()


HEAD = plain(b"")
HOSTILE = {
    "nothing": b"",
    "no HTTP": b"\x00\x01\x02\r\n\r\n",
    "an error": HEAD.replace(b"200 OK", b"529 Overloaded") + WHOLE,
    "a redirect": HEAD.replace(b"200 OK", b"302 Found\r\nLocation: http://127.0.0.1:1/") + WHOLE,
    "a page": HEAD.replace(b"text/event-stream", b"text/html") + WHOLE,
    "no JSON": HEAD + b"data: {\n\n" + WHOLE,
    "invalid UTF-8": HEAD + b'data: {"type": "\xff"}\n\n' + WHOLE,
    "deep nesting": HEAD + b"data: " + b"[" * 100_000 + b"\n\n" + WHOLE,
    "no type": HEAD + b"data: {}\n\n" + WHOLE,
    "a long line": HEAD + b"data: " + b" " * 2**20 + WHOLE,
    "too much": HEAD + b": nothing\n" * 3_000 + WHOLE,
    "bad chunks": chunked(b"").replace(b"0\r\n\r\n", b"zz\r\n") + WHOLE,
}


@pytest.mark.parametrize("response", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_stream_is_no_answer(desk: Desk, response: bytes) -> None:
    ended = desk.hear(response, most=20_000)
    assert ended.state == Generation.failed and ended.why and "\n" not in ended.why and desk.nothing_committed()


def test_a_line_without_end_is_said_to_be_one(desk: Desk) -> None:
    assert "a line of it is longer than allowed" in desk.hear(HOSTILE["a long line"]).why


def test_events_and_blocks_of_unknown_kinds_are_passed_over(desk: Desk) -> None:
    new = [{"type": "weather", "sky": [1]}, start(0, type="hologram", x=1), delta(0, type="light", y=2), close(0)]
    body = b": comment\n\nid: 7\nretry: 1\n\n" + b"".join(events(*new)) + WHOLE.replace(b"\n", b"\r\n")
    assert desk.hear(plain(body)).answer == Answer(TEXT, (), True)


def test_data_in_several_lines_is_one_event(desk: Desk) -> None:
    assert desk.hear(plain(WHOLE.replace(b'data: {"type":', b'data: {"type"\ndata::'))).answer.text == TEXT


def test_what_the_host_raises_is_the_hosts(desk: Desk) -> None:
    """It is no failure of the stream: it passes through, the line is closed, and the turn is still to be ended."""

    def show(text: str) -> None:
        raise OSError("no terminal")

    with Loopback(plain(WHOLE), "silence") as server, pytest.raises(OSError, match="no terminal"):
        desk.ask(server.url, show=show)
    assert desk.state(desk.turn) == Generation.active and desk.nothing_committed()


def test_a_url_that_is_none_is_said_at_once() -> None:
    for url in ("ftp://x/", "http://", "x"):
        with pytest.raises(BadInput, match="begins with http"):
            Provider(Kernel(MemoryStore()), url, {}, lambda: False)


def test_each_stop_cuts_its_own_sessions_streams_only(desk: Desk) -> None:
    """One provider serves many sessions."""
    kernel = desk.kernel
    other = kernel.start(Session, id="other", principal="me").ref
    turn = Generation.ref("other-1")
    kernel.fire_all([(other, Session.claim(expected=None)), (turn, Generation.start(number=1, session=other))])
    with Loopback(plain(WHOLE)) as server:
        ended = desk.ask(server.url, show=lambda text: kernel.fire(other, Session.stop()))
    assert ended.state == Generation.finished
    kernel.fire(turn, Generation.exit_cancelled())
