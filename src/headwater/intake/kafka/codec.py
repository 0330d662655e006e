"""The format of the messages of a topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from headwater.intake.kafka.plain import CsvCodec, JsonCodec, RawCodec
from headwater.intake.messages import Codec
from headwater.kafka.options import registry
from headwater.model import Kafka, Topic
from headwater.schemas.written import Schemas


def codec_of(topic: Topic, options: Mapping[str, str], own: Schemas | None = None) -> Codec | None:
    """The codec of a topic's messages; None for JSON without an envelope, which the decoder reads by itself.

    `own` are the schemas to read with if neither the topic nor its cluster names a registry.
    """
    kafka = topic.intake
    assert isinstance(kafka, Kafka), "only what comes from Kafka has a format"
    codec = _codec(topic, kafka, options, own)
    if kafka.version_from is None:
        return codec
    from headwater.intake.kafka.versions import VersionedCodec

    told = kafka.version_from == "registry"
    return VersionedCodec(topic, codec, _schemas(kafka, options, own) if told else None)


def _codec(topic: Topic, kafka: Kafka, options: Mapping[str, str], own: Schemas | None) -> Codec | None:
    if kafka.envelope is None:
        return None if kafka.format == "json" else _inner(topic, kafka, options, own)
    from headwater.intake.kafka.debezium import DebeziumCodec

    return DebeziumCodec(topic, JsonCodec() if kafka.format == "json" else _inner(topic, kafka, options, own))


def _inner(topic: Topic, kafka: Kafka, options: Mapping[str, str], own: Schemas | None) -> Codec:
    if kafka.format == "raw":
        return RawCodec()
    if kafka.format == "csv":
        names = kafka.fields or tuple(column.name for column in topic.columns if column.name not in kafka.beside)
        return CsvCodec(names, kafka.delimiter)
    return _registered(topic, kafka, _schemas(kafka, options, own))


def _schemas(kafka: Kafka, options: Mapping[str, str], own: Schemas | None) -> Schemas:
    if own is not None and registry(kafka, options) is None:
        return own
    from headwater.intake.kafka.registry import Registry

    return Registry(kafka, options)


def _registered(topic: Topic, kafka: Kafka, schemas: Schemas) -> Codec:
    if kafka.format == "avro":
        from headwater.intake.kafka.avro import AvroCodec

        return AvroCodec(schemas, _kinds(topic))
    if kafka.format == "json-schema":
        from headwater.intake.kafka.json_schema import JsonSchemaCodec

        return JsonSchemaCodec(schemas)
    from headwater.intake.kafka.protobuf import ProtobufCodec

    opened = kafka.envelope is None
    return ProtobufCodec(schemas, frozenset(name for name, _ in _read(topic)) if opened else None)


def _read(topic: Topic) -> Iterator[tuple[str, pa.DataType]]:
    """Every name under which a value is looked for, and the type of its column, in today's version and earlier ones."""
    for columns in (topic.columns, *(upcast.columns for upcast in topic.upcasts)):
        yield from ((name, column.type) for column in columns for name in column.names)
    told = topic.intake.version_from if isinstance(topic.intake, Kafka) else None
    if told is not None and told.startswith("field "):
        yield told.removeprefix("field "), pa.int64()


def _kinds(topic: Topic) -> dict[str, pa.DataType]:
    """The types of columns by the names of their values; not of those that have several."""
    kinds = {name: {kind for other, kind in _read(topic) if other == name} for name, _ in _read(topic)}
    return {name: several.pop() for name, several in kinds.items() if len(several) == 1}
