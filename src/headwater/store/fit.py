"""A batch fitted to its target: the declared columns and types, of each key one row, and no delete that is undone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import InternalError
from headwater.model import INSTANT, Column, schema_of
from headwater.store.protocol import Batch, Span, Target
from headwater.store.refusals import batch_refused


def fitted(target: Target, table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The table with these columns in their order and with their types."""
    schema = schema_of(tuple(columns))
    if set(table.column_names) != set(schema.names):
        raise InternalError(
            f"a batch of view \"{target.view}\" doesn't have the view's columns",
            detail=f"Expected {', '.join(schema.names)}; found {', '.join(table.column_names) or 'none'}.",
        )
    pairs = [(table[field.name], field.type) for field in schema]
    cast = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
    return pa.table(cast, names=schema.names)


def without_nulls(target: Target, batch: Batch, upserts: pa.Table) -> pa.Table:
    """The batch's upserts; `BatchRefused` if one has no value where the target needs one."""
    for column in target.columns:
        if not column.nullable and upserts[column.name].null_count:
            raise batch_refused(target, batch, f'A row has no value for column "{column.name}", which needs one.')
    return upserts


def within(rows: pa.Table, span: Span) -> pa.Table:
    """The rows of a span."""
    column = rows[span.column]
    chosen = pc.less_equal(column, pa.scalar(span.upto, INSTANT))
    if span.after is not None:
        chosen = pc.and_(chosen, pc.greater(column, pa.scalar(span.after, INSTANT)))
    return rows.filter(chosen)


def whole(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def last_of_each_key(keys: Sequence[pa.Array]) -> pa.Array | None:
    """The positions of the rows to keep, where of each key the last row counts; None if every key comes once.

    NULLs are equal, and so are 0.0 and −0.0. The arrays are of types that Arrow can group by.

    >>> last_of_each_key([pa.array(["a", "b", "a", None, None])]).to_pylist()
    [1, 2, 4]
    """
    count = len(keys[0])
    names = [f"k{position}" for position in range(len(keys))]
    table = pa.table([*map(_comparable, keys), pa.array(np.arange(count))], names=[*names, "position"])
    last = table.group_by(names, use_threads=False).aggregate([("position", "max")])["position_max"]
    return None if len(last) == count else pa.array(np.sort(last.to_numpy()))


def not_written(deleted: Sequence[pa.Array], written: Sequence[pa.Array]) -> pa.Array:
    """The positions of the deleted keys that aren't written as well, each once."""
    count = len(deleted[0])
    names = [f"k{position}" for position in range(len(deleted))]
    keys = [pa.concat_arrays([*map(_comparable, pair)]) for pair in zip(deleted, written, strict=True)]
    positions = np.concatenate([np.arange(count), np.full(len(written[0]), count)])
    table = pa.table([*keys, pa.array(positions)], names=[*names, "position"])
    last = table.group_by(names, use_threads=False).aggregate([("position", "max")])["position_max"].to_numpy()
    return pa.array(np.sort(last[last < count]))


def _comparable(key: pa.Array) -> pa.Array:
    return pc.add(key, pa.scalar(0.0, key.type)) if pa.types.is_floating(key.type) else key
