"""Values from the rows around a row: window functions and rankings, with every tie decided.

Rows that an ORDER BY leaves equal come in whatever order they are processed. Where that shows (ROW_NUMBER, LAG, a frame
that counts rows, the first or last value of a frame), the position in the log decides. Peers stay peers where they are
meant: in RANK, and in a frame that is measured in time.

In an *endless* partition, which no window ends, a row sees the rows that are at most the view's horizon away from it in
time; those farther away are none, in every execution. `engine.frame` has the frames that count rows there.

Some values are read off columns that are computed first: the *place* of a row in its partition, its number or rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from headwater.engine.aggregate import stable
from headwater.engine.frame import cut
from headwater.engine.running import adds_up_exactly, between_totals, over, when
from headwater.engine.stamp import BEHIND, POSITION, spell_interval
from headwater.plan.endless import RANKS, STEPS
from headwater.plan.stages import Call, Deduplicate, Expression, Over, OverCall, Stage, TopN
from headwater.plan.state import ends, order_time
from headwater.sql import parse_expression, spell

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
        spelling.found.values[call.name] = spelling.value(call)
    return spelling.found


def ahead(stage: Over, horizon: timedelta | None) -> timedelta:
    """How long after a row's own time its values can still change, because a row ahead of it comes."""
    return max((_ahead(call, stage.input, horizon or timedelta()) for call in stage.functions), default=timedelta())


def ranked(stage: TopN | Deduplicate) -> str:
    """The rank of a row in its partition, in Spark SQL."""
    partition = stage.partition if isinstance(stage, TopN) else stage.keys
    ranking = stage.ranking if isinstance(stage, TopN) else "row_number"
    order = [str(term) for term in stage.order]
    order += [POSITION] if ranking == "row_number" else []
    by = f"PARTITION BY {', '.join(key.sql for key in partition)} " if partition else ""
    return f"{ranking}() OVER ({by}ORDER BY {', '.join(order)})"


def behind_of(stage: Over, horizon: timedelta | None) -> str:
    """What is behind a row with the values of window functions: the row itself, and those that they look at."""
    spelling = _Spelling(stage.input, horizon)
    looked_at = [spelling.looked_at(call) for call in stage.functions]
    return f"array_distinct(concat({', '.join([BEHIND, *looked_at])}))"


