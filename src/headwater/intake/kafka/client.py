"""A connection to Kafka: its options, what is asked of the brokers, and how their answers become errors of ours.

An option of librdkafka is passed on as it is written in headwater.toml, but for those that exactly-once rests on, and
those that are for the schema registry.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from headwater.errors import HeadwaterError, SourceRefused, SourceUnavailable
from headwater.model import Kafka

_logger = logging.getLogger("headwater.kafka")
Answer = TypeVar("Answer")

PREFIX = "schema.registry."
"""How the options of the schema registry begin, which stand beside those of the cluster."""
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
"""How often new topics and partitions are looked for, and how soon a full queue is looked at again, unless it is said:
left to itself librdkafka lets a partition rest for a second, in which we have long emptied the queue."""
INSTANCE = "group.instance.id"
MEMBERSHIP = {"session.timeout.ms": "10000"}
"""How long a member of the group may be silent before others take its share, unless it is said."""
ANSWER_SECONDS = 10.0
"""How long the brokers have to answer a question."""
REFUSALS = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError._INVALID_ARG,
        KafkaError._SSL,
    }
)
"""What Kafka says for good: another attempt can't help."""
LEADERLESS = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})
"""What Kafka says while the leader of a partition changes, or of one that is new."""
ABSENT = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})


@dataclass(frozen=True)
class Described:
    """A topic as the brokers know it. `identity` differs from that of one that had its name before; 0: not known."""

    identity: int
    partitions: tuple[int, ...]


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
    """The options of the consumer; `SourceRefused` if some are missing or not for others to set."""
    owned = sorted(OWN.keys() & options.keys())
    if owned:
        raise SourceRefused(
            f'cluster "{kafka.cluster}" sets the option "{owned[0]}"',
            detail=f"It is always {OWN[owned[0]]!r}: that each event is taken in exactly once rests on it.",
            hint=f"Take it out of [kafka.{kafka.cluster}] in headwater.toml.",
            cluster=kafka.cluster,
        )
    brokers = kafka.brokers or options.get("bootstrap.servers")
    if not brokers:
        raise SourceRefused(
            f'the brokers of the Kafka topic "{kafka.topic}" are not known',
            detail=f"Its stream names none, and headwater.toml has none in [kafka.{kafka.cluster}].",
            hint=f"Say brokers = 'host:9092' in its WITH, or \"bootstrap.servers\" in [kafka.{kafka.cluster}].",
            topic=kafka.topic,
        )
    given = {name: value for name, value in options.items() if not name.startswith(PREFIX)}
    settings = {"group.id": group, **TUNED, **MEMBERSHIP, **given, **OWN, "bootstrap.servers": brokers}
    if settings.get("group.protocol") == "consumer":  # then the brokers decide both
        del settings["partition.assignment.strategy"], settings["session.timeout.ms"]
    return settings


def describe_topic(admin: AdminClient, topic: str) -> Described | None:
    """A topic as the brokers know it; None if there is none of that name. `KafkaException` if they don't tell."""
    asked = admin.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_SECONDS)
    try:
        found = asked[topic].result()
    except KafkaException as problem:
        if problem.args[0].code() in ABSENT:
            return None
        raise
    bits = found.topic_id.get_most_significant_bits() ^ found.topic_id.get_least_significant_bits()
    return Described(bits & 0x7FFF_FFFF_FFFF_FFFF, tuple(sorted(part.id for part in found.partitions)))


