"""A stream: typed events with an event time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headwater.model.topic import Topic

CONTENT = ("*",)
"""`unique = '*'`: an event's identity is its whole content."""


@dataclass(frozen=True, kw_only=True)
class Stream(Topic):
    """An append-only stream of events.

    `key` are the columns that say whom an event is about; `unique` are the columns that identify an event, `CONTENT`
    for all of them, or empty when a row's identity is its position. Copies of an event have its event time as well,
    unless `within` says for how long after an event another one with its identity is a copy.
    """

    key: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    within: timedelta | None = None
