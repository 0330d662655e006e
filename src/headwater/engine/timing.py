"""Timing: whether a change of a view was early, on time or late.

A row has an *end*: that of its window, or its own time, as far after it as the row can still change by rows that are in
time. A change is *early* if the watermark had not come to the end of its row with the batch that brought it, *on time*
if it came there with that batch, and *late* if it had been there before: then rows brought it that grace let in. A row
that is written once is on time. A row that is never final is early for ever.

How often a row is written depends on the batches. What they amount to, and that nothing early or late is taken for the
result of its time, doesn't.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine.view import latest_final
from headwater.model import Emit, Hop, Tumble
from headwater.plan import PlannedView
from headwater.plan.bounds import WINDOW_TIME_BEFORE_END
from headwater.plan.stages import Aggregate, Field, Role

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
    if planned.emit is Emit.FINAL or _is_written_once(planned):
        return _all(ON_TIME, changes)
    end = _end_of(planned)
    if end is None:
        return _all(None, changes)
    field, offset = end
    ends = pc.add(_values(changes, field.name), pa.scalar(offset, pa.duration("us")))
    first = pc.is_null(changes["watermark_before"])
    passed = pc.if_else(pc.or_kleene(first, pc.greater(ends, changes["watermark_before"])), ON_TIME, LATE)
    return pc.if_else(pc.greater(ends, changes["watermark"]), EARLY, passed)


def _is_written_once(planned: PlannedView) -> bool:
    return not planned.is_settled and not any(isinstance(stage, Aggregate) for stage in planned.stages)


def _end_of(planned: PlannedView) -> tuple[Field, timedelta] | None:
    """The column that tells the end of a row, and how far after it the end is."""
    found = {field.role: field for field in planned.root.visible if field.role is not None}
    if Role.WINDOW_END in found:
        return found[Role.WINDOW_END], timedelta()
    if Role.WINDOW_TIME in found:
        return found[Role.WINDOW_TIME], WINDOW_TIME_BEFORE_END
    start = found.get(Role.WINDOW_START)
    if start is not None:
        return (start, start.window.size) if isinstance(start.window, Tumble | Hop) else None
    return (found[Role.EVENT_TIME], latest_final(planned)) if Role.EVENT_TIME in found else None


def _values(changes: pa.Table, name: str) -> Any:
    """A column of the rows: as they are or, where a row is gone, as it was."""
    sides = [pc.struct_field(changes[side].combine_chunks(), name) for side in ("after", "before")]
    return pc.coalesce(*sides)


def _all(timing: str | None, changes: pa.Table) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([timing] * changes.num_rows, pa.string())])
