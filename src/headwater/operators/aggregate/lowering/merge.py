"""Aggregates in steps: over rows, over the parts of several groups of rows, and from parts to the value.

What a group's rows come to is kept in one or more *parts*: the sum and the count of an average, the value and the order
of a `first`. Parts of several groups are merged into those of all, and the value follows from parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from headwater.model import spell_type
from headwater.operators import Aggregate, Call, Stability
from headwater.operators.aggregate.lowering.stable import ordered, quotient, stable, taken_apart
from headwater.operators.aggregate.panes import UNIONS, Merge, merge_of
from headwater.operators.lowering.stamp import POSITION

_MOMENTS = ("n", "x", "xx")
_COMOMENTS = ("n", "x", "y", "xx", "yy", "xy")
_OF_MOMENTS = {
    "var_pop": "s.xx / s.n",
    "var_samp": "if(s.n > 1, s.xx / (s.n - 1), NULL)",
    "covar_pop": "s.xy / s.n",
    "covar_samp": "if(s.n > 1, s.xy / (s.n - 1), NULL)",
    "corr": "if(s.xx > 0 AND s.yy > 0, s.xy / sqrt(s.xx * s.yy), NULL)",
}
_SAME = {"variance": "var_samp", "stddev": "stddev_samp", "std": "stddev_samp"}


@dataclass(frozen=True)
class Merged:
    """An aggregate in steps, in Spark SQL: `parts` over rows; `merged` parts, and the `whole` value, over parts."""

    parts: dict[str, str]
    merged: dict[str, str]
    whole: str


def merged_by(stage: Aggregate) -> dict[str, Merged]:
    """The calls of an aggregate, all of which can be merged, by name."""
    return {call.name: _merged(call, f"__part{number}") for number, call in enumerate(stage.aggregates)}


def parts_by(calls: Mapping[str, Merged]) -> dict[str, str]:
    """The parts of several calls, over rows."""
    return {name: sql for call in calls.values() for name, sql in call.parts.items()}


def merged_parts(calls: Mapping[str, Merged]) -> dict[str, str]:
    """The parts of several calls, over parts."""
    return {name: sql for call in calls.values() for name, sql in call.merged.items()}


def _merged(call: Call, own: str) -> Merged:
    steps: dict[Merge, Callable[[Call, str], Merged]] = {
        Merge.SUM: _sum,
        Merge.UNION: _union,
        Merge.AVERAGE: _average,
        Merge.ORDER: _by_order,
        Merge.MOMENTS: _moments,
        Merge.COMOMENTS: _comoments,
    }
    merge = merge_of(call)
    assert merge is not None
    return steps.get(merge, _same)(call, own)


def _same(call: Call, own: str) -> Merged:
    again = f"{call.function}({own})"
    return Merged({own: call.expression.sql}, {own: again}, again)


def _sum(call: Call, own: str) -> Merged:
    """A sum of sums, which has more digits than the sum."""
    wider = pa.types.is_decimal(call.expression.type)
    total = f"CAST(sum({own}) AS {spell_type(call.expression.type)})" if wider else f"sum({own})"
    return Merged({own: stable(call, POSITION)}, {own: total}, total)


def _union(call: Call, own: str) -> Merged:
    """Sketches united at the size at which they were made."""
    function, sizes = UNIONS[call.function.lower()], taken_apart(call).arguments[1:]
    sized = sizes if function.startswith(("theta", "kll")) else []
    united = f"{function}({', '.join([own, *sized])})"
    return Merged({own: call.expression.sql}, {own: united}, united)


def _average(call: Call, own: str) -> Merged:
    taken, kind, count = taken_apart(call), call.expression.type, f"{own}n"
    value = taken.arguments[0]
    if pa.types.is_decimal(kind):  # the value of a DECIMAL has four digits more than its argument, the sum ten
        spelled = f"DECIMAL({kind.precision + 6}, {kind.scale - 4})"
    else:
        spelled = "DECIMAL(38, 0)" if call.stability is Stability.REWRITTEN else "DOUBLE"
        value = f"CAST({value} AS {spelled})"
    parts = {own: taken.of("sum", value), count: taken.of("count", taken.arguments[0])}
    merged = {own: f"CAST(sum({own}) AS {spelled})", count: f"sum({count})"}
    average = quotient(kind, f"sum({own})", f"sum({count})")
    return Merged(parts, merged, f"CASE WHEN sum({count}) > 0 THEN {average} END")


def _by_order(call: Call, own: str) -> Merged:
    extreme_by, order = ordered(call, POSITION), f"{own}o"
    assert extreme_by is not None
    extreme = extreme_by.function.removesuffix("_by")
    parts = {own: str(extreme_by), order: extreme_by.taken.of(extreme, extreme_by.order)}
    first = f"{extreme_by.function}({own}, {order})"
    return Merged(parts, {own: first, order: f"{extreme}({order})"}, first)


def _moments(call: Call, own: str) -> Merged:
    taken = taken_apart(call)
    value = f"CAST({taken.arguments[0]} AS DOUBLE)"
    sums = {"n": "count", "x": "avg", "xx": "var_pop"}
    name = _SAME.get(call.function.lower(), call.function.lower())
    result = _OF_MOMENTS[name.replace("stddev", "var")]
    parts = {f"{own}{part}": taken.of(function, value) for part, function in sums.items()}
    return _of_parts(own, parts, _MOMENTS, f"sqrt({result})" if name.startswith("stddev") else result)


def _comoments(call: Call, own: str) -> Merged:
    taken = taken_apart(call)
    x, y = (f"CAST({value} AS DOUBLE)" for value in taken.arguments)
    both = taken.where(f"{x} IS NOT NULL", f"{y} IS NOT NULL")
    sums = {"n": both.of("count", "1"), "x": both.of("avg", x), "y": both.of("avg", y)}
    sums |= {"xx": both.of("var_pop", x), "yy": both.of("var_pop", y), "xy": both.of("covar_pop", x, y)}
    parts = {f"{own}{part}": sql for part, sql in sums.items()}
    return _of_parts(own, parts, _COMOMENTS, _OF_MOMENTS[call.function.lower()])


def _of_parts(own: str, parts: dict[str, str], names: tuple[str, ...], result: str) -> Merged:
    """Count, means, and means of squares and products, of several groups as those of all."""
    merged = {f"{own}{name}": _folded(own, names, f"s.{name}{' / s.n' if len(name) > 1 else ''}") for name in names[1:]}
    return Merged(parts, {f"{own}n": f"sum({own}n)", **merged}, _folded(own, names, result))


def _folded(own: str, names: tuple[str, ...], result: str) -> str:
    """The result of the sums of all groups, by the differences of their means: rounding loses nothing."""
    count = f"CAST({own}n AS DOUBLE)"
    values = [f"{own}{name}{f' * {count}' if len(name) > 1 else ''} AS {name}" for name in names[1:]]
    groups = f"collect_list(struct({', '.join([f'{count} AS n', *values])})) FILTER (WHERE {own}n > 0)"
    none = f"struct({', '.join(f'0D AS {name}' for name in names)})"
    added = ", ".join(f"{_added(name)} AS {name}" for name in names)
    return f"aggregate({groups}, {none}, (s, b) -> struct({added}), s -> if(s.n > 0, {result}, NULL))"


def _added(name: str) -> str:
    if name == "n":
        return "s.n + b.n"
    if len(name) == 1:
        return f"s.{name} + (b.{name} - s.{name}) * b.n / (s.n + b.n)"
    one, other = name[0], name[1]
    return f"s.{name} + b.{name} + (b.{one} - s.{one}) * (b.{other} - s.{other}) * s.n * b.n / (s.n + b.n)"
