"""Rules: result types that depend on more than a pattern can say. `@name` in the catalogue is the function `name` here.

A rule takes a `Call` and gives its type, None where Spark's analyzer refuses these types, or raises `Refused` to say why.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.plan.spark_type import (
    BIGINT, BINARY, BOOLEAN, DATE, DAY_TO_SECOND, DECIMAL_SECONDS, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, TINYINT,
    UNKNOWN, VARIANT, VOID, YEAR_TO_MONTH, SparkType, array, decimal, map_of, parse_type, struct,
)  # fmt: skip
from headwater.plan.typing import arithmetic
from headwater.plan.typing.call import Call, Refused, Underivable
from headwater.plan.typing.coercion import (
    MAXIMUM_PRECISION, as_decimal, bounded, can_assign, can_cast, cast_implicitly, common, is_orderable, tightest, wider,
    wider_without_strings,
)  # fmt: skip

Rule = Callable[[Call], SparkType | None]

# Operators


def add(call: Call) -> SparkType | None:
    """`a + b`, and `+a`."""
    return arithmetic.add(*call.operands) if len(call.given) == 2 else arithmetic.negate(call.given[0])


def subtract(call: Call) -> SparkType | None:
    """`a - b`, and `-a`."""
    return arithmetic.subtract(*call.operands) if len(call.given) == 2 else arithmetic.negate(call.given[0])


def multiply(call: Call) -> SparkType | None:
    """`a * b`."""
    return arithmetic.multiply(*call.operands)


def divide(call: Call) -> SparkType | None:
    """`a / b`."""
    return arithmetic.divide(*call.operands)


def remainder(call: Call) -> SparkType | None:
    """`a % b`."""
    return arithmetic.remainder(*call.operands)


def integral_divide(call: Call) -> SparkType | None:
    """`a DIV b`."""
    return arithmetic.integral_divide(*call.operands)


def bitwise(call: Call) -> SparkType | None:
    """`a & b`, `a | b`, `a ^ b`."""
    return arithmetic.bitwise(*call.operands)


def comparison(call: Call) -> SparkType | None:
    """The first argument compared with each of the others."""
    first, *others = (call.operand(position) for position in range(len(call.given)))
    return BOOLEAN if all(arithmetic.compare(first, other) for other in others) else None


def logical(call: Call) -> SparkType | None:
    """`a AND b`, `a OR b`."""
    return arithmetic.combine(*call.operands)


def in_list(call: Call) -> SparkType | None:
    """`a IN (b, …)`."""
    found = common(call.given)
    return BOOLEAN if found is not None and is_orderable(found) else None


def negated(call: Call) -> SparkType | None:
    """A number with another sign; strings are read as doubles."""
    return arithmetic.negate(call.given[0])


def concat(call: Call) -> SparkType | None:
    """Texts, bytes or arrays one after the other."""
    kinds = list(call.given)
    if any(kind.name == "array" for kind in kinds):
        found = common(kinds)
        return found if found is not None and found.name == "array" else None
    return arithmetic.concatenate(kinds)


# Conditions


def widest(call: Call) -> SparkType | None:
    """The common type of all arguments."""
    return common(call.given)


def widest_ordered(call: Call) -> SparkType | None:
    """The common type of all arguments, strings only with strings, where it has an order."""
    found = common(call.given, wider_without_strings)
    return found if found is not None and is_orderable(found) else None


def if_then(call: Call) -> SparkType | None:
    """if(condition, a, b)."""
    return wider(*call.given[1:]) if call.given[0] in (BOOLEAN, VOID, UNKNOWN) else None


def when(call: Call) -> SparkType | None:
    """when(condition, value, …, otherwise)."""
    pairs = len(call.given) // 2 * 2
    if any(kind not in (BOOLEAN, UNKNOWN) for kind in call.given[0:pairs:2]):
        return None
    return common([*call.given[1:pairs:2], *call.given[pairs:]])


def nvl2(call: Call) -> SparkType | None:
    """nvl2(tested, a, b)."""
    return wider(*call.given[1:])


def nullif(call: Call) -> SparkType | None:
    """The first argument or NULL."""
    return call.given[0] if arithmetic.compare(*call.operands) else None


def nullifzero(call: Call) -> SparkType | None:
    """The argument or NULL, where it can be compared with 0."""
    return call.given[0] if arithmetic.compare(call.operand(0), arithmetic.Operand(INT, 0)) else None


def zeroifnull(call: Call) -> SparkType | None:
    """The argument or 0."""
    return wider(call.given[0], INT)


def nanvl(call: Call) -> SparkType | None:
    """A floating-point number or its substitute."""
    return tightest(*call.kinds)


def cast_to_name(call: Call) -> SparkType | None:
    """int(x), date(x), …: a cast to the type of that name."""
    target = parse_type(call.name)
    return target if can_cast(call.given[0], target) else None


# Numbers


def rounded(precision: int, scale: int, places: int) -> SparkType:
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


def round(call: Call) -> SparkType | None:  # noqa: A001 - it is what the function is called
    """round(x, places), bround."""
    kind = call.kinds[0]
    places = _places(call)
    if kind == VOID:
        return DOUBLE
    return rounded(kind.digits[0], kind.digits[1], places) if kind.name == "decimal" else kind


def ceil(call: Call) -> SparkType | None:
    """ceil(x), floor(x), and both to a number of places."""
    kind = call.given[0]
    if len(call.arguments) == 2:
        kind = cast_implicitly(kind, "decimal") or VOID
        return rounded(kind.digits[0], kind.digits[1], _places(call)) if kind.name == "decimal" else None
    if kind.name == "decimal":
        return bounded(kind.digits[0] - kind.digits[1] + 1, 0)
    return BIGINT if kind.is_numeric or kind in (STRING, VOID, UNKNOWN) else None


def uniform(call: Call) -> SparkType | None:
    """A random number between two; of the wider of their types."""
    left, right = call.given[:2]
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


# Texts


def text_like(call: Call) -> SparkType | None:
    """BINARY where all arguments are, else STRING."""
    binary = all(kind in (BINARY, VOID) for kind in call.given if kind.name not in ("int", "bigint"))
    return BINARY if binary and BINARY in call.given and call.name != "btrim" else STRING


def decode(call: Call) -> SparkType | None:
    """decode(bytes, charset), and decode(x, is, then, …, otherwise)."""
    if len(call.given) == 2:
        return STRING
    searches, results = call.given[1::2], call.given[2::2]
    otherwise = searches[-1:] if len(call.given) % 2 == 0 else ()
    if not all(wider(call.given[0], kind) for kind in searches[: len(results)]):
        return None
    return common([*results, *otherwise])


def elt(call: Call) -> SparkType | None:
    """One of several texts."""
    return arithmetic.concatenate(list(call.given[1:]))


# Time


_INT_FIELDS = frozenset(
    "YEAR Y YEARS YR YRS YEAROFWEEK QUARTER QTR MONTH MON MONS MONTHS WEEK W WEEKS DAY D DAYS DAYOFWEEK DOW "
    "DAYOFWEEK_ISO DOW_ISO DOY HOUR H HOURS HR HRS MINUTE M MIN MINS MINUTES".split()
)
_SECOND_FIELDS = frozenset("SECOND S SEC SECONDS SECS".split())
_CLOCK_FIELDS = frozenset("HOUR H HOURS HR HRS MINUTE M MIN MINS MINUTES".split())


def extract(call: Call) -> SparkType | None:
    """A field of a time or an interval; seconds come with their fraction."""
    spelled = call.text(0)
    if spelled is None:
        raise Refused("The field must be a constant.", "Write the field as a literal, like 'YEAR'.")
    name, kind = spelled.upper(), call.given[1]
    if name not in _INT_FIELDS | _SECOND_FIELDS:
        raise Refused(f'There is no field "{spelled}".', "Fields are YEAR, MONTH, DAY, HOUR, MINUTE, SECOND and others.")
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


def date_add(call: Call) -> SparkType | None:
    """date_add(date, days), and dateadd(unit, count, time), which gives a timestamp."""
    if len(call.given) == 3:
        if not all(cast_implicitly(call.given[1], kind) for kind in ("bigint",)):
            return None
        return TIMESTAMP_NTZ if call.given[2] == TIMESTAMP_NTZ else cast_implicitly(call.given[2], "timestamp")
    return date_sub(call)


def date_sub(call: Call) -> SparkType | None:
    """A date that many days away."""
    days = call.given[1]
    moved = days.name in ("int", "smallint", "tinyint", "string", "void", "unknown")
    return DATE if moved and cast_implicitly(call.given[0], "date") else None


def date_diff(call: Call) -> SparkType | None:
    """datediff(end, start) in days, and datediff(unit, start, end)."""
    if len(call.given) == 3:
        return BIGINT if all(cast_implicitly(kind, "timestamp") for kind in call.given[1:]) else None
    return INT if all(cast_implicitly(kind, "date") for kind in call.given) else None


def time_of_precision(call: Call) -> SparkType | None:
    """TIME with as many digits behind the second as asked for."""
    number = call.number(0)
    return SparkType("time", digits=(6 if number is None else number,))


def time_bucket(call: Call) -> SparkType | None:
    """The start of the bucket that a timestamp falls into."""
    size, at = call.given[:2]
    if not size.is_ansi_interval or not (at.is_timestamp or at in (VOID, UNKNOWN)):
        return None
    return TIMESTAMP if at == VOID else at


def window(call: Call) -> SparkType | None:
    """window(time, size, …) and session_window(time, gap): start and end of the window."""
    at = call.given[0]
    kind = at if at.is_timestamp else cast_implicitly(at, "timestamp")
    return None if kind is None else struct(("start", kind), ("end", kind))


def window_time(call: Call) -> SparkType | None:
    """The event time of a window."""
    return call.given[0].field("end")


# Arrays, maps, structs


def array_of(call: Call) -> SparkType | None:
    """array(a, b, …)."""
    found = common(call.given)
    return None if found is None else array(found)


def array_search(call: Call) -> SparkType | None:
    """array_contains: NULL can't be looked for."""
    return None if call.given[1] == VOID or not is_orderable(call.given[1]) else BOOLEAN


