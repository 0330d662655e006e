"""Aggregates whose value would depend on the order of rows, rewritten to depend on their position in the log.

Spark hands the rows of a group to an aggregate in whatever order they come. `first(x)` becomes the x of the row with
the least position, a list is sorted by position, a set by value: the same value in every execution, to the bit.

An aggregate is of the rows of its group, or of a frame: then the text of its OVER comes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa
from sqlglot import exp

from headwater.model import Variant, spell_type
from headwater.operators import Call, Stability
from headwater.sql import spell

_FIRST = {"first", "first_value", "any_value", "min_by"}
_LAST = {"last", "last_value", "max_by"}
_FLAGGED = {"first", "first_value", "last", "last_value", "any_value"}
"""Those whose second argument says whether they ignore NULLs."""
_LISTS = {"collect_list", "array_agg"}
_JOINED = {"listagg", "string_agg"}
_IDEMPOTENT = {"min", "max", "bool_and", "bool_or", "every", "some", "any", "bit_and", "bit_or"}


@dataclass(frozen=True)
class Taken:
    """A call taken apart: its arguments, the condition of its FILTER, whether it ignores NULLs, and its OVER."""

    arguments: list[str]
    condition: str | None = None
    ignores_nulls: bool = False
    over: str = ""

    def where(self, *tests: str) -> Self:
        """The same over the rows for which tests of our own are true too."""
        return replace(self, condition=" AND ".join([*tests, *([f"({self.condition})"] if self.condition else [])]))

    def of(self, function: str, *arguments: str) -> str:
        """An aggregate of the rows that the call is of, in Spark SQL.

        Spark takes no FILTER with OVER: what the condition keeps out is NULL instead, which aggregates leave out.
        """
        if self.condition is None or not self.over:
            kept = f" FILTER (WHERE {self.condition})" if self.condition is not None else ""
            return f"{function}({', '.join(arguments)}){kept}{self.over}"
        decides = 1 if function.endswith("_by") else 0
        values = list(arguments)
        values[decides] = f"CASE WHEN {self.condition} THEN {values[decides]} END"
        return f"{function}({', '.join(values)}){self.over}"


@dataclass(frozen=True)
class Ordered:
    """A call that gives the value of the row that comes first in an order: `min_by` or `max_by`."""

    taken: Taken
    function: str
    value: str
    order: str

    def __str__(self) -> str:
        return self.taken.of(self.function, self.value, self.order)


def stable(call: Call, position: str, over: str = "") -> str:
    """The call in Spark SQL with its order decided by `position`, an SQL expression that orders rows totally."""
    return _rewritten(call, position, over) or unchanged(call, over)


def unchanged(call: Call, over: str = "") -> str:
    """The call in Spark SQL as it was written; over a frame without its FILTER, which Spark doesn't take there."""
    tree = call.expression.tree
    if not over or not isinstance(tree, exp.Filter):
        return f"{call.expression.sql}{over}"
    function, condition = tree.this.copy(), tree.expression.this
    first = function.expressions[0] if isinstance(function, exp.Anonymous) else function.this
    first.replace(when(condition, exp.Literal.number(1) if isinstance(first, exp.Star) else first))
    return f"{spell(function)}{over}"


