"""The schema registry over HTTP, with Confluent's REST API: stock serializers and tools work with it as it is.

It stands below `/registry`. Answers and errors are Confluent's: an error has an `error_code`, whose first three digits
are the status, and a `message`. Reading needs the role `read`, registering `write`, deleting and levels `operate`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from headwater.errors import ArgumentRefused, HeadwaterError, SchemaIncompatible, SchemaRefused, UnknownSchema
from headwater.schemas.canonical import readable, serialized
from headwater.schemas.known import Draft, Mode, Reference, Registered
from headwater.schemas.level import Level
from headwater.schemas.registry import LANGUAGES, LATEST, SchemaRegistry
from headwater.serve.access import access_of
from headwater.serve.encode import to_json
from headwater.serve.problem import status_of
from headwater.serve.role import Role
from headwater.serve.service import Service

PREFIX = "/registry"
MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_INVALID_VERSION, _INVALID_LEVEL, _NOT_CONFIGURED = 42202, 42203, 40408
_NO_MODE, _INVALID_MODE = 40409, 42204
JsonBody = Annotated[dict[str, Any], Body()]


def routes(service: Service) -> APIRouter:
    """Every route of the registry."""
    router = APIRouter(prefix=PREFIX, route_class=_Route, include_in_schema=False)
    registry = service.project.schemas
    _asking(router, registry)
    _comparing(router, registry)
    _changing(router, registry)
    _levels(router, registry)
    _modes(router, registry)
    return router


class _Route(APIRoute):
    """A route whose errors are Confluent's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer a request."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except HeadwaterError as error:
                return problem(error)
            except RequestValidationError as error:
                return _answer({"error_code": 422, "message": str(error.errors()[0]["msg"])}, 422)

        return handle


def _asks(role: Role) -> Callable[[HTTPConnection], Awaitable[None]]:
    """A role, for the whole project: schemas belong to no stream alone."""

    async def check(connection: HTTPConnection) -> None:
        access_of(connection, role).check_whole()

    return check


def _asking(router: APIRouter, registry: SchemaRegistry) -> None:
    reads = [Depends(_asks("read"))]

    @router.get("/schemas/types", dependencies=reads)
    def types() -> Response:
        return _answer(LANGUAGES)

    @router.get("/schemas/ids/{number}", dependencies=reads)
    def schema(number: int, format: str = "") -> Response:  # noqa: A002 - as Confluent calls it
        registered = registry.numbered(number)
        return _answer(_schema(registry, registered, format))

    @router.get("/schemas/ids/{number}/schema", dependencies=reads)
    def text(number: int) -> Response:
        return Response(readable(registry.written(registry.numbered(number))), media_type=MEDIA_TYPE)

    @router.get("/schemas/ids/{number}/subjects", dependencies=reads)
    def subjects_of(number: int, deleted: bool = False) -> Response:
        return _answer([one.subject for one in registry.places(number, deleted=deleted)])

    @router.get("/schemas/ids/{number}/versions", dependencies=reads)
    def versions_of(number: int, deleted: bool = False) -> Response:
        registered = registry.places(number, deleted=deleted)
        return _answer([{"subject": one.subject, "version": one.version} for one in registered])

    @router.get("/subjects", dependencies=reads)
    def subjects(subjectPrefix: str = "", deleted: bool = False) -> Response:  # noqa: N803
        return _answer([name for name in registry.subjects(deleted=deleted) if name.startswith(subjectPrefix)])

    @router.get("/subjects/{subject}/versions", dependencies=reads)
    def versions(subject: str, deleted: bool = False) -> Response:
        return _answer([one.version for one in registry.versions(subject, deleted=deleted)])

    @router.get("/subjects/{subject}/versions/{version}", dependencies=reads)
    def version(subject: str, version: str, deleted: bool = False, format: str = "") -> Response:  # noqa: A002
        registered = registry.version(subject, _version(version), deleted=deleted)
        return _answer(_registered(registry, registered, format))

    @router.get("/subjects/{subject}/versions/{version}/schema", dependencies=reads)
    def version_text(subject: str, version: str, deleted: bool = False) -> Response:
        registered = registry.version(subject, _version(version), deleted=deleted)
        return Response(readable(registry.written(registered)), media_type=MEDIA_TYPE)

    @router.get("/subjects/{subject}/versions/{version}/referencedby", dependencies=reads)
    def referring(subject: str, version: str) -> Response:
        return _answer(registry.referring(subject, registry.version(subject, _version(version)).version))

    @router.get("/contexts", dependencies=reads)
    def contexts() -> Response:
        return _answer(["."])  # the one that every subject is in


