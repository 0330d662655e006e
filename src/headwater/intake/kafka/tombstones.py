"""Tombstones: messages without a value, each of which deletes, in a table, the row of its key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from confluent_kafka import Message

from headwater.intake.kafka.gather import sent_at
from headwater.intake.kafka.plain import plain_key
from headwater.intake.layout import DELETE, OPERATION
from headwater.intake.messages import Codec, Messages, Poison, Readable, Records, Separated
from headwater.model import Table
from headwater.schemas.wire import MAGIC

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def with_deletions(table: Table, codec: Codec | None, read: Readable, messages: Sequence[Message]) -> Readable:
    """Messages as read, with the deletion of its key in place of each message without a value whose key says whose."""
    deletions = {}
    for index, message in enumerate(messages):
        if message.value() is None and (deletion := _deletion(table, codec, message)) is not None:
            deletions[index] = deletion
    if not deletions:
        return read
    if isinstance(read, Records):
        return replace(read, rows=[deletions.get(index, row) for index, row in enumerate(read.rows)])
    if isinstance(read, Separated):
        return read
    return _in_json(read, deletions)


def _in_json(messages: Messages, deletions: Mapping[int, Mapping[str, Any]]) -> Messages:
    values = messages.values.to_pylist()
    for index, deletion in deletions.items():
        values[index] = json.dumps(deletion, default=str).encode()
    poison = {index: why for index, why in messages.poison.items() if index not in deletions}
    return replace(messages, values=pa.array(values, pa.binary()), originals=messages.raw, poison=poison)


def _deletion(table: Table, codec: Codec | None, message: Message) -> dict[str, Any] | None:
    """The change that a message without a value stands for; None if its key doesn't say whose."""
    key = _key_columns(table, codec, message.key())
    if key is None:
        return None
    sent = sent_at(message)
    time = {} if table.time is None or sent is None else {table.time: _EPOCH + timedelta(microseconds=sent)}
    return {**time, **key, OPERATION: DELETE}


def _key_columns(table: Table, codec: Codec | None, key: bytes | None) -> dict[str, Any] | None:
    """The primary key that a message's key spells: an object with its columns, or the one column itself."""
    if key is None:
        return None
    framed = codec is not None and key[:1] == bytes([MAGIC])
    spelled = codec.key(key) if codec is not None and framed else plain_key(key)
    if isinstance(spelled, Poison):
        return None
    if isinstance(spelled, Mapping):
        return {name: spelled[name] for name in table.primary_key if name in spelled}
    if len(table.primary_key) != 1:
        return None
    (name,) = table.primary_key
    column = table.column(name)
    assert column is not None
    text = pa.types.is_string(column.type) and not framed and not isinstance(spelled, str)
    return {name: key.decode() if text else spelled}
