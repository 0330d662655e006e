"""The functions that a query may call, each in DuckDB's SQL with the meaning that it has in Spark.

What isn't here is refused by name. `tests/query/test_spark.py` compares every entry with Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from headwater.plan.spark_type import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    SparkType,
    array,
)  # fmt: skip
from headwater.plan.typing.coercion import common
from headwater.query.arithmetic import from_unscaled
from headwater.query.casts import converted
from headwater.query.literal import spell_instant
from headwater.query.refusal import refused
from headwater.query.spelling import cast, name


class Arguments(Protocol):
    """A call as a function sees it: its arguments as DuckDB's SQL, cast to what the function takes."""

    name: str
    result: SparkType
    now: datetime

    @property
    def kinds(self) -> tuple[SparkType, ...]:
        """The types of the arguments."""

    def text(self, position: int, kind: SparkType | None = None) -> str:
        """An argument, as it is or as a value of a type."""

    def texts(self, kind: SparkType | None = None) -> list[str]:
        """All arguments, of the same type."""

    def constant(self, position: int) -> str | None:
        """The text that stands in the statement as an argument, if it is a literal or a word."""


Function = Callable[[Arguments], str]


def _template(template: str, *kinds: SparkType | None) -> Function:
    """A function of DuckDB's, whose arguments are cast to these types; None: as they are."""

    def write(call: Arguments) -> str:
        texts = [call.text(position, kinds[min(position, len(kinds) - 1)]) for position in range(len(call.kinds))]
        return cast(template.format(*texts, all=", ".join(texts)), call.result)

    return write


def _common(template: str) -> Function:
    """A function whose arguments all have the type of its result."""
    return lambda call: cast(template.format(all=", ".join(call.texts(call.result))), call.result)


# Conditions


def _if(call: Arguments) -> str:
    values = [call.text(position, call.result) for position in range(1, len(call.kinds))]
    return f"CASE WHEN {call.text(0, BOOLEAN)} THEN {values[0]} ELSE {values[1]} END"


def _nvl2(call: Arguments) -> str:
    values = [call.text(position, call.result) for position in (1, 2)]
    return f"CASE WHEN {call.text(0)} IS NOT NULL THEN {values[0]} ELSE {values[1]} END"


def _nullif(call: Arguments) -> str:
    meeting = common(call.kinds) or call.result
    same = f"{call.text(0, meeting)} = {call.text(1, meeting)}"
    return f"CASE WHEN {same} THEN NULL ELSE {call.text(0, call.result)} END"


# Numbers


def _round(call: Arguments) -> str:
    digits = call.constant(1) if len(call.kinds) > 1 else "0"
    if digits is None or not digits.lstrip("-").isdigit():
        raise refused("round takes a whole number that stands in the statement.", "Write round(price, 2).")
    kind, places = call.kinds[0], int(digits)
    if kind.name == "decimal":
        scale = kind.digits[1]
        if places >= scale:
            return converted(call.text(0), kind, call.result)
        if places >= 0:
            return converted(f"round({call.text(0)}, {places})", kind, call.result)
        raise refused("round takes no number of digits below 0 in a query.")
    if kind.is_integral and places >= 0:
        return converted(call.text(0), kind, call.result)
    if kind.is_floating and places >= 0:
        # by its shortest text, as Spark does: 2.675 is rounded up although the nearest DOUBLE lies below it
        exact = f"CAST(CAST({call.text(0, DOUBLE)} AS VARCHAR) AS DECIMAL(38, {min(places + 17, 30)}))"
        whole = f"isnan({call.text(0)}) OR isinf({call.text(0)}) OR abs({call.text(0)}) >= 10000000"
        rounded = f"CAST(CAST(round({exact}, {places}) AS VARCHAR) AS {'DOUBLE' if kind == DOUBLE else 'FLOAT'})"
        return (
            f"CASE WHEN {call.text(0)} IS NULL THEN NULL WHEN {whole} THEN "
            f"{cast(f'round({call.text(0)}, {places})', call.result)} ELSE {rounded} END"
        )
    raise refused("round takes no number of digits below 0 in a query.")


