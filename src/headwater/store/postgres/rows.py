"""A batch as encoded columns, of each key one row, sorted as the index is: it is faster to walk it in order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.fit import fitted, last_of_each_key, not_written, whole
from headwater.store.postgres.staging import Pattern
from headwater.store.postgres.version_tables import VersionTables
from headwater.store.protocol import Batch
from headwater.store.refusals import batch_refused, only_added
from headwater.store.unfit import Unfit


@dataclass(frozen=True)
class Rows:
    """The rows that a batch writes and deletes, ready to be copied."""

    upserts: list[pa.Array]
    deletes: list[pa.Array]


def rows_of(tables: VersionTables, batch: Batch) -> Rows:
    """The rows of a batch; `BatchRefused` if it deletes where nothing may be deleted."""
    target = tables.target
    upserts = _encoded(tables, batch, fitted(target, batch.upserts, target.columns), range(len(tables.columns)))
    if not tables.replaces:
        if batch.deletes.num_rows:
            raise only_added(target, batch)
        return Rows(upserts, [])
    last = last_of_each_key([upserts[position] for position in tables.key]) if len(upserts[0]) else None
    if last is not None:
        upserts = [column.take(last) for column in upserts]
    upserts = _sorted(tables, upserts)
    return Rows(upserts, _deletes_of(tables, batch, upserts) if batch.deletes.num_rows else [])


def _deletes_of(tables: VersionTables, batch: Batch, upserts: list[pa.Array]) -> list[pa.Array]:
    """The deleted keys that aren't written as well."""
    target = tables.target
    deletes = _encoded(tables, batch, fitted(target, batch.deletes, target.key_columns), tables.key)
    pairs = [_alike(key, upserts[position]) for position, key in zip(tables.key, deletes, strict=True)]
    left = not_written([deleted for deleted, _ in pairs], [written for _, written in pairs])
    return [column.take(left) for column in deletes]


def _alike(first: pa.Array, second: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both of one type: of the same column, one may be text because a value of it has to be."""
    if first.type == second.type:
        return first, second
    return first.cast(pa.string()), second.cast(pa.string())


def _encoded(
    tables: VersionTables, batch: Batch, table: pa.Table, positions: range | tuple[int, ...]
) -> list[pa.Array]:
    try:
        pairs = zip(positions, table.columns, strict=True)
        return [tables.codecs[position].encode(whole(column)) for position, column in pairs]
    except Unfit as cause:
        reason = f"PostgreSQL can't hold one of its values ({cause.kind})."
        raise batch_refused(tables.target, batch, reason) from cause


def _sorted(tables: VersionTables, columns: list[pa.Array]) -> list[pa.Array]:
    if len(columns[0]) < 2:
        return columns
    keys = pa.table([columns[position] for position in tables.key], names=[str(position) for position in tables.key])
    order = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    return [column.take(order) for column in columns]


def patterns_of(keys: list[pa.Array]) -> list[Pattern]:
    """The combinations of NULLs that these keys may have.

    >>> patterns_of([pa.array(["a", None]), pa.array([1, 2])])
    [(False, False), (True, False)]
    """
    if not keys or not len(keys[0]):
        return []
    possible = [{bool(null) for null in _nulls(key)} for key in keys]
    return sorted(product(*possible))


def _nulls(key: pa.Array) -> list[bool]:
    return [null for null, has in ((True, key.null_count > 0), (False, key.null_count < len(key))) if has]
