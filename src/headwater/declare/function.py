"""Functions, from an SQL expression or from a Python function of Arrow arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, overload

from headwater import model, sql
from headwater.declare.arguments import ColumnSpec, caller, checked, located
from headwater.declare.definition import definition
from headwater.declare.definition import parameters as parameters_of
from headwater.declare.fields import column_of, type_of
from headwater.errors import Origin
from headwater.findings import ClauseRefused, ImpureFunction


@overload
def function(
    name: str,
    /,
    *,
    parameters: Mapping[str, ColumnSpec] | None = None,
    returns: ColumnSpec,
    body: str,
    comment: str | None = None,
) -> model.Function: ...
@overload
def function(
    name: str | None = None,
    /,
    *,
    parameters: Mapping[str, ColumnSpec],
    returns: ColumnSpec,
    deterministic: bool = False,
    comment: str | None = None,
) -> Callable[[Callable[..., Any]], model.Function]: ...
def function(
    name: str | None = None,
    /,
    *,
    parameters: Mapping[str, ColumnSpec] | None = None,
    returns: ColumnSpec,
    body: str | None = None,
    deterministic: bool = False,
    comment: str | None = None,
) -> model.Function | Callable[[Callable[..., Any]], model.Function]:
    """Declare a function: with `body` by its SQL expression, without it by the Python function below.

    A Python function is given a `pyarrow.Array` for each parameter and returns one of the declared type, of the same
    length. `deterministic=True` is its author's word that each value follows from the arguments of its own row alone,
    without which it is refused. Its docstring is the comment, unless one is given.

    >>> function("twice", parameters={"n": "INT"}, returns="INT", body="n*2").body
    'n * 2'
    """
    origin = caller()
    with located(origin):
        declared = model.Function(
            name=name or "function",
            parameters=tuple(
                replace(column_of(parameter, spec), nullable=True) for parameter, spec in (parameters or {}).items()
            ),
            returns=type_of(returns),
            body="NULL" if body is None else sql.spell(sql.parse_expression(body)),
            comment=comment,
        )
    if body is None:
        return lambda made: _python_function(replace(declared, name=name or made.__name__), made, deterministic, origin)
    if name is None:
        raise ClauseRefused("a function has no name", hint="Write function(name, …, body=…).", origin=origin)
    return checked(declared, origin)


def _python_function(
    declared: model.Function, made: Callable[..., Any], deterministic: bool, origin: Origin
) -> model.Function:
    source, def_origin = definition("function", made, origin)
    names = parameters_of(made)
    wanted = tuple(parameter.name for parameter in declared.parameters)
    if names is None or names != wanted:
        raise ClauseRefused(
            f'function "{declared.name}" has other parameters than it declares',
            detail=f"Its def has ({', '.join(names or ())}), and it declares ({', '.join(wanted)}).",
            hint="Write parameters={name: type} for each parameter of the def, in their order; at least one.",
            origin=def_origin,
        )
    if not deterministic:
        raise ImpureFunction(
            f'function "{declared.name}" isn\'t declared deterministic',
            detail="Every execution calls it again on the same rows, and has to get the same values.",
            hint="Write deterministic=True if each value follows from the arguments of its row alone.",
            origin=def_origin,
        )
    comment = declared.comment or inspect.getdoc(made)
    described = checked(replace(declared, comment=comment), def_origin)
    return replace(described, body=model.PythonBody(made.__module__, made.__qualname__, source, made))
