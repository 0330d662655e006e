"""Selections: which rows of a view are asked for, in which order, from the parameters of a request.

    ?card_id=c-7            equal                    ?order=-window_end,card_id     by columns, - for descending
    ?spent.gte=100          gt, gte, lt, lte, ne     ?limit=100&page=2              which part of them
    ?country.in=DE,FR       one of                   ?country.null=true             with or without a value

A selection becomes one SELECT: names are those that the view declares, and values are spelled by their types, so that
nothing of a request stands in it as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from headwater.errors import ArgumentRefused
from headwater.model import Column, spell_type

OPTIONS = ("order", "limit", "page", "after", "timeout")
"""Parameters that are no conditions; a column of such a name is meant by `limit.eq=…`."""
_OPERATORS = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
DEFAULT_LIMIT = 100


@dataclass(frozen=True)
class Selection:
    """Conditions, an order, and a part of the rows; all as SQL over names that exist."""

    conditions: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    limit: int = DEFAULT_LIMIT
    page: int = 1

    def statement(self, view: str) -> str:
        """The SELECT; it asks for one row more than the limit, which tells whether there is another page."""
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        order = f" ORDER BY {', '.join(self.order)}" if self.order else ""
        part = f" LIMIT {self.limit + 1} OFFSET {(self.page - 1) * self.limit}"
        return f"SELECT * FROM {quoted(view)}{where}{order}{part}"  # noqa: S608  # names are quoted, values spelled


def read_selection(
    columns: Iterable[Column], key: Iterable[str], parameters: Iterable[tuple[str, str]], most: int
) -> Selection:
    """The selection that the parameters of a request ask for. Without an order rows come by the key."""
    known = {column.name: column for column in columns}
    lowered = {name.lower(): name for name in known}
    conditions, options = [], dict[str, str]()
    for name, value in parameters:
        if name in OPTIONS:
            options[name] = value
        else:
            conditions.append(_condition(known, lowered, name, value))
    order = _order(lowered, options["order"]) if options.get("order") else tuple(quoted(name) for name in key)
    limit, page = _number(options, "limit", DEFAULT_LIMIT, most), _number(options, "page", 1, 1_000_000)
    return Selection(tuple(conditions), order, limit, page)


def _condition(known: Mapping[str, Column], lowered: Mapping[str, str], name: str, value: str) -> str:
    found, _, operator = name.rpartition(".") if "." in name and name.lower() not in lowered else (name, "", "eq")
    column = known[_column(lowered, found)]
    sql = quoted(column.name)
    if operator == "null":
        if value not in ("true", "false"):
            raise _refusal(f'"{value}" is neither true nor false', f"Write {found}.null=true or {found}.null=false.")
        return f"{sql} IS {'' if value == 'true' else 'NOT '}NULL"
    if operator == "in":
        return f"{sql} IN ({', '.join(literal(column, part) for part in value.split(','))})"
    if operator not in _OPERATORS:
        known_ones = ", ".join([*_OPERATORS, "in", "null"])
        raise _refusal(f'there is no operator "{operator}"', f"The operators are {known_ones}.")
    return f"{sql} {_OPERATORS[operator]} {literal(column, value)}"


def _column(lowered: Mapping[str, str], name: str) -> str:
    if name.lower() not in lowered:
        raise _refusal(f'the view has no column "{name}"', f"Its columns are {', '.join(lowered.values())}.")
    return lowered[name.lower()]


def _order(lowered: Mapping[str, str], text: str) -> tuple[str, ...]:
    parts = [(part.removeprefix("-"), part.startswith("-")) for part in text.split(",")]
    return tuple(f"{quoted(_column(lowered, name))}{' DESC' if down else ''}" for name, down in parts)


def _number(options: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = options.get(name)
    if text is None:
        return min(default, most)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise _refusal(f'"{text}" is no {name}', f"Give a whole number from 1 to {most}.")
    return int(text)


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(column: Column, text: str) -> str:
    """A value of a column's type as SQL spells it.

    >>> literal(Column("name", pa.string()), "O'Hara"), literal(Column("n", pa.int32()), "7")
    ("'O''Hara'", '7')
    """
    try:
        return _spelled(column.type, text)
    except (ValueError, InvalidOperation, OverflowError):
        raise _refusal(
            f'"{text}" doesn\'t fit column "{column.name}"', f"The column is {spell_type(column.type)}."
        ) from None


def _spelled(kind: Any, text: str) -> str:
    if pa.types.is_boolean(kind):
        if text not in ("true", "false"):
            raise ValueError(text)
        return text.upper()
    if pa.types.is_integer(kind):
        return str(int(text))
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        number = Decimal(text)
        if not number.is_finite():
            raise ValueError(text)
        return f"{number:f}"
    if pa.types.is_timestamp(kind):
        return f"'{_instant(text)}'"
    if pa.types.is_date(kind):
        return f"'{datetime.fromisoformat(text).date().isoformat()}'"
    if pa.types.is_string(kind) and "\0" not in text:
        return "'" + text.replace("'", "''") + "'"
    raise ValueError(text)


def _instant(text: str) -> str:
    """An instant in UTC, with as many digits of the second as it needs."""
    at = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    digits = "auto" if not at.microsecond else "milliseconds" if at.microsecond % 1000 == 0 else "microseconds"
    return at.replace(tzinfo=None).isoformat(" ", digits if digits != "auto" else "seconds")


def _refusal(summary: str, hint: str) -> ArgumentRefused:
    return ArgumentRefused(summary, hint=hint)
