"""Constants of a statement as values of a column's type, where a comparison with one means the same as in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.model import INSTANT
from headwater.plan.spark_type import from_sqlglot
from headwater.query.literal import read_date, read_instant

_NOW = ("current_timestamp", "now")


def values_of(nodes: Sequence[exp.Expr], kind: pa.DataType, now: datetime) -> pa.Array | None:
    """The values that nodes stand for; None if one is no constant, or has no value of exactly this type."""
    values = [_value(node, kind, now) for node in nodes]
    if any(value is None for value in values):
        return None
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, ValueError):
        return None


def _value(node: exp.Expr, kind: pa.DataType, now: datetime) -> Any:
    if pa.types.is_string(kind):
        return node.name if isinstance(node, exp.Literal) and node.is_string else None
    if pa.types.is_boolean(kind):
        return bool(node.this) if isinstance(node, exp.Boolean) else None
    if pa.types.is_timestamp(kind):
        return _instant(node, kind == INSTANT, now)
    if pa.types.is_date32(kind):
        return _date(node)
    text = _number(node)
    if text is None:
        return None
    if pa.types.is_integer(kind):
        return int(text) if text.lstrip("-").isdigit() else None
    if pa.types.is_decimal128(kind):
        return None if "e" in text.lower() else _decimal(Decimal(text), kind)
    return float(text) if pa.types.is_float64(kind) else None


def _number(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Neg):
        inner = _number(node.this.unnest())
        return None if inner is None or inner.startswith("-") else f"-{inner}"
    return node.name if isinstance(node, exp.Literal) and not node.is_string else None


def _decimal(value: Decimal, kind: pa.DataType) -> Decimal | None:
    """The value, if it has no more digits than the type."""
    unscaled = value.scaleb(kind.scale) if len(value.as_tuple().digits) <= 28 else None
    if unscaled is None or unscaled != unscaled.to_integral_value() or abs(unscaled) >= 10**kind.precision:
        return None
    return value


def _text(node: exp.Expr, *kinds: str) -> str | None:
    """The text of a literal, or of one that is cast to one of these types."""
    if isinstance(node, exp.Cast) and not node.args.get("safe") and from_sqlglot(node.to).name in kinds:
        node = node.this
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _instant(node: exp.Expr, has_zone: bool, now: datetime) -> datetime | None:
    if isinstance(node, (exp.Add, exp.Sub)) and has_zone:
        start, length = _instant(node.this.unnest(), has_zone, now), sql.interval(node.expression)
        return None if start is None or length is None else _moved(start, length, isinstance(node, exp.Add))
    if has_zone and isinstance(node, exp.Anonymous) and node.name.lower() in _NOW and not node.expressions:
        return now
    text = _text(node, "timestamp" if has_zone else "timestamp_ntz")
    instant = None if text is None else read_instant(text, local=not has_zone)
    return instant if instant is None or has_zone else instant.replace(tzinfo=None)


def _moved(start: datetime, length: timedelta, later: bool) -> datetime | None:
    try:
        return start + length if later else start - length
    except OverflowError:
        return None


def _date(node: exp.Expr) -> date | None:
    text = _text(node, "date")
    return None if text is None else read_date(text)
