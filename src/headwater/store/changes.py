"""The table of one batch's changes, as every store gives it."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from headwater.model import INSTANT
from headwater.store.protocol import Position, Target, changes_schema


def changes_table(
    target: Target,
    operations: pa.Array,
    sides: tuple[pa.Array, pa.Array],
    position: Position,
    at: datetime,
    watermark_before: datetime | None,
) -> pa.Table:
    """Changes of the batch that came to a position at an instant; `sides` are the rows before and after, as structs."""
    schema, count = changes_schema(target), len(operations)
    told = [
        pa.array([position.batch] * count, pa.int64()),
        pa.array([list(position.commits)] * count, schema.field("commit").type),
        *(pa.array([instant] * count, INSTANT) for instant in (at, position.watermark, watermark_before)),
    ]
    return pa.Table.from_arrays([operations, *sides, *told], schema=schema)
