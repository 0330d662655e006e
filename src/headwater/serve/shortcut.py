"""The short way of reads: `GET /views/{name}` goes past the machinery of routes, which takes longer than the read.

The route stays, as the description of the API has it, and both call the same function.
"""

from __future__ import annotations

from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.errors import HeadwaterError
from headwater.serve.access import access_of
from headwater.serve.problem import respond
from headwater.serve.service import Service
from headwater.serve.views import rows_of

_VIEWS = "/views/"


class Shortcut:
    """Answers reads of a view itself, and passes everything else on."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        name = _view(scope)
        if name is None:
            await self._app(scope, receive, send)
            return
        try:
            connection = HTTPConnection(scope)
            access = access_of(connection, "read")
            parameters = QueryParams(scope["query_string"]).multi_items()
            answer = await rows_of(self._service, access, name, parameters, connection.headers)
        except HeadwaterError as error:
            answer = respond(error)
        await answer(scope, receive, send)


def _view(scope: Scope) -> str | None:
    """The view whose rows a request asks for."""
    if scope["type"] != "http" or scope["method"] != "GET" or scope.get("root_path"):
        return None
    path: str = scope["path"]
    name = path.removeprefix(_VIEWS)
    return name if name and name is not path and "/" not in name else None
