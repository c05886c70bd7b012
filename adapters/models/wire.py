"""One request and the server-sent events that answer it, on a connection that another thread can cut.

http.client is enough for this: one request a connection, and its socket is at hand to be shut down, which wakes a
reader that a mere close would leave asleep.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult

import msgspec

from .answer import Event, StreamError

__all__ = ["Wire"]

_LINE = 1024 * 1024
"""Bytes of one line of a stream."""


class Wire:
    """An open connection.

    Args:
        url: of the endpoint; http or https.
        silence: seconds to wait for the connection, and for whatever comes next on it.

    Raises:
        StreamError: there is none to be had.
    """

    def __init__(self, url: SplitResult, silence: float) -> None:
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        self.connection = kind(url.hostname or "", url.port, timeout=silence)
        self.response: HTTPResponse | None = None
        self.cause = ""
        self.target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        try:
            self.connection.connect()
        except (OSError, HTTPException) as error:
            raise StreamError(f"the model's server cannot be reached: {ascii(str(error))[1:-1]}") from None
        self.socket: socket.socket = self.connection.sock

    def events(self, body: bytes, headers: Mapping[str, str], most: int) -> Iterator[Event]:
        """Send the request; each event as it arrives, to the end of the stream, wherever that is.

        Raises:
            StreamError: it was cut, fell silent, or is no stream of events.
        """
        try:
            self.connection.request("POST", self.target, body, {"Accept": "text/event-stream", **headers})
            self.response = response = self.connection.getresponse()
            if (response.status, kind := response.headers.get_content_type()) != (200, "text/event-stream"):
                raise ValueError(f"its server answered {response.status} with {kind}")
            data: list[bytes] = []
            while not self.cause and (line := response.readline(_LINE)).endswith(b"\n"):
                if (most := most - len(line)) < 0:
                    raise ValueError("it is longer than allowed")
                name, colon, value = line.rstrip(b"\r\n").partition(b":")
                if name == b"data":
                    data.append(value.removeprefix(b" "))
                elif data and not name and not colon:  # an empty line; with a colon it is a comment
                    yield msgspec.json.decode(b"\n".join(data), type=Event)
                    data = []
            if self.cause or len(line) == _LINE:
                raise ValueError("a line of it is longer than allowed")
        except TimeoutError:
            raise StreamError(self.cause or "the model is silent: whether it answered is not known") from None
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise StreamError(self.cause or f"the model's stream broke: {ascii(str(error))[1:-1]}") from None

    def cut(self, cause: str) -> None:
        """End it now, from any thread; nothing that arrived and was not yet read is given out."""
        self.cause = self.cause or cause
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for held in (self.response, self.connection):
            with suppress(OSError):
                if held is not None:
                    held.close()
