"""The result types of operators, as Spark's ANSI mode has them; None where its analyzer refuses the operands.

An *operand* is a type and, where it was written as a whole number, that number: Spark counts a literal's own digits
when it meets a DECIMAL, so `price * 2` is narrower than `price * quantity`.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.plan.spark_type import (
    BIGINT,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TO_SECOND,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    VOID,
    YEAR_TO_MONTH,
    SparkType,
    decimal,
    interval,
)  # fmt: skip
from headwater.plan.typing.coercion import (
    adjusted,
    as_decimal,
    can_assign,
    is_orderable,
    promoted_string,
    tightest,
)  # fmt: skip

_DAYS = interval("day", "day")


@dataclass(frozen=True)
class Operand:
    """One side of an operator; `literal` is the whole number that it was written as."""

    kind: SparkType
    literal: int | None = None

    def as_decimal(self) -> SparkType:
        """The operand as a decimal: a literal in as many digits as it has."""
        if self.literal is not None and self.kind.is_integral:
            return decimal(len(str(abs(self.literal))), 0)
        return as_decimal(self.kind)


def add(left: Operand, right: Operand) -> SparkType | None:
    """`left + right`."""
    pair = left.kind, right.kind
    for one, other in (pair, pair[::-1]):
        if one == DATE and other.name == "day_time":
            return DATE if other == _DAYS else TIMESTAMP
        if one.is_timestamp and other.name in ("day_time", "year_month", "interval"):
            return one
        if one == DATE and other.name in ("year_month", "interval"):
            return DATE
        if one.name == "time" and other.name == "day_time":
            return one
        if one == VOID and (other.is_ansi_interval or other.is_timestamp or other.name == "time"):
            return other
        if one == DATE:
            return TIMESTAMP if other == VOID else _moved_date(other)
    return _string_moved(left, right) or _plus(left, right)


def subtract(left: Operand, right: Operand) -> SparkType | None:
    """`left - right`."""
    start, moved = left.kind, right.kind
    if moved.name in ("day_time", "year_month", "interval"):
        if start == DATE and moved.name == "day_time":
            return DATE if moved == _DAYS else TIMESTAMP
        if start in (DATE, VOID) or start.is_timestamp:
            return moved if start == VOID else start
        if start.name == "time" and moved.name == "day_time":
            return start
    elif start.is_timestamp or moved.is_timestamp:
        return DAY_TO_SECOND if _both_instants(start, moved) else None
    elif moved == DATE:
        return _DAYS if start in (DATE, STRING, VOID) else None
    elif start == DATE:
        return _DAYS if moved in (STRING, VOID) else _moved_date(moved)
    elif "time" in (start.name, moved.name):
        times = all(kind.name == "time" or kind in (STRING, VOID) for kind in (start, moved))
        return interval("hour", "second") if times else None
    return STRING if start == STRING and moved.name in ("day_time", "interval") else _plus(left, right)


def _both_instants(left: SparkType, right: SparkType) -> bool:
    return all(kind == DATE or kind.is_timestamp or kind in (STRING, VOID) for kind in (left, right))


def _moved_date(days: SparkType) -> SparkType | None:
    return DATE if days.name in ("int", "smallint", "tinyint") else None


def _string_moved(left: Operand, right: Operand) -> SparkType | None:
    """A string that meets an interval of days is read as a timestamp, and the sum is a string again."""
    if left.kind == STRING and right.kind.name in ("day_time", "interval"):
        return STRING
    return STRING if right.kind == STRING and left.kind.name in ("day_time", "interval") else None


def _plus(left: Operand, right: Operand) -> SparkType | None:
    kind = _common_operand(left, right)
    if kind is None or kind == UNKNOWN:
        return kind
    if kind.name == "decimal":
        (first, scale), (second, other) = _digits(left, right)
        behind = max(scale, other)
        return adjusted(max(first - scale, second - other) + behind + 1, behind)
    return kind if kind.is_numeric or kind.is_ansi_interval or kind == CALENDAR_INTERVAL else None


def _digits(left: Operand, right: Operand) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Precision and scale of both sides; NULL has those of the other."""
    first, second = left.as_decimal(), right.as_decimal()
    return (second if first == VOID else first).digits, (first if second == VOID else second).digits


def _common_operand(left: Operand, right: Operand) -> SparkType | None:
    """The type that both sides of an operator are cast to; any decimal where the digits are still to come."""
    first, second = left.kind, right.kind
    if UNKNOWN in (first, second):
        return UNKNOWN
    promoted = promoted_string(first, second)
    if promoted is not None:
        return None if promoted == STRING else promoted
    if "decimal" in (first.name, second.name) and first.is_numeric and second.is_numeric:
        return DOUBLE if first.is_floating or second.is_floating else decimal(38, 18)
    if first == second == VOID:
        return DOUBLE
    kind = tightest(first, second)
    return None if kind == STRING else kind