def _whole(function: str) -> Function:
    """ceil and floor: of a decimal a decimal, of a floating-point number a BIGINT."""

    def write(call: Arguments) -> str:
        if len(call.kinds) > 1:
            raise refused(f"{function} takes one argument in a query.")
        if call.kinds[0].is_integral:
            return call.text(0, call.result)
        return cast(f"{function}({call.text(0)})", call.result)

    return write


def _sign(call: Arguments) -> str:
    """NaN and both zeros are their own sign."""
    return _template("CASE WHEN {0} > 0 AND NOT isnan({0}) THEN 1 WHEN {0} < 0 THEN -1 ELSE {0} END", DOUBLE)(call)


def _pmod(call: Arguments) -> str:
    if not call.result.is_integral:
        raise refused("pmod takes whole numbers in a query.")
    one, other = call.texts(call.result)
    return cast(f"(({one} % {other}) + {other}) % {other}", call.result)


# Texts


def _concat(call: Arguments) -> str:
    if call.result.name == "array":
        return f"({' || '.join(call.texts(call.result))})"
    joined = " || ".join(call.texts(call.result))
    return f"hw_text({joined})" if call.result == STRING else f"({joined})"


def _concat_ws(call: Arguments) -> str:
    if any(kind.name == "array" for kind in call.kinds):
        raise refused("concat_ws takes no arrays in a query.")
    return f"hw_text(concat_ws({', '.join(call.texts(STRING))}))"


def _substring(call: Arguments) -> str:
    count = call.text(2, INT) if len(call.kinds) > 2 else "2147483647"
    if call.kinds[0].name == "binary":
        raise refused("substring takes no BINARY in a query.")
    return f"hw_substring({call.text(0, STRING)}, {call.text(1, INT)}, {count})"


def _trim(function: str) -> Function:
    def write(call: Arguments) -> str:
        if len(call.kinds) == 1:
            return f"{function}({call.text(0, STRING)}, ' ')"
        return f"{function}({call.text(1, STRING)}, {call.text(0, STRING)})"

    return write


def _pad(function: str) -> Function:
    def write(call: Arguments) -> str:
        count, fill = f"greatest({call.text(1, INT)}, 0)", call.text(2, STRING) if len(call.kinds) > 2 else "' '"
        if call.kinds[0].name == "binary":
            raise refused(f"{call.name} takes no BINARY in a query.")
        longest = f"CASE WHEN {count} > 65536 THEN CAST(hw_refuse('a text of more than 65,536 letters') AS INTEGER)"
        text = call.text(0, STRING)
        short = f"CASE WHEN {fill} = '' THEN left({text}, {count}) ELSE {function}({text}, {{}}, {fill}) END"
        return short.format(f"{longest} ELSE {count} END")

    return write


def _replace(call: Arguments) -> str:
    by = call.text(2, STRING) if len(call.kinds) > 2 else "''"
    return f"hw_replace({call.text(0, STRING)}, {call.text(1, STRING)}, {by})"


def _locate(call: Arguments) -> str:
    if len(call.kinds) > 2:
        raise refused(f"{call.name} takes two arguments in a query.")
    return cast(f"strpos({call.text(1, STRING)}, {call.text(0, STRING)})", INT)


def _length(call: Arguments) -> str:
    if call.kinds[0].name == "binary":
        return cast(f"octet_length({call.text(0)})", INT)
    return cast(f"length({call.text(0, STRING)})", INT)


def _split_part(call: Arguments) -> str:
    number = call.constant(2)
    if number is None or not number.isdigit() or number == "0":
        raise refused("split_part takes a whole number from 1 on that stands in the statement.")
    return f"split_part({call.text(0, STRING)}, {call.text(1, STRING)}, {number})"


# Dates and instants