def _comparing(router: APIRouter, registry: SchemaRegistry) -> None:
    reads = [Depends(_asks("read"))]

    @router.post("/subjects/{subject}", dependencies=reads)
    def find(subject: str, body: JsonBody, deleted: bool = False) -> Response:
        draft = _draft(body)
        registered = registry.find(subject, draft, deleted=deleted)
        return _answer(_registered(registry, registered) | {"schema": draft.text})  # in the form that the client knows

    @router.post("/compatibility/subjects/{subject}/versions", dependencies=reads)
    def fits(subject: str, body: JsonBody, verbose: bool = False) -> Response:
        return _verdict(registry.check(subject, _draft(body)), verbose)

    @router.post("/compatibility/subjects/{subject}/versions/{version}", dependencies=reads)
    def fits_one(subject: str, version: str, body: JsonBody, verbose: bool = False) -> Response:
        against = registry.version(subject, _version(version))
        return _verdict(registry.check(subject, _draft(body), against), verbose)


def _changing(router: APIRouter, registry: SchemaRegistry) -> None:
    @router.post("/subjects/{subject}/versions", dependencies=[Depends(_asks("write"))])
    def register(subject: str, body: JsonBody) -> Response:
        registered = registry.register(subject, _draft(body))
        return _answer({"id": registered.number, "version": registered.version})

    @router.delete("/subjects/{subject}", dependencies=[Depends(_asks("operate"))])
    def delete(subject: str, permanent: bool = False) -> Response:
        return _answer(registry.delete(subject, permanent=permanent))

    @router.delete("/subjects/{subject}/versions/{version}", dependencies=[Depends(_asks("operate"))])
    def delete_one(subject: str, version: str, permanent: bool = False) -> Response:
        return _answer(registry.delete(subject, _version(version), permanent=permanent)[0])


def _levels(router: APIRouter, registry: SchemaRegistry) -> None:
    reads, operates = [Depends(_asks("read"))], [Depends(_asks("operate"))]

    @router.get("/config", dependencies=reads)
    def level() -> Response:
        return _answer({"compatibilityLevel": registry.level()})

    @router.put("/config", dependencies=operates)
    def set_level(body: JsonBody) -> Response:
        registry.set_level(_level(body))
        return _answer({"compatibility": registry.level()})

    @router.delete("/config", dependencies=operates)
    def reset_level() -> Response:
        registry.set_level(None)
        return _answer({"compatibilityLevel": registry.level()})

    @router.get("/config/{subject}", dependencies=reads)
    def level_of(subject: str, defaultToGlobal: bool = False) -> Response:  # noqa: N803
        effective = registry.level(subject) or (registry.level() if defaultToGlobal else None)
        if effective is None:
            raise UnknownSchema(f'subject "{subject}" asks for no level of its own', status=_NOT_CONFIGURED)
        return _answer({"compatibilityLevel": effective})

    @router.put("/config/{subject}", dependencies=operates)
    def set_level_of(subject: str, body: JsonBody) -> Response:
        registry.set_level(_level(body), subject)
        return _answer({"compatibility": registry.level(subject)})

    @router.delete("/config/{subject}", dependencies=operates)
    def reset_level_of(subject: str) -> Response:
        before = registry.effective_level(subject)
        registry.set_level(None, subject)
        return _answer({"compatibilityLevel": before})


