"""Selections: which rows of a view are asked for, in which order, from the parameters of a request.

    ?card_id=c-7            equal                    ?order=-window_end,card_id     by columns, - for descending
    ?spent.gte=100          gt, gte, lt, lte, ne     ?limit=100&page=2              which part of them
    ?country.in=DE,FR       one of                   ?country.null=true             with or without a value

A selection is the store's to answer: names are those that the view declares, and values are of the columns' types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation, localcontext
from typing import Any

import pyarrow as pa

from headwater import store
from headwater.errors import ArgumentRefused
from headwater.model import Column, spell_type
from headwater.store import Condition, Order
from headwater.store.selection import Comparison

OPTIONS = ("order", "limit", "page", "after", "timeout")
"""Parameters that are no conditions; a column of such a name is meant by `limit.eq=…`."""
_OPERATORS: Mapping[str, Comparison] = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
DEFAULT_LIMIT = 100
_LONGEST_EXPONENT = 100
"""Numbers of more digits before or behind the point are no values of any column."""
_SHOWN = 200


@dataclass(frozen=True)
class Selection:
    """Conditions, an order, and a page of the rows."""

    conditions: tuple[Condition, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int = DEFAULT_LIMIT
    page: int = 1

    def rows(self) -> store.Selection:
        """The selection for the store: one row more than the limit tells whether there is another page."""
        first = (self.page - 1) * self.limit
        return store.Selection(None, self.conditions, self.order, self.limit + 1, first)


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
    order = _order(lowered, options["order"]) if options.get("order") else tuple(map(Order, key))
    limit, page = _number(options, "limit", DEFAULT_LIMIT, most), _number(options, "page", 1, 1_000_000)
    return Selection(tuple(conditions), order, limit, page)


def _condition(known: Mapping[str, Column], lowered: Mapping[str, str], name: str, value: str) -> Condition:
    named, _, operator = name.rpartition(".") if "." in name and name.lower() not in lowered else (name, "", "eq")
    column = known[_column(lowered, named)]
    if operator == "null":
        if value not in ("true", "false"):
            raise _refusal(f'"{value}" is neither true nor false', f"Write {named}.null=true or {named}.null=false.")
        return Condition(column.name, "null" if value == "true" else "not null")
    if operator == "in":
        parts = [_compared(column, "=", part) for part in value.split(",")]
        values = [part.values for part in parts if part.operator == "="]
        return Condition(column.name, "in", pa.concat_arrays(values) if values else pa.array([], column.type))
    if operator not in _OPERATORS:
        known_ones = ", ".join([*_OPERATORS, "in", "null"])
        raise _refusal(f'there is no operator "{operator}"', f"The operators are {known_ones}.")
    return _compared(column, _OPERATORS[operator], value)


def _column(lowered: Mapping[str, str], name: str) -> str:
    if name.lower() not in lowered:
        raise _refusal(f'the view has no column "{name}"', f"Its columns are {', '.join(lowered.values())}.")
    return lowered[name.lower()]


def _order(lowered: Mapping[str, str], text: str) -> tuple[Order, ...]:
    parts = [(part.removeprefix("-"), part.startswith("-")) for part in text.split(",")]
    return tuple(Order(_column(lowered, name), down) for name, down in parts)


def _number(options: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = options.get(name)
    if text is None:
        return min(default, most)
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most))) or not 1 <= int(text) <= most:
        raise _refusal(f'"{text[:_SHOWN]}" is no {name}', f"Give a whole number from 1 to {most}.")
    return int(text)


def _compared(column: Column, operator: Comparison, text: str) -> Condition:
    """A comparison of a column with a value of a request.

    >>> _compared(Column("n", pa.decimal128(5, 2)), ">=", "1.005").operator
    '>'
    """
    try:
        if pa.types.is_decimal(column.type):
            return _of_number(column, operator, Decimal(text), column.type.scale, 10**column.type.precision - 1)
        if pa.types.is_integer(column.type):
            number, most = int(text), 2 ** (column.type.bit_width - 1) - 1
            if abs(number) <= most:
                return Condition(column.name, operator, pa.array([number], column.type))
            return _of_number(column, operator, Decimal(number), 0, most)
        return Condition(column.name, operator, pa.array([_value(column.type, text)], column.type))
    except (ValueError, InvalidOperation, OverflowError, pa.ArrowException):
        raise _refusal(
            f'"{text[:_SHOWN]}" doesn\'t fit column "{column.name}"', f"The column is {spell_type(column.type)}."
        ) from None


def _of_number(column: Column, operator: Comparison, number: Decimal, scale: int, most: int) -> Condition:
    """A comparison with a number that may have more digits than the column's values have."""
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST_EXPONENT:
        raise ValueError(number)
    with localcontext() as context:
        context.prec = 2 * _LONGEST_EXPONENT + len(number.as_tuple().digits)
        units = number.scaleb(scale)
        whole = units.to_integral_value(ROUND_CEILING if operator in ("<", "<=") else ROUND_FLOOR)
        if whole != units:
            if operator in ("=", "<>"):
                return _always(column) if operator == "<>" else _never(column)
            operator = "<" if operator in ("<", "<=") else ">"
        if abs(whole) > most:
            is_above = whole > 0
            holds = operator == "<>" or ((operator in ("<", "<=")) == is_above and operator != "=")
            return _always(column) if holds else _never(column)
        value = int(whole) if scale == 0 and pa.types.is_integer(column.type) else whole.scaleb(-scale)
        return Condition(column.name, operator, pa.array([value], column.type))


def _always(column: Column) -> Condition:
    return Condition(column.name, "not null")


def _never(column: Column) -> Condition:
    return Condition(column.name, "in", pa.array([], column.type))


def _value(kind: Any, text: str) -> Any:
    if pa.types.is_boolean(kind):
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if pa.types.is_floating(kind):
        number = float(text)
        if number - number != 0:  # neither NaN nor infinite
            raise ValueError(text)
        return number
    if pa.types.is_timestamp(kind):
        return _instant(text) if kind.tz else _instant(text).replace(tzinfo=None)
    if pa.types.is_date(kind):
        return datetime.fromisoformat(text).date()
    if pa.types.is_string(kind) and "\0" not in text:
        return text
    raise ValueError(text)


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


def read_instant(text: str) -> datetime:
    """An instant as a request names it."""
    try:
        return _instant(text)
    except ValueError:
        raise _refusal(f'"{text[:_SHOWN]}" is no instant', "Write it in ISO 8601, like 2026-01-31T12:00:00Z.") from None


def _refusal(summary: str, hint: str) -> ArgumentRefused:
    return ArgumentRefused(summary, hint=hint)
