"""Apply, lowered: what a Python function describes becomes part of the view's own query."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model import Session, Window
from headwater.operators import Apply, Assign, Field, Role, Stage
from headwater.operators.apply.lowering.function import applied
from headwater.operators.apply.lowering.inputs import Input
from headwater.operators.lowering.columns import columns_of
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import END, FINAL, KEEP, MARK, POSITION, later
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.operators.scan.stage import scans_of
from headwater.operators.stage import with_role
from headwater.sql import WINDOW_COLUMNS

_BEFORE_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""No event has a time before it."""


@lowered.register
def _(stage: Apply, lowering: Lowering) -> Rows:
    """The rows of a Python function from its inputs. These are counted beside it: it may read them as it likes."""
    apart = replace(lowering, tally=None, late=[])
    inputs = [
        Input(
            _name_of(branch),
            apart.entered(branch).frame.select(*columns_of(branch)),
            partial(_windowed, apart, branch),
        )
        for branch in stage.branches
    ]
    frame = applied(stage, inputs, lowering.horizon)
    gaps = [entry.window.gap for entry in inputs if isinstance(entry.window, Session)]
    final = later(F.col(f"`{stage.time}`"), max(gaps, default=timedelta()))
    position = F.struct(*(F.col(f"`{column.name}`") for column in stage.columns if _is_ordered(column)))
    frame = frame.select("*", position.alias(POSITION), final.alias(FINAL), F.lit(True).alias(KEEP))
    for branch, entry in zip(stage.branches, inputs, strict=True):
        counted = lowering.entered(branch) if entry.window is None else _through(lowering, branch, entry.window)
        if lowering.tally is not None:
            frame = frame.unionByName(_nothing_of(counted.frame, frame))
    return Rows(frame)


def _windowed(lowering: Lowering, branch: Stage, window: Window) -> DataFrame:
    rows = _through(lowering, branch, window).frame
    return rows.select(*columns_of(branch), *(F.col(name) for name in WINDOW_COLUMNS))


def _through(lowering: Lowering, branch: Stage, window: Window) -> Rows:
    """The rows of a stage through a window, each admitted by its end."""
    time = with_role(branch, Role.EVENT_TIME)[0]
    bounds = tuple(Field(name, time.type) for name in WINDOW_COLUMNS)
    assign = Assign((*branch.columns, *bounds), branch, window, time.name)
    return lowering.enter(lowering.lower(assign), assign, F.col(END))


def _name_of(branch: Stage) -> str:
    """The name of an input of a Python view: the first of what it reads."""
    return next(scan.relation for scan in scans_of(branch))


def _is_ordered(column: Field) -> bool:
    """Tells whether rows can be ordered by a column."""
    return not pa.types.is_nested(column.type)


def _nothing_of(counted: DataFrame, like: DataFrame) -> DataFrame:
    """Rows that no view shows, with the columns of another frame: to find that out, Spark has to count them.

    It must not know beforehand that there will be none, or what their values are: it would leave out the counting.
    """
    shown = F.col(MARK) < F.lit(_BEFORE_TIME)
    own = {KEEP: shown, FINAL: F.col(MARK)}
    columns = [
        own.get(column.name, F.get(F.array(F.lit(None).cast(column.dataType)), shown.cast("int"))).alias(column.name)
        for column in like.schema.fields
    ]
    return counted.select(*columns)
