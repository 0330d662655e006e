"""Data files of a version: written with the range of each column, by which those that can't have a key are passed over.

Ranges are kept as Delta's statistics, which every reader uses. Headwater trusts those of its own files alone: other
tools shorten texts and round instants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.log.datafile import as_parquet
from headwater.log.storage import Storage
from headwater.store.delta.names import CHANGES, file_of, merged_of, number_of

LARGEST = 250_000
"""Rows in a file: a batch that changes one of them writes the whole file anew."""
LONGEST_TEXT = 100
"""Characters of a text that is kept as an end of a range."""
Range = tuple[Any, Any]


def write_rows(storage: Storage, number: int, rows: pa.Table, order: Sequence[str], at: int) -> list[dict[str, Any]]:
    """Write rows for an entry, durably, in files of a bounded size; the `add` actions for them.

    What needs several files is sorted by `order` first, so that a key is in few of them.
    """
    if rows.num_rows > LARGEST and order:
        rows = rows.sort_by([(name, "ascending") for name in order])
    parts = [rows.slice(start, LARGEST) for start in range(0, rows.num_rows, LARGEST)]
    return [_added(storage, partial(file_of, number, part_number), part, at) for part_number, part in enumerate(parts)]


def _added(storage: Storage, named: Callable[[pa.Buffer], str], rows: pa.Table, at: int) -> dict[str, Any]:
    data = as_parquet(rows)
    path = named(data)
    storage.write(path, data)
    return {
        "path": path,
        "partitionValues": {},
        "size": data.size,
        "modificationTime": at,
        "dataChange": True,
        "stats": json.dumps(statistics(rows), separators=(",", ":")),
    }


def write_merged(storage: Storage, path: str, rows: pa.Table, at: int) -> dict[str, Any]:
    """Write the rows of files that follow each other as one that sorts where the first of them, at `path`, does."""
    return _added(storage, partial(merged_of, path), rows, at) | {"dataChange": False}


def write_changes(storage: Storage, number: int, changes: pa.Table) -> dict[str, Any]:
    """Write changes for an entry, durably; the `cdc` action for them."""
    data = as_parquet(changes)
    path = f"{CHANGES}/{file_of(number, 0, data)}"
    storage.write(path, data)
    return {"path": path, "partitionValues": {}, "size": data.size, "dataChange": False}


def removed(add: Mapping[str, Any], at: int, *, data_change: bool = True) -> dict[str, Any]:
    """The `remove` action for a file."""
    return {
        "path": add["path"],
        "deletionTimestamp": at,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": add["size"],
    }


def statistics(rows: pa.Table) -> dict[str, Any]:
    """Delta's statistics of some rows: how many, and of columns that can be compared the range and the NULLs."""
    ranges = {name: ends for name in rows.column_names if (ends := range_of(rows[name])) is not None}
    plain = [field.name for field in rows.schema if not pa.types.is_nested(field.type)]
    return {
        "numRecords": rows.num_rows,
        "minValues": {name: least for name, (least, _) in ranges.items()},
        "maxValues": {name: greatest for name, (_, greatest) in ranges.items()},
        "nullCount": {name: rows[name].null_count for name in plain},
    }


def range_of(column: pa.ChunkedArray) -> Range | None:
    """The least and the greatest value as JSON has them, where that is exact; None if they have no order there."""
    kind = column.type
    if not (
        pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    ):
        return None
    try:
        values = pc.min_max(column).as_py()
        ends = _spelled(values["min"]), _spelled(values["max"])
    except (ValueError, OverflowError):  # an instant that Python doesn't have
        return None
    return None if None in ends else ends


def _spelled(value: Any) -> Any:
    if isinstance(value, datetime):
        text = value.isoformat(timespec="microseconds")
        return text.replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, str) and len(value) > LONGEST_TEXT else value


def may_have(files: Mapping[str, Mapping[str, Any]], keys: pa.Table) -> Iterator[Mapping[str, Any]]:
    """The files that may have a row with one of these keys."""
    wanted = {name: (range_of(keys[name]), keys[name].null_count) for name in keys.column_names}
    for path in sorted(files):
        if number_of(path) < 0 or _may_have(json.loads(files[path].get("stats") or "{}"), wanted):
            yield files[path]


def _may_have(stats: Mapping[str, Any], wanted: Mapping[str, tuple[Range | None, int]]) -> bool:
    for name, (span, nulls) in wanted.items():
        least, greatest = (stats.get(side, {}).get(name) for side in ("minValues", "maxValues"))
        if nulls and stats.get("nullCount", {}).get(name, 1):
            continue
        if span is None or least is None or greatest is None:
            continue
        if span[1] < least or span[0] > greatest:
            return False
    return True
