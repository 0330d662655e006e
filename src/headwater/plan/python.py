"""Python views: a function of DataFrames, planned by what it declares.

The planner can't look into the function. Its parameters name what it reads, its columns are as declared, and every one
of them is taken to derive from everything it reads. It must say how far back an input can matter (`horizon`), and one
of its columns must carry the time of its rows: the one that it declares as `time`, or else a TIMESTAMP column with the
name of an input's event time or window bound.
"""

from __future__ import annotations

from headwater import model
from headwater.findings import QueryRefused, UnknownName
from headwater.operators import Ancestor, Apply, Field, Role, Stage
from headwater.plan.context import Context, Relation
from headwater.plan.source import NOTHING
from headwater.plan.uses import whole_source
from headwater.sql.refusal import did_you_mean

_TIMES = (Role.EVENT_TIME, Role.WINDOW_START, Role.WINDOW_END, Role.WINDOW_TIME)


def apply(context: Context, query: model.PythonQuery) -> Relation:
    """The stages of a Python view."""
    inputs = [_input(context, name) for name in query.inputs]
    stages = tuple(_payload(relation.stage) for relation in inputs)
    everything = frozenset(ancestor for stage in stages for field in stage.visible for ancestor in field.ancestors)
    columns = tuple(_field(column, query.time, stages, everything) for column in query.columns)
    complete = all(relation.complete for relation in inputs)
    time = next((field.name for field in columns if field.role is not None), "")
    if query.time is not None and not time:
        _refuse_time(context, query)
    elif complete and not time:
        _refuse_timeless(context, stages)
    source = whole_source(query.source, query.function)
    stage = Apply(
        columns,
        stages,
        query.module,
        query.qualified_name,
        source,
        time,
        query.gap,
        query.function,
        origin=context.view.origin,
    )
    return Relation(stage, complete)


def _input(context: Context, name: str) -> Relation:
    relation = context.relation(name)
    if relation is None:
        context.refuse(
            UnknownName,
            f'reads "{name}", which is declared nowhere',
            None,
            detail="A parameter of its function names the stream, table or view that it is given.",
            hint=did_you_mean(name, context.names) or "Declare it, or rename the parameter.",
            name=name,
        )
    return relation or NOTHING


def _payload(stage: Stage) -> Stage:
    """The input without the log's own columns."""
    return stage.pruned({field.name for field in stage.visible})


def _field(column: model.Column, time: str | None, stages: tuple[Stage, ...], everything: frozenset[Ancestor]) -> Field:
    fields = [stage.column(column.name) for stage in stages]
    same = next((field for field in fields if field and field.role in _TIMES and field.type == column.type), None)
    role, window = (same.role, same.window) if same else (None, None)
    if time is not None:
        chosen = column.name.lower() == time.lower() and column.type == model.INSTANT
        role, window = (role or _own_role(column.name), window) if chosen else (None, None)
    return Field(column.name, column.type, column.nullable and role is None, everything, role, window)


def _own_role(name: str) -> Role:
    """The role of a column that is no time of an input: windows on DataFrames give their bounds the names of SQL."""
    return {"window_end": Role.WINDOW_END, "window_time": Role.WINDOW_TIME}.get(name.lower(), Role.EVENT_TIME)


def _refuse_time(context: Context, query: model.PythonQuery) -> None:
    times = [column.name for column in query.columns if column.type == model.INSTANT]
    context.refuse(
        QueryRefused,
        f'names "{query.time}" as its time, which is none of its columns of type TIMESTAMP',
        None,
        detail=f"Its columns of type TIMESTAMP are {', '.join(times)}." if times else "It has none.",
        hint="Name the column that says when a row is final.",
    )


def _refuse_timeless(context: Context, stages: tuple[Stage, ...]) -> None:
    times = sorted({field.name for stage in stages for field in stage.columns if field.role in _TIMES})
    context.refuse(
        QueryRefused,
        "returns no column that carries the time of its rows",
        None,
        detail=f"The times of its inputs are {', '.join(times)}." if times else "None of its inputs has an event time.",
        hint=f"Return {times[0]} among its columns, or name another with time=…."
        if times
        else "Read a stream that declares WATERMARK FOR ….",
    )
