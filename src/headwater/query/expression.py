"""Expressions in DuckDB's SQL. A node becomes a text whose type in DuckDB is the one that the node has in Spark.

Whatever is not known here is refused: nothing that stands in a statement is left out of what is asked of DuckDB.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlglot import exp

from headwater import sql
from headwater.plan.spark_type import BOOLEAN, DOUBLE, INT, STRING, VOID, SparkType
from headwater.plan.typing import type_of
from headwater.plan.typing.coercion import common
from headwater.query import arithmetic
from headwater.query.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from headwater.query.casts import attempted, converted, read_text
from headwater.query.functions import FUNCTIONS
from headwater.query.refusal import refused
from headwater.query.spelling import cast, is_opaque, name, text_of

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_ARITHMETIC: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_CONSTANTS = ("current_timestamp", "current_date")
"""Functions that are called without parentheses."""
_PARTS_OF_A_WINDOW = ("this", "partition_by", "order", "spec", "alias", "over")


def check_parts(node: exp.Expr, *known: str) -> None:
    """Refuse a node that has a part which nobody writes."""
    for part, value in node.args.items():
        if value not in (None, False, []) and part not in known:
            raise refused(f"A query has no {part.rstrip('_').replace('_', ' ').upper()} here: {spell(node)}.")


def spell(node: exp.Expr) -> str:
    """A node as a message has it."""
    text = sql.spell(node)
    return text if len(text) <= 80 else f"{text[:77]}…"


@dataclass
class Call:
    """A call, as the tables of functions and aggregates see it."""

    writer: Expressions
    name: str
    arguments: Sequence[exp.Expr]
    result: SparkType
    now: datetime
    distinct: bool = False
    starred: bool = False
    nulls: str = ""
    around: str = ""

    @property
    def kinds(self) -> tuple[SparkType, ...]:
        """The types of the arguments."""
        return tuple(type_of(argument) for argument in self.arguments)

    def text(self, place: int, kind: SparkType | None = None) -> str:
        """An argument, as it is or as a value of a type."""
        argument = self.arguments[place]
        return self.writer.write(argument) if kind is None else self.writer.write_as(argument, kind)

    def texts(self, kind: SparkType | None = None) -> list[str]:
        """All arguments, of the same type."""
        return [self.text(place, kind) for place in range(len(self.arguments))]

    def constant(self, place: int) -> str | None:
        """The text that stands in the statement as an argument."""
        node = self.arguments[place].unnest()
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return f"-{node.this.name}"
        return node.name if isinstance(node, (exp.Literal, exp.Var)) else None

    def call(self, function: str, *arguments: str) -> str:
        """A call of an aggregate of DuckDB's over the same rows."""
        distinct = "DISTINCT " if self.distinct else ""
        return f"{function}({distinct}{', '.join(arguments)}{self.nulls}){self.around}"


