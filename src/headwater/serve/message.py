"""Messages to a subscriber: rows of a snapshot, changes, and that the subscription is alive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headwater.errors import ArgumentRefused
from headwater.serve.encode import to_json

SNAPSHOT_ROWS = 1000
"""Rows in one message of a snapshot."""
PART_BYTES = 64 * 1024
"""Server-sent events are sent together until they are so many bytes."""
_SINCE = re.compile(r"(?P<version>\d{1,9})\.(?P<batch>-?\d{1,18})")
Row = dict[str, Any]


@dataclass(frozen=True)
class Since:
    """The progress of a subscriber: a batch of a version of the view."""

    version: int
    batch: int

    def __str__(self) -> str:
        return f"{self.version}.{self.batch}"

    @classmethod
    def read(cls, text: str) -> Since:
        """The version and batch that the id of a message says.

        >>> Since.read("2.17")
        Since(version=2, batch=17)
        """
        matched = _SINCE.fullmatch(text)
        if matched is None:
            raise ArgumentRefused(f'"{text}" is no id of a change', hint="Give the id of the last message, as it was.")
        return cls(int(matched["version"]), int(matched["batch"]))


@dataclass(frozen=True)
class Message:
    """One message; `id` is where a subscriber is once it has it."""

    event: str
    data: Row
    id: str | None = None

    def as_event(self) -> bytes:
        """As a server-sent event."""
        name = f"id: {self.id}\n".encode() if self.id else b""
        return b"event: " + self.event.encode() + b"\n" + name + b"data: " + to_json(self.data) + b"\n\n"

    def as_frame(self) -> str:
        """As the text of a WebSocket frame."""
        return to_json({"event": self.event, "id": self.id} | self.data).decode()


@dataclass(frozen=True)
class Delivery:
    """Messages that belong together, and where a subscriber is once it has all of them.

    They are spelled once, for however many subscribers.
    """

    at: Since
    messages: tuple[Message, ...]

    @cached_property
    def events(self) -> tuple[bytes, ...]:
        """The messages as server-sent events, in parts of a bearable size."""
        parts, part, size = list[bytes](), list[bytes](), 0
        for message in self.messages:
            part.append(message.as_event())
            size += len(part[-1])
            if size >= PART_BYTES:
                parts.append(b"".join(part))
                part, size = [], 0
        return (*parts, b"".join(part)) if part else tuple(parts)

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """The messages as the texts of WebSocket frames."""
        return tuple(message.as_frame() for message in self.messages)

    @classmethod
    def of_snapshot(cls, at: Since, rows: Sequence[Row]) -> Delivery:
        """The rows of a view in messages of a bearable size; the last one, and only it, has the id."""
        parts = [rows[start : start + SNAPSHOT_ROWS] for start in range(0, len(rows), SNAPSHOT_ROWS)] or [[]]
        last = len(parts) - 1
        return cls(
            at,
            tuple(
                Message("snapshot", {"rows": part, "more": number < last}, str(at) if number == last else None)
                for number, part in enumerate(parts)
            ),
        )

    @classmethod
    def of_changes(cls, at: Since, rows: Sequence[Row]) -> Delivery:
        """The changes of a batch, one message each; the last one, and only it, has the id."""
        last = len(rows) - 1
        return cls(
            at, tuple(Message("change", row, str(at) if number == last else None) for number, row in enumerate(rows))
        )
