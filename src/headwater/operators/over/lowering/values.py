"""Values from the rows around a row: window functions, with every tie decided.

Rows that an ORDER BY leaves equal come in whatever order they are processed. Where that shows (ROW_NUMBER, LAG, a frame
that counts rows, the first or last value of a frame), the position in the log decides. Peers stay peers where they are
meant: in RANK, and in a frame that is measured in time.

In an *endless* partition, which no window ends, a row sees the rows that are at most the view's horizon away from it in
time; those farther away are none, in every execution. `over.lowering.frame` has the frames that count rows there. Over
all of time there is no horizon, and a row sees all of them.

Some values are read off columns that are computed first: the *place* of a row in its partition, its number or rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from headwater.operators import Call, Expression, Over, OverCall, Stage
from headwater.operators.aggregate.lowering.stable import Taken, stable, when
from headwater.operators.lowering.columns import partition_by
from headwater.operators.lowering.stamp import BEHIND, POSITION, interval_of, spell_interval
from headwater.operators.over.lowering.frame import cut
from headwater.operators.over.lowering.running import adds_up_exactly, between_totals, over_of
from headwater.operators.over.stage import RANKS, STEPS
from headwater.operators.stage import ends
from headwater.sql import spell

_BY_PLACE = {"row_number", "ntile", "lag", "lead"}
_IN_ORDER = {"first", "first_value", "last", "last_value", "any_value", "nth_value", "collect_list", "array_agg"}
"""Functions that follow the order of rows in their frame."""
_OF_ONE_ROW = {*RANKS, *STEPS, "percent_rank", "cume_dist", "ntile"}


@dataclass
class Values:
    """Columns in Spark SQL, by name: those to be computed `first`, and the `values` of the calls, which read them."""

    first: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)


def values_of(stage: Over, horizon: timedelta | None) -> Values:
    """The values of the window functions of a stage, the same in every execution."""
    spelling = _Spelling(stage.input, horizon)
    for call in stage.functions:
        spelling.columns.values[call.name] = spelling.value(call)
    return spelling.columns


def behind_of(stage: Over, horizon: timedelta | None) -> str:
    """The events behind a row with the values of window functions: the row itself, and those that they look at."""
    spelling = _Spelling(stage.input, horizon)
    looked_at = [spelling.looked_at(call) for call in stage.functions]
    return f"array_distinct(concat({', '.join([BEHIND, *looked_at])}))"


class _Spelling:
    """The calls of one stage, spelled one after the other."""

    def __init__(self, below: Stage, horizon: timedelta | None) -> None:
        self.below, self.horizon = below, horizon
        self.columns = Values()

    def value(self, call: OverCall) -> str:
        """One window function in Spark SQL."""
        tree = call.expression.tree.copy()
        assert isinstance(tree, exp.Window)
        endless = self.horizon is not None and not ends(call.partition, self.below)
        if call.function in _OF_ONE_ROW:
            if call.function in _BY_PLACE:
                _order_by_position(tree)
            return self._seen(tree, call) if endless else spell(tree)
        by_rows = call.frame is not None and call.frame.unit == "ROWS"
        if by_rows and endless:
            assert self.horizon is not None
            return cut(call, self._row_number(call), self._time(call), self.horizon)
        if by_rows and call.order:
            _order_by_position(tree)
        if endless:
            self._bound(tree, call)
        return self._framed(tree, call, by_rows)

    def looked_at(self, call: OverCall) -> str:
        """The events behind the rows that a window function sees: its frame, or the rows up to the one it ranks."""
        tree = call.expression.tree.copy()
        assert isinstance(tree, exp.Window)
        if call.function in STEPS:
            return f"coalesce({spell(_stepping(tree))}, {BEHIND})"
        order = ", ".join(str(term) for term in call.order)
        if call.function in _OF_ONE_ROW:
            frame = f"ORDER BY {order} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if order else ""
            return self._near(f" OVER ({partition_by(call.partition)}{frame})", call)
        if call.frame is not None and call.frame.unit == "ROWS" and call.order:
            _order_by_position(tree)
        elif call.frame is not None and self.horizon is not None and not ends(call.partition, self.below):
            self._bound(tree, call)
        return self._near(over_of(tree), call)

    def _near(self, over: str, call: OverCall) -> str:
        """The events behind the rows of a window; in an endless partition those within the horizon."""
        if ends(call.partition, self.below) or self.horizon is None:
            return f"flatten(collect_list({BEHIND}){over})"
        time, micros = f"unix_micros(`{self._time(call)}`)", self.horizon // timedelta(microseconds=1)
        rows = f"collect_list(struct({time} AS t, {BEHIND} AS b)){over}"
        return f"flatten(transform(filter({rows}, s -> abs(s.t - {time}) <= {micros}), s -> s.b))"

    def _framed(self, tree: exp.Window, call: OverCall, by_rows: bool) -> str:
        """An aggregate of a frame; where rows of it are equal in order, the position in the log decides."""
        plain = not any(isinstance(part, exp.Filter | exp.Distinct) for part in tree.this.walk())
        if by_rows and plain and call.function in _IN_ORDER:
            return spell(tree)
        order = POSITION if call.function in ("min_by", "max_by") else self._row_number(call)
        if call.function == "nth_value":
            return _nth_value(tree.this, order, over_of(tree))
        inner = Call(call.name, call.function, Expression.of(tree.this.copy(), call.expression.type), call.stability)
        start = None if by_rows else self._start(call)
        if start is not None and adds_up_exactly(inner):
            return between_totals(inner, tree, start)
        return stable(inner, order, over_of(tree))

    def _start(self, call: OverCall) -> timedelta | None:
        """The time before a row at which its frame begins, if that is measured in time, and rows come in the order of a
        time that each of them has.
        """
        time = call.order_time(self.below)
        if call.frame is None or time is None or time.nullable or call.order[0].descending:
            return None
        if call.frame.start is None and not ends(call.partition, self.below):
            return self.horizon
        start = call.frame.start
        return -start if isinstance(start, timedelta) and start < timedelta() else None

    def _seen(self, tree: exp.Window, call: OverCall) -> str:
        """A rank or a step to another row in an endless partition."""
        time = self._time(call)
        assert self.horizon is not None
        if call.function in STEPS:
            return _within(tree, time, self.horizon)
        number = self._first(spell(tree))
        near = f"RANGE BETWEEN {spell_interval(self.horizon)} PRECEDING AND CURRENT ROW"
        order = spell(exp.column(time, quoted=True)) + (" DESC" if call.order[0].descending else "")
        return f"{number} - min({number}) OVER ({partition_by(call.partition)}ORDER BY {order} {near}) + 1"

    def _bound(self, tree: exp.Window, call: OverCall) -> None:
        """Let the frame of an endless partition reach as far as the horizon where it has no bound of its own."""
        assert call.frame is not None
        if call.frame.start is not None and call.frame.end is not None:
            return
        assert self.horizon is not None
        reach = interval_of(self.horizon)
        spec = tree.args.get("spec") or exp.WindowSpec(kind="RANGE", end="CURRENT ROW")
        if call.frame.start is None:
            spec.set("start", reach.copy())
            spec.set("start_side", "PRECEDING")
        if call.frame.end is None:
            spec.set("end", reach.copy())
            spec.set("end_side", "FOLLOWING")
        tree.set("spec", spec)

    def _row_number(self, call: OverCall) -> str:
        """The place of a row in the order of its partition, ties decided."""
        if not call.order:
            return POSITION
        order = ", ".join([*(str(term) for term in call.order), POSITION])
        return self._first(f"row_number() OVER ({partition_by(call.partition)}ORDER BY {order})")

    def _first(self, text: str) -> str:
        """The name of a column that is computed first."""
        known = {spelled: name for name, spelled in self.columns.first.items()}
        name = known.get(text, f"__first{len(known)}")
        self.columns.first[name] = text
        return name

    def _time(self, call: OverCall) -> str:
        time = call.order_time(self.below)
        assert time is not None
        return time.name


def _order_by_position(tree: exp.Window) -> None:
    tree.args["order"].append("expressions", exp.Ordered(this=exp.column(POSITION)))


def _stepping(tree: exp.Window) -> exp.Window:
    """The step of a call to another row, to what is behind it."""
    _order_by_position(tree)
    step = tree.this.this if isinstance(tree.this, exp.IgnoreNulls | exp.RespectNulls) else tree.this
    known = exp.Not(this=exp.Is(this=step.this.copy(), expression=exp.Null()))
    behind = exp.column(BEHIND)
    step.set("this", when(known, behind) if isinstance(tree.this, exp.IgnoreNulls) else behind)
    step.set("default", None)
    return tree


def _nth_value(tree: exp.Expr, order: str, over: str) -> str:
    ignores = isinstance(tree, exp.IgnoreNulls)
    call = tree.this if isinstance(tree, exp.IgnoreNulls | exp.RespectNulls) else tree
    value, number = spell(call.this), spell(call.args["offset"])
    taken = Taken([value], f"{value} IS NOT NULL" if ignores else None, over=over)
    rows = taken.of("collect_list", f"struct({order} AS p, {value} AS v)")
    return f"try_element_at(array_sort({rows}), {number}).v"


def _within(tree: exp.Window, time: str, horizon: timedelta) -> str:
    """A step to another row that counts only as far as the horizon."""
    instant = tree.copy()
    step = instant.this.this if isinstance(instant.this, exp.IgnoreNulls | exp.RespectNulls) else instant.this
    here = exp.column(time, quoted=True)
    known = exp.Not(this=exp.Is(this=step.this.copy(), expression=exp.Null()))
    step.set("this", when(known, here) if isinstance(instant.this, exp.IgnoreNulls) else here.copy())
    default = step.args.get("default")
    step.set("default", None)
    distance = f"abs(unix_micros({spell(instant)}) - unix_micros({spell(here)}))"
    otherwise = spell(default) if default else "NULL"
    return f"CASE WHEN {distance} <= {horizon // timedelta(microseconds=1)} THEN {spell(tree)} ELSE {otherwise} END"
