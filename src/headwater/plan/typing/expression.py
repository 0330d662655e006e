"""The types of expressions.

A *typer* walks an expression from its leaves, gives every node its type (`node.type`, as sqlglot keeps it) and
gathers problems instead of stopping at the first. What a name means is asked of an *environment*: the columns of a
FROM, or of a stage. An expression with a problem has the type UNKNOWN, about which nothing further is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.errors import QueryRefused, TypeMismatch, UnknownType
from headwater.model import Function
from headwater.plan.functions import find
from headwater.plan.spark_type import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DAY_TIME_FIELDS,
    DOUBLE,
    INT,
    STRING,
    UNKNOWN,
    VOID,
    YEAR_MONTH_FIELDS,
    SparkType,
    array,
    decimal,
    from_sqlglot,
    interval,
    struct,
    to_sqlglot,
)  # fmt: skip
from headwater.plan.typing import arithmetic, remedy
from headwater.plan.typing.arithmetic import Operand
from headwater.plan.typing.call import name_of, whole_number
from headwater.plan.typing.calls import NATIVE_NAMES, CallTyper, spell
from headwater.plan.typing.coercion import can_cast, cast_implicitly, common, is_orderable
from headwater.plan.typing.problem import Problem
from headwater.plan.typing.spelling import OPERAND, read
from headwater.sql.refusal import did_you_mean

Columns = Sequence[tuple[str, SparkType]]
"""The columns of a relation: names and types, in order."""


class Environment(Protocol):
    """What names mean where an expression stands."""

    def column(self, node: exp.Column) -> SparkType | None:
        """The type of a column, None where the problem has been reported by whoever looked for it."""

    def star(self, node: exp.Expr) -> Columns:
        """The columns that `*` or `t.*` stands for."""

    def query(self, node: exp.Query) -> Columns:
        """The columns of a subquery."""


class Typer(CallTyper):
    """Types expressions in one environment: `Typer(environment, dialect)`."""

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

    def derive(self, node: exp.Expr) -> SparkType:
        """The type of an expression, which isn't kept with it."""
        for kind in type(node).__mro__:
            handler = _HANDLERS.get(kind)
            if handler is not None:
                return handler(self, node)
        if type(node) in NATIVE_NAMES and self.readings:
            return self.native(node)
        return self.spelled(node) if isinstance(node, exp.Func) and not self.readings else self.unknown(node)

    # Names

    def _column(self, node: exp.Column) -> SparkType:
        if isinstance(node.this, exp.Star):
            return self._star(node)
        parts = [part.name for part in node.parts]
        if self.readings and parts[0].startswith(OPERAND):
            return self._operand_type(int(parts[0][len(OPERAND) :]))
        for scope in reversed(self.parameters):
            if parts[0].lower() in scope:
                return self.fields(node, scope[parts[0].lower()], parts[1:])
        found = self.environment.column(node)
        if found is None and len(parts) == 1 and (info := find(parts[0])) and info.signature.least == 0:
            return self._call(node, parts[0], ())
        return UNKNOWN if found is None else found

    def _operand_type(self, position: int) -> SparkType:
        kind = self.readings[-1][1][position]
        return UNKNOWN if kind is None else kind

    def _identifier(self, node: exp.Identifier) -> SparkType:
        for scope in reversed(self.parameters):
            if node.name.lower() in scope:
                return scope[node.name.lower()]
        return self.type(exp.column(node.copy()))

    def fields(self, node: exp.Expr, kind: SparkType, names: Sequence[str]) -> SparkType:
        """What `.a.b` gives."""
        for name in names:
            kind = self.field(node, kind, name)
        return kind

    def field(self, node: exp.Expr, kind: SparkType, name: str) -> SparkType:
        """What `.name` gives: a field of a struct, that field of every struct in an array, or a map's value."""
        if kind == UNKNOWN:
            return UNKNOWN
        found = kind.field(name)
        if kind.name == "array" and (inner := kind.element.field(name)) is not None:
            found = array(inner)
        if kind.name == "map" and kind.key == STRING:
            found = kind.value
        if found is not None:
            return found
        has = f"It has the fields {', '.join(kind.labels)}." if kind.labels else f"It is {spell(kind)}."
        hint = did_you_mean(name, kind.labels) or "Write one of its fields."
        if not kind.labels:
            hint = f"If it holds JSON, write get_json_object(…, '$.{name}'); else leave .{name} out."
        what = "that it hasn't" if kind.labels else "of a value that has none"
        return self.report(node, TypeMismatch, f'takes a field "{name}" {what}', detail=has, hint=hint)

    def _dot(self, node: exp.Dot) -> SparkType:
        if isinstance(node.expression, exp.Func):
            return self.spelled(node.expression)
        return self.field(node, self.type(node.this), node.expression.name)

    def _star(self, _node: exp.Expr) -> SparkType:
        return UNKNOWN

    def _bracket(self, node: exp.Bracket) -> SparkType:
        if node.args.get("offset") or len(node.expressions) != 1:
            return self.spelled(node)
        holder, key = self.type(node.this), self.type(node.expressions[0])
        if UNKNOWN in (holder, key):
            return holder.element if holder.name == "array" else holder.value
        if holder.name == "array" and (key.is_integral or key == VOID):
            return holder.element
        if holder.name == "map" and cast_implicitly(key, str(holder.key)) is not None:
            return holder.value
        literal = node.expressions[0]
        if holder.name == "struct" and isinstance(literal, exp.Literal) and literal.is_string:
            return self.field(node, holder, literal.name)
        texts = [self.text(node.this), self.text(node.expressions[0])]
        return self._mismatch(node, "[]", [holder, key], hint=remedy.of_operator("[]", texts, [holder, key]))

    # Literals

    def _literal(self, node: exp.Literal) -> SparkType:
        if node.is_string:
            return STRING
        text = node.name.lower()
        if text.isdigit():
            number = int(text)
            return INT if number < 2**31 else BIGINT if number < 2**63 else decimal(len(text), 0)
        if "e" in text:
            return DOUBLE
        whole, _, behind = text.partition(".")
        return decimal(max(len(whole.lstrip("0")) + len(behind), 1), len(behind))

    def _negative(self, node: exp.Neg) -> SparkType:
        number = whole_number(node)
        if number is not None and number >= -(2**63):
            self.type(node.this)
            return INT if number >= -(2**31) else BIGINT
        return arithmetic.negate(inner := self.type(node.this)) or self._mismatch(node, "-", [inner])

    def _interval(self, node: exp.Interval) -> SparkType:
        if node.this is not None:
            self.type(node.this)
        unit = node.args.get("unit")
        if isinstance(unit, exp.IntervalSpan):
            return interval(unit.this.name.lower(), unit.expression.name.lower())
        names = [unit.name] if unit is not None else node.this.name.split()[1::2] if node.this is not None else []
        fields = [_INTERVAL_UNITS.get(name.lower().removesuffix("s"), "") for name in names]
        if "" in fields:
            word = names[fields.index("")]
            hint = did_you_mean(word, _INTERVAL_UNITS) or f"Units are {', '.join(_INTERVAL_UNITS)}."
            return self.report(node, QueryRefused, f'has an interval in "{word}", which is no unit', hint=hint)
        for order in (DAY_TIME_FIELDS, YEAR_MONTH_FIELDS):
            if fields and all(name in order for name in fields):
                return interval(min(fields, key=order.index), max(fields, key=order.index))
        return self.unknown(node) if not fields else CALENDAR_INTERVAL

    # Operators

    def operand(self, node: exp.Expr) -> Operand:
        """An expression as the operand of an operator."""
        return Operand(self.type(node), whole_number(node))

    def _mismatch(self, node: exp.Expr, name: str, kinds: Sequence[SparkType], **more: Any) -> SparkType:
        if any(not kind.is_known for kind in kinds):
            return UNKNOWN
        given = " and ".join(spell(kind) for kind in kinds)
        more.setdefault("hint", remedy.of_several(kinds))
        return self.report(node, TypeMismatch, f'applies "{name}" to {given}', **more)

    def _binary(self, node: exp.Expr, name: str, rule: Callable[[Operand, Operand], SparkType | None]) -> SparkType:
        left, right = self.operand(node.this), self.operand(node.expression)
        found = rule(left, right)
        if found is not None:
            return found
        kinds = [left.kind, right.kind]
        texts = [self.text(self._original(side)) for side in (node.this, node.expression)]
        return self._mismatch(node, name, kinds, hint=remedy.of_operator(name, texts, kinds))

    def _pipe(self, node: exp.DPipe) -> SparkType:
        return self.call(node, "concat", (node.this, node.expression))

    def _not(self, node: exp.Not) -> SparkType:
        kind = self.type(node.this)
        if cast_implicitly(kind, "boolean") is not None:
            return BOOLEAN
        return self._mismatch(node, "NOT", [kind], hint=remedy.of_condition(self.text(node.this), kind))

    def _test(self, node: exp.Expr) -> SparkType:
        """IS NULL, IS TRUE, and the like."""
        self.type(node.this)
        return BOOLEAN

    def _in(self, node: exp.In) -> SparkType:
        kinds = [self.type(node.this)]
        query = node.args.get("query")
        if query is not None:
            columns = self._query_columns(query)
            if len(columns) > 1:
                return BOOLEAN if len(kinds[0].parts) == len(columns) else self._mismatch(node, "IN", kinds)
            kinds += [kind for _, kind in columns] or [UNKNOWN]
        kinds += [self.type(value) for value in node.expressions]
        found = common(kinds)
        return BOOLEAN if found is not None and is_orderable(found) else self._mismatch(node, "IN", kinds)

    def _between(self, node: exp.Between) -> SparkType:
        value = self.operand(node.this)
        for bound in (node.args["low"], node.args["high"]):
            other = self.operand(bound)
            if arithmetic.compare(value, other) is None:
                return self._mismatch(node, "BETWEEN", [value.kind, other.kind])
        return BOOLEAN

    def _like(self, node: exp.Expr) -> SparkType:
        pattern = node.expression
        many = isinstance(pattern, (exp.Any, exp.All))
        patterns = pattern.this.unnest().expressions if many and isinstance(pattern.this, exp.Tuple) else [pattern]
        patterns = [pattern.this.unnest()] if many and not isinstance(pattern.this, exp.Tuple) else patterns
        kinds = [self.type(part) for part in (node.this, *patterns)]
        takes = all(cast_implicitly(kind, "string") is not None for kind in kinds)
        return BOOLEAN if takes else self._mismatch(node, node.key.upper(), kinds)

    def _cast(self, node: exp.Cast) -> SparkType:
        kind, target = self.type(node.this), from_sqlglot(node.to)
        if target == UNKNOWN:
            hint = "Write a type of Spark SQL, like STRING, INT, DECIMAL(12, 2) or TIMESTAMP."
            return self.report(
                node, UnknownType, f'casts to "{self.text(node.to)}", which is no type of Spark', hint=hint
            )
        if can_cast(kind, target):
            return target
        hint = remedy.inside(self.text(node.this), kind) or "Leave the cast out, or go through STRING: two casts."
        return self.report(
            node, TypeMismatch, f"casts {spell(kind)} to {spell(target)}, which Spark can't do", hint=hint
        )

    def _case(self, node: exp.Case) -> SparkType:
        tested = self.operand(node.this) if node.this is not None else None
        kinds = []
        for branch in node.args["ifs"]:
            condition = self.operand(branch.this)
            if tested is not None and arithmetic.compare(tested, condition) is None:
                self._mismatch(branch.this, "=", [tested.kind, condition.kind])
            if tested is None and condition.kind not in (BOOLEAN, UNKNOWN):
                hint = remedy.of_condition(self.text(branch.this), condition.kind)
                self._mismatch(branch.this, "CASE WHEN", [condition.kind], hint=hint)
            kinds.append(self.type(branch.args["true"]))
        if (default := node.args.get("default")) is not None:
            kinds.append(self.type(default))
        found = common(kinds)
        return self._mismatch(node, "CASE", kinds) if found is None else found

    # Subqueries

    def _subquery(self, node: exp.Expr) -> SparkType:
        columns = self._query_columns(node)
        return columns[0][1] if len(columns) == 1 else UNKNOWN

    def _query_columns(self, node: exp.Expr) -> Columns:
        inner = node.unnest() if isinstance(node, exp.Subquery) else node
        return self.environment.query(inner) if isinstance(inner, exp.Query) else [("", self.type(inner))]

    def _exists(self, node: exp.Exists) -> SparkType:
        inner = node.this.unnest() if isinstance(node.this, exp.Subquery) else node.this
        if isinstance(inner, exp.Query):
            self.environment.query(inner)
            return BOOLEAN
        return self.spelled(node)

    # Calls

    def _anonymous(self, node: exp.Anonymous) -> SparkType:
        if node.name.lower() == "struct" and any(part.is_star for part in node.expressions):
            return self._struct(node)
        return self.call(node, node.name, tuple(node.expressions))

    def _struct(self, node: exp.Expr) -> SparkType:
        fields: list[tuple[str, SparkType]] = []
        for part in node.expressions:
            fields += self._struct_fields(part, len(fields) + 1)
        return struct(*fields)

    def _struct_fields(self, part: exp.Expr, position: int) -> Columns:
        if part.is_star:
            return self.environment.star(part)
        if isinstance(part, exp.PropertyEQ):
            return [(part.this.name, self.type(part.expression))]
        return [(name_of(part) or f"col{position}", self.type(part))]

    def _map(self, node: exp.Expr) -> SparkType:
        keys, values = node.args.get("keys"), node.args.get("values")
        if not (isinstance(keys, exp.Array) and isinstance(values, exp.Array)):
            return self.spelled(node)
        pairs = zip(keys.expressions, values.expressions, strict=True)
        return self.call(node, "map", tuple(part for pair in pairs for part in pair))

    def _window(self, node: exp.Window) -> SparkType:
        self.window_parts(node)
        return self.type(node.this)

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
        return self._mismatch(node, clause, [kind], hint=hint)

    def _within_group(self, node: exp.WithinGroup) -> SparkType:
        order = node.expression
        if order is None:
            hint = "Write WITHIN GROUP (ORDER BY at), with what orders the values."
            return self.report(node, QueryRefused, "has a WITHIN GROUP without ORDER BY", hint=hint)
        terms = [term.this if isinstance(term, exp.Ordered) else term for term in order.expressions]
        ordering = tuple(self.ordered(term, "ORDER BY") for term in terms)
        inner = node.this
        if isinstance(inner, exp.Anonymous):
            kind = self.call(inner, inner.name, tuple(inner.expressions), ordering)
        else:
            reading = read(inner, self.dialect)
            if reading is None or not isinstance(reading.tree, exp.Anonymous):
                return self.unknown(node)
            kinds = tuple(self.type(operand) for operand in reading.operands)
            self.readings.append((reading, kinds))
            kind = self.call(reading.tree, reading.tree.name, tuple(reading.tree.expressions), ordering)
            self.readings.pop()
        inner._type = to_sqlglot(kind)
        return kind

    def _filter(self, node: exp.Filter) -> SparkType:
        self.condition(node.expression.this, "FILTER")
        return self.type(node.this)

    def condition(self, node: exp.Expr, clause: str) -> None:
        """An expression that must be BOOLEAN: WHERE, ON, FILTER; in a HAVING Spark casts it."""
        kind = self.type(node)
        if kind not in (BOOLEAN, UNKNOWN, VOID) and not (clause == "HAVING" and can_cast(kind, BOOLEAN)):
            self._mismatch(node, clause, [kind], hint=remedy.of_condition(self.text(node), kind))

    def _inner(self, node: exp.Expr) -> SparkType:
        return self.type(node.this)

    def _several(self, node: exp.Expr) -> SparkType:
        kinds = [self.type(part) for part in node.expressions]
        if len(kinds) == 1:
            return kinds[0]
        names = (name_of(part) or f"col{position}" for position, part in enumerate(node.expressions, start=1))
        return SparkType("struct", tuple(kinds), tuple(names))


