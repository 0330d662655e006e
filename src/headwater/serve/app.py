"""The application: every route of the API under one roof, with what holds for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version

from fastapi import FastAPI, Request, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware

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
    app.middleware("http")(_secured)
    return app


async def _secured(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
