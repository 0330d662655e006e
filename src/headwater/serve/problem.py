"""Problems: what went wrong, as RFC 9457 has it, made from the tree of errors.

`type` names the error, `title` is its summary, and `who` says who must act: the caller, the operator, the author of a
declaration, or the authors of Headwater.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from headwater import errors
from headwater.errors import HeadwaterError, InternalError
from headwater.findings import UnknownStore
from headwater.serve.encode import to_json

MEDIA_TYPE = "application/problem+json"
_PATH = re.compile(r"(?<![\w:/.…])/(?:[^\s/'\"<>|,;:]+/)+([^\s/'\"<>|,;:]*)")
"""A path from the root on; not a part of a URL, nor a route of one part."""
RETRY_AFTER = 1
"""Seconds after which a request that failed for the moment may be repeated."""
_STATUS: tuple[tuple[type[HeadwaterError], int], ...] = (
    (errors.TokenRefused, 401),
    (errors.RoleRefused, 403),
    (errors.UnknownTopic, 404),
    (errors.UnknownView, 404),
    (errors.UnknownVersion, 404),
    (errors.UnknownRow, 404),
    (UnknownStore, 404),
    (errors.UnknownSchema, 404),
    (errors.SchemaIncompatible, 409),
    (errors.SchemaRefused, 422),
    (errors.SequenceRefused, 409),
    (errors.PositionRefused, 410),
    (errors.TooSlow, 408),
    (errors.TooLarge, 413),
    (errors.FormatRefused, 415),
    (errors.StrictLoadRefused, 422),
    (errors.UnsortedLoad, 422),
    (errors.DataError, 422),
    (errors.CallError, 400),
    (errors.DeclarationError, 409),
    (errors.PromotionRefused, 409),
    (errors.Overloaded, 429),
    (errors.NotReached, 504),
)
_WHO: tuple[tuple[type[HeadwaterError], str], ...] = (
    (errors.CallError, "caller"),
    (errors.DataError, "caller"),
    (errors.Overloaded, "caller"),
    (errors.DeclarationError, "author"),
    (errors.OperatorError, "operator"),
)


def status_of(error: HeadwaterError) -> int:
    """The status code of an error; one of ours, and one that the operator must end, is 500, or 503 if it may pass."""
    code = next((status for kind, status in _STATUS if isinstance(error, kind)), None)
    return code if code is not None else 503 if error.transient else 500


def problem_of(error: HeadwaterError) -> dict[str, Any]:
    """The body of an error."""
    who = next((party for kind, party in _WHO if isinstance(error, kind)), "headwater")
    told = error.as_dict()
    if isinstance(error, errors.CheckFailed):
        told["findings"] = [{"severity": finding.severity} | finding.as_dict() for finding in error.findings]
    body = {"type": f"urn:headwater:error:{told.pop('error')}", "title": told.pop("summary")}
    whole = body | {"status": status_of(error), "who": who} | told
    return whole if who in ("caller", "author") else _without_paths(whole)


def _without_paths(value: Any) -> Any:
    """A value without the folders of this machine in its texts; the names of files stay."""
    match value:
        case str():
            return _PATH.sub(r"…/\1", value)
        case dict():
            return {name: _without_paths(item) for name, item in value.items()}
        case list() | tuple():
            return [_without_paths(item) for item in value]
        case _:
            return value


def respond(error: HeadwaterError) -> Response:
    """The response to an error."""
    status = status_of(error)
    headers = {"Retry-After": str(RETRY_AFTER)} if status in (429, 503, 504) else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(to_json(problem_of(error)), status, headers, MEDIA_TYPE)


def _plain(status: int, title: str, detail: str | None = None) -> Response:
    """The answer to what the server itself refuses: a path that isn't there, a method, a parameter of another type."""
    body = {"type": "about:blank", "title": title, "status": status, "who": "caller" if status < 500 else "headwater"}
    return Response(to_json(body | ({"detail": detail} if detail else {})), status, media_type=MEDIA_TYPE)


async def _of_ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, HeadwaterError)
    return respond(error)


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _plain(error.status_code, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _of_parameters(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    finding = error.errors()[0]
    parameter = ".".join(str(part) for part in finding["loc"])
    return _plain(422, "the request doesn't fit the API", f"{parameter}: {finding['msg']}.")


async def _of_nobody(_: Request, error: Exception) -> Response:
    failure = InternalError("the request failed by a mistake of ours", hint="Please report it.")
    failure.__cause__ = error
    return respond(failure)


def handle_problems(app: FastAPI) -> None:
    """Let every error be answered with a problem."""
    app.add_exception_handler(HeadwaterError, _of_ours)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_parameters)
    app.add_exception_handler(Exception, _of_nobody)
