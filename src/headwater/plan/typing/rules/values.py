"""Rules for numbers, texts and times."""

from __future__ import annotations

from headwater.plan.spark_type import (
    BIGINT,
    BINARY,
    DATE,
    DECIMAL_SECONDS,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VOID,
    SparkType,
    decimal,
    struct,
)  # fmt: skip
from headwater.plan.typing import arithmetic
from headwater.plan.typing.call import Call, Refused, Underivable, is_constant
from headwater.plan.typing.coercion import (
    MAXIMUM_PRECISION,
    bounded,
    cast_implicitly,
    common,
    holds_map,
    tightest,
    wider,
)  # fmt: skip

# Numbers


def _rounded(precision: int, scale: int, places: int) -> SparkType:
    """A decimal rounded to a number of places, with room for the carry."""
    whole = precision - scale + 1
    if places < 0:
        return decimal(min(max(whole, 1 - places), MAXIMUM_PRECISION), 0)
    kept = min(scale, places)
    return decimal(min(whole + kept, MAXIMUM_PRECISION), kept)


def _places(call: Call) -> int:
    if len(call.arguments) < 2:
        return 0
    places = call.number(1)
    if places is None:
        raise Refused("The number of places must be a constant.", "Write the number of places as a literal.")
    return places


def rounded(call: Call) -> SparkType | None:
    """round(x, places), bround."""
    kind = call.kinds[0]
    places = _places(call)
    if kind == VOID:
        return DOUBLE
    return _rounded(kind.digits[0], kind.digits[1], places) if kind.name == "decimal" else kind


def ceil(call: Call) -> SparkType | None:
    """ceil(x), floor(x), and both to a number of places."""
    kind = call.types[0]
    if len(call.arguments) == 2:
        kind = cast_implicitly(kind, "decimal") or VOID
        return _rounded(kind.digits[0], kind.digits[1], _places(call)) if kind.name == "decimal" else None
    if kind.name == "decimal":
        return bounded(kind.digits[0] - kind.digits[1] + 1, 0)
    return BIGINT if kind.is_numeric or kind in (STRING, VOID, UNKNOWN) else None


def uniform(call: Call) -> SparkType | None:
    """A random number between two; of the wider of their types."""
    left, right = call.types[:2]
    if "decimal" in (left.name, right.name) and not (left.is_floating or right.is_floating):
        return left if left.name == "decimal" else right
    if left.is_floating or right.is_floating:
        return DOUBLE if DOUBLE in (left, right) else SparkType("float")
    return tightest(left, right)


def to_number(call: Call) -> SparkType | None:
    """A number in a format like '$99,999.99': the decimal with as many digits."""
    spelled = call.text(1)
    if spelled is None:
        raise Underivable("The format decides how many digits the number has.", "Write the format as a literal.")
    before, _, behind = spelled.upper().replace("D", ".").partition(".")
    scale = behind.count("0") + behind.count("9")
    return decimal(before.count("0") + before.count("9") + scale, scale)


def width_bucket(call: Call) -> SparkType | None:
    """The bucket that a value falls into: value and bounds are of one type."""
    return BIGINT if len({kind.name for kind in call.kinds[:3]}) == 1 else None


# Texts


def overlay(call: Call) -> SparkType | None:
    """A text with a part replaced, or bytes."""
    return call.kinds[0] if call.kinds[0] == call.kinds[1] or VOID in call.types[:2] else None


def to_char(call: Call) -> SparkType | None:
    """A number, a time or bytes as text."""
    kind = call.types[0]
    if kind.name in ("boolean", "day_time", "year_month", "variant", "array", "map", "struct"):
        return None
    temporal = kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ) or kind.name == "time"
    return STRING if temporal or is_constant(call.arguments[1]) else None


def hashed(call: Call) -> SparkType | None:
    """hash, xxhash64: maps and variants have no hash."""
    if any(holds_map(kind) for kind in call.types):
        return None
    return INT if call.name == "hash" else BIGINT


