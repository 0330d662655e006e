"""Python views: a function of DataFrames, planned by what it declares.

The planner can't look into the function. Its parameters name what it reads, its columns are as declared, and every one
of them is taken to derive from everything it reads. It must say how far back an input can matter (`horizon`), and one
of its columns must carry the time of its rows: a TIMESTAMP column with the name of an input's event time or window
bound.
"""

from __future__ import annotations

import ast
import textwrap

from headwater import model
from headwater.errors import QueryRefused, UnknownName
from headwater.plan.context import Context, Relation, did_you_mean
from headwater.plan.prune import prune
from headwater.plan.source import NOTHING
from headwater.plan.stages import Ancestor, Apply, Field, Role, Stage

_TIMES = (Role.EVENT_TIME, Role.WINDOW_START, Role.WINDOW_END, Role.WINDOW_TIME)


def apply(context: Context, query: model.PythonQuery) -> Relation:
    """The stages of a Python view."""
    inputs = [_input(context, name) for name in query.inputs]
    stages = tuple(_payload(relation.stage) for relation in inputs)
    everything = frozenset(ancestor for stage in stages for field in stage.visible for ancestor in field.ancestors)
    columns = tuple(_field(column, stages, everything) for column in query.columns)
    complete = all(relation.complete for relation in inputs)
    if complete and not any(field.role for field in columns):
        _refuse_timeless(context, stages)
    source = canonical_source(query.source)
    stage = Apply(columns, stages, query.module, query.qualified_name, source, origin=context.view.origin)
    return Relation(stage, complete)


def _input(context: Context, name: str) -> Relation:
    found = context.relation(name)
    if found is None:
        context.refuse(
            UnknownName,
            f'reads "{name}", which is declared nowhere',
            None,
            detail="A parameter of its function names the stream, table or view that it is given.",
            hint=did_you_mean(name, context.names) or "Declare it, or rename the parameter.",
            name=name,
        )
    return found or NOTHING


def _payload(stage: Stage) -> Stage:
    """The input without the log's own columns."""
    return prune(stage)


def _field(column: model.Column, stages: tuple[Stage, ...], everything: frozenset[Ancestor]) -> Field:
    found = [stage.column(column.name) for stage in stages]
    same = next((field for field in found if field and field.role in _TIMES and field.type == column.type), None)
    role, window = (same.role, same.window) if same else (None, None)
    return Field(column.name, column.type, column.nullable and role is None, everything, role, window)


def _refuse_timeless(context: Context, stages: tuple[Stage, ...]) -> None:
    times = sorted({field.name for stage in stages for field in stage.columns if field.role in _TIMES})
    context.refuse(
        QueryRefused,
        "returns no column that carries the time of its rows",
        None,
        detail=f"The times of its inputs are {', '.join(times)}." if times else "None of its inputs has an event time.",
        hint=f"Return {times[0]} among its columns." if times else "Read a stream that declares WATERMARK FOR ….",
    )


def canonical_source(source: str) -> str:
    """Python source without comments and formatting, so that they don't change what a view is.

    >>> canonical_source("def f(x):  # double\\n    return (x\\n      * 2)")
    'def f(x):\\n    return x * 2'
    """
    try:
        return ast.unparse(ast.parse(textwrap.dedent(source)))
    except SyntaxError:
        return source
