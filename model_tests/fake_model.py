"""A model on loopback that always says the same, a word at a time, in the form of Anthropic's Messages API."""

import json
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["serve"]


def serve(answer: str, pace: float = 0.1) -> str:
    """Start a model for as long as this process lives.

    Args:
        answer: what it says.
        pace: seconds before each word.

    Returns:
        its url.
    """

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802  # http.server calls it so
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            with suppress(OSError):  # the reader went away
                self.say("content_block_start", content_block={"type": "text", "text": ""})
                for word in re.findall(r"\S+\s*", answer):
                    time.sleep(pace)
                    self.say("content_block_delta", delta={"type": "text_delta", "text": word})
                self.say("content_block_stop")
                self.say("message_stop")

        def say(self, kind: str, **more: Any) -> None:
            event = {"type": kind, "index": 0, **more}
            self.wfile.write(f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1/messages"
