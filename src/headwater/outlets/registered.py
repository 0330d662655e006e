"""The registry that an outlet's schemas go to: any with Confluent's REST API, or the project's own."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.schema_registry import Schema

from headwater.errors import HeadwaterError, SchemaIncompatible, TargetDenied, TargetUnavailable, UnknownSchema
from headwater.kafka.options import REGISTRY, registry
from headwater.kafka.registry import RemoteRegistry
from headwater.model import Outlet
from headwater.outlets.framed import Registers
from headwater.schemas.known import Draft
from headwater.schemas.registry import LATEST, SchemaRegistry
from headwater.schemas.written import Language


def registers_of(outlet: Outlet, options: Mapping[str, str], own: SchemaRegistry | None) -> Registers:
    """The registry that an outlet names, else that of its cluster, else the project's own."""
    remote = registry(outlet, options)
    if remote is not None:
        return _Remote(outlet, remote)
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
        self._url = options["url"]
        self._registry = RemoteRegistry(options, self._denied, self._unavailable)

    def register(self, subject: str, language: Language, text: str) -> int:
        number = self._registry.ask(
            lambda client: client.register_schema(subject, Schema(text, language)),
            conflict=lambda detail: _incompatible(self._outlet, subject, detail),
        )
        assert number is not None, "a subject is made by registering"
        return number

    def latest(self, subject: str) -> str | None:
        newest = self._registry.ask(lambda client: client.get_latest_version(subject))
        return None if newest is None or newest.schema is None else newest.schema.schema_str

    def _denied(self, detail: str) -> HeadwaterError:
        return TargetDenied(
            f'the schema registry of outlet "{self._outlet.name}" refuses it',
            detail=f"{detail.rstrip('.')}, at {self._url}. Nothing was sent.",
            hint=f'Check the options "{REGISTRY}…" of the cluster in headwater.toml.',
            outlet=self._outlet.name,
        )

    def _unavailable(self, detail: str) -> HeadwaterError:
        return TargetUnavailable(
            f'the schema registry of outlet "{self._outlet.name}" did not answer',
            detail=f"{detail.rstrip('.')}, at {self._url}. What was delivered stays.",
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