def when(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    """The value where a condition is true, else NULL."""
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def quotient(kind: pa.DataType, total: str, count: str) -> str:
    """The average of a type: a total by a count. That of a DECIMAL has four digits more than its argument."""
    if pa.types.is_decimal(kind):
        return f"CAST(CAST({total} AS DECIMAL({kind.precision + 6}, {kind.scale - 4})) / {count} AS {spell_type(kind)})"
    return f"CAST({total} AS DOUBLE) / CAST({count} AS DOUBLE)"


def taken_apart(call: Call, over: str = "") -> Taken:
    """The parts of a call, none of them DISTINCT."""
    tree, condition = _unfiltered(call)
    arguments, ignores_nulls = _arguments(tree)
    if call.function.lower() in _FLAGGED and len(arguments) > 1:
        ignores_nulls = arguments[1].upper() == "TRUE"
    return Taken(arguments, condition, ignores_nulls, over)


def ordered(call: Call, position: str, over: str = "") -> Ordered | None:
    """The call as one that gives the value of a row by an order, with ties decided by `position`; None if it isn't."""
    name = call.function.lower()
    if name not in _FIRST | _LAST:
        return None
    taken, function = taken_apart(call, over), "min_by" if name in _FIRST else "max_by"
    value = taken.arguments[0]
    if name in ("min_by", "max_by"):
        by = taken.arguments[1]
        # the position can be NULL in its type, or Arrow refuses to have a struct of it that is NULL
        order = f"if({by} IS NULL, NULL, struct({by} AS o, if({by} IS NULL, NULL, {position}) AS p))"
    else:
        order = f"if({value} IS NULL, NULL, {position})" if taken.ignores_nulls else position
    return Ordered(taken, function, value, order)


def _unfiltered(call: Call) -> tuple[exp.Expr, str | None]:
    tree = call.expression.tree
    return (tree.this, spell(tree.expression.this)) if isinstance(tree, exp.Filter) else (tree, None)


def _rewritten(call: Call, position: str, over: str) -> str | None:
    name = call.function.lower()
    tree, condition = _unfiltered(call)
    tree, terms = _unordered(tree, name)
    arguments, ignores_nulls = _arguments(tree)
    taken = Taken(arguments, condition, over=over)
    distinct = next((part for part in tree.iter_expressions() if isinstance(part, exp.Distinct)), None)
    if distinct is not None:
        rest = [part for part in tree.iter_expressions() if part is not distinct]
        return _distinct(call, [spell(part) for part in [*distinct.expressions, *rest]], taken, terms)
    if terms and name in _FLAGGED:
        ignores_nulls = ignores_nulls or (len(arguments) > 1 and arguments[1].upper() == "TRUE")
        rows = _sorted(arguments[0], position, taken, terms, with_nulls=not ignores_nulls)
        return f"try_element_at(transform({rows}, s -> s.v), {1 if name in _FIRST else -1})"
    if (by_order := ordered(call, position, over)) is not None:
        return str(by_order)
    if name in _LISTS:
        compared = not _is_orderable(call.expression.type)
        rows = _sorted(arguments[0], position, taken, terms, compared=compared)
        return f"transform({rows}, s -> s.v)"
    if name in _JOINED:
        separator = arguments[1] if len(arguments) > 1 else "''"
        texts = f"transform({_sorted(arguments[0], position, taken, terms)}, s -> CAST(s.v AS STRING))"
        return f"CASE WHEN {taken.of('count', arguments[0])} > 0 THEN array_join({texts}, {separator}) END"
    if name == "collect_set":
        return f"array_sort({taken.of('collect_set', arguments[0])})"
    if name == "any":  # which Spark reads as a comparison with many where an OVER follows
        return taken.of("bool_or", arguments[0])
    if isinstance(tree, exp.WithinGroup):  # Spark gives the lowest or, backwards, the highest of what is equally often
        return None
    if name == "mode":
        return taken.of("mode", arguments[0], "true")
    if name in ("avg", "mean") and call.stability is Stability.REWRITTEN:  # of whole numbers; others keep their digits
        total = taken.of("sum", f"CAST({arguments[0]} AS DECIMAL(38, 0))")
        return quotient(pa.float64(), total, taken.of("count", arguments[0]))
    return None


def _distinct(call: Call, values: list[str], taken: Taken, terms: Sequence[exp.Ordered] = ()) -> str:
    """An aggregate of distinct values, which Spark's streaming hasn't, as one of the set of them."""
    name, value = call.function.lower(), values[0]
    backwards = any(term.args.get("desc") for term in terms)
    order = ", (l, r) -> CASE WHEN l > r THEN -1 WHEN l < r THEN 1 ELSE 0 END" if backwards else ""
    values_set = f"array_sort({taken.of('collect_set', value)}{order})"
    if name == "count":
        return _count_distinct(values, taken)
    if name in _IDEMPOTENT:
        return taken.of(name, value)
    if name in _LISTS or name == "collect_set":
        return values_set
    if name in _JOINED:
        texts = f"transform({values_set}, x -> CAST(x AS STRING))"
        separator = values[1] if len(values) > 1 else "''"
        return f"CASE WHEN {taken.of('count', value)} > 0 THEN array_join({texts}, {separator}) END"
    if name == "sum":
        return folded(values_set, spell_type(call.expression.type))
    assert name in ("avg", "mean") and pa.types.is_float64(call.expression.type), call
    return f"{folded(values_set, 'DOUBLE')} / size({values_set})"


def folded(values: str, spelled: str) -> str:
    """The sum of an array, exact in its type, NULL if it is empty; an overflow is an error."""
    total = f"aggregate({values}, CAST(0 AS {spelled}), (total, x) -> CAST(total + x AS {spelled}))"
    return f"(CASE WHEN size({values}) > 0 THEN {total} END)"


def _count_distinct(values: list[str], taken: Taken) -> str:
    """The number of distinct values; of several together, those without a NULL among them."""
    one = values[0] if len(values) == 1 else f"struct({', '.join(values)})"
    nulls = " OR ".join(f"({value}) IS NULL" for value in values)
    known = one if len(values) == 1 else f"if({nulls}, NULL, {one})"
    return f"CAST(size({taken.of('collect_set', known)}) AS BIGINT)"


def _sorted(
    value: str,
    position: str,
    taken: Taken,
    terms: Sequence[exp.Ordered] = (),
    *,
    with_nulls: bool = False,
    compared: bool = False,
) -> str:
    """The values that are not NULL (or all), each with its position, in the order of the terms and of positions.

    Rows are `compared` one by one where Spark has no order for their values.
    """
    keys = "".join(f"{spell(term.this)} AS o{number}, " for number, term in enumerate(terms))
    kept = taken if with_nulls else taken.where(f"({value}) IS NOT NULL")
    pairs = kept.of("collect_list", f"struct({keys}{position} AS p, {value} AS v)")
    return f"array_sort({pairs}{f', (l, r) -> {_comparison(terms)}' if terms or compared else ''})"


def _is_orderable(kind: pa.DataType) -> bool:
    """Tells whether Spark has an order for the values of a type: for all but maps, and what holds one."""
    if pa.types.is_list(kind):
        return _is_orderable(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_orderable(field.type) for field in kind)
    return not pa.types.is_map(kind) and not isinstance(kind, Variant)


def _comparison(terms: Sequence[exp.Ordered]) -> str:
    """The order of two rows `l` and `r`: by the terms, one after the other, then by their positions."""
    parts = []
    for number, term in enumerate(terms):
        left, right = f"l.o{number}", f"r.o{number}"
        first, last = ("1", "-1") if term.args.get("desc") else ("-1", "1")
        null, known = ("-1", "1") if term.args.get("nulls_first") else ("1", "-1")
        nulls = f"WHEN {left} IS NULL AND {right} IS NULL THEN 0 WHEN {left} IS NULL THEN {null}"
        nulls += f" WHEN {right} IS NULL THEN {known}"
        parts.append(f"CASE {nulls} WHEN {left} < {right} THEN {first} WHEN {left} > {right} THEN {last} ELSE 0 END")
    decided = " ".join(f"WHEN {part} <> 0 THEN {part}" for part in parts)
    return f"CASE {decided} WHEN l.p < r.p THEN -1 WHEN l.p > r.p THEN 1 ELSE 0 END"


def _unordered(tree: exp.Expr, name: str) -> tuple[exp.Expr, list[exp.Ordered]]:
    """A call without its ORDER BY or its WITHIN GROUP, and the terms of that; a mode and a percentile keep theirs."""
    if isinstance(tree, exp.WithinGroup):
        return (tree.this, list(tree.expression.expressions)) if name in _JOINED else (tree, [])
    root = exp.Paren(this=tree.copy())
    order = root.find(exp.Order)
    if order is None:
        return tree, []
    order.replace(order.this)
    return root.this, list(order.expressions)


def _arguments(tree: exp.Expr) -> tuple[list[str], bool]:
    """The arguments of a call as text, and whether it ignores NULLs."""
    ignores = isinstance(tree, exp.IgnoreNulls)
    call = tree.this if isinstance(tree, exp.IgnoreNulls | exp.RespectNulls) else tree
    if isinstance(call, exp.Anonymous):
        return [spell(part) for part in call.expressions], ignores
    parts = [part for part in call.args.values() if isinstance(part, exp.Expr)]
    return [spell(part) for part in parts], ignores
