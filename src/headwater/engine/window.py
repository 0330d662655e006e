"""Windows: which ones a row is in, as an array, so that each can be admitted on its own."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.model import Cumulate, Hop, Session, Tumble, Window

_MICROSECOND = timedelta(microseconds=1)


def windows_of(at: Column, window: Window) -> Column:
    """An array of structs (start, end): the windows that an instant falls in, in the order of their ends.

    Windows are aligned to 1970-01-01T00:00:00Z plus the offset; their start is included, their end is not. A row's own
    part of a session is [at, at + gap).
    """
    instant = F.unix_micros(at)
    match window:
        case Tumble(size, offset):
            start = _floor(instant, size, offset)
            return F.array(_span(start, start + _micros(size)))
        case Hop(size, slide, offset):
            last = _floor(instant, slide, offset)
            first = last - (-(-size // slide) - 1) * _micros(slide)
            starts = F.sequence(first, last, F.lit(_micros(slide)))
            spans = F.transform(starts, lambda start: _span(start, start + _micros(size)))
            return F.filter(spans, lambda span: F.unix_micros(span["end"]) > instant)
        case Cumulate(size, step, offset):
            start = _floor(instant, size, offset)
            first = _floor(instant, step, offset) + _micros(step)
            ends = F.sequence(first, start + _micros(size), F.lit(_micros(step)))
            return F.transform(ends, lambda end: _span(start, end))
        case Session(gap):
            return F.array(_span(instant, instant + _micros(gap)))


def has_one(window: Window) -> bool:
    """Whether every instant is in one window of this kind."""
    return isinstance(window, Tumble | Session)


def _span(start: Column, end: Column) -> Column:
    return F.struct(F.timestamp_micros(start).alias("start"), F.timestamp_micros(end).alias("end"))


def _floor(instant: Column, size: timedelta, offset: timedelta) -> Column:
    """The largest multiple of the size, moved by the offset, that is not after the instant."""
    moved = instant - _micros(offset)
    return moved - F.pmod(moved, F.lit(_micros(size))) + _micros(offset)


def _micros(duration: timedelta) -> int:
    return duration // _MICROSECOND
