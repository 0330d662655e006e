"""Python types as column types: what the annotations of a dataclass mean.

    str STRING    int BIGINT    float DOUBLE    bool BOOLEAN    bytes BINARY    datetime TIMESTAMP    date DATE
    time TIME     timedelta INTERVAL DAY TO SECOND    list[T] ARRAY    dict[K, V] MAP    a dataclass STRUCT
    Annotated[T, "SPARK TYPE"] that type    T | None the same, nullable

A column or field without `| None` is NOT NULL. Elements of arrays and maps may always be NULL, as in SQL.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from headwater import sql
from headwater.findings import UnknownType
from headwater.model import INSTANT, Column

Names = Mapping[str, Any]
_NOTHING: Names = {}
_SCALARS: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    datetime: INSTANT,
    date: pa.date32(),
    time: pa.time64("us"),
    timedelta: pa.duration("us"),
}


def column_of(name: str, spec: Any, known: Names = _NOTHING) -> Column:
    """A column from its name and its type: SQL text, a Python type, an Arrow type or a column.

    `known` are the names that annotations may use beside those of their module.

    >>> print(column_of("at", datetime), "|", column_of("note", str | None), "|", column_of("n", "INT"))
    at TIMESTAMP NOT NULL | note STRING | n INT
    """
    if isinstance(spec, Column):
        return replace(spec, name=name)
    if isinstance(spec, str):
        return sql.parse_column(name, spec)
    if isinstance(spec, pa.DataType):
        return Column(name, spec)
    return _annotated_column(name, spec, known)


def type_of(spec: Any) -> pa.DataType:
    """The type alone."""
    return sql.parse_type(spec) if isinstance(spec, str) else column_of("value", spec).type


def columns_of_class(declared: type, known: Names = _NOTHING) -> tuple[Column, ...]:
    """The columns that the annotations of a class say, in their order."""
    try:
        hints = get_type_hints(declared, localns=dict(known), include_extras=True)
    except NameError as missing:
        raise UnknownType(f'class "{declared.__name__}" names an unknown type', detail=f"{missing}.") from None
    if not hints:
        raise UnknownType(f'class "{declared.__name__}" has no annotated fields', hint="Write name: type in it.")
    return tuple(_annotated_column(name, hint, known) for name, hint in hints.items())


def _annotated_column(name: str, hint: Any, known: Names) -> Column:
    nullable, kind = _without_none(hint)
    text = next((part for part in get_args(kind)[1:] if isinstance(part, str)), None) if _is_annotated(kind) else None
    if _is_annotated(kind):
        inner_nullable, kind = _without_none(get_args(kind)[0])
        nullable = nullable or inner_nullable
    if text is not None:
        column = sql.parse_column(name, text)
        return replace(column, nullable=column.nullable and nullable)
    return Column(name, _arrow(name, kind, known), nullable)


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated


def _without_none(hint: Any) -> tuple[bool, Any]:
    if get_origin(hint) not in (Union, types.UnionType):
        return False, hint
    rest = [part for part in get_args(hint) if part is not type(None)]
    if len(rest) != 1:
        raise UnknownType(f"{hint} is not one type", hint="Write one type, or one type | None.")
    return len(rest) < len(get_args(hint)), rest[0]


def _arrow(name: str, kind: Any, known: Names) -> pa.DataType:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if get_origin(kind) is list:
        return pa.list_(_annotated_column(name, get_args(kind)[0], known).type)
    if get_origin(kind) is dict:
        return pa.map_(*(_annotated_column(name, part, known).type for part in get_args(kind)))
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, type) and getattr(kind, "__annotations__", None):
        return pa.struct([column.field for column in columns_of_class(kind, known)])
    if kind is Decimal:
        hint = 'Write Annotated[Decimal, "DECIMAL(12, 2)"].'
        raise UnknownType(f'"{name}" is a Decimal of unknown size', hint=hint)
    spelled = getattr(kind, "__name__", str(kind))
    raise UnknownType(f'"{name}" is a {spelled}, which is no column type', hint='Write Annotated[…, "SPARK TYPE"].')
