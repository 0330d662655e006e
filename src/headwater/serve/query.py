"""The route of queries: one reading statement in the store's own SQL, within limits."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from headwater.operate.views import DEFAULT_STORE
from headwater.serve.access import asks
from headwater.serve.encode import answer
from headwater.serve.role import Access
from headwater.serve.service import Service


class Question(BaseModel):
    """A statement, the store to ask, and how many rows are wanted at most."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(min_length=1, max_length=100_000)
    store: str = DEFAULT_STORE
    limit: int | None = Field(default=None, ge=1)


def routes(service: Service) -> APIRouter:
    """The route of queries."""
    router = APIRouter(tags=["query"])

    @router.post("/query")
    def query(question: Question, access: Access = Depends(asks("read"))) -> Response:  # noqa: B008
        """Ask the store; nothing can be written. `truncated` tells that there are more rows than were wanted."""
        access.check_whole()
        return answer(asked(service, question))

    return router


def asked(service: Service, question: Question) -> dict[str, Any]:
    """The answer to a question."""
    most = min(question.limit or service.settings.query_rows, service.settings.query_rows)
    with service.queries.taken():
        rows = service.project.query(question.sql, store=question.store, limit=most + 1)
    columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
    return {"columns": columns, "rows": rows.slice(0, most).to_pylist(), "truncated": rows.num_rows > most}
