"""The table of one batch's changes, as every store gives it."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

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
    schema = changes_schema(target)
    values = (position.batch, list(position.commits), at, position.watermark, watermark_before)
    everywhere = pa.array(np.zeros(len(operations), np.int64))
    told = [
        pa.array([value], field.type).take(everywhere) for value, field in zip(values, list(schema)[3:], strict=True)
    ]
    return pa.Table.from_arrays([operations, *sides, *told], schema=schema)
