"""The aggregates and window functions that a query may call, in DuckDB's SQL with the digits that they have in Spark.

An aggregate whose value depends on the order of rows (first, collect_list) is refused: rows of a view have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from headwater.plan.spark_type import BOOLEAN, DOUBLE, INT, SparkType
from headwater.query.arithmetic import quotient
from headwater.query.functions import Arguments
from headwater.query.refusal import refused
from headwater.query.spelling import cast


class Aggregation(Arguments, Protocol):
    """A call of an aggregate: with DISTINCT, FILTER and OVER around each call that is made of it."""

    distinct: bool
    starred: bool

    def call(self, function: str, *arguments: str) -> str:
        """A call of an aggregate of DuckDB's over the same rows."""


Aggregate = Callable[[Aggregation], str]
_COUNTED = SparkType("decimal", digits=(20, 0))


def _count(call: Aggregation) -> str:
    if call.starred:
        return call.call("count", "*")
    texts = call.texts()
    if len(texts) == 1:
        return call.call("count", texts[0])
    known = " AND ".join(f"{text} IS NOT NULL" for text in texts)
    counted = f"row({', '.join(texts)})" if call.distinct else "1"
    return call.call("count", f"CASE WHEN {known} THEN {counted} END")


def _sum(call: Aggregation) -> str:
    kind = call.kinds[0]
    return cast(
        call.call("sum", call.text(0, None if kind.is_numeric or kind.is_ansi_interval else DOUBLE)), call.result
    )


def _average(call: Aggregation) -> str:
    kind = call.kinds[0]
    if kind.is_ansi_interval:
        raise refused("avg takes no interval in a query.")
    if kind.name != "decimal":
        return call.call("avg", call.text(0, None if kind.is_numeric else DOUBLE))
    total, count = call.call("sum", call.text(0)), call.call("count", call.text(0))
    summed = SparkType("decimal", digits=(38, kind.digits[1]))
    divided = quotient((total, summed), (f"CAST({count} AS DECIMAL(20, 0))", _COUNTED), call.result)
    return f"CASE WHEN {count} > 0 THEN {divided} END"


def _extreme(function: str) -> Aggregate:
    def write(call: Aggregation) -> str:
        if call.kinds[0].parts:
            raise refused(f"{function} takes no {str(call.kinds[0]).upper()} in a query.")
        return call.call(function, call.text(0))

    return write


def _count_if(call: Aggregation) -> str:
    return call.call("count", f"CASE WHEN {call.text(0, BOOLEAN)} THEN 1 END")


def _logical(function: str) -> Aggregate:
    return lambda call: call.call(function, call.text(0, BOOLEAN))


def _by(function: str) -> Aggregate:
    return lambda call: call.call(function, call.text(0), call.text(1))


def _spread(function: str) -> Aggregate:
    return lambda call: call.call(function, call.text(0, DOUBLE))


def _percentile(call: Aggregation) -> str:
    share = "0.5" if call.name == "median" else call.constant(1)
    if len(call.kinds) > 2 or share is None or not 0 <= float(share) <= 1:
        raise refused("percentile takes a share between 0 and 1 that stands in the statement.")
    return call.call("quantile_cont", call.text(0, DOUBLE), share)


AGGREGATES: Mapping[str, Aggregate] = {
    "count": _count, "sum": _sum, "avg": _average, "mean": _average, "min": _extreme("min"), "max": _extreme("max"),
    "count_if": _count_if, "bool_and": _logical("bool_and"), "every": _logical("bool_and"),
    "bool_or": _logical("bool_or"), "any": _logical("bool_or"), "some": _logical("bool_or"),
    "max_by": _by("arg_max_null"), "min_by": _by("arg_min_null"), "median": _percentile, "percentile": _percentile,
    "stddev": _spread("stddev_samp"), "stddev_samp": _spread("stddev_samp"), "std": _spread("stddev_samp"),
    "stddev_pop": _spread("stddev_pop"), "variance": _spread("var_samp"), "var_samp": _spread("var_samp"),
    "var_pop": _spread("var_pop"),
}  # fmt: skip


def _ranking(function: str) -> Aggregate:
    return lambda call: cast(call.call(function), call.result)


def _ntile(call: Aggregation) -> str:
    return cast(call.call("ntile", call.text(0, INT)), call.result)


def _neighbour(function: str) -> Aggregate:
    def write(call: Aggregation) -> str:
        arguments = [call.text(0, call.result)]
        if len(call.kinds) > 1:
            arguments.append(call.text(1, INT))
        if len(call.kinds) > 2:
            arguments.append(call.text(2, call.result))
        return call.call(function, *arguments)

    return write


def _framed(function: str) -> Aggregate:
    def write(call: Aggregation) -> str:
        if len(call.kinds) > 1 and function != "nth_value":
            raise refused(f"{call.name} takes one argument in a query.", f"Write {call.name}(x) IGNORE NULLS.")
        rest = [call.text(1, INT)] if len(call.kinds) > 1 else []
        return call.call(function, call.text(0), *rest)

    return write


WINDOW_FUNCTIONS: Mapping[str, Aggregate] = {
    "row_number": _ranking("row_number"), "rank": _ranking("rank"), "dense_rank": _ranking("dense_rank"),
    "percent_rank": _ranking("percent_rank"), "cume_dist": _ranking("cume_dist"), "ntile": _ntile,
    "lag": _neighbour("lag"), "lead": _neighbour("lead"), "first_value": _framed("first_value"),
    "last_value": _framed("last_value"), "nth_value": _framed("nth_value"), "first": _framed("first_value"),
    "last": _framed("last_value"),
}  # fmt: skip
"""Functions that stand before OVER alone."""
