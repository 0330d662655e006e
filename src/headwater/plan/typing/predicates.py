"""The types of what tests, chooses and casts: NOT, IN, BETWEEN, LIKE, CASE, CAST."""

from __future__ import annotations

from sqlglot import exp

from headwater.findings import TypeMismatch, UnknownType
from headwater.plan.spark_type import BOOLEAN, UNKNOWN, SparkType, from_sqlglot
from headwater.plan.typing import arithmetic, remedy
from headwater.plan.typing.call import Refused
from headwater.plan.typing.calls import spell
from headwater.plan.typing.coercion import can_cast, cast_implicitly, common, is_orderable
from headwater.plan.typing.constants import check_collation, check_like, check_pattern
from headwater.plan.typing.environment import Expressions


def negation(typer: Expressions, node: exp.Not) -> SparkType:
    kind = typer.type(node.this)
    if cast_implicitly(kind, "boolean") is not None:
        return BOOLEAN
    return typer.mismatch(node, "NOT", [kind], hint=remedy.of_condition(typer.text(node.this), kind))


def test(typer: Expressions, node: exp.Expr) -> SparkType:
    """IS NULL, IS TRUE, and the like."""
    typer.type(node.this)
    return BOOLEAN


def membership(typer: Expressions, node: exp.In) -> SparkType:
    kinds = [typer.type(node.this)]
    query = node.args.get("query")
    if query is not None:
        columns = typer.query_columns(query)
        if len(columns) > 1:
            return BOOLEAN if len(kinds[0].parts) == len(columns) else typer.mismatch(node, "IN", kinds)
        kinds += [kind for _, kind in columns] or [UNKNOWN]
    kinds += [typer.type(value) for value in node.expressions]
    shared = common(kinds)
    return BOOLEAN if shared is not None and is_orderable(shared) else typer.mismatch(node, "IN", kinds)


def between(typer: Expressions, node: exp.Between) -> SparkType:
    value = typer.operand(node.this)
    for bound in (node.args["low"], node.args["high"]):
        other = typer.operand(bound)
        if arithmetic.compare(value, other) is None:
            return typer.mismatch(node, "BETWEEN", [value.kind, other.kind])
    return BOOLEAN


def like(typer: Expressions, node: exp.Expr) -> SparkType:
    pattern = node.expression
    many = isinstance(pattern, (exp.Any, exp.All))
    patterns = pattern.this.unnest().expressions if many and isinstance(pattern.this, exp.Tuple) else [pattern]
    patterns = [pattern.this.unnest()] if many and not isinstance(pattern.this, exp.Tuple) else patterns
    kinds = [typer.type(part) for part in (node.this, *patterns)]
    if not all(cast_implicitly(kind, "string") is not None for kind in kinds):
        return typer.mismatch(node, node.key.upper(), kinds)
    above = node.parent
    escape = above.expression.name if isinstance(above, exp.Escape) else "\\"
    for part in patterns:
        if isinstance(part, exp.Literal) and part.is_string:
            refused = _refused_pattern(part.name, None if isinstance(node, exp.RegexpLike) else escape)
            if refused is not None:
                what = f"compares with the pattern '{part.name}', which can't be read"
                return typer.report(node, TypeMismatch, what, detail=refused.detail, hint=refused.hint)
    return BOOLEAN


def _refused_pattern(pattern: str, escape: str | None) -> Refused | None:
    """The reason why a pattern of LIKE, or without an escape of RLIKE, can't be read; None if it can."""
    try:
        if escape is None:
            check_pattern(pattern)
        else:
            check_like(pattern, escape)
    except Refused as refusal:
        return refusal
    return None


def collation(typer: Expressions, node: exp.Collate) -> SparkType:
    kind = typer.type(node.this)
    try:
        check_collation(node.expression.name)
    except Refused as refusal:
        what = f"compares by the collation {node.expression.name}"
        return typer.report(node, TypeMismatch, what, detail=refusal.detail, hint=refusal.hint)
    return kind


def cast(typer: Expressions, node: exp.Cast) -> SparkType:
    kind, target = typer.type(node.this), from_sqlglot(node.to)
    if target == UNKNOWN:
        hint = "Write a type of Spark SQL, like STRING, INT, DECIMAL(12, 2) or TIMESTAMP."
        return typer.report(
            node, UnknownType, f'casts to "{typer.text(node.to)}", which is no type of Spark', hint=hint
        )
    if can_cast(kind, target):
        return target
    hint = remedy.inside(typer.text(node.this), kind) or "Leave the cast out, or go through STRING: two casts."
    return typer.report(node, TypeMismatch, f"casts {spell(kind)} to {spell(target)}, which Spark can't do", hint=hint)


def case(typer: Expressions, node: exp.Case) -> SparkType:
    tested = typer.operand(node.this) if node.this is not None else None
    kinds = []
    for branch in node.args["ifs"]:
        condition = typer.operand(branch.this)
        if tested is not None and arithmetic.compare(tested, condition) is None:
            typer.mismatch(branch.this, "=", [tested.kind, condition.kind])
        if tested is None and condition.kind not in (BOOLEAN, UNKNOWN):
            hint = remedy.of_condition(typer.text(branch.this), condition.kind)
            typer.mismatch(branch.this, "CASE WHEN", [condition.kind], hint=hint)
        kinds.append(typer.type(branch.args["true"]))
    if (default := node.args.get("default")) is not None:
        kinds.append(typer.type(default))
    kind = common(kinds)
    return typer.mismatch(node, "CASE", kinds) if kind is None else kind


def exists(typer: Expressions, node: exp.Exists) -> SparkType:
    inner = node.this.unnest() if isinstance(node.this, exp.Subquery) else node.this
    if isinstance(inner, exp.Query):
        typer.environment.query(inner)
        return BOOLEAN
    return typer.spelled(node)
