"""Shapes: what rows looked like when they were written, and how they are read as today's declaration has them.

Files are never rewritten when a declaration changes. The log notes from which entry on rows have another *shape*, and a
file from before that is *past*: its columns are found by the names that they had, promoted to the types that they have
now, and a column that it lacks has the default that is declared today. A file that only lacks columns without a
default, or has some that are no longer read, is not past: there every reader of Parquet sees the same.

What changes the type of a column in other ways, or its meaning, is another *version* of the topic, to which past rows
come by upcasts (`log.upcast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from headwater.model import Column, default_of

_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_DIGITS = dict(zip(_WHOLE, (3, 5, 10, 19), strict=True))


@dataclass(frozen=True)
class Shape:
    """The form of rows from entry `first` on: in which version, with which column as the event time."""

    first: int
    version: int
    time: str


@dataclass(frozen=True)
class Past:
    """The earlier shape that a file was written in, and how it is read.

    `defaults` are those of columns that it lacks, `aliases` the names that columns had.
    """

    shape: Shape
    defaults: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def named(self, columns: Sequence[Column]) -> list[Column]:
        """The columns with the names that they had, and defaults for those that are lacking."""
        aliases, defaults = dict(self.aliases), dict(self.defaults)
        return [
            replace(column, aliases=aliases.get(column.name, ()), default=defaults.get(column.name))
            for column in columns
        ]


def promotes(before: pa.DataType, now: pa.DataType) -> bool:
    """Tells whether every value of a type is one of the other, which is what it is promoted to.

    >>> promotes(pa.int32(), pa.int64()), promotes(pa.int64(), pa.int32())
    (True, False)
    """
    if before == now:
        return True
    if before in _WHOLE:
        return _takes_whole(before, now)
    if pa.types.is_decimal128(before) and pa.types.is_decimal128(now):
        return bool(now.scale >= before.scale and now.precision - now.scale >= before.precision - before.scale)
    if pa.types.is_list(before) and pa.types.is_list(now):
        return promotes(before.value_type, now.value_type)
    if pa.types.is_map(before) and pa.types.is_map(now):
        return promotes(before.key_type, now.key_type) and promotes(before.item_type, now.item_type)
    if pa.types.is_struct(before) and pa.types.is_struct(now):
        return _takes_struct(before, now)
    return (before, now) in ((pa.float32(), pa.float64()), (pa.date32(), pa.timestamp("us")))


def _takes_whole(before: pa.DataType, now: pa.DataType) -> bool:
    if now in _WHOLE:
        return _WHOLE.index(now) > _WHOLE.index(before)
    if pa.types.is_decimal128(now):
        return bool(now.precision - now.scale >= _DIGITS[before])
    return bool(now == pa.float64() and before != pa.int64())


def _takes_struct(before: pa.StructType, now: pa.StructType) -> bool:
    """Fields may be added at any place, and none may go."""
    names = [part.name for part in now]
    kept = all(part.name in names and promotes(part.type, now.field(part.name).type) for part in before)
    return kept and [part.name for part in before] == [name for name in names if name in {part.name for part in before}]


def fit(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The columns of rows that may have them by other names and in narrower types, or lack them.

    A value that doesn't fit raises `pa.ArrowInvalid`.
    """
    names = set(rows.column_names)
    arrays = []
    for column in columns:
        present = next((name for name in column.names if name in names), None)
        if present is None:
            arrays.append(pa.repeat(default_of(column.default, column.type), rows.num_rows))
        else:
            arrays.append(rows[present].cast(column.type))
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])
