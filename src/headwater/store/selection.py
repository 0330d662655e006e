"""Selections: which rows of a version are wanted, and in which order.

A *condition* compares a column with values of the column's own type, as Spark does: a comparison with NULL is never
true, NaN is equal to itself and greater than every other number, text is compared by its bytes. An order has NULLs
first, or last where it descends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import Column

Comparison = Literal["=", "<>", "<", "<=", ">", ">=", "in", "null", "not null"]
_COMPARED: Mapping[str, Callable[[pa.ChunkedArray, pa.Scalar], pa.ChunkedArray]] = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition on a column; `values` is an array of the column's type: one value, several for `in`, else none."""

    column: str
    operator: Comparison
    values: pa.Array = field(default_factory=lambda: pa.nulls(0), compare=False)


@dataclass(frozen=True)
class Order:
    """Rows by a column."""

    column: str
    descends: bool = False


@dataclass(frozen=True)
class Selection:
    """The columns that are wanted (None: all), of the rows for which every condition is true, a part of them."""

    columns: tuple[str, ...] | None = None
    conditions: tuple[Condition, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    def in_needed_order(self) -> Selection:
        """The same rows, in the same order, without orders by a column of which only one value is wanted."""
        single = {condition.column for condition in self.conditions if condition.operator in ("=", "null")}
        order = tuple(order for order in self.order if order.column not in single)
        return Selection(self.columns, self.conditions, order, self.limit, self.offset)

    def of(self, columns: Sequence[Column]) -> list[Column]:
        """Those of a version's columns that are wanted, in their order."""
        return [column for column in columns if self.columns is None or column.name in self.columns]


def is_comparable(kind: pa.DataType) -> bool:
    """Tells whether conditions can be about a column of this type."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal128(kind)
        or pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_boolean(kind)
        or pa.types.is_timestamp(kind) or pa.types.is_date32(kind)
    )  # fmt: skip


def chosen(rows: pa.Table, selection: Selection) -> pa.Table:
    """The rows that the conditions of a selection choose, of a store that gives all rows."""
    for condition in selection.conditions:
        rows = rows.filter(_mask(rows[condition.column], condition))
    return rows if selection.columns is None else rows.select([n for n in rows.column_names if n in selection.columns])


def _mask(column: pa.ChunkedArray, condition: Condition) -> pa.ChunkedArray:
    if condition.operator in ("null", "not null"):
        return column.is_null() if condition.operator == "null" else column.is_valid()
    if condition.operator == "in":
        return pc.and_(pc.is_in(column, value_set=condition.values.drop_null()), column.is_valid())
    return _COMPARED[condition.operator](column, condition.values[0])


def can_choose(kind: pa.DataType, part: Condition | Order) -> bool:
    """Tells whether `chosen` does this part of a selection exactly: no orders, and Arrow's NaN is unlike Spark's."""
    if isinstance(part, Order):
        return False
    is_test = part.operator in ("null", "not null")
    return is_test or (is_comparable(kind) and not pa.types.is_floating(kind) and not pa.types.is_boolean(kind))