class Expressions(ABC):
    """Writes expressions. `now` is the instant that the statement began at, `names` are those that columns have."""

    def __init__(self, now: datetime, names: Collection[str]) -> None:
        self.now = now
        self.names = names
        self.grouped: list[exp.Expr] = []
        """Floating-point numbers that rows are grouped by: 0.0 and −0.0 are one group, and shown as 0.0."""

    @abstractmethod
    def query(self, node: exp.Expr) -> str:
        """A query inside an expression."""

    def write(self, node: exp.Expr) -> str:
        """An expression that is computed with."""
        kind = type_of(node)
        if is_opaque(kind) and kind.name != "void":
            raise refused(f"A query can only show {str(kind).upper()}, and this computes with it: {spell(node)}.")
        return self.show(node)

    def show(self, node: exp.Expr) -> str:
        """An expression that is shown, counted or tested for NULL: of any type."""
        handler = next((_HANDLERS[kind] for kind in type(node).__mro__ if kind in _HANDLERS), None)
        if handler is None:
            raise refused(f"A query has no {type(node).__name__} here: {spell(node)}.")
        text = handler(self, node)
        return f"({text} + 0)" if any(_same_value(node, key) for key in self.grouped) else text

    def write_as(self, node: exp.Expr, kind: SparkType) -> str:
        """An expression as a value of a type: cast as Spark does without being asked."""
        plain = node.unnest()
        if isinstance(plain, exp.Literal) and plain.is_string:
            found = read_text(plain.name, kind)
            if found is not None:
                return found
        return converted(self.write(node), type_of(node), kind)

    def condition(self, node: exp.Expr) -> str:
        """An expression that is true or not."""
        return self.write_as(node, BOOLEAN)

    def typed(self, node: exp.Expr) -> arithmetic.Typed:
        """An expression and its type; a whole number that meets a decimal has as many digits as it has."""
        return self.write(node), type_of(node)

    # Values

    def _column(self, node: exp.Column) -> str:
        parts = [part.name for part in node.parts]
        called = parts[0].lower()
        if len(parts) == 1 and called in _CONSTANTS and not node.this.args.get("quoted") and called not in self.names:
            return FUNCTIONS[called](Call(self, called, (), type_of(node), self.now))
        return ".".join(map(name, parts))

    def _literal(self, node: exp.Literal) -> str:
        return text_of(node.name) if node.is_string else cast(text_of(node.name), type_of(node))

    def _hex(self, node: exp.HexString) -> str:
        digits = node.name.zfill(len(node.name) + len(node.name) % 2)
        return f"unhex('{digits}')"

    def _interval(self, node: exp.Expr) -> str:
        length = sql.interval(node)
        if length is None:
            raise refused(f"A query adds intervals of fixed length, and this has none: {spell(node)}.")
        return f"CAST({length // timedelta(microseconds=1)} AS BIGINT)"

    def _negative(self, node: exp.Neg) -> str:
        kind = type_of(node)
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return cast(text_of(f"-{node.this.name}"), kind)
        return cast(f"-({self.write_as(node.this, kind)})", kind)

    # Operators

    def _arithmetic(self, node: exp.Binary) -> str:
        operator, result = _ARITHMETIC[type(node)], type_of(node)
        months = _months(node.expression) if operator in "+-" else None
        if months is not None and type_of(node.this).name in ("date", "timestamp", "timestamp_ntz"):
            return arithmetic.moved_by_months(operator, self.typed(node.this), months, result)
        left, right = self.typed(node.this), self.typed(node.expression)
        found = arithmetic.moved(operator, left, right, result) if operator in "+-" else None
        if found is not None:
            return found
        if result.name == "day_time" and operator == "*":
            whole = [side for side in (left, right) if side[1].is_integral]
            length = next((side for side in (left, right) if side[1].name == "day_time"), None)
            if whole and length:
                return f"({length[0]} * CAST({whole[0][0]} AS BIGINT))"
        if not result.is_numeric or not all(side[1].is_numeric or side[1] in (STRING, VOID) for side in (left, right)):
            raise refused(f"A query can't compute {spell(node)}.")
        sides = [self._number(side, result) for side in (node.this, node.expression)]
        return f"({arithmetic.number(operator, sides[0], sides[1], result)})"

    def _number(self, node: exp.Expr, result: SparkType) -> arithmetic.Typed:
        kind = type_of(node)
        if kind == STRING or kind.name == "void":
            target = result if result.is_integral else DOUBLE
            return self.write_as(node, target), target
        return self.write(node), kind

    def _compared(self, node: exp.Binary) -> str:
        left, right = type_of(node.this), type_of(node.expression)
        meeting = self._meeting([left, right], node)
        one, other = self.write_as(node.this, meeting), self.write_as(node.expression, meeting)
        return f"({one} {_COMPARISONS[type(node)]} {other})"

    def _meeting(self, kinds: Iterable[SparkType], node: exp.Expr) -> SparkType:
        """The type in which values are compared."""
        found = common(kinds)
        if found is None or (is_opaque(found) and found.name != "void") or found.name == "map":
            raise refused(f"A query can't compare what stands here: {spell(node)}.")
        if found.parts and len(set(kinds)) > 1:
            raise refused(f"A query compares values of one type, and these have two: {spell(node)}.")
        return INT if found.name == "void" else found

    def _connected(self, node: exp.Connector) -> str:
        word = "AND" if isinstance(node, exp.And) else "OR"
        return f"({self.condition(node.this)} {word} {self.condition(node.expression)})"

    def _not(self, node: exp.Not) -> str:
        return f"(NOT {self.condition(node.this)})"

    def _is(self, node: exp.Is) -> str:
        if isinstance(node.expression, exp.Null):
            return f"({self.show(node.this)} IS NULL)"
        if isinstance(node.expression, exp.Boolean):
            return f"({self.condition(node.this)} IS {'TRUE' if node.expression.this else 'FALSE'})"
        raise refused(f"A query can't test {spell(node)}.")

    def _in(self, node: exp.In) -> str:
        check_parts(node, "this", "expressions", "query")
        query = node.args.get("query")
        if query is None:
            meeting = self._meeting([type_of(part) for part in (node.this, *node.expressions)], node)
            values = ", ".join(self.write_as(value, meeting) for value in node.expressions)
            return f"({self.write_as(node.this, meeting)} IN ({values}))"
        return self.in_query(node, query)

    @abstractmethod
    def in_query(self, node: exp.In, query: exp.Expr) -> str:
        """`x IN (SELECT …)`."""

    def _between(self, node: exp.Between) -> str:
        check_parts(node, "this", "low", "high")
        sides = []
        for operator, bound in ((">=", node.args["low"]), ("<=", node.args["high"])):
            meeting = self._meeting([type_of(node.this), type_of(bound)], node)
            sides.append(f"{self.write_as(node.this, meeting)} {operator} {self.write_as(bound, meeting)}")
        return f"({' AND '.join(sides)})"

    def _like(self, node: exp.Binary, escape: str = "\\") -> str:
        check_parts(node, "this", "expression", "negate")
        if isinstance(node.expression, (exp.Any, exp.All)):
            raise refused(f"A query has no LIKE ANY: {spell(node)}.", "Write several LIKE with OR between them.")
        word = ("NOT " if node.args.get("negate") else "") + ("ILIKE" if isinstance(node, exp.ILike) else "LIKE")
        text, pattern = self.write_as(node.this, STRING), self.write_as(node.expression, STRING)
        return f"({text} {word} {pattern} ESCAPE {text_of(escape)})"

    def _escape(self, node: exp.Escape) -> str:
        if not isinstance(node.this, (exp.Like, exp.ILike)) or not isinstance(node.expression, exp.Literal):
            raise refused(f"A query can't read {spell(node)}.")
        return self._like(node.this, node.expression.name)

    def _cast(self, node: exp.Cast) -> str:
        check_parts(node, "this", "to", "safe")
        if node.args.get("safe"):
            return attempted(self.write(node.this), type_of(node.this), type_of(node))
        return self.write_as(node.this, type_of(node))

    def _case(self, node: exp.Case) -> str:
        result, branches = type_of(node), []
        for branch in node.args["ifs"]:
            tested = node.this
            if tested is None:
                condition = self.condition(branch.this)
            else:
                meeting = self._meeting([type_of(tested), type_of(branch.this)], node)
                condition = f"{self.write_as(tested, meeting)} = {self.write_as(branch.this, meeting)}"
            branches.append(f"WHEN {condition} THEN {self.write_as(branch.args['true'], result)}")
        default = node.args.get("default")
        end = f" ELSE {self.write_as(default, result)}" if default is not None else ""
        return f"(CASE {' '.join(branches)}{end} END)"

    def _bracket(self, node: exp.Bracket) -> str:
        check_parts(node, "this", "expressions")
        holder, (key,) = type_of(node.this), node.expressions
        if holder.name == "map":
            return f"{self.write(node.this)}[{self.write_as(key, holder.key)}]"
        if holder.name == "array":
            return f"hw_item({self.write(node.this)}, {self.write_as(key, INT)})"
        raise refused(f"A query can't take a part of {str(holder).upper()}: {spell(node)}.")

    def _dot(self, node: exp.Dot) -> str:
        if type_of(node.this).name != "struct" or not isinstance(node.expression, exp.Identifier):
            raise refused(f"A query takes fields of structs, and this is none: {spell(node)}.")
        return f"({self.write(node.this)}).{name(node.expression.name)}"

    # Calls

    def _pipe(self, node: exp.DPipe) -> str:
        return self._called(node, "concat", [node.this, node.expression])

    def _anonymous(self, node: exp.Anonymous) -> str:
        return self._called(node, node.name, node.expressions)

    def _called(self, node: exp.Expr, called: str, arguments: Sequence[exp.Expr], around: str = "") -> str:
        lowered = called.lower()
        over = " OVER " in around
        table: Mapping[str, Callable[[Any], str]] = {**AGGREGATES, **WINDOW_FUNCTIONS} if over else AGGREGATES
        if lowered in table:
            return table[lowered](self._aggregation(node, lowered, arguments, around))
        if around or lowered not in FUNCTIONS:
            raise self._no_function(lowered)
        if any(isinstance(argument, (exp.Star, exp.Distinct, exp.Lambda, exp.Kwarg)) for argument in arguments):
            raise refused(f"A query can't call {spell(node)}.")
        return FUNCTIONS[lowered](Call(self, lowered, arguments, type_of(node), self.now))

    def _aggregation(self, node: exp.Expr, called: str, arguments: Sequence[exp.Expr], around: str) -> Call:
        distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
        given = arguments[0].expressions if distinct else arguments
        starred = len(given) == 1 and isinstance(given[0], exp.Star)
        if any(isinstance(argument, (exp.Order, exp.Star, exp.Kwarg)) for argument in given) and not starred:
            raise refused(f"A query can't call {spell(node)}.")
        return Call(self, called, () if starred else given, type_of(node), self.now, distinct, starred, around=around)

    def _no_function(self, called: str) -> Exception:
        if called in WINDOW_FUNCTIONS:
            return refused(
                f'"{called}" depends on the order of rows, and rows of a view have none.',
                f"Write {called}(…) OVER (ORDER BY …), or max_by and min_by.",
            )
        return refused(f'A query can\'t call the function "{called}".')

    def _filter(self, node: exp.Filter, over: str = "") -> str:
        inner = node.this
        if not isinstance(inner, exp.Anonymous):
            raise refused(f"A query can't filter {spell(node)}.")
        around = f" FILTER (WHERE {self.condition(node.expression.this)}){over}"
        return self._called(inner, inner.name, inner.expressions, around)

    def _window(self, node: exp.Window) -> str:
        check_parts(node, *_PARTS_OF_A_WINDOW)
        over = f" OVER {self.frame(node)}"
        inner = node.this
        if isinstance(inner, exp.Filter):
            return self._filter(inner, over)
        if isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)) and isinstance(inner.this, exp.Anonymous):
            word = " IGNORE NULLS" if isinstance(inner, exp.IgnoreNulls) else ""
            call = self._aggregation(inner.this, inner.this.name.lower(), inner.this.expressions, over)
            call.nulls = word
            if call.name not in WINDOW_FUNCTIONS:
                raise self._no_function(call.name)
            return WINDOW_FUNCTIONS[call.name](call)
        if not isinstance(inner, exp.Anonymous):
            raise refused(f"A query can't compute {spell(node)}.")
        return self._called(inner, inner.name, inner.expressions, over)

    def frame(self, node: exp.Window) -> str:
        """The window of an OVER, or the name of one."""
        if node.args.get("alias") is not None and node.args.get("over"):
            return name(node.args["alias"].name)
        keys = [self.write(key) for key in node.args.get("partition_by") or ()]
        parts = [f"PARTITION BY {', '.join(keys)}"] if keys else []
        order = node.args.get("order")
        if order is not None:
            parts.append(self.order(order))
        spec = node.args.get("spec")
        if spec is not None:
            parts.append(self._spec(spec))
        return f"({' '.join(parts)})"

    def _spec(self, spec: exp.WindowSpec) -> str:
        check_parts(spec, "kind", "start", "start_side", "end", "end_side")
        kind = spec.text("kind").upper()
        bounds = [self._bound(spec, side, kind) for side in ("start", "end") if spec.args.get(side)]
        return f"{kind} BETWEEN {bounds[0]} AND {bounds[1] if len(bounds) > 1 else 'CURRENT ROW'}"

    def _bound(self, spec: exp.WindowSpec, side: str, kind: str) -> str:
        bound, word = spec.args[side], spec.text(f"{side}_side").upper()
        text = bound if isinstance(bound, str) else bound.name
        if text.upper() in ("UNBOUNDED", "CURRENT ROW"):
            return f"{text.upper()} {word}".strip()
        if kind != "ROWS" or not text.isdigit():
            raise refused("A frame of a query counts rows.", "Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW.")
        return f"{text} {word}"

    def order(self, node: exp.Order) -> str:
        """ORDER BY, with NULLs where Spark has them."""
        return f"ORDER BY {', '.join(self._ordered(term) for term in node.expressions)}"

    def _ordered(self, term: exp.Expr) -> str:
        check_parts(term, "this", "desc", "nulls_first")
        value = term.this
        if type_of(value).parts:
            raise refused(f"A query can't order by {spell(value)}, which is {str(type_of(value)).upper()}.")
        is_place = isinstance(value, exp.Literal) and not value.is_string
        text = value.name if is_place else self.write(value)
        nulls = "FIRST" if term.args.get("nulls_first") else "LAST"
        return f"{text} {'DESC' if term.args.get('desc') else 'ASC'} NULLS {nulls}"

    # What keeps a node of its own

    def _extract(self, node: exp.Extract) -> str:
        word = exp.Literal.string(node.this.name)
        return FUNCTIONS["date_part"](Call(self, "date_part", (word, node.expression), type_of(node), self.now))

    def _trim(self, node: exp.Trim) -> str:
        check_parts(node, "this", "expression", "position")
        side = (node.text("position") or "BOTH").upper()
        called = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
        given = node.args.get("expression")
        return FUNCTIONS[called](Call(self, called, [*([given] if given else []), node.this], type_of(node), self.now))

    def _substring(self, node: exp.Substring) -> str:
        arguments = [part for part in (node.this, node.args.get("start"), node.args.get("length")) if part is not None]
        return FUNCTIONS["substring"](Call(self, "substring", arguments, type_of(node), self.now))

    def _position(self, node: exp.StrPosition) -> str:
        check_parts(node, "this", "substr")
        return FUNCTIONS["locate"](Call(self, "locate", (node.args["substr"], node.this), type_of(node), self.now))


