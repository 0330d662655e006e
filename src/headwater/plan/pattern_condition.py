"""The conditions of a pattern's variables: what of each is a column of a row, and what looks at the match so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.findings import NotSupportedYet, QueryRefused
from headwater.operators import Field, Stage
from headwater.operators.match.condition import TOTALS, OfMatch, OfRow, Operation, Total, Value
from headwater.operators.match.stage import Condition
from headwater.plan.calls import call_of, is_aggregate
from headwater.plan.context import Context
from headwater.plan.expression import expression
from headwater.plan.pattern_rows import ENDS, Navigation, Rows, name_of, replaced
from headwater.plan.positions import columns_of

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: Mapping[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_KNOWN = (
    "A condition that looks at the match so far has columns, FIRST, LAST, COUNT, SUM, AVG, MIN, MAX, comparisons, "
    "arithmetic, AND, OR, NOT, IN, BETWEEN, IS NULL, coalesce and abs; what concerns the row alone may be anything."
)


def condition_of(context: Context, rows: Rows, pattern: model.Pattern, variable: str, node: exp.Expr) -> Condition:
    """The condition of a variable."""
    return _Defining(context, rows, pattern, variable).condition(node)


@dataclass
class _Defining:
    """The condition of one variable. `values` are those of the match so far, by the columns that stand for them."""

    context: Context
    rows: Rows
    pattern: model.Pattern
    variable: str
    values: dict[str, Value] = field(default_factory=dict)
    fields: list[Field] = field(default_factory=list)

    def condition(self, node: exp.Expr) -> Condition:
        before = len(self.context.findings)
        lifted = replaced(node, self._lifted)
        if len(self.context.findings) > before:
            return Condition(self.variable)
        bound = replace(self.rows, extra=tuple(self.fields)).plain(lifted)
        expression(self.context, bound, self._stage, clause="DEFINE")
        parts = list(bound.flatten()) if isinstance(bound, exp.And) else [bound]
        of_row = [part for part in parts if not self._looks_back(part)]
        so_far = [part for part in parts if self._looks_back(part)]
        if len(self.context.findings) > before:
            return Condition(self.variable)
        column = (
            self.rows.compute(exp.and_(*(part.copy() for part in of_row)) if len(of_row) > 1 else of_row[0])
            if of_row
            else None
        )
        values = [self._value(part) for part in so_far]
        whole = values[0] if len(values) == 1 else Operation("and", tuple(values), pa.bool_()) if values else None
        return Condition(self.variable, column, whole)

    @property
    def _stage(self) -> Stage:
        return replace(self.rows, extra=tuple(self.fields)).stage

    def _looks_back(self, node: exp.Expr) -> bool:
        return any(column.name in self.values for column in columns_of(node))

    def _numbers(self, name: str) -> frozenset[int]:
        """The numbers of the variables that a name stands for; all of them without one."""
        members = next((parts for subset, parts in self.pattern.subsets.items() if subset.lower() == name), (name,))
        wanted = {member.lower() for member in members} if name else None
        variables = enumerate(self.pattern.variables)
        return frozenset(number for number, each in variables if wanted is None or each.lower() in wanted)

    def _is_own(self, name: str) -> bool:
        """Tells whether the last row of a name is the one that is tried, whatever came before."""
        own = next(number for number, each in enumerate(self.pattern.variables) if each == self.variable)
        return own in self._numbers(name)

    def _lifted(self, node: exp.Expr) -> exp.Expr | None:
        """The column in the place of a part of the condition; None to look into it."""
        name = name_of(node)
        if name in ("CLASSIFIER", "MATCH_NUMBER"):
            hint = "Name the variable whose rows are meant, and use it as a measure."
            self.context.refuse(NotSupportedYet, f"asks for {name}() in DEFINE", node, hint=hint)
            return exp.Null()
        if name:
            navigation = self.rows.navigation(node, self.variable)
            return self._navigated(navigation) if navigation else exp.Null()
        if is_aggregate(node):
            return self._total(node)
        if isinstance(node, exp.Column) and (variable := self.rows.variable_of(node)):
            return self._navigated(Navigation(node, variable))
        return None

    def _navigated(self, navigation: Navigation) -> exp.Expr:
        column = self.rows.column_of(navigation)
        if navigation.last and not navigation.offset and self._is_own(navigation.variable):
            return exp.column(exp.to_identifier(column))
        value = OfMatch(column, self._numbers(navigation.variable), navigation.last, navigation.offset)
        return self._named(value, self.rows.expression(column).type)

    def _total(self, node: exp.Expr) -> exp.Expr:
        call = call_of(node)
        function = call.info.name if call else ""
        if call is None or function not in TOTALS or call.distinct or isinstance(node, exp.Filter):
            what = f'gathers rows with "{function}" in DEFINE, which is not supported yet'
            hint = "Use it as a measure, and filter by it behind the pattern."
            self.context.refuse(NotSupportedYet, what, node, detail=_KNOWN, hint=hint)
            return exp.Null()
        argument = call.arguments[0]
        star = argument if isinstance(argument, exp.Star) else argument.find(exp.Star)
        if star is not None:
            name = self.rows.variable_of(star.parent) if isinstance(star.parent, exp.Column) else ""
            return self._named(Total("count", None, self._numbers(name), pa.int64()), pa.int64())
        variables = self.rows.variables_in(argument)
        if len(variables) > 1:
            hint = "Let each aggregate name one; SUBSET makes one of several."
            self.context.refuse(QueryRefused, "names more than one variable in an aggregate", node, hint=hint)
            return exp.Null()
        column = self.rows.compute(self.rows.plain(argument))
        copy = node.copy()
        typed = expression(self.context, self.rows.plain(copy), self.rows.stage)
        value = Total(function, column, self._numbers(next(iter(variables), "")), typed.type)
        return self._named(value, typed.type)

    def _named(self, value: Value, kind: pa.DataType) -> exp.Expr:
        name = next((known for known, same in self.values.items() if same == value), f"__so_far{len(self.values)}")
        if name not in self.values:
            self.values[name] = value
            self.fields.append(Field(name, kind))
        return exp.column(exp.to_identifier(name))

    def _value(self, node: exp.Expr) -> Value:
        """The tree of a part that looks at the match so far."""
        node = node.unnest()
        if isinstance(node, exp.Column) and node.name in self.values:
            return self.values[node.name]
        if not self._looks_back(node):
            return OfRow(self.rows.compute(node))
        match node:
            case exp.And() | exp.Or():
                return self._operation("and" if isinstance(node, exp.And) else "or", *node.flatten())
            case exp.Not():
                return self._operation("not", node.this)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._operation("is null", node.this)
            case exp.Between():
                least = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
                most = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
                return self._operation("and", least, most)
            case exp.In() if node.expressions and not node.args.get("query"):
                equal = [exp.EQ(this=node.this.copy(), expression=each.copy()) for each in node.expressions]
                return self._operation("or", *equal) if len(equal) > 1 else self._value(equal[0])
            case exp.Neg():
                return self._operation("negative", node.this, kind=self._type(node))
            case exp.Abs():
                return self._operation("abs", node.this, kind=self._type(node))
            case exp.Coalesce():
                parts = [node.this, *node.expressions]
                if len({self._type(part) for part in parts}) == 1:
                    return self._operation("coalesce", *parts, kind=self._type(node))
        if (name := _COMPARISONS.get(type(node))) and self._are_alike(node.this, node.expression):
            return self._operation(name, node.this, node.expression)
        if (name := _ARITHMETIC.get(type(node))) and self._adds_up(name, node):
            return self._operation(name, node.this, node.expression, kind=self._type(node))
        shown = sql.spell(node)
        for name, value in self.values.items():
            shown = shown.replace(name, _shown(value))
        what = f"computes {shown} in DEFINE, which is not supported yet"
        hint = "Cast what is compared to one type, or use it as a measure, and filter by it behind the pattern."
        self.context.refuse(NotSupportedYet, what, node, detail=_KNOWN, hint=hint)
        return OfRow("")

    def _operation(self, name: str, *parts: exp.Expr, kind: pa.DataType | None = None) -> Operation:
        return Operation(name, tuple(self._value(part) for part in parts), kind or pa.bool_())

    def _type(self, node: exp.Expr) -> pa.DataType:
        return expression(replace(self.context, findings=[]), node, self._stage).type

    def _are_alike(self, left: exp.Expr, right: exp.Expr) -> bool:
        """Tells whether two values are compared as they are."""
        one, other = self._type(left), self._type(right)
        return one == other or (_is_number(one) and _is_number(other))

    def _adds_up(self, name: str, node: exp.Expr) -> bool:
        """Tells whether an operation of arithmetic is one of numbers, or of instants and spans of time."""
        one, other = self._type(node.this), self._type(node.expression)
        if _is_number(one) and _is_number(other):
            return True
        timed = pa.types.is_timestamp(one) and pa.types.is_duration(other) and name in "+-"
        return timed or (pa.types.is_timestamp(one) and one == other and name == "-")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _shown(value: Value) -> str:
    match value:
        case OfMatch(column, _, last):
            return f"{ENDS[last]}({column})"
        case Total(function, column):
            return f"{function.upper()}({column or '*'})"
        case _:
            return "…"