_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month", "mm": "month",
    "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute", "second": "second",
    "millisecond": "millisecond", "microsecond": "microsecond",
}  # fmt: skip


def local_time(text: str, kind: SparkType) -> str:
    """An instant as a time on the clock in UTC, which is the session's zone."""
    return converted(text, kind, TIMESTAMP_NTZ)


def _date_trunc(call: Arguments) -> str:
    unit = _UNITS.get((call.constant(0) or "").lower())
    if unit is None:
        raise refused("date_trunc takes a unit that stands in the statement.", "Write date_trunc('hour', at).")
    truncated = f"date_trunc('{unit}', {local_time(call.text(1), call.kinds[1])})"
    return f"({truncated} AT TIME ZONE 'UTC')" if call.result == TIMESTAMP else cast(truncated, call.result)


def _trunc(call: Arguments) -> str:
    unit = _UNITS.get((call.constant(1) or "").lower())
    if unit not in ("year", "quarter", "month", "week"):
        raise refused("trunc takes 'year', 'quarter', 'month' or 'week'.")
    return f"CAST(date_trunc('{unit}', {call.text(0, DATE)}) AS DATE)"


_PARTS = {
    "year": "year", "yearofweek": "isoyear", "quarter": "quarter", "month": "month", "week": "week", "day": "day",
    "dayofmonth": "day", "hour": "hour", "minute": "minute", "dayofyear": "dayofyear", "doy": "dayofyear",
    "weekofyear": "week", "weekday": "weekday", "dayofweek": "dayofweek", "dow": "dayofweek",
    "dayofweek_iso": "isodow", "dow_iso": "isodow",
}  # fmt: skip


def part_of(part: str, text: str, kind: SparkType, result: SparkType) -> str:
    """A part of a date or an instant."""
    if kind.name not in ("date", "timestamp", "timestamp_ntz", "string"):
        raise refused(f"{part} takes a date or an instant in a query.")
    at = local_time(text, kind)
    if part == "second":
        if result.name == "decimal":
            microseconds = f"CAST(((epoch_us({at}) % 60000000) + 60000000) % 60000000 AS HUGEINT)"
            return from_unscaled(microseconds, result)
        return cast(f"second({at})", result)
    if part not in _PARTS:
        raise refused(f'A query can\'t take the part "{part}" of an instant.', "Take year, month, day, hour or minute.")
    word = _PARTS[part]
    if word == "dayofweek":
        return cast(f"dayofweek({at}) + 1", result)
    if word == "weekday":
        return cast(f"(dayofweek({at}) + 6) % 7", result)
    return cast(f"{word}({at})", result)


def _part(part: str) -> Function:
    return lambda call: part_of(part, call.text(0), call.kinds[0], call.result)


def _date_part(call: Arguments) -> str:
    part = (call.constant(0) or "").lower()
    singular = {"seconds": "second", "minutes": "minute", "hours": "hour", "days": "day", "months": "month",
                "years": "year", "d": "day", "h": "hour", "m": "minute", "s": "second", "y": "year", "mins": "minute",
                "min": "minute", "sec": "second", "secs": "second", "mon": "month", "mons": "month"}  # fmt: skip
    return part_of(singular.get(part, part), call.text(1), call.kinds[1], call.result)


def _days_later(sign: str) -> Function:
    def write(call: Arguments) -> str:
        if len(call.kinds) == 3:
            raise refused(f"{call.name} takes a date and a number of days in a query.", "Write at + INTERVAL 1 HOUR.")
        return cast(f"{call.text(0, DATE)} {sign} {call.text(1, INT)}", DATE)

    return write


def _datediff(call: Arguments) -> str:
    if len(call.kinds) == 3:
        raise refused("datediff takes two dates in a query.", "Write datediff(end, start).")
    return cast(f"{call.text(0, DATE)} - {call.text(1, DATE)}", INT)


def _months_later(call: Arguments) -> str:
    return cast(f"{call.text(0, DATE)} + to_months({call.text(1, INT)})", DATE)


