"""Why a row of a view is what it is: the events of the log behind it, and those that came too late for it.

The view is computed once more, up to where its store is, with the places of events travelling beside the rows
(`operators.lowering.trace`). So the answer holds for every operator, through the views that a view reads, and names the
very events: filtered ones and copies are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headwater.errors import ArgumentRefused, UnknownRow
from headwater.log import TopicLog
from headwater.log.read import read_in_order
from headwater.model import Column, spell_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

MOST = 100
"""So many events are shown, unless told otherwise."""
_BITS = 32
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Why:
    """A row of a view, and the events behind it.

    `row` is None where no event was in time for it. `events` and `late` count all; `shown` and `shown_late` have the
    first of them in log order, by topic, with every column of the log. Which events came too late is known of views
    that read one stream, without a join.
    """

    view: str
    version: int
    commits: Mapping[str, int]
    row: dict[str, Any] | None
    events: int
    shown: Mapping[str, pa.Table]
    late: int
    shown_late: Mapping[str, pa.Table]

    def as_dict(self) -> dict[str, Any]:
        """The same for programs, with stable field names."""
        return {
            "view": self.view,
            "version": self.version,
            "commits": dict(self.commits),
            "row": self.row,
            "events": {"count": self.events, "shown": _records(self.shown)},
            "late": {"count": self.late, "shown": _records(self.shown_late)},
        }


def typed_row(view: str, columns: Iterable[Column], row: Row) -> dict[str, Any]:
    """The values that are asked for, by the columns of a view; values may be text.

    >>> typed_row("spend", [Column("card", pa.string()), Column("n", pa.int64())], {"CARD": "c-7", "n": "12"})
    {'card': 'c-7', 'n': 12}
    """
    known = {column.name.lower(): column for column in columns}
    unknown = next((name for name in row if name.lower() not in known), None)
    if unknown is not None or not row:
        raise ArgumentRefused(
            f'view "{view}" has no column "{unknown}"' if row else f'no row of view "{view}" is named',
            hint=f"Name a row by its columns: {', '.join(column.name for column in known.values())}.",
            view=view,
        )
    return {known[name.lower()].name: _typed(known[name.lower()], value) for name, value in row.items()}


def read_row(named: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """A row as a command or a request names it: column=value, column.eq=value, or column.null=true.

    >>> read_row([("shop", "north"), ("events.eq", "3"), ("country.null", "true")])
    {'shop': 'north', 'events': '3', 'country': None}
    """
    return dict(_read_value(name, value) for name, value in named)


def _read_value(name: str, value: str) -> tuple[str, str | None]:
    column, _, operator = name.rpartition(".")
    if not column or operator not in ("eq", "null"):
        return name, value
    if operator == "null" and value != "true":
        raise ArgumentRefused(
            f'"{name}={value}" names no row',
            hint=f"Write {column}.null=true for a row without a value, or {column}=VALUE.",
        )
    return column, None if operator == "null" else value


def condition_of(row: Row) -> SparkColumn:
    """True of the rows that have these values; NULL is equal to NULL."""
    from pyspark.sql import functions as F

    condition = F.lit(True)
    for name, value in row.items():
        condition &= F.col(f"`{name}`").eqNullSafe(F.lit(value))
    return condition


def only_row(view: str, key: Iterable[str], asked: Row, rows: pa.Table, late: pa.Table) -> dict[str, Any] | None:
    """The one row that was found; None if events came too late for one."""
    distinct = {repr(row): row for row in rows.to_pylist()}
    if len(distinct) > 1:
        missing = [name for name in key if name not in asked]
        raise ArgumentRefused(
            f'{len(distinct):,} rows of view "{view}" are as asked for',
            hint=f"Say which one: name {', '.join(missing) if missing else 'more of its columns'} as well.",
            view=view,
        )
    if not distinct and not late.num_rows:
        spelled = ", ".join(f"{name} = {value}" for name, value in asked.items())
        raise UnknownRow(
            f'view "{view}" has no row with {spelled}',
            detail="No event that the view has read belongs to it, in time or late.",
            hint=f'Query "{view}" to see which rows there are.',
            view=view,
        )
    return next(iter(distinct.values()), None)


def events_at(logs: Mapping[str, TopicLog], positions: Iterable[Mapping[str, Any]]) -> dict[str, pa.Table]:
    """The events at these positions, by topic, in log order."""
    by_topic: dict[str, list[tuple[int, int]]] = {}
    for position in positions:
        by_topic.setdefault(position["topic"], []).append((position["commit"], position["row"]))
    return {topic: _events(logs[topic], rows) for topic, rows in sorted(by_topic.items())}


def _events(log: TopicLog, positions: list[tuple[int, int]]) -> pa.Table:
    commits = np.unique([commit for commit, _ in positions])
    first, last = int(commits[0]), int(commits[-1])
    files = [
        file
        for file in log.snapshot().between(first, last)
        if np.searchsorted(commits, file.commits[0]) < np.searchsorted(commits, file.commits[1], "right")
    ]
    rows = read_in_order(log, files, first, last)
    numbers = (rows["_commit"].to_numpy() << _BITS) + rows["_row"].to_numpy()
    return rows.filter(np.isin(numbers, [(commit << _BITS) + row for commit, row in positions]))


def _records(shown: Mapping[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    return {topic: rows.to_pylist() for topic, rows in shown.items()}


def _typed(column: Column, value: Any) -> Any:
    try:
        return value if value is None else _of_type(column.type, value)
    except (TypeError, ValueError, InvalidOperation):
        raise ArgumentRefused(
            f'"{value}" doesn\'t fit column "{column.name}"', hint=f"The column is {spell_type(column.type)}."
        ) from None


def _of_type(kind: pa.DataType, value: Any) -> Any:
    if pa.types.is_boolean(kind) and isinstance(value, str):
        return _truth(value)
    if pa.types.is_timestamp(kind):
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if pa.types.is_date(kind):
        return value if isinstance(value, date) else date.fromisoformat(str(value))
    if pa.types.is_integer(kind):
        return int(value)
    if pa.types.is_decimal(kind):
        return Decimal(str(value))
    if pa.types.is_floating(kind):
        return float(value)
    return pa.scalar(value, kind).as_py()


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"
