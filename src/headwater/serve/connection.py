"""Connections: how long the head of a request may take, how large it may be, and how many there may be at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""How long the head of a request may take to come, from its first byte or from the connection's beginning on."""
HEAD_BYTES = 64 * 1024
"""How many bytes the head of a request may have."""
LINGER_SECONDS = 10.0
"""For how long the rest of a body that nobody wants is taken, so that its sender gets to read the answer."""
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """A connection that is closed when a head doesn't come, or when there are too many."""

    most = 2000

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._awaits_head = True
        self._head_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its parent has it
        """Begin to wait for the head of the first request; one connection too many is closed."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
            return
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; of a head not more than it may have."""
        if self._awaits_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._wait_for_head()
        super().data_received(data)
        if self._awaits_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over: its head has come."""
        self._stop_waiting()
        super().handle_websocket_upgrade()

    def on_headers_complete(self) -> None:
        """The head has come."""
        self._awaits_head, self._head_bytes = False, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body has come too: what follows is another head."""
        super().on_message_complete()
        self._awaits_head = True

    def on_response_complete(self) -> None:
        """The answer is sent; if the body isn't, it is not waited for for long."""
        super().on_response_complete()
        if not self._awaits_head and not self.transport.is_closing():
            self._timer = self.loop.call_later(LINGER_SECONDS, self._close)

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_for_head()  # a request is being answered: what comes behind it is looked at again
        elif not self.transport.is_closing():
            self.transport.close()


def connection_class(most: int) -> type[Connection]:
    """Connections of which there are at most so many at a time."""
    return type("Connection", (Connection,), {"most": most})
