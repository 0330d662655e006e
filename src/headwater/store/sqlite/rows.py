"""A batch as rows for SQLite, sorted as the table is: an upsert that walks the tree in order is faster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.fit import fitted, whole
from headwater.store.protocol import Batch, Target
from headwater.store.refusals import only_added
from headwater.store.sqlite.values import codec_of
from headwater.store.sqlite.version_tables import VersionTables

Columns = list[list[Any]]
PART = 1_000_000
"""The number of rows that are in memory as values of Python at a time: some 250 bytes each."""
FEW = 1_000
"""So many keys are sooner looked at one by one than asked for in Arrow, which lets others have the interpreter."""


@dataclass(frozen=True)
class Written:
    """The rows that a batch writes: keys to remove, then rows, whose values come column by column in parts.

    The values of the `first` part are ready; those of the `rest` are made when they are asked for, as often as that is.
    """

    deletes: list[tuple[Any, ...]]
    first: Columns
    rest: pa.Table | None = None

    @property
    def is_some(self) -> bool:
        """Tells whether there is anything to write."""
        return bool(self.deletes or self.first[0])

    @property
    def parts(self) -> Iterator[Columns]:
        """The values of all rows."""
        yield self.first
        if self.rest is not None:
            for start in range(0, self.rest.num_rows, PART):
                yield _encoded(self.rest.slice(start, PART))


def written_of(tables: VersionTables, batch: Batch) -> Written:
    """The rows that a batch writes, sorted by key; of each key the last row, and no delete of a key that is written.

    The values of the first part are ready, so that they are made before others have to wait for the database.
    """
    target = tables.target
    table = fitted(target, batch.upserts, target.columns)
    order = [(name, "ascending") for name in target.key if _sortable(table.schema.field(name).type)]
    table = table.sort_by(order) if order and table.num_rows > 1 else table
    if not target.only_adds:
        upserts = _last_rows(target, table)
        return Written(_deletes(target, batch, upserts), upserts)
    if batch.deletes.num_rows:
        raise only_added(target, batch)
    return Written([], _encoded(table.slice(0, PART)), table.slice(PART))


def _last_rows(target: Target, table: pa.Table) -> Columns:
    columns = _encoded(table)
    if not _may_repeat(table, target.key):
        return columns
    last = {key: position for position, key in enumerate(_keys(target, columns))}
    return columns if len(last) == table.num_rows else [[column[at] for at in last.values()] for column in columns]


def _may_repeat(table: pa.Table, key: Sequence[str]) -> bool:
    """Tells whether a key may come twice; not if the table is sorted by keys that are equal only if they look so."""
    kinds = [table.schema.field(name).type for name in key]
    if table.num_rows <= FEW or not all(_sortable(kind) and not pa.types.is_floating(kind) for kind in kinds):
        return True
    count = max(table.num_rows - 1, 0)
    same = pa.array(np.ones(count, np.bool_))
    for name in key:
        before, after = (whole(table[name]).slice(start, count) for start in (0, 1))
        nulls = pc.and_(before.is_null(), after.is_null())
        same = pc.and_(same, pc.or_(pc.fill_null(pc.equal(before, after), False), nulls))
    return bool(pc.any(same).as_py())


def grouped(columns: Columns, most: int) -> Iterator[tuple[int, Iterable[tuple[Any, ...]]]]:
    """The values of rows in groups, one row behind the other: groups of `most` rows, then ever smaller ones.

    With each statement other threads may take the interpreter, so that it has to be waited for.

    >>> [(size, list(rows)) for size, rows in grouped([[1, 2, 3], ["a", "b", "c"]], 2)]
    [(2, [(1, 'a', 2, 'b')]), (1, [(3, 'c')])]
    """
    values = chain.from_iterable(zip(*columns, strict=True))
    left, size = len(columns[0]), most
    while left:
        if count := left // size:
            width = size * len(columns)
            yield size, (tuple(islice(values, width)) for _ in range(count))
        left, size = left % size, 1 << ((left % size).bit_length() - 1) if left % size else 0


def _deletes(target: Target, batch: Batch, upserts: Columns) -> list[tuple[Any, ...]]:
    if not batch.deletes.num_rows:
        return []
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
