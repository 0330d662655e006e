"""Copies of dead letters in a topic of Kafka, for those who look for them there.

A copy has the key, the value, the time and the headers of its message, and headers that say why it is dead and where
it came from. Copies are written before the letters themselves: after a crash in between one may be there twice, and
none is ever missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headwater.errors import SourceUnavailable
from headwater.kafka.client import configuration, without_consumer
from headwater.model import Kafka

PREFIX = "headwater."
"""The beginning of headers that say why a message is dead."""
_SECONDS = 30.0


class DeadTopic:
    """Writes copies to one topic. Not thread-safe; the connection is made when the first letter comes."""

    def __init__(self, topic: str, kafka: Kafka, options: Mapping[str, str]) -> None:
        self._settings = without_consumer(configuration(kafka, options, ""))
        self._topic = topic
        self._producer: Producer | None = None

    def copy(self, letters: pa.Table, messages: Mapping[str, Message]) -> None:
        """Write a copy of each letter, acknowledged; `messages` are messages by their positions (`payments[0]:42`)."""
        refused: list[KafkaError] = []
        try:
            producer = self._opened()
            for letter in letters.select(["position", "error", "reason"]).to_pylist():
                message = messages[letter["position"]]
                producer.produce(
                    self._topic,
                    message.value(),
                    message.key(),
                    headers=_headers(message, letter),
                    timestamp=max(0, message.timestamp()[1]),
                    on_delivery=lambda error, _: refused.append(error) if error else None,
                )
                producer.poll(0)
            left = producer.flush(_SECONDS)
        except (KafkaException, BufferError) as problem:
            raise self._failed(str(problem)) from problem
        if refused or left:
            raise self._failed(refused[0].str() if refused else f"{left} copies were not acknowledged in time")

    def _opened(self) -> Producer:
        if self._producer is None:
            self._producer = Producer({**self._settings, "enable.idempotence": True})
        return self._producer

    def _failed(self, why: str) -> SourceUnavailable:
        return SourceUnavailable(
            f'copies of dead letters could not be written to the Kafka topic "{self._topic}"',
            detail=f"{why.rstrip('.')}. Nothing was appended; the messages are read again.",
            hint="See whether the topic is there and may be written to, or take dead_topic out of the declaration.",
            topic=self._topic,
        )


def _headers(message: Message, letter: Mapping[str, Any]) -> list[tuple[str, str | bytes | None]]:
    said = {
        "error": letter["error"],
        "reason": letter["reason"],
        "topic": message.topic(),
        "partition": str(message.partition()),
        "offset": str(message.offset()),
    }
    return [*(message.headers() or ()), *((f"{PREFIX}{name}", value) for name, value in said.items())]
