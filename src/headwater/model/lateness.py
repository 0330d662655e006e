"""The time that a topic knows, and what a view does with rows that come after it.

A *watermark strategy* says how the watermark follows from the events of one source:

    Bounded      the newest event time minus a fixed delay
    Quantile     the newest event time minus a delay learned from how late events have been
    Punctuated   a column of the event says so itself
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True)
class Bounded:
    """`WATERMARK FOR at AS at - INTERVAL '5' SECOND`: events are at most `delay` behind the newest of their source."""

    delay: timedelta = timedelta()


@dataclass(frozen=True)
class Quantile:
    """`WATERMARK FOR at AS at - QUANTILE(0.999, INTERVAL '1' SECOND, INTERVAL '5' MINUTE)`.

    The delay is the `share` quantile of observed lateness, never under `least` and never over `most`.
    """

    share: float
    least: timedelta
    most: timedelta


@dataclass(frozen=True)
class Punctuated:
    """`WATERMARK FOR at AS complete_to`: the named TIMESTAMP column of an event is its source's watermark after it."""

    column: str


WatermarkStrategy = Bounded | Quantile | Punctuated
LatePolicy = Literal["keep", "drop"]
"""A view's late rows are offered as a stream (`late(view)`), or only counted."""
