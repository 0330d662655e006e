"""Routes of tables: their rows as they are or were, and deletes. Changes come in as the events of streams do."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from headwater.errors import ArgumentRefused, UnknownTopic, UnreadableEvent
from headwater.model import Table
from headwater.project import Project
from headwater.serve.access import Reads, Writes
from headwater.serve.encode import answer
from headwater.serve.selection import read_instant, read_selection
from headwater.serve.service import Service
from headwater.serve.token import LogPosition, spell

AS_OF, KNOWN_AT = "as_of", "known_at"


def routes(service: Service) -> APIRouter:
    """The routes below /tables."""
    router = APIRouter(prefix="/tables", tags=["tables"])
    project = service.project

    @router.get("")
    def tables(access: Reads) -> Response:
        """The tables: columns, keys, and whether their changes have an event time."""
        access.check_whole()
        return answer([_described(table) for table in project.declared.topics if isinstance(table, Table)])

    @router.get("/{name}")
    def rows(name: str, request: Request, access: Reads) -> Response:
        """Rows of a table: by `column=value`, `column.gte=value` …, with `order`, `limit` and `page`, as for views.

        `as_of` asks for them as they were at an instant: by event time, or by arrival if the table declares none;
        `known_at` by the changes that had arrived by an instant.
        """
        table = _table(project, name)
        access.check_stream(table.name)
        parameters = [pair for pair in request.query_params.multi_items() if pair[0] not in (AS_OF, KNOWN_AT)]
        chosen = read_selection(table.columns, table.primary_key, parameters, service.settings.page_rows)
        asked = {name: request.query_params.get(name) for name in (AS_OF, KNOWN_AT)}
        instants = {name: None if text is None else read_instant(text) for name, text in asked.items()}
        with service.queries.taken():
            commit, found = project.views.select_of_table(table.name, chosen.rows(), **instants)
        told = {"table": table.name, "commit": commit, **asked, "rows": found.slice(0, chosen.limit).to_pylist()}
        return answer(told | {"page": chosen.page, "more": found.num_rows > chosen.limit})

    @router.post("/{name}/delete", status_code=201)
    async def delete(
        name: str, request: Request, access: Writes, at: str | None = None, source: str = "http"
    ) -> Response:
        """Delete rows by their keys: a JSON array of values, or of objects with the columns of the key.

        `at` says when it happened, where changes have an event time. A key that isn't there is no error.
        """
        table = _table(project, name)
        access.check_stream(table.name)
        instant = None if at is None else read_instant(at)
        with service.appends.taken():
            keys = _keys(await request.body())
            receipt = await run_in_threadpool(lambda: project.delete(table.name, keys, at=instant, source=source))
        token = spell(project, LogPosition(table.name, receipt.commit))
        return answer(asdict(receipt) | {"became": receipt.became, "token": token}, 201)

    return router


def _table(project: Project, name: str) -> Table:
    topic = project.declarations.topic(name)
    if not isinstance(topic, Table):
        raise UnknownTopic(
            f'"{topic.name}" is a stream, and has no rows by key',
            hint=f"Read its log: GET /streams/{topic.name}/log, or a view of it.",
        )
    return topic


def _described(table: Table) -> dict[str, Any]:
    columns = [{"name": column.name, "type": str(column.type)} for column in table.columns]
    return {"table": table.name, "columns": columns, "key": list(table.primary_key), "time": table.time}


def _keys(body: bytes) -> Any:
    try:
        keys = json.loads(body)
    except ValueError as cause:
        raise UnreadableEvent("the body is not JSON", detail=f"{cause}. Nothing was deleted.") from cause
    if not isinstance(keys, list):
        raise ArgumentRefused("the body is no array of keys", hint='Send ["c-1"], or [{"shop": "north", "day": 3}].')
    return keys
