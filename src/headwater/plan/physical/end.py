"""Ends: which column of a view tells when a row ends, and how long after it the end is.

The *end* of a row is that of its window, or its own time, as far after it as the row can still change by rows that are
in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headwater.model import Hop, Tumble
from headwater.operators import Role, Stage
from headwater.plan.bounds import WINDOW_TIME_BEFORE_END
from headwater.plan.physical.finality import changes_for


@dataclass(frozen=True)
class End:
    """A row ends `after` the value of its column."""

    column: str
    after: timedelta


def end_of(root: Stage, sight: timedelta | None) -> End | None:
    """The column that tells the end of a row; None if none does."""
    columns = {column.role: column for column in root.visible if column.role is not None}
    if (ended := columns.get(Role.WINDOW_END)) is not None:
        return End(ended.name, timedelta())
    if (last := columns.get(Role.WINDOW_TIME)) is not None:
        return End(last.name, WINDOW_TIME_BEFORE_END)
    if (start := columns.get(Role.WINDOW_START)) is not None:
        return End(start.name, start.window.size) if isinstance(start.window, Tumble | Hop) else None
    at, changes = columns.get(Role.EVENT_TIME), changes_for(root, sight)
    return End(at.name, changes) if at is not None and changes is not None else None
