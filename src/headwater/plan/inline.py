"""Functions of the project's own: a call is replaced by the function's body, or by the name of a function in Python.

Stages then name functions of Spark, and those that the engine makes known to Spark. Arguments are cast to the declared
types of the parameters and the body to the declared type of the result, so that a call means the same wherever it
stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlglot import exp

from headwater import model, sql
from headwater.findings import QueryRefused
from headwater.plan.context import Context
from headwater.plan.own_function import called_name
from headwater.plan.positions import columns_of, locate, move
from headwater.plan.typing.spelling import OPERAND, read


def inline_functions(context: Context, node: exp.Expr, within: tuple[str, ...] = ()) -> exp.Expr:
    """The expression with every call of a declared function replaced; `within` are the functions around it."""
    root = exp.Paren(this=node)
    for call in list(root.find_all(exp.Func)) if context.functions else ():
        named = _as_written(context, call)
        if named is not None and call.find_ancestor(exp.Query) is None:
            call.replace(_expanded(context, named, context.functions[named.name.lower()], within))
    return cast(exp.Expr, root.this)


def _as_written(context: Context, call: exp.Func) -> exp.Anonymous | None:
    """A call of a declared function as the name and the arguments that stand there; None if it is another's.

    sqlglot has nodes of its own for many functions that Spark hasn't, and a project may have one of that name.
    """
    if isinstance(call, exp.Anonymous):
        return call if call.name.lower() in context.functions else None
    names = {name.lower() for name in type(call).sql_names()} if isinstance(call, exp.Func) else set()
    reading = read(call, sql.Headwater) if names & set(context.functions) else None
    if reading is None or not isinstance(reading.tree, exp.Anonymous):
        return None
    if reading.tree.name.lower() not in context.functions:
        return None
    arguments = [
        reading.operands[int(part.name.removeprefix(OPERAND))] if part.name.startswith(OPERAND) else part
        for part in reading.tree.expressions
    ]
    written = exp.Anonymous(this=reading.tree.name, expressions=[argument.copy() for argument in arguments])
    locate(written, call)
    return written


def _expanded(context: Context, call: exp.Anonymous, function: model.Function, within: tuple[str, ...]) -> exp.Expr:
    name = function.name.lower()
    if name in within:
        hint = "Write it without recursion: its body takes the place of a call."
        context.refuse(QueryRefused, f'calls the function "{function.name}", which calls itself', call, hint=hint)
        return move(exp.Null(), call)
    if len(call.expressions) != len(function.parameters):
        wanted = ", ".join(str(parameter) for parameter in function.parameters)
        count, needed = len(call.expressions), len(function.parameters)
        context.refuse(
            QueryRefused,
            f'calls the function "{function.name}" with {count} arguments in place of {needed}',
            call,
            detail=f"Its parameters are ({wanted}).",
            hint=f"Write {function.name}({', '.join(parameter.name for parameter in function.parameters)}).",
        )
        return move(exp.Null(), call)
    arguments = {
        parameter.name.lower(): sql.cast(inline_functions(context, argument.copy(), within), parameter.type)
        for parameter, argument in zip(function.parameters, call.expressions, strict=True)
    }
    if isinstance(function.body, model.PythonBody):
        value: exp.Expr = locate(exp.Anonymous(this=called_name(function), expressions=list(arguments.values())), call)
    else:
        body = inline_functions(context, move(sql.parse_expression(function.body), call), (*within, name))
        value = exp.Paren(this=_substituted(body, arguments))
    return locate(sql.cast(value, function.returns), call)


def _substituted(body: exp.Expr, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
    root = exp.Paren(this=body)
    for column in list(columns_of(root)):
        argument = arguments.get(column.parts[0].name.lower())
        if argument is not None:
            column.replace(with_fields(argument.copy(), [part.name for part in column.parts[1:]]))
    return cast(exp.Expr, root.this)


def with_fields(node: exp.Expr, fields: list[str]) -> exp.Expr:
    """The node, followed by the names of fields of a struct."""
    for field in fields:
        node = exp.Dot(this=node, expression=exp.to_identifier(field))
    return node
