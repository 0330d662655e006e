"""The door of the dashboard: on a loopback address it is open; elsewhere one logs in with a token.

Who has logged in has a *session*: a random number in a cookie, which no script can read and which is sent to this
server alone. Here it stands for the token's hash, in memory. A session ends after twelve hours, when the token is
revoked, by logging out, or with the server.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from string import Template

from fastapi import APIRouter, Form, Request, Response
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import HeadwaterError, RoleRefused, TokenRefused
from headwater.serve.guard import is_own
from headwater.serve.role import Access
from headwater.serve.tokens import Tokens, hash_of

COOKIE = "headwater_session"
LOGIN = "/dashboard/login"
LONGEST = timedelta(hours=12)
SESSIONS = 1000
"""There are so many sessions at most; the oldest ones end."""
_HTML = Template((Path(__file__).parent / "login.html").read_text("utf-8"))
_CHECKED_EVERY = 1.0
"""After so many seconds it is looked whether the session of an open page has ended."""
_LEFT_TO_THE_PAGE = 2.5
"""So many seconds a page whose session has ended has to go to the login by itself, before its socket is closed."""
_REFUSED = 1008
_GUARDED = ("/dashboard", "/_nicegui_ws")


@dataclass(frozen=True)
class Session:
    """A login: the hash of the token, and since when it is."""

    token: str
    made_at: datetime


class Door:
    """Lets in who has logged in; everyone, where no tokens are needed."""

    def __init__(self, tokens: Tokens | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._tokens = tokens
        self._now = now
        self._guard = threading.Lock()
        self._sessions: dict[str, Session] = {}

    @property
    def is_open(self) -> bool:
        """Tells whether nobody needs to log in."""
        return self._tokens is None

    def log_in(self, secret: str) -> str:
        """A new session for a token; `TokenRefused` or `RoleRefused` if it doesn't open the dashboard."""
        assert self._tokens is not None
        self._tokens.access(secret).check_whole()
        session = secrets.token_urlsafe(32)
        with self._guard:
            while len(self._sessions) >= SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[hash_of(session)] = Session(hash_of(secret), self._now())
        return session

    def log_out(self, connection: HTTPConnection) -> None:
        """End the session of a request."""
        with self._guard:
            self._sessions.pop(hash_of(connection.cookies.get(COOKIE, "")), None)

    def access(self, connection: HTTPConnection) -> Access:
        """The access that the session of a request allows; `TokenRefused` if there is none, or it has ended."""
        if self._tokens is None:
            return Access()
        with self._guard:
            session = self._sessions.get(hash_of(connection.cookies.get(COOKIE, "")))
        if session is None or self._now() - session.made_at > LONGEST:
            raise TokenRefused("nobody has logged in", hint=f"Log in at {LOGIN}.")
        return self._tokens.of(session.token)


class Guard:
    """Refuses pages and sockets of the dashboard to who has not logged in, and sockets that another page opens."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or send it to the login."""
        if scope["type"] not in ("http", "websocket") or not _is_guarded(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            self._door.access(HTTPConnection(scope))
            if not is_own(Headers(scope=scope)):
                raise RoleRefused("pages of other origins are not served")
        except HeadwaterError:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": _REFUSED})
            elif scope["path"].startswith("/_nicegui_ws"):
                await Response(status_code=401)(scope, receive, send)
            else:
                await RedirectResponse(LOGIN, 303)(scope, receive, send)
            return
        await self._app(scope, self._watched(scope, receive, send) if scope["type"] == "websocket" else receive, send)

    def _lets_in(self, connection: HTTPConnection) -> bool:
        try:
            self._door.access(connection)
        except HeadwaterError:
            return False
        return True

    def _watched(self, scope: Scope, receive: Receive, send: Send) -> Receive:
        """The messages that a page's socket receives; soon after its session has ended, that it is closed.

        Whatever a page shows or does asks for the session again, so that nothing is told or done in between.
        """
        connection = HTTPConnection(scope)
        coming: asyncio.Task[Message] | None = None
        ended_at: float | None = None

        async def next_message() -> Message:
            nonlocal coming, ended_at
            while True:
                coming = coming or asyncio.ensure_future(receive())
                await asyncio.wait({coming}, timeout=_CHECKED_EVERY)
                if not self._lets_in(connection):
                    ended_at = ended_at or time.monotonic()
                    if time.monotonic() - ended_at >= _LEFT_TO_THE_PAGE:
                        coming.cancel()
                        await send({"type": "websocket.close", "code": _REFUSED})
                        return {"type": "websocket.disconnect", "code": _REFUSED}
                if coming.done():
                    message, coming = coming.result(), None
                    return message

        return next_message


def _is_guarded(path: str) -> bool:
    return path == "/" or (path.startswith(_GUARDED) and path != LOGIN)


def routes(door: Door, project: str) -> APIRouter:
    """Logging in and out."""
    router = APIRouter(include_in_schema=False)

    @router.get(LOGIN)
    def show() -> HTMLResponse:
        return _page(project)

    @router.post(LOGIN)
    def log_in(request: Request, token: str = Form(default="", max_length=200)) -> Response:
        if not is_own(request.headers):
            return _page(project, "pages of other origins can't log in", 403)
        try:
            session = door.log_in(token.strip())
        except TokenRefused:
            return _page(project, "The token is not known. It may have been revoked.", 401)
        except RoleRefused:
            return _page(project, "The token is for some streams or views. The dashboard shows all of them.", 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            COOKIE, session, max_age=int(LONGEST.total_seconds()), httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    @router.post("/dashboard/logout")
    def log_out(request: Request) -> Response:
        door.log_out(request)
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(COOKIE)
        return answer

    return router


def _page(project: str, refusal: str = "", status: int = 200) -> HTMLResponse:
    told = f'<p role="alert">{escape(refusal)}</p>' if refusal else ""
    return HTMLResponse(_HTML.substitute(project=escape(project), told=told, login=LOGIN), status)
