"""Windows of event time: start inclusive, end exclusive, aligned to 1970-01-01 UTC plus an offset.

*Calendar* windows are aligned to the calendar of a time zone instead, and are as long as it makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True)
class Tumble:
    """Windows of one size that follow each other."""

    size: timedelta
    offset: timedelta = timedelta()


@dataclass(frozen=True)
class Calendar:
    """Windows of `count` days or months in a time zone that follow each other, from the local midnight plus `offset`.

    Whole weeks start on a Monday; months are counted from January of the year 0, so that twelve of them are a year. A
    day is as long as the zone makes it: 23 or 25 hours where clocks are changed.
    """

    count: int
    unit: Literal["day", "month"]
    zone: str = "UTC"
    offset: timedelta = timedelta()

    @property
    def size(self) -> timedelta:
        """No window is longer than this."""
        days = self.count if self.unit == "day" else 31 * self.count
        return timedelta(days=days, hours=2)


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


Window = Tumble | Calendar | Hop | Cumulate | Session
