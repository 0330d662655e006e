"""When groups end: at the time among their keys, or when the window ends whose bound is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.model import Calendar, Hop, Tumble
from headwater.operators import Expression, Field, Role, Stage
from headwater.operators.lowering.stamp import later
from headwater.operators.stage import ending

MILLISECOND = timedelta(milliseconds=1)
Times = Mapping[Role, Field]
"""The keys that are times of rows, or bounds of their windows."""


def times_among(keys: Sequence[Expression], below: Stage) -> Times:
    """The keys that end a group: times of rows, or bounds of their windows, that every row has."""
    return {column.role: column for column in ending(keys, below) if column.role is not None}


def end_of(timed: Times) -> Column:
    """When a group ends one of whose keys is a time of a row, or of the window of another view that it comes from."""
    after = {Role.WINDOW_END: timedelta(), Role.WINDOW_TIME: MILLISECOND}
    role = next((bound for bound in (Role.WINDOW_END, Role.WINDOW_TIME, Role.WINDOW_START) if bound in timed), None)
    if role is None:
        return F.col(f"`{next(iter(timed.values())).name}`")
    column = timed[role]
    assert role is not Role.WINDOW_START or isinstance(column.window, Tumble | Hop), column
    return later(F.col(f"`{column.name}`"), after.get(role, getattr(column.window, "size", timedelta())))


def is_by_calendar(timed: Times) -> bool:
    """Tells whether groups are told by the start of a window of the calendar alone, whose end the rows carry."""
    by_end = timed.keys() & {Role.WINDOW_END, Role.WINDOW_TIME}
    started = timed.get(Role.WINDOW_START)
    return not by_end and started is not None and isinstance(started.window, Calendar)