def text_like(call: Call) -> SparkType | None:
    """BINARY where all arguments are, else STRING."""
    binary = all(kind in (BINARY, VOID) for kind in call.types if kind.name not in ("int", "bigint"))
    return BINARY if binary and BINARY in call.types and call.name != "btrim" else STRING


def decode(call: Call) -> SparkType | None:
    """decode(bytes, charset), and decode(x, is, then, …, otherwise)."""
    if len(call.types) == 2:
        return STRING if cast_implicitly(call.types[0], "binary") and cast_implicitly(call.types[1], "string") else None
    searches, results = call.types[1::2], call.types[2::2]
    otherwise = searches[-1:] if len(call.types) % 2 == 0 else (STRING,)  # what it gives otherwise is a NULL text
    if not all(wider(call.types[0], kind) for kind in searches[: len(results)]):
        return None
    return common([*results, *otherwise])


def elt(call: Call) -> SparkType | None:
    """One of several texts."""
    return arithmetic.concatenate(list(call.types[1:]))


# Time


_INT_FIELDS = frozenset(
    [
        "YEAR",
        "Y",
        "YEARS",
        "YR",
        "YRS",
        "YEAROFWEEK",
        "QUARTER",
        "QTR",
        "MONTH",
        "MON",
        "MONS",
        "MONTHS",
        "WEEK",
        "W",
        "WEEKS",
        "DAY",
        "D",
        "DAYS",
        "DAYOFWEEK",
        "DOW",
        "DAYOFWEEK_ISO",
        "DOW_ISO",
        "DOY",
        "HOUR",
        "H",
        "HOURS",
        "HR",
        "HRS",
        "MINUTE",
        "M",
        "MIN",
        "MINS",
        "MINUTES",
    ]
)
_SECOND_FIELDS = frozenset(["SECOND", "S", "SEC", "SECONDS", "SECS"])
_CLOCK_FIELDS = frozenset(["HOUR", "H", "HOURS", "HR", "HRS", "MINUTE", "M", "MIN", "MINS", "MINUTES"])


def extract(call: Call) -> SparkType | None:
    """A field of a time or an interval; seconds come with their fraction."""
    spelled = call.text(0)
    if spelled is None:
        raise Underivable("The field isn't written out.", "Write the field as a literal, like 'YEAR'.")
    name, kind = spelled.upper(), call.types[1]
    if name not in _INT_FIELDS | _SECOND_FIELDS:
        raise Refused(
            f'There is no field "{spelled}".', "Fields are YEAR, MONTH, DAY, HOUR, MINUTE, SECOND and others."
        )
    if kind.is_ansi_interval or kind.name == "interval":
        return _interval_field(name, kind)
    if kind.name == "time" and name not in _CLOCK_FIELDS | _SECOND_FIELDS:
        return None
    if kind not in (DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING, VOID, UNKNOWN) and kind.name != "time":
        return None
    return DECIMAL_SECONDS if name in _SECOND_FIELDS else INT


_INTERVAL_FIELDS = {
    "year": ("YEAR", "Y", "YEARS", "YR", "YRS"),
    "month": ("MONTH", "MON", "MONS", "MONTHS"),
    "day": ("DAY", "D", "DAYS"),
    "hour": ("HOUR", "H", "HOURS", "HR", "HRS"),
    "minute": ("MINUTE", "M", "MIN", "MINS", "MINUTES"),
    "second": ("SECOND", "S", "SEC", "SECONDS", "SECS"),
}
_FIELD_TYPES = {
    "year": INT, "month": TINYINT, "day": INT, "hour": TINYINT, "minute": TINYINT, "second": DECIMAL_SECONDS,
}  # fmt: skip


def _interval_field(name: str, kind: SparkType) -> SparkType | None:
    field = next((field for field, names in _INTERVAL_FIELDS.items() if name in names), None)
    if field is None:
        return None
    if kind.labels:
        fields = list(_INTERVAL_FIELDS)
        if not fields.index(kind.labels[0]) <= fields.index(field) <= fields.index(kind.labels[1]):
            return None
    return _FIELD_TYPES[field]


