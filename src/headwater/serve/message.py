"""What a subscriber is sent: rows of a snapshot, changes, and that the subscription is alive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import ArgumentRefused
from headwater.serve.encode import to_json

SNAPSHOT_ROWS = 1000
"""Rows in one message of a snapshot."""
_SINCE = re.compile(r"(?P<version>\d{1,9})\.(?P<batch>-?\d{1,18})")
Row = dict[str, Any]


@dataclass(frozen=True)
class Since:
    """Where a subscriber is: a batch of a version of the view."""

    version: int
    batch: int

    def __str__(self) -> str:
        return f"{self.version}.{self.batch}"

    @classmethod
    def read(cls, text: str) -> Since:
        """What the id of a message says.

        >>> Since.read("2.17")
        Since(version=2, batch=17)
        """
        found = _SINCE.fullmatch(text)
        if found is None:
            raise ArgumentRefused(f'"{text}" is no id of a change', hint="Give the id of the last message, as it was.")
        return cls(int(found["version"]), int(found["batch"]))


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
    """Messages that belong together, and where a subscriber is once it has all of them."""

    at: Since
    messages: tuple[Message, ...]

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
