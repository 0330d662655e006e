"""The types of MariaDB and MySQL, the declared ones that are meant for them, and how their values are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.intake.changes.piece import Read
from headwater.json_text import Number
from headwater.model import Table, is_number

UNREAD = (
    *("json", "uuid", "inet4", "inet6", "vector", "xmltype", "geometry", "point", "linestring", "polygon"),
    *("multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection"),
)
"""The types whose values in the binary log are not read; a column that isn't declared may have one."""
_DIGITS_OF = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
_DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 7, "int": 10, "bigint": 19, "year": 4}
INTEGERS = ("tinyint(1)", *_DIGITS)
_BINARY = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_FITTING: Mapping[str, Sequence[Callable[[pa.DataType], bool]]] = {
    "float": (pa.types.is_floating,),
    "double": (pa.types.is_float64,),
    "date": (pa.types.is_date, pa.types.is_timestamp, pa.types.is_string),
    "datetime": (pa.types.is_timestamp, pa.types.is_string),
    "timestamp": (pa.types.is_timestamp, pa.types.is_string),
    "tinyint(1)": (pa.types.is_boolean, pa.types.is_integer),
    "bit(1)": (pa.types.is_boolean, pa.types.is_integer),
    **dict.fromkeys(_BINARY, (pa.types.is_binary,)),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_BITS = re.compile(r"bit\((\d+)\)")


def is_bits(kind: str) -> bool:
    """Tells whether a type is one of bits.

    >>> is_bits("bit(8)")
    True
    """
    return _BITS.fullmatch(kind) is not None


def fits(kind: str, declared: pa.DataType, *, is_unsigned: bool = False) -> bool:
    """Tells whether a column is of a type that the declared one is meant for.

    >>> fits("int", pa.int64()), fits("int", pa.int32(), is_unsigned=True), fits("varchar", pa.string())
    (True, False, True)
    """
    if kind in _DIGITS:
        digits = _DIGITS[kind] + is_unsigned
        if pa.types.is_decimal(declared):
            return bool(declared.precision - declared.scale >= digits)
        return bool(pa.types.is_integer(declared)) and digits <= _DIGITS_OF.get(declared, 0)
    if (decimal := _DECIMAL.fullmatch(kind)) is not None:
        precision, scale = map(int, decimal.groups())
        if not pa.types.is_decimal(declared):
            return bool(pa.types.is_string(declared))
        return bool(declared.scale >= scale and declared.precision - declared.scale >= precision - scale)
    if kind != "bit(1)" and (bits := _BITS.fullmatch(kind)) is not None:
        return declared == pa.int64() and int(bits[1]) < 64
    return any(is_kind(declared) for is_kind in _FITTING.get(kind, (pa.types.is_string,)))


def declared_type(kind: str, *, is_unsigned: bool = False) -> str:
    """The type to declare for one of a column.

    >>> declared_type("decimal(12,2)"), declared_type("bigint", is_unsigned=True), declared_type("tinyint(1)")
    ('DECIMAL(12, 2)', 'DECIMAL(20, 0)', 'BOOLEAN')
    """
    if (decimal := _DECIMAL.fullmatch(kind)) is not None:
        precision, scale = map(int, decimal.groups())
        return f"DECIMAL({precision}, {scale})" if precision <= 38 else "STRING"
    if kind in ("tinyint(1)", "bit(1)"):
        return "BOOLEAN"
    if kind in _DIGITS:
        wide = {"tinyint": "SMALLINT", "smallint": "INT", "int": "BIGINT", "bigint": "DECIMAL(20, 0)"}
        names = {"tinyint": "TINYINT", "smallint": "SMALLINT", "year": "SMALLINT", "bigint": "BIGINT"}
        return wide.get(kind, "INT") if is_unsigned else names.get(kind, "INT")
    if _BITS.fullmatch(kind) is not None:
        return "DECIMAL(20, 0)"
    plain = {"float": "FLOAT", "double": "DOUBLE", "date": "DATE", "datetime": "TIMESTAMP", "timestamp": "TIMESTAMP"}
    return plain.get(kind, "BINARY" if kind in _BINARY else "STRING")


def readers_of(table: Table, columns: Mapping[str, str]) -> dict[str, Read]:
    """The readers of the columns whose values aren't spelled as an intake reads them."""
    readers: dict[str, Read] = {}
    for column in table.columns:
        for name in (column.name, *column.aliases):
            kind = columns.get(name, "")
            if kind in ("tinyint(1)", "bit(1)") and pa.types.is_boolean(column.type):
                readers[name] = _truth
            elif kind.startswith("decimal") and is_number(column.type):
                readers[name] = Number
            elif kind in INTEGERS and pa.types.is_string(column.type):
                readers[name] = str
    return readers


def _truth(value: Any) -> Any:
    """A truth value as the server counts it; another number stays one.

    >>> _truth(1), _truth(0), _truth(7)
    (True, False, 7)
    """
    return bool(value) if value in (0, 1) else value
