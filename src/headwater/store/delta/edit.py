"""The edit of a batch: the files of a version that it replaces, the rows that it writes, and the changes.

Where rows replace others, the files that have one of the batch's keys are read, the rows that change are taken out, and
what is left is written anew with the batch's rows. A row that is as it was is no change. Where rows are only added,
nothing is replaced; a settled row that comes a second time is found by the keys of the files that may have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import Emit
from headwater.store import nested
from headwater.store.delta.files import may_have
from headwater.store.delta.values import encode
from headwater.store.fit import fitted, last_of_each_key, not_written, whole, without_nulls
from headwater.store.protocol import Batch, Target
from headwater.store.refusals import batch_refused, check_added, only_added

Read = Callable[[Mapping[str, Any], list[str] | None], pa.Table]
"""Reads a file: all columns or some."""
Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Edit:
    """Files that go, rows that are written in their place, and the changes; None: the rows were all inserted."""

    removed: tuple[Mapping[str, Any], ...]
    rows: pa.Table
    changes: pa.Table | None
    changed: int


@dataclass(frozen=True)
class Wanted:
    """A batch as the table keeps it: of each key one row, and the keys that go."""

    target: Target
    upserts: pa.Table
    deletes: pa.Table

    @property
    def replaces(self) -> bool:
        """Tells whether a row may replace another one."""
        return bool(self.target.key) and self.target.emit is not Emit.FINAL


def wanted_of(target: Target, batch: Batch) -> Wanted:
    """The batch fitted to its target; `BatchRefused` if it has what the target can't take."""
    upserts = encode(target.columns, without_nulls(target, batch, fitted(target, batch.upserts, target.columns)))
    wanted = Wanted(target, upserts, upserts.slice(0, 0).select(list(target.key)))
    if not wanted.replaces:
        if batch.deletes.num_rows:
            raise only_added(target, batch)
        return wanted
    keys = _comparable(upserts.select(list(target.key)))
    last = last_of_each_key(keys) if upserts.num_rows else None
    upserts = upserts if last is None else upserts.take(last)
    if not batch.deletes.num_rows:
        return Wanted(target, upserts, wanted.deletes)
    deletes = encode(target.key_columns, fitted(target, batch.deletes, target.key_columns))
    return Wanted(target, upserts, deletes.take(not_written(_comparable(deletes), keys)))


def edit(wanted: Wanted, batch: Batch, files: Mapping[str, Mapping[str, Any]], read: Read) -> Edit:
    """The edit of these files by the batch."""
    key = list(wanted.target.key)
    if wanted.replaces:
        keys = pa.concat_tables([wanted.upserts.select(key), wanted.deletes])
        return _replaced(wanted, batch, keys, list(may_have(files, keys)) if keys.num_rows else [], read)
    if key and wanted.upserts.num_rows:
        keys = wanted.upserts.select(key)
        twice = last_of_each_key(_comparable(keys)) is not None
        there = [read(add, key) for add in may_have(files, keys)]
        if twice or (there and len(_met(pa.concat_tables(there), keys)[0])):
            raise batch_refused(wanted.target, batch, "A settled row comes a second time.")
    return Edit((), wanted.upserts, None, wanted.upserts.num_rows)


