"""What brokers say while a partition has no leader passes; what they say for good doesn't."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from headwater.kafka.answers import once_led


def test_a_partition_whose_leader_changes_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.kafka.answers.ANSWER_SECONDS", 0.3)
    asked = 0

    def ask(until: int) -> str:
        nonlocal asked
        asked += 1
        if asked < until:
            raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
        return "led"

    assert once_led(lambda: ask(3)) == "led"
    with pytest.raises(KafkaException):
        once_led(lambda: ask(1_000_000))
    with pytest.raises(KafkaException):  # what doesn't pass by itself isn't waited for
        once_led(lambda: _raise(KafkaError.TOPIC_AUTHORIZATION_FAILED))


def _raise(code: int) -> None:
    raise KafkaException(KafkaError(code))
