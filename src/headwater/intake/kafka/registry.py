"""A schema registry: asked once for each schema that a message names by its number.

Any registry with Confluent's REST API will do. Its options stand beside those of the cluster in headwater.toml, behind
`schema.registry.`: the rest of the name is passed on as `confluent-kafka` spells it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from fastavro import parse_schema
from fastavro.schema import SchemaParseException

from headwater.errors import SourceRefused, SourceUnavailable
from headwater.intake.kafka.client import PREFIX
from headwater.model import Kafka

AvroSchema = Any
"""A schema as fastavro has parsed it."""
_NOT_FOUND = 404
_REFUSED = frozenset({401, 403})


class Registry:
    """The schemas of one registry, by their numbers. Not thread-safe."""

    def __init__(self, kafka: Kafka, options: Mapping[str, str]) -> None:
        given = {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}
        self.url = kafka.registry or given.get("url")
        if not self.url:
            raise SourceRefused(
                f'the schema registry of the Kafka topic "{kafka.topic}" is not known',
                detail=f"Messages in Avro name their schema by a number, and [kafka.{kafka.cluster}] has no registry.",
                hint=f"Say registry = 'http://host:8081' in its WITH, or \"{PREFIX}url\" in [kafka.{kafka.cluster}].",
                topic=kafka.topic,
            )
        try:
            self._client = SchemaRegistryClient({**given, "url": self.url})
        except (ValueError, TypeError) as problem:
            raise self._refused(str(problem)) from problem
        self._known: dict[int, AvroSchema] = {}

    def schema(self, number: int) -> AvroSchema | None:
        """The schema with this number; None if the registry has none, or none of Avro.

        `SourceUnavailable` if it doesn't answer: what is good must not be taken for dead meanwhile.
        """
        if number not in self._known:
            found = self._ask(number)
            if found is None:
                return None
            self._known[number] = found
        return self._known[number]

    def _ask(self, number: int) -> AvroSchema | None:
        try:
            found = self._client.get_schema(number)
            return self._parsed(found, {}) if found.schema_type == "AVRO" else None
        except SchemaRegistryError as problem:
            if problem.http_status_code == _NOT_FOUND:
                return None
            if problem.http_status_code in _REFUSED:
                raise self._refused(problem.error_message) from problem
            raise self._unavailable(problem.error_message) from problem
        except httpx.HTTPError as problem:
            raise self._unavailable(str(problem) or type(problem).__name__) from problem
        except SchemaParseException:
            return None

    def _parsed(self, schema: Schema, named: dict[str, Any]) -> AvroSchema:
        """The schema, with those that it refers to parsed before it into `named`."""
        for reference in schema.references or ():
            assert reference.subject is not None and reference.version is not None, "a reference names a version"
            version = self._client.get_version(reference.subject, reference.version)
            self._parsed(version.schema, named)
        return parse_schema(_without_uuids(json.loads(schema.schema_str or "null")), named_schemas=named)

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


def _without_uuids(schema: Any) -> Any:
    """The schema with UUIDs as the strings that they are: no column has a type of their own."""
    if isinstance(schema, list):
        return [_without_uuids(part) for part in schema]
    if isinstance(schema, dict):
        kept = {name: _without_uuids(part) for name, part in schema.items()}
        return kept["type"] if kept.get("logicalType") == "uuid" and kept.get("type") == "string" else kept
    return schema
