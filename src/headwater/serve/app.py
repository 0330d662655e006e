"""The application: every route of the API under one roof, with what holds for all of them."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.serve import changes, query, status, streams, views
from headwater.serve.access import Tokens
from headwater.serve.problem import handle_problems
from headwater.serve.service import Service

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def create_app(service: Service) -> FastAPI:
    """The application of a project. On a loopback address no token is needed, and only this machine's names are served.

    Pages of other origins may not read what is answered: no CORS header is ever sent.
    """
    app = FastAPI(
        title=service.project.name,
        version=version("headwater"),
        description="Events in, views out. Every error is a problem as RFC 9457 has it: `who` says who must act.",
    )
    on_loopback = service.settings.host in LOOPBACK
    app.state.tokens = None if on_loopback else Tokens(service.project.folder)
    handle_problems(app)
    for part in (changes, views, streams, query, status):
        app.include_router(part.routes(service))
    if on_loopback:  # a page that has given its own name our address is not served
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])
    app.add_middleware(_Secured)
    return app


class _Secured:
    """Adds headers to every answer, as it begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, answer if scope["type"] == "http" else send)
