"""Questions of a page about a view: its newest rows, and a number over its time. No more is asked for than is shown."""

# ruff: noqa: S608  # names are those that the project declares, quoted; a fold is one of four
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from headwater.plan import PlannedView
from headwater.project import Project
from headwater.sql import spell_name
from headwater.store import Order, Selection

Points = list[tuple[datetime, float]]
FOLDS = ("sum", "avg", "max", "min")
POINTS, LOOKED_AT = 120, 5000
"""So many points are drawn at most, of so many of the newest rows where each row has a time of its own."""
_WIDTHS = tuple(timedelta(seconds=seconds) for seconds in (1, 5, 10, 30, 60, 600, 3600, 86_400))
_FOLDED: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum, "avg": lambda values: sum(values) / len(values), "max": max, "min": min, "count": len,
}  # fmt: skip


def newest(project: Project, planned: PlannedView, most: int) -> pa.Table:
    """The newest rows of a view, newest first; of one without a time any rows."""
    order = (Order(planned.time.name, descends=True),) if planned.time else ()
    columns = tuple(column.name for column in planned.columns)
    return project.views.select(planned.name, Selection(columns, order=order, limit=most))[1]


def over_time(project: Project, planned: PlannedView, column: str | None, fold: str) -> Points:
    """A column folded into one number for each window, or while, oldest first; with `count`, the number of rows."""
    assert planned.time is not None and fold in _FOLDED
    time, has_windows = planned.time.name, planned.time.role is not None and planned.time.role.bounds_window
    if has_windows:
        at, number = spell_name(time), "*" if column is None else spell_name(column)
        grouped = f"GROUP BY {at} ORDER BY {at} DESC LIMIT {POINTS}"
        rows = project.query(f"SELECT {at}, {fold}({number}) AS folded FROM {spell_name(planned.name)} {grouped}")
        return [(row[time], float(row["folded"] or 0)) for row in reversed(rows.to_pylist()) if row[time]]
    rows = newest(project, planned, LOOKED_AT).select([time, *([] if column is None else [column])])
    pairs = [(row[time], float(row[column] or 0) if column else 1.0) for row in rows.to_pylist() if row[time]]
    return folded(pairs, fold, width_of([at for at, _ in pairs]))


def folded(pairs: Iterable[tuple[datetime, float]], fold: str, width: timedelta | None) -> Points:
    """Values folded into one for each instant, or for each while of this width; oldest first.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> pairs = [(noon + timedelta(seconds=n), float(n)) for n in range(4)]
    >>> [value for _, value in folded(pairs, "sum", timedelta(seconds=2))]
    [1.0, 5.0]
    """
    values: dict[datetime, list[float]] = {}
    for at, value in pairs:
        begin = at if width is None else at - (at - datetime(1970, 1, 1, tzinfo=UTC)) % width
        values.setdefault(begin, []).append(value)
    return [(at, float(_FOLDED[fold](values[at]))) for at in sorted(values)][-POINTS:]


def width_of(times: Sequence[datetime]) -> timedelta:
    """The width of a while with which the times are in not more than half as many as are drawn."""
    span = max(times) - min(times) if times else timedelta()
    return next((width for width in _WIDTHS if span <= width * POINTS / 2), _WIDTHS[-1])
