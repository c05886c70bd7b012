"""A model's server on loopback that says exactly these bytes, and then hangs up or falls silent."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Loopback", "chunked", "events", "plain", "sized", "until"]

_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def events(*given: Mapping[str, Any]) -> list[bytes]:
    """Events as a provider sends them, each with its type in front."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in given]


def plain(body: bytes) -> bytes:
    """A response that ends with its connection."""
    return f"{_HEAD}Connection: close\r\n\r\n".encode() + body


def sized(body: bytes) -> bytes:
    """A response that says how long it is."""
    return f"{_HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(body: bytes, size: int = 40) -> bytes:
    """A response in chunks that respect no event."""
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return f"{_HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + framed + b"0\r\n\r\n"


class Loopback:
    """Answers every request, whose body is `{}`, alike.

    Args:
        response: the bytes to say.
        end: what comes then: hang up, reset the connection, or silence until the test is over.
        drip: seconds between one byte and the next; None for all at once.
    """

    def __init__(self, response: bytes, end: str = "hang up", drip: float | None = None) -> None:
        self.response, self.end, self.drip = response, end, drip
        self.over = threading.Event()
        self.requests: list[bytes] = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/v1/messages"
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "Loopback":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        with socket.create_connection(self.listening.getsockname()):
            self.thread.join(10)
        self.listening.close()

    def _serve(self) -> None:
        while not self.over.is_set():
            connection, _ = self.listening.accept()
            with connection:
                if not self.over.is_set():
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        try:
            request = b""
            while not request.endswith(b"\r\n\r\n{}"):  # what is left unread resets the connection when it is closed
                if not (more := connection.recv(65536)):
                    return
                request += more
            self.requests.append(request)
            for piece in [self.response] if self.drip is None else [bytes([byte]) for byte in self.response]:
                connection.sendall(piece)
                if self.drip is not None and self.over.wait(self.drip):
                    return
            if self.end == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif self.end == "silence":
                self.over.wait(30)
        except OSError:
            pass  # the reader went away


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something that another thread does."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it did not happen")
