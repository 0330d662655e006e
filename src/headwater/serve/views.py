"""Routes of views: their rows with the position that they are true for, what was late, what became of every event."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool

from headwater.errors import ArgumentRefused
from headwater.model import parse_duration
from headwater.operate.why import MOST, read_row
from headwater.project import Project
from headwater.serve.access import asks
from headwater.serve.encode import answer
from headwater.serve.feed import no_rows
from headwater.serve.reach import Way
from headwater.serve.role import Access
from headwater.serve.selection import read_selection
from headwater.serve.service import Service
from headwater.serve.token import read
from headwater.store import Position, Version

DEFAULT_WAIT = timedelta(seconds=5)


def routes(service: Service) -> APIRouter:
    """The routes below /views, but for changes."""
    router = APIRouter(prefix="/views", tags=["views"])
    project = service.project

    @router.get("/{name}")
    async def rows(
        name: str,
        request: Request,
        after: str | None = None,
        timeout: str | None = None,
        access: Access = Depends(asks("read")),  # noqa: B008
    ) -> Response:
        """Rows of a view: by `column=value`, `column.gte=value` …, with `order`, `limit` and `page`.

        `after` is a token that an append answered: the view is waited for, at most `timeout`, so that one reads one's
        own write.
        """
        access.check_view(name)
        view = project.plan().view(name).name
        if after is not None:
            place = await run_in_threadpool(read, project, after)
            way = Way(project, service.positions, view, place)
            await way.wait(patience(timeout, service.settings.longest_wait))
        return await run_in_threadpool(_page, service, view, request.query_params.multi_items())

    @router.get("/{name}/late")
    def late(
        name: str,
        limit: int = 100,
        access: Access = Depends(asks("read")),  # noqa: B008
    ) -> Response:
        """The rows that came too late, once per window, and how late they were. It is a query on the log by Spark."""
        access.check_view(name)
        with service.queries.taken():
            found = project.late(name)
        part = found.slice(0, max(1, min(limit, service.settings.query_rows)))
        return answer({"view": name, "count": found.num_rows, "rows": part.to_pylist()})

    @router.get("/{name}/ledger")
    def ledger(name: str, access: Access = Depends(asks("read"))) -> Response:  # noqa: B008
        """What became of every event: rows in = used + filtered + late + duplicates + dead; a remainder is an alarm."""
        access.check_view(name)
        found = project.ledger(name)
        return answer(asdict(found) | {"rows_in": found.rows_in, "remainder": found.remainder})

    @router.get("/{name}/why")
    def why(
        name: str,
        request: Request,
        events: int = MOST,
        access: Access = Depends(asks("read")),  # noqa: B008
    ) -> Response:
        """The events behind a row, which is named by `column=value`, and those that came too late for it.

        `column.null=true` is a row without a value; a column that is called `events` is `events.eq=value`. The events
        are looked for in the log by Spark. At most so many of each are shown, the first ones; all are counted.
        """
        access.check_view(name)
        plan = project.plan()
        for topic in plan.graph.upstream(plan.view(name).name) & set(plan.topics):
            access.check_stream(topic)
        row = read_row((key, value) for key, value in request.query_params.multi_items() if key != "events")
        with service.queries.taken():
            found = project.why(name, row, most=max(1, min(events, service.settings.query_rows)))
        return answer(found.as_dict())

    @router.get("/{name}/explain")
    def explain(name: str, access: Access = Depends(asks("read"))) -> Response:  # noqa: B008
        """How the view is executed and why, its stages, the state it keeps, its versions."""
        access.check_view(name)
        return answer(project.explain(name).as_dict())

    return router


def _page(service: Service, view: str, parameters: list[tuple[str, str]]) -> Response:
    """The rows of a view that the parameters of a request ask for."""
    target = served(service.project, view).target
    selection = read_selection(target.columns, target.key, parameters, service.settings.page_rows)
    with service.queries.taken():
        read, rows = service.project.select(view, selection.rows())
    body = {"view": view, "version": read.target.version, "position": as_record(read.position)}
    found = rows.to_pylist()
    more = len(found) > selection.limit
    return answer(body | {"rows": found[: selection.limit], "page": selection.page, "more": more})


def patience(text: str | None, longest: timedelta) -> timedelta:
    """How long a request is willing to wait."""
    if text is None:
        return min(DEFAULT_WAIT, longest)
    try:
        found = parse_duration(f"{text} seconds" if text.replace(".", "", 1).isdigit() else text)
    except ValueError:
        raise ArgumentRefused(
            f'"{text[:100]}" is no duration', hint="Write seconds (5), or a duration (500ms)."
        ) from None
    return min(found, longest)


def served(project: Project, view: str) -> Version:
    """The version of a view that is served; `UnknownView` if it has no rows yet."""
    version = project.served(view)
    if version is None:
        raise no_rows(view)
    return version


def as_record(position: Position | None) -> dict[str, Any] | None:
    """A position with stable field names."""
    if position is None:
        return None
    return {"batch": position.batch, "commits": dict(position.commits), "watermark": position.watermark}