_UNITS = frozenset(
    ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
)  # fmt: skip


def _check_unit(call: Call) -> None:
    name = getattr(call.arguments[0], "name", "")
    if name.upper() not in _UNITS:
        raise Refused(f'"{name}" is not a unit of time.', "Write a unit like DAY, without quotes.")


def date_add(call: Call) -> SparkType | None:
    """date_add(date, days), and dateadd(unit, count, time), which gives a timestamp."""
    if len(call.types) == 3:
        _check_unit(call)
        if not cast_implicitly(call.types[1], "bigint"):
            return None
        return TIMESTAMP_NTZ if call.types[2] == TIMESTAMP_NTZ else cast_implicitly(call.types[2], "timestamp")
    return date_sub(call)


def convert_timezone(call: Call) -> SparkType | None:
    """convert_timezone([from,] to, time)."""
    *zones, at = call.types
    fits = cast_implicitly(at, "timestamp_ntz") and all(cast_implicitly(zone, "string") for zone in zones)
    return TIMESTAMP_NTZ if fits else None


_CALENDAR = ("int", "int", "int", "int", "int", "decimal(16,6)", "string")
_MOMENT = ("date", "time", "string")


def make_timestamp(call: Call) -> SparkType | None:
    """make_timestamp(year, month, day, hour, minute, second, zone), or of a date, a time and a zone."""
    count = len(call.types)
    if count in (4, 5):
        raise Refused("It takes a date, a time and a zone, or six numbers and a zone.")
    if count == 1 and call.types[0] not in (DATE, VOID, UNKNOWN):
        return None
    takes = _CALENDAR if count > 3 else _MOMENT
    fits = all(cast_implicitly(kind, wanted) for kind, wanted in zip(call.types, takes, strict=False))
    return TIMESTAMP if fits else None


def make_timestamp_ntz(call: Call) -> SparkType | None:
    """The same without a time zone."""
    return None if len(call.types) == 3 or make_timestamp(call) is None else TIMESTAMP_NTZ


def date_sub(call: Call) -> SparkType | None:
    """A date that many days away."""
    days = call.types[1]
    moved = days.name in ("int", "smallint", "tinyint", "string", "void", "unknown")
    return DATE if moved and cast_implicitly(call.types[0], "date") else None


def date_diff(call: Call) -> SparkType | None:
    """datediff(end, start) in days, and datediff(unit, start, end)."""
    if len(call.types) == 3:
        _check_unit(call)
        return BIGINT if all(cast_implicitly(kind, "timestamp") for kind in call.types[1:]) else None
    return INT if all(cast_implicitly(kind, "date") for kind in call.types) else None


def time_of_precision(call: Call) -> SparkType | None:
    """TIME with as many digits behind the second as asked for."""
    number = call.number(0)
    return SparkType("time", digits=(6 if number is None else number,))


def time_bucket(call: Call) -> SparkType | None:
    """The start of the bucket that a timestamp falls into."""
    size, at = call.types[:2]
    if not size.is_ansi_interval or not (at.is_timestamp or at in (VOID, UNKNOWN)):
        return None
    return TIMESTAMP if at == VOID else at


def to_timestamp(call: Call) -> SparkType | None:
    """A timestamp of a text, a time, or a number of seconds; only a text has a format."""
    return None if call.types[0].is_numeric and len(call.types) == 2 else TIMESTAMP


def session_window(call: Call) -> SparkType | None:
    """session_window(time, gap): start and end of the session."""
    gap = call.types[1]
    return window(call) if gap in (STRING, VOID, UNKNOWN) or gap.name == "interval" else None


def window(call: Call) -> SparkType | None:
    """window(time, size, …): start and end of the window."""
    at = call.types[0]
    kind = at if at.is_timestamp else cast_implicitly(at, "timestamp")
    return None if kind is None else struct(("start", kind), ("end", kind))


def window_time(call: Call) -> SparkType | None:
    """The event time of a window."""
    return call.types[0].field("end")
