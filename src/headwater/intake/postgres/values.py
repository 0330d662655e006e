"""Values as Debezium spells them, by the types of the columns they are of, made what an intake reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from psycopg import sql

from headwater.intake.changes.piece import Read
from headwater.json_text import Number
from headwater.model import INSTANT, Table, is_number

_LATER = 5_000_000
"""So many years later a snapshot has a date before Christ: a multiple of 400, so that the calendar is the same."""
_DAYS_OF_400_YEARS = 146_097
_LONGEST = 5_000
"""PostgreSQL has dates of fewer years before Christ."""
_OVERFLOWN = {"-5877611-06-21": "infinity", "-5877611-06-22": "-infinity"}
"""Dates that are none, as Debezium spells them when they come from WAL."""
_NO_NUMBERS = {"NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity"}


def readers_of(table: Table, columns: Mapping[str, str]) -> dict[str, Read]:
    """The readers of the columns whose values aren't spelled as an intake reads them."""
    declared = {name: column.type for column in table.columns for name in (column.name, *column.aliases)}
    readers: dict[str, Read] = {
        "numeric": _numeric,
        "date": _date,
        "time without time zone": _without_zone,
        "timestamp without time zone": _without_zone,
    }
    chosen = {name: readers[kind] for name, kind in columns.items() if kind in readers}
    if_text = {name: _spelled for name in chosen if columns[name] == "numeric" and not is_number(_of(declared, name))}
    in_utc = {name: _infinite for name in chosen if _of(declared, name) == INSTANT}
    return chosen | if_text | in_utc


def _of(declared: Mapping[str, pa.DataType], name: str) -> pa.DataType:
    return declared.get(name, pa.string())


def _spelled(value: str) -> str:
    """A numeric as PostgreSQL spells it.

    >>> _spelled("NAN"), _spelled("1.50")
    ('NaN', '1.50')
    """
    return _NO_NUMBERS.get(value, value)


def _numeric(value: Any) -> Any:
    """A numeric for a column of numbers."""
    return _NO_NUMBERS[value] if value in _NO_NUMBERS else Number(value) if isinstance(value, str) else value


def _infinite(value: str) -> str:
    """A time that is no time, as PostgreSQL spells it; Debezium writes the least and the greatest that Java knows.

    >>> _infinite("-290308-12-21T19:59:27.6Z"), _infinite("2026-01-01T00:00:00Z")
    ('-infinity', '2026-01-01T00:00:00Z')
    """
    sign, _, rest = value[:1], value[1:], value[1:].partition("-")
    is_far = sign in ("+", "-") and len(rest[0]) > 4 and int(rest[0]) > 290_000
    return value if not is_far else "infinity" if sign == "+" else "-infinity"


def told(column: sql.Identifier, kind: str) -> sql.Composable:
    """A column as a snapshot selects it: a date before Christ, whose sign Debezium would lose, comes far later."""
    if kind != "date":
        return column
    days = sql.Literal(_LATER // 400 * _DAYS_OF_400_YEARS)
    return sql.SQL("CASE WHEN {0} < '0001-01-01' THEN {0} + {1} ELSE {0} END AS {0}").format(column, days)


def _date(value: str) -> str:
    """A date, with a year before Christ as ISO 8601 counts it; one that is none as PostgreSQL spells it.

    >>> _date("2026-01-01Z"), _date("+4999957-03-15Z"), _date("-0043-03-15Z")
    ('2026-01-01', '-0043-03-15', '-0043-03-15')
    >>> _date("+292278994-08-16Z"), _date("-5877611-06-21Z"), _date("-5877611-06-22Z")
    ('infinity', 'infinity', '-infinity')
    """
    date = value.removesuffix("Z")
    if date in _OVERFLOWN:
        return _OVERFLOWN[date]
    year, month, day = date.lstrip("+-").split("-")
    before_christ = int(year) - _LATER
    if date.startswith("+") and -_LONGEST < before_christ <= 0:
        return f"{'-' if before_christ else ''}{-before_christ:04}-{month}-{day}"
    return _without_zone(value)


def _without_zone(value: str) -> str:
    """A date or a time that has no zone, which is written with that of UTC.

    >>> _without_zone("2026-01-01Z"), _without_zone("+292278994-08-16Z")
    ('2026-01-01', 'infinity')
    """
    return _infinite(value).removesuffix("Z")
