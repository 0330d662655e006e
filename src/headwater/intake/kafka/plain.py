"""Formats that need no schema: CSV, bytes as they are, and JSON that is read message by message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headwater.errors import EventTooLarge, MissingValue, UnreadableEvent
from headwater.intake.json_lines import parse
from headwater.intake.lines import LARGEST_EVENT
from headwater.intake.messages import Messages, Poison, Records, Separated

_TOO_LARGE = Poison(EventTooLarge, f"the message has more than {LARGEST_EVENT:,} bytes")


def plain_key(value: bytes) -> Any:
    """A key that has no frame: the JSON value that it spells, else its text.

    Kafka Connect writes the schema of a key beside it, in an object of both.
    """
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return Poison(UnreadableEvent, "the key is not UTF-8")
    try:
        key = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return key["payload"] if isinstance(key, dict) and key.keys() == {"schema", "payload"} else key


class JsonCodec:
    """Reads messages as JSON objects, each by itself: for envelopes, which are opened before columns are looked for."""

    def read(self, messages: Messages) -> Records:
        """Each message as an object or as poison."""
        return Records(messages, [_object(value) for value in messages.values.to_pylist()])

    def key(self, value: bytes) -> Any:
        """The JSON value of a key, or its text."""
        return plain_key(value)


class CsvCodec:
    """Messages that are a record of CSV each, with fields in a known order."""

    def __init__(self, names: tuple[str, ...], delimiter: str) -> None:
        self._names, self._delimiter = names, delimiter

    def read(self, messages: Messages) -> Separated:
        """The messages, and what their fields are called."""
        return Separated(messages, self._names, self._delimiter)

    def key(self, value: bytes) -> Any:
        """The JSON value of a key, or its text."""
        return plain_key(value)


class RawCodec:
    """Messages whose values are taken as they are: all their columns come from beside them."""

    def read(self, messages: Messages) -> Records:
        """Each message as a record without fields."""
        sizes = (len(value or b"") for value in messages.values.to_pylist())
        return Records(messages, [_TOO_LARGE if size > LARGEST_EVENT else {} for size in sizes])

    def key(self, value: bytes) -> Any:
        """The JSON value of a key, or its text."""
        return plain_key(value)


def _object(value: bytes | None) -> Mapping[str, Any] | Poison:
    if not value:
        return Poison(MissingValue, "the message has no value")
    if len(value) > LARGEST_EVENT:
        return _TOO_LARGE
    try:
        return parse(value.decode())
    except UnicodeDecodeError:
        return Poison(UnreadableEvent, "the message is not UTF-8")
    except ValueError as problem:
        return Poison(UnreadableEvent, f"the message {problem}")
