"""Coercion in Spark's ANSI mode: the type that two types have in common, and what is cast to what without being asked.

*Tightest* loses nothing (INT and BIGINT: BIGINT). *Wider* may lose digits (DECIMAL and DOUBLE: DOUBLE) and reads
strings as what they are compared with (STRING and DATE: DATE). An *implicit cast* turns an argument into what a
parameter takes. None stands for "they have none": Spark's analyzer refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.plan.spark_type import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DAY_TIME_FIELDS,
    DAY_TO_SECOND,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VOID,
    YEAR_MONTH_FIELDS,
    YEAR_TO_MONTH,
    SparkType,
    array,
    decimal,
    interval,
    map_of,
    parse_type,
)  # fmt: skip

MAXIMUM_PRECISION = 38
_MINIMUM_ADJUSTED_SCALE = 6
_INTEGRAL_PRECISION = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_NUMERIC_ORDER = ("tinyint", "smallint", "int", "bigint", "float", "double")
_DATETIMES = ("date", "timestamp", "timestamp_ntz")

Common = Callable[[SparkType, SparkType], SparkType | None]

# Decimals


def as_decimal(kind: SparkType) -> SparkType:
    """The decimal that holds every value of a numeric type, as far as one does."""
    if kind.is_integral:
        return decimal(_INTEGRAL_PRECISION[kind.name], 0)
    if kind.is_floating:
        return decimal(14, 7) if kind.name == "float" else decimal(30, 15)
    return kind


def adjusted(precision: int, scale: int) -> SparkType:
    """A decimal cut to 38 digits: digits before the point are kept, down to six digits behind it."""
    if precision <= MAXIMUM_PRECISION:
        return decimal(precision, scale)
    kept = max(MAXIMUM_PRECISION - (precision - scale), min(scale, _MINIMUM_ADJUSTED_SCALE))
    return decimal(MAXIMUM_PRECISION, kept)


def bounded(precision: int, scale: int) -> SparkType:
    """A decimal cut to 38 digits with no regard to what is lost."""
    return decimal(min(precision, MAXIMUM_PRECISION), min(scale, MAXIMUM_PRECISION))


def wider_decimal(left: SparkType, right: SparkType) -> SparkType:
    """The decimal that holds the values of both."""
    (left_precision, left_scale), (right_precision, right_scale) = left.digits, right.digits
    scale = max(left_scale, right_scale)
    whole = max(left_precision - left_scale, right_precision - right_scale)
    if whole + scale <= MAXIMUM_PRECISION:
        return decimal(whole + scale, scale)
    return decimal(MAXIMUM_PRECISION, max(0, scale - (whole + scale - MAXIMUM_PRECISION)))


def _holds(wide: SparkType, narrow: SparkType) -> bool:
    precision, scale = wide.digits
    return precision - scale >= _INTEGRAL_PRECISION[narrow.name]


# Common types


def tightest(left: SparkType, right: SparkType) -> SparkType | None:
    """The common type that loses nothing."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if not (left.is_known and right.is_known):
        return UNKNOWN
    if left.is_numeric and right.is_numeric:
        return _tightest_number(left, right)
    if left.name in _DATETIMES and right.name in _DATETIMES:
        return TIMESTAMP_NTZ if TIMESTAMP not in (left, right) else TIMESTAMP
    if left.is_ansi_interval and left.name == right.name:
        return wider_interval(left, right)
    if left.name == right.name == "time":
        return SparkType("time", digits=(max(left.digits[0], right.digits[0]),))
    return _common_parts(left, right, tightest)


def _tightest_number(left: SparkType, right: SparkType) -> SparkType | None:
    if "decimal" in (left.name, right.name):
        wide, narrow = (left, right) if left.name == "decimal" else (right, left)
        return wide if narrow.is_integral and _holds(wide, narrow) else None
    name = max(left.name, right.name, key=_NUMERIC_ORDER.index)
    return DOUBLE if name == "float" and left != right else SparkType(name)


def wider_interval(left: SparkType, right: SparkType) -> SparkType:
    """The interval with the fields of both."""
    fields = DAY_TIME_FIELDS if left.name == "day_time" else YEAR_MONTH_FIELDS
    start = min(left.labels[0], right.labels[0], key=fields.index)
    return interval(start, max(left.labels[1], right.labels[1], key=fields.index))


