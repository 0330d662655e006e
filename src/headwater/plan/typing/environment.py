"""Where an expression is typed: what names mean there, and what the rules of all nodes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.findings import TypeMismatch
from headwater.model import Function
from headwater.plan.spark_type import BOOLEAN, STRING, UNKNOWN, VOID, SparkType, array, to_sqlglot
from headwater.plan.typing import remedy
from headwater.plan.typing.arithmetic import Operand
from headwater.plan.typing.call import whole_number
from headwater.plan.typing.calls import CallTyper, spell
from headwater.plan.typing.coercion import can_cast, is_orderable
from headwater.plan.typing.problem import Problem
from headwater.sql.refusal import did_you_mean

Columns = Sequence[tuple[str, SparkType]]
"""The columns of a relation: names and types, in order."""


class Environment(Protocol):
    """The meaning of names where an expression stands."""

    def column(self, node: exp.Column) -> SparkType | None:
        """The type of a column, None where the problem has been reported by whoever looked for it."""

    def star(self, node: exp.Expr) -> Columns:
        """The columns that `*` or `t.*` stands for."""

    def query(self, node: exp.Query) -> Columns:
        """The columns of a subquery."""


class Expressions(CallTyper):
    """The base of typers of one environment; `Typer` knows the rule of each node."""

    def __init__(
        self,
        environment: Environment,
        dialect: type[Dialect],
        functions: Mapping[str, Function] | None = None,
        problems: list[Problem] | None = None,
    ) -> None:
        super().__init__(dialect, functions or {}, [] if problems is None else problems)
        self.environment = environment

    def type(self, node: exp.Expr) -> SparkType:
        """The type of an expression; every node of it is given its own."""
        kind = self.derive(node)
        if not self.readings:
            node._type = to_sqlglot(kind)
        return kind

    def fields(self, node: exp.Expr, kind: SparkType, names: Sequence[str]) -> SparkType:
        """The type that `.a.b` gives."""
        for name in names:
            kind = self.field(node, kind, name)
        return kind

    def field(self, node: exp.Expr, kind: SparkType, name: str) -> SparkType:
        """The type of `.name`: a field of a struct, that field of every struct in an array, or a map's value."""
        if kind == UNKNOWN:
            return UNKNOWN
        part = kind.field(name)
        if kind.name == "array" and (inner := kind.element.field(name)) is not None:
            part = array(inner)
        if kind.name == "map" and kind.key == STRING:
            part = kind.value
        if part is not None:
            return part
        has = f"It has the fields {', '.join(kind.labels)}." if kind.labels else f"It is {spell(kind)}."
        hint = did_you_mean(name, kind.labels) or "Write one of its fields."
        if not kind.labels:
            hint = f"If it holds JSON, write get_json_object(…, '$.{name}'); else leave .{name} out."
        what = "that it hasn't" if kind.labels else "of a value that has none"
        return self.report(node, TypeMismatch, f'takes a field "{name}" {what}', detail=has, hint=hint)

    def operand(self, node: exp.Expr) -> Operand:
        """An expression as the operand of an operator."""
        return Operand(self.type(node), whole_number(node))

    def mismatch(self, node: exp.Expr, name: str, kinds: Sequence[SparkType], **more: Any) -> SparkType:
        """Report that an operator or a clause can't take these types."""
        if any(not kind.is_known for kind in kinds):
            return UNKNOWN
        applied_to = " and ".join(spell(kind) for kind in kinds)
        more.setdefault("hint", remedy.of_several(kinds))
        return self.report(node, TypeMismatch, f'applies "{name}" to {applied_to}', **more)

    def binary(self, node: exp.Expr, name: str, rule: Callable[[Operand, Operand], SparkType | None]) -> SparkType:
        """The type that an operator gives by its rule."""
        left, right = self.operand(node.this), self.operand(node.expression)
        result = rule(left, right)
        if result is not None:
            return result
        kinds = [left.kind, right.kind]
        texts = [self.text(self._original(side)) for side in (node.this, node.expression)]
        return self.mismatch(node, name, kinds, hint=remedy.of_operator(name, texts, kinds))

    def query_columns(self, node: exp.Expr) -> Columns:
        """The columns of a subquery, or an expression as the only one."""
        inner = node.unnest() if isinstance(node, exp.Subquery) else node
        return self.environment.query(inner) if isinstance(inner, exp.Query) else [("", self.type(inner))]

    def window_parts(self, node: exp.Window) -> None:
        """The clauses of an OVER, or of a window that has a name."""
        for part in node.args.get("partition_by") or ():
            self.ordered(part, "PARTITION BY")
        if (order := node.args.get("order")) is not None:
            for term in order.expressions:
                self.ordered(term.this if isinstance(term, exp.Ordered) else term, "ORDER BY")
        spec = node.args.get("spec")
        for bound in (spec.args.get("start"), spec.args.get("end")) if spec is not None else ():
            if isinstance(bound, exp.Expr):
                self.type(bound)

    def ordered(self, node: exp.Expr, clause: str) -> SparkType:
        """The type of an expression that rows are ordered or partitioned by."""
        kind = self.type(node)
        if is_orderable(kind):
            return kind
        hint = remedy.inside(self.text(node), kind) or f"Write something in {clause} whose values have an order."
        return self.mismatch(node, clause, [kind], hint=hint)

    def condition(self, node: exp.Expr, clause: str) -> None:
        """An expression that must be BOOLEAN: WHERE, ON, FILTER; in a HAVING Spark casts it."""
        kind = self.type(node)
        if kind not in (BOOLEAN, UNKNOWN, VOID) and not (clause == "HAVING" and can_cast(kind, BOOLEAN)):
            self.mismatch(node, clause, [kind], hint=remedy.of_condition(self.text(node), kind))

    def operand_type(self, position: int) -> SparkType:
        """The type of an operand of the call that is being read."""
        kind = self.readings[-1][1][position]
        return UNKNOWN if kind is None else kind
