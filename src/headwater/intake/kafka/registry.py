"""A schema registry: asked once for each schema that a message names by its number.

Any registry with Confluent's REST API will do. Its options stand beside those of the cluster in headwater.toml, behind
`schema.registry.`: the rest of the name is passed on as `confluent-kafka` spells it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from headwater.errors import SourceRefused, SourceUnavailable
from headwater.intake.kafka.client import PREFIX
from headwater.intake.schema.written import Language, Written
from headwater.model import Kafka

T = TypeVar("T")
_NOT_FOUND = 404
_REFUSED = frozenset({401, 403})


def _http_errors() -> Iterator[type[Exception]]:
    """What the client raises if nobody answers: the error of whichever HTTP library it has found."""
    for name in ("httpx2", "httpx"):
        try:
            yield importlib.import_module(name).HTTPError
        except ModuleNotFoundError:
            continue


NO_ANSWER = tuple(_http_errors())


class Registry:
    """The schemas of one registry, by their numbers. Not thread-safe."""

    def __init__(self, kafka: Kafka, options: Mapping[str, str]) -> None:
        given = {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}
        self.url = kafka.registry or given.get("url")
        if not self.url:
            raise SourceRefused(
                f'the schema registry of the Kafka topic "{kafka.topic}" is not known',
                detail=f"Its messages name their schema by a number, and [kafka.{kafka.cluster}] has no registry.",
                hint=f"Say registry = 'http://host:8081' in its WITH, or \"{PREFIX}url\" in [kafka.{kafka.cluster}].",
                topic=kafka.topic,
            )
        self._options = {**given, "url": self.url}
        self._client().close()
        self._known: dict[int, Written] = {}
        self._versions: dict[str, dict[int, int]] = {}

    def schema(self, number: int, language: Language) -> Written | None:
        """The schema with this number; None if the registry has none, or one of another language.

        `SourceUnavailable` if it doesn't answer: what is good must not be taken for dead meanwhile.
        """
        if number not in self._known:
            found = self._asked(lambda client: _written(client, client.get_schema(number)))
            if found is None:
                return None
            self._known[number] = found
        return self._known[number] if self._known[number].language == language else None

    def version_of(self, number: int, subject: str) -> int | None:
        """Which version of a subject the schema with this number is; None if it is none."""
        known = self._versions.setdefault(subject, {})
        if number not in known:
            known.update(self._asked(lambda client: _versions(client, subject)) or {})
        return known.get(number)

    def _client(self) -> SchemaRegistryClient:
        """A client for one question: they are few, and nobody knows which is the last."""
        try:
            return SchemaRegistryClient(self._options)
        except (ValueError, TypeError) as problem:
            raise self._refused(str(problem)) from problem

    def _asked(self, ask: Callable[[SchemaRegistryClient], T]) -> T | None:
        """What the registry answers; None if it doesn't have it."""
        try:
            with self._client() as client:
                return ask(client)
        except SchemaRegistryError as problem:
            if problem.http_status_code == _NOT_FOUND:
                return None
            if problem.http_status_code in _REFUSED:
                raise self._refused(problem.error_message) from problem
            raise self._unavailable(problem.error_message) from problem
        except NO_ANSWER as problem:
            raise self._unavailable(str(problem) or type(problem).__name__) from problem

    def _refused(self, detail: str) -> SourceRefused:
        return SourceRefused(
            f'the schema registry at "{self.url}" refuses to be asked',
            detail=f"{detail.rstrip('.')}.",
            hint=f'Check the options "{PREFIX}…" of the cluster in headwater.toml.',
            registry=self.url,
        )

    def _unavailable(self, detail: str) -> SourceUnavailable:
        return SourceUnavailable(
            f'the schema registry at "{self.url}" did not answer',
            detail=f"{detail.rstrip('.')}. Messages wait in Kafka meanwhile; none was taken for dead.",
            hint="See whether it runs and can be reached from here; then repeat the call.",
            registry=self.url,
        )


def _versions(client: SchemaRegistryClient, subject: str) -> dict[int, int]:
    """The versions of a subject by the numbers of their schemas."""
    found = (client.get_version(subject, version) for version in client.get_versions(subject))
    return {one.schema_id: one.version for one in found if one.schema_id is not None and one.version is not None}


def _written(client: SchemaRegistryClient, schema: Schema) -> Written:
    """The schema with those that it refers to."""
    references = []
    for reference in schema.references or ():
        assert reference.name is not None, "a reference has a name"
        assert reference.subject is not None and reference.version is not None, "a reference names a version"
        version = client.get_version(reference.subject, reference.version)
        references.append((reference.name, _written(client, version.schema)))
    return Written(schema.schema_type or "AVRO", schema.schema_str or "", tuple(references))