_INTERVAL_UNITS = {
    "year": "year", "month": "month", "quarter": "month", "week": "day", "day": "day", "hour": "hour", "minute":
    "minute", "second": "second", "millisecond": "second", "microsecond": "second",
}  # fmt: skip


def _operator(name: str, rule: Callable[[Operand, Operand], SparkType | None]) -> Callable[[Typer, Any], SparkType]:
    return lambda typer, node: typer._binary(node, name, rule)


def _constant(kind: SparkType) -> Callable[[Typer, Any], SparkType]:
    return lambda _typer, _node: kind


_COMPARISONS = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_HANDLERS: dict[type, Callable[[Typer, Any], SparkType]] = {
    exp.Column: Typer._column,
    exp.Identifier: Typer._identifier,
    exp.Dot: Typer._dot,
    exp.Star: Typer._star,
    exp.Bracket: Typer._bracket,
    exp.Literal: Typer._literal,
    exp.Null: _constant(VOID),
    exp.Boolean: _constant(BOOLEAN),
    exp.HexString: _constant(BINARY),
    exp.RawString: _constant(STRING),
    exp.Interval: Typer._interval,
    exp.Neg: Typer._negative,
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
    exp.AtTimeZone: Typer.spelled,
    exp.FromTimeZone: Typer.spelled,
    exp.And: _operator("AND", arithmetic.combine),
    exp.Or: _operator("OR", arithmetic.combine),
    **{kind: _operator(name, arithmetic.compare) for kind, name in _COMPARISONS.items()},
    exp.DPipe: Typer._pipe,
    exp.Not: Typer._not,
    exp.Is: Typer._test,
    exp.In: Typer._in,
    exp.Between: Typer._between,
    exp.Like: Typer._like,
    exp.ILike: Typer._like,
    exp.RegexpLike: Typer._like,
    exp.Escape: lambda typer, node: typer.type(node.this),
    exp.Cast: Typer._cast,
    exp.Case: Typer._case,
    exp.Collate: Typer._inner,
    exp.Paren: Typer._inner,
    exp.Alias: Typer._inner,
    exp.Aliases: Typer._inner,
    exp.IgnoreNulls: Typer._inner,
    exp.RespectNulls: Typer._inner,
    exp.Ordered: Typer._inner,
    exp.Distinct: Typer._several,
    exp.Tuple: Typer._several,
    exp.Subquery: Typer._subquery,
    exp.Query: Typer._subquery,
    exp.Exists: Typer._exists,
    exp.Anonymous: Typer._anonymous,
    exp.Struct: Typer._struct,
    exp.VarMap: Typer._map,
    exp.Map: Typer._map,
    exp.Window: Typer._window,
    exp.WithinGroup: Typer._within_group,
    exp.Filter: Typer._filter,
    exp.Var: _constant(STRING),
}
