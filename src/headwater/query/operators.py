"""Operators, predicates and parts of values, in DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headwater import sql
from headwater.plan.spark_type import DOUBLE, INT, STRING, VOID, SparkType
from headwater.plan.typing import type_of
from headwater.query import arithmetic
from headwater.query.casts import attempted
from headwater.query.expression import Expressions, Rule, check_parts, spell
from headwater.query.refusal import refused
from headwater.query.spelling import cast, name, text_of

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_ARITHMETIC: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip


def _negative(writer: Expressions, node: exp.Neg) -> str:
    kind = type_of(node)
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return cast(text_of(f"-{node.this.name}"), kind)
    return cast(f"-({writer.write_as(node.this, kind)})", kind)


def _arithmetic(writer: Expressions, node: exp.Binary) -> str:
    operator, result = _ARITHMETIC[type(node)], type_of(node)
    months = _months(node.expression) if operator in "+-" else None
    if months is not None and type_of(node.this).name in ("date", "timestamp", "timestamp_ntz"):
        return arithmetic.moved_by_months(operator, writer.typed(node.this), months, result)
    left, right = writer.typed(node.this), writer.typed(node.expression)
    moved = arithmetic.moved(operator, left, right, result) if operator in "+-" else None
    if moved is not None:
        return moved
    if result.name == "day_time" and operator == "*":
        whole = [side for side in (left, right) if side[1].is_integral]
        length = next((side for side in (left, right) if side[1].name == "day_time"), None)
        if whole and length:
            return f"({length[0]} * CAST({whole[0][0]} AS BIGINT))"
    if not result.is_numeric or not all(side[1].is_numeric or side[1] in (STRING, VOID) for side in (left, right)):
        raise refused(f"A query can't compute {spell(node)}.")
    sides = [_number(writer, side, result) for side in (node.this, node.expression)]
    return f"({arithmetic.number(operator, sides[0], sides[1], result)})"


def _number(writer: Expressions, node: exp.Expr, result: SparkType) -> arithmetic.Typed:
    kind = type_of(node)
    if kind == STRING or kind.name == "void":
        target = result if result.is_integral else DOUBLE
        return writer.write_as(node, target), target
    return writer.write(node), kind


def _compared(writer: Expressions, node: exp.Binary) -> str:
    left, right = type_of(node.this), type_of(node.expression)
    meeting = writer.meeting([left, right], node)
    one, other = writer.write_as(node.this, meeting), writer.write_as(node.expression, meeting)
    return f"({one} {_COMPARISONS[type(node)]} {other})"


def _connected(writer: Expressions, node: exp.Connector) -> str:
    word = "AND" if isinstance(node, exp.And) else "OR"
    return f"({writer.condition(node.this)} {word} {writer.condition(node.expression)})"


def _not(writer: Expressions, node: exp.Not) -> str:
    return f"(NOT {writer.condition(node.this)})"


def _is(writer: Expressions, node: exp.Is) -> str:
    if isinstance(node.expression, exp.Null):
        return f"({writer.show(node.this)} IS NULL)"
    if isinstance(node.expression, exp.Boolean):
        return f"({writer.condition(node.this)} IS {'TRUE' if node.expression.this else 'FALSE'})"
    raise refused(f"A query can't test {spell(node)}.")


def _in(writer: Expressions, node: exp.In) -> str:
    check_parts(node, "this", "expressions", "query")
    query = node.args.get("query")
    if query is None:
        meeting = writer.meeting([type_of(part) for part in (node.this, *node.expressions)], node)
        values = ", ".join(writer.write_as(value, meeting) for value in node.expressions)
        return f"({writer.write_as(node.this, meeting)} IN ({values}))"
    return writer.in_query(node, query)


def _between(writer: Expressions, node: exp.Between) -> str:
    check_parts(node, "this", "low", "high")
    sides = []
    for operator, bound in ((">=", node.args["low"]), ("<=", node.args["high"])):
        meeting = writer.meeting([type_of(node.this), type_of(bound)], node)
        sides.append(f"{writer.write_as(node.this, meeting)} {operator} {writer.write_as(bound, meeting)}")
    return f"({' AND '.join(sides)})"


def _like(writer: Expressions, node: exp.Binary, escape: str = "\\") -> str:
    check_parts(node, "this", "expression", "negate")
    if isinstance(node.expression, (exp.Any, exp.All)):
        raise refused(f"A query has no LIKE ANY: {spell(node)}.", "Write several LIKE with OR between them.")
    word = ("NOT " if node.args.get("negate") else "") + ("ILIKE" if isinstance(node, exp.ILike) else "LIKE")
    text, pattern = writer.write_as(node.this, STRING), writer.write_as(node.expression, STRING)
    return f"({text} {word} {pattern} ESCAPE {text_of(escape)})"


def _escape(writer: Expressions, node: exp.Escape) -> str:
    if not isinstance(node.this, (exp.Like, exp.ILike)) or not isinstance(node.expression, exp.Literal):
        raise refused(f"A query can't read {spell(node)}.")
    return _like(writer, node.this, node.expression.name)


def _cast(writer: Expressions, node: exp.Cast) -> str:
    check_parts(node, "this", "to", "safe")
    if node.args.get("safe"):
        return attempted(writer.write(node.this), type_of(node.this), type_of(node))
    return writer.write_as(node.this, type_of(node))


def _case(writer: Expressions, node: exp.Case) -> str:
    result, branches = type_of(node), []
    for branch in node.args["ifs"]:
        tested = node.this
        if tested is None:
            condition = writer.condition(branch.this)
        else:
            meeting = writer.meeting([type_of(tested), type_of(branch.this)], node)
            condition = f"{writer.write_as(tested, meeting)} = {writer.write_as(branch.this, meeting)}"
        branches.append(f"WHEN {condition} THEN {writer.write_as(branch.args['true'], result)}")
    default = node.args.get("default")
    end = f" ELSE {writer.write_as(default, result)}" if default is not None else ""
    return f"(CASE {' '.join(branches)}{end} END)"


def _bracket(writer: Expressions, node: exp.Bracket) -> str:
    check_parts(node, "this", "expressions")
    holder, (key,) = type_of(node.this), node.expressions
    if holder.name == "map":
        return f"{writer.write(node.this)}[{writer.write_as(key, holder.key)}]"
    if holder.name == "array":
        return f"hw_item({writer.write(node.this)}, {writer.write_as(key, INT)})"
    raise refused(f"A query can't take a part of {str(holder).upper()}: {spell(node)}.")


def _dot(writer: Expressions, node: exp.Dot) -> str:
    if type_of(node.this).name != "struct" or not isinstance(node.expression, exp.Identifier):
        raise refused(f"A query takes fields of structs, and this is none: {spell(node)}.")
    return f"({writer.write(node.this)}).{name(node.expression.name)}"


def _months(node: exp.Expr) -> int | None:
    """The months of a constant interval of months and years."""
    plain = node.unnest()
    sign = -1 if isinstance(plain, exp.Neg) else 1
    if type_of(plain).name != "year_month":
        return None
    months = sql.months(plain.this if sign < 0 else plain)
    return None if months is None else sign * months


OPERATORS: Mapping[type, Rule] = {
    exp.Neg: _negative,
    exp.Paren: lambda writer, node: f"({writer.show(node.this)})",
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_COMPARISONS, _compared),
    exp.Connector: _connected,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.Cast: _cast,
    exp.Case: _case,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
}
