"""Messages on their way in: gathered partition by partition until they are worth a commit."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, cast

import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from headwater.intake.dead import ENVELOPE
from headwater.intake.layout import DELETE, OPERATION
from headwater.intake.messages import Messages
from headwater.model import INSTANT, Column, Kafka, Table, Topic


class Gathered:
    """What was read since the last commit. `reached` is the next offset of each partition that has moved."""

    def __init__(self) -> None:
        self._messages: dict[int, list[Message]] = defaultdict(list)
        self.reached: dict[int, int] = {}
        self.count = 0
        self.size = 0

    def add(self, messages: Sequence[Message]) -> set[int]:
        """Take messages; those of a partition come in the order of their offsets. Returns their partitions.

        They come in long runs of one partition, and whatever is done once a run is not done once a message.
        """
        partitions = set()
        for partition, run in groupby(messages, Message.partition):
            assert partition is not None, "every message has a place"
            found = list(run)
            self._messages[partition] += found
            self.reached[partition] = place_of(found[-1])[1] + 1
            self.count += len(found)
            self.size += sum(map(len, found))
            partitions.add(partition)
        return partitions

    def reach(self, partition: int, offset: int) -> None:
        """A partition was read up to here; what lies between its last message and here is no message."""
        self.reached[partition] = max(offset, self.reached.get(partition, 0))

    def partitions(self) -> Iterator[tuple[int, list[Message]]]:
        """The messages of each partition, in the order of its number."""
        return iter(sorted(self._messages.items()))


def place_of(message: Message) -> tuple[int, int]:
    """The partition and the offset of something that was read."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None and offset is not None, "everything that is read has a place"
    return partition, offset


def messages_of(topic: Topic, kafka: Kafka, found: Sequence[Message]) -> Messages:
    """Messages of one partition as the decoder takes them; a table's message without a value deletes its key."""
    values: list[Any] = list(map(Message.value, found))
    if isinstance(topic, Table) and kafka.format == "json" and None in values:
        values = [_deletion(topic, found[at]) if value is None else value for at, value in enumerate(values)]
    beside = {name: _beside(topic.column(name), kafka, found) for name in _named(kafka)}
    return Messages(pa.array(values, pa.binary()), cast(list[int], list(map(Message.offset, found))), beside)


def with_envelopes(letters: pa.Table, found: Sequence[Message]) -> pa.Table:
    """Dead letters with the keys, times and headers of the messages that they are."""
    if not letters.num_rows:
        return letters
    by_offset = {str(message.offset()): message for message in found}
    mine = [by_offset[position.rpartition(":")[2]] for position in letters["position"].to_pylist()]
    envelopes = ([message.key() for message in mine], [_sent(one) for one in mine], [_headers(one) for one in mine])
    for field, values in zip(ENVELOPE, envelopes, strict=True):
        letters = letters.set_column(letters.schema.get_field_index(field.name), field, pa.array(values, field.type))
    return letters


def _named(kafka: Kafka) -> Iterator[str]:
    return (name for name in (kafka.message_key, kafka.message_time, kafka.message_headers) if name is not None)


def _beside(column: Column | None, kafka: Kafka, found: Sequence[Message]) -> pa.Array:
    assert column is not None, "the declaration was checked"
    if column.name == kafka.message_key:
        return _keys(column.type, [message.key() for message in found])
    if column.name == kafka.message_time:
        return pa.array([_sent(message) for message in found], INSTANT)
    return pa.array([_headers(message) for message in found], column.type)


def _keys(kind: pa.DataType, keys: list[bytes | None]) -> pa.Array:
    """The keys; as text, one that isn't UTF-8 has its bytes replaced by the sign for that."""
    if pa.types.is_binary(kind):
        return pa.array(keys, kind)
    return pa.array([None if key is None else key.decode("utf-8", "replace") for key in keys], kind)


def _sent(message: Message) -> int | None:
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds * 1000


def _headers(message: Message) -> list[tuple[str, str | bytes | None]] | None:
    """The headers; of several with one name the last, as a map holds one."""
    headers = message.headers()
    return None if headers is None else list(dict(headers).items())


def _deletion(table: Table, message: Message) -> bytes | None:
    """The change that a message without a value stands for; None if its key doesn't say whose."""
    key = _key_columns(table, message.key())
    if key is None:
        return None
    sent = _sent(message)
    time = {} if table.time is None or sent is None else {table.time: _iso(sent)}
    return json.dumps({**time, **key, OPERATION: DELETE}).encode()


def _key_columns(table: Table, key: bytes | None) -> dict[str, Any] | None:
    """The primary key that a message's key spells: an object with its columns, or the one column itself."""
    if key is None:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    try:
        spelled: Any = json.loads(text)
    except ValueError:
        spelled = text
    if isinstance(spelled, dict):
        return {name: spelled[name] for name in table.primary_key if name in spelled}
    if len(table.primary_key) != 1:
        return None
    (name,) = table.primary_key
    column = table.column(name)
    assert column is not None
    return {name: text if pa.types.is_string(column.type) and not isinstance(spelled, str) else spelled}


def _iso(microseconds: int) -> str:
    return str(pa.scalar(microseconds, pa.timestamp("us")).cast(pa.string()).as_py())
