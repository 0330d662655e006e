"""Calls of functions and aggregates, in DuckDB's SQL, with what stands around them: FILTER and OVER."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlglot import exp

from headwater.plan.spark_type import SparkType
from headwater.plan.typing import type_of
from headwater.query.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from headwater.query.expression import Expressions, Rule, check_parts, spell
from headwater.query.functions import FUNCTIONS
from headwater.query.refusal import refused
from headwater.query.window import frame

_PARTS_OF_A_WINDOW = ("this", "partition_by", "order", "spec", "alias", "over")


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

    def text(self, position: int, kind: SparkType | None = None) -> str:
        """An argument, as it is or as a value of a type."""
        argument = self.arguments[position]
        return self.writer.write(argument) if kind is None else self.writer.write_as(argument, kind)

    def texts(self, kind: SparkType | None = None) -> list[str]:
        """All arguments, of the same type."""
        return [self.text(position, kind) for position in range(len(self.arguments))]

    def constant(self, position: int) -> str | None:
        """The text that stands in the statement as an argument."""
        node = self.arguments[position].unnest()
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return f"-{node.this.name}"
        return node.name if isinstance(node, (exp.Literal, exp.Var)) else None

    def call(self, function: str, *arguments: str) -> str:
        """A call of an aggregate of DuckDB's over the same rows."""
        distinct = "DISTINCT " if self.distinct else ""
        return f"{function}({distinct}{', '.join(arguments)}{self.nulls}){self.around}"


def function(writer: Expressions, node: exp.Expr, called: str, *arguments: exp.Expr) -> str:
    """A call of a function of one row, which is in the table."""
    return FUNCTIONS[called](Call(writer, called, arguments, type_of(node), writer.now))


def _pipe(writer: Expressions, node: exp.DPipe) -> str:
    return function(writer, node, "concat", node.this, node.expression)


def _anonymous(writer: Expressions, node: exp.Anonymous) -> str:
    return _called(writer, node, node.name, node.expressions)


def _called(writer: Expressions, node: exp.Expr, called: str, arguments: Sequence[exp.Expr], around: str = "") -> str:
    lowered = called.lower()
    over = " OVER " in around
    table: Mapping[str, Callable[[Any], str]] = {**AGGREGATES, **WINDOW_FUNCTIONS} if over else AGGREGATES
    if lowered in table:
        return table[lowered](_aggregation(writer, node, lowered, arguments, around))
    if around or lowered not in FUNCTIONS:
        raise _no_function(lowered)
    if any(isinstance(argument, (exp.Star, exp.Distinct, exp.Lambda, exp.Kwarg)) for argument in arguments):
        raise refused(f"A query can't call {spell(node)}.")
    return function(writer, node, lowered, *arguments)


def _aggregation(writer: Expressions, node: exp.Expr, called: str, arguments: Sequence[exp.Expr], around: str) -> Call:
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    values = arguments[0].expressions if distinct else arguments
    starred = len(values) == 1 and isinstance(values[0], exp.Star)
    if any(isinstance(argument, (exp.Order, exp.Star, exp.Kwarg)) for argument in values) and not starred:
        raise refused(f"A query can't call {spell(node)}.")
    return Call(writer, called, () if starred else values, type_of(node), writer.now, distinct, starred, around=around)


def _no_function(called: str) -> Exception:
    if called in WINDOW_FUNCTIONS:
        return refused(
            f'"{called}" depends on the order of rows, and rows of a view have none.',
            f"Write {called}(…) OVER (ORDER BY …), or max_by and min_by.",
        )
    return refused(f'A query can\'t call the function "{called}".')


def _filter(writer: Expressions, node: exp.Filter, over: str = "") -> str:
    inner = node.this
    if not isinstance(inner, exp.Anonymous):
        raise refused(f"A query can't filter {spell(node)}.")
    around = f" FILTER (WHERE {writer.condition(node.expression.this)}){over}"
    return _called(writer, inner, inner.name, inner.expressions, around)


def _window(writer: Expressions, node: exp.Window) -> str:
    check_parts(node, *_PARTS_OF_A_WINDOW)
    over = f" OVER {frame(writer, node)}"
    inner = node.this
    if isinstance(inner, exp.Filter):
        return _filter(writer, inner, over)
    if isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)) and isinstance(inner.this, exp.Anonymous):
        word = " IGNORE NULLS" if isinstance(inner, exp.IgnoreNulls) else ""
        call = _aggregation(writer, inner.this, inner.this.name.lower(), inner.this.expressions, over)
        call.nulls = word
        if call.name not in WINDOW_FUNCTIONS:
            raise _no_function(call.name)
        return WINDOW_FUNCTIONS[call.name](call)
    if not isinstance(inner, exp.Anonymous):
        raise refused(f"A query can't compute {spell(node)}.")
    return _called(writer, inner, inner.name, inner.expressions, over)


def _extract(writer: Expressions, node: exp.Extract) -> str:
    word = exp.Literal.string(node.this.name)
    return function(writer, node, "date_part", word, node.expression)


def _trim(writer: Expressions, node: exp.Trim) -> str:
    check_parts(node, "this", "expression", "position")
    side = (node.text("position") or "BOTH").upper()
    called = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
    characters = [node.args["expression"]] if node.args.get("expression") else []
    return function(writer, node, called, *characters, node.this)


def _substring(writer: Expressions, node: exp.Substring) -> str:
    arguments = [part for part in (node.this, node.args.get("start"), node.args.get("length")) if part is not None]
    return function(writer, node, "substring", *arguments)


def _position(writer: Expressions, node: exp.StrPosition) -> str:
    check_parts(node, "this", "substr")
    return function(writer, node, "locate", node.args["substr"], node.this)


CALLS: Mapping[type, Rule] = {
    exp.DPipe: _pipe,
    exp.Anonymous: _anonymous,
    exp.Filter: _filter,
    exp.Window: _window,
    exp.Extract: _extract,
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.StrPosition: _position,
}
