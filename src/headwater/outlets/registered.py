"""The registry that an outlet's schemas go to: any with Confluent's REST API, or the project's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from headwater.errors import HeadwaterError, SchemaIncompatible, TargetDenied, TargetUnavailable, UnknownSchema
from headwater.intake.kafka.client import PREFIX
from headwater.intake.kafka.registry import NO_ANSWER
from headwater.intake.schema.known import Draft
from headwater.intake.schema.registry import LATEST, SchemaRegistry
from headwater.intake.schema.written import Language
from headwater.model import Outlet
from headwater.outlets.framed import Registers

T = TypeVar("T")
_NOT_FOUND, _INCOMPATIBLE = 404, 409


def registers_of(outlet: Outlet, options: Mapping[str, str], own: SchemaRegistry | None) -> Registers:
    """The registry that an outlet names, else that of its cluster, else the project's own."""
    given = {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}
    url = outlet.registry or given.get("url")
    if url is not None:
        return _Remote(outlet, {**given, "url": url})
    assert own is not None, "a project has a registry"
    return _Own(outlet, own)


class _Own:
    def __init__(self, outlet: Outlet, registry: SchemaRegistry) -> None:
        self._outlet = outlet
        self._registry = registry

    def register(self, subject: str, language: Language, text: str) -> int:
        try:
            return self._registry.register(subject, Draft(language, text)).number
        except SchemaIncompatible as refused:
            raise _incompatible(self._outlet, subject, refused.detail or refused.summary) from refused

    def latest(self, subject: str) -> str | None:
        try:
            return self._registry.version(subject, LATEST).text
        except UnknownSchema:
            return None


class _Remote:
    def __init__(self, outlet: Outlet, options: Mapping[str, str]) -> None:
        self._outlet = outlet
        self._options = dict(options)

    def register(self, subject: str, language: Language, text: str) -> int:
        number = self._asked(subject, lambda client: client.register_schema(subject, Schema(text, language)))
        assert number is not None, "a subject is made by registering"
        return number

    def latest(self, subject: str) -> str | None:
        found = self._asked(subject, lambda client: client.get_latest_version(subject))
        return None if found is None or found.schema is None else found.schema.schema_str

    def _asked(self, subject: str, ask: Callable[[SchemaRegistryClient], T]) -> T | None:
        """What the registry answers; None if it doesn't have it."""
        try:
            with SchemaRegistryClient(self._options) as client:
                return ask(client)
        except (ValueError, TypeError) as problem:
            raise self._denied(str(problem)) from problem
        except NO_ANSWER as problem:
            raise self._unavailable(str(problem) or type(problem).__name__) from problem
        except SchemaRegistryError as problem:
            if problem.http_status_code == _NOT_FOUND:
                return None
            if problem.http_status_code == _INCOMPATIBLE:
                raise _incompatible(self._outlet, subject, problem.error_message) from problem
            denied = 400 <= problem.http_status_code < 500
            raise (self._denied if denied else self._unavailable)(problem.error_message) from problem

    def _denied(self, detail: str) -> HeadwaterError:
        return TargetDenied(
            f'the schema registry of outlet "{self._outlet.name}" refuses it',
            detail=f"{detail.rstrip('.')}, at {self._options['url']}. Nothing was sent.",
            hint=f'Check the options "{PREFIX}…" of the cluster in headwater.toml.',
            outlet=self._outlet.name,
        )

    def _unavailable(self, detail: str) -> HeadwaterError:
        return TargetUnavailable(
            f'the schema registry of outlet "{self._outlet.name}" did not answer',
            detail=f"{detail.rstrip('.')}, at {self._options['url']}. What was delivered stays.",
            hint="See whether it runs and can be reached from here.",
            outlet=self._outlet.name,
        )


def _incompatible(outlet: Outlet, subject: str, detail: str) -> HeadwaterError:
    return TargetDenied(
        f'the columns that outlet "{outlet.name}" sends don\'t get on with the versions of "{subject}"',
        detail=f"{detail.rstrip('.')}. Nothing was sent.",
        hint="Let the view keep the columns and types that readers know, send to another topic, or ask less of the "
        f"subject: `headwater schema level {subject} NONE`.",
        outlet=outlet.name,
        subject=subject,
    )
