"""The route of queries: one reading statement over views and tables, within limits."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from headwater.serve.access import Reads
from headwater.serve.encode import answer
from headwater.serve.role import Access
from headwater.serve.service import Service


class Question(BaseModel):
    """A statement over views and tables, and how many rows are wanted at most.

    Each view is read where it is kept, or in the store that is named; with `native` the statement is in that store's
    own SQL, which a token needs the role `operate` for.
    """

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(min_length=1, max_length=100_000)
    store: str | None = None
    native: bool = False
    limit: int | None = Field(default=None, ge=1)


def routes(service: Service) -> APIRouter:
    """The route of queries."""
    router = APIRouter(tags=["query"])

    @router.post("/query")
    def query(question: Question, access: Reads) -> Response:
        """Ask views; nothing can be written. `truncated` tells that there are more rows than were wanted."""
        check(service, question, access)
        return answer(asked(service, question))

    return router


def check(service: Service, question: Question, access: Access) -> None:
    """Refuse a question about what a token isn't for. A store's own SQL sees more than views."""
    if question.native:
        access.check_role("operate")
        access.check_whole()
    else:
        for view in service.project.views.views_of(question.sql):
            access.check_view(view)
        for table in service.project.views.tables_of(question.sql):
            access.check_stream(table)


def asked(service: Service, question: Question) -> dict[str, Any]:
    """The answer to a question."""
    most = min(question.limit or service.settings.query_rows, service.settings.query_rows)
    with service.queries.taken():
        rows = service.project.query(question.sql, store=question.store, limit=most + 1, native=question.native)
    columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
    return {"columns": columns, "rows": rows.slice(0, most).to_pylist(), "truncated": rows.num_rows > most}
