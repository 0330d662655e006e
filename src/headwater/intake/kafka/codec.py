"""Which format the messages of a topic have."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.intake.messages import Codec
from headwater.model import Kafka


def codec_of(kafka: Kafka, options: Mapping[str, str]) -> Codec | None:
    """The codec of a binary format; None for JSON, which the decoder reads by itself."""
    if kafka.format == "json":
        return None
    from headwater.intake.kafka.avro import AvroCodec
    from headwater.intake.kafka.registry import Registry

    return AvroCodec(Registry(kafka, options))
