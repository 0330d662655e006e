"""A consumer of Kafka: its options, what is read by it, and what is asked beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headwater.errors import HeadwaterError, SourceRefused, SourceUnavailable
from headwater.kafka.admin import Admin, Described
from headwater.kafka.answers import ANSWER_SECONDS, REFUSALS, logger, once_led, told, translated
from headwater.kafka.options import BROKERS, connection
from headwater.model import Kafka

OWN = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "partition.assignment.strategy": "cooperative-sticky",
}
"""Options that nobody else sets: the log keeps the positions, and a position that is gone must be seen."""
TUNED = {"topic.metadata.refresh.interval.ms": "5000", "fetch.queue.backoff.ms": "10"}
"""The intervals at which new topics and partitions are looked for, and a full queue is looked at again, unless said:
left to itself librdkafka lets a partition rest for a second, in which we have long emptied the queue."""
INSTANCE = "group.instance.id"
MEMBERSHIP = {"session.timeout.ms": "10000"}
"""The time that a member of the group may be silent before others take its share, unless it is said."""


class Partition(NamedTuple):
    """A partition of a topic; as text, the name that its rows have as their source."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.number}]"


@dataclass(frozen=True)
class Bounds:
    """The offsets that a partition has: from `low` up to, but not including, `high`."""

    low: int
    high: int


def configuration(kafka: Kafka, options: Mapping[str, str], group: str) -> dict[str, Any]:
    """The options of the consumer; `SettingsRefused` if some are missing or not for others to set."""
    settings = {"group.id": group, **TUNED, **MEMBERSHIP, **connection(kafka, options, OWN), **OWN}
    if settings.get("group.protocol") == "consumer":  # then the brokers decide both
        del settings["partition.assignment.strategy"], settings["session.timeout.ms"]
    return settings


def without_consumer(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options but for those that only a consumer has."""
    of_consumers = {*OWN, *MEMBERSHIP, "group.id", "group.protocol", INSTANCE}
    return {name: value for name, value in settings.items() if name not in of_consumers}


class Client:
    """One consumer of one or several topics, and what is asked beside it. Not thread-safe; close it."""

    def __init__(self, kafka: Kafka, options: Mapping[str, str], group: str) -> None:
        self.topic = kafka.topic
        self._kafka = kafka
        settings = configuration(kafka, options, group)
        self._brokers = settings[BROKERS]
        with self._translated("its options"):
            self._consumer = Consumer({**settings, "error_cb": self._told}, logger=logger)
            self._admin = Admin(without_consumer(settings))
        self._trouble: KafkaError | None = None
        self._failed: HeadwaterError | None = None

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    # Asking

    def topics(self) -> dict[str, Described]:
        """The topics that are declared, or that match the pattern, as far as the brokers have them."""
        with self._translated("what the topic is"):
            known = {name: self._admin.describe(name) for name in self._names()}
        return {name: described for name, described in known.items() if described is not None}

    def _names(self) -> list[str]:
        if self._kafka.pattern is None:
            return list(self._kafka.topics)
        return self._admin.matching(self._kafka.pattern)

    def bounds(self, partition: Partition) -> Bounds:
        """The offsets that a partition has."""
        with self._translated("which offsets it has"):
            low, high = once_led(
                lambda: self._consumer.get_watermark_offsets(TopicPartition(*partition), ANSWER_SECONDS)
            )
        return Bounds(low, high)

    def offset_at(self, partition: Partition, at: datetime) -> int:
        """The first offset whose message has this time or a later one; the end, if none has."""
        wanted = TopicPartition(*partition, int(at.timestamp() * 1000))
        with self._translated("which offset has a time"):
            (first,) = once_led(lambda: self._consumer.offsets_for_times([wanted], ANSWER_SECONDS))
        return self.bounds(partition).high if first.offset < 0 else int(first.offset)

    # Reading

    def assign(self, offsets: Mapping[Partition, int]) -> None:
        """Read these partitions too, from these offsets."""
        self._consumer.incremental_assign([TopicPartition(*at, offset) for at, offset in offsets.items()])

    def join(
        self, starts: Callable[[list[Partition]], Mapping[Partition, int]], taken: Callable[[list[Partition]], None]
    ) -> None:
        """Read the partitions that the group gives this member, and share the topics with its other members.

        `starts` says from which offsets; what it raises, `read` raises. `taken` hears which are read no more.
        """

        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            try:
                self.assign(starts(_named(partitions)))
            except HeadwaterError as failed:
                self._failed = failed
                self.assign({})

        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            taken(_named(partitions))
            consumer.incremental_unassign(partitions)

        names = [self._kafka.pattern] if self._kafka.pattern is not None else list(self._kafka.topics)
        with self._translated("messages"):
            self._consumer.subscribe(names, on_assign=assigned, on_revoke=revoked, on_lost=revoked)

    def read(self, most: int, seconds: float) -> list[Message]:
        """At most so many messages and ends of partitions, within so many seconds."""
        with self._translated("messages"):
            messages: list[Message] = self._consumer.consume(most, seconds)
        if self._failed is not None:
            raise self._failed
        if self._trouble is not None and self._trouble.code() in REFUSALS:
            raise self._refused(self._trouble, "messages")
        return messages

    def show(self, offsets: Mapping[Partition, int]) -> None:
        """Tell the brokers how far the log has come, for tools that show it. Nothing here ever reads it."""
        moved = [TopicPartition(*at, offset) for at, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=moved, asynchronous=True)
        except KafkaException as problem:
            logger.warning("the offsets of %s could not be shown to Kafka: %s", self.topic, problem)

    # Errors

    def refusal(self, problem: KafkaError) -> HeadwaterError | None:
        """The failure that an error among the messages means; None if librdkafka goes on by itself."""
        if problem.code() in REFUSALS or problem.fatal():
            return self._refused(problem, "messages")
        return None

    def _told(self, problem: KafkaError) -> None:
        self._trouble = problem
        logger.info("Kafka at %s: %s", self._brokers, problem)

    def _translated(self, wanted: str) -> AbstractContextManager[None]:
        return translated(self._error, wanted)

    def _error(self, problem: KafkaError, wanted: str) -> HeadwaterError:
        return (self._refused if problem.code() in REFUSALS else self._unavailable)(problem, wanted)

    def _refused(self, problem: KafkaError, wanted: str) -> SourceRefused:
        return SourceRefused(
            f'Kafka refuses to be asked for {wanted} of "{self.topic}"',
            detail=told(problem, self._brokers),
            hint="Check the section of the cluster in headwater.toml, and what the brokers allow its user.",
            topic=self.topic,
        )

    def _unavailable(self, problem: KafkaError, wanted: str) -> SourceUnavailable:
        return SourceUnavailable(
            f'Kafka did not say {wanted} of "{self.topic}"',
            detail=f"{told(problem, self._brokers)} What is in the log stays, and the intake goes on from there.",
            hint="See whether the brokers run and can be reached from here; then repeat the call.",
            topic=self.topic,
        )


def _named(partitions: list[TopicPartition]) -> list[Partition]:
    return [Partition(partition.topic, partition.partition) for partition in partitions]
