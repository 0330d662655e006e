"""Which format the messages of a topic have."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.intake.kafka.client import PREFIX
from headwater.intake.kafka.plain import CsvCodec, JsonCodec, RawCodec
from headwater.intake.messages import Codec
from headwater.intake.schema.written import Schemas
from headwater.model import Kafka, Topic


def codec_of(topic: Topic, options: Mapping[str, str], own: Schemas | None = None) -> Codec | None:
    """The codec of a topic's messages; None for JSON without an envelope, which the decoder reads by itself.

    `own` are the schemas to read with if neither the topic nor its cluster names a registry.
    """
    kafka = topic.intake
    assert isinstance(kafka, Kafka), "only what comes from Kafka has a format"
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
    if own is not None and not kafka.registry and f"{PREFIX}url" not in options:
        return _registered(topic, kafka, own)
    from headwater.intake.kafka.registry import Registry

    return _registered(topic, kafka, Registry(kafka, options))


def _registered(topic: Topic, kafka: Kafka, schemas: Schemas) -> Codec:
    if kafka.format == "avro":
        from headwater.intake.kafka.avro import AvroCodec

        return AvroCodec(schemas, {name: column.type for column in topic.columns for name in column.names})
    if kafka.format == "json-schema":
        from headwater.intake.kafka.json_schema import JsonSchemaCodec

        return JsonSchemaCodec(schemas)
    from headwater.intake.kafka.protobuf import ProtobufCodec

    opened = kafka.envelope is None
    return ProtobufCodec(
        schemas, frozenset(name for column in topic.columns for name in column.names) if opened else None
    )
