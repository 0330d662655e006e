"""The route of several views at one cut: rows that are true for the same commits of what the views read together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Request, Response

from headwater.errors import ArgumentRefused
from headwater.intake import convert
from headwater.model import Column, spell_type
from headwater.operate.cut import ViewAt
from headwater.serve.access import Reads
from headwater.serve.encode import answer
from headwater.serve.feed import served
from headwater.serve.selection import DEFAULT_LIMIT
from headwater.serve.service import Service
from headwater.serve.views import patience

MOST_VIEWS = 20
_OPTIONS = ("views", "limit", "timeout")


def routes(service: Service) -> APIRouter:
    """The route of a cut."""
    router = APIRouter(tags=["views"])
    project = service.project

    @router.get("/read")
    def read(
        request: Request, views: str, access: Reads, limit: int = DEFAULT_LIMIT, timeout: str | None = None
    ) -> Response:
        """Rows of several views (`views=a,b`) that are true for the same commits of what they read together.

        `column=value` chooses rows of each view that has such a column. The newest common cut is taken; if there is
        none, it is waited for, at most `timeout`.
        """
        names = _names(views)
        for name in names:
            access.check_view(name)
        if not 1 <= limit <= service.settings.page_rows:
            raise ArgumentRefused(
                f'"{limit}" is no limit', hint=f"Give a whole number from 1 to {service.settings.page_rows}."
            )
        columns = {name: served(project, project.plan().view(name).name).target.columns for name in names}
        wanted = [(name, value) for name, value in request.query_params.multi_items() if name not in _OPTIONS]
        _check_columns(columns.values(), wanted)
        wait = patience(timeout, service.settings.longest_wait)
        with service.queries.taken():
            cut = project.views.rows_at_cut(*names, wait=wait)
        commits = {topic: commit for at in cut for topic, commit in at.commits.items()}
        return answer({"commits": commits, "views": [_shown(at, wanted, limit) for at in cut]})

    return router


def _names(text: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names) or len(names) > MOST_VIEWS:
        raise ArgumentRefused(f'"{text[:200]}" names no views', hint=f"Write one to {MOST_VIEWS}: views=spend,limits.")
    return names


def _check_columns(views: Iterable[Iterable[Column]], wanted: Iterable[tuple[str, str]]) -> None:
    known = {column.name.lower() for columns in views for column in columns}
    for name, _ in wanted:
        if name.lower() not in known:
            raise ArgumentRefused(f'none of the views has a column "{name}"', hint="Write column=value.")


def _shown(at: ViewAt, wanted: Iterable[tuple[str, str]], limit: int) -> dict[str, Any]:
    rows = at.rows
    named = {name.lower(): name for name in rows.column_names}
    for name, value in wanted:
        if name.lower() in named:
            rows = _equal(rows, named[name.lower()], value)
    head: Mapping[str, Any] = {"view": at.view, "version": at.version, "batch": at.batch, "commits": dict(at.commits)}
    return {**head, "rows": rows.slice(0, limit).to_pylist(), "more": rows.num_rows > limit}


def _equal(rows: pa.Table, column: str, text: str) -> pa.Table:
    kind = rows.schema.field(column).type
    value = convert(pa.array([text.replace(" ", "+") if pa.types.is_timestamp(kind) else text]), kind, text=True)
    if value.bad is not None:
        hint = f"The column is {spell_type(kind)}."
        raise ArgumentRefused(f'"{text[:200]}" doesn\'t fit column "{column}"', hint=hint)
    return rows.filter(pc.equal(rows[column], value.values[0]))
