"""Questions of a Kafka outlet to the brokers, beside sending: its topic, its limit, and how failures become our errors.

The options of a cluster are those of headwater.toml, shared with intakes, but for those that exactly-once rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from confluent_kafka import KafkaError

from headwater.errors import Fenced, HeadwaterError, TargetDenied, TargetUnavailable
from headwater.kafka.admin import Admin, Described
from headwater.kafka.answers import ABSENT, FENCED, REFUSALS, told, translated
from headwater.kafka.options import BROKERS, connection
from headwater.model import Outlet
from headwater.outlets.protocol import fenced

OWN = ("transactional.id", "enable.idempotence", "acks", "isolation.level")
"""Options that nobody else sets: that each change is there once rests on them."""
_PROGRESS = {"cleanup.policy": "compact", "segment.ms": "3600000", "min.cleanable.dirty.ratio": "0.1"}
"""The settings of the topic that holds the place of an outlet: the newest message is all that is needed of it."""


class Cluster:
    """The brokers that an outlet sends to. `options` are those of its cluster in headwater.toml."""

    def __init__(self, outlet: Outlet, options: Mapping[str, str]) -> None:
        self.outlet = outlet
        self.topic = outlet.address
        self.options = connection(outlet, options, OWN)
        with self.translated("its options"):
            self._admin = Admin(self.options)

    def describe(self) -> Described:
        """The topic; `TargetDenied` if there is none of that name: it is never made here."""
        with self.translated("what its topic is"):
            described = self._admin.describe(self.topic)
        if described is None:
            raise self._absent()
        return described

    def limit(self) -> int | None:
        """The most bytes that a message of the topic may have; None if the brokers don't say."""
        return self._admin.message_limit(self.topic)

    def make(self, topic: str) -> None:
        """Make the topic that keeps the place of an outlet, unless it is there."""
        with self.translated("the topic of its place"):
            self._admin.make(topic, _PROGRESS)

    # Errors

    def translated(self, wanted: str) -> AbstractContextManager[None]:
        """Let what the brokers say become an error of ours; `wanted` is what was asked or sent."""
        return translated(self.error, wanted)

    def error(self, problem: KafkaError, wanted: str) -> HeadwaterError:
        """The error that an answer of the brokers means."""
        if problem.code() in FENCED:
            return self.fenced("Another run")
        if problem.code() in ABSENT:
            return self._absent()
        said = told(problem, self.options[BROKERS])
        if problem.code() in REFUSALS:
            return TargetDenied(
                f'Kafka refuses outlet "{self.outlet.name}" {wanted}',
                detail=f"{said} Nothing was sent since.",
                hint="Check the section of the cluster in headwater.toml, and what the brokers allow its user.",
                outlet=self.outlet.name,
            )
        return TargetUnavailable(
            f'Kafka did not take {wanted} of outlet "{self.outlet.name}"',
            detail=f"{said} What was delivered stays, and the outlet goes on behind it.",
            hint="See whether the brokers run and can be reached from here.",
            outlet=self.outlet.name,
        )

    def fenced(self, holder: str) -> Fenced:
        """Another run has taken the outlet over."""
        return fenced(self.outlet.name, holder, "sends now. Nothing was sent since it began.")

    def _absent(self) -> TargetDenied:
        return TargetDenied(
            f'outlet "{self.outlet.name}" sends to the topic "{self.topic}", which Kafka doesn\'t have',
            detail=f"Asked at {self.options[BROKERS]}. Nothing was sent.",
            hint="Make the topic with as many partitions as it shall have; it is never made by sending.",
            outlet=self.outlet.name,
            topic=self.topic,
        )
