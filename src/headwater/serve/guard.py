"""The guard of every request, before it comes to a route: headers of answers, and who may ask from where.

On a loopback address no token is needed, because only this machine reaches it. Its browsers do too, on behalf of any
page: so only this machine's names are served (a page may have given its own name our address), and nothing that a page
of another origin asks for. WebSockets need that most: browsers don't hold them back.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import RoleRefused
from headwater.serve.problem import respond

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_OF_DATA = {"Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
_OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}


class SecureHeaders:
    """Adds headers to every answer, as it begins; to data, that nobody keeps it or takes it for a page."""

    def __init__(self, app: ASGIApp, *, over_tls: bool = False) -> None:
        self._app = app
        self._headers = {**_HEADERS, **(_OVER_TLS if over_tls else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_data = "json" in headers.get("content-type", "")
                for name, value in {**self._headers, **(_OF_DATA if is_data else {})}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, answer if scope["type"] == "http" else send)


def is_own(headers: Headers) -> bool:
    """Tells whether a request comes from a page of the host and port that it is sent to, or from no page at all."""
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:  # such as http://[
        return False


class OwnOrigin:
    """Refuses what a page of another origin asks for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket") or is_own(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            refused = RoleRefused(
                "pages of other origins are not served",
                detail=f"The request comes from a page of {Headers(scope=scope).get('origin', '')[:200]}.",
                hint="Ask from a program, or from a page of this server.",
            )
            await respond(refused)(scope, receive, send)
