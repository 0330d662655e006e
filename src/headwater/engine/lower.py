"""From stages to a DataFrame: one walk for streaming and for batch.

Beside its own columns, every DataFrame carries what later stages need and no view shows: the stamp and the position up
to the first aggregate, and behind it the end of the group (`END`) and whether a row is shown at all (`KEEP`), because a
row that a HAVING drops must be deleted where it stood before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.aggregate import stable
from headwater.engine.stamp import CARRIED, COMMIT, ID, ROW, TIME, barrier, in_time, interval, mark
from headwater.engine.window import windows_of
from headwater.errors import NotSupportedYet
from headwater.model import Session
from headwater.plan.stages import Aggregate, Assign, Expand, Filter, Named, Project, Role, Scan, Stage, Union

END, KEEP = "__end", "__keep"
_SPANS, _SPAN, _AT, _SESSION = "__windows", "__span", "__at", "__session"
_MILLISECOND = timedelta(milliseconds=1)
_WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class Lowering:
    """How stages are lowered: where a scan's rows come from, the view's grace, and whether rows are a stream.

    `late` turns admission round: what comes out are the rows that came too late.
    """

    scan: Callable[[Scan], DataFrame]
    grace: timedelta
    live: bool
    late: bool = False
    _numbers: Iterator[int] = field(default_factory=count)

    def view(self, root: Stage) -> DataFrame:
        """The rows of a view, each event once where its stream says what is unique."""
        rows = self.lower(root)
        if ID not in rows.columns:
            return rows
        admitted = rows.where(self.admits(F.col(TIME)))
        return self._marked(admitted, root, mark(F.col(TIME), _AT)).dropDuplicates([ID, _AT])

    def lower(self, stage: Stage) -> DataFrame:
        """The stage's rows."""
        match stage:
            case Scan(kind="stream"):
                return self.scan(stage)
            case Filter():
                return self._filter(stage)
            case Project(input=below, expressions=named):
                rows = self.lower(below)
                return rows.select(*(_named(found) for found in named), *_carried(rows))
            case Expand(input=below, generator=generator, outputs=outputs):
                rows = self.lower(below)
                return rows.select(*_columns(below), F.expr(generator.sql).alias(*outputs), *_carried(rows))
            case Assign():
                return self._assign(stage)
            case Union():
                return self._union(stage)
            case Aggregate(window=Session()):
                return self._session(stage)
            case Aggregate():
                return self._aggregate(stage)
            case _:
                what = f"reading a {stage.kind}" if isinstance(stage, Scan) else f"a {type(stage).__name__.lower()}"
                raise NotSupportedYet(
                    f"{what} can't be executed in this version",
                    hint="Filters, projections, unions and windowed aggregates of streams can.",
                    origin=stage.origin,
                )

    def _filter(self, stage: Filter) -> DataFrame:
        """Drop rows; behind an aggregate they are not dropped but marked, so that the store can delete them."""
        rows = self.lower(stage.input)
        true = F.coalesce(F.expr(stage.condition.sql), F.lit(False))
        return rows.withColumn(KEEP, F.col(KEEP) & true) if KEEP in rows.columns else rows.where(true)

    def _assign(self, stage: Assign) -> DataFrame:
        """Each row once per window that admits it (or, if late rows are wanted, per window that doesn't)."""
        at = F.col(f"`{stage.time}`") + interval(stage.shift)
        rows = self.lower(stage.input).withColumn(_SPANS, windows_of(at, stage.window))
        kept, carried = _columns(stage.input), _carried(rows)
        spans = F.filter(_SPANS, lambda span: self.admits(span["end"]))
        spread = rows.select(*kept, *carried, F.explode(spans).alias(_SPAN))
        start, end = F.col(f"{_SPAN}.start"), F.col(f"{_SPAN}.end")
        bounds = zip((start, end, end - interval(_MILLISECOND)), _WINDOW_COLUMNS, strict=True)
        return spread.select(*kept, *(column.alias(name) for column, name in bounds), *carried)

    def admits(self, end: Column) -> Column:
        """Whether a row whose window ends there is taken."""
        return ~in_time(end, self.grace) if self.late else in_time(end, self.grace)

    def _union(self, stage: Union) -> DataFrame:
        parts = []
        for number, branch in enumerate(stage.branches):
            rows = self.lower(branch)
            if ID in rows.columns:  # an event is the same event only within a branch
                rows = rows.withColumn(ID, F.concat(F.lit(f"{number}:"), F.col(ID)))
            pairs = zip(_columns(branch), stage.columns, strict=True)
            parts.append(rows.select(*(column.alias(found.name) for column, found in pairs), *_carried(rows)))
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        return whole

    def _aggregate(self, stage: Aggregate) -> DataFrame:
        rows = self.lower(stage.input)
        position = _position(rows)
        end = next(found for found in stage.input.columns if found.role is Role.WINDOW_END)
        rows = self._marked(rows, stage.input, mark(F.col(f"`{end.name}`"), END))
        if ID in rows.columns:
            rows = rows.dropDuplicates([ID, TIME, END])
        grouped = rows.groupBy(*(_named(key) for key in stage.keys), END)
        return _finished(stage, grouped.agg(*_calls(stage, position)))

    def _session(self, stage: Aggregate) -> DataFrame:
        rows = self.lower(stage.input)
        position = _position(rows)
        assign = next(found for found in stage.input.walk() if isinstance(found, Assign))
        assert isinstance(assign.window, Session)
        rows = self._marked(rows, stage.input, mark(F.col(f"`{assign.time}`"), _AT))
        if ID in rows.columns:
            rows = rows.dropDuplicates([ID, _AT])
        gap = f"{assign.window.gap // timedelta(microseconds=1)} microseconds"
        plain = [key for key in stage.keys if not _bound(stage, key)]
        keys = (_named(key) for key in plain)
        rows = rows.groupBy(*keys, F.session_window(_AT, gap).alias(_SESSION)).agg(*_calls(stage, position))
        # a filter on a session's bounds would be pushed below the merge, where each row is a session of its own
        rows = barrier(rows, f"sessions{next(self._numbers)}")
        start, end = F.col(f"{_SESSION}.start"), F.col(f"{_SESSION}.end")
        bounds = {
            Role.WINDOW_START: start,
            Role.WINDOW_END: end,
            Role.WINDOW_TIME: end - interval(_MILLISECOND),
        }
        shown = [
            bounds[role].alias(key.name) if (role := _bound(stage, key)) else F.col(f"`{key.name}`")
            for key in stage.keys
        ]
        calls = (F.col(f"`{call.name}`") for call in stage.aggregates)
        return _finished(stage, rows.select(*shown, *calls, end.alias(END)))

    def _marked(self, rows: DataFrame, stage: Stage, marked: Column) -> DataFrame:
        """The rows with the column that state is evicted by, the stamp gone, and the barrier that keeps it so."""
        extra = (F.col(name) for name in (COMMIT, ROW, ID, TIME) if name in rows.columns)
        chosen = rows.select(*_columns(stage), *extra, marked)
        return barrier(chosen, f"used{next(self._numbers)}") if self.live else chosen