def wider(left: SparkType, right: SparkType) -> SparkType | None:
    """The common type, strings read as what they meet."""
    kind = tightest(left, right) or _wider_number(left, right) or promoted_string(left, right)
    return kind or _common_parts(left, right, wider)


def wider_without_strings(left: SparkType, right: SparkType) -> SparkType | None:
    """The common type; a string has one with strings only."""
    return tightest(left, right) or _wider_number(left, right) or _common_parts(left, right, wider_without_strings)


def tightest_element(left: SparkType, right: SparkType) -> SparkType | None:
    """The common type of an array's elements and what is looked for or put in: here, INT and FLOAT are FLOAT."""
    if "float" in (left.name, right.name) and (left.is_integral or right.is_integral):
        return SparkType("float")
    return tightest(left, right)


def common(kinds: Iterable[SparkType], find: Common = wider) -> SparkType | None:
    """The common type of any number of types; VOID for none at all."""

    shared: SparkType | None = VOID
    for kind in kinds:
        shared = None if shared is None else find(shared, kind)
    return shared


def _wider_number(left: SparkType, right: SparkType) -> SparkType | None:
    if not (left.is_numeric and right.is_numeric and "decimal" in (left.name, right.name)):
        return None
    return DOUBLE if left.is_floating or right.is_floating else wider_decimal(as_decimal(left), as_decimal(right))


def promoted_string(left: SparkType, right: SparkType) -> SparkType | None:
    """The type that a string is read as where it meets another type in an operator."""
    if STRING not in (left, right) or left == right:
        return None
    other = right if left == STRING else left
    if other.is_integral:
        return BIGINT
    if other.is_floating or other.name == "decimal":
        return DOUBLE
    if other == VOID:
        return STRING
    return other if other.is_atomic and not other.is_ansi_interval else None


def _common_parts(left: SparkType, right: SparkType, find: Common) -> SparkType | None:
    if left.name != right.name or not left.parts or len(left.parts) != len(right.parts):
        return None
    if [label.lower() for label in left.labels] != [label.lower() for label in right.labels]:
        return None
    parts = [find(*pair) for pair in zip(left.parts, right.parts, strict=True)]
    shared = tuple(part for part in parts if part is not None)
    return SparkType(left.name, shared, left.labels) if len(shared) == len(parts) else None


# Implicit casts

_FAMILY_DEFAULTS = {"numeric": DOUBLE, "integral": INT, "decimal": decimal(38, 18)}
_EMPTY = {"array": array(VOID), "map": map_of(VOID, VOID), "struct": SparkType("struct")}
_FAMILY_INTERVALS = {"day_time": DAY_TO_SECOND, "year_month": YEAR_TO_MONTH}


def accepts(takes: str, kind: SparkType) -> bool:
    """Tells whether a parameter that takes this takes the type as it is."""
    if takes in ("any", "T", "lambda"):
        return True
    if takes == "numeric":
        return kind.is_numeric
    if takes == "integral":
        return kind.is_integral
    if takes in ("decimal", "array", "map", "struct", "day_time", "year_month", "time"):
        return kind.name == takes
    if takes.startswith("array<"):
        return kind.name == "array" and accepts(takes[6:-1], kind.element)
    return str(kind) == takes


def cast_implicitly(kind: SparkType, takes: str) -> SparkType | None:
    """The type that an argument becomes for a parameter that takes this."""
    if accepts(takes, kind) or kind == UNKNOWN:
        return kind
    if takes == "decimal" and kind.is_numeric:
        return as_decimal(kind)
    if takes == "integral" and kind != VOID:
        return None
    if kind == STRING and takes in _FAMILY_DEFAULTS:
        return _FAMILY_DEFAULTS[takes]
    if takes in _EMPTY:
        return _EMPTY[takes] if kind == VOID else None
    if takes.startswith("array<"):
        return _cast_elements(kind, takes[6:-1])
    target = _FAMILY_DEFAULTS.get(takes) or _FAMILY_INTERVALS.get(takes) or _concrete(takes)
    if target is None:
        return None
    if kind == STRING and target.is_atomic:
        return target
    return target if can_assign(kind, target) else None


