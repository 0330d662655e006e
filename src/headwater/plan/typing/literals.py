"""The types of what stands in the text: numbers, strings, intervals."""

from __future__ import annotations

from sqlglot import exp

from headwater.findings import QueryRefused
from headwater.plan.spark_type import (
    BIGINT,
    CALENDAR_INTERVAL,
    DAY_TIME_FIELDS,
    DOUBLE,
    INT,
    STRING,
    YEAR_MONTH_FIELDS,
    SparkType,
    decimal,
    interval,
)
from headwater.plan.typing import arithmetic
from headwater.plan.typing.call import whole_number
from headwater.plan.typing.environment import Expressions
from headwater.sql.refusal import did_you_mean

_INTERVAL_UNITS = {
    "year": "year", "month": "month", "quarter": "month", "week": "day", "day": "day", "hour": "hour", "minute":
    "minute", "second": "second", "millisecond": "second", "microsecond": "second",
}  # fmt: skip


def literal(_typer: Expressions, node: exp.Literal) -> SparkType:
    if node.is_string:
        return STRING
    text = node.name.lower()
    if text.isdigit():
        number = int(text)
        return INT if number < 2**31 else BIGINT if number < 2**63 else decimal(len(text), 0)
    if "e" in text:
        return DOUBLE
    whole, _, behind = text.partition(".")
    return decimal(max(len(whole.lstrip("0")) + len(behind), 1), len(behind))


def negative(typer: Expressions, node: exp.Neg) -> SparkType:
    number = whole_number(node)
    if number is not None and number >= -(2**63):
        typer.type(node.this)
        return INT if number >= -(2**31) else BIGINT
    return arithmetic.negate(inner := typer.type(node.this)) or typer.mismatch(node, "-", [inner])


def length(typer: Expressions, node: exp.Interval) -> SparkType:
    if node.this is not None:
        typer.type(node.this)
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return interval(unit.this.name.lower(), unit.expression.name.lower())
    names = [unit.name] if unit is not None else node.this.name.split()[1::2] if node.this is not None else []
    fields = [_INTERVAL_UNITS.get(name.lower().removesuffix("s"), "") for name in names]
    if "" in fields:
        word = names[fields.index("")]
        hint = did_you_mean(word, _INTERVAL_UNITS) or f"Units are {', '.join(_INTERVAL_UNITS)}."
        return typer.report(node, QueryRefused, f'has an interval in "{word}", which is no unit', hint=hint)
    for order in (DAY_TIME_FIELDS, YEAR_MONTH_FIELDS):
        if fields and all(name in order for name in fields):
            return interval(min(fields, key=order.index), max(fields, key=order.index))
    return typer.unknown(node) if not fields else CALENDAR_INTERVAL
