"""Rules for operators and conditions."""

from __future__ import annotations

from headwater.plan.spark_type import (
    BOOLEAN,
    INT,
    UNKNOWN,
    VOID,
    SparkType,
    parse_type,
)  # fmt: skip
from headwater.plan.typing import arithmetic
from headwater.plan.typing.call import Call
from headwater.plan.typing.coercion import (
    can_cast,
    common,
    is_orderable,
    tightest,
    wider,
    wider_without_strings,
)  # fmt: skip

# Operators


def add(call: Call) -> SparkType | None:
    """`a + b`, and `+a`."""
    return arithmetic.add(*call.operands) if len(call.types) == 2 else arithmetic.negate(call.types[0])


def subtract(call: Call) -> SparkType | None:
    """`a - b`, and `-a`."""
    return arithmetic.subtract(*call.operands) if len(call.types) == 2 else arithmetic.negate(call.types[0])


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
    first, *others = (call.operand(position) for position in range(len(call.types)))
    return BOOLEAN if all(arithmetic.compare(first, other) for other in others) else None


def logical(call: Call) -> SparkType | None:
    """`a AND b`, `a OR b`."""
    return arithmetic.combine(*call.operands)


def in_list(call: Call) -> SparkType | None:
    """`a IN (b, …)`."""
    kind = common(call.types)
    return BOOLEAN if kind is not None and is_orderable(kind) else None


def negated(call: Call) -> SparkType | None:
    """A number with another sign; strings are read as doubles."""
    return arithmetic.negate(call.types[0])


def concat(call: Call) -> SparkType | None:
    """Texts, bytes or arrays one after the other."""
    kinds = list(call.types)
    if any(kind.name == "array" for kind in kinds):
        return common(kinds) if all(kind.name in ("array", "unknown") for kind in kinds) else None
    return arithmetic.concatenate(kinds)


# Conditions


def widest(call: Call) -> SparkType | None:
    """The common type of all arguments."""
    return common(call.types)


def widest_ordered(call: Call) -> SparkType | None:
    """The common type of all arguments, strings only with strings, where it has an order."""
    kind = common(call.types, wider_without_strings)
    return kind if kind is not None and is_orderable(kind) else None


def if_then(call: Call) -> SparkType | None:
    """if(condition, a, b)."""
    return wider(*call.types[1:]) if call.types[0] in (BOOLEAN, VOID, UNKNOWN) else None


def when(call: Call) -> SparkType | None:
    """when(condition, value, …, otherwise)."""
    pairs = len(call.types) // 2 * 2
    if any(kind not in (BOOLEAN, UNKNOWN) for kind in call.types[0:pairs:2]):
        return None
    return common([*call.types[1:pairs:2], *call.types[pairs:]])


def nvl2(call: Call) -> SparkType | None:
    """nvl2(tested, a, b)."""
    return wider(*call.types[1:])


def nullif(call: Call) -> SparkType | None:
    """The first argument or NULL."""
    return call.types[0] if arithmetic.compare(*call.operands) else None


def nullifzero(call: Call) -> SparkType | None:
    """The argument or NULL, where it can be compared with 0."""
    return call.types[0] if arithmetic.compare(call.operand(0), arithmetic.Operand(INT, 0)) else None


def zeroifnull(call: Call) -> SparkType | None:
    """The argument or 0."""
    return wider(call.types[0], INT)


def nanvl(call: Call) -> SparkType | None:
    """A floating-point number or its substitute."""
    return tightest(*call.kinds)


def cast_to_name(call: Call) -> SparkType | None:
    """int(x), date(x), …: a cast to the type of that name."""
    target = parse_type(call.name)
    return target if can_cast(call.types[0], target) else None
