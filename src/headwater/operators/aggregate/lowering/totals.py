"""Running totals: groups that never end, kept between steps, so that a step reads what comes and what goes.

A row counts in a group without an end for as long as the view retains it. Counts, sums and averages add up: the totals
after a step are those before it, and those of the rows that have come, less those of the rows that count no more. These
are found in the log by their time. So a step over a year that is retained reads some seconds of it twice, not the year.

Sums are kept with the number of values in them: that of none is NULL, not 0. They are kept as DECIMAL, which adds and
takes away exactly, and without regard to the order. The log remains the only truth: totals that are missing, or those
of other commits than the step before has ended at, are made again from it.
"""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model import spell_type
from headwater.operators import Aggregate, Call
from headwater.operators.aggregate.lowering.merge import Merged, merged_parts, parts_by
from headwater.operators.aggregate.lowering.stable import quotient, taken_apart
from headwater.operators.lowering.columns import ROWS, every, named_columns
from headwater.plan import PlannedView

UNTIL = "__until"
"""The instant up to which what a group shows is open: as long as a row that counts where the step ends."""
_DIGITS = 38


def span_of_gone(planned: PlannedView, before: datetime, now: datetime) -> tuple[datetime, datetime]:
    """When the rows have happened that counted at one instant and no more at another: after which, and up to when."""
    assert planned.retention is not None
    return before - planned.retention, now - planned.retention


def totals_of(stage: Aggregate, rows: DataFrame) -> DataFrame:
    """The totals of the groups of some rows: their keys, how many rows each has, and the parts of its calls."""
    keys = [F.expr(key.expression.sql).alias(key.name) for key in stage.keys]
    return rows.groupBy(*keys).agg(every(), *named_columns(parts_by(_calls(stage))))


def added(stage: Aggregate, before: DataFrame | None, come: DataFrame, gone: DataFrame | None) -> DataFrame:
    """The totals after a step. A group that has no row left is none."""
    return summed(stage, before, come, gone).where(F.col(ROWS) > 0)


def summed(stage: Aggregate, before: DataFrame | None, come: DataFrame, gone: DataFrame | None) -> DataFrame:
    """The totals after a step, those of groups that have no row left among them."""
    names = [f"`{key.name}`" for key in stage.keys]
    parts = [ROWS, *parts_by(_calls(stage))]
    totals = come
    if before is not None:
        totals = totals.unionByName(before)
    if gone is not None:
        totals = totals.unionByName(gone.select(*names, *((-F.col(part)).alias(part) for part in parts)))
    merged = merged_parts(_calls(stage))
    return totals.groupBy(*names).agg(F.sum(ROWS).alias(ROWS), *named_columns(merged))


def groups_of(stage: Aggregate, totals: DataFrame) -> DataFrame:
    """The groups of an aggregate, from their totals: its keys and its calls, and until when they are open."""
    wholes = {name: call.whole for name, call in _calls(stage).items()}
    return totals.groupBy(*(F.col(f"`{key.name}`") for key in stage.keys)).agg(
        *(named_columns(wholes) or [F.sum(ROWS).alias(ROWS)]), F.max(UNTIL).alias(UNTIL)
    )


def _calls(stage: Aggregate) -> dict[str, Merged]:
    return {call.name: _steps(call, f"__part{number}") for number, call in enumerate(stage.aggregates)}


def _steps(call: Call, own: str) -> Merged:
    """A call in steps: from rows to parts, from parts to those of all, from these to the value."""
    if call.function.lower() in ("count", "count_if"):
        return Merged({own: call.expression.sql}, {own: f"sum({own})"}, f"sum({own})")
    taken, kind, count = taken_apart(call), call.expression.type, f"{own}n"
    value = taken.arguments[0]
    scale = _scale(call)
    spelled = f"DECIMAL({_DIGITS}, {scale})"
    parts = {
        own: f"CAST({taken.of('sum', f'CAST({value} AS {spelled})')} AS {spelled})",
        count: taken.of("count", value),
    }
    merged = {own: f"CAST(sum({own}) AS {spelled})", count: f"sum({count})"}
    total = f"CAST(sum({own}) AS {spell_type(kind)})"
    if call.function.lower() != "sum":
        total = quotient(kind, f"sum({own})", f"sum({count})")
    return Merged(parts, merged, f"CASE WHEN sum({count}) > 0 THEN {total} END")


def _scale(call: Call) -> int:
    """The digits behind the point of what is added up: an average of DECIMAL has four more than its argument."""
    kind = call.expression.type
    if not pa.types.is_decimal(kind):
        return 0
    return int(kind.scale if call.function.lower() == "sum" else kind.scale - 4)