class Client:
    """One consumer of one or several topics, and what is asked beside it. Not thread-safe; close it."""

    def __init__(self, kafka: Kafka, options: Mapping[str, str], group: str) -> None:
        self.topic = kafka.topic
        self._kafka = kafka
        self._brokers = kafka.brokers or options.get("bootstrap.servers")
        settings = configuration(kafka, options, group)
        reading = {*OWN, *MEMBERSHIP, "group.id", "group.protocol", INSTANCE}
        asking = {name: value for name, value in settings.items() if name not in reading}
        with self._translated("its options"):
            self._consumer = Consumer({**settings, "error_cb": self._told}, logger=_logger)
            self._admin = AdminClient(asking, logger=_logger)
        self._trouble: KafkaError | None = None
        self._failed: HeadwaterError | None = None

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    # Asking

    def topics(self) -> dict[str, Described]:
        """The topics that are declared, or that match the pattern, as far as the brokers have them."""
        with self._translated("what the topic is"):
            found = {name: describe_topic(self._admin, name) for name in self._names()}
        return {name: described for name, described in found.items() if described is not None}

    def _names(self) -> list[str]:
        if self._kafka.pattern is None:
            return list(self._kafka.topics)
        every = self._admin.list_topics(timeout=ANSWER_SECONDS).topics
        return sorted(name for name in every if re.search(self._kafka.pattern, name))

    def bounds(self, partition: Partition) -> Bounds:
        """The offsets that a partition has."""
        with self._translated("which offsets it has"):
            low, high = _led(lambda: self._consumer.get_watermark_offsets(TopicPartition(*partition), ANSWER_SECONDS))
        return Bounds(low, high)

    def offset_at(self, partition: Partition, at: datetime) -> int:
        """The first offset whose message has this time or a later one; the end, if none has."""
        wanted = TopicPartition(*partition, int(at.timestamp() * 1000))
        with self._translated("which offset has a time"):
            (found,) = _led(lambda: self._consumer.offsets_for_times([wanted], ANSWER_SECONDS))
        return self.bounds(partition).high if found.offset < 0 else int(found.offset)

    # Reading

    def assign(self, offsets: Mapping[Partition, int]) -> None:
        """Read these partitions too, from these offsets."""
        self._consumer.incremental_assign([TopicPartition(*at, offset) for at, offset in offsets.items()])

    def join(
        self, given: Callable[[list[Partition]], Mapping[Partition, int]], taken: Callable[[list[Partition]], None]
    ) -> None:
        """Read the partitions that the group gives this member, and share the topics with its other members.

        `given` says from which offsets; what it raises, `read` raises. `taken` hears which are read no more.
        """

        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            try:
                self.assign(given(_named(partitions)))
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
            _logger.warning("the offsets of %s could not be shown to Kafka: %s", self.topic, problem)

    # Errors

    def refusal(self, problem: KafkaError) -> HeadwaterError | None:
        """What an error among the messages means; None if librdkafka goes on by itself."""
        if problem.code() in REFUSALS or problem.fatal():
            return self._refused(problem, "messages")
        return None

    def _told(self, problem: KafkaError) -> None:
        self._trouble = problem
        _logger.info("Kafka at %s: %s", self._brokers, problem)

    @contextmanager
    def _translated(self, wanted: str) -> Iterator[None]:
        try:
            yield
        except KafkaException as failed:
            problem: KafkaError = failed.args[0]
            raise (
                self._refused(problem, wanted) if problem.code() in REFUSALS else self._unavailable(problem, wanted)
            ) from failed

    def _refused(self, problem: KafkaError, wanted: str) -> SourceRefused:
        return SourceRefused(
            f'Kafka refuses to be asked for {wanted} of "{self.topic}"',
            detail=f"{problem.str().rstrip('.')} ({problem.name()}), at {self._brokers}.",
            hint="Check the section of the cluster in headwater.toml, and what the brokers allow its user.",
            topic=self.topic,
        )

    def _unavailable(self, problem: KafkaError, wanted: str) -> SourceUnavailable:
        return SourceUnavailable(
            f'Kafka did not say {wanted} of "{self.topic}"',
            detail=f"{problem.str().rstrip('.')} ({problem.name()}), at {self._brokers}. What is in the log stays, and "
            "the intake goes on from there.",
            hint="See whether the brokers run and can be reached from here; then repeat the call.",
            topic=self.topic,
        )


def _led(ask: Callable[[], Answer]) -> Answer:
    """What is answered once the partition has a leader, which it must have in the time for an answer."""
    until = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as failed:
            if failed.args[0].code() not in LEADERLESS or time.monotonic() > until:
                raise
            time.sleep(0.1)


def _named(partitions: list[TopicPartition]) -> list[Partition]:
    return [Partition(found.topic, found.partition) for found in partitions]
