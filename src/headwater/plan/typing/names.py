"""The types of names: columns, fields of structs, parts of arrays and maps."""

from __future__ import annotations

from sqlglot import exp

from headwater.findings import TypeMismatch
from headwater.plan.functions import find
from headwater.plan.spark_type import UNKNOWN, VOID, SparkType
from headwater.plan.typing import remedy
from headwater.plan.typing.coercion import cast_implicitly
from headwater.plan.typing.environment import Expressions
from headwater.plan.typing.spelling import OPERAND


def column(typer: Expressions, node: exp.Column) -> SparkType:
    if isinstance(node.this, exp.Star):
        return UNKNOWN
    parts = [part.name for part in node.parts]
    if typer.readings and parts[0].startswith(OPERAND):
        return typer.operand_type(int(parts[0][len(OPERAND) :]))
    for scope in reversed(typer.parameters):
        if parts[0].lower() in scope:
            return typer.fields(node, scope[parts[0].lower()], parts[1:])
    kind = typer.environment.column(node)
    if kind is None and len(parts) == 1 and (info := find(parts[0])) and info.signature.least == 0:
        return typer._call(node, parts[0], ())
    return UNKNOWN if kind is None else kind


def identifier(typer: Expressions, node: exp.Identifier) -> SparkType:
    for scope in reversed(typer.parameters):
        if node.name.lower() in scope:
            return scope[node.name.lower()]
    return typer.type(exp.column(node.copy()))


def dot(typer: Expressions, node: exp.Dot) -> SparkType:
    if isinstance(node.expression, exp.Func):
        return typer.spelled(node.expression)
    return typer.field(node, typer.type(node.this), node.expression.name)


def bracket(typer: Expressions, node: exp.Bracket) -> SparkType:
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        return _of_several(typer, node)
    if node.args.get("offset"):
        return typer.spelled(node)
    holder, key = typer.type(node.this), typer.type(node.expressions[0])
    if UNKNOWN in (holder, key):
        return holder.element if holder.name == "array" else holder.value
    if holder.name == "array" and (key.is_integral or key == VOID):
        return holder.element
    if holder.name == "map" and cast_implicitly(key, str(holder.key)) is not None:
        return holder.value
    literal = node.expressions[0]
    if holder.name == "struct" and isinstance(literal, exp.Literal) and literal.is_string:
        return typer.field(node, holder, literal.name)
    texts = [typer.text(node.this), typer.text(node.expressions[0])]
    return typer.mismatch(node, "[]", [holder, key], hint=remedy.of_operator("[]", texts, [holder, key]))


def _of_several(typer: Expressions, node: exp.Bracket) -> SparkType:
    """Brackets around more than one key, or around a part of a list."""
    holder = typer.text(node.this)
    if len(node.expressions) == 1:
        first, last = (node.expressions[0].args.get(part) for part in ("this", "expression"))
        ends = [int(end.name) for end in (first, last) if isinstance(end, exp.Literal) and end.is_int]
        count = str(ends[1] - ends[0] + 1) if len(ends) == 2 else "length"
        what, hint = "takes a part of a list with [ : ]", f"Write slice({holder}, {ends[0] if ends else 1}, {count})."
    else:
        what, hint = "takes several elements of a value at once, with [ , ]", "Take them one by one."
    return typer.report(node, TypeMismatch, what, hint=hint)
