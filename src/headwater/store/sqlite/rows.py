"""A batch as rows for SQLite, sorted as the table is: an upsert that walks the tree in order is faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import eq
from typing import Any

import pyarrow as pa

from headwater.errors import BatchRefused, InternalError
from headwater.model import Column, Emit, schema_of
from headwater.store.protocol import Batch, Target
from headwater.store.sqlite.layout import Layout
from headwater.store.sqlite.values import codec_of

Columns = list[list[Any]]


def upserts_of(layout: Layout, batch: Batch) -> Columns:
    """The values of the rows to write, column by column, sorted by key; of each key the last row."""
    table = _fitted(layout.target, batch.upserts, layout.target.columns)
    order = [(name, "ascending") for name in layout.target.key if _sortable(table.schema.field(name).type)]
    columns = _encoded(table.sort_by(order) if order and table.num_rows > 1 else table)
    if not layout.target.key or layout.target.emit is Emit.FINAL:
        return columns
    keys = list(_keys(layout.target, columns))
    if not _has_doubles(keys, is_sorted=len(order) == len(layout.target.key)):
        return columns
    last = {key: place for place, key in enumerate(keys)}
    return [[column[place] for place in last.values()] for column in columns]


def _has_doubles(keys: list[tuple[Any, ...]], *, is_sorted: bool) -> bool:
    if is_sorted:
        return any(map(eq, keys, islice(keys, 1, None)))
    return len(set(keys)) < len(keys)


def deletes_of(layout: Layout, batch: Batch, upserts: Columns) -> list[tuple[Any, ...]]:
    """The keys to remove: those that aren't upserted in the same batch."""
    target = layout.target
    if not batch.deletes.num_rows:
        return []
    if not target.key or target.emit is Emit.FINAL:
        raise refusal(target, batch, "It deletes rows, and rows of this view are only added.")
    written = set(_keys(target, upserts))
    keys = zip(*_encoded(_fitted(target, batch.deletes, target.key_columns)), strict=True)
    return [key for key in keys if key not in written]


def _keys(target: Target, columns: Columns) -> Iterator[tuple[Any, ...]]:
    names = [column.name for column in target.columns]
    return zip(*(columns[names.index(name)] for name in target.key), strict=True)


def refusal(target: Target, batch: Batch, reason: str) -> BatchRefused:
    """The error for a batch that can't be applied."""
    return BatchRefused(
        f'view "{target.view}" version {target.version} can\'t take batch {batch.position.batch}',
        detail=f"{reason} Nothing of it was written.",
        hint="Run `headwater replay` to build a version from the log, beside this one.",
        view=target.view,
        version=target.version,
        batch=batch.position.batch,
    )


def _fitted(target: Target, table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    schema = schema_of(tuple(columns))
    if set(table.column_names) != set(schema.names):
        raise InternalError(
            f"a batch of view \"{target.view}\" doesn't have the view's columns",
            detail=f"Expected {', '.join(schema.names)}; found {', '.join(table.column_names) or 'none'}.",
        )
    columns_found = [table[field.name] for field in schema]
    cast = [
        found if found.type == field.type else found.cast(field.type)
        for found, field in zip(columns_found, schema, strict=True)
    ]
    return pa.table(cast, names=schema.names)


def _encoded(table: pa.Table) -> Columns:
    return [codec_of(column.type).encode(_whole(column)) for column in table.columns]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _sortable(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))
