"""Comparing rows: what is there with what should be, without regard to order.

Rows are compared as `verify` compares them: exactly, but for floating-point values, which are compared to 9 significant
digits. Expected rows may be spelled as an append takes them: decimals and instants as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from headwater.errors import ArgumentRefused
from headwater.intake.values import column_of
from headwater.operate.verify import differences

SHOWN = 20
"""A difference shows so many rows of each kind; it has them all."""


@dataclass(frozen=True)
class Difference:
    """The difference of two tables: true if there is one. `str` of it is for people.

    `missing` rows were expected and are not there, `extra` rows are there and were not expected; `columns` says how the
    columns differ, and then rows were not compared.
    """

    missing: list[dict[str, Any]] = field(default_factory=list)
    extra: list[dict[str, Any]] = field(default_factory=list)
    columns: str | None = None

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.columns)

    def __str__(self) -> str:
        if self.columns or not self:
            return self.columns or "no difference"
        counts = f"{_rows(len(self.missing))} missing, {_rows(len(self.extra))} extra"
        return "\n".join([counts, *_lines("-", self.missing), *_lines("+", self.extra)])


def compare(held: pa.Table, expected: pa.Table | Iterable[Mapping[str, Any]]) -> Difference:
    """The difference of the rows held from those expected: a table, or rows whose values fit the columns held.

    >>> print(compare(pa.table({"shop": ["a", "b"], "n": [1, 2]}), [{"shop": "b", "n": 2}, {"shop": "a", "n": 7}]))
    1 row missing, 1 row extra
    - shop='a'  n=7
    + shop='a'  n=1
    """
    if not isinstance(expected, pa.Table):
        listed = list(expected)
        names = list(dict.fromkeys(name for row in listed for name in row))
        if listed and set(names) != set(held.column_names):
            return Difference(columns=f"the columns are {_listed(held.column_names)}; expected were {_listed(names)}")
        expected = typed(listed, held.schema)
    columns, wanted = (_columns(table) for table in (held, expected))
    if columns != wanted:
        return Difference(columns=f"the columns are {_listed(columns)}; expected were {_listed(wanted)}")
    missing, extra = differences(held, expected)
    return Difference(missing, extra)


def typed(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The rows as a table of these columns; their values obey the rules by which an append reads them."""
    listed = list(rows)
    arrays = [_column([row.get(column.name) for row in listed], column) for column in schema]
    return pa.Table.from_arrays(arrays, schema=pa.schema([column.with_nullable(True) for column in schema]))


def _column(values: list[Any], column: pa.Field) -> pa.Array:
    converted = column_of(values, column.type)
    if converted.bad is not None and any(converted.bad.to_pylist()):
        wrong = values[converted.bad.to_pylist().index(True)]
        raise ArgumentRefused(
            f'an expected value doesn\'t fit the column "{column.name}"',
            detail=f"The column is {column.type}; the value is {wrong!r}.",
        )
    return converted.values


def _lines(sign: str, rows: list[dict[str, Any]]) -> list[str]:
    spelled = sorted("  ".join(f"{name}={_value(value)}" for name, value in row.items()) for row in rows)
    more = [f"{sign} … and {_rows(len(rows) - SHOWN)} more"] if len(rows) > SHOWN else []
    return [*(f"{sign} {line}" for line in spelled[:SHOWN]), *more]


def _value(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def _columns(table: pa.Table) -> list[str]:
    return [f"{column.name} {column.type}" for column in table.schema]


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
