"""The project's own functions, checked where they are declared, so that a view that calls them doesn't repeat it.

A function in SQL is gone from the stages of a view: its body takes the place of a call. One in Python is *called*
there, by a name that has a hash of its source and its types in it: another source is another function, and so another
view.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from headwater import model, sql
from headwater.errors import DeclarationError, Finding
from headwater.findings import ImpureFunction, QueryRefused, UnknownColumn, UnknownType
from headwater.plan.calls import calls_in, impure_detail
from headwater.plan.positions import columns_of
from headwater.plan.spark_type import SparkType, from_arrow
from headwater.plan.typing.environment import Columns
from headwater.plan.typing.expression import Typer
from headwater.plan.uses import whole_source
from headwater.sql.refusal import did_you_mean


class _Parameters:
    """The environment in which a body is typed: the parameters of its function."""

    def __init__(self, function: model.Function) -> None:
        self.types = {parameter.name.lower(): from_arrow(parameter.type) for parameter in function.parameters}

    def column(self, node: exp.Column) -> SparkType | None:
        """The type of a parameter."""
        return self.types.get(node.parts[0].name.lower())

    def star(self, _node: exp.Expr) -> Columns:
        """A body has no FROM."""
        return ()

    def query(self, _node: exp.Query) -> Columns:
        """A body has no subqueries."""
        return ()


def check_functions(project: model.Project, findings: list[Finding]) -> Mapping[str, model.Function]:
    """The functions of a project by name in lower case. One with findings has the body NULL: they are said once.

    The source of one in Python is whole: it has what the function uses of its project, too.
    """
    declared: dict[str, model.Function] = {}
    for function in project.functions:
        declared.setdefault(function.name.lower(), function)
    checked = {}
    for name, function in declared.items():
        problems = _findings(function, declared)
        findings += problems
        checked[name] = replace(function, body="NULL") if problems else _whole(function)
    return checked


def called(functions: Mapping[str, model.Function]) -> Mapping[str, model.Function]:
    """The functions in Python, by the names under which stages call them."""
    in_python = (function for function in functions.values() if isinstance(function.body, model.PythonBody))
    return {called_name(function): function for function in in_python}


def called_name(function: model.Function) -> str:
    """The name under which stages call a function in Python."""
    assert isinstance(function.body, model.PythonBody)
    kinds = [*(parameter.type for parameter in function.parameters), function.returns]
    whole = "\n".join([function.body.source, *map(model.spell_type, kinds)])
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{re.sub(r'[^a-z0-9_]', '_', function.name.lower())}__{digest}"


def _whole(function: model.Function) -> model.Function:
    if isinstance(function.body, str):
        return function
    source = whole_source(function.body.source, function.body.function)
    return replace(function, body=replace(function.body, source=source))


def _findings(function: model.Function, declared: Mapping[str, model.Function]) -> list[Finding]:
    if isinstance(function.body, model.PythonBody):
        return _unfit(function)
    try:
        body = sql.parse_expression(function.body)
    except DeclarationError as error:
        return [_finding(function, QueryRefused, "has a body that can't be read", detail=error.summary)]
    findings = [*_unknown(function, body), *_impure(function, body)]
    if body.find(exp.Query) is not None:
        hint = "A function computes from its parameters."
        findings.append(_finding(function, QueryRefused, "has a subquery in its body", hint=hint))
    if findings:
        return findings
    typer = Typer(_Parameters(function), sql.Headwater, declared)
    typer.type(exp.Cast(this=body, to=sql.sqlglot_type(function.returns)))
    return [_finding(function, one.kind, one.summary, detail=one.detail, hint=one.hint) for one in typer.problems]


def _finding(function: model.Function, kind: type[Finding], what: str, **more: str | None) -> Finding:
    name = function.name
    return kind(f'function "{name}" {what}', origin=function.origin, function=name, **more)


def _unfit(function: model.Function) -> list[Finding]:
    """The types that a function in Python can't be given or can't return."""
    kinds = {parameter.name: parameter.type for parameter in function.parameters} | {"its result": function.returns}
    return [
        _finding(function, UnknownType, f"can't be given or return {model.spell_type(kind)}: {name} is one")
        for name, kind in kinds.items()
        if not model.can_be_logged(kind)
    ]


def _unknown(function: model.Function, body: exp.Expr) -> list[Finding]:
    known = [parameter.name for parameter in function.parameters]
    names = {column.parts[0].name: None for column in columns_of(exp.Paren(this=body))}
    return [
        _finding(
            function,
            UnknownColumn,
            f'names "{name}", which is none of its parameters',
            detail=f"Its parameters are {', '.join(known)}." if known else "It has no parameters.",
            hint=did_you_mean(name, known)
            or f"Add it to the parameters: {function.name}({', '.join([*known, name])}).",
        )
        for name in names
        if name.lower() not in {parameter.lower() for parameter in known}
    ]


def _impure(function: model.Function, body: exp.Expr) -> list[Finding]:
    return [
        _finding(
            function,
            ImpureFunction,
            f'calls "{call.info.name}", which is not a pure function',
            detail=impure_detail(call),
            hint=call.info.impurity.hint or "Give the function the value as a parameter.",
        )
        for call in calls_in(exp.Paren(this=body))
        if call.info.impurity is not None and not call.is_pure
    ]