def array_position(call: Call) -> SparkType | None:
    """The place of an element."""
    return BIGINT if is_orderable(call.given[1]) and VOID not in call.given else None


def array_extreme(call: Call) -> SparkType | None:
    """The largest or smallest element."""
    return call.kinds[0].element if is_orderable(call.kinds[0]) else None


def sort_array(call: Call) -> SparkType | None:
    """The array in order."""
    return call.kinds[0] if is_orderable(call.kinds[0]) else None


def arrays_zip(call: Call) -> SparkType | None:
    """An array of structs that are named after the columns the elements come from."""
    names = (name_of(node) or str(position) for position, node in enumerate(call.arguments))
    return array(struct(*zip(names, (kind.element for kind in call.kinds), strict=True)))


def element_at(call: Call) -> SparkType | None:
    """element_at(array, place), element_at(map, key)."""
    holder, place = call.given[:2]
    if holder.name == "map":
        return holder.value if _finds_key(holder, place) else None
    return holder.element if place.name in ("int", "smallint", "tinyint", "void", "unknown") else None


def _finds_key(holder: SparkType, key: SparkType) -> bool:
    return wider_without_strings(holder.key, key) is not None and key != VOID


def map_contains_key(call: Call) -> SparkType | None:
    """Whether a map has a key."""
    return BOOLEAN if _finds_key(*call.given) else None


