"""Upcasts, from functions on Arrow tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headwater import model
from headwater.declare.arguments import ColumnSpec, caller, read_columns
from headwater.declare.definition import definition
from headwater.declare.definition import parameters as parameters_of
from headwater.findings import ClauseRefused, OptionRefused


def upcast(
    topic: str | model.Stream | model.Table,
    /,
    *,
    from_version: int,
    columns: Mapping[str, ColumnSpec],
    comment: str | None = None,
) -> Callable[[Callable[..., Any]], model.Upcast]:
    """Declare how rows of an earlier version of a stream or table become rows of the version after it.

    The function below is given a `pyarrow.Table` with these `columns`, those of `from_version`, and returns one with a
    row for each, in their order; what the next version has and it leaves out is NULL or its default. It has to be
    deterministic: each row follows from its own row alone.
    """
    origin = caller()
    earlier = read_columns(columns, origin)
    name = topic if isinstance(topic, str) else topic.name
    if from_version < 1:
        raise OptionRefused(f"from_version is {from_version}", hint="Versions are counted from 1.", origin=origin)

    def declare(made: Callable[..., Any]) -> model.Upcast:
        source, def_origin = definition("upcast", made, origin)
        if len(parameters_of(made) or ()) != 1:
            hint = "Write a function of one parameter, which is given a pyarrow.Table."
            raise ClauseRefused(f'the upcast of "{name}" has other parameters', hint=hint, origin=def_origin)
        body = model.PythonBody(made.__module__, made.__qualname__, source, made)
        return model.Upcast(
            topic=name,
            from_version=from_version,
            columns=earlier,
            body=body,
            comment=comment or inspect.getdoc(made),
            origin=def_origin,
        )

    return declare
