"""Answers of brokers that aren't what they were asked for: their meaning, and the errors of ours they become."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from headwater.errors import HeadwaterError
from headwater.waiting import wait_for

logger = logging.getLogger("headwater.kafka")
Answer = TypeVar("Answer")

ANSWER_SECONDS = 10.0
"""The time that the brokers have to answer a question."""
REFUSALS = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError._INVALID_ARG,
        KafkaError._SSL,
    }
)
"""Answers for good: another attempt can't help."""
LEADERLESS = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})
"""Answers while the leader of a partition changes, or of one that is new."""
ABSENT = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
FENCED = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED})
"""Answers to a producer whose transactional id another has taken over."""


def told(problem: KafkaError, brokers: str) -> str:
    """The answer of the brokers as a sentence."""
    return f"{problem.str().rstrip('.')} ({problem.name()}), at {brokers}."


@contextmanager
def translated(error: Callable[[KafkaError, str], HeadwaterError], wanted: str) -> Iterator[None]:
    """Let what the brokers say become an error of ours; `wanted` is what was asked or sent."""
    try:
        yield
    except KafkaException as failed:
        raise error(failed.args[0], wanted) from failed


def once_led(ask: Callable[[], Answer]) -> Answer:
    """The answer once the partition has a leader, which it must have in the time for an answer."""
    failures: list[KafkaException] = []

    def answered() -> list[Answer]:
        try:
            return [ask()]
        except KafkaException as failed:
            if failed.args[0].code() not in LEADERLESS:
                raise
            failures.append(failed)
            return []

    for answer in wait_for(answered, timedelta(seconds=ANSWER_SECONDS), every=timedelta(milliseconds=100)):
        return answer
    raise failures[-1]