def map_of_arguments(call: Call) -> SparkType | None:
    """map(key, value, …)."""
    if len(call.given) % 2:
        raise Refused("It takes keys and values in turn.")
    key, value = common(call.given[0::2]), common(call.given[1::2])
    return None if key is None or value is None or _holds_map(key) else map_of(key, value)


def _holds_map(kind: SparkType) -> bool:
    return kind.name in ("map", "variant") or any(map(_holds_map, kind.parts))


def map_concat(call: Call) -> SparkType | None:
    """Several maps as one."""
    if not call.given:
        return map_of(STRING, STRING)
    found = common(call.given)
    return found if found is not None and found.name == "map" else None


def map_from_entries(call: Call) -> SparkType | None:
    """A map of an array of pairs."""
    entry = call.given[0].element
    if entry.name != "struct" or len(entry.parts) != 2 or _holds_map(entry.parts[0]):
        return None
    return map_of(*entry.parts)


def struct_of(call: Call) -> SparkType | None:
    """struct(a, b AS c, …): fields are named after their columns, others by their place."""
    names = (name_of(node) or f"col{position}" for position, node in enumerate(call.arguments, start=1))
    return struct(*zip(names, call.given, strict=True))


def named_struct(call: Call) -> SparkType | None:
    """named_struct('name', value, …)."""
    names = [call.text(position) for position in range(0, len(call.given), 2)]
    if len(call.given) % 2 or any(name is None for name in names):
        raise Refused("It takes names and values in turn.", "Write the names as literals.")
    return struct(*zip((name or "" for name in names), call.given[1::2], strict=True))


