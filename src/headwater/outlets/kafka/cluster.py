"""What a Kafka outlet asks of the brokers, beside sending: its topic, its limit, and how failures become our errors.

The options of a cluster are those of headwater.toml, shared with intakes, but for those that exactly-once rests on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]  # it has no __all__

from headwater.errors import Fenced, HeadwaterError, TargetDenied, TargetUnavailable
from headwater.intake.kafka.client import ABSENT, ANSWER_SECONDS, PREFIX, REFUSALS, Described, describe_topic
from headwater.model import Outlet

logger = logging.getLogger("headwater.kafka")
OWN = ("transactional.id", "enable.idempotence", "acks", "isolation.level")
"""Options that nobody else sets: that each change is there once rests on them."""
FENCED = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED})
_DENIED = REFUSALS | {KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.INVALID_TRANSACTION_TIMEOUT}
_PROGRESS = {"cleanup.policy": "compact", "segment.ms": "3600000", "min.cleanable.dirty.ratio": "0.1"}
"""How the topic is kept that holds the place of an outlet: the newest message is all that is needed of it."""


class Cluster:
    """The brokers that an outlet sends to. `options` are those of its cluster in headwater.toml."""

    def __init__(self, outlet: Outlet, options: Mapping[str, str]) -> None:
        self.outlet = outlet
        self.topic = outlet.place
        self.options = self._connection(outlet, options)
        with self.translated("its options"):
            self._admin = AdminClient(self.options, logger=logger)

    def describe(self) -> Described:
        """The topic; `TargetDenied` if there is none of that name: it is never made here."""
        with self.translated("what its topic is"):
            found = describe_topic(self._admin, self.topic)
        if found is None:
            raise self._absent()
        return found

    def limit(self) -> int | None:
        """How many bytes a message of the topic may have; None if the brokers don't say."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.topic)
        try:
            asked = self._admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)
            return int(asked[resource].result()["max.message.bytes"].value)
        except (KafkaException, KeyError, TypeError, ValueError):  # it may be forbidden to ask
            return None

    def make(self, topic: str) -> None:
        """Make the topic that keeps the place of an outlet, unless it is there."""
        with self.translated("the topic of its place"):
            if describe_topic(self._admin, topic) is not None:
                return
            made = self._admin.create_topics([NewTopic(topic, 1, config=_PROGRESS)], request_timeout=ANSWER_SECONDS)
            try:
                made[topic].result()
            except KafkaException as problem:
                if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def _connection(self, outlet: Outlet, options: Mapping[str, str]) -> dict[str, Any]:
        owned = next((name for name in OWN if name in options), None)
        if owned:
            raise TargetDenied(
                f'cluster "{outlet.cluster}" sets the option "{owned}"',
                detail="That each change is sent exactly once rests on it.",
                hint=f"Take it out of [kafka.{outlet.cluster}] in headwater.toml.",
                outlet=outlet.name,
            )
        brokers = outlet.brokers or options.get("bootstrap.servers")
        if not brokers:
            raise TargetDenied(
                f'the brokers of outlet "{outlet.name}" are not known',
                detail=f"It names none, and headwater.toml has none in [kafka.{outlet.cluster}].",
                hint=f"Say brokers = 'host:9092' in its WITH, or \"bootstrap.servers\" in [kafka.{outlet.cluster}].",
                outlet=outlet.name,
            )
        given = {name: value for name, value in options.items() if not name.startswith(PREFIX)}
        return {**given, "bootstrap.servers": brokers}

    # Errors

    @contextmanager
    def translated(self, wanted: str) -> Iterator[None]:
        """Let what the brokers say become an error of ours; `wanted` is what was asked or sent."""
        try:
            yield
        except KafkaException as failed:
            raise self.error(failed.args[0], wanted) from failed

    def error(self, problem: KafkaError, wanted: str) -> HeadwaterError:
        """What an answer of the brokers means."""
        if problem.code() in FENCED:
            return self.fenced("Another run")
        if problem.code() in ABSENT:
            return self._absent()
        told = f"{problem.str().rstrip('.')} ({problem.name()}), at {self.options['bootstrap.servers']}."
        if problem.code() in _DENIED:
            return TargetDenied(
                f'Kafka refuses outlet "{self.outlet.name}" {wanted}',
                detail=f"{told} Nothing was sent since.",
                hint="Check the section of the cluster in headwater.toml, and what the brokers allow its user.",
                outlet=self.outlet.name,
            )
        return TargetUnavailable(
            f'Kafka did not take {wanted} of outlet "{self.outlet.name}"',
            detail=f"{told} What was delivered stays, and the outlet goes on behind it.",
            hint="See whether the brokers run and can be reached from here.",
            outlet=self.outlet.name,
        )

    def fenced(self, holder: str) -> Fenced:
        """Another run has taken the outlet over."""
        return Fenced(
            f'outlet "{self.outlet.name}" was taken over by another run',
            detail=f"{holder} sends now. Nothing was sent since it began.",
            hint="Let the other run go on, or stop it and start this one again.",
            outlet=self.outlet.name,
            holder=holder,
        )

    def _absent(self) -> TargetDenied:
        return TargetDenied(
            f'outlet "{self.outlet.name}" sends to the topic "{self.topic}", which Kafka doesn\'t have',
            detail=f"Asked at {self.options['bootstrap.servers']}. Nothing was sent.",
            hint="Make the topic with as many partitions as it shall have; it is never made by sending.",
            outlet=self.outlet.name,
            topic=self.topic,
        )