def _same_value(node: exp.Expr, key: exp.Expr) -> bool:
    if isinstance(node, exp.Column) and isinstance(key, exp.Column):
        return (node.name.lower() == key.name.lower() and "" in (node.table, key.table)) or node == key
    return node == key


def _months(node: exp.Expr) -> int | None:
    """The months of a constant interval of months and years."""
    plain = node.unnest()
    sign = -1 if isinstance(plain, exp.Neg) else 1
    if type_of(plain).name != "year_month":
        return None
    found = sql.months(plain.this if sign < 0 else plain)
    return None if found is None else sign * found


_HANDLERS: dict[type, Callable[[Any, Any], str]] = {
    exp.Column: Expressions._column,
    exp.Literal: Expressions._literal,
    exp.Boolean: lambda _, node: "TRUE" if node.this else "FALSE",
    exp.Null: lambda _, __: "CAST(NULL AS BIGINT)",
    exp.HexString: Expressions._hex,
    exp.Interval: Expressions._interval,
    exp.Neg: Expressions._negative,
    exp.Paren: lambda writer, node: f"({writer.show(node.this)})",
    **dict.fromkeys(_ARITHMETIC, Expressions._arithmetic),
    **dict.fromkeys(_COMPARISONS, Expressions._compared),
    exp.Connector: Expressions._connected,
    exp.Not: Expressions._not,
    exp.Is: Expressions._is,
    exp.In: Expressions._in,
    exp.Between: Expressions._between,
    exp.Like: Expressions._like,
    exp.ILike: Expressions._like,
    exp.Escape: Expressions._escape,
    exp.Cast: Expressions._cast,
    exp.Case: Expressions._case,
    exp.Bracket: Expressions._bracket,
    exp.Dot: Expressions._dot,
    exp.DPipe: Expressions._pipe,
    exp.Anonymous: Expressions._anonymous,
    exp.Filter: Expressions._filter,
    exp.Window: Expressions._window,
    exp.Extract: Expressions._extract,
    exp.Trim: Expressions._trim,
    exp.Substring: Expressions._substring,
    exp.StrPosition: Expressions._position,
    exp.Subquery: lambda writer, node: f"({writer.query(node)})",
    exp.Exists: lambda writer, node: f"EXISTS ({writer.query(node.this)})",
}
