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

from fastapi import APIRouter, Depends, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.requests import HTTPConnection
from starlette.types import Send

from headwater.errors import HeadwaterError
from headwater.serve.access import access_of, asks
from headwater.serve.encode import to_json
from headwater.serve.feed import Feed, Feeds, Queue, batches_after, snapshot_of
from headwater.serve.message import Delivery, Message, Since
from headwater.serve.problem import problem_of
from headwater.serve.role import Access
from headwater.serve.service import Service

STUCK = timedelta(seconds=30)
"""How long a message may wait for a client that doesn't read, before it is let go of."""
CHECKED_EVERY = timedelta(seconds=2)
"""How often it is looked whether a subscriber's token is still good."""
_logger = logging.getLogger("headwater.serve")
_SLOW = "Messages came faster than they were read. Go on from the last id."


class Events(StreamingResponse):
    """A stream of server-sent events that ends when its client takes nothing any more."""

    async def stream_response(self, send: Send) -> None:
        """Send what there is; a client that stops reading is let go of, and its place is free again."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        events = aiter(self.body_iterator)
        try:
            async for event in events:
                part = {"type": "http.response.body", "body": event, "more_body": True}
                await asyncio.wait_for(send(part), STUCK.total_seconds())
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
        name: str,
        request: Request,
        since: str | None = None,
        snapshot: bool = True,
        access: Access = Depends(asks("read")),  # noqa: B008
    ) -> Response:
        """Server-sent events: a snapshot, then changes. `Last-Event-ID` or `since` goes on from an id."""
        access.check_view(name)
        last = request.headers.get("last-event-id") or since
        messages = await _subscribe(service, feeds, name, last, snapshot, lambda: _check(request, name))
        events = (message.as_event() async for message in messages)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return Events(events, media_type="text/event-stream", headers=headers)

    @router.websocket("/{name}/changes")
    async def changes_by_websocket(
        socket: WebSocket, name: str, since: str | None = None, snapshot: bool = True
    ) -> None:
        await socket.accept()
        try:
            _check(socket, name)
            async for message in await _subscribe(service, feeds, name, since, snapshot, lambda: _check(socket, name)):
                await socket.send_text(message.as_frame())
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
) -> AsyncIterator[Message]:
    """The messages of a subscription; what is wrong with it is raised before the first.

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
        else:
            found = await run_in_threadpool(snapshot_of, service.project, feed.view)
            first = [found if snapshot else Delivery.of_snapshot(found.at, [])]
            last = found.at
    except BaseException:
        service.subscriptions.leave()
        if queue is not None:
            feed.close(queue)
        raise
    return _while_allowed(_messages(service, feed, queue, first, last), check)


async def _while_allowed(messages: AsyncIterator[Message | None], check: Callable[[], None]) -> AsyncIterator[Message]:
    """The messages until the check fails: then what it raised is the last one."""
    checked_at = time.monotonic()
    try:
        async for message in messages:
            if time.monotonic() - checked_at >= CHECKED_EVERY.total_seconds():
                check()
                checked_at = time.monotonic()
            if message is not None:
                yield message
    except HeadwaterError as error:
        yield Message("problem", problem_of(error))
    finally:
        await messages.aclose()  # type: ignore[attr-defined]  # it is a generator


async def _messages(
    service: Service, feed: Feed, queue: Queue, first: list[Delivery], at: Since
) -> AsyncIterator[Message | None]:
    """The messages of a subscription, and None every now and then while there is none."""
    heartbeat, silent_since = service.settings.heartbeat.total_seconds(), time.monotonic()
    try:
        for delivery in first:
            at = delivery.at
            for message in delivery.messages:
                yield message
        while True:
            try:
                found = await asyncio.wait_for(queue.get(), min(heartbeat, CHECKED_EVERY.total_seconds()))
            except TimeoutError:
                is_due = time.monotonic() - silent_since >= heartbeat
                silent_since = time.monotonic() if is_due else silent_since
                yield Message("heartbeat", {"at": str(at)}) if is_due else None
                continue
            silent_since = time.monotonic()
            if not isinstance(found, Delivery):
                if found == "slow":
                    yield Message("slow", {"detail": _SLOW})
                return
            if found.at.version == at.version and found.at.batch <= at.batch:
                continue  # it was read from the store before the queue had it
            at = found.at
            for message in found.messages:
                yield message
    finally:
        feed.close(queue)
        service.subscriptions.leave()
