"""Operators of numbers and instants, in DuckDB's SQL, with the types and the digits that Spark's have.

DuckDB divides decimals as DOUBLE. Here a decimal is its *unscaled* integer and a scale, and a quotient is the integer
nearest to the unscaled quotient, half away from zero, as Spark's is. What doesn't fit 38 digits on the way is an error,
never another number.
"""

from __future__ import annotations

from headwater.plan.spark_type import BIGINT, DATE, DOUBLE, TIMESTAMP, SparkType
from headwater.plan.typing.coercion import as_decimal, common
from headwater.query.casts import converted, instant_of
from headwater.query.refusal import refused
from headwater.query.spelling import MICROSECONDS_OF_A_DAY, cast

MOST_DIGITS = 38
LONG_DIGITS = 18
"""Decimals of so many digits are 64 bits in DuckDB."""
Typed = tuple[str, SparkType]
"""An expression in DuckDB's SQL, and its type."""


def unscaled(text: str, kind: SparkType) -> str:
    """The unscaled integer of a decimal, as a HUGEINT."""
    precision, scale = kind.digits
    if scale == 0:
        return f"CAST({text} AS HUGEINT)"
    if precision + scale < MOST_DIGITS:
        return f"CAST({text} * CAST({10**scale} AS DECIMAL({scale + 1}, 0)) AS HUGEINT)"
    return f"CAST(replace(CAST({text} AS VARCHAR), '.', '') AS HUGEINT)"


def from_unscaled(integer: str, kind: SparkType) -> str:
    """The decimal of an unscaled integer."""
    precision, scale = kind.digits
    whole = f"CAST({integer} AS DECIMAL({MOST_DIGITS}, 0))"
    if scale == 0:
        return f"CAST({whole} AS DECIMAL({precision}, 0))"
    unit = f"CAST('0.{'1'.zfill(scale)}' AS DECIMAL({scale}, {scale}))"
    return f"CAST({whole} * {unit} AS DECIMAL({precision}, {scale}))"


def power(exponent: int) -> str:
    """A power of ten as a HUGEINT."""
    return f"CAST('{10**exponent}' AS HUGEINT)"


def quotient(left: Typed, right: Typed, result: SparkType) -> str:
    """A decimal divided by a decimal, with the digits of the result."""
    shift = result.digits[1] - left[1].digits[1] + right[1].digits[1]
    upper, lower = unscaled(*left), unscaled(*right)
    upper = f"({upper} * {power(shift)})" if shift > 0 else upper
    lower = f"({lower} * {power(-shift)})" if shift < 0 else lower
    return from_unscaled(f"hw_nearest({upper}, {lower})", result)


def number(operator: str, left: Typed, right: Typed, result: SparkType) -> str:
    """`left operator right` of numbers."""
    if result.name == "decimal" and operator != "DIV":
        sides = [(converted(text, kind, as_decimal(kind)), as_decimal(kind)) for text, kind in (left, right)]
        return _of_decimals(operator, sides[0], sides[1], result)
    if operator == "DIV":
        return _whole_quotient(left, right)
    if operator == "/":
        sides_of_doubles = [converted(text, kind, DOUBLE) for text, kind in (left, right)]
        return f"({sides_of_doubles[0]} / hw_divisor({sides_of_doubles[1]}))"
    one, other = (converted(text, kind, result) for text, kind in (left, right))
    if operator == "%":
        other = f"hw_divisor({other})" if result.is_floating else other
    if operator == "^":
        return f"xor({one}, {other})"
    return cast(f"{one} {operator} {other}", result)


def _of_decimals(operator: str, left: Typed, right: Typed, result: SparkType) -> str:
    if operator == "/":
        return quotient(left, right, result)
    if operator == "%":
        scale = max(left[1].digits[1], right[1].digits[1])
        sides = [f"({unscaled(*side)} * {power(scale - side[1].digits[1])})" for side in (left, right)]
        whole = SparkType("decimal", digits=(MOST_DIGITS, scale))
        return cast(from_unscaled(f"({sides[0]} % {sides[1]})", whole), result)
    if operator == "*" and left[1].digits[1] + right[1].digits[1] > MOST_DIGITS:
        raise refused(f"A product of {left[1]} and {right[1]} has more than {MOST_DIGITS} digits behind the point.")
    # DuckDB's product of two decimals of 18 digits has 18, unless one of them is wide
    wide = f"CAST({left[0]} AS DECIMAL({MOST_DIGITS}, {left[1].digits[1]}))"
    return cast(f"{wide if result.digits[0] > LONG_DIGITS else left[0]} {operator} {right[0]}", result)


def _whole_quotient(left: Typed, right: Typed) -> str:
    if left[1].is_ansi_interval:
        return cast(f"{left[0]} // {right[0]}", BIGINT)
    if "decimal" not in (left[1].name, right[1].name):
        one, other = (converted(text, kind, BIGINT) for text, kind in (left, right))
        return f"({one} // {other})"
    sides = [(converted(text, kind, as_decimal(kind)), as_decimal(kind)) for text, kind in (left, right)]
    scale = max(side[1].digits[1] for side in sides)
    one, other = (f"({unscaled(*side)} * {power(scale - side[1].digits[1])})" for side in sides)
    return cast(f"{one} // {other}", BIGINT)


def moved(operator: str, left: Typed, right: Typed, result: SparkType) -> str | None:
    """`left ± right` where one side is a date, an instant or an interval; None if both are numbers."""
    if operator == "+" and left[1].name in ("day_time", "year_month") and not right[1].is_ansi_interval:
        left, right = right, left
    start, by = left[1], right[1]
    if by.name == "day_time" and start.name in ("date", "timestamp", "timestamp_ntz"):
        return _moved_by_time(operator, left, right[0], result)
    if start == DATE and by.is_integral:
        return cast(f"{left[0]} {operator} {converted(right[0], by, SparkType('int'))}", DATE)
    if operator == "+" and by == DATE and start.is_integral:
        return moved(operator, right, left, result)
    if start.name == by.name == "day_time":
        return f"({left[0]} {operator} {right[0]})"
    if operator == "-" and start == by == DATE:
        return f"(CAST({left[0]} - {right[0]} AS BIGINT) * {MICROSECONDS_OF_A_DAY})"
    if operator == "-" and (start.is_timestamp or by.is_timestamp):
        meeting = common([start, by])
        if meeting is not None and meeting.is_timestamp:
            one, other = (f"epoch_us({converted(text, kind, meeting)})" for text, kind in (left, right))
            return f"({one} - {other})"
    return None


def _moved_by_time(operator: str, start: Typed, microseconds: str, result: SparkType) -> str:
    text, kind = start
    if result == DATE:
        return f"({text} {operator} CAST(({microseconds}) // {MICROSECONDS_OF_A_DAY} AS INTEGER))"
    text = converted(text, kind, result)
    return instant_of(f"(epoch_us({text}) {operator} {microseconds})", result)


def moved_by_months(operator: str, start: Typed, months: int, result: SparkType) -> str:
    """A date or an instant some months before or after; the day is the month's last one where it has fewer."""
    text = converted(*start, result)
    local = f"({text} AT TIME ZONE 'UTC')" if result == TIMESTAMP else text
    moved = f"({local} {operator} to_months({months}))"
    return f"({moved} AT TIME ZONE 'UTC')" if result == TIMESTAMP else cast(moved, result)
