"""Reading one's own write: waiting until a view has come to where an append has put its rows.

A view that reads the topic itself is there when its store is. One that reads it through another view is there when the
other one is, has published what is final by then, and that was read. Whoever waits holds no thread, and however many
do, a store is asked where a view is once in a while for all of them.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from fastapi.concurrency import run_in_threadpool

from headwater.errors import ArgumentRefused, NotReached
from headwater.project import Project
from headwater.serve.token import LogPosition
from headwater.store import Position
from headwater.waiting import wait_meanwhile

POLL = timedelta(milliseconds=20)


class Positions:
    """The positions of views in their stores. Who asks while another asks is told the same."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._asking: dict[str, asyncio.Task[Position | None]] = {}

    async def of(self, view: str) -> Position | None:
        """The position that a view has come to, if it has; called from the loop that serves."""
        asking = self._asking.get(view)
        if asking is None or asking.done():
            asking = self._asking[view] = asyncio.create_task(run_in_threadpool(self._read, view))
        return await asyncio.shield(asking)

    def _read(self, view: str) -> Position | None:
        served = self._project.views.served_position(view)
        return served[1] if served else None


class Way:
    """The way of an append's rows to a view. What has been reached stays reached, so that it is asked for once."""

    def __init__(self, project: Project, positions: Positions, view: str, awaited: LogPosition) -> None:
        self._project = project
        self._positions = positions
        self._view = view
        self._awaited = awaited
        self._reached: dict[str, datetime] = {}
        self._published: dict[str, int] = {}
        plan = project.plan()
        if awaited.topic not in plan.graph.upstream(plan.view(view).name):
            raise ArgumentRefused(
                f'view "{view}" doesn\'t read "{awaited.topic}"',
                detail="The position names a commit of that topic, which the view never comes to.",
                hint="Leave `after` out, or ask a view that reads it.",
            )

    async def wait(self, longest: timedelta) -> None:
        """Return once the view is there; `NotReached` if it isn't in time."""
        if not await wait_meanwhile(lambda: self._is_there(self._view), longest, every=POLL):
            raise NotReached(
                f'view "{self._view}" had not come to commit {self._awaited.commit} of "{self._awaited.topic}" '
                f"after {longest.total_seconds():g} s",
                detail="The rows are in the log. The view is behind, or doesn't run.",
                hint="Repeat the request, with a longer timeout if need be; GET /status tells how far the view is.",
                view=self._view,
            )

    async def _is_there(self, view: str) -> bool:
        position = await self._positions.of(view)
        if position is None:
            return False
        for scan in self._project.plan().view(view).reading:
            if not await self._has(scan.relation, scan.kind, dict(position.commits)):
                return False
        self._reached.setdefault(view, position.watermark)
        return True

    async def _has(self, name: str, kind: str, commits: dict[str, int]) -> bool:
        """Tells whether commits are far enough in what is read under a name."""
        if kind != "view":
            return name != self._awaited.topic or commits.get(name, -1) >= self._awaited.commit
        if name not in self._published:
            published = await self._publishes(name)
            if published is None:
                return False
            self._published[name] = published
        return commits.get(name, -1) >= self._published[name]

    async def _publishes(self, name: str) -> int | None:
        """The commit with which a view has published what the rows have made final; None if it hasn't yet."""
        if self._awaited.topic not in self._project.plan().graph.upstream(name):
            return -1
        if name not in self._reached and not await self._is_there(name):
            return None
        return await run_in_threadpool(self._project.views.published, name, self._reached[name])