def _now(call: Arguments) -> str:
    return converted(spell_instant(call.now), TIMESTAMP, call.result)


def _epoch(unit: int) -> Function:
    return lambda call: cast(f"hw_floor_div(epoch_us({call.text(0, TIMESTAMP)}), {unit})", BIGINT)


def _from_epoch(unit: int) -> Function:
    def write(call: Arguments) -> str:
        if not call.kinds[0].is_integral:
            raise refused(f"{call.name} takes a whole number in a query.")
        return f"(make_timestamp({call.text(0, BIGINT)} * {unit}) AT TIME ZONE 'UTC')"

    return write


_FORMATS = {
    "yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S",
}  # fmt: skip


def _date_format(call: Arguments) -> str:
    wanted = call.constant(1)
    pattern, rest = "", wanted or ""
    while rest:
        field = next((field for field in _FORMATS if rest.startswith(field)), None)
        if field is None and (rest[0].isalpha() or rest[0] in "'[]{}#%"):
            break
        pattern += _FORMATS[field] if field else rest[0]
        rest = rest[len(field) if field else 1 :]
    if rest or not wanted:
        raise refused(
            f'date_format takes a pattern of yyyy, MM, dd, HH, mm and ss in a query, and "{wanted or ""}" is none.',
            "Write date_format(at, 'yyyy-MM-dd HH:mm').",
        )
    return f"strftime({local_time(call.text(0), call.kinds[0])}, '{pattern}')"


def _to_date(call: Arguments) -> str:
    if len(call.kinds) > 1:
        raise refused(f"{call.name} takes no pattern in a query.", "Write CAST(text AS DATE).")
    return call.text(0, call.result)


# Arrays, maps and structs


def _size(call: Arguments) -> str:
    if call.kinds[0].name not in ("array", "map"):
        raise refused(f"{call.name} takes an array or a map.")
    return cast(f"{'cardinality' if call.kinds[0].name == 'map' else 'len'}({call.text(0)})", INT)


def _element_at(call: Arguments) -> str:
    if call.kinds[0].name == "map":
        return f"{call.text(0)}[{call.text(1, call.kinds[0].key)}]"
    return f"hw_element({call.text(0)}, {call.text(1, INT)})"


def _array_contains(call: Arguments) -> str:
    element = call.kinds[0].element
    if element.parts or element != call.kinds[1]:
        meeting = common([element, call.kinds[1]])
        if meeting is None or meeting.parts:
            raise refused("array_contains looks for numbers, texts and instants in a query.")
        return f"hw_contains({call.text(0, array(meeting))}, {call.text(1, meeting)})"
    return f"hw_contains({call.text(0)}, {call.text(1)})"


def _array(call: Arguments) -> str:
    if not call.kinds:
        raise refused("A query makes no empty array.")
    return f"[{', '.join(call.texts(call.result.element))}]"


def _struct(call: Arguments) -> str:
    fields = zip(call.result.labels, call.result.parts, range(len(call.kinds)), strict=True)
    return "{" + ", ".join(f"{name(label)}: {call.text(position, kind)}" for label, kind, position in fields) + "}"


def _cast_to(call: Arguments) -> str:
    return call.text(0, call.result)


def is_null(call: Arguments) -> str:
    """isnull."""
    return f"({call.text(0)} IS NULL)"


