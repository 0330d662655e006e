"""A batch as rows for SQLite, sorted as the table is: an upsert that walks the tree in order is faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.fit import fitted, whole
from headwater.store.protocol import Batch, Target
from headwater.store.refusals import only_added
from headwater.store.sqlite.layout import Layout
from headwater.store.sqlite.values import codec_of

Columns = list[list[Any]]


def upserts_of(layout: Layout, batch: Batch) -> Columns:
    """The values of the rows to write, column by column, sorted by key; of each key the last row."""
    target = layout.target
    table = fitted(target, batch.upserts, target.columns)
    order = [(name, "ascending") for name in target.key if _sortable(table.schema.field(name).type)]
    table = table.sort_by(order) if order and table.num_rows > 1 else table
    columns = _encoded(table)
    if target.only_adds or not _may_repeat(table, target.key):
        return columns
    last = {key: place for place, key in enumerate(_keys(target, columns))}
    return columns if len(last) == table.num_rows else [[column[at] for at in last.values()] for column in columns]


def _may_repeat(table: pa.Table, key: Sequence[str]) -> bool:
    """Whether a key may come twice; certain only if the table is sorted by keys that are equal only if they look so."""
    kinds = [table.schema.field(name).type for name in key]
    if not all(_sortable(kind) and not pa.types.is_floating(kind) for kind in kinds):
        return True
    count = max(table.num_rows - 1, 0)
    same = pa.array(np.ones(count, np.bool_))
    for name in key:
        before, after = (whole(table[name]).slice(place, count) for place in (0, 1))
        nulls = pc.and_(before.is_null(), after.is_null())
        same = pc.and_(same, pc.or_(pc.fill_null(pc.equal(before, after), False), nulls))
    return bool(pc.any(same).as_py())


def grouped(columns: Columns, size: int) -> Iterator[tuple[Any, ...]]:
    """The values of so many rows at a time, one row behind the other; what doesn't fill a group is left out.

    >>> list(grouped([[1, 2, 3], ["a", "b", "c"]], 2))
    [(1, 'a', 2, 'b')]
    """
    values = chain.from_iterable(zip(*columns, strict=True))
    return zip(*[values] * (size * len(columns)), strict=False)


def deletes_of(layout: Layout, batch: Batch, upserts: Columns) -> list[tuple[Any, ...]]:
    """The keys to remove: those that aren't upserted in the same batch."""
    target = layout.target
    if not batch.deletes.num_rows:
        return []
    if target.only_adds:
        raise only_added(target, batch)
    written = set(_keys(target, upserts))
    keys = zip(*_encoded(fitted(target, batch.deletes, target.key_columns)), strict=True)
    return [key for key in keys if key not in written]


def _keys(target: Target, columns: Columns) -> Iterator[tuple[Any, ...]]:
    names = [column.name for column in target.columns]
    return zip(*(columns[names.index(name)] for name in target.key), strict=True)


def _encoded(table: pa.Table) -> Columns:
    return [codec_of(column.type).encode(whole(column)) for column in table.columns]


def _sortable(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))
