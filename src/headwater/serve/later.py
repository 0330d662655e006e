"""A part of an application that is made while the rest is served already: who asks for it before it is there waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Response
from fastapi.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

_logger = logging.getLogger("headwater.serve")


class Later:
    """An application at the root of another one; `make` makes it, in a thread, once the other one has begun."""

    def __init__(self, app: FastAPI, make: Callable[[], FastAPI]) -> None:
        self._make = make
        self._made: FastAPI | None = None
        self._lifespan = app.router.lifespan_context
        app.router.lifespan_context = self._live_beside
        app.mount("/", self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, when it can be."""
        await self._is_settled.wait()
        if self._made is not None:
            await self._made(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1013})
        else:
            await Response("The dashboard did not start. The log of `headwater run` says why.", 503)(
                scope, receive, send
            )

    @asynccontextmanager
    async def _live_beside(self, app: FastAPI) -> AsyncIterator[None]:
        self._is_settled, self._is_over = asyncio.Event(), asyncio.Event()
        living = asyncio.create_task(self._live())
        try:
            async with self._lifespan(app):
                yield
        finally:
            self._is_over.set()
            await living

    async def _live(self) -> None:
        try:
            made = await run_in_threadpool(self._make)
            async with made.router.lifespan_context(made):
                self._made = made
                self._is_settled.set()
                await self._is_over.wait()
        except Exception:
            _logger.exception("the dashboard stopped by a mistake of ours; please report it")
        finally:
            self._made = None
            self._is_settled.set()
