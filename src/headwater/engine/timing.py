"""Timing: whether a change of a view was early, on time or late.

A row has an *end*: that of its window, or its own time, as far after it as the row can still change by rows that are in
time. A change is *early* if the watermark had not come to the end of its row with the batch that brought it, *on time*
if it came there with that batch, and *late* if it had been there before: then rows brought it that grace let in. A row
that is written once is on time. A row that is never final is early for ever.

How often a row is written depends on the batches. What they amount to, and that nothing early or late is taken for the
result of its time, doesn't.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.plan import PlannedView

TIMING = "timing"
EARLY, ON_TIME, LATE = "early", "on time", "late"


def with_timing(planned: PlannedView, changes: pa.Table) -> pa.Table:
    """The changes of one batch, as a store gives them, with a column that says what each of them was.

    It is NULL where a row doesn't show when it ends.
    """
    return changes.append_column(pa.field(TIMING, pa.string()), _timing(planned, changes))


def _timing(planned: PlannedView, changes: pa.Table) -> pa.ChunkedArray:
    if not planned.execution.settles:
        return _all(EARLY, changes)
    if planned.physical.written_once:
        return _all(ON_TIME, changes)
    end = planned.physical.end
    if end is None:
        return _all(None, changes)
    ends = pc.add(_values(changes, end.column), pa.scalar(end.after, pa.duration("us")))
    first = pc.is_null(changes["watermark_before"])
    passed = pc.if_else(pc.or_kleene(first, pc.greater(ends, changes["watermark_before"])), ON_TIME, LATE)
    return pc.if_else(pc.greater(ends, changes["watermark"]), EARLY, passed)


def _values(changes: pa.Table, name: str) -> Any:
    """A column of the rows: as they are or, where a row is gone, as it was."""
    sides = [pc.struct_field(changes[side].combine_chunks(), name) for side in ("after", "before")]
    return pc.coalesce(*sides)


def _all(timing: str | None, changes: pa.Table) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([timing] * changes.num_rows, pa.string())])