def _columns(stage: Stage) -> list[Column]:
    return [F.col(f"`{found.name}`") for found in stage.columns]


def _named(found: Named) -> Column:
    return F.expr(found.expression.sql).alias(found.name)


def _carried(rows: DataFrame) -> list[Column]:
    return [F.col(name) for name in (*CARRIED, END, KEEP) if name in rows.columns]


def _position(rows: DataFrame) -> str:
    """What orders rows totally. Which copy of a duplicate survives is arbitrary, so there it is what copies share."""
    return f"struct({TIME}, {ID})" if ID in rows.columns else f"struct({COMMIT}, {ROW})"


def _calls(stage: Aggregate, position: str) -> list[Column]:
    calls = [F.expr(stable(call, position)).alias(call.name) for call in stage.aggregates]
    return calls or [F.count(F.lit(1)).alias("__rows")]


def _finished(stage: Aggregate, rows: DataFrame) -> DataFrame:
    keep = F.lit(True) if stage.having is None else F.coalesce(F.expr(stage.having.sql), F.lit(False))
    return rows.withColumn(KEEP, keep)


def _bound(stage: Aggregate, key: Named) -> Role | None:
    """Which bound of a session a key is, if it is one."""
    found = stage.input.column(key.expression.reads[0]) if key.expression.is_column else None
    return found.role if found and found.role and found.role.bounds_window else None
