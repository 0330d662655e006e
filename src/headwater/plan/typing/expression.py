"""The types of expressions.

A *typer* walks an expression from its leaves, gives every node its type (`node.type`, as sqlglot keeps it) and
gathers problems instead of stopping at the first. What a name means is asked of an *environment*: the columns of a
FROM, or of a stage. An expression with a problem has the type UNKNOWN, about which nothing further is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from headwater.plan.spark_type import BINARY, BOOLEAN, STRING, UNKNOWN, VOID, SparkType
from headwater.plan.typing import arithmetic, forms, literals, names, predicates
from headwater.plan.typing.arithmetic import Operand
from headwater.plan.typing.calls import NATIVE_NAMES, CallTyper
from headwater.plan.typing.environment import Expressions

Rule = Callable[[Expressions, Any], SparkType]
"""The rule that gives a node of a kind its type."""


class Typer(Expressions):
    """Types expressions in one environment: `Typer(environment, dialect)`."""

    def derive(self, node: exp.Expr) -> SparkType:
        """The type of an expression, which isn't kept with it."""
        for kind in type(node).__mro__:
            handler = _HANDLERS.get(kind)
            if handler is not None:
                return handler(self, node)
        if type(node) in NATIVE_NAMES and self.readings:
            return self.native(node)
        return self.spelled(node) if isinstance(node, exp.Func) and not self.readings else self.unknown(node)


def _operator(name: str, rule: Callable[[Operand, Operand], SparkType | None]) -> Rule:
    return lambda typer, node: typer.binary(node, name, rule)


def _constant(kind: SparkType) -> Rule:
    return lambda _typer, _node: kind


_COMPARISONS = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_HANDLERS: dict[type, Rule] = {
    exp.Column: names.column,
    exp.Identifier: names.identifier,
    exp.Dot: names.dot,
    exp.Star: _constant(UNKNOWN),
    exp.Bracket: names.bracket,
    exp.Literal: literals.literal,
    exp.Null: _constant(VOID),
    exp.Boolean: _constant(BOOLEAN),
    exp.HexString: _constant(BINARY),
    exp.RawString: _constant(STRING),
    exp.Interval: literals.length,
    exp.Neg: literals.negative,
    exp.Add: _operator("+", arithmetic.add),
    exp.Sub: _operator("-", arithmetic.subtract),
    exp.Mul: _operator("*", arithmetic.multiply),
    exp.Div: _operator("/", arithmetic.divide),
    exp.Mod: _operator("%", arithmetic.remainder),
    exp.IntDiv: _operator("DIV", arithmetic.integral_divide),
    exp.BitwiseAnd: _operator("&", arithmetic.bitwise),
    exp.BitwiseOr: _operator("|", arithmetic.bitwise),
    exp.BitwiseXor: _operator("^", arithmetic.bitwise),
    exp.BitwiseNot: lambda typer, node: typer.call(node, "~", (node.this,)),
    exp.BitwiseLeftShift: lambda typer, node: typer.call(node, "<<", (node.this, node.expression)),
    exp.BitwiseRightShift: lambda typer, node: typer.call(node, ">>", (node.this, node.expression)),
    exp.Any: lambda typer, node: typer.call(node, "any", (node.this.unnest(),)),
    exp.AtTimeZone: CallTyper.spelled,
    exp.FromTimeZone: CallTyper.spelled,
    exp.And: _operator("AND", arithmetic.combine),
    exp.Or: _operator("OR", arithmetic.combine),
    **{kind: _operator(name, arithmetic.compare) for kind, name in _COMPARISONS.items()},
    exp.DPipe: forms.pipe,
    exp.Not: predicates.negation,
    exp.Is: predicates.test,
    exp.In: predicates.membership,
    exp.Between: predicates.between,
    exp.Like: predicates.like,
    exp.ILike: predicates.like,
    exp.RegexpLike: predicates.like,
    exp.Escape: lambda typer, node: typer.type(node.this),
    exp.Cast: predicates.cast,
    exp.Case: predicates.case,
    exp.Collate: predicates.collation,
    exp.Paren: forms.inner,
    exp.Alias: forms.inner,
    exp.Aliases: forms.inner,
    exp.IgnoreNulls: forms.inner,
    exp.RespectNulls: forms.inner,
    exp.Ordered: forms.inner,
    exp.Distinct: forms.several,
    exp.Tuple: forms.several,
    exp.Subquery: forms.subquery,
    exp.Query: forms.subquery,
    exp.Exists: predicates.exists,
    exp.Anonymous: forms.anonymous,
    exp.Struct: forms.structure,
    exp.VarMap: forms.mapping,
    exp.Map: forms.mapping,
    exp.Window: forms.window,
    exp.WithinGroup: forms.within_group,
    exp.Filter: forms.filtered,
    exp.Var: _constant(STRING),
}
