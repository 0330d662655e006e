"""The types of forms around expressions: subqueries, structs, OVER, WITHIN GROUP, FILTER, lists."""

from __future__ import annotations

from sqlglot import exp

from headwater.findings import QueryRefused
from headwater.plan.spark_type import UNKNOWN, SparkType, struct, to_sqlglot
from headwater.plan.typing.call import name_of
from headwater.plan.typing.environment import Columns, Expressions
from headwater.plan.typing.spelling import read


def subquery(typer: Expressions, node: exp.Expr) -> SparkType:
    columns = typer.query_columns(node)
    return columns[0][1] if len(columns) == 1 else UNKNOWN


def pipe(typer: Expressions, node: exp.DPipe) -> SparkType:
    return typer.call(node, "concat", (node.this, node.expression))


def anonymous(typer: Expressions, node: exp.Anonymous) -> SparkType:
    if node.name.lower() == "struct" and any(part.is_star for part in node.expressions):
        return structure(typer, node)
    return typer.call(node, node.name, tuple(node.expressions))


def structure(typer: Expressions, node: exp.Expr) -> SparkType:
    fields: list[tuple[str, SparkType]] = []
    for part in node.expressions:
        fields += _fields(typer, part, len(fields) + 1)
    return struct(*fields)


def _fields(typer: Expressions, part: exp.Expr, position: int) -> Columns:
    if part.is_star:
        return typer.environment.star(part)
    if isinstance(part, exp.PropertyEQ):
        return [(part.this.name, typer.type(part.expression))]
    return [(name_of(part) or f"col{position}", typer.type(part))]


def mapping(typer: Expressions, node: exp.Expr) -> SparkType:
    keys, values = node.args.get("keys"), node.args.get("values")
    if not (isinstance(keys, exp.Array) and isinstance(values, exp.Array)):
        return typer.spelled(node)
    pairs = zip(keys.expressions, values.expressions, strict=True)
    return typer.call(node, "map", tuple(part for pair in pairs for part in pair))


def window(typer: Expressions, node: exp.Window) -> SparkType:
    typer.window_parts(node)
    return typer.type(node.this)


def within_group(typer: Expressions, node: exp.WithinGroup) -> SparkType:
    order = node.expression
    if order is None:
        hint = "Write WITHIN GROUP (ORDER BY at), with what orders the values."
        return typer.report(node, QueryRefused, "has a WITHIN GROUP without ORDER BY", hint=hint)
    terms = [term.this if isinstance(term, exp.Ordered) else term for term in order.expressions]
    ordering = tuple(typer.ordered(term, "ORDER BY") for term in terms)
    inner = node.this
    if isinstance(inner, exp.Anonymous):
        kind = typer.call(inner, inner.name, tuple(inner.expressions), ordering)
    else:
        reading = read(inner, typer.dialect)
        if reading is None or not isinstance(reading.tree, exp.Anonymous):
            return typer.unknown(node)
        kinds = tuple(typer.type(operand) for operand in reading.operands)
        typer.readings.append((reading, kinds))
        kind = typer.call(reading.tree, reading.tree.name, tuple(reading.tree.expressions), ordering)
        typer.readings.pop()
    inner._type = to_sqlglot(kind)
    return kind


def filtered(typer: Expressions, node: exp.Filter) -> SparkType:
    typer.condition(node.expression.this, "FILTER")
    return typer.type(node.this)


def inner(typer: Expressions, node: exp.Expr) -> SparkType:
    return typer.type(node.this)


def several(typer: Expressions, node: exp.Expr) -> SparkType:
    kinds = [typer.type(part) for part in node.expressions]
    if len(kinds) == 1:
        return kinds[0]
    names = (name_of(part) or f"col{position}" for position, part in enumerate(node.expressions, start=1))
    return SparkType("struct", tuple(kinds), tuple(names))
