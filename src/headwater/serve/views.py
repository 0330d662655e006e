"""Routes of views: their rows with the position that they are true for, what was late, what became of every event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from headwater.errors import ArgumentRefused
from headwater.model import parse_duration
from headwater.operate.why import MOST, read_row
from headwater.plan import PlannedView
from headwater.serve.access import Reads
from headwater.serve.encode import answer
from headwater.serve.page import ANSWERS, Asked, page, page_at_once
from headwater.serve.reach import Way
from headwater.serve.role import Access
from headwater.serve.selection import read_instant, read_selection
from headwater.serve.service import Service
from headwater.serve.token import read

DEFAULT_WAIT = timedelta(seconds=5)
KNOWN_AT = "known_at"


def routes(service: Service) -> APIRouter:
    """The routes below /views, but for changes."""
    router = APIRouter(prefix="/views", tags=["views"])
    project = service.project

    @router.get("/{name}", openapi_extra={"responses": ANSWERS})
    async def rows(
        name: str,
        request: Request,
        access: Reads,
        after: str | None = None,  # noqa: ARG001  # these are told by the description, and read below
        timeout: str | None = None,  # noqa: ARG001
        known_at: str | None = None,  # noqa: ARG001
    ) -> Response:
        """Rows of a view: by `column=value`, `column.gte=value` …, with `order`, `limit` and `page`.

        `after` is a token that an append answered: the view is waited for, at most `timeout`, so that one reads one's
        own write. `known_at` asks for what the view had when no more had arrived by an instant: it is computed from the
        log by Spark, as JSON. `Accept: application/vnd.apache.arrow.stream` asks for rows as Arrow. An answer has an
        `ETag`: as `If-None-Match` it is answered with 304, without rows, for as long as nothing has changed.
        """
        return await rows_of(service, access, name, request.query_params.multi_items(), request.headers)

    @router.get("/{name}/late")
    def late(name: str, access: Reads, limit: int = 100) -> Response:
        """The rows that came too late, once per window, and how late they were. It is a query on the log by Spark."""
        access.check_view(name)
        with service.queries.taken():
            rows = project.views.late(name)
        part = rows.slice(0, max(1, min(limit, service.settings.query_rows)))
        return answer({"view": name, "count": rows.num_rows, "rows": part.to_pylist()})

    @router.get("/{name}/ledger")
    def ledger(name: str, access: Reads) -> Response:
        """The fates of all events: rows in = used + unmatched + filtered + late + duplicates + dead.

        A remainder is an alarm.
        """
        access.check_view(name)
        fates = project.views.ledger(name)
        return answer(asdict(fates) | {"rows_in": fates.rows_in, "remainder": fates.remainder})

    @router.get("/{name}/why")
    def why(name: str, request: Request, access: Reads, events: int = MOST) -> Response:
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
            reasons = project.why(name, row, most=max(1, min(events, service.settings.query_rows)))
        return answer(reasons.as_dict())

    @router.get("/{name}/explain")
    def explain(name: str, access: Reads) -> Response:
        """The execution of the view and why, its stages, the state it keeps, its versions."""
        access.check_view(name)
        return answer(project.explain(name).as_dict())

    return router


async def rows_of(
    service: Service, access: Access, name: str, parameters: list[tuple[str, str]], headers: Mapping[str, str]
) -> Response:
    """The answer to a request for rows of a view; once the view has come to where `after` is, if that is asked for."""
    access.check_view(name)
    project, options = service.project, dict(parameters)
    view, after = project.plan().view(name), options.get("after")
    if KNOWN_AT in options:
        return await run_in_threadpool(_then, service, view, parameters)
    if after is not None:
        position = await run_in_threadpool(read, project, after)
        way = Way(project, service.positions, view.name, position)
        await way.wait(patience(options.get("timeout"), service.settings.longest_wait))
    asked = Asked.of(parameters, headers)
    at_once = page_at_once(service, view, asked)
    return await run_in_threadpool(page, service, view, asked) if at_once is None else at_once


def _then(service: Service, view: PlannedView, parameters: list[tuple[str, str]]) -> Response:
    """The rows of a view as it was with what had arrived by an instant: a query on the log by Spark."""
    text = dict(parameters)[KNOWN_AT]
    known_at, others = read_instant(text), [pair for pair in parameters if pair[0] != KNOWN_AT]
    chosen = read_selection(view.columns, view.key.columns, others, service.settings.page_rows)
    with service.queries.taken():
        rows = service.project.views.opened().ask.queries.rows_then(view.name, chosen.rows(), known_at)
    told = {"view": view.name, KNOWN_AT: text, "rows": rows.slice(0, chosen.limit).to_pylist()}
    return answer(told | {"page": chosen.page, "more": rows.num_rows > chosen.limit})


def patience(text: str | None, longest: timedelta) -> timedelta:
    """The time that a request is willing to wait."""
    if text is None:
        return min(DEFAULT_WAIT, longest)
    try:
        wait = parse_duration(f"{text} seconds" if text.replace(".", "", 1).isdigit() else text)
    except ValueError:
        raise ArgumentRefused(
            f'"{text[:100]}" is no duration', hint="Write seconds (5), or a duration (500ms)."
        ) from None
    return min(wait, longest)
