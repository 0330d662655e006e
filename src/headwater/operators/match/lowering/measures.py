"""Measures, lowered: the values of a match, from its rows, each with its place and the variable that took it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from headwater.model.pattern import RowsPerMatch
from headwater.operators import Call, Expression, Match
from headwater.operators.aggregate.lowering.stable import stable
from headwater.operators.lowering.columns import named_column
from headwater.operators.lowering.stamp import FINAL, POSITION
from headwater.operators.lowering.trace import behind, gathered
from headwater.operators.match.matching import DECIDED, EMPTY, EXCLUDED, FIRST, NUMBER, PLACE, VARIABLE
from headwater.operators.match.stage import MatchCall

_IN_ORDER = "(l, r) -> CASE WHEN l.p < r.p THEN -1 WHEN l.p > r.p THEN 1 ELSE 0 END"


def measured(stage: Match, rows: DataFrame) -> DataFrame:
    """The rows that a pattern gives, from those of its matches."""
    return _of_rows(stage, rows) if stage.shows_rows else _of_matches(stage, rows)


def _of_matches(stage: Match, rows: DataFrame) -> DataFrame:
    """One row per match."""
    keys = [F.expr(key.sql).alias(key.reads[0]) for key in stage.partition]
    calls = [F.expr(_spelled(call, "")).alias(call.name) for call in stage.calls]
    decided = [F.max(NUMBER).alias(NUMBER), F.max(DECIDED).alias(FINAL)]
    matches = rows.where(F.col(PLACE) >= EMPTY).groupBy(*keys, FIRST).agg(*calls, *decided, *gathered(rows))
    return matches.select(*_shown(stage), F.col(FIRST).alias(POSITION), FINAL, *behind(matches))


def _of_rows(stage: Match, rows: DataFrame) -> DataFrame:
    """The rows of matches, and those that none has where they are wanted."""
    match = ", ".join([*(key.sql for key in stage.partition), FIRST])
    spans = {True: "CURRENT ROW", False: "UNBOUNDED FOLLOWING"}

    def over(call: MatchCall) -> str:
        frame = f"ROWS BETWEEN UNBOUNDED PRECEDING AND {spans[call.running]}"
        return f" OVER (PARTITION BY {match} ORDER BY {PLACE} {frame})"

    calls = [F.expr(_spelled(call, over(call))).alias(call.name) for call in stage.calls]
    of_rows = rows.select("*", *calls)
    if stage.rows is RowsPerMatch.ALL_OMIT_EMPTY:
        of_rows = of_rows.where(F.col(PLACE) != EMPTY)
    of_rows = of_rows.where(~F.col(EXCLUDED))
    position = F.struct(POSITION, FIRST).alias(POSITION)
    return of_rows.select(*_shown(stage), position, F.col(DECIDED).alias(FINAL), *behind(of_rows))


def _shown(stage: Match) -> list[Column]:
    """The columns of the stage, in their order."""
    measures = {named.name: named for named in stage.measures}
    return [
        named_column(measures[column.name]) if column.name in measures else F.col(f"`{column.name}`")
        for column in stage.columns
    ]


def _spelled(call: MatchCall, over: str) -> str:
    """The value of a call in Spark SQL, over the rows of a group or of a frame."""
    tests = [f"{PLACE} > {EMPTY}"]
    if call.variables:
        names = ", ".join(_literal(name.upper()) for name in call.variables)
        tests.append(f"{VARIABLE} IN ({names})")
    taken = " AND ".join(tests)
    if call.offset is None:
        return _aggregate(call, taken, over)
    value = call.expression.sql
    if call.offset in (0, -1):
        function = "min_by" if call.offset == 0 else "max_by"
        return f"({function}(struct({value} AS v), CASE WHEN {taken} THEN {PLACE} END){over}).v"
    rows = f"collect_list(CASE WHEN {taken} THEN struct({PLACE} AS p, {value} AS v) END){over}"
    place = call.offset + 1 if call.offset > 0 else call.offset
    return f"try_element_at(array_sort({rows}, {_IN_ORDER}), {place}).v"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _aggregate(call: MatchCall, taken: str, over: str) -> str:
    """An aggregate of the rows of a match, in the order of their places."""
    from headwater.sql import parse_expression

    tree, condition = call.expression.tree.copy(), parse_expression(taken)
    if isinstance(tree, exp.Filter):
        condition = exp.and_(condition, tree.expression.this)
        tree = tree.this
    filtered = exp.Filter(this=tree, expression=exp.Where(this=condition))
    typed = Expression.of(filtered, call.expression.type)
    return stable(Call(call.name, call.function, typed, call.stability), PLACE, over)
