"""Python views: a function is given the rows of its inputs in a slice as DataFrames, and gives the view's rows as one.

Nothing is computed while the function runs: it describes a query, which becomes part of the view's own. What it
describes is held against what the view declares: its columns and their types, and that its rows follow from the inputs
(`apply.lowering.purity`). A NULL where a value is needed, and a key that comes twice, show when the query is computed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater.errors import FunctionFailed, HeadwaterError
from headwater.model import Session, spell_duration, spell_type
from headwater.operators import Apply, Field
from headwater.operators.apply.lowering.inputs import Input, running_on
from headwater.operators.apply.lowering.purity import impurity_of

_GROUP = "spark.jobGroup.id"


def applied(stage: Apply, inputs: Sequence[Input], sight: timedelta | None) -> DataFrame:
    """The columns that the view declares, from what its function makes of the inputs; `sight` is the view's horizon."""
    returned = _run(stage, inputs)
    if not isinstance(returned, DataFrame):
        what = f"returned a {type(returned).__name__}, which is no DataFrame"
        raise _failed(stage, what, hint="Return a DataFrame made of those that it was given.")
    _check_columns(stage, returned)
    _check_sessions(stage, inputs, sight)
    reason = impurity_of(returned, [entry.rows for entry in inputs] + _through(inputs))
    if reason is not None:
        raise _failed(
            stage,
            "returned rows that a replay would not give again",
            reason,
            "Let every row follow from the rows of the inputs: use their times, and aggregates that have no order.",
        )
    return returned.select(*(_guarded(stage, field) for field in stage.columns))


def _through(inputs: Sequence[Input]) -> list[DataFrame]:
    return [entry.through(entry.window) for entry in inputs if entry.window is not None]


def _run(stage: Apply, inputs: Sequence[Input]) -> Any:
    """Call the function, which may describe a query and not run one."""
    context = inputs[0].rows.sparkSession.sparkContext
    group, before = f"headwater-{uuid4()}", context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    try:
        with running_on(inputs):
            returned = stage.call(*(entry.rows for entry in inputs))
    except HeadwaterError:
        raise
    except Exception as cause:
        said = " ".join(str(cause).split()) or "(no message)"
        line = _source_line(cause, stage.call)
        raise _failed(
            stage, f"raised {type(cause).__name__}", f"{said}{f' It was raised at {line}.' if line else ''}"
        ) from cause
    finally:
        context.setLocalProperty(_GROUP, before)
    context._jsc.sc().listenerBus().waitUntilEmpty()
    if context.statusTracker().getJobIdsForGroup(group):
        what = "runs a query of its own (collect, count, toPandas, write, …)"
        hint = (
            "Describe the rows as one DataFrame: what it would run sees a slice, and slices differ between executions."
        )
        raise _failed(stage, what, hint=hint)
    return returned


def _check_columns(stage: Apply, returned: DataFrame) -> None:
    wanted = {field.name: _type(field) for field in stage.columns}
    actual = {part.name: part.dataType.simpleString() for part in returned.schema.fields}
    if len(actual) == len(returned.schema.fields) and wanted == actual:
        return
    missing = [f"{name} {kind}" for name, kind in wanted.items() if actual.get(name) != kind]
    extra = [f"{name} {kind}" for name, kind in actual.items() if wanted.get(name) != kind]
    parts = [f"It declares {', '.join(missing)}" if missing else "", f"it returned {', '.join(extra)}" if extra else ""]
    said = ", and ".join(part for part in parts if part) or "It returned a column of the same name twice"
    raise _failed(
        stage,
        "returned other columns than it declares",
        f"{said[0].upper()}{said[1:]}.",
        "Return exactly the declared columns: select them, and cast each to its type.",
    )


def _check_sessions(stage: Apply, inputs: Sequence[Input], sight: timedelta | None) -> None:
    """Refuse a gap for which the plan doesn't wait: those that read the view would get rows that still change."""
    longest = stage.gap if stage.gap is not None else sight
    gaps = (entry.window.gap for entry in inputs if isinstance(entry.window, Session))
    for gap in gaps:
        if longest is not None and gap > longest:
            declared = "gap" if stage.gap is not None else "horizon"
            raise _failed(
                stage,
                f"makes sessions with a gap of {spell_duration(gap)}",
                f"It declares {declared} = '{spell_duration(longest)}': its rows are taken to be final by then.",
                f"Declare {declared}='{spell_duration(gap)}'.",
            )


def _type(field: Field) -> str:
    """The type of a field as a DataFrame spells it."""
    return str(StructType.fromDDL(f"value {spell_type(field.type)}")[0].dataType.simpleString())


def _guarded(stage: Apply, field: Field) -> Column:
    """A column of which no NULL passes where the view has promised a value."""
    column = F.col(f"`{field.name}`")
    if field.nullable and field.name != stage.time:
        return column
    message = f'function "{stage.function}" returned NULL in the column "{field.name}"'
    return F.coalesce(column, F.raise_error(F.lit(message)).cast(spell_type(field.type))).alias(field.name)


def _failed(stage: Apply, what: str, detail: str | None = None, hint: str | None = None) -> FunctionFailed:
    return FunctionFailed(
        f'function "{stage.function}" {what}', detail=detail, hint=hint, origin=stage.origin, function=stage.function
    )


def _source_line(cause: Exception, function: Callable[..., Any]) -> str | None:
    """The innermost line of the function's own file."""
    file = function.__code__.co_filename
    lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else None