def _cast_elements(kind: SparkType, takes: str) -> SparkType | None:
    if kind.name != "array":
        return array(UNKNOWN if takes in ("T", "array", "struct") else parse_type(takes)) if kind == VOID else None
    element = cast_implicitly(kind.element, takes)
    return None if element is None else array(element)


def _concrete(takes: str) -> SparkType | None:
    if takes in ("lambda", "void"):
        return None
    return TIME if takes == "time" else parse_type(takes)


def can_assign(kind: SparkType, target: SparkType) -> bool:
    """Tells whether a value may be stored as the target without being asked: numbers as numbers, anything as text."""
    if kind in (target, VOID):
        return True
    if kind.is_numeric and target.is_numeric:
        return True
    if target == STRING:
        return kind.is_atomic or kind == CALENDAR_INTERVAL
    if kind.name in _DATETIMES and target.name in _DATETIMES:
        return True
    if kind.name == target.name and (kind.is_ansi_interval or kind.name == "time"):
        return True
    if (kind.is_timestamp and target.name == "time") or (kind.name == "time" and target.is_timestamp):
        return True
    return _can_pass_parts(kind, target, can_assign)


def _can_pass_parts(kind: SparkType, target: SparkType, can: Callable[[SparkType, SparkType], bool]) -> bool:
    if kind.name != target.name or not kind.parts or len(kind.parts) != len(target.parts):
        return False
    return all(can(*pair) for pair in zip(kind.parts, target.parts, strict=True))


# Explicit casts

_FROM_STRING = ("boolean", "binary", "date", "timestamp", "timestamp_ntz", "time", "interval", "day_time", "year_month")


def can_cast(kind: SparkType, target: SparkType) -> bool:
    """Tells whether CAST and TRY_CAST may turn a type into the target."""
    if kind in (target, VOID) or not (kind.is_known and target.is_known):
        return True
    if target == STRING:
        return True
    if kind == STRING:
        return target.is_numeric or target.name in _FROM_STRING or target.name == "variant"
    if "variant" in (kind.name, target.name):
        return _can_cast_variant(kind, target)
    return _can_cast_scalar(kind, target) or _can_pass_parts(kind, target, can_cast)


def _can_cast_variant(kind: SparkType, target: SparkType) -> bool:
    other = target if kind.name == "variant" else kind
    if other.name == "map":
        return kind.name == "variant" and other.key == STRING and can_cast(kind, other.value)
    if other.name == "struct" and target.name == "variant":
        return False
    if other.parts:
        return all(can_cast(kind, part) if kind.name == "variant" else can_cast(part, target) for part in other.parts)
    return not (other.is_ansi_interval or other.name in ("interval", "void"))


def _can_cast_scalar(kind: SparkType, target: SparkType) -> bool:
    if kind.is_numeric:
        return target.is_numeric or target in (BOOLEAN, TIMESTAMP) or _number_fits_interval(kind, target)
    if kind == BOOLEAN:
        return target.is_numeric
    if kind.name in _DATETIMES and target.name in _DATETIMES:
        return True
    if kind.is_timestamp:
        return target.name == "time" or (kind == TIMESTAMP and target.is_numeric)
    if kind.name == "time":
        return target.name in ("time", "timestamp", "timestamp_ntz", "decimal") or target.is_integral
    if kind.is_ansi_interval:
        return kind.name == target.name or (target.is_numeric and _number_fits_interval(target, kind))
    return kind == BINARY and target == STRING


def _number_fits_interval(number: SparkType, kind: SparkType) -> bool:
    return kind.is_ansi_interval and not number.is_floating


# Orders


def is_orderable(kind: SparkType) -> bool:
    """Tells whether values of a type can be compared: all but maps, variants and calendar intervals, at any depth."""
    return kind.name not in ("map", "variant", "interval") and all(map(is_orderable, kind.parts))


def holds(kind: SparkType, name: str) -> bool:
    """Tells whether a type is of that name or has one inside it."""
    return kind.name == name or any(holds(part, name) for part in kind.parts)


def holds_map(kind: SparkType) -> bool:
    """Tells whether a type is or has a map or a variant: it can't be hashed, nor be the key of a map."""
    return holds(kind, "map") or holds(kind, "variant")
