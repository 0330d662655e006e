"""Windows: which ones a row is in, so that each can be admitted on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeGuard

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.model import Calendar, Cumulate, Hop, Session, Tumble, Window
from headwater.operators.lowering.stamp import STAMP, WINDOWS

_MICROSECOND, _DAY = timedelta(microseconds=1), timedelta(days=1)


def window_of(at: Column, window: Tumble | Calendar | Session) -> Column:
    """A struct (start, end): the one window that an instant falls in.

    Windows are aligned to 1970-01-01T00:00:00Z plus the offset, or to a calendar; their start is included, their end is
    not. A row's own part of a session is [at, at + gap).
    """
    instant = F.unix_micros(at)
    if isinstance(window, Session):
        return _span(instant, instant + _micros(window.gap))
    if isinstance(window, Calendar):
        return _of_calendar(at, window)
    start = _floor(instant, window.size, window.offset)
    return _span(start, start + _micros(window.size))


@dataclass(frozen=True)
class Spread:
    """The windows that an instant falls in, where there can be several: they are numbered in the order of their ends.

    The numbers go from `first` (of the instant) to `last`. An array of numbers and some arithmetic is what Spark
    compiles; an array of windows, filtered, it would interpret.
    """

    first: Column | int
    last: int
    window: Callable[[Column], Column]
    after: Callable[[Column], Column]
    """The number of the first window that ends after an instant, given in microseconds; it may be none of these."""

    @property
    def count(self) -> Column | int:
        """The number of windows that an instant is in."""
        return 1 + self.last - self.first

    @classmethod
    def of(cls, at: Column, window: Hop | Cumulate) -> Spread:
        """The windows of an instant, each a struct (start, end)."""
        instant = F.unix_micros(at)
        if isinstance(window, Hop):
            last, size = window.size // window.slide - 1, _micros(window.size)
            oldest = _floor(instant, window.slide, window.offset) - _micros(last * window.slide)
            return cls(
                0,
                last,
                lambda number: _span(began := oldest + _times(number, window.slide), began + size),
                lambda ended: whole(ended - oldest - size, window.slide) + 1,
            )
        start = _floor(instant, window.size, window.offset)
        return cls(
            whole(instant - start, window.step),
            window.size // window.step - 1,
            lambda number: _span(start, start + _times(number + 1, window.step)),
            lambda ended: whole(ended - start, window.step),
        )


def has_one(window: Window) -> TypeGuard[Tumble | Calendar | Session]:
    """Tells whether every instant is in one window of this kind."""
    return isinstance(window, Tumble | Calendar | Session)


def whole(micros: Column, step: timedelta) -> Column:
    """The whole steps of a duration in microseconds, rounded down: exact, without fractions."""
    return F.call_function("div", micros - F.pmod(micros, _micros(step)), _micros(step))


def _times(number: Column, step: timedelta) -> Column:
    """So many steps, in microseconds."""
    return number.cast("bigint") * _micros(step)


def _of_calendar(at: Column, window: Calendar) -> Column:
    """The window of a calendar that an instant is in: computed on the local clock, and back to instants.

    A midnight that a change of clocks skips is the first instant after it; of one that comes twice it is the first.
    """
    local = F.unix_micros(F.from_utc_timestamp(at, window.zone)) - _micros(window.offset)
    if window.unit == "day":
        monday = timedelta(days=-3) if window.count % 7 == 0 else timedelta()
        start = _floor(local, timedelta(days=window.count), monday)
        bounds = (start, start + _micros(timedelta(days=window.count)))
    else:
        date = F.date_from_unix_date(whole(local, _DAY).cast("int"))
        month = F.year(date) * 12 + F.month(date) - 1
        first = month - F.pmod(month, F.lit(window.count))
        bounds = (_first_of(first), _first_of(first + window.count))
    instants = (F.to_utc_timestamp(F.timestamp_micros(bound + _micros(window.offset)), window.zone) for bound in bounds)
    return F.struct(*(bound.alias(name) for bound, name in zip(instants, ("start", "end"), strict=True)))


def _first_of(month: Column) -> Column:
    """The local midnight of the first day of a month, counted from January of the year 0."""
    date = F.make_date(F.floor(month / 12).cast("int"), (F.pmod(month, F.lit(12)) + 1).cast("int"), F.lit(1))
    return F.unix_date(date).cast("bigint") * _micros(_DAY)


def _span(start: Column, end: Column) -> Column:
    return F.struct(F.timestamp_micros(start).alias("start"), F.timestamp_micros(end).alias("end"))


def _floor(instant: Column, size: timedelta, offset: timedelta) -> Column:
    """The largest multiple of the size, moved by the offset, that is not after the instant."""
    moved = instant - _micros(offset)
    return moved - F.pmod(moved, _micros(size)) + _micros(offset)


def _micros(duration: timedelta) -> Column:
    """A duration in microseconds, as BIGINT: Spark takes a number of Python for INT, and 36 minutes don't fit."""
    return F.lit(duration // _MICROSECOND).cast("bigint")


def admitting(frame: DataFrame, spread: Spread, grace: timedelta) -> DataFrame:
    """The rows that some window admits, with the number of their last windows that do in `WINDOWS`."""
    ended = F.unix_micros(STAMP) - grace // _MICROSECOND
    first = F.greatest(F.lit(spread.first), spread.after(ended))
    windows = F.when(first <= spread.last, spread.last + 1 - first).otherwise(0).cast("int")
    return frame.withColumn(WINDOWS, windows).where(F.col(WINDOWS) > 0)
