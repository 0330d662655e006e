"""Changes of a view as they happen: a snapshot, then what each batch changed, for as long as the subscriber likes.

Each batch ends with an id, `VERSION.BATCH`: whoever comes back with the last one it has seen gets what it has missed,
and nothing twice. A subscriber that reads too slowly is not waited for: it is told so and let go, and comes back
likewise. When another version of the view is promoted, a new snapshot follows.

Messages are `snapshot` (rows), `change` (op, before, after), `heartbeat`, and `slow`, which is the last one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial

from fastapi import APIRouter, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.requests import HTTPConnection
from starlette.types import Send

from headwater.errors import HeadwaterError
from headwater.serve.access import Reads, access_of
from headwater.serve.encode import to_json
from headwater.serve.feed import Feed, Feeds, Queue, batches_after, newest
from headwater.serve.message import Delivery, Message, Since
from headwater.serve.problem import problem_of
from headwater.serve.service import Service

STUCK = timedelta(seconds=30)
"""A message waits so long for a client that doesn't read, before it is let go of."""
CHECKED_EVERY = timedelta(seconds=2)
"""It is looked so often whether a subscriber's token is still good."""
_logger = logging.getLogger("headwater.serve")
_SLOW = "Messages came faster than they were read. Go on from the last id."


class Events(StreamingResponse):
    """A stream of server-sent events that ends when its client takes nothing any more."""

    async def stream_response(self, send: Send) -> None:
        """Send what there is; a client that stops reading is let go of, and its slot is free again."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        events = aiter(self.body_iterator)
        try:
            async for event in events:
                async with asyncio.timeout(STUCK.total_seconds()):
                    await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            _logger.info("a subscriber that took nothing for %g s was let go of", STUCK.total_seconds())
        finally:
            await events.aclose()  # type: ignore[attr-defined]  # it is a generator


def routes(service: Service) -> APIRouter:
    """The routes of changes."""
    router = APIRouter(prefix="/views", tags=["views"])
    feeds = service.feeds

    @router.get("/{name}/changes", response_class=Response)
    async def changes(
        name: str, request: Request, access: Reads, since: str | None = None, snapshot: bool = True
    ) -> Response:
        """Server-sent events: a snapshot, then changes. `Last-Event-ID` or `since` goes on from an id."""
        access.check_view(name)
        last = request.headers.get("last-event-id") or since
        deliveries = await _subscribe(service, feeds, name, last, snapshot, lambda: _check(request, name))
        events = (event async for delivery in deliveries for event in delivery.events)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return Events(events, media_type="text/event-stream", headers=headers)

    @router.websocket("/{name}/changes")
    async def changes_by_websocket(
        socket: WebSocket, name: str, since: str | None = None, snapshot: bool = True
    ) -> None:
        await socket.accept()
        try:
            _check(socket, name)
            check = partial(_check, socket, name)
            async for delivery in await _subscribe(service, feeds, name, since, snapshot, check):
                for frame in delivery.frames:
                    await socket.send_text(frame)
        except HeadwaterError as error:
            await socket.send_text(to_json({"event": "problem"} | problem_of(error)).decode())
        except (WebSocketDisconnect, RuntimeError):  # it is gone
            return
        await socket.close()

    return router


def _check(connection: HTTPConnection, view: str) -> None:
    access_of(connection, "read").check_view(view)


async def _subscribe(
    service: Service, feeds: Feeds, name: str, since: str | None, snapshot: bool, check: Callable[[], None]
) -> AsyncIterator[Delivery]:
    """The deliveries of a subscription; what is wrong with it is raised before the first.

    `check` raises once the subscriber's token doesn't allow it any more.
    """
    last = None if since is None else Since.read(since)
    feed = feeds.of(service.project.plan().view(name).name)
    service.subscriptions.take()
    queue: Queue | None = None
    try:
        queue, version = await feed.open()
        if last is not None and last.version == version:
            first = await run_in_threadpool(batches_after, service.project, feed.view, last)
        elif snapshot:
            first = [await feed.snapshot()]
            last = first[0].at
        else:
            last = await run_in_threadpool(newest, service.project, feed.view)
            first = [Delivery.of_snapshot(last, [])]
    except BaseException:
        service.subscriptions.leave()
        if queue is not None:
            feed.close(queue)
        raise
    return _while_allowed(_deliveries(service, feed, queue, first, last), last, check)


async def _while_allowed(
    deliveries: AsyncIterator[Delivery | None], at: Since, check: Callable[[], None]
) -> AsyncIterator[Delivery]:
    """The deliveries until the check fails: then what it raised is the last one."""
    checked_at = time.monotonic()
    try:
        async for delivery in deliveries:
            if time.monotonic() - checked_at >= CHECKED_EVERY.total_seconds():
                check()
                checked_at = time.monotonic()
            if delivery is not None:
                yield delivery
    except HeadwaterError as error:
        yield Delivery(at, (Message("problem", problem_of(error)),))
    finally:
        await deliveries.aclose()  # type: ignore[attr-defined]  # it is a generator


async def _deliveries(
    service: Service, feed: Feed, queue: Queue, first: list[Delivery], at: Since
) -> AsyncIterator[Delivery | None]:
    """The deliveries of a subscription, and None every now and then while there is none."""
    heartbeat, silent_since = service.settings.heartbeat.total_seconds(), time.monotonic()
    try:
        while first:
            at = first[0].at
            yield first.pop(0)  # whoever stays keeps no rows
        while True:
            try:
                async with asyncio.timeout(min(heartbeat, CHECKED_EVERY.total_seconds())):
                    taken = await queue.get()
            except TimeoutError:
                is_due = time.monotonic() - silent_since >= heartbeat
                silent_since = time.monotonic() if is_due else silent_since
                yield Delivery(at, (Message("heartbeat", {"at": str(at)}),)) if is_due else None
                continue
            silent_since = time.monotonic()
            if not isinstance(taken, Delivery):
                if taken == "slow":
                    yield Delivery(at, (Message("slow", {"detail": _SLOW}),))
                return
            if taken.at.version == at.version and taken.at.batch <= at.batch:
                continue  # it was read from the store before the queue had it
            at = taken.at
            yield taken
    finally:
        feed.close(queue)
        service.subscriptions.leave()
