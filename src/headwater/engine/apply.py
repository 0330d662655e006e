"""Python views: a function is given the rows of its inputs in a slice as DataFrames, and gives the view's rows as one.

Nothing is computed while the function runs: it describes a query, which becomes part of the view's own. What it
describes is held against what the view declares: its columns and their types, and that its rows follow from the inputs
(`engine.purity`). A NULL where a value is needed, and a key that comes twice, are found when the query is computed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater.engine.inputs import Input, given
from headwater.engine.purity import impurity_of
from headwater.errors import FunctionFailed, HeadwaterError
from headwater.model import spell_type
from headwater.plan import PlannedView
from headwater.plan.stages import Apply, Field

_GROUP = "spark.jobGroup.id"


def applied(stage: Apply, inputs: Sequence[Input]) -> DataFrame:
    """The columns that the view declares, from what its function makes of the inputs."""
    returned = _run(stage, inputs)
    if not isinstance(returned, DataFrame):
        what = f"returned a {type(returned).__name__}, which is no DataFrame"
        raise _failed(stage, what, hint="Return a DataFrame made of those that it was given.")
    _check_columns(stage, returned)
    reason = impurity_of(returned, [found.rows for found in inputs] + _through(inputs))
    if reason is not None:
        raise _failed(
            stage,
            "returned rows that a replay would not give again",
            reason,
            "Let every row follow from the rows of the inputs: use their times, and aggregates that have no order.",
        )
    return returned.select(*(_guarded(stage, field) for field in stage.columns))


def check_key(planned: PlannedView, rows: pa.Table) -> None:
    """Refuse rows of a Python view that its declared key doesn't tell apart: in a store one would replace the other."""
    key = list(planned.key.columns)
    if not isinstance(planned.root, Apply) or planned.key.kind != "declared" or not key:
        return
    counted = rows.select(key).group_by(key).aggregate([([], "count_all")])
    repeated = counted.filter(pc.greater(counted["count_all"], 1)).sort_by([(name, "ascending") for name in key])
    if repeated.num_rows:
        first = repeated.slice(0, 1).to_pylist()[0]
        told = ", ".join(f"{name} = {first[name]!r}" for name in key)
        raise FunctionFailed(
            f'view "{planned.name}" has {first["count_all"]} rows of one key',
            detail=f"They have {told}, and a store keeps one row of a key. Nothing of them was written.",
            hint="Let the function return one row for each, or name more columns in key.",
            origin=planned.view.origin,
            view=planned.name,
            function=planned.root.function,
        )


def _through(inputs: Sequence[Input]) -> list[DataFrame]:
    return [found.through(found.window) for found in inputs if found.window is not None]


def _run(stage: Apply, inputs: Sequence[Input]) -> Any:
    """Call the function, which may describe a query and not run one."""
    context = inputs[0].rows.sparkSession.sparkContext
    group, before = f"headwater-{uuid4()}", context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    try:
        with given(inputs):
            returned = stage.call(*(found.rows for found in inputs))
    except HeadwaterError:
        raise
    except Exception as cause:
        said = " ".join(str(cause).split()) or "(no message)"
        place = _place(cause, stage.call)
        raise _failed(
            stage, f"raised {type(cause).__name__}", f"{said}{f' It was raised at {place}.' if place else ''}"
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
    found = {part.name: part.dataType.simpleString() for part in returned.schema.fields}
    if len(found) == len(returned.schema.fields) and wanted == found:
        return
    missing = [f"{name} {kind}" for name, kind in wanted.items() if found.get(name) != kind]
    extra = [f"{name} {kind}" for name, kind in found.items() if wanted.get(name) != kind]
    parts = [f"It declares {', '.join(missing)}" if missing else "", f"it returned {', '.join(extra)}" if extra else ""]
    said = ", and ".join(part for part in parts if part) or "It returned a column of the same name twice"
    raise _failed(
        stage,
        "returned other columns than it declares",
        f"{said[0].upper()}{said[1:]}.",
        "Return exactly the declared columns: select them, and cast each to its type.",
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


def _place(cause: Exception, function: Callable[..., Any]) -> str | None:
    """The innermost line of the function's own file."""
    file = function.__code__.co_filename
    lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else None
