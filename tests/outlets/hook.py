"""A real HTTP server on this machine that takes what an outlet sends, and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """What was asked, and what is answered: `answers` in turn, and then always 200.

    An answer is a status, or a status and headers; 0 cuts the connection off.
    """

    url: str = ""
    answers: list[int | tuple[int, dict[str, str]]] = field(default_factory=list)
    requests: list[tuple[dict[str, str], Any]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Any]:
        return [body for _, body in self.requests]

    @property
    def keys(self) -> list[str]:
        return [headers["Idempotency-Key"] for headers, _ in self.requests]


@contextmanager
def hooked() -> Iterator[Hook]:
    """A server, for as long as the block lasts."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hook.requests.append((dict(self.headers), body))
            answer = hook.answers.pop(0) if hook.answers else 200
            status, headers = answer if isinstance(answer, tuple) else (answer, {})
            if status == 0:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {"Content-Length": "4", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"told")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
