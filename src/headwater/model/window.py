"""Windows of event time: start inclusive, end exclusive, aligned to 1970-01-01 UTC plus an offset."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Tumble:
    """Windows of one size that follow each other."""

    size: timedelta
    offset: timedelta = timedelta()


@dataclass(frozen=True)
class Hop:
    """Windows of one size that start every `slide`; a row is in size / slide of them."""

    size: timedelta
    slide: timedelta
    offset: timedelta = timedelta()


@dataclass(frozen=True)
class Cumulate:
    """Windows that share a start and grow by `step` up to `size`."""

    size: timedelta
    step: timedelta
    offset: timedelta = timedelta()


@dataclass(frozen=True)
class Session:
    """Windows of activity, per `keys`, closed by `gap` without an event."""

    gap: timedelta
    keys: tuple[str, ...] = ()


Window = Tumble | Hop | Cumulate | Session
