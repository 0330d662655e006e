"""Feeds: each view's changes are read from its store once, and given to everyone who has subscribed to it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Literal

from fastapi.concurrency import run_in_threadpool

from headwater.errors import HeadwaterError, PositionRefused, UnknownView
from headwater.project import Project
from headwater.serve.message import Delivery, Since

POLL = timedelta(milliseconds=50)
WAITING = 100
"""How many batches may wait for a subscriber before it is let go."""
End = Literal["slow", "over"]
"""Why a subscription ends: its messages came faster than they were read, or the server ends."""
Queue = asyncio.Queue[Delivery | End]


def batches_after(project: Project, view: str, since: Since) -> list[Delivery]:
    """What each batch after another has changed; `PositionRefused` if it is not kept any more."""
    names = ["op", "before", "after", "timing", "at"]
    return [
        Delivery.of_changes(Since(since.version, table["batch"][0].as_py()), table.select(names).to_pylist())
        for table in project.changes(view, since.version, since=since.batch)
    ]


def place_of(project: Project, view: str) -> Since:
    """Where a view is; `UnknownView` if it has no rows to serve yet."""
    version = project.served(view)
    if version is None:
        raise no_rows(view)
    return Since(version.target.version, version.position.batch if version.position else -1)


def no_rows(view: str) -> UnknownView:
    """The refusal of a view that has nothing to serve."""
    return UnknownView(
        f'view "{view}" has no rows yet',
        detail="It has not caught up with its topics, or was never run.",
        hint="Repeat the request later; GET /status tells how far it is.",
        view=view,
    )


def snapshot_of(project: Project, view: str) -> Delivery:
    """The rows of a view, and a batch from which its changes lead on from them; some may be in the rows already."""
    at = place_of(project, view)
    return Delivery.of_snapshot(at, project.rows(view).to_pylist())


class Feed:
    """The changes of one view from now on. It reads while someone has subscribed."""

    def __init__(self, project: Project, view: str) -> None:
        self.view = view
        self._project = project
        self._queues: set[Queue] = set()
        self._at = Since(0, -1)
        self._reading: asyncio.Task[None] | None = None
        self._guard = asyncio.Lock()

    async def open(self) -> tuple[Queue, int]:
        """A queue that each batch of changes is put into from now on, and the version that is served.

        The last thing in it is why the subscription ends.
        """
        async with self._guard:
            queue: Queue = asyncio.Queue(WAITING + 1)
            if self._reading is None or self._reading.done():
                self._at = await run_in_threadpool(place_of, self._project, self.view)
                self._queues.add(queue)
                self._reading = asyncio.create_task(self._read())
            self._queues.add(queue)
            return queue, self._at.version

    def close(self, queue: Queue) -> None:
        """Put nothing more into a queue."""
        self._queues.discard(queue)

    async def _read(self) -> None:
        while self._queues:
            try:
                for delivery in await run_in_threadpool(self._next):
                    self._at = delivery.at
                    self._give(delivery)
            except HeadwaterError:  # the store doesn't answer: whoever runs it is told by the views
                await asyncio.sleep(1)
            await asyncio.sleep(POLL.total_seconds())

    def _next(self) -> list[Delivery]:
        """What has changed; the whole view anew if another version is served, or the changes are not kept any more."""
        now = place_of(self._project, self.view)
        if now == self._at:
            return []
        try:
            if now.version == self._at.version:
                return batches_after(self._project, self.view, self._at)
        except PositionRefused:
            pass
        return [snapshot_of(self._project, self.view)]

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
