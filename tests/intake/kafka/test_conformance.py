"""A topic of a real broker as an inlet, held against the suite."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headwater.intake import Inlet
from headwater.intake.kafka import KafkaInlet
from headwater.model import Kafka
from headwater.model.duration import parse_duration
from headwater.testing import IntakeConformance, payments
from tests.intake.kafka.shop import Shop


class TopicFeed:
    def __init__(self, shop: Shop) -> None:
        self.topic = payments(Kafka(topic=shop.topic, commit_every=parse_duration("50 milliseconds")))
        self._shop = shop

    def send(self, *values: bytes) -> None:
        self._shop.send(values)

    def inlet(self) -> Inlet:
        options = {
            "bootstrap.servers": self._shop.brokers,
            "session.timeout.ms": "3000",
            "heartbeat.interval.ms": "500",
        }
        return KafkaInlet(self.topic, options, "headwater.suite", self._shop.folder)


class TestTopic(IntakeConformance):
    @pytest.fixture
    def feed(self, shop: Callable[..., Shop]) -> TopicFeed:
        return TopicFeed(shop(partitions=1))
