"""Values of each type in a Delta table: as Delta's own type, wherever it has one.

TIME                      text, `10:30:00.250`
INTERVAL DAY TO SECOND    a number of microseconds
VOID                      text, always NULL
INTERVAL YEAR TO MONTH, VARIANT, and what holds one of all these: JSON text, see `headwater.store.nested`
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headwater.model import Column, can_be_logged
from headwater.store import instants, nested
from headwater.store.fit import whole
from headwater.store.protocol import Target
from headwater.store.unfit import Unfit


def kept_as(kind: pa.DataType) -> pa.DataType:
    """The type that a Delta table keeps values of this type as.

    >>> kept_as(pa.duration("us")), kept_as(pa.list_(pa.int64()))
    (DataType(int64), ListType(list<item: int64>))
    """
    if pa.types.is_duration(kind):
        return pa.int64()
    return kind if can_be_logged(kind) else pa.string()


def kept_schema(columns: Sequence[Column]) -> pa.Schema:
    """The columns as the table has them."""
    return pa.schema([pa.field(column.name, kept_as(column.type), column.nullable) for column in columns])


def encode(columns: Sequence[Column], table: pa.Table) -> pa.Table:
    """The rows as they are kept."""
    pairs = zip(columns, table.columns, strict=True)
    arrays = [_encoded(whole(values), column.type) for column, values in pairs]
    return pa.Table.from_arrays(arrays, schema=pa.schema([field.with_nullable(True) for field in kept_schema(columns)]))


def decode(target: Target, table: pa.Table) -> pa.Table:
    """The rows as they are declared; `Unfit` if they are not of that type."""
    arrays = [_decoded(whole(table[column.name]), column.type) for column in target.columns]
    return pa.Table.from_arrays(arrays, schema=target.schema)


def _encoded(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if can_be_logged(kind):
        return array
    if pa.types.is_duration(kind):
        return array.cast(pa.int64())
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    texts = instants.encode(array) if pa.types.is_time(kind) else nested.encode(array, kind)
    return pa.array(texts, pa.string())


def _decoded(array: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        if can_be_logged(kind) or pa.types.is_duration(kind):
            return array if array.type == kind else array.cast(kind)
        if pa.types.is_null(kind):
            return pa.nulls(len(array), kind)
        values = array.to_pylist()
        return instants.decode(values, kind) if pa.types.is_time(kind) else nested.decode(values, kind)
    except pa.ArrowException as cause:
        raise Unfit(kind) from cause