def _modes(router: APIRouter, registry: SchemaRegistry) -> None:
    reads, operates = [Depends(_asks("read"))], [Depends(_asks("operate"))]

    @router.get("/mode", dependencies=reads)
    def mode() -> Response:
        return _answer({"mode": registry.mode()})

    @router.put("/mode", dependencies=operates)
    def set_mode(body: JsonBody) -> Response:
        registry.set_mode(_mode(body))
        return _answer({"mode": registry.mode()})

    @router.get("/mode/{subject}", dependencies=reads)
    def mode_of(subject: str, defaultToGlobal: bool = False) -> Response:  # noqa: N803
        effective = registry.mode(subject) or (registry.mode() if defaultToGlobal else None)
        if effective is None:
            raise UnknownSchema(f'subject "{subject}" has no mode of its own', status=_NO_MODE)
        return _answer({"mode": effective})

    @router.put("/mode/{subject}", dependencies=operates)
    def set_mode_of(subject: str, body: JsonBody) -> Response:
        registry.set_mode(_mode(body), subject)
        return _answer({"mode": registry.mode(subject)})

    @router.delete("/mode/{subject}", dependencies=operates)
    def reset_mode_of(subject: str) -> Response:
        before = registry.mode(subject) or registry.mode()
        registry.set_mode(None, subject)
        return _answer({"mode": before})


# What goes in and out


def _mode(body: dict[str, Any]) -> Mode:
    wanted = body.get("mode")
    try:
        return Mode(str(wanted).upper())
    except ValueError:
        hint = f"It is one of {', '.join(Mode)}."
        raise SchemaRefused(f'"{wanted}" is no mode', hint=hint, status=_INVALID_MODE) from None


def _draft(body: dict[str, Any]) -> Draft:
    text, language = body.get("schema"), body.get("schemaType") or "AVRO"
    if not isinstance(text, str):
        raise SchemaRefused("the request has no schema", status=42201)
    try:
        references = tuple(map(_reference, _references(body)))
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise SchemaRefused("a reference names no version", detail=f"{problem}.", status=42201) from problem
    return Draft(str(language).upper(), text, references)


def _reference(written: dict[str, Any]) -> Reference:
    name, subject, version = written["name"], written["subject"], int(written["version"])
    if not (isinstance(name, str) and isinstance(subject, str) and 0 < version < 2**31):
        raise ValueError("a name or a subject is no text, or a version no number of one")
    return Reference(name, subject, version)


def _references(body: dict[str, Any]) -> list[Any]:
    references = body.get("references") or []
    return references if isinstance(references, list) else [references]


def _version(text: str) -> int | Literal["latest"]:
    if text in (LATEST, "-1"):
        return LATEST
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or not 0 < int(text) < 2**31:
        raise SchemaRefused(
            f'"{text[:50]}" is no version', hint='A version is a number or "latest".', status=_INVALID_VERSION
        )
    return int(text)


def _level(body: dict[str, Any]) -> Level:
    wanted = body.get("compatibility")
    try:
        return Level(str(wanted).upper())
    except ValueError:
        hint = f"It is one of {', '.join(Level)}."
        raise SchemaRefused(f'"{wanted}" is no level of compatibility', hint=hint, status=_INVALID_LEVEL) from None


def _schema(registry: SchemaRegistry, registered: Registered, form: str) -> dict[str, Any]:
    written = registry.written(registered)
    as_descriptor = form == "serialized" and registered.language == "PROTOBUF"
    answer: dict[str, Any] = {"schema": serialized(written) if as_descriptor else readable(written)}
    if registered.language != "AVRO":
        answer["schemaType"] = registered.language
    if registered.references:
        answer["references"] = [vars(reference) for reference in registered.references]
    return answer


def _registered(registry: SchemaRegistry, registered: Registered, form: str = "") -> dict[str, Any]:
    heading = {"subject": registered.subject, "version": registered.version, "id": registered.number}
    return heading | _schema(registry, registered, form)


def _verdict(problems: list[str], verbose: bool) -> Response:
    return _answer({"is_compatible": not problems} | ({"messages": problems} if verbose else {}))


def _answer(value: Any, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type=MEDIA_TYPE)


def problem(error: HeadwaterError) -> Response:
    """The answer to an error, as clients of registries read it."""
    known = isinstance(error, UnknownSchema | SchemaRefused | SchemaIncompatible | ArgumentRefused)
    code = int(error.fields.get("status", 0)) if known else 0
    status = int(str(code)[:3]) if code else status_of(error)
    message = " ".join(filter(None, (error.summary + ".", error.detail, error.hint)))
    headers = {"WWW-Authenticate": "Basic"} if status == 401 else None
    return Response(to_json({"error_code": code or status, "message": message}), status, headers, MEDIA_TYPE)
