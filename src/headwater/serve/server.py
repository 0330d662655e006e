"""The server: the application on an address, in a thread of its own."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Self

import uvicorn
from fastapi import FastAPI

from headwater.config import ServeSettings
from headwater.errors import OperatorError
from headwater.project import Project
from headwater.serve.app import create_app
from headwater.serve.connection import connection_class
from headwater.serve.door import Door
from headwater.serve.guard import LOOPBACK
from headwater.serve.later import Later
from headwater.serve.service import Service
from headwater.serve.tls import certificate
from headwater.waiting import wait_for

_START = timedelta(seconds=30)
_LARGEST_FRAME = 1024 * 1024
"""A message that a browser or a subscriber sends by a WebSocket has so many bytes at most."""
TURN = 0.0005
"""Seconds after which a thread that computes lets one that answers have its turn; Python gives it ten times as many."""
_WORTH_A_LINE = logging.ERROR
"""Less is not logged of what the packages below say: it is about odd requests, and whoever asks would write it."""
_GRACE = 3
"""Seconds that requests under way are given when the server ends."""


class Server:
    """Serves a project within a `with` block; `url` is where. One apart from the run is given a socket by it."""

    def __init__(self, project: Project, settings: ServeSettings, given: socket.socket | None = None) -> None:
        self.service = Service(project, settings, apart=given is not None)
        tls = certificate(project.folder, settings)
        self._socket = given or bound(settings)
        self.url = url_of(settings, self._socket)
        app = create_app(self.service)
        if settings.dashboard:
            Later(app, lambda: _dashboard(self.service, app.state.door))
        config = uvicorn.Config(
            app,
            http=connection_class(settings.connections, settings.answer_timeout),
            log_config=None,
            log_level=_WORTH_A_LINE,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            ws_max_size=_LARGEST_FRAME,
            **tls,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="headwater-serve", daemon=True
        )

    @property
    def is_in_the_clear(self) -> bool:
        """Tells whether others reach the server, and what they send can be read on the way."""
        return is_in_the_clear(self.service.settings)

    def __enter__(self) -> Self:
        self._thread.start()
        wait_for(lambda: self._server.started or not self._thread.is_alive(), _START, every=timedelta(milliseconds=10))
        if not self._server.started:
            raise OperatorError("the server did not start", hint="See what it said before this.")
        self._turn = sys.getswitchinterval()
        sys.setswitchinterval(min(TURN, self._turn))
        return self

    def __exit__(self, *_: object) -> None:
        self.service.feeds.end()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        sys.setswitchinterval(self._turn)


def _dashboard(service: Service, door: Door) -> FastAPI:
    """The dashboard. Its packages take as long to load as those of the API."""
    from headwater.serve.dashboard import mount
    from headwater.serve.dashboard.history import History

    logging.getLogger("nicegui").setLevel(_WORTH_A_LINE)
    history = History(service.project)

    @asynccontextmanager
    async def kept(_: FastAPI) -> AsyncIterator[None]:
        with history:  # not earlier: NiceGUI looks at every object of the process while it starts
            yield

    app = FastAPI(openapi_url=None, lifespan=kept)
    mount(app, service, history, door)
    return app


def is_in_the_clear(settings: ServeSettings) -> bool:
    """Tells whether others reach a server with these settings, and what they send can be read on the way."""
    return settings.host not in LOOPBACK and settings.tls_cert is None


def url_of(settings: ServeSettings, bound: socket.socket) -> str:
    """Where it is served that has this socket."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.tls_cert else 'http'}://{host}:{bound.getsockname()[1]}"


def bound(settings: ServeSettings) -> socket.socket:
    """A socket with the address of the settings; `OperatorError` if it can't be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    opened = socket.socket(family)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((settings.host, settings.port))
    except OSError as cause:
        opened.close()
        raise OperatorError(
            f"the server can't bind to {settings.host}:{settings.port}",
            detail=f"{cause.strerror}. Nothing was started.",
            hint="Another process may have the port: name another one with --port.",
        ) from cause
    return opened
