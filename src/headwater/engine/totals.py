"""Running totals: groups that never end, kept between steps, so that a step reads what comes and what goes.

A row counts in a group without an end for as long as the view retains it. Counts, sums and averages add up: the totals
after a step are those before it, and those of the rows that have come, less those of the rows that count no more. These
are found in the log by their time. So a step over a year that is retained reads some seconds of it twice, not the year.

Sums are kept with the number of values in them: that of none is NULL, not 0. They are kept as DECIMAL, which adds and
takes away exactly, and without regard to the order. The log remains the only truth: totals that are missing, or those
of other commits than the step before has ended at, are made again from it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.aggregate import taken_apart
from headwater.engine.merge import Merged
from headwater.engine.view import pace_of
from headwater.model import Emit, spell_type
from headwater.plan import PlannedView
from headwater.plan.additive import adds_up
from headwater.plan.execution import is_stateless
from headwater.plan.panes import is_exact_average
from headwater.plan.stages import Aggregate, Assign, Call
from headwater.plan.state import is_endless

ROWS = "__rows"
_DIGITS = 38
_LONGEST = timedelta(days=365_000)
"""What is retained for longer than the calendar has been there is computed from all rows."""


def keeps_totals(planned: PlannedView) -> Aggregate | None:
    """The aggregate of a view whose totals are kept between steps; None if none are."""
    if planned.execution.kind != "settle" or planned.emit is not Emit.CHANGES or planned.view.every is not None:
        return None
    if planned.retention is None or planned.retention > _LONGEST:
        return None
    if len(planned.scans) != 1 or pace_of(planned).stamp != "_watermark":
        return None
    (scan,) = planned.scans
    if scan.unique or scan.within is not None or scan.time is None or scan.kind != "stream":
        return None
    return next((stage for stage in planned.stages if isinstance(stage, Aggregate) and _adds_up(stage)), None)


def _adds_up(stage: Aggregate) -> bool:
    """Whether groups without an end are made of plain rows, and everything in them adds up."""
    plain = is_stateless(stage.input) and not any(isinstance(below, Assign) for below in stage.input.walk())
    exact = all(adds_up(call) or is_exact_average(call) for call in stage.aggregates)
    return plain and exact and is_endless(stage) and bool(stage.keys)


def span_of_gone(planned: PlannedView, before: datetime, now: datetime) -> tuple[datetime, datetime]:
    """When the rows have happened that counted at one instant and no more at another: after which, and up to when."""
    assert planned.retention is not None
    return before - planned.retention, now - planned.retention


def totals_of(stage: Aggregate, rows: DataFrame) -> DataFrame:
    """The totals of the groups of some rows: their keys, how many rows each has, and the parts of its calls."""
    keys = [F.expr(key.expression.sql).alias(key.name) for key in stage.keys]
    return rows.groupBy(*keys).agg(F.count(F.lit(1)).alias(ROWS), *_named(_parts(stage)))


def added(stage: Aggregate, before: DataFrame | None, come: DataFrame, gone: DataFrame | None) -> DataFrame:
    """The totals after a step. A group that has no row left is none."""
    names = [f"`{key.name}`" for key in stage.keys]
    parts = [ROWS, *_parts(stage)]
    found = come
    if before is not None:
        found = found.unionByName(before)
    if gone is not None:
        found = found.unionByName(gone.select(*names, *((-F.col(part)).alias(part) for part in parts)))
    merged = {name: sql for call in _calls(stage).values() for name, sql in call.merged.items()}
    return found.groupBy(*names).agg(F.sum(ROWS).alias(ROWS), *_named(merged)).where(F.col(ROWS) > 0)


def groups_of(stage: Aggregate, totals: DataFrame) -> DataFrame:
    """The groups of an aggregate, from their totals: its keys and its calls."""
    wholes = {name: found.whole for name, found in _calls(stage).items()}
    return totals.groupBy(*(F.col(f"`{key.name}`") for key in stage.keys)).agg(
        *(_named(wholes) or [F.sum(ROWS).alias(ROWS)])
    )


def _parts(stage: Aggregate) -> dict[str, str]:
    return {name: sql for found in _calls(stage).values() for name, sql in found.parts.items()}


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
        own: f"CAST(sum(CAST({value} AS {spelled})){taken.condition} AS {spelled})",
        count: f"count({value}){taken.condition}",
    }
    merged = {own: f"CAST(sum({own}) AS {spelled})", count: f"sum({count})"}
    total = f"sum({own})"
    if call.function.lower() != "sum":
        total = _quotient(kind, total, f"sum({count})")
    return Merged(parts, merged, f"CASE WHEN sum({count}) > 0 THEN CAST({total} AS {spell_type(kind)}) END")


def _scale(call: Call) -> int:
    """The digits behind the point of what is added up: an average of DECIMAL has four more than its argument."""
    kind = call.expression.type
    if not pa.types.is_decimal(kind):
        return 0
    return int(kind.scale if call.function.lower() == "sum" else kind.scale - 4)


def _quotient(kind: pa.DataType, total: str, count: str) -> str:
    if pa.types.is_decimal(kind):
        return f"CAST({total} AS DECIMAL({kind.precision + 6}, {kind.scale - 4})) / {count}"
    return f"CAST({total} AS DOUBLE) / CAST({count} AS DOUBLE)"


def _named(columns: dict[str, str]) -> list[Column]:
    return [F.expr(sql).alias(name) for name, sql in columns.items()]
