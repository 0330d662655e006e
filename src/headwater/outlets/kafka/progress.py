"""How far an outlet has sent, kept in Kafka: the newest committed message of a compacted topic of its own.

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
from headwater.intake.kafka.client import ANSWER_SECONDS, Described
from headwater.outlets.kafka.cluster import Cluster, logger
from headwater.outlets.protocol import Place

_NEWEST = 100
"""How many messages from the end are looked at first."""


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
        found = json.loads(text)
        place = Place(**found["place"]) if found["place"] else None
        topic = Described(found["topic"]["identity"], tuple(range(found["topic"]["partitions"])))
        return cls(place, found["holder"], topic)


def name_of(project: str, outlet: str) -> str:
    """What an outlet is called in Kafka: its transactions, and the topic of its progress.

    >>> name_of("shop", "sales out")
    'headwater.shop.sales-20out'
    """
    return ".".join(["headwater", *(re.sub(r"[^A-Za-z0-9._]", _spelled, part) for part in (project, outlet))])


def _spelled(found: re.Match[str]) -> str:
    return "".join(f"-{byte:02x}" for byte in found[0].encode())


def read(cluster: Cluster, topic: str) -> Progress | None:
    """The newest progress that was committed; None if none ever was."""
    with cluster.translated("how far it was sent to"):
        consumer = Consumer(_options(cluster, topic), logger=logger)
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), ANSWER_SECONDS)
            for start in (max(low, high - _NEWEST), low):
                found = _last(cluster, consumer, TopicPartition(topic, 0, start))
                if found is not None:
                    return found
            return None
        finally:
            consumer.close()


def _options(cluster: Cluster, topic: str) -> dict[str, Any]:
    return cluster.options | {
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
    found: Progress | None = None
    while (message := consumer.poll(ANSWER_SECONDS)) is not None:
        problem, value = message.error(), message.value()
        if problem is None and value is not None:
            found = Progress.of_json(value)
        elif problem is not None and problem.code() == KafkaError._PARTITION_EOF:
            return found
        elif problem is not None:
            raise cluster.error(problem, "how far it was sent to")
    raise TargetUnavailable(
        f'Kafka did not say how far outlet "{cluster.outlet.name}" has sent',
        detail=f"Nothing came of the topic {start.topic} in {ANSWER_SECONDS:.0f} s. Nothing was sent.",
        outlet=cluster.outlet.name,
    )
