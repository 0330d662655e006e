"""Bodies of requests: who sends one is known before it is read, and it is read within limits of bytes and of time.

A body is taken as a whole before the route sees the request. What a route takes a *slot* for (an append, a query) it
doesn't take while a body is on its way, so that bodies that never end hold up nobody else.
"""

from __future__ import annotations

import asyncio
import re
import time
from datetime import timedelta

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import HeadwaterError, Overloaded, TooLarge, TooSlow
from headwater.serve import schemas
from headwater.serve.access import secret_of
from headwater.serve.door import LOGIN
from headwater.serve.problem import respond
from headwater.serve.tokens import Tokens

SMALL = 1024 * 1024
"""A body that brings no events has so many bytes at most."""
LOGIN_BYTES = 16 * 1024
HELD = 16
"""So many of the largest bodies may be held at a time."""
SLOWEST = 64 * 1024
"""So many bytes a second have to come of a body that takes longer than it is waited for anyway."""
_APPEND = re.compile(r"/streams/[^/]+/events/?")
_WITHOUT_TOKENS = ("/dashboard", "/_nicegui")
_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


class Bodies:
    """Takes the bodies of requests, and refuses those of people whom nobody knows."""

    def __init__(self, app: ASGIApp, *, largest: int, patience: timedelta, tokens: Tokens | None) -> None:
        self._app = app
        self._largest = largest
        self._patience = patience.total_seconds()
        self._tokens = tokens
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body, or refuse it."""
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            await self._app(scope, receive, send)
            return
        body = _Body(self)
        try:
            self._check_sender(scope)
            await body.read(receive, self._most(scope), Headers(scope=scope).get("content-length", ""))
        except HeadwaterError as error:
            body.let_go()
            answer = schemas.problem if scope["path"].startswith(schemas.PREFIX) else respond
            await answer(error)(scope, receive, send)
            return
        try:
            if not body.is_cut_off:
                await self._app(scope, body.replayed(receive), send)
        finally:
            body.let_go()

    def _check_sender(self, scope: Scope) -> None:
        if self._tokens is not None and not scope["path"].startswith(_WITHOUT_TOKENS):
            self._tokens.access(secret_of(HTTPConnection(scope)))

    def _most(self, scope: Scope) -> int:
        if scope["path"] == LOGIN:
            return LOGIN_BYTES
        return self._largest if _APPEND.fullmatch(scope["path"]) else min(SMALL, self._largest)

    def hold(self, count: int) -> None:
        """Take memory for some bytes of a body, or raise `Overloaded`."""
        if self._held + count > HELD * max(self._largest, SMALL):
            raise Overloaded(
                "as many bytes of bodies are being taken as may be at a time",
                detail="Nothing was done.",
                hint="Repeat the request after the time that Retry-After says.",
            )
        self._held += count

    def release(self, count: int) -> None:
        """Give the memory of some bytes back."""
        self._held -= count

    def deadline(self, begun_at: float, size: int) -> float:
        """Until when the next part of a body has to be there."""
        return min(time.monotonic() + self._patience, begun_at + self._patience + size / SLOWEST)


class _Body:
    """The body of one request."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._parts: list[bytes] = []
        self._size = 0
        self.is_cut_off = False

    async def read(self, receive: Receive, most: int, announced: str) -> None:
        """Read all of it."""
        if announced.isascii() and announced.isdigit() and (len(announced) > 18 or int(announced) > most):
            raise _too_large(most)
        begun_at, more = time.monotonic(), True
        while more:
            try:
                async with asyncio.timeout(self._bodies.deadline(begun_at, self._size) - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise _too_slow(self._size) from None
            if message["type"] == "http.disconnect":
                self.is_cut_off = True
                return
            more = message.get("more_body", False)
            self._take(message.get("body", b""), most)

    def _take(self, part: bytes, most: int) -> None:
        if self._size + len(part) > most:
            raise _too_large(most)
        self._bodies.hold(len(part))
        self._size += len(part)
        self._parts.append(part)

    def replayed(self, receive: Receive) -> Receive:
        """The stream that the application receives: the whole body, and then whatever comes."""
        parts: list[Message] = [{"type": "http.request", "body": b"".join(self._parts), "more_body": False}]
        self._parts = []

        async def again() -> Message:
            return parts.pop() if parts else await receive()

        return again

    def let_go(self) -> None:
        """Give its memory back."""
        self._bodies.release(self._size)
        self._parts, self._size = [], 0


def _too_large(most: int) -> TooLarge:
    return TooLarge(
        f"the body has more than {most:,} bytes",
        detail="Nothing was done.",
        hint="Send it in several requests; serve.body_bytes in headwater.toml says how much an append may bring.",
    )


def _too_slow(size: int) -> TooSlow:
    return TooSlow(
        "the body did not come in time",
        detail=f"{size:,} bytes of it did. Nothing was done.",
        hint="Repeat the request; serve.body_timeout in headwater.toml says how long a body is waited for.",
    )