FUNCTIONS: Mapping[str, Function] = {
    "coalesce": _common("coalesce({all})"), "nvl": _common("coalesce({all})"), "ifnull": _common("coalesce({all})"),
    "nvl2": _nvl2, "nullif": _nullif, "if": _if, "greatest": _common("greatest({all})"),
    "least": _common("least({all})"), "isnull": is_null, "isnotnull": lambda call: f"({call.text(0)} IS NOT NULL)",
    "isnan": lambda call: f"coalesce(isnan({call.text(0, DOUBLE)}), FALSE)",
    "abs": _common("abs({all})"), "negative": _common("-({all})"), "positive": _common("{all}"),
    "sign": _sign, "signum": _sign,
    "ceil": _whole("ceil"), "ceiling": _whole("ceil"), "floor": _whole("floor"), "round": _round, "pmod": _pmod,
    "sqrt": _template("CASE WHEN {0} < 0 THEN 'NaN'::DOUBLE ELSE sqrt({0}) END", DOUBLE),
    "upper": _template("hw_upper({0})", STRING), "ucase": _template("hw_upper({0})", STRING),
    "lower": _template("hw_lower({0})", STRING), "lcase": _template("hw_lower({0})", STRING),
    "length": _length, "char_length": _length, "character_length": _length, "len": _length,
    "octet_length": lambda call: cast(f"strlen({call.text(0, STRING)})", INT)
    if call.kinds[0].name != "binary" else _length(call),
    "trim": _trim("trim"), "btrim": lambda call: _trim("trim")(call) if len(call.kinds) == 1
    else f"trim({call.text(0, STRING)}, {call.text(1, STRING)})",
    "ltrim": _trim("ltrim"), "rtrim": _trim("rtrim"), "substring": _substring, "substr": _substring,
    "left": lambda call: f"hw_substring({call.text(0, STRING)}, 1, {call.text(1, INT)})",
    "right": lambda call: f"right({call.text(0, STRING)}, greatest({call.text(1, INT)}, 0))",
    "concat": _concat, "concat_ws": _concat_ws, "replace": _replace, "reverse": _template("reverse({0})", STRING),
    "repeat": lambda call: f"hw_repeat({call.text(0, STRING)}, {call.text(1, INT)})", "lpad": _pad("lpad"),
    "rpad": _pad("rpad"), "instr": _template("strpos({0}, {1})", STRING), "locate": _locate, "position": _locate,
    "startswith": _template("starts_with({0}, {1})", STRING), "endswith": _template("suffix({0}, {1})", STRING),
    "contains": _template("contains({0}, {1})", STRING), "split_part": _split_part,
    "ascii": _template("CASE WHEN {0} = '' THEN 0 ELSE unicode({0}) END", STRING),
    "hex": lambda call: f"hex({call.text(0, STRING)})" if call.kinds[0] == STRING else _refuse_hex(call),
    "date_trunc": _date_trunc, "trunc": _trunc, "date_part": _date_part, "datepart": _date_part,
    **{part: _part(part) for part in ("year", "quarter", "month", "day", "dayofmonth", "dayofyear", "dayofweek",
                                      "weekday", "weekofyear", "hour", "minute", "second")},
    "date_add": _days_later("+"), "dateadd": _days_later("+"), "date_sub": _days_later("-"),
    "datediff": _datediff, "date_diff": _datediff, "add_months": _months_later,
    "last_day": lambda call: f"last_day({call.text(0, DATE)})", "date_format": _date_format, "to_date": _to_date,
    "date": _to_date, "timestamp": _to_date, "to_timestamp": _to_date,
    "current_timestamp": _now, "now": _now, "current_date": _now, "curdate": _now,
    "unix_micros": _epoch(1), "unix_millis": _epoch(1_000), "unix_seconds": _epoch(1_000_000),
    "timestamp_micros": _from_epoch(1), "timestamp_millis": _from_epoch(1_000),
    "timestamp_seconds": _from_epoch(1_000_000), "size": _size, "cardinality": _size, "array_size": _size,
    "element_at": _element_at, "array_contains": _array_contains, "array": _array, "struct": _struct,
    "map_keys": _template("map_keys({0})", None), "map_values": _template("map_values({0})", None),
    **dict.fromkeys(("string", "int", "bigint", "double", "float", "boolean", "smallint", "tinyint"), _cast_to),
}  # fmt: skip


def _refuse_hex(call: Arguments) -> str:
    if call.kinds[0].name == "binary":
        return f"hex({call.text(0)})"
    raise refused("hex takes a text or BINARY in a query.")
