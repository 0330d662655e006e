"""The progress of an outlet, kept in Kafka: the newest committed message of a compacted topic of its own.

It is written in the transaction of what was sent, so that the two can't disagree. A topic of its own, with one
partition, because whoever reads what is committed sees no further than the oldest open transaction: that of another
outlet would hide the place of this one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from headwater.errors import TargetUnavailable
from headwater.kafka.admin import Described
from headwater.kafka.answers import ANSWER_SECONDS, logger
from headwater.outlets.kafka.cluster import Cluster
from headwater.outlets.protocol import Place

_NEWEST = 100
"""The number of messages from the end that are looked at first."""


@dataclass(frozen=True)
class Progress:
    """The place of an outlet, who holds the outlet, and the topic as it was sent to."""

    place: Place | None
    holder: str
    topic: Described

    def as_json(self) -> bytes:
        """The progress as its topic keeps it."""
        place = json.loads(self.place.as_json()) if self.place else None
        topic = {"identity": self.topic.identity, "partitions": len(self.topic.partitions)}
        return json.dumps({"place": place, "holder": self.holder, "topic": topic}).encode()

    @classmethod
    def of_json(cls, text: bytes) -> Progress:
        """The progress that was kept."""
        kept = json.loads(text)
        place = Place(**kept["place"]) if kept["place"] else None
        topic = Described(kept["topic"]["identity"], tuple(range(kept["topic"]["partitions"])))
        return cls(place, kept["holder"], topic)


def name_of(project: str, outlet: str) -> str:
    """The name of an outlet in Kafka: of its transactions, and of the topic of its progress.

    >>> name_of("shop", "sales out")
    'headwater.shop.sales-20out'
    """
    return ".".join(["headwater", *(re.sub(r"[^A-Za-z0-9._]", _spelled, part) for part in (project, outlet))])


def _spelled(matched: re.Match[str]) -> str:
    return "".join(f"-{byte:02x}" for byte in matched[0].encode())


def read(cluster: Cluster, topic: str) -> Progress | None:
    """The newest progress that was committed; None if none ever was."""
    with cluster.translated("how far it was sent to"):
        consumer = Consumer(_options(cluster, topic), logger=logger)
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), ANSWER_SECONDS)
            for start in (max(low, high - _NEWEST), low):
                progress = _last(cluster, consumer, TopicPartition(topic, 0, start))
                if progress is not None:
                    return progress
            return None
        finally:
            consumer.close()


def _options(cluster: Cluster, topic: str) -> dict[str, Any]:
    return {
        **cluster.options,
        "group.id": topic,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 10,  # the end is reached when an answer is empty
    }


def _last(cluster: Cluster, consumer: Consumer, start: TopicPartition) -> Progress | None:
    """The last message from an offset to the end."""
    consumer.assign([start])
    newest: Progress | None = None
    while (message := consumer.poll(ANSWER_SECONDS)) is not None:
        problem, value = message.error(), message.value()
        if problem is None and value is not None:
            newest = Progress.of_json(value)
        elif problem is not None and problem.code() == KafkaError._PARTITION_EOF:
            return newest
        elif problem is not None:
            raise cluster.error(problem, "how far it was sent to")
    raise TargetUnavailable(
        f'Kafka did not say how far outlet "{cluster.outlet.name}" has sent',
        detail=f"Nothing came of the topic {start.topic} in {ANSWER_SECONDS:.0f} s. Nothing was sent.",
        outlet=cluster.outlet.name,
    )