class _Spelling:
    """The calls of one stage, spelled one after the other."""

    def __init__(self, below: Stage, horizon: timedelta | None) -> None:
        self.below, self.horizon = below, horizon
        self.found = Values()

    def value(self, call: OverCall) -> str:
        """One window function in Spark SQL."""
        tree = parse_expression(call.expression.sql)
        assert isinstance(tree, exp.Window)
        endless = not ends(call.partition, self.below)
        if call.function in _OF_ONE_ROW:
            if call.function in _BY_PLACE:
                _order_by_position(tree)
            return self._seen(tree, call) if endless else spell(tree)
        by_rows = call.frame is not None and call.frame.unit == "ROWS"
        if by_rows and endless:
            assert self.horizon is not None
            return cut(call, self._place(call), self._time(call), self.horizon)
        if by_rows and call.order:
            _order_by_position(tree)
        if endless:
            self._bound(tree, call)
        return self._framed(tree, call, by_rows)

    def looked_at(self, call: OverCall) -> str:
        """What is behind the rows that one window function looks at: its frame, or the rows up to the one it ranks."""
        tree = parse_expression(call.expression.sql)
        assert isinstance(tree, exp.Window)
        if call.function in STEPS:
            return f"coalesce({spell(_stepping(tree))}, {BEHIND})"
        by = f"PARTITION BY {', '.join(key.sql for key in call.partition)} " if call.partition else ""
        order = ", ".join(str(term) for term in call.order)
        if call.function in _OF_ONE_ROW:
            frame = f"ORDER BY {order} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if order else ""
            return self._near(f"OVER ({by}{frame})", call)
        if call.frame is not None and call.frame.unit == "ROWS" and call.order:
            _order_by_position(tree)
        elif call.frame is not None and not ends(call.partition, self.below):
            self._bound(tree, call)
        looking = over("count(1)", tree)
        return self._near(looking[looking.index("OVER") :], call)

    def _near(self, over: str, call: OverCall) -> str:
        """What is behind the rows of a window; in an endless partition those within the horizon."""
        if ends(call.partition, self.below) or self.horizon is None:
            return f"flatten(collect_list({BEHIND}) {over})"
        time, micros = f"unix_micros(`{self._time(call)}`)", self.horizon // timedelta(microseconds=1)
        rows = f"collect_list(struct({time} AS t, {BEHIND} AS b)) {over}"
        return f"flatten(transform(filter({rows}, s -> abs(s.t - {time}) <= {micros}), s -> s.b))"

    def _framed(self, tree: exp.Window, call: OverCall, by_rows: bool) -> str:
        """An aggregate of a frame; where rows of it are equal in order, the position in the log decides."""
        plain = not any(isinstance(part, exp.Filter | exp.Distinct) for part in tree.this.walk())
        if by_rows and plain and call.function in _IN_ORDER:
            return spell(tree)
        place = POSITION if call.function in ("min_by", "max_by") else self._place(call)
        if call.function == "nth_value":
            return over(_nth_value(tree.this, place), tree)
        inner = Call(call.name, call.function, Expression(spell(tree.this), call.expression.type), call.stability)
        start = None if by_rows else self._start(call)
        if start is not None and adds_up_exactly(inner):
            return between_totals(inner, tree, start)
        return over(stable(inner, place), tree)

    def _start(self, call: OverCall) -> timedelta | None:
        """How long before a row its frame begins, if that is measured in time, and rows come in the order of a time
        that each of them has.
        """
        time = order_time(call, self.below)
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
        by = f"PARTITION BY {', '.join(key.sql for key in call.partition)} " if call.partition else ""
        return f"{number} - min({number}) OVER ({by}ORDER BY {order} {near}) + 1"

    def _bound(self, tree: exp.Window, call: OverCall) -> None:
        """Let the frame of an endless partition reach as far as the horizon where it has no bound of its own."""
        assert call.frame is not None
        if call.frame.start is not None and call.frame.end is not None:
            return
        assert self.horizon is not None
        reach = parse_expression(spell_interval(self.horizon))
        spec = tree.args.get("spec") or exp.WindowSpec(kind="RANGE", end="CURRENT ROW")
        if call.frame.start is None:
            spec.set("start", reach.copy())
            spec.set("start_side", "PRECEDING")
        if call.frame.end is None:
            spec.set("end", reach.copy())
            spec.set("end_side", "FOLLOWING")
        tree.set("spec", spec)

    def _place(self, call: OverCall) -> str:
        """The place of a row in the order of its partition, ties decided."""
        if not call.order:
            return POSITION
        order = [str(term) for term in call.order]
        by = f"PARTITION BY {', '.join(key.sql for key in call.partition)} " if call.partition else ""
        return self._first(f"row_number() OVER ({by}ORDER BY {', '.join([*order, POSITION])})")

    def _first(self, text: str) -> str:
        """The name of a column that is computed first."""
        known = {spelled: name for name, spelled in self.found.first.items()}
        name = known.get(text, f"__first{len(known)}")
        self.found.first[name] = text
        return name

    def _time(self, call: OverCall) -> str:
        found = order_time(call, self.below)
        assert found is not None
        return found.name


def _order_by_position(tree: exp.Window) -> None:
    tree.args["order"].append("expressions", exp.Ordered(this=exp.column(POSITION)))


def _stepping(tree: exp.Window) -> exp.Window:
    """The step of a call to another row, to what is behind it."""
    _order_by_position(tree)
    step = tree.this.this if isinstance(tree.this, exp.IgnoreNulls | exp.RespectNulls) else tree.this
    known = exp.Not(this=exp.Is(this=step.this.copy(), expression=exp.Null()))
    place = exp.column(BEHIND)
    step.set("this", when(known, place) if isinstance(tree.this, exp.IgnoreNulls) else place)
    step.set("default", None)
    return tree


def _nth_value(tree: exp.Expr, place: str) -> str:
    ignores = isinstance(tree, exp.IgnoreNulls)
    call = tree.this if isinstance(tree, exp.IgnoreNulls | exp.RespectNulls) else tree
    value, number = spell(call.this), spell(call.args["offset"])
    known = f" FILTER (WHERE {value} IS NOT NULL)" if ignores else ""
    return f"try_element_at(array_sort(collect_list(struct({place} AS p, {value} AS v)){known}), {number}).v"


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


def _ahead(call: OverCall, below: Stage, horizon: timedelta) -> timedelta:
    if ends(call.partition, below):
        return timedelta()
    descending = bool(call.order) and call.order[0].descending
    if call.function in STEPS:
        return horizon if (call.function == "lead") != descending else timedelta()
    if call.frame is None:
        return horizon if descending else timedelta()
    bound = call.frame.start if descending else call.frame.end
    if bound is None:
        return horizon
    if isinstance(bound, int):
        return horizon if (bound < 0 if descending else bound > 0) else timedelta()
    return max(-bound if descending else bound, timedelta())
