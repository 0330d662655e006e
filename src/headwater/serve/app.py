"""The application: every route of the API under one roof, with what holds for all of them."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware

from headwater.serve import admin, changes, cut, door, query, schemas, status, streams, tables, versions, views
from headwater.serve.access import Reads
from headwater.serve.access_log import AccessLog
from headwater.serve.body import Bodies
from headwater.serve.door import Door
from headwater.serve.encode import answer
from headwater.serve.guard import LOOPBACK, OwnOrigin, SecureHeaders
from headwater.serve.limit import RateLimit, Rates
from headwater.serve.problem import handle_problems
from headwater.serve.service import Service
from headwater.serve.shortcut import Shortcut
from headwater.serve.tokens import Tokens

PER_SECOND = 500
"""A client may ask so often where tokens are needed, unless the settings say otherwise."""


def create_app(service: Service) -> FastAPI:
    """The application of a project. On a loopback address no token is needed, and only this machine is served.

    Elsewhere every route needs a token but those of health, the description of the API too.
    """
    settings = service.settings
    on_loopback = service.settings.host in LOOPBACK
    app = FastAPI(
        title=service.project.name,
        version=version("headwater"),
        description="Events in, views out. Every error is a problem as RFC 9457 has it: `who` says who must act.",
        openapi_url="/openapi.json" if on_loopback else None,
    )
    app.state.tokens = None if on_loopback else Tokens(service.project.folder)
    handle_problems(app)
    for part in (changes, views, cut, streams, tables, admin, versions, query, status, schemas):
        app.include_router(part.routes(service))
    app.add_middleware(Shortcut, service=service)
    app.add_middleware(Bodies, largest=settings.body_bytes, patience=settings.body_timeout, tokens=app.state.tokens)
    if on_loopback:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])
        app.add_middleware(OwnOrigin)
    else:
        _describe(app)
    app.state.door = Door(app.state.tokens)
    if service.settings.dashboard and not on_loopback:
        app.include_router(door.routes(app.state.door, service.project.name))
        app.add_middleware(door.Guard, door=app.state.door)
    per_second = service.settings.requests_per_second
    if per_second is None:
        per_second = 0 if on_loopback else PER_SECOND
    if per_second:
        app.add_middleware(RateLimit, rates=Rates(per_second), tokens=app.state.tokens)
    app.add_middleware(SecureHeaders, over_tls=service.settings.tls_cert is not None)
    if settings.access_log is not None:
        app.add_middleware(AccessLog, path=service.project.folder / settings.access_log)
    return app


def _describe(app: FastAPI) -> None:
    """Tell what the API has to whoever has a token."""

    @app.get("/openapi.json", include_in_schema=False)
    def description(access: Reads) -> Response:  # noqa: ARG001
        return answer(app.openapi())
