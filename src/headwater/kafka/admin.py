"""Topics as the brokers know them, and making one. What they say instead of an answer is a `KafkaException`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]  # it has no __all__

from headwater.kafka.answers import ABSENT, ANSWER_SECONDS, logger


@dataclass(frozen=True)
class Described:
    """A topic as the brokers know it. `identity` differs from that of one that had its name before; 0: not known."""

    identity: int
    partitions: tuple[int, ...]


class Admin:
    """Asks the brokers that `settings` reach."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._client = AdminClient(dict(settings), logger=logger)

    def describe(self, topic: str) -> Described | None:
        """A topic as the brokers know it; None if there is none of that name."""
        asked = self._client.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_SECONDS)
        try:
            answer = asked[topic].result()
        except KafkaException as problem:
            if problem.args[0].code() in ABSENT:
                return None
            raise
        bits = answer.topic_id.get_most_significant_bits() ^ answer.topic_id.get_least_significant_bits()
        return Described(bits & 0x7FFF_FFFF_FFFF_FFFF, tuple(sorted(part.id for part in answer.partitions)))

    def matching(self, pattern: str) -> list[str]:
        """The topics whose names match."""
        return sorted(
            name for name in self._client.list_topics(timeout=ANSWER_SECONDS).topics if re.search(pattern, name)
        )

    def message_limit(self, topic: str) -> int | None:
        """The most bytes that a message of a topic may have; None if the brokers don't say."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        try:
            asked = self._client.describe_configs([resource], request_timeout=ANSWER_SECONDS)
            return int(asked[resource].result()["max.message.bytes"].value)
        except (KafkaException, KeyError, TypeError, ValueError):  # it may be forbidden to ask
            return None

    def make(self, topic: str, config: Mapping[str, str]) -> None:
        """Make a topic of one partition, unless it is there."""
        if self.describe(topic) is not None:
            return
        made = self._client.create_topics([NewTopic(topic, 1, config=dict(config))], request_timeout=ANSWER_SECONDS)
        try:
            made[topic].result()
        except KafkaException as problem:
            if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
