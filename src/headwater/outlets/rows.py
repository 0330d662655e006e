"""Columns of the rows that changes speak of."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def column(rows: pa.StructArray, field: pa.Field) -> pa.Array:
    """A column of rows, NULL where there is no row; of rows from an older version that lack it, NULL everywhere."""
    if rows.type.get_field_index(field.name) < 0:
        return pa.nulls(len(rows), field.type)
    return pc.struct_field(rows, field.name).cast(field.type)


def latest(changes: pa.Table, field: pa.Field) -> pa.Array:
    """A column of the rows as they are or, where one is gone, as it was."""
    after, before = (side(changes, name) for name in ("after", "before"))
    return pc.if_else(pc.is_valid(after), column(after, field), column(before, field))


def side(changes: pa.Table, name: str) -> pa.StructArray:
    """The rows `before` or `after` the changes."""
    return changes[name].combine_chunks()
