"""Assign, lowered: the windows that a row is in, each of which admits it on its own."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.model import Cumulate, Hop
from headwater.operators import Assign, Panes, Stage
from headwater.operators.assign.lowering.window import Spread, admitting, has_one, window_of
from headwater.operators.lowering.columns import carried
from headwater.operators.lowering.ends import MILLISECOND
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import END, LAST, later
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.sql import WINDOW_COLUMNS

_NUMBER, _SPAN = "__number", "__span"


@lowered.register
def _(stage: Assign, lowering: Lowering) -> Rows:
    """Each row once per window that admits it."""
    return assigned(replace(lowering.lower(stage.input), assigned=True), stage, lowering)


def assigned(rows: Rows, stage: Assign, lowering: Lowering) -> Rows:
    """The rows of the stage below, each once per window that admits it."""
    at, window = later(F.col(f"`{stage.time}`"), stage.shift), stage.window
    if not has_one(window):
        assert isinstance(window, Hop | Cumulate)
        spread = Spread.of(at, window)
        in_windows = _pane if isinstance(stage, Panes) else _spread
        return in_windows(rows, stage, spread, lowering)
    return lowering.admit(rows.then(_bounded(rows.frame, stage.input, window_of(at, window))), stage, F.col(END))


def _spread(rows: Rows, stage: Assign, spread: Spread, lowering: Lowering) -> Rows:
    """A row in several windows: each is admitted on its own, and one of them is the last."""
    if lowering.tally is not None and rows.passed:
        rows = lowering.tally.spread(rows, spread.count)
    number = F.col(_NUMBER)
    frame = rows.frame.withColumn(_NUMBER, F.expr(f"explode(sequence(0, {spread.last}))"))
    frame = frame if isinstance(spread.first, int) else frame.where(number >= spread.first)
    frame = _bounded(frame.withColumn(LAST, number == spread.last), stage.input, spread.window(number))
    return lowering.admit(rows.then(frame), stage, F.col(END))


def _pane(rows: Rows, stage: Assign, spread: Spread, lowering: Lowering) -> Rows:
    """A row in several windows that stays one; the bounds that it is given are those of the last."""
    if lowering.tally is not None and rows.passed:
        rows = lowering.tally.spread(rows, spread.count)
    frame = admitting(rows.frame, spread, lowering.grace)
    return rows.then(_bounded(frame, stage.input, spread.window(F.lit(spread.last))))


def _bounded(frame: DataFrame, below: Stage, span: Column) -> DataFrame:
    """The rows, each with the bounds of a window, which take the place of those of another."""
    beside = carried(frame, but=END)
    kept = [F.col(f"`{column.name}`") for column in below.columns if column.name.lower() not in WINDOW_COLUMNS]
    frame = frame.select(*kept, *beside, span.alias(_SPAN))
    start, end = F.col(f"{_SPAN}.start"), F.col(f"{_SPAN}.end")
    bounds = zip((start, end, later(end, -MILLISECOND)), WINDOW_COLUMNS, strict=True)
    return frame.select(*kept, *(column.alias(name) for column, name in bounds), *beside, end.alias(END))
