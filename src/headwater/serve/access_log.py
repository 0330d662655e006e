"""The access log: a JSON line for each request that was answered, and for each WebSocket that was closed.

It says who asked for which path, from where, and how that ended. Headers, bodies and what stands behind the `?` are
left out: they may hold secrets and personal data. Lines are written by a thread of their own, into files that take
turns.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue

from starlette.types import ASGIApp, Message, Receive, Scope, Send

FILE_BYTES = 64 * 1024 * 1024
FILES_KEPT = 4
LAID_TO = "headwater.laid_to"
"""The key of a request's scope under which its route notes whom the request is laid to."""
_LONGEST_PATH = 500


class _Files(RotatingFileHandler):
    """Files that only their owner can read, whatever the process lets others do."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")


class AccessLog:
    """Notes every request that passes, in a file that only its owner can read."""

    def __init__(self, app: ASGIApp, path: Path) -> None:
        self._app = app
        path.parent.mkdir(parents=True, exist_ok=True)
        files = _Files(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT)
        lines: SimpleQueue[logging.LogRecord] = SimpleQueue()
        self._lines = QueueHandler(lines)
        self._writer = QueueListener(lines, files)
        self._writer.start()
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note how it ended."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        began, ended = time.monotonic(), _Ended()
        try:
            await self._app(scope, receive, ended.watching(send))
        finally:
            self._note(scope, ended, time.monotonic() - began)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the life of the server on; at its end every line is written."""
        try:
            await self._app(scope, receive, send)
        finally:
            self._writer.stop()
            with suppress(OSError):  # a disk that is full has no room for the last lines either
                self._files.close()

    def _note(self, scope: Scope, ended: _Ended, seconds: float) -> None:
        address = scope.get("client")
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "from": address[0] if address else None,
            "who": scope.get(LAID_TO),
            "method": scope.get("method", "WEBSOCKET"),
            "path": scope["path"][:_LONGEST_PATH],
            "status": ended.status,
            "bytes": ended.bytes,
            "milliseconds": round(seconds * 1000, 1),
        }
        self._lines.emit(logging.makeLogRecord({"msg": json.dumps(line)}))


class _Ended:
    """The end of a request: its status (of a WebSocket, the code it was closed with) and the bytes of the answer."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.bytes = 0

    def watching(self, send: Send) -> Send:
        """The same `send`, looked at as it is used."""

        async def sent(message: Message) -> None:
            self._see(message)
            await send(message)

        return sent

    def _see(self, message: Message) -> None:
        match message["type"]:
            case "http.response.start":
                self.status = message["status"]
            case "http.response.body":
                self.bytes += len(message.get("body", b""))
            case "websocket.send":
                self.bytes += len(message.get("bytes") or message.get("text") or "")
            case "websocket.close":
                self.status = message.get("code", 1000)