def sequence(call: Call) -> SparkType | None:
    """An array of numbers or times from one to another."""
    found = wider(*call.given[:2])
    if found is None or not (found.is_integral or found in (DATE, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN)):
        return None
    step = call.given[2] if len(call.given) == 3 else None
    if step is not None and found.is_integral:
        found = wider(found, step) if step.is_integral or step == VOID else None
    elif step is not None and not (step.is_ansi_interval or step.name in ("interval", "void", "unknown")):
        return None
    return None if found is None else array(found)


def name_of(node: object) -> str | None:
    """The name that Spark gives a field made of this expression; None where it numbers it."""
    kind = type(node).__name__
    if kind in ("Column", "Identifier", "Alias"):
        return str(getattr(node, "alias_or_name", None) or getattr(node, "name", ""))
    return str(node.expression.name) if kind == "Dot" else None  # type: ignore[attr-defined]


# Lambdas


def _is_condition(kind: SparkType) -> bool:
    return kind in (BOOLEAN, VOID, UNKNOWN)


def transform(call: Call) -> SparkType | None:
    """transform(array, x -> …) or (x, place) -> …."""
    return array(call.body(1, call.kinds[0].element, INT))


def filter(call: Call) -> SparkType | None:  # noqa: A001 - it is what the function is called
    """filter(array, x -> condition)."""
    return call.kinds[0] if _is_condition(call.body(1, call.kinds[0].element, INT)) else None


def array_predicate(call: Call) -> SparkType | None:
    """exists, forall."""
    return BOOLEAN if _is_condition(call.body(1, call.kinds[0].element)) else None


def array_sort(call: Call) -> SparkType | None:
    """array_sort(array, (a, b) -> negative, zero or positive)."""
    element = call.kinds[0].element
    if len(call.arguments) == 1:
        return call.kinds[0] if is_orderable(element) else None
    return call.kinds[0] if call.body(1, element, element) in (INT, VOID, UNKNOWN) else None


def aggregate(call: Call) -> SparkType | None:
    """aggregate(array, start, (found, x) -> …, found -> …): the fold keeps the type of its start."""
    start = call.given[1]
    merged = call.body(2, start, call.kinds[0].element)
    if merged not in (start, UNKNOWN) and start != UNKNOWN:
        raise Refused(f"It starts with {start} and goes on with {merged}.", f"Cast the start, like CAST(… AS {merged}).")
    return call.body(3, start) if len(call.arguments) == 4 else start


def zip_with(call: Call) -> SparkType | None:
    """zip_with(array, array, (a, b) -> …)."""
    return array(call.body(2, call.kinds[0].element, call.kinds[1].element))


def map_filter(call: Call) -> SparkType | None:
    """map_filter(map, (key, value) -> condition)."""
    return call.kinds[0] if _is_condition(call.body(1, *call.kinds[0].parts)) else None


def transform_keys(call: Call) -> SparkType | None:
    """transform_keys(map, (key, value) -> key)."""
    key = call.body(1, *call.kinds[0].parts)
    return None if _holds_map(key) else map_of(key, call.kinds[0].value)


def transform_values(call: Call) -> SparkType | None:
    """transform_values(map, (key, value) -> value)."""
    return map_of(call.kinds[0].key, call.body(1, *call.kinds[0].parts))


