"""Values as Debezium spells them, by the types of the columns they are of, made what an intake reads."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from headwater.intake.postgres.debezium import UNCHANGED
from headwater.json_text import Number
from headwater.model import INSTANT, Table, is_number

Read = Callable[[Any], Any]
_UNCHANGED_BYTES = base64.b64encode(UNCHANGED.encode()).decode()
_NO_NUMBERS = {"NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity"}


def is_unchanged(value: Any) -> bool:
    """Tells whether WAL has left a value out, because an update has left it as it was.

    >>> is_unchanged([UNCHANGED]), is_unchanged("x"), is_unchanged(None)
    (True, False, False)
    """
    if isinstance(value, list):
        return len(value) == 1 and is_unchanged(value[0])
    return isinstance(value, str) and value in (UNCHANGED, _UNCHANGED_BYTES)


def readers_of(table: Table, columns: Mapping[str, str]) -> dict[str, Read]:
    """The readers of the columns whose values aren't spelled as an intake reads them."""
    declared = {name: column.type for column in table.columns for name in (column.name, *column.aliases)}
    readers: dict[str, Read] = {
        "numeric": _numeric,
        "date": _without_zone,
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


def _without_zone(value: str) -> str:
    """A date or a time that has no zone, which is written with that of UTC.

    >>> _without_zone("2026-01-01Z"), _without_zone("+292278994-08-16Z")
    ('2026-01-01', 'infinity')
    """
    return _infinite(value).removesuffix("Z")
