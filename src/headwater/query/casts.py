"""Casts as Spark's ANSI mode has them, in DuckDB's SQL: what can't be converted is an error, digits are cut as Spark
cuts them.

DuckDB rounds where Spark truncates (a DOUBLE to an INT), and reads texts that Spark refuses ('1.5' as INT); so most
casts are written out. A cast that has no exact counterpart is refused.
"""

from __future__ import annotations

from datetime import date

from headwater.plan.spark_type import BIGINT, DATE, DOUBLE, STRING, TIMESTAMP, TIMESTAMP_NTZ, SparkType
from headwater.query.literal import read_date, read_instant, spell_instant
from headwater.query.refusal import refused
from headwater.query.spelling import cast, is_opaque, text_of, type_name

EXACT_DIGITS = 15
"""Decimals of so many digits are divided by a power of ten without a second rounding when they become a DOUBLE."""
_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_FLOATING = rf"{_NUMBER}|^\s*[+-]?([nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)\s*$"
_DAY = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"
_INSTANT = (
    r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?)?\s*$"
)
_PATTERNS = {
    "decimal": _NUMBER,
    "float": _FLOATING,
    "double": _FLOATING,
    "date": _DAY,
    "timestamp": _INSTANT,
    "timestamp_ntz": _INSTANT,
}


def converted(text: str, kind: SparkType, target: SparkType) -> str:
    """An expression of one type as a value of another."""
    if kind == target or (kind.name == target.name and kind.is_ansi_interval):
        return text
    if kind.name == "void":
        return f"CAST(NULL AS {type_name(target)})"
    if is_opaque(kind) or is_opaque(target):
        raise _no_cast(kind, target)
    if kind.name == target.name == "array":
        element = converted("x", kind.element, target.element)
        return cast(f"list_transform({text}, lambda x: {element})", target)
    text_of_target = _from_kind(text, kind, target)
    if text_of_target is None:
        raise _no_cast(kind, target)
    return text_of_target


def attempted(text: str, kind: SparkType, target: SparkType) -> str:
    """As `converted`, with NULL for what can't be converted."""
    if kind == STRING and target.name == "boolean":
        return f"hw_try_boolean({text})"
    cast_text = converted(text, kind, target)
    if cast_text.startswith("CAST(hw_read("):
        return f"TRY_CAST(hw_try_read({cast_text.removeprefix('CAST(hw_read(')}"
    return f"TRY_{cast_text}" if cast_text.startswith("CAST(") else cast_text


def _no_cast(kind: SparkType, target: SparkType) -> Exception:
    return refused(f"A query can't turn {str(kind).upper()} into {str(target).upper()}.")


def _from_kind(text: str, kind: SparkType, target: SparkType) -> str | None:
    if kind == STRING:
        return _from_text(text, target)
    if kind.name == "boolean":
        return cast(text, target) if target.is_numeric or target == STRING else None
    if kind.is_numeric:
        return _from_number(text, kind, target)
    if kind.name in ("date", "timestamp", "timestamp_ntz"):
        return _from_instant(text, kind, target)
    if kind.name == "binary":
        return f"decode({text})" if target == STRING else None
    return None


def _from_number(text: str, kind: SparkType, target: SparkType) -> str | None:
    if target == STRING:
        return f"hw_float_text({text})" if kind.is_floating else cast(text, target)
    if target.name == "boolean":
        return f"({text} <> 0)"
    if target == TIMESTAMP and kind.is_integral:
        return instant_of(f"(CAST({text} AS BIGINT) * 1000000)", TIMESTAMP)
    if not target.is_numeric:
        return None
    if target.is_integral and not kind.is_integral:
        return cast(f"trunc({text})", target)
    if target.name == "decimal" and kind.is_floating:
        return cast(f"CAST(CAST({text} AS DOUBLE) AS VARCHAR)", target)
    if target.is_floating and kind.name == "decimal" and kind.digits[0] > EXACT_DIGITS:
        return cast(f"CAST({text} AS VARCHAR)", target)
    return cast(text, target)


def _from_text(text: str, target: SparkType) -> str | None:
    if target.name == "binary":
        return f"encode({text})"
    if target.name == "boolean":
        return f"hw_boolean({text})"
    pattern = _WHOLE if target.is_integral else _PATTERNS.get(target.name)
    if pattern is None:
        return None
    told = f"a text is no {str(target).upper()}: "
    return cast(f"hw_read({text}, {text_of(pattern)}, {text_of(told)})", target)


def _from_instant(text: str, kind: SparkType, target: SparkType) -> str | None:
    local = f"({text} AT TIME ZONE 'UTC')" if kind == TIMESTAMP else text
    if target == STRING:
        return cast(local, target)
    if target == TIMESTAMP:
        return f"(CAST({text} AS TIMESTAMP) AT TIME ZONE 'UTC')"
    if target == TIMESTAMP_NTZ:
        return cast(local, target)
    if target == DATE:
        return f"CAST({local} AS DATE)"
    if kind == TIMESTAMP and target == BIGINT:
        return f"hw_floor_div(epoch_us({text}), 1000000)"
    if kind == TIMESTAMP and target == DOUBLE:
        return f"(CAST(epoch_us({text}) AS DOUBLE) / 1000000.0::DOUBLE)"
    return None


def instant_of(microseconds: str, kind: SparkType) -> str:
    """The instant so many microseconds after 1970."""
    local = f"make_timestamp({microseconds})"
    return f"({local} AT TIME ZONE 'UTC')" if kind == TIMESTAMP else local


def read_text(value: str, target: SparkType) -> str | None:
    """A text that stands in the statement, read as a date or an instant now; None if it is for DuckDB to read."""
    if target == DATE:
        day = read_date(value)
        return None if day is None else _spell_date(day)
    if target.is_timestamp:
        at = read_instant(value, local=target == TIMESTAMP_NTZ)
        if at is not None:
            return spell_instant(at) if target == TIMESTAMP else f"CAST('{at.replace(tzinfo=None)}' AS TIMESTAMP)"
    return None


def _spell_date(day: date) -> str:
    return f"CAST('{day.isoformat()}' AS DATE)"
