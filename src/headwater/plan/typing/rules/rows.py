"""Rules for functions of many rows: aggregates, window functions, and generators, which make them."""

from __future__ import annotations

from headwater.plan.spark_type import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TO_SECOND,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VOID,
    YEAR_TO_MONTH,
    SparkType,
    array,
    struct,
)  # fmt: skip
from headwater.plan.typing.call import Call, Refused
from headwater.plan.typing.coercion import (
    bounded,
    can_assign,
    holds,
    is_orderable,
)  # fmt: skip

# Aggregates


def summed(call: Call) -> SparkType | None:
    """Whole numbers add up to BIGINT, decimals get ten digits more."""
    kind = call.kinds[0]
    if call.types[0] in (DATE, TIMESTAMP_NTZ) or call.types[0].name == "time":
        return None
    if kind.is_integral:
        return BIGINT
    if kind.name == "decimal":
        return bounded(kind.digits[0] + 10, kind.digits[1])
    return kind if kind.is_ansi_interval or kind == UNKNOWN else DOUBLE


def averaged(call: Call) -> SparkType | None:
    """A mean is a double; of decimals a decimal with four places more."""
    kind = call.kinds[0]
    if call.types[0] in (DATE, TIMESTAMP_NTZ) or call.types[0].name == "time":
        return None
    if kind.name == "decimal":
        return bounded(kind.digits[0] + 4, kind.digits[1] + 4)
    return {"day_time": DAY_TO_SECOND, "year_month": YEAR_TO_MONTH, "unknown": UNKNOWN}.get(kind.name, DOUBLE)


def collect_set(call: Call) -> SparkType | None:
    """A set has no maps in it: they have no order."""
    return None if holds(call.types[0], "map") else array(call.types[0])


def extreme(call: Call) -> SparkType | None:
    """min, max."""
    return call.types[0] if is_orderable(call.types[0]) else None


def extreme_by(call: Call) -> SparkType | None:
    """min_by(value, order), or the first so many as an array."""
    if not is_orderable(call.types[1]):
        return None
    return array(call.types[0]) if len(call.types) == 3 else call.types[0]


def mode(call: Call) -> SparkType | None:
    """The most frequent value, of an argument or of WITHIN GROUP."""
    kinds = call.types or call.ordering
    return kinds[0] if kinds else None


def _quantile(kind: SparkType, of: SparkType) -> SparkType:
    return array(kind) if of.name == "array" else kind


def _interpolated(kind: SparkType) -> SparkType:
    return {"day_time": DAY_TO_SECOND, "year_month": YEAR_TO_MONTH, "time": kind, "unknown": UNKNOWN}.get(
        kind.name, DOUBLE
    )


def percentile(call: Call) -> SparkType | None:
    """percentile(x, share), median(x)."""
    kind = _interpolated(call.kinds[0])
    return _quantile(kind, call.kinds[1]) if len(call.kinds) > 1 else kind


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
    return averaged(Call("avg", call.arguments[1:], call.types[1:], call.kinds[1:], call.type_lambda))


def regr_avgy(call: Call) -> SparkType | None:
    """The mean of the first argument."""
    return averaged(Call("avg", call.arguments[:1], call.types[:1], call.kinds[:1], call.type_lambda))


def top_k_accumulate(call: Call) -> SparkType | None:
    """The sketch of approx_top_k."""
    return struct(
        ("sketch", BINARY), ("maxItemsTracked", INT), ("itemDataType", call.types[0]), ("itemDataTypeDDL", STRING)
    )


def top_k_combine(call: Call) -> SparkType | None:
    """Several sketches of approx_top_k as one."""
    return call.types[0]


def top_k_estimate(call: Call) -> SparkType | None:
    """The items of a sketch of approx_top_k."""
    item = call.types[0].field("itemDataType")
    return None if item is None else array(struct(("item", item), ("count", BIGINT)))


# Windows


def lag(call: Call) -> SparkType | None:
    """lag and lead: the type of the value; the default is cast to it."""
    kind = call.types[0]
    if len(call.types) < 3 or call.types[2] in (kind, VOID, UNKNOWN) or kind == UNKNOWN:
        return kind
    default = call.types[2]
    fits = can_assign(default, kind) or (default == STRING and kind.is_atomic)
    return kind if fits else None


def counter_diff(call: Call) -> SparkType | None:
    """The distance of a counter from the row before."""
    kind = call.types[0]
    if len(call.types) == 2 and not (call.types[1].is_timestamp or call.types[1] in (VOID, UNKNOWN)):
        return None
    return DOUBLE if kind == VOID else kind if kind.is_numeric or kind == UNKNOWN else None


def assert_true(call: Call) -> SparkType | None:
    """NULL, or an error where the condition doesn't hold."""
    return VOID if call.types[0] in (BOOLEAN, VOID, UNKNOWN) else None


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
    return struct(*((f"c{position}", STRING) for position in range(len(call.types) - 1)))


def stack(call: Call) -> SparkType | None:
    """stack(rows, a, b, …): the arguments cut into rows."""
    rows = call.number(0)
    if not rows or rows < 1:
        raise Refused("The number of rows must be a constant.", "Write it as a literal, like stack(2, …).")
    values = call.types[1:]
    width = -(-len(values) // rows)
    columns = [set(values[position::width]) - {VOID} or {VOID} for position in range(width)]
    if any(len(kinds) > 1 for kinds in columns):
        return None
    return struct(*((f"col{position}", kinds.pop()) for position, kinds in enumerate(columns)))
