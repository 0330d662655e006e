"""The types of PostgreSQL and the declared ones that are meant for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

_DIGITS_OF = {pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
_DIGITS = {"smallint": 5, "integer": 10, "bigint": 19}
_FITTING: Mapping[str, Sequence[Callable[[pa.DataType], bool]]] = {
    "boolean": (pa.types.is_boolean,),
    "real": (pa.types.is_floating,),
    "double precision": (pa.types.is_float64,),
    "numeric": (pa.types.is_decimal, pa.types.is_string),
    "date": (pa.types.is_date, pa.types.is_timestamp, pa.types.is_string),
    "timestamp with time zone": (pa.types.is_timestamp, pa.types.is_string),
    "timestamp without time zone": (pa.types.is_timestamp, pa.types.is_string),
    "bytea": (pa.types.is_binary,),
}


def fits(kind: str, declared: pa.DataType) -> bool:
    """Tells whether a column of PostgreSQL is of a type that the declared one is meant for.

    >>> fits("integer", pa.int64()), fits("bigint", pa.int32()), fits("text[]", pa.list_(pa.string()))
    (True, False, True)
    """
    if kind.endswith("[]"):
        return bool(pa.types.is_list(declared)) and fits(kind.removesuffix("[]"), declared.value_type)
    if kind in _DIGITS:
        digits = _DIGITS[kind]
        if pa.types.is_decimal(declared):
            return bool(declared.precision - declared.scale >= digits)
        return bool(pa.types.is_integer(declared)) and digits <= _DIGITS_OF.get(declared, 0)
    return any(is_kind(declared) for is_kind in _FITTING.get(kind, (pa.types.is_string,)))