def multiply(left: Operand, right: Operand) -> SparkType | None:
    """`left * right`."""
    for one, other in ((left.kind, right.kind), (right.kind, left.kind)):
        if one.is_ansi_interval or one == CALENDAR_INTERVAL:
            return _scaled(one, other)
    kind = _common_operand(left, right)
    if kind is not None and kind.name == "decimal":
        (first, scale), (second, other_scale) = _digits(left, right)
        return adjusted(first + second + 1, scale + other_scale)
    return kind if kind is None or kind.is_numeric or kind == UNKNOWN else None


def _scaled(kind: SparkType, factor: SparkType) -> SparkType | None:
    if not (factor.is_numeric or factor in (STRING, VOID)):
        return None
    whole = {"day_time": DAY_TO_SECOND, "year_month": YEAR_TO_MONTH}
    return whole.get(kind.name, CALENDAR_INTERVAL)


def divide(left: Operand, right: Operand) -> SparkType | None:
    """`left / right`: a decimal where both sides are exact, else a double."""
    if left.kind.is_ansi_interval or left.kind == CALENDAR_INTERVAL:
        return _scaled(left.kind, right.kind)
    kind = DOUBLE if left.kind == VOID and right.kind.is_numeric else _common_operand(left, right)
    if kind is not None and kind.name == "decimal":
        (first, scale), (second, other_scale) = _digits(left, right)
        behind = max(6, scale + second + 1)
        return adjusted(first - scale + other_scale + behind, behind)
    if kind is None or kind == UNKNOWN:
        return kind
    return DOUBLE if kind.is_numeric else None


def remainder(left: Operand, right: Operand) -> SparkType | None:
    """`left % right`, and pmod."""
    kind = _common_operand(left, right)
    if kind is not None and kind.name == "decimal":
        (first, scale), (second, other_scale) = _digits(left, right)
        behind = max(scale, other_scale)
        return adjusted(min(first - scale, second - other_scale) + behind, behind)
    return kind if kind is None or kind.is_numeric or kind == UNKNOWN else None


def integral_divide(left: Operand, right: Operand) -> SparkType | None:
    """`left DIV right`: how often one goes into the other."""
    if left.kind.is_ansi_interval or right.kind.is_ansi_interval:
        return BIGINT if left.kind.name == right.kind.name or VOID in (left.kind, right.kind) else None
    kind = _common_operand(left, right)
    if kind is None or kind == UNKNOWN:
        return kind
    return BIGINT if kind.is_integral or kind.name == "decimal" or {left.kind, right.kind} == {VOID} else None


def bitwise(left: Operand, right: Operand) -> SparkType | None:
    """`left & right`, `|` and `^`."""
    if left.kind == right.kind == VOID:
        return INT
    kind = _common_operand(left, right)
    return kind if kind is None or kind.is_integral or kind == UNKNOWN else None


def compare(left: Operand, right: Operand) -> SparkType | None:
    """`left = right` and the other comparisons: BOOLEAN, where the two have a common type that has an order."""
    if UNKNOWN in (left.kind, right.kind):
        return BOOLEAN
    kind = comparable(left.kind, right.kind)
    return BOOLEAN if kind is not None and is_orderable(kind) else None


def comparable(left: SparkType, right: SparkType) -> SparkType | None:
    """The type in which two operands are compared."""
    if left.is_numeric and right.is_numeric:
        return tightest(left, right) or DOUBLE
    return promoted_string(left, right) or tightest(left, right)


def combine(left: Operand, right: Operand) -> SparkType | None:
    """`left AND right`, and OR."""
    kinds = {left.kind, right.kind} - {UNKNOWN}
    if STRING in kinds:
        return BOOLEAN if kinds == {STRING, BOOLEAN} or UNKNOWN in (left.kind, right.kind) else None
    return BOOLEAN if kinds <= {BOOLEAN, VOID} else None


def negate(kind: SparkType) -> SparkType | None:
    """`-x`, and abs and `+x`."""
    if kind in (STRING, VOID):
        return DOUBLE
    signed = kind.is_numeric or kind.is_ansi_interval or kind in (CALENDAR_INTERVAL, UNKNOWN)
    return kind if signed else None


def concatenate(kinds: list[SparkType]) -> SparkType | None:
    """`a || b` and concat, of anything but arrays: BINARY where all are, else STRING."""
    if kinds and all(kind.name == "binary" for kind in kinds):
        return kinds[0]
    return STRING if all(can_assign(kind, STRING) or kind == UNKNOWN for kind in kinds) else None
