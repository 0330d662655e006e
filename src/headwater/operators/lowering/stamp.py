"""Driving Spark's operators by the stamp: the one module that knows how.

Spark's own watermark follows the largest event time that it happens to have seen. Here it follows the rows' stamps:

    track    Spark's watermark := stamp − delay, then a barrier that no filter is pushed through
    in_time  a row is taken iff its end + grace > its own stamp: lateness is data, decided at the log's door
    mark     the column that state is evicted by, behind a barrier again

`tests/engine/test_stamp.py` fails if a Spark release changes what this rests on: push-down, eviction, late filtering.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from headwater.model import spell_duration

STAMP, COMMIT, ROW, ID, TIME = "__stamp", "__commit", "__row", "__id", "__time"
END, LAST, WINDOWS, NEW, POSITION = "__end", "__last", "__windows", "__new", "__position"
BEHIND, OP = "__behind", "__op"
MARK, FINAL, KEEP = "__mark", "__final", "__keep"
"""The columns that state is evicted by, from when a row is final, and whether it is shown at all."""
PARTS = "__parts"
"""The parts that a group which can still change is made of, with its keys, where a step adds to them."""
MARKED = "marked"
"""The name of the barriers before operators that come behind another one, with a number."""
CARRIED = (STAMP, COMMIT, ROW, ID, TIME, END, LAST, WINDOWS, NEW, POSITION, BEHIND, OP)
"""The columns that travel beside a row up to the first operator that keeps state, as far as they are known.

Its stamp and position in the log; its identity, where the stream declares what is unique; the end of the window it is
assigned to, and whether that is the last of its windows; where it stands for several windows, how many those are; where
a slice reads rows again, whether this one is new; behind a join, the positions of both rows of a pair; where
it is asked why a row is there, the positions of what is behind it; of a change of a table, what it does.
"""
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
"""The mark of rows that are never let go of: no watermark passes it."""
_EVICTS = {"spark.watermarkDelayMs": 0}
_BEFORE_TIME = -(1 << 62)
"""Microseconds before every instant, whatever grace is added to them."""


def track(rows: DataFrame, delay: timedelta) -> DataFrame:
    """Let Spark's watermark follow the stamps, less a delay. A `barrier` must come next, and then `events`."""
    return rows.withWatermark(STAMP, spell_duration(delay))


def barrier(rows: DataFrame, name: str, *counts: Column) -> DataFrame:
    """Count rows as they pass, under a name that is unique in the query; nothing is pushed through.

    Without it Spark pushes filters below the watermark, and rows that a selective filter drops no longer move it; and
    it pushes semi joins below the column that their state is evicted by.
    """
    return rows.observe(name, *counts)


def events(rows: DataFrame) -> DataFrame:
    """The rows without the tick rows, which have moved the watermark and hold nothing else."""
    return rows.where(F.col(COMMIT).isNotNull())


def in_time(end: Column, grace: timedelta) -> Column:
    """Tells whether a row whose window ends there is admitted; equality is late, and so is a row that has no end.

    It is written so that Spark can't infer that the end must not be NULL: that alone it would ask of rows before they
    move the watermark, and tick rows have no end.
    """
    return F.coalesce(F.unix_micros(end), F.lit(_BEFORE_TIME)) + _micros(grace) > F.unix_micros(STAMP)


def mark(column: Column, name: str) -> Column:
    """The column under a name, marked as the one that state is evicted by."""
    return column.alias(name, metadata=_EVICTS)


def later(at: Column, duration: timedelta) -> Column:
    """An instant later by a duration. Spark adds an INTERVAL by way of the calendar, ten times as slowly."""
    return F.timestamp_micros(F.unix_micros(at) + _micros(duration)) if duration else at


def _micros(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


def interval(duration: timedelta) -> Column:
    """A duration as Spark has it, exact to the microsecond."""
    return F.expr(spell_interval(duration))


def spell_interval(duration: timedelta) -> str:
    """The same in SQL.

    >>> spell_interval(timedelta(minutes=-1, microseconds=5))
    "INTERVAL '-59.999995' SECOND"
    """
    return f"INTERVAL '{_seconds(duration)}' SECOND"


def interval_of(duration: timedelta) -> exp.Interval:
    """The same as a tree."""
    return exp.Interval(this=exp.Literal.string(_seconds(duration)), unit=exp.Var(this="SECOND"))


def _seconds(duration: timedelta) -> str:
    sign = "-" if duration < timedelta() else ""
    seconds, rest = divmod(abs(duration) // timedelta(microseconds=1), 1_000_000)
    return f"{sign}{seconds}.{rest:06d}"
