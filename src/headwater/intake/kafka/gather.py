"""Messages on their way in: gathered partition by partition until they are worth a commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from headwater.intake.dead import with_envelopes as add_envelopes
from headwater.intake.messages import Messages, as_declared
from headwater.kafka.client import Partition
from headwater.model import INSTANT, Column, Kafka, Topic


class Gathered:
    """The messages since the last commit. `reached` is the next offset of each partition that has moved."""

    def __init__(self, *, several: bool = False) -> None:
        """Of one topic, or of `several`."""
        self._run: Callable[[Message], object] = _topic_and_partition if several else Message.partition
        self._messages: dict[Partition, list[Message]] = defaultdict(list)
        self.reached: dict[Partition, int] = {}
        self.count = 0
        self.size = 0

    def add(self, messages: Sequence[Message]) -> set[Partition]:
        """Take messages; those of a partition come in the order of their offsets. Returns their partitions.

        They come in long runs of one partition, and whatever is done once a run is not done once a message.
        """
        partitions = set()
        for _, run in groupby(messages, self._run):
            same = list(run)
            partition = coordinates_of(same[0])[0]
            self._messages[partition] += same
            self.reached[partition] = coordinates_of(same[-1])[1] + 1
            self.count += len(same)
            self.size += sum(map(len, same))
            partitions.add(partition)
        return partitions

    def drop(self, partitions: Iterable[Partition]) -> None:
        """Forget what was read of these partitions: somebody else reads it again."""
        for partition in partitions:
            gone = self._messages.pop(partition, [])
            self.reached.pop(partition, None)
            self.count -= len(gone)
            self.size -= sum(map(len, gone))

    def reach(self, partition: Partition, offset: int) -> None:
        """A partition was read up to here; what lies between its last message and here is no message."""
        self.reached[partition] = max(offset, self.reached.get(partition, 0))

    def partitions(self) -> Iterator[tuple[Partition, list[Message], int]]:
        """The messages of each partition that has moved and its next offset, in the order of topics and numbers."""
        return ((at, self._messages.get(at, []), to) for at, to in sorted(self.reached.items()))


def _topic_and_partition(message: Message) -> object:
    return message.topic(), message.partition()


def coordinates_of(message: Message) -> tuple[Partition, int]:
    """The partition and the offset of something that was read."""
    topic, number, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and number is not None and offset is not None, "everything that is read has both"
    return Partition(topic, number), offset


def messages_of(topic: Topic, kafka: Kafka, messages: Sequence[Message]) -> Messages:
    """Messages of one partition as their format's codec takes them."""
    values = pa.array(list(map(Message.value, messages)), pa.binary())
    beside = {name: _beside(topic.column(name), kafka, messages) for name in kafka.beside}
    told = (kafka.version_from or "").startswith("header ")
    headers = [dict(message.headers() or ()) for message in messages] if told else None
    return Messages(values, cast(list[int], list(map(Message.offset, messages))), beside, headers=headers)


def with_envelopes(letters: pa.Table, messages: Sequence[Message]) -> pa.Table:
    """Dead letters with the keys, times and headers of the messages that they are."""
    by_offset = {str(message.offset()): message for message in messages} if letters.num_rows else {}

    def envelope(offset: str) -> tuple[bytes | None, int | None, list[tuple[str, str | bytes | None]] | None]:
        message = by_offset[offset]
        return message.key(), sent_at(message), _headers(message)

    return add_envelopes(letters, envelope)


def _beside(column: Column | None, kafka: Kafka, messages: Sequence[Message]) -> pa.Array:
    assert column is not None, "the declaration was checked"
    if column.name == kafka.message_value:
        return as_declared([message.value() for message in messages], column.type)
    if column.name == kafka.message_key:
        return as_declared([message.key() for message in messages], column.type)
    if column.name == kafka.message_time:
        return pa.array([sent_at(message) for message in messages], INSTANT)
    return pa.array([_headers(message) for message in messages], column.type)


def sent_at(message: Message) -> int | None:
    """Kafka's time of a message in microseconds, if it has one."""
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds * 1000


def _headers(message: Message) -> list[tuple[str, str | bytes | None]] | None:
    """The headers; of several with one name the last, as a map holds one."""
    headers = message.headers()
    return None if headers is None else list(dict(headers).items())
