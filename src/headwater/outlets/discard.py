"""Differences in place of totals: what each change adds to what was sent of its row before (Beam's *discarding* mode).

A row that comes adds its totals, one that changes what it has more or less, and one that goes takes its totals away. So
for each key the differences add up to the view, wherever one begins to add.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc


def totals_apart(changes: pa.Table, key: Collection[str]) -> pa.Table:
    """The changes with `after` as the difference, and each an insert: nothing that was sent is taken back.

    Columns outside the key must add up. A total that is NULL counts as nothing.
    """
    kind = changes.schema.field("after").type
    sides = changes["after"].combine_chunks(), changes["before"].combine_chunks()
    arrays = [_column(field, *sides, is_key=field.name in key) for field in kind]
    fields = [field.with_nullable(True) for field in kind]
    rows = pa.StructArray.from_arrays(arrays, fields=fields)
    found = {
        "op": pa.array(["insert"] * changes.num_rows, pa.string()),
        "before": pa.nulls(changes.num_rows, rows.type),
        "after": rows,
    }
    return pa.table({name: found.get(name, changes[name]) for name in changes.column_names})


def _column(field: pa.Field, after: pa.StructArray, before: pa.StructArray, *, is_key: bool) -> pa.Array:
    now, then = _values(after, field), _values(before, field)
    if is_key:
        return pc.if_else(pc.is_valid(after), now, then)
    wide = _wide(field.type)
    some, more = now.cast(wide), then.cast(wide)
    nothing = pa.scalar(0, pa.int64()).cast(wide)
    difference = pc.subtract_checked(pc.fill_null(some, nothing), pc.fill_null(more, nothing))
    return pc.if_else(pc.or_(now.is_valid(), then.is_valid()), difference.cast(field.type), pa.scalar(None, field.type))


def _values(rows: pa.StructArray, field: pa.Field) -> pa.Array:
    """A column of rows, NULL where there is no row; of an older version that doesn't have it, NULL everywhere."""
    if rows.type.get_field_index(field.name) < 0:
        return pa.nulls(len(rows), field.type)
    return pc.struct_field(rows, field.name).cast(field.type)


def _wide(kind: pa.DataType) -> pa.DataType:
    """A type in which a difference has room."""
    return pa.decimal256(60, kind.scale) if pa.types.is_decimal(kind) else pa.int64()