def map_zip_with(call: Call) -> SparkType | None:
    """map_zip_with(map, map, (key, left, right) -> value)."""
    left, right = call.kinds[:2]
    key = wider_without_strings(left.key, right.key)
    return None if key is None else map_of(key, call.body(2, key, left.value, right.value))


# Structure in text


def from_schema(call: Call) -> SparkType | None:
    """from_json, from_csv, from_xml: the type that the schema spells."""
    spelled = call.text(1)
    if spelled is None:
        raise Underivable("Its schema isn't written out.", "Write the schema as a literal, like 'a INT, b STRING'.")
    try:
        return parse_type(spelled)
    except ValueError:
        raise Underivable(
            f"Its schema '{spelled}' can't be read.", "Write the schema as columns, like 'a INT, b STRING'."
        ) from None


def variant_get(call: Call) -> SparkType | None:
    """variant_get(variant, path, type)."""
    if len(call.arguments) < 3:
        return VARIANT
    spelled = call.text(2)
    if spelled is None:
        raise Underivable("The type that it gives isn't written out.", "Write the type as a literal, like 'INT'.")
    try:
        return parse_type(spelled)
    except ValueError:
        return None


def to_variant_object(call: Call) -> SparkType | None:
    """A variant of a nested value."""
    return VARIANT if call.given[0].name in ("array", "map", "struct", "unknown") else None


# Aggregates


def sum(call: Call) -> SparkType | None:  # noqa: A001 - it is what the function is called
    """Whole numbers add up to BIGINT, decimals get ten digits more."""
    kind = DOUBLE if call.given[0] == TIMESTAMP else call.kinds[0]
    if kind.is_integral:
        return BIGINT
    if kind.name == "decimal":
        return bounded(kind.digits[0] + 10, kind.digits[1])
    return kind if kind.is_ansi_interval or kind == UNKNOWN else DOUBLE


def avg(call: Call) -> SparkType | None:
    """A mean is a double; of decimals a decimal with four places more."""
    kind = call.kinds[0]
    if kind.name == "decimal":
        return bounded(kind.digits[0] + 4, kind.digits[1] + 4)
    return {"day_time": DAY_TO_SECOND, "year_month": YEAR_TO_MONTH, "unknown": UNKNOWN}.get(kind.name, DOUBLE)


def count_distinct(call: Call) -> SparkType | None:
    """approx_count_distinct."""
    return BIGINT


def collect_set(call: Call) -> SparkType | None:
    """A set has no maps in it: they have no order."""
    return None if _holds_map(call.given[0]) else array(call.given[0])


def extreme(call: Call) -> SparkType | None:
    """min, max."""
    return call.given[0] if is_orderable(call.given[0]) else None


def extreme_by(call: Call) -> SparkType | None:
    """min_by(value, order), or the first so many as an array."""
    if not is_orderable(call.given[1]):
        return None
    return array(call.given[0]) if len(call.given) == 3 else call.given[0]


def mode(call: Call) -> SparkType | None:
    """The most frequent value, of an argument or of WITHIN GROUP."""
    kinds = call.given or call.ordering
    return kinds[0] if kinds and not _holds_map(kinds[0]) else None


def _quantile(kind: SparkType, of: SparkType) -> SparkType:
    return array(kind) if of.name == "array" else kind


def _interpolated(kind: SparkType) -> SparkType:
    return {"day_time": DAY_TO_SECOND, "year_month": YEAR_TO_MONTH, "time": kind, "unknown": UNKNOWN}.get(kind.name, DOUBLE)


def percentile(call: Call) -> SparkType | None:
    """percentile(x, share), median(x)."""
    found = _interpolated(call.kinds[0])
    return _quantile(found, call.kinds[1]) if len(call.kinds) > 1 else found


def percentile_within(call: Call) -> SparkType | None:
    """percentile_cont(share) WITHIN GROUP (ORDER BY x)."""
    if len(call.ordering) != 1:
        raise Refused("It needs an order.", "Write WITHIN GROUP (ORDER BY …) behind it.")
    kind = call.ordering[0]
    if not (kind.is_numeric or kind.is_ansi_interval or kind in (STRING, VOID, UNKNOWN) or kind.name == "time"):
        return None
    return _quantile(_interpolated(kind), call.kinds[0])


