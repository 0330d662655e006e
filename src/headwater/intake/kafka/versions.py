"""The version of a stream that a message is of, as the option `version_from` says.

    header NAME      the text of a header, or its single byte below 32
    field NAME       a whole number in the event itself
    registry         the version of the message's schema under the subject `<topic>-value`

What doesn't say is of version 1: senders begin to say so with the second. A message without a value has no version of
its own, and is as today's are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.errors import NotUpcast
from headwater.intake.json_lines import JsonLines
from headwater.intake.kafka.plain import plain_key
from headwater.intake.kafka.wire import number_of
from headwater.intake.layout import layout_of
from headwater.intake.messages import Codec, Messages, Poison, Readable, Records, Version
from headwater.model import Column, Kafka, Stream, Topic
from headwater.schemas.written import Schemas


class VersionedCodec:
    """Reads messages as another codec does (without one they are JSON), and tells the version of each."""

    def __init__(self, topic: Topic, inside: Codec | None, schemas: Schemas | None) -> None:
        kafka = topic.intake
        assert isinstance(kafka, Kafka) and kafka.version_from is not None, "the declaration was checked"
        self._today = topic.version
        self._kafka = kafka
        self._way, _, self._name = kafka.version_from.partition(" ")
        self._inside = inside
        self._schemas = schemas
        field = Stream(name=topic.name, columns=(Column(self._name, pa.int64()),))
        self._json = JsonLines(layout_of(field))

    def read(self, messages: Messages) -> Readable:
        """The messages as the other codec reads them, with their versions."""
        if self._way == "header":
            versions = [_of_header(headers, self._name) for headers in messages.headers or [None] * len(messages)]
        elif self._way == "registry":
            versions = self._of_schemas(messages)
        else:
            versions = []
        read = messages if self._inside is None else self._inside.read(messages)
        return self._told(read, versions or self._of_fields(read), messages.values)

    def key(self, value: bytes) -> Any:
        """The key of a message."""
        return plain_key(value) if self._inside is None else self._inside.key(value)

    def _told(self, read: Readable, versions: Sequence[Version], values: pa.Array) -> Readable:
        absent = values.is_null().to_pylist()
        told = [self._today if gone else version for gone, version in zip(absent, versions, strict=True)]
        if isinstance(read, Messages):
            return replace(read, versions=told)
        return replace(read, messages=replace(read.messages, versions=told))

    def _of_schemas(self, messages: Messages) -> list[Version]:
        assert self._schemas is not None, "messages of a registry's formats have one"
        subject, known = f"{self._kafka.topic.strip()}-value", dict[int, Version]()
        versions: list[Version] = []
        for value in messages.values.to_pylist():
            number = number_of(value)
            if isinstance(number, int) and number not in known:
                version = self._schemas.version_of(number, subject)
                known[number] = version or Poison(
                    NotUpcast, f'the message names schema {number}, which is no version of "{subject}"'
                )
            versions.append(known[number] if isinstance(number, int) else self._today)  # the codec says what is wrong
        return versions

    def _of_fields(self, read: Readable) -> list[Version]:
        if isinstance(read, Records):
            return [self._today if isinstance(row, Poison) else _counted(row.get(self._name)) for row in read.rows]
        assert isinstance(read, Messages), "the declaration was checked"
        parsed = self._json.read_messages(Messages(read.values, read.offsets), "")
        versions: list[Version] = [self._today] * len(read)  # what can't be read is told of where it is read
        column = parsed.columns[0]
        for row, version in enumerate(column.values.to_pylist()):
            bad = column.bad is not None and column.bad[row].as_py()
            told = parsed.originals.value(row, self._name) if bad else version
            versions[parsed.originals.index(row)] = _counted(told)
        return versions


def _of_header(headers: Mapping[str, str | bytes | None] | None, name: str) -> Version:
    value = (headers or {}).get(name)
    if isinstance(value, bytes):
        is_number = len(value) == 1 and value[0] < ord(" ")
        return value[0] if is_number else _counted(value.decode("utf-8", "replace"))
    return _counted(value)


def _counted(value: Any) -> Version:
    """A version from what tells it."""
    if value is None:
        return 1
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value)
    return (
        int(text) if text.isdecimal() else Poison(NotUpcast, f"the message is of version {text!r}, which is no number")
    )
