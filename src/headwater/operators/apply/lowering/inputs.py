"""Windows in a Python view: each row of an input once for every window that it is in.

    @hw.view(columns={"shop": str, "window_end": datetime, "total": int}, time="window_end", horizon="1 minute")
    def totals(sales):
        return hw.tumble(sales, size="1 minute").groupBy("shop", "window_end").agg(F.sum("amount").alias("total"))

The functions here add `window_start`, `window_end` and `window_time` to an input of the view, as it was given to the
function. Which rows are in time is then decided by the end of each window, as it is in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import Window as Frame
from pyspark.sql import functions as F

from headwater.errors import ArgumentRefused
from headwater.model import Cumulate, Hop, Session, Tumble, Window, parse_duration

Duration = timedelta | str
_NONE = timedelta()


@dataclass
class Input:
    """An input of a view while its function runs: its rows in time, and how they are taken through a window."""

    name: str
    rows: DataFrame
    through: Callable[[Window], DataFrame]
    window: Window | None = field(default=None, init=False)

    def windowed(self, window: Window) -> DataFrame:
        """The rows, each once for every window that admits it."""
        if self.window not in (None, window):
            raise ArgumentRefused(
                f'"{self.name}" is taken through two windows',
                detail="Which of its rows are late is decided by one window.",
                hint="Make a view of its own for each.",
            )
        self.window = window
        return self.through(window)


_INPUTS: ContextVar[Sequence[Input]] = ContextVar("inputs", default=())


@contextmanager
def running_on(inputs: Sequence[Input]) -> Iterator[None]:
    """Let these be the inputs of the function that runs meanwhile."""
    token = _INPUTS.set(inputs)
    try:
        yield
    finally:
        _INPUTS.reset(token)


def tumble(rows: DataFrame, *, size: Duration, offset: Duration = _NONE) -> DataFrame:
    """The rows of an input with the window of this size that each is in."""
    return _input(rows).windowed(Tumble(_positive("size", size), _duration("offset", offset)))


def hop(rows: DataFrame, *, size: Duration, slide: Duration, offset: Duration = _NONE) -> DataFrame:
    """The rows of an input, each once for every window of this size that starts every `slide`."""
    window = Hop(_positive("size", size), _positive("slide", slide), _duration("offset", offset))
    return _input(rows).windowed(window)


def cumulate(rows: DataFrame, *, size: Duration, step: Duration, offset: Duration = _NONE) -> DataFrame:
    """The rows of an input, each once for every window that grows by `step` up to `size` and has the row in it."""
    whole, part = _positive("size", size), _positive("step", step)
    if whole % part:
        raise ArgumentRefused("size is not a multiple of step", hint="Let windows grow by a whole part of their size.")
    return _input(rows).windowed(Cumulate(whole, part, _duration("offset", offset)))


def session(rows: DataFrame, *, gap: Duration, by: str | Sequence[str] = ()) -> DataFrame:
    """The rows of an input with the session that each is in: activity of the same `by` without a gap this long.

    The view's horizon must be as long as the longest session.
    """
    keys = [by] if isinstance(by, str) else list(by)
    apart = _input(rows).windowed(Session(_positive("gap", gap), tuple(keys)))
    return _merged(apart, keys)


def _merged(apart: DataFrame, keys: list[str]) -> DataFrame:
    """Rows whose own parts of a session overlap, with the bounds of the whole session."""
    names = [name for name in apart.columns if name not in ("window_start", "window_end", "window_time")]
    of_key = Frame.partitionBy(*(F.col(f"`{name}`") for name in keys)) if keys else Frame.partitionBy(F.lit(0))
    ordered = of_key.orderBy("window_start", "window_end")
    before = F.max("window_end").over(ordered.rowsBetween(Frame.unboundedPreceding, -1))
    begins = F.coalesce(F.col("window_start") > before, F.lit(True)).cast("int")
    numbered = apart.withColumn("__begins", begins).withColumn(
        "__session", F.sum("__begins").over(ordered.rowsBetween(Frame.unboundedPreceding, 0))
    )
    whole = (
        Frame.partitionBy(*(F.col(f"`{name}`") for name in keys), "__session")
        if keys
        else Frame.partitionBy("__session")
    )
    start, end = F.min("window_start").over(whole), F.max("window_end").over(whole)
    return numbered.select(
        *(F.col(f"`{name}`") for name in names),
        start.alias("window_start"),
        end.alias("window_end"),
        (end - F.expr("INTERVAL '0.001' SECOND")).alias("window_time"),
    )


def _input(rows: DataFrame) -> Input:
    entry = next((known for known in _INPUTS.get() if known.rows is rows), None)
    if entry is None:
        raise ArgumentRefused(
            "a window takes an input of a Python view as it was given",
            detail="Whether a row is in time for a window is known only of the rows of an input.",
            hint="Call it on a parameter of the function, and filter and select afterwards.",
        )
    return entry


def _duration(name: str, length: Duration) -> timedelta:
    try:
        return length if isinstance(length, timedelta) else parse_duration(length)
    except (ValueError, OverflowError) as problem:
        raise ArgumentRefused(f"{name} is no duration", detail=f"{problem}.") from None


def _positive(name: str, length: Duration) -> timedelta:
    duration = _duration(name, length)
    if duration <= _NONE:
        raise ArgumentRefused(f"{name} is not longer than nothing", hint="Write a duration like '10 seconds'.")
    return duration