def _replaced(wanted: Wanted, batch: Batch, keys: pa.Table, files: Sequence[Mapping[str, Any]], read: Read) -> Edit:
    upserts, count = wanted.upserts, wanted.upserts.num_rows
    parts = [read(add, None).select(upserts.column_names) for add in files]
    there = pa.concat_tables([upserts.slice(0, 0), *parts])
    old, new = _met(there.select(list(wanted.target.key)), keys)
    deleted = old[new >= count]
    old, new = old[new < count], new[new < count]
    differs = _differ(there.take(pa.array(old)), upserts.take(pa.array(new)), wanted.target.key)
    inserted = np.setdiff1d(np.arange(count), new, assume_unique=True)
    check_added(wanted.target, batch, len(inserted))
    old, changed = old[differs], new[differs]
    gone = np.concatenate([old, deleted])
    ends = np.cumsum([part.num_rows for part in parts])
    touched = np.unique(np.searchsorted(ends, gone, side="right"))
    left = _left(there, parts, ends, touched, gone)
    rows = pa.concat_tables([left, upserts.take(pa.array(np.sort(np.concatenate([inserted, changed]))))])
    number = len(inserted) + len(gone)
    if not len(touched):
        return Edit((), rows, None, number)
    images = {
        "insert": upserts.take(pa.array(inserted)),
        "update_preimage": there.take(pa.array(old)),
        "update_postimage": upserts.take(pa.array(changed)),
        "delete": there.take(pa.array(deleted)),
    }
    return Edit(tuple(files[at] for at in touched), rows, changes_of(images), number)


def changes_of(images: Mapping[str, pa.Table]) -> pa.Table:
    """Rows with Delta's name of what became of them; images before and after an update are in the same order."""
    named = [
        rows.append_column("_change_type", pa.array([kind] * rows.num_rows, pa.string()))
        for kind, rows in images.items()
    ]
    return pa.concat_tables(named)


def _left(there: pa.Table, parts: Sequence[pa.Table], ends: Places, touched: Places, gone: Places) -> pa.Table:
    """The rows of the touched files that stay."""
    keep = np.zeros(there.num_rows, np.bool_)
    for number in touched:
        keep[ends[number] - parts[number].num_rows : ends[number]] = True
    keep[gone] = False
    return there.filter(pa.array(keep))


def _met(there: pa.Table, keys: pa.Table) -> tuple[Places, Places]:
    """The positions of the rows that have one of the keys, and the positions of those keys. Each key comes once."""
    count, names = there.num_rows, [f"k{position}" for position in range(keys.num_columns)]
    pairs = zip(_comparable(there), _comparable(keys), strict=True)
    both = pa.table(
        [*(pa.concat_arrays(pair) for pair in pairs), pa.array(np.arange(count + keys.num_rows))],
        names=[*names, "position"],
    )
    groups = both.group_by(names, use_threads=False).aggregate([("position", "min"), ("position", "max")])
    first, last = groups["position_min"].to_numpy(), groups["position_max"].to_numpy()
    met = (first < count) & (last >= count)
    return first[met], last[met] - count


def _comparable(keys: pa.Table) -> list[pa.Array]:
    """Keys as Arrow can compare them: 0.0 and −0.0 are one key, and nested ones are spelled."""
    return [_as_comparable(whole(column)) for column in keys.columns]


def _as_comparable(key: pa.Array) -> pa.Array:
    if pa.types.is_nested(key.type):
        return pa.array(nested.encode(key, key.type), pa.string())
    return pc.add(key, pa.scalar(0.0, key.type)) if pa.types.is_floating(key.type) else key


def _differ(old: pa.Table, new: pa.Table, key: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The rows that are not the same in both."""
    differs = np.zeros(old.num_rows, np.bool_)
    for name in old.column_names:
        if name not in key:
            differs |= _differ_in(whole(old[name]), whole(new[name]))
    return differs


def _differ_in(old: pa.Array, new: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if pa.types.is_nested(old.type):
        return np.array([before != after for before, after in zip(*map(_spelled, (old, new)), strict=True)], np.bool_)
    same = pc.fill_null(pc.equal(old, new), False)
    if pa.types.is_floating(old.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(old), pc.is_nan(new)), False))
    same = pc.or_(same, pc.and_(old.is_null(), new.is_null()))
    differ: np.ndarray[Any, np.dtype[np.bool_]] = ~same.to_numpy(zero_copy_only=False)
    return differ


def _spelled(array: pa.Array) -> list[Any]:
    return nested.encode(array, array.type)
