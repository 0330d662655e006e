"""A project whose payments come from a topic of a real Kafka broker."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

import headwater as hw
from headwater.project import Project
from tests.patience import PATIENCE

STREAM = "CREATE STREAM payments (id STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at)"


def event(number: int, second: int = 0) -> bytes:
    """A payment that can be read."""
    return json.dumps({"id": f"p{number}", "amount": number, "at": f"2026-01-01T00:00:{second:02}Z"}).encode()


class Shop:
    """A topic of Kafka with some partitions, and the folder of a project that takes it in as `payments`."""

    def __init__(
        self, brokers: str, topic: str, home: Path, *, declared: str = STREAM, options: str = "", partitions: int = 2
    ) -> None:
        self.brokers, self.topic, self.folder = brokers, topic, home / topic
        self.admin = AdminClient({"bootstrap.servers": brokers})
        if partitions:
            self.create(partitions)
        self.folder.mkdir()
        cluster = f'"bootstrap.servers" = "{brokers}"\n"session.timeout.ms" = "3000"\n"heartbeat.interval.ms" = "500"'
        (self.folder / "headwater.toml").write_text(f'name = "shop"\n[kafka.main]\n{cluster}\n')
        self.declare(declared, options)

    def create(self, partitions: int) -> None:
        self.admin.create_topics([NewTopic(self.topic, partitions, 1, config={"max.message.bytes": "20000000"})])[
            self.topic
        ].result(PATIENCE)

    def delete(self) -> None:
        self.admin.delete_topics([self.topic])[self.topic].result(PATIENCE)

    def add_partitions(self, count: int) -> None:
        self.admin.create_partitions([NewPartitions(self.topic, count)])[self.topic].result(PATIENCE)

    def delete_before(self, partition: int, offset: int) -> None:
        """What retention does: the events before an offset are gone."""
        before = TopicPartition(self.topic, partition, offset)
        self.admin.delete_records([before])[before].result(PATIENCE)

    def declare(self, declared: str = STREAM, options: str = "") -> None:
        extra = f", {options}" if options else ""
        (self.folder / "payments.sql").write_text(
            f"{declared} WITH (connector = 'kafka', topic = '{self.topic}', commit_every = '200ms'{extra});"
        )

    def declare_topic(self, topic: str) -> None:
        """Take in other topics: several names, or a pattern."""
        declared = f"{STREAM} WITH (connector = 'kafka', topic = '{topic}', commit_every = '200ms');"
        (self.folder / "payments.sql").write_text(declared)

    def open(self) -> Project:
        return hw.open(self.folder)

    def send(
        self, values: Iterable[bytes | None], partition: int = 0, topic: str | None = None, **message: Any
    ) -> None:
        """Messages to a partition, acknowledged."""
        refused: list[object] = []
        producer = Producer({"bootstrap.servers": self.brokers, "message.max.bytes": 20_000_000})
        for value in values:
            producer.produce(
                topic or self.topic,
                value,
                partition=partition,
                on_delivery=lambda e, _: e and refused.append(e),
                **message,
            )
            producer.poll(0)
        assert (producer.flush(30), refused) == (0, [])
