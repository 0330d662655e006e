"""The culprit: the first row of the log, or the group, that a view's expression can't be computed for.

Up to the first operators that keep state, and in the arguments of aggregates, everything is computed from each row
alone. So the failing batch is computed again, without keeping state, and its rows are halved until one is left: the
first in the order of the log. Where every row is fine on its own, a group is not: see `engine.group`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.batch import BatchView
from headwater.engine.failure import KEPT
from headwater.engine.group import find_group
from headwater.engine.halving import computed, first_failing
from headwater.engine.scan import batch_scan
from headwater.errors import FunctionFailed, HeadwaterError, ViewFailed
from headwater.json_text import json_lines_of
from headwater.log.read import read
from headwater.operators import Scan, Stage
from headwater.operators.lowering.ledger import Tally
from headwater.operators.lowering.rooms import Lowering, taken_in
from headwater.operators.lowering.stamp import COMMIT, ROW, barrier
from headwater.operators.written import as_written

LONGEST_SHOWN = 400
ATTEMPTS = 2
"""Attempts at finding it: a worker may be lost meanwhile."""
RowPosition = tuple[int, int]
"""The commit and the row."""


def named(spark: SparkSession, view: BatchView, failure: ViewFailed) -> ViewFailed:
    """The failure with the row or the group that it comes from, where one is found; else as it was.

    The view is the one that failed, over the commits of the batch that it failed in and of some before.
    """
    if not failure.fields.get("condition"):  # it isn't Spark's: no expression has failed
        return failure
    for _ in range(ATTEMPTS):
        with suppress(PySparkException, Py4JError, HeadwaterError, pa.ArrowException):
            return _as_written(_by_row(spark, view) or _by_group(spark, view, failure), view)
    return _as_written(failure, view)  # what is being explained must not be lost over the explanation


def _as_written(failure: ViewFailed, view: BatchView) -> ViewFailed:
    """The failure with the expression as its author has it."""
    shown = failure.fields.get("expression")
    if shown is None or (written := as_written(shown, view.planned.stages)) == shown:
        return failure
    detail = (failure.detail or "").replace(f"In: {shown}.", f"In: {written}.")
    return type(failure)(failure.summary, detail=detail, hint=failure.hint, **{**failure.fields, "expression": written})


def _by_row(spark: SparkSession, view: BatchView) -> ViewFailed | None:
    for scan in {id(scan): scan for scan in view.planned.scans}.values():
        log, after = view.logs[scan.relation], (view.after or {})[scan.relation]
        positions = read(log, after + 1, view.upto[scan.relation], ["_commit", "_row"])

        def position(index: int, positions: pa.Table = positions) -> RowPosition:
            return positions["_commit"][index].as_py(), positions["_row"][index].as_py()

        def compute(low: int, high: int, scan: Scan = scan) -> None:
            lowering = _only(spark, view, scan, position(low), position(high - 1))
            for frame in _row_wise(lowering, view.planned.root):
                computed(frame)

        failing = first_failing(positions.num_rows, compute, view.planned.name)
        if failing is not None:
            return _at_row(view, scan.relation, position(failing[0]), failing[1])
    return None


def _only(spark: SparkSession, view: BatchView, wanted: Scan, first: RowPosition, last: RowPosition) -> Lowering:
    """The view's lowering over the rows of one scan between two positions, both included."""
    pace = view.planned.physical.pace
    commit, row = F.col(COMMIT), F.col(ROW)
    from_first = (commit > first[0]) | ((commit == first[0]) & (row >= first[1]))
    to_last = (commit < last[0]) | ((commit == last[0]) & (row <= last[1]))

    def rows(scan: Scan) -> DataFrame:
        log = view.logs[scan.relation]
        if scan in view.planned.looked_up:
            return batch_scan(spark, log, scan, pace, 0, view.upto[scan.relation])
        if scan is not wanted:
            return batch_scan(spark, log, scan, pace, 1, 0)
        frame = batch_scan(spark, log, scan, pace, first[0], last[0])
        # nothing may be computed for the other rows: no expression gets below a barrier
        return barrier(frame.where(from_first & to_last), "only", F.count(F.lit(1)).alias("rows"))

    return replace(view.lowering(spark, Tally()), scan=rows)


def _row_wise(lowering: Lowering, stage: Stage) -> Iterator[DataFrame]:
    """The frames computed from each row alone, up to the operators that keep state and into their keys and arguments.

    What a window function or a Python view computes from a row can't be had without the rows around it: there it is
    computed from those that are looked at, of which one is left in the end.
    """
    if _is_row_wise(stage) or (stage.looks_around and all(map(_is_row_wise, stage.inputs))):
        # the inputs of a function would be there twice, once to be counted
        yield (replace(lowering, tally=None) if stage.is_opaque else lowering).lower(stage).frame
        return
    for number, below in enumerate(stage.inputs):
        if _is_row_wise(below):
            yield taken_in(stage, lowering.lower(below).frame, number)
        else:
            yield from _row_wise(lowering, below)


def _is_row_wise(stage: Stage) -> bool:
    return all(below.is_by_identity for below in stage.walk() if below.keeps_state)


def _at_row(view: BatchView, topic: str, position: RowPosition, failure: ViewFailed) -> ViewFailed:
    commit, row = position
    rows = read(view.logs[topic], commit, commit)
    names = [column.name for column in view.logs[topic].topic.columns]
    event = _spelled(rows.filter(pc.equal(rows["_row"], row)).select(names))
    return _told(
        failure,
        summary=f'view "{view.planned.name}" stopped at row {row} of commit {commit} of "{topic}"',
        what=f"The row is {event}.",
        topic=topic,
        commit=commit,
        row=row,
        event=event,
    )


def _by_group(spark: SparkSession, view: BatchView, failure: ViewFailed) -> ViewFailed:
    group = find_group(spark, view)
    if group is None:
        return _told(failure, failure.summary, "Every row is fine on its own: it fails on several together.")
    keys = _spelled(group.keys)
    failure = group.failure or failure
    too_great = f"{group.expression} is too great for its type. " if group.expression else ""
    return _told(
        failure,
        summary=f'view "{view.planned.name}" stopped at a group of "{", ".join(view.planned.inputs)}"',
        what=f"{too_great}The group is {keys}; every row is fine on its own.",
        group=keys,
        **({"expression": group.expression} if group.expression else {}),
    )


def _spelled(row: pa.Table) -> str:
    """A table of one row as JSON, not longer than fits into a message."""
    text = json_lines_of(row).decode().strip()
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _told(failure: ViewFailed, summary: str, what: str, **fields: Any) -> ViewFailed:
    """The failure with what it failed on."""
    reason = (failure.detail or "").removesuffix(KEPT).strip()
    remedy = "Let the declaration take it (a WHERE, `try_divide`, `try_cast`, a wider type)"
    if isinstance(failure, FunctionFailed):
        remedy = (failure.hint or "Mend the function").removesuffix(".")
    return type(failure)(
        summary,
        detail=f"{reason} {what} {KEPT}",
        hint=f"{remedy}, then run `headwater catch-up` again: the view is built from the log.",
        **{**failure.fields, **fields},
    )
