"""Feeds: each view's changes are read from its store once, and given to everyone who has subscribed to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Literal, ParamSpec, TypeVar
from weakref import ReferenceType, ref

from fastapi.concurrency import run_in_threadpool

from headwater.errors import HeadwaterError, PositionRefused, UnknownView
from headwater.project import Project
from headwater.serve.message import Delivery, Since
from headwater.store import Version

P = ParamSpec("P")
D = TypeVar("D", Delivery, list[Delivery])
POLL = timedelta(milliseconds=50)
"""It is looked so often whether another process has written; a batch of this one is told at once."""
WAITING = 100
"""So many batches may wait for a subscriber before it is let go."""
End = Literal["slow", "over"]
"""Why a subscription ends: its messages came faster than they were read, or the server ends."""
Queue = asyncio.Queue[Delivery | End]


def batches_after(project: Project, view: str, since: Since) -> list[Delivery]:
    """The changes of each batch after another; `PositionRefused` if they are not kept any more."""
    names = ["op", "before", "after", "timing", "at"]
    return [
        Delivery.of_changes(Since(since.version, table["batch"][0].as_py()), table.select(names).to_pylist())
        for table in project.changes(view, since.version, since=since.batch)
    ]


def served(project: Project, view: str) -> Version:
    """The version of a view that is served; `UnknownView` if it has no rows yet."""
    version = project.views.served(view)
    if version is None:
        raise no_rows_yet(view)
    return version


def no_rows_yet(view: str) -> UnknownView:
    """A view that there is nothing to serve of."""
    return UnknownView(
        f'view "{view}" has no rows yet',
        detail="It has not caught up with its topics, or was never run.",
        hint="Repeat the request later; GET /status tells how far it is.",
        view=view,
    )


def newest(project: Project, view: str) -> Since:
    """The newest batch of a view; `UnknownView` if it has no rows to serve yet."""
    at = project.views.served_position(view)
    if at is None:
        raise no_rows_yet(view)
    number, position = at
    return Since(number, position.batch if position else -1)


def snapshot_of(project: Project, view: str) -> Delivery:
    """The rows of a view, and a batch from which its changes lead on from them; some may be in the rows already."""
    at = newest(project, view)
    return Delivery.of_snapshot(at, project.rows(view).to_pylist())


def _spelled(read: Callable[P, D], *arguments: P.args, **options: P.kwargs) -> D:
    """The changes that are read, spelled by the thread that reads it and not by the loop that serves."""
    deliveries = read(*arguments, **options)
    for delivery in deliveries if isinstance(deliveries, list) else [deliveries]:
        _ = delivery.events
    return deliveries


def _setting(event: asyncio.Event) -> Callable[[], None]:
    """Sets an event of the loop that runs, from whichever thread."""
    loop = asyncio.get_running_loop()

    def told() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(event.set)

    return told


class Feed:
    """The changes of one view from now on. It reads while someone has subscribed."""

    def __init__(self, project: Project, view: str) -> None:
        self.view = view
        self._project = project
        self._queues: set[Queue] = set()
        self._at = Since(0, -1)
        self._reading: asyncio.Task[None] | None = None
        self._guard = asyncio.Lock()
        self._snapshot: ReferenceType[Delivery] | None = None
        self._taking = asyncio.Lock()

    async def open(self) -> tuple[Queue, int]:
        """A queue that each batch of changes is put into from now on, and the version that is served.

        The last thing in it is why the subscription ends.
        """
        async with self._guard:
            queue: Queue = asyncio.Queue(WAITING + 1)
            if self._reading is None or self._reading.done():
                self._at = await run_in_threadpool(newest, self._project, self.view)
                self._queues.add(queue)
                self._reading = asyncio.create_task(self._read())
            self._queues.add(queue)
            return queue, self._at.version

    async def snapshot(self) -> Delivery:
        """The rows of the view; while they don't change, the same ones for everyone who is still being sent them."""
        async with self._taking:
            known = self._snapshot() if self._snapshot else None
            if known is None or known.at != await run_in_threadpool(newest, self._project, self.view):
                known = await run_in_threadpool(_spelled, snapshot_of, self._project, self.view)
                self._snapshot = ref(known)
            return known

    def close(self, queue: Queue) -> None:
        """Put nothing more into a queue."""
        self._queues.discard(queue)

    async def _read(self) -> None:
        written = asyncio.Event()
        with self._project.views.told_when_written(self.view, _setting(written)):
            while self._queues:
                written.clear()
                try:
                    for delivery in await run_in_threadpool(self._next):
                        self._at = delivery.at
                        self._give(delivery)
                except HeadwaterError:  # the store doesn't answer: whoever runs it is told by the views
                    await asyncio.sleep(1)
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL.total_seconds()):
                        await written.wait()

    def _next(self) -> list[Delivery]:
        """The changes since; the whole view anew if another version is served, or the changes are not kept any more."""
        now = newest(self._project, self.view)
        if now == self._at:
            return []
        try:
            if now.version == self._at.version:
                return _spelled(batches_after, self._project, self.view, self._at)
        except PositionRefused:
            pass
        return [_spelled(snapshot_of, self._project, self.view)]

    def _give(self, delivery: Delivery) -> None:
        for queue in list(self._queues):
            if queue.qsize() < WAITING:
                queue.put_nowait(delivery)
            else:
                self._end(queue, "slow")

    def end(self) -> None:
        """End every subscription: the server does."""
        for queue in list(self._queues):
            self._end(queue, "over")

    def _end(self, queue: Queue, why: End) -> None:
        queue.put_nowait(why)
        self.close(queue)


class Feeds:
    """The feeds of a project, made when someone first asks."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._feeds: dict[str, Feed] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def of(self, view: str) -> Feed:
        """The feed of a view; called from the loop that serves."""
        self._loop = asyncio.get_running_loop()
        return self._feeds.setdefault(view, Feed(self._project, view))

    def end(self) -> None:
        """End every subscription; called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            for feed in self._feeds.values():
                self._loop.call_soon_threadsafe(feed.end)
