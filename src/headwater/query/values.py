"""Rows on their way into DuckDB and out of it, without a digit lost.

An INTERVAL DAY TO SECOND goes in as its microseconds. A value that DuckDB has no type for stays here and goes in as a
number; the answer gets the value back for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.model import INSTANT, Variant
from headwater.plan.spark_type import SparkType, from_arrow, to_arrow
from headwater.query.spelling import is_opaque


class Opaque:
    """The values that stay here, each under a number."""

    def __init__(self) -> None:
        self._parts: dict[SparkType, list[pa.Array]] = {}
        self._counts: dict[SparkType, int] = {}

    def numbers(self, array: pa.Array, kind: SparkType) -> pa.Array:
        """Numbers that stand for the values of an array; NULL for NULL."""
        first = self._counts.get(kind, 0)
        self._parts.setdefault(kind, []).append(array)
        self._counts[kind] = first + len(array)
        mask = None if not array.null_count else np.asarray(array.is_null())
        return pa.array(np.arange(first, first + len(array)), pa.int64(), mask=mask)

    def values(self, numbers: pa.Array, kind: SparkType) -> pa.Array:
        """The values that numbers stand for."""
        target = to_arrow(kind)
        if pa.types.is_null(target):
            return pa.nulls(len(numbers), target)
        parts = self._parts.get(kind, [])
        if isinstance(target, Variant):
            storage = pa.chunked_array([part.storage for part in parts], target.storage_type)
            return pa.ExtensionArray.from_storage(target, _one(storage.take(numbers)))
        return _one(pa.chunked_array(parts, target).take(numbers))


def handed_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as DuckDB is handed them."""
    return pa.schema([pa.field(field.name, _handed_type(field.type)) for field in schema])


def _handed_type(kind: pa.DataType) -> pa.DataType:
    spark = from_arrow(kind)
    return pa.int64() if is_opaque(spark) or spark.name == "day_time" else kind


def handed(table: pa.Table, schema: pa.Schema, opaque: Opaque) -> list[pa.RecordBatch]:
    """Rows as DuckDB is handed them."""
    arrays = [
        _handed(_one(column), field.type, opaque) for column, field in zip(table.columns, table.schema, strict=True)
    ]
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(arrays, schema=schema).to_batches()
    return batches


def _handed(array: pa.Array, kind: pa.DataType, opaque: Opaque) -> pa.Array:
    spark = from_arrow(kind)
    if is_opaque(spark):
        return opaque.numbers(array, spark)
    return array.cast(pa.int64()) if spark.name == "day_time" else array


def answered(table: pa.Table, names: Sequence[str], kinds: Sequence[SparkType], opaque: Opaque) -> pa.Table:
    """The answer of DuckDB, with the types that the statement has in Spark."""
    arrays = [_answered(_one(column), kind, opaque) for column, kind in zip(table.columns, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


def _answered(array: pa.Array, kind: SparkType, opaque: Opaque) -> pa.Array:
    if is_opaque(kind):
        return opaque.values(array, kind)
    target = to_arrow(kind)
    if kind.name == "timestamp":
        return array.cast(pa.int64()).cast(INSTANT)
    return array if str(array.type) == str(target) else array.cast(target)  # equal types may name their parts otherwise


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
