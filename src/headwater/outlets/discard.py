"""Differences in place of totals: what each change adds to what was sent of its row before (Beam's *discarding* mode).

A row that comes adds its totals, one that changes what it has more or less, and one that goes takes its totals away. So
for each key the differences add up to the view, wherever one begins to add.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from headwater.outlets.rows import column, latest, side


def totals_apart(changes: pa.Table, key: Collection[str]) -> pa.Table:
    """The changes with `after` as the difference, and each an insert: nothing that was sent is taken back.

    Columns outside the key must add up. A total that is NULL counts as nothing.
    """
    kind = changes.schema.field("after").type
    arrays = [latest(changes, field) if field.name in key else _difference(changes, field) for field in kind]
    fields = [field.with_nullable(True) for field in kind]
    rows = pa.StructArray.from_arrays(arrays, fields=fields)
    replaced = {
        "op": pa.array(["insert"] * changes.num_rows, pa.string()),
        "before": pa.nulls(changes.num_rows, rows.type),
        "after": rows,
    }
    return pa.table({name: replaced.get(name, changes[name]) for name in changes.column_names})


def _difference(changes: pa.Table, field: pa.Field) -> pa.Array:
    now, then = (column(side(changes, name), field) for name in ("after", "before"))
    wide = _wide(field.type)
    some, more = now.cast(wide), then.cast(wide)
    nothing = pa.scalar(0, pa.int64()).cast(wide)
    difference = pc.subtract_checked(pc.fill_null(some, nothing), pc.fill_null(more, nothing))
    return pc.if_else(pc.or_(now.is_valid(), then.is_valid()), difference.cast(field.type), pa.scalar(None, field.type))


def _wide(kind: pa.DataType) -> pa.DataType:
    """A type in which a difference has room."""
    return pa.decimal256(60, kind.scale) if pa.types.is_decimal(kind) else pa.int64()
