"""Selections as statements, for stores that can't do all of one themselves."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.model import spell_type
from headwater.query.statement import Statement, parse
from headwater.sql import spell_name, spell_text
from headwater.store import Condition, Selection

VIEW = "selected"
"""The name of the view in the statement."""
_TESTS = {"null": "IS NULL", "not null": "IS NOT NULL"}


def statement_of(selection: Selection) -> Statement:
    """The statement that asks for a selection of a view.

    >>> from headwater.store import Order
    >>> statement_of(Selection(("card",), order=(Order("at", descends=True),), limit=5)).sql
    'SELECT card FROM selected ORDER BY at DESC LIMIT 5'
    """
    columns = "*" if selection.columns is None else ", ".join(map(spell_name, selection.columns))
    text = f"SELECT {columns} FROM {VIEW}"  # noqa: S608  # names are quoted, values spelled
    if selection.conditions:
        text += f" WHERE {' AND '.join(map(_condition, selection.conditions))}"
    if selection.order:
        terms = (f"{spell_name(order.column)}{' DESC' if order.descends else ''}" for order in selection.order)
        text += f" ORDER BY {', '.join(terms)}"
    if selection.limit is not None:
        text += f" LIMIT {selection.limit}"
    return parse(f"{text} OFFSET {selection.offset}" if selection.offset else text)


def _condition(condition: Condition) -> str:
    name = spell_name(condition.column)
    if condition.operator in _TESTS:
        return f"{name} {_TESTS[condition.operator]}"
    values = [_literal(value, condition.values.type) for value in condition.values]
    if condition.operator == "in":
        return f"{name} IN ({', '.join(values)})"
    return f"{name} {condition.operator} {values[0]}"


def _literal(value: Any, kind: pa.DataType) -> str:
    """A value with its type."""
    if pa.types.is_binary(kind):
        return f"X'{value.as_py().hex()}'"
    if pa.types.is_timestamp(kind):
        text = str(value.cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.string()).as_py())
    else:
        text = str(value.cast(pa.string()).as_py())
    return f"CAST({spell_text(text)} AS {spell_type(kind)})"
