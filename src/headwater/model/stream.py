"""A stream: typed events with an event time."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.model.topic import Topic

CONTENT = ("*",)
"""`unique = '*'`: an event's identity is its whole content."""


@dataclass(frozen=True, kw_only=True)
class Stream(Topic):
    """An append-only stream of events.

    `key` are the columns that say whom an event is about; `unique` are the columns that identify an event, `CONTENT`
    for all of them, or empty when a row's identity is its position.
    """

    key: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