def approx_percentile(call: Call) -> SparkType | None:
    """approx_percentile(x, share): a value of x."""
    return _quantile(call.kinds[0], call.kinds[1])


def quantile_bigint(call: Call) -> SparkType | None:
    """A BIGINT for each share that is asked for."""
    return _quantile(BIGINT, call.kinds[1])


def quantile_double(call: Call) -> SparkType | None:
    """A DOUBLE for each share that is asked for."""
    return _quantile(DOUBLE, call.kinds[1])


def quantile_float(call: Call) -> SparkType | None:
    """A FLOAT for each share that is asked for."""
    return _quantile(SparkType("float"), call.kinds[1])


def histogram(call: Call) -> SparkType | None:
    """histogram_numeric: bins with their heights."""
    return array(struct(("x", call.kinds[0]), ("y", DOUBLE)))


def regr_avgx(call: Call) -> SparkType | None:
    """The mean of the second argument."""
    return avg(Call("avg", call.arguments[1:], call.given[1:], call.kinds[1:], call.type_lambda))


def regr_avgy(call: Call) -> SparkType | None:
    """The mean of the first argument."""
    return avg(Call("avg", call.arguments[:1], call.given[:1], call.kinds[:1], call.type_lambda))


def top_k_accumulate(call: Call) -> SparkType | None:
    """The sketch of approx_top_k."""
    return struct(("sketch", BINARY), ("maxItemsTracked", INT), ("itemDataType", call.given[0]), ("itemDataTypeDDL", STRING))


def top_k_combine(call: Call) -> SparkType | None:
    """Several sketches of approx_top_k as one."""
    return call.given[0]


def top_k_estimate(call: Call) -> SparkType | None:
    """The items of a sketch of approx_top_k."""
    item = call.given[0].field("itemDataType")
    return None if item is None else array(struct(("item", item), ("count", BIGINT)))


# Windows


def lag(call: Call) -> SparkType | None:
    """lag and lead: the type of the value; the default is cast to it."""
    kind = call.given[0]
    if len(call.given) < 3 or call.given[2] in (kind, VOID, UNKNOWN) or UNKNOWN == kind:
        return kind
    default = call.given[2]
    fits = can_assign(default, kind) or (default == STRING and kind.is_atomic)
    return kind if fits else None


def counter_diff(call: Call) -> SparkType | None:
    """How far a counter has moved since the row before."""
    return call.given[0] if call.given[0].is_numeric or call.given[0] == UNKNOWN else None


# Generators: a struct of the columns that they make


def explode(call: Call) -> SparkType | None:
    """A row for each element, or for each entry."""
    kind = call.kinds[0]
    return struct(("col", kind.element)) if kind.name == "array" else struct(("key", kind.key), ("value", kind.value))


def posexplode(call: Call) -> SparkType | None:
    """The same with the place of each."""
    rows = explode(call)
    assert rows is not None
    return struct(("pos", INT), *zip(rows.labels, rows.parts, strict=True))


def inline(call: Call) -> SparkType | None:
    """A row for each struct."""
    return call.kinds[0].element


def json_tuple(call: Call) -> SparkType | None:
    """A column for each field of a JSON text."""
    return struct(*((f"c{position}", STRING) for position in range(len(call.given) - 1)))


def stack(call: Call) -> SparkType | None:
    """stack(rows, a, b, …): the arguments cut into rows."""
    rows = call.number(0)
    if not rows or rows < 1:
        raise Refused("The number of rows must be a constant.", "Write it as a literal, like stack(2, …).")
    values = call.given[1:]
    width = -(-len(values) // rows)
    columns = [common(values[position::width]) for position in range(width)]
    found = [kind for kind in columns if kind is not None]
    return struct(*((f"col{n}", kind) for n, kind in enumerate(found))) if len(found) == width else None


def find_rule(name: str) -> Rule:
    """The rule that the catalogue names."""
    rule: Rule = globals()[{"map_of": "map_of_arguments"}.get(name, name)]
    return rule
