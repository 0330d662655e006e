"""The limit of a client: so many requests a second, and some more at once after it has been silent.

A client is a token that is known, or else an address. One that asks too often is told when to come back, before any of
its request is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.errors import Overloaded, TokenRefused
from headwater.serve.access import secret_of
from headwater.serve.problem import respond
from headwater.serve.tokens import Tokens

BURST = 2
"""Requests of so many seconds may come at once."""
_REMEMBERED = 10_000
"""So many clients are remembered; beyond that, those that have been silent are forgotten."""
_TRY_AGAIN = 1013


@dataclass
class _Allowance:
    left: float
    at: float


class Rates:
    """The allowances of clients; they fill up as time passes."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._most = max(1.0, per_second * BURST)
        self._clock = clock
        self._clients: dict[str, _Allowance] = {}

    def take(self, client: str) -> bool:
        """Tells whether a client may ask once more, now."""
        now = self._clock()
        allowance = self._clients.setdefault(client, _Allowance(self._most, now))
        allowance.left, allowance.at = min(self._most, allowance.left + (now - allowance.at) * self._per_second), now
        if len(self._clients) > _REMEMBERED:
            self._forget(now)
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True

    def _forget(self, now: float) -> None:
        """Forget clients whose allowance is full again: they are as good as new."""
        full = self._most / self._per_second
        self._clients = {name: allowance for name, allowance in self._clients.items() if now - allowance.at < full}


class RateLimit:
    """Refuses the requests of clients that ask too often."""

    def __init__(self, app: ASGIApp, rates: Rates, tokens: Tokens | None) -> None:
        self._app = app
        self._rates = rates
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket") or self._rates.take(self._client(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _TRY_AGAIN})
        else:
            refused = Overloaded(
                "more requests came from this client than may in a second",
                detail="Nothing was done.",
                hint="Repeat the request after the time that Retry-After says.",
            )
            await respond(refused)(scope, receive, send)

    def _client(self, scope: Scope) -> str:
        if self._tokens is not None:
            try:
                return f"token {self._tokens.access(secret_of(HTTPConnection(scope))).name}"
            except TokenRefused:
                pass
        return f"address {scope['client'][0] if scope.get('client') else 'unknown'}"
