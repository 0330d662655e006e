"""A schema registry, asked once for each schema that a message names by its number."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from headwater.errors import SourceRefused, SourceUnavailable
from headwater.kafka.options import REGISTRY, registry
from headwater.kafka.registry import RemoteRegistry
from headwater.model import Kafka
from headwater.schemas.written import Language, Written


class Registry:
    """The schemas of one registry, by their numbers. Not thread-safe."""

    def __init__(self, kafka: Kafka, options: Mapping[str, str]) -> None:
        remote = registry(kafka, options)
        if remote is None:
            raise SourceRefused(
                f'the schema registry of the Kafka topic "{kafka.topic}" is not known',
                detail=f"Its messages name their schema by a number, and [kafka.{kafka.cluster}] has no registry.",
                hint=f"Say registry = 'http://host:8081' in its WITH, or \"{REGISTRY}url\" in [kafka.{kafka.cluster}].",
                topic=kafka.topic,
            )
        self.url = remote["url"]
        self._remote = RemoteRegistry(remote, self._refused, self._unavailable)
        self._known: dict[int, Written] = {}
        self._versions: dict[str, dict[int, int]] = {}

    def schema(self, number: int, language: Language) -> Written | None:
        """The schema with this number; None if the registry has none, or one of another language.

        `SourceUnavailable` if it doesn't answer: what is good must not be taken for dead meanwhile.
        """
        if number not in self._known:
            written = self._remote.ask(lambda client: _written(client, client.get_schema(number)))
            if written is None:
                return None
            self._known[number] = written
        return self._known[number] if self._known[number].language == language else None

    def version_of(self, number: int, subject: str) -> int | None:
        """The version of a subject that the schema with this number is; None if it is none."""
        known = self._versions.setdefault(subject, {})
        if number not in known:
            known.update(self._remote.ask(lambda client: _versions(client, subject)) or {})
        return known.get(number)

    def _refused(self, detail: str) -> SourceRefused:
        return SourceRefused(
            f'the schema registry at "{self.url}" refuses to be asked',
            detail=f"{detail.rstrip('.')}.",
            hint=f'Check the options "{REGISTRY}…" of the cluster in headwater.toml.',
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
    registered = (client.get_version(subject, version) for version in client.get_versions(subject))
    return {one.schema_id: one.version for one in registered if one.schema_id is not None and one.version is not None}


def _written(client: SchemaRegistryClient, schema: Schema) -> Written:
    """The schema with those that it refers to."""
    references = []
    for reference in schema.references or ():
        assert reference.name is not None, "a reference has a name"
        assert reference.subject is not None and reference.version is not None, "a reference names a version"
        version = client.get_version(reference.subject, reference.version)
        references.append((reference.name, _written(client, version.schema)))
    return Written(schema.schema_type or "AVRO", schema.schema_str or "", tuple(references))
