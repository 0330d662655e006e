"""Selections as SQLite's SQL: exact, and such that the key and the indexes of a version are used.

Every value has one spelling, so equality is exact for each type. Order is that of Spark but for decimals of many
digits, which are numbers and texts in one column.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.store.selection import Condition, Order, Selection, is_comparable
from headwater.store.spelling import comma, quoted
from headwater.store.sqlite.values import codec_of
from headwater.store.sqlite.version_tables import VersionTables

_TESTS = {"null": "IS NULL", "not null": "IS NOT NULL"}


def can(kind: pa.DataType, part: Condition | Order) -> bool:
    """Tells whether SQLite does this part of a selection as Spark would."""
    if isinstance(part, Condition) and part.operator in _TESTS:
        return True
    if not is_comparable(kind):
        return False
    if isinstance(part, Condition) and part.operator in ("=", "<>", "in"):
        return True
    return not codec_of(kind).wide


def sorts_elsewhere(kind: pa.DataType) -> bool:
    """Tells whether some values of a type, those before the year 1 and after 9999, don't sort as Spark sorts them."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date32(kind))


def distant(tables: VersionTables, column: str) -> str:
    """The statement that finds a value of such a year, if there is one: its text begins with a sign."""
    return f"SELECT 1 FROM {tables.names.table} WHERE {quoted(column)} < '0' LIMIT 1"


def select(tables: VersionTables, selection: Selection) -> tuple[str, list[Any]]:
    """The SELECT, and the values that are bound."""
    names = [quoted(column.name) for column in selection.of(tables.target.columns)]
    values: list[Any] = []
    conditions = [_condition(condition, values) for condition in selection.conditions]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    order = comma(f"{quoted(part.column)}{' DESC' if part.descends else ''}" for part in selection.order)
    text = f"SELECT {comma(names) or 'NULL'} FROM {tables.names.table}{where}{f' ORDER BY {order}' if order else ''}"
    if selection.limit is not None or selection.offset:
        text += f" LIMIT {-1 if selection.limit is None else selection.limit} OFFSET {selection.offset}"
    return text, values


def _condition(condition: Condition, values: list[Any]) -> str:
    name = quoted(condition.column)
    if condition.operator in _TESTS:
        return f"{name} {_TESTS[condition.operator]}"
    kind = condition.values.type
    bound = codec_of(kind).encode(condition.values)
    values += bound
    if condition.operator == "in":
        return f"{name} IN ({comma('?' for _ in bound)})"
    if sorts_elsewhere(kind):
        return _in_time(name, condition.operator)
    return f"{name} {condition.operator} ?"


def _in_time(name: str, operator: str) -> str:
    """A comparison of instants. Texts that begin with + are years after 9999, and sort before all others."""
    distant = f"{name} BETWEEN '+' AND ','"
    if operator in (">", ">="):
        return f"({name} {operator} ? OR {distant})"
    return f"({name} {operator} ? AND NOT {distant})" if operator in ("<", "<=") else f"{name} {operator} ?"
