"""Connections: how many there may be, how long the head of a request may take to come, and an answer to be read.

What comes with a body and is none of it (headers behind it, notes between its parts) is passed by, and there is so much
of it at most.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from datetime import timedelta
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""The head of a request may take so long to come, from its first byte or from the connection's beginning on."""
HEAD_BYTES = 64 * 1024
"""The head of a request has so many bytes at most; so has what comes between two parts of its body, or behind it."""
LINGER_SECONDS = 10.0
"""For how long the rest of a body that nobody wants is taken, so that its sender gets to read the answer."""
SLOWEST = 64 * 1024
"""The bytes a second that have to be read of an answer that takes longer than it is waited for anyway."""
_LOOKED_EVERY = 0.5
"""After so many seconds it is looked how much of an answer is still to be read."""
_AT_ONCE = struct.pack("ii", 1, 0)
"""That the system, too, forgets what is still to be read."""
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """A connection that is closed when a head doesn't come, an answer isn't read, or when there are too many."""

    most = 2000
    patience = 30.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._awaits_head = True
        self._head_bytes = 0
        self._bytes_beside = 0
        self._timer: asyncio.TimerHandle | None = None
        self._reading: _Reading | None = None

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
        if self._reading is not None:
            self._reading.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; of a head, and of what is beside a body, not more than there may be."""
        if self._awaits_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._wait_for_head()
        else:
            self._bytes_beside += len(data)
        super().data_received(data)
        if max(self._head_bytes, self._bytes_beside) > HEAD_BYTES and not self.transport.is_closing():
            self._refuse()

    def _refuse(self) -> None:
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_TOO_LONG)
        self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over: its head has come."""
        self._stop_waiting()
        if self._reading is not None:
            self._reading.end()
        super().handle_websocket_upgrade()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the head. One behind the body is passed by: the request was looked at without it."""
        if self._awaits_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._bytes_beside = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """The head has come."""
        self._awaits_head, self._head_bytes, self._bytes_beside = False, 0, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body has come too: what follows is another head."""
        super().on_message_complete()
        self._awaits_head, self._bytes_beside = True, 0

    def on_response_complete(self) -> None:
        """The answer is sent; if the body isn't, it is not waited for for long."""
        super().on_response_complete()
        self._see_that_it_is_read()
        if not self._awaits_head and not self.transport.is_closing():
            self._timer = self.loop.call_later(LINGER_SECONDS, self._close)

    def pause_writing(self) -> None:
        """More of an answer is there than its reader takes at once."""
        super().pause_writing()
        self._see_that_it_is_read()

    def _see_that_it_is_read(self) -> None:
        if self.transport.get_write_buffer_size() and (self._reading is None or self._reading.is_over):
            self._reading = _Reading(self.transport, self.loop, self.patience)

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


class _Reading:
    """Looks how an answer is read until all of it is; whoever reads too slowly loses the connection."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        self._transport, self._loop = transport, loop
        self._until = loop.time() + patience
        self._left = transport.get_write_buffer_size()
        self.is_over = False
        self._timer = loop.call_later(_LOOKED_EVERY, self._look)

    def end(self) -> None:
        """Look no more."""
        self.is_over = True
        self._timer.cancel()

    def _look(self) -> None:
        left = self._transport.get_write_buffer_size()
        self._until += max(0, self._left - left) / SLOWEST
        self._left = left
        if not left:
            self.is_over = True
        elif self._loop.time() > self._until:
            self.is_over = True
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self._transport.abort()
        else:
            self._timer = self._loop.call_later(_LOOKED_EVERY, self._look)


def connection_class(most: int, patience: timedelta) -> type[Connection]:
    """Connections of which there are at most so many at a time, and whose answers are read in time."""
    return type("Connection", (Connection,), {"most": most, "patience": patience.total_seconds()})
