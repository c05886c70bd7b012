"""An answer as it arrives: the events of Anthropic's Messages API, put together strictly.

What these events do not say, an answer does not hold: a block that was never closed, a call whose input is no JSON
object, an event out of its order are broken, never repaired. Events and blocks of unknown kinds are passed over.
"""

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

__all__ = ["Answer", "Arriving", "StreamError", "Call", "Event"]


class StreamError(Exception):
    """The stream is over before the answer is; one line says why."""


class Part(msgspec.Struct):
    """A block at its start, or what is added to one."""

    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    partial_json: str = ""


class Event(msgspec.Struct):
    type: str
    index: int = -1
    content_block: Part | None = None
    delta: Part | None = None


@attrs.frozen
class Call:
    """A tool call that the model asks for."""

    id: str
    name: str
    input: Mapping[str, Any]


@attrs.frozen
class Answer:
    """What a model said."""

    text: str
    calls: tuple[Call, ...]
    whole: bool
    """It ended as it should. If not, the text is what had been shown, and there are no calls."""


class Arriving:
    """An answer as far as it has arrived."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.calls: list[Call] = []
        self.open: tuple[int, Part] | None = None
        self.json: list[str] = []
        self.whole = False

    def take(self, event: Event) -> str:
        """Add an event; returns the text that it brought.

        Raises:
            StreamError: it cannot follow.
        """
        match event.type:
            case "content_block_start" if self.open is None and event.content_block is not None:
                self.open, self.json = (event.index, event.content_block), []
                return self._say(event.content_block)
            case "content_block_delta" if self.open and self.open[0] == event.index and event.delta is not None:
                self.json.append(event.delta.partial_json)
                return self._say(event.delta)
            case "content_block_stop" if self.open and self.open[0] == event.index:
                self._close(self.open[1])
            case "message_stop" if self.open is None:
                self.whole = True
            case "content_block_start" | "content_block_delta" | "content_block_stop" | "message_stop" | "error":
                raise StreamError(f"the model's stream brought {event.type} where it cannot be")
        return ""

    def answer(self) -> Answer:
        return Answer("".join(self.text), tuple(self.calls) if self.whole else (), self.whole)

    def _say(self, part: Part) -> str:
        if part.type in ("text", "text_delta"):
            self.text.append(part.text)
            return part.text
        return ""

    def _close(self, block: Part) -> None:
        self.open = None
        if block.type != "tool_use":
            return
        try:
            given = msgspec.json.decode("".join(self.json) or "{}", type=dict[str, Any])
        except (ValueError, RecursionError):
            raise StreamError(f"the input of call {block.id} is no JSON object") from None
        if not block.id or not block.name:
            raise StreamError("the model's stream brought a call without an id or a name")
        self.calls.append(Call(block.id, block.name, given))
