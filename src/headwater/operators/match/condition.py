"""Conditions that look at the match so far: what a row is compared with depends on how the rows before it were taken.

Whatever of a condition concerns one row, or rows at a fixed distance, Spark computes as a column. What is left is a
small tree of the values below, over such columns, which the machine computes for each row that it tries. It follows
Spark: NULL is not known, a whole number that doesn't fit and a division by zero are errors, and a DECIMAL is rounded to
the digits of its type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from math import fsum
from typing import Any

import pyarrow as pa

from headwater.model import spell_type


class ConditionFailed(Exception):
    """A condition has no value for a row."""


@dataclass(frozen=True)
class OfRow:
    """A column of the row that is tried."""

    column: str


@dataclass(frozen=True)
class OfMatch:
    """A column of a row of the match so far: of the first or the last one of some variables, or so many from it on."""

    column: str
    variables: frozenset[int]
    last: bool
    offset: int = 0


@dataclass(frozen=True)
class Total:
    """An aggregate of a column over the rows of some variables so far; of no column, their number."""

    function: str
    column: str | None
    variables: frozenset[int]
    type: pa.DataType


@dataclass(frozen=True)
class Operation:
    """An operator over other values, and the type of what it gives."""

    name: str
    operands: tuple[Value, ...]
    type: pa.DataType


Value = OfRow | OfMatch | Total | Operation

TOTALS = frozenset({"count", "sum", "avg", "min", "max"})
"""The aggregates that a condition can have."""

Rows = Sequence[tuple[int, int]]
"""The match so far with the row that is tried as its last: the place of each row and its variable."""
Columns = Mapping[str, Sequence[Any]]
Compute = Callable[[Columns, Rows], Any]


def columns_of(value: Value) -> set[str]:
    """The columns that a value reads."""
    match value:
        case OfRow(column) | OfMatch(column):
            return {column}
        case Total(_, column):
            return {column} if column is not None else set()
        case Operation(_, operands):
            return set().union(*map(columns_of, operands))


def computing(value: Value) -> Compute:
    """A function that computes the value for the match so far."""
    match value:
        case OfRow(column):
            return lambda columns, rows: columns[column][rows[-1][0]]
        case OfMatch():
            return _of_match(value)
        case Total():
            return _total(value)
        case Operation():
            return _operation(value)


def _of_match(value: OfMatch) -> Compute:
    column, variables, offset = value.column, value.variables, value.offset

    def compute(columns: Columns, rows: Rows) -> Any:
        left = offset
        for place, variable in reversed(rows) if value.last else rows:
            if variable in variables:
                if not left:
                    return columns[column][place]
                left -= 1
        return None

    return compute


def _total(value: Total) -> Compute:
    column, variables, fold = value.column, value.variables, _FOLDS[value.function]
    if column is None:
        return lambda _columns, rows: sum(1 for _, variable in rows if variable in variables)

    def compute(columns: Columns, rows: Rows) -> Any:
        of_rows = columns[column]
        known = [of_rows[place] for place, variable in rows if variable in variables and of_rows[place] is not None]
        return fold(known, value.type)

    return compute


def _sum(values: Sequence[Any], kind: pa.DataType) -> Any:
    if not values:
        return None
    return _total_of(values) if pa.types.is_floating(kind) else _fitting(_exact_sum(values), kind)


def _total_of(values: Sequence[float]) -> float:
    """The sum of floating-point numbers, whatever their order."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):  # of infinities, and of what is larger than any number
        return sum(values)


def _average(values: Sequence[Any], kind: pa.DataType) -> Any:
    if not values:
        return None
    if pa.types.is_decimal(kind):
        return _fitting(_WIDE.divide(_exact_sum(values), Decimal(len(values))), kind)
    total = _total_of(values) if isinstance(values[0], float) else float(sum(values))
    return total / len(values)


def _exact_sum(values: Sequence[Any]) -> Any:
    return reduce(_WIDE.add, values) if isinstance(values[0], Decimal) else sum(values)


_FOLDS: Mapping[str, Callable[[Sequence[Any], pa.DataType], Any]] = {
    "count": lambda values, _: len(values),
    "sum": _sum,
    "avg": _average,
    "min": lambda values, _: min(values, default=None),
    "max": lambda values, _: max(values, default=None),
}

_WIDE = Context(prec=100, rounding=ROUND_HALF_UP)
_RANGES = {pa.int8(): 7, pa.int16(): 15, pa.int32(): 31, pa.int64(): 63}


def _fitting(value: Any, kind: pa.DataType) -> Any:
    """A number as its type holds it."""
    if pa.types.is_decimal(kind):
        digits = value if isinstance(value, Decimal) else Decimal(value)
        rounded = digits.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
        if rounded and rounded.adjusted() + 1 > kind.precision - kind.scale:
            raise ConditionFailed(f"{rounded} doesn't fit into {spell_type(kind)}")
        return rounded
    if pa.types.is_floating(kind):
        return float(value)
    bits = _RANGES.get(kind)
    if bits is not None and not -(1 << bits) <= value < 1 << bits:
        raise ConditionFailed(f"{value} doesn't fit into {spell_type(kind)}")
    return value


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Two numbers as they are compared: a DECIMAL beside a DOUBLE is one."""
    if isinstance(left, float) != isinstance(right, float) and not isinstance(left, str | bool):
        return float(left), float(right)
    return left, right


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _compared(name: str, left: Any, right: Any) -> bool:
    """A comparison as Spark has it: NaN is equal to itself, and greater than all others."""
    left, right = _alike(left, right)
    if isinstance(left, float):
        left, right = (left != left, left), (right != right, right)
        left, right = ((flag, 0.0 if flag else value) for flag, value in (left, right))
    return _COMPARISONS[name](left, right)


_ARITHMETIC: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Decimal, Decimal], Decimal]]] = {
    "+": (operator.add, _WIDE.add),
    "-": (operator.sub, _WIDE.subtract),
    "*": (operator.mul, _WIDE.multiply),
    "/": (operator.truediv, _WIDE.divide),
}


def _computed(name: str, kind: pa.DataType, left: Any, right: Any) -> Any:
    if name == "/" and not right:
        raise ConditionFailed("it divides by zero")
    plain, exact = _ARITHMETIC[name]
    if pa.types.is_decimal(kind):
        return _fitting(exact(Decimal(left), Decimal(right)), kind)
    return _fitting(plain(float(left), float(right)) if pa.types.is_floating(kind) else plain(left, right), kind)


def _operation(value: Operation) -> Compute:
    name, kind = value.name, value.type
    parts = [computing(operand) for operand in value.operands]
    if name in ("and", "or"):
        decides = name == "or"

        def connect(columns: Columns, rows: Rows) -> bool | None:
            unknown = False
            for part in parts:
                known: bool | None = part(columns, rows)
                if known is decides:
                    return decides
                unknown = unknown or known is None
            return None if unknown else not decides

        return connect
    if name == "is null":
        return lambda columns, rows: parts[0](columns, rows) is None
    if name == "coalesce":
        return lambda columns, rows: next((known for part in parts if (known := part(columns, rows)) is not None), None)

    def compute(columns: Columns, rows: Rows) -> Any:
        values = [part(columns, rows) for part in parts]
        if None in values:
            return None
        if name == "not":
            return not values[0]
        if name == "negative":
            return _fitting(-values[0], kind)
        if name == "abs":
            return _fitting(abs(values[0]), kind)
        return _compared(name, *values) if name in _COMPARISONS else _computed(name, kind, *values)

    return compute
