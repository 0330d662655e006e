"""From stages to a DataFrame: one walk for streaming and for batch.

Beside its own columns, every DataFrame carries what later stages need and no view shows: `stamp.CARRIED` up to the
first operator that keeps state, and behind it the instant from which a row is final (`FINAL`) and whether it is shown
at all (`KEEP`), because a row that a HAVING drops must be deleted where it stood before.

Rows *enter* an operator that keeps state in one way: those in time are let in, marked by the column that the state is
evicted by, and each event once where its stream says what is unique. Those that came too late are set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.aggregate import stable
from headwater.engine.apply import applied
from headwater.engine.expand import expanded
from headwater.engine.inputs import Input
from headwater.engine.join import FINAL, MARK, Side, joined, merged
from headwater.engine.ledger import Fate, Rows, Tally
from headwater.engine.once import winners
from headwater.engine.over import ahead, behind_of, ranked, values_of
from headwater.engine.panes import Needed, admitting, panes_of, windows_of
from headwater.engine.stamp import (
    BEHIND,
    CARRIED,
    COMMIT,
    END,
    ID,
    LAST,
    MARKED,
    NEW,
    POSITION,
    ROW,
    STAMP,
    TIME,
    WINDOWS,
    barrier,
    events,
    in_time,
    later,
    mark,
)
from headwater.engine.totals import groups_of, totals_of
from headwater.engine.trace import behind, gathered
from headwater.engine.union import united, united_groups
from headwater.engine.view import held_back
from headwater.engine.window import Spread, has_one, window_of
from headwater.errors import NotSupportedYet
from headwater.model import Calendar, Cumulate, Hop, Session, Tumble, Window
from headwater.plan.execution import is_stateless, shows_events
from headwater.plan.panes import Panes, by_panes
from headwater.plan.stages import (
    Aggregate,
    Apply,
    Assign,
    Deduplicate,
    Expand,
    Expression,
    Field,
    Filter,
    Join,
    Named,
    Over,
    Project,
    Role,
    Scan,
    Stage,
    TopN,
    Union,
)
from headwater.plan.stages import Late as LateStage
from headwater.plan.state import ends, is_by_identity, is_endless

KEEP = "__keep"
_NUMBER, _SPAN, _SESSION, _KEY, _RANK = "__number", "__span", "__session", "__key", "__rank"
_MICROSECOND, _MILLISECOND = timedelta(microseconds=1), timedelta(milliseconds=1)
_BEFORE_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""No event has a time before it."""
_AFTER_TIME = datetime(9999, 12, 31, tzinfo=UTC)
_TOO_LONG = "a session is longer than the horizon that the view states"
_WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class Late:
    """Rows of a stage that came too late, with the end that they came too late for in `END`; made when asked for."""

    stage: Stage
    make: Callable[[], DataFrame]


@dataclass(frozen=True)
class Lowering:
    """How stages are lowered: where a scan's rows come from, and the view's grace.

    `live` rows are a stream, whose state must be evicted; `bare` ones come without a barrier. `settled` views get every
    operator that Spark has in batch, and a `FINAL` for every row; `horizon` is how far away a row is seen where nothing
    else bounds it. `tally` counts rows where it is given. Rows that come too late are gathered in `late`, as queries
    that nobody need run; where they are the ones that are wanted (`turned_away`), they take the place of the others.
    Where it is said which groups are `needed`, no others are computed, and windows that overlap are made of panes.

    Where a scan gives some rows of a topic, `taken` gives the places of those that are taken once of the whole of it.

    Groups without an end hold each row for `retention`: those whose time and retention are later than `settled_at`, up
    to where the view is settled. Where the `totals` of such groups are given, they are not made from the rows.
    """

    scan: Callable[[Scan], DataFrame]
    grace: timedelta
    live: bool
    settled: bool = False
    horizon: timedelta | None = None
    tally: Tally | None = None
    bare: bool = False
    turned_away: bool = False
    taken: Callable[[Scan], DataFrame] | None = None
    retention: timedelta | None = None
    settled_at: datetime | None = None
    totals: tuple[Aggregate, DataFrame] | None = None
    needed: Needed | None = None
    late: list[Late] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def view(self, root: Stage) -> DataFrame:
        """The rows of a view, each event once where its stream says what is unique."""
        rows = self.lower(root)
        if shows_events(root):
            self._use(rows := self._first_copies(rows))
        elif ID in rows.frame.columns:
            windowed = END in rows.frame.columns
            rows = rows if windowed else self._admit(rows, root, F.col(TIME))
            rows = self._enter(rows, root, F.col(END if windowed else TIME))
        else:
            self._use(rows)
        return rows.frame

    def lower(self, stage: Stage) -> Rows:
        """The stage's rows."""
        match stage:
            case Scan(kind="stream" | "view"):
                return self._scan(stage)
            case Filter():
                return self._filter(stage)
            case Project(input=below, expressions=named):
                rows = self.lower(below)
                return rows.then(rows.frame.select(*(_named(found) for found in named), *_carried(rows.frame)))
            case Expand():
                return self._expand(stage)
            case Assign():
                return self._assign(stage)
            case LateStage():
                return self._turned_away(stage)
            case Union():
                return self._union(stage)
            case Deduplicate() if self.settled and stage.order and not is_by_identity(stage):
                return self._first(stage, stage.keys, 1)
            case Deduplicate():
                return self._deduplicate(stage)
            case Join() if stage.as_of is None:
                return self._join(stage)
            case Aggregate(window=Session()):
                return self._session(stage)
            case Aggregate():
                return self._aggregate(stage)
            case Over() if self.settled:
                return self._over(stage)
            case TopN() if self.settled:
                return self._first(stage, stage.partition, stage.limit)
            case Apply() if self.settled:
                return self._apply(stage)
            case _:
                what = f"reading a {stage.kind}" if isinstance(stage, Scan) else f"a {type(stage).__name__.lower()}"
                raise NotSupportedYet(
                    f"{what} can't be executed in this version",
                    hint="Filters, projections, unions, joins and windowed aggregates of streams and views can.",
                    origin=stage.origin,
                )

    def _scan(self, stage: Scan) -> Rows:
        frame = self.scan(stage)
        if stage.within is not None:
            return self._once(Rows(frame) if self.tally is None else self.tally.enter(frame), stage, stage.within)
        if self.tally is None:
            return Rows(frame)
        if self.bare:
            return self.tally.follow(frame)
        rows = self.tally.enter(frame)
        return rows.then(events(rows.frame)) if self.live else rows

    def _once(self, rows: Rows, stage: Scan, within: timedelta) -> Rows:
        """The rows of a topic that are taken of those with one id, which is asked of the whole of it."""
        decidable = in_time(F.col(TIME), within)
        self._set_aside(stage, rows.frame, ~decidable, later(F.col(TIME), within - self.grace))
        rows = self._count(rows.then(rows.frame.where(decidable)), "late")
        taken = winners(self.scan(stage), within) if self.taken is None else self.taken(stage)
        once = rows.frame.join(merged(taken), [COMMIT, ROW], "left_semi").drop(ID)
        return self._count(rows.then(once), "duplicates")

    def _filter(self, stage: Filter) -> Rows:
        """Drop rows; behind an aggregate they are not dropped but marked, so that the store can delete them.

        A condition that doesn't read the window is decided before a row is taken apart into its windows.
        """
        below = stage.input
        if isinstance(below, Assign) and not set(stage.condition.reads) & set(_WINDOW_COLUMNS):
            return self.lower(replace(below, input=replace(stage, input=below.input, columns=below.input.columns)))
        rows = self.lower(below)
        true = F.coalesce(F.expr(stage.condition.sql), F.lit(False))
        if KEEP in rows.frame.columns:
            return rows.then(rows.frame.withColumn(KEEP, F.col(KEEP) & true))
        return self._count(rows.then(rows.frame.where(true)), "filtered", by_filter=True)

    def _expand(self, stage: Expand) -> Rows:
        rows = self.lower(stage.input)
        return self._count(
            rows.then(expanded(rows.frame, stage, _columns(stage.input), _carried(rows.frame))), "expanded"
        )

    def _turned_away(self, stage: LateStage) -> Rows:
        """The rows that another view doesn't admit, by its own grace; they happen when they came."""
        below = stage.input
        apart = replace(self, grace=stage.grace, tally=None, turned_away=True)
        if isinstance(below, Assign):
            rows = self.lower(below.input)
            late = apart._assigned(Rows(rows.frame), below).frame
        else:
            rows = self.lower(below)
            late = apart._admit(Rows(rows.frame), below, F.col(f"`{stage.time}`")).frame
        came_at = {found.name: F.col(STAMP) for found in stage.with_role(Role.EVENT_TIME)}
        shown = [came_at.get(found.name, F.col(f"`{found.name}`")).alias(found.name) for found in stage.columns]
        carried = [F.col(name) for name in (STAMP, COMMIT, ROW, TIME, NEW, BEHIND) if name in late.columns]
        once = not isinstance(below, Assign) or has_one(below.window)
        return self._count(rows.then(late.select(*shown, *carried)), "filtered" if once else "expanded", by_filter=once)

    def _assign(self, stage: Assign) -> Rows:
        """Each row once per window that admits it."""
        return self._assigned(replace(self.lower(stage.input), assigned=True), stage)

    def _assigned(self, rows: Rows, stage: Assign) -> Rows:
        at, window = later(F.col(f"`{stage.time}`"), stage.shift), stage.window
        if not has_one(window):
            assert isinstance(window, Hop | Cumulate)
            spread = Spread.of(at, window)
            return self._pane(rows, stage, spread) if isinstance(stage, Panes) else self._spread(rows, stage, spread)
        return self._admit(rows.then(_bounded(rows.frame, stage.input, window_of(at, window))), stage, F.col(END))

    def _spread(self, rows: Rows, stage: Assign, spread: Spread) -> Rows:
        """A row in several windows: each is admitted on its own, and one of them is the last."""
        if self.tally is not None and rows.passed:
            rows = self.tally.spread(rows, spread.count)
        number = F.col(_NUMBER)
        frame = rows.frame.withColumn(_NUMBER, F.expr(f"explode(sequence(0, {spread.last}))"))
        frame = frame if isinstance(spread.first, int) else frame.where(number >= spread.first)
        frame = _bounded(frame.withColumn(LAST, number == spread.last), stage.input, spread.window(number))
        return self._admit(rows.then(frame), stage, F.col(END))

    def _pane(self, rows: Rows, stage: Panes, spread: Spread) -> Rows:
        """A row in several windows that stays one; the bounds that it is given are those of the last."""
        if self.tally is not None and rows.passed:
            rows = self.tally.spread(rows, spread.count)
        frame = admitting(rows.frame, spread, self.grace)
        return rows.then(_bounded(frame, stage.input, spread.window(F.lit(spread.last))))

    def _admit(self, rows: Rows, stage: Stage, end: Column) -> Rows:
        """The rows that are in time for their end; behind an operator that keeps state all are."""
        if STAMP not in rows.frame.columns:
            return rows.then(rows.frame.where(end.isNotNull()))
        admitted = in_time(end, self.grace)
        if self.turned_away:
            return rows.then(rows.frame.where(~admitted))
        if self.tally is not None and rows.passed and END not in rows.frame.columns:
            rows = self.tally.equal(rows, in_time(end, self.grace + _MICROSECOND) & ~admitted)
        self._set_aside(stage, rows.frame, ~admitted, end)
        return rows.then(rows.frame.where(admitted))

    def _set_aside(self, stage: Stage, frame: DataFrame, refused: Column, end: Column) -> None:
        if not self.live:
            self.late.append(Late(stage, lambda: frame.where(refused).withColumn(END, end)))

    def _union(self, stage: Union) -> Rows:
        """The rows of all branches. An event is the same event only within a branch."""
        parts = [self.lower(branch) for branch in stage.branches]
        if any(FINAL in part.frame.columns for part in parts):
            return self._union_of_groups(stage, parts)
        unique = any(ID in part.frame.columns for part in parts)
        frames = []
        for number, (part, branch) in enumerate(zip(parts, stage.branches, strict=True)):
            frame = part.frame
            if unique:
                identity = [F.col(ID)] if ID in frame.columns else [F.col(COMMIT), F.lit(":"), F.col(ROW)]
                frame = frame.withColumn(ID, F.concat(F.lit(f"{number}:"), *identity))
            pairs = zip(_columns(branch), stage.columns, strict=True)
            frames.append(frame.select(*(column.alias(found.name) for column, found in pairs), *_carried(frame)))
        passed = tuple(name for part in parts for name in part.passed)
        return Rows(united(frames), passed, any(part.assigned for part in parts))

    def _union_of_groups(self, stage: Union, parts: list[Rows]) -> Rows:
        """The rows of branches some of which keep state: those of the others are final at their own time."""
        frames = []
        for part, branch in zip(parts, stage.branches, strict=True):
            frame = part.frame
            if FINAL not in frame.columns:
                frame = self._enter_by_time(part, branch).frame
                frame = frame.select(*_columns(branch), POSITION, F.col(MARK).alias(FINAL), *behind(frame))
            pairs = zip(_columns(branch), stage.columns, strict=True)
            frames.append(frame.select(*(column.alias(found.name) for column, found in pairs), *_carried(frame)))
        return Rows(united_groups(frames, KEEP))

    def _deduplicate(self, stage: Deduplicate) -> Rows:
        """One row per key. Rows that are the same event are taken once when they enter: nothing is left to do."""
        if is_by_identity(stage):
            rows = self.lower(stage.input)
            frame = rows.frame.withColumn(stage.rank, F.lit(1)) if stage.rank else rows.frame
            return rows.then(frame)
        rows = self._keyed(stage.input, stage.keys)
        if is_endless(stage):  # every column is a key: which of the rows it is doesn't show
            kept = F.min(POSITION).alias(POSITION), F.max(MARK).alias(FINAL), *gathered(rows.frame)
            return Rows(rows.frame.groupBy(*_columns(stage)).agg(*kept))
        keys = {f"{_KEY}{number}": F.expr(key.sql) for number, key in enumerate(stage.keys)}
        frame = rows.frame.withColumns(keys).dropDuplicates([*keys, MARK])
        final = [F.col(MARK).alias(FINAL)] if self.settled else []
        return Rows(frame.select(*_columns(stage), F.col(MARK).alias(END), POSITION, *final, *behind(frame)))

    def _join(self, stage: Join) -> Rows:
        times = (stage.bound.left, stage.bound.right) if stage.bound else (None, None)
        keys = [[pair[number] for pair in stage.equal] for number in (0, 1)]
        left, right = (self._side(*side) for side in zip(stage.inputs, times, keys, strict=True))
        return Rows(joined(stage, left, right, settled=self.settled))

    def _side(self, stage: Stage, time: str | None, keys: Sequence[Expression]) -> Side:
        """One side of a join: its rows, admitted by their time, or by the end of their window.

        Rows that another view has published are in the window that is among the keys.
        """
        rows = self.lower(stage)
        if time is not None and FINAL in rows.frame.columns:  # a row of a window, or of another join: it is in time
            return Side(self._enter(rows, stage, F.col(f"`{time}`")).frame, windowed=False)
        if time is not None and END in rows.frame.columns:
            raise NotSupportedYet(
                "a join of windows within a bound in time can't be executed in this version",
                hint="Join on window_start and window_end of the same window, or join before the windows.",
                origin=stage.origin,
            )
        known = next((name for name in (END, FINAL) if name in rows.frame.columns), None)
        if time is None and known is not None:  # rows of windows, or groups of them
            return Side(self._enter(rows, stage, F.col(known)).frame, windowed=True)
        end = _end_of(_timed(keys, stage)) if time is None else F.col(f"`{time}`")
        return Side(self._enter(self._admit(rows, stage, end), stage, end).frame, windowed=time is None)

    def _over(self, stage: Over) -> Rows:
        frame = self._entered(stage.input).frame
        found = values_of(stage, self.horizon)
        for columns in (found.first, found.values):
            frame = frame.withColumns({name: F.expr(text) for name, text in columns.items()}) if columns else frame
        final = later(F.col(MARK), ahead(stage, self.horizon))
        seen = [F.expr(behind_of(stage, self.horizon)).alias(BEHIND)] if BEHIND in frame.columns else []
        return Rows(frame.select(*_columns(stage), POSITION, final.alias(FINAL), *seen))

    def _first(self, stage: TopN | Deduplicate, partition: Sequence[Expression], limit: int) -> Rows:
        """The first rows of each partition."""
        rows = self._keyed(stage.input, partition)
        rank = stage.rank or _RANK
        if self.needed is not None and ends(partition, stage.input):
            rows = rows.then(self.needed.of(stage).cut(rows.frame))
        frame = rows.frame.withColumn(rank, F.expr(ranked(stage))).where(F.col(f"`{rank}`") <= limit)
        return Rows(frame.select(*_columns(stage), POSITION, F.col(MARK).alias(FINAL), *behind(frame)))

    def _apply(self, stage: Apply) -> Rows:
        """What a Python function makes of its inputs. They are counted beside it: it may read them as it likes."""
        apart = replace(self, tally=None, late=[])
        inputs = [
            Input(
                _name_of(branch),
                apart._entered(branch).frame.select(*_columns(branch)),
                partial(apart._windowed, branch),
            )
            for branch in stage.branches
        ]
        frame = applied(stage, inputs)
        gaps = [found.window.gap for found in inputs if isinstance(found.window, Session)]
        final = later(F.col(f"`{stage.time}`"), max(gaps, default=timedelta()))
        position = F.struct(*(F.col(f"`{found.name}`") for found in stage.columns if _is_ordered(found)))
        frame = frame.select("*", position.alias(POSITION), final.alias(FINAL), F.lit(True).alias(KEEP))
        for branch, found in zip(stage.branches, inputs, strict=True):
            counted = self._entered(branch) if found.window is None else self._through(branch, found.window)
            if self.tally is not None:
                frame = frame.unionByName(_nothing_of(counted.frame, frame))
        return Rows(frame)

    def _windowed(self, branch: Stage, window: Window) -> DataFrame:
        rows = self._through(branch, window).frame
        return rows.select(*_columns(branch), *(F.col(name) for name in _WINDOW_COLUMNS))

    def _through(self, branch: Stage, window: Window) -> Rows:
        """The rows of a stage through a window, each admitted by its end."""
        time = branch.with_role(Role.EVENT_TIME)[0]
        bounds = tuple(Field(name, time.type) for name in _WINDOW_COLUMNS)
        assign = Assign((*branch.columns, *bounds), branch, window, time.name)
        return self._enter(self._assign(assign), assign, F.col(END))

    def _entered(self, below: Stage) -> Rows:
        """The rows of a stage by their own time, or by that of the window or the group that they are in."""
        return self._enter_by_time(self.lower(below), below)

    def _enter_by_time(self, rows: Rows, below: Stage) -> Rows:
        known = next((name for name in (END, FINAL) if name in rows.frame.columns), None)
        rows = rows if known else self._admit(rows, below, F.col(TIME))
        return self._enter(rows, below, F.col(known or TIME))

    def _aggregate(self, stage: Aggregate) -> Rows:
        """One row per group. The bounds of a window follow from its end: as a key that alone is enough."""
        if self.needed is not None and (paned := by_panes(stage)) is not None:
            assert isinstance(stage.window, Hop | Cumulate)
            needed = self.needed.of(stage)
            panes = needed.given if needed.given is not None else self.gather(paned)
            return Rows(_finished(stage, windows_of(paned, panes, stage.window, needed), F.col(MARK)))
        if self.totals is not None and stage is self.totals[0]:
            assert self.retention is not None and self.settled_at is not None
            later_on = F.lit(self.settled_at + self.retention)
            return Rows(_finished(stage, groups_of(*self.totals), later_on))
        rows = self._keyed(stage.input, [key.expression for key in stage.keys])
        if is_endless(stage):
            # whatever is shown of a group that has no end is open, and nothing can be what is left of one
            calls = *_calls(stage), F.max(MARK).alias(FINAL), *gathered(rows.frame)
            grouped = rows.frame.groupBy(*map(_named, stage.keys)).agg(*calls)
            return Rows(_finished(stage, grouped, F.coalesce(F.col(FINAL), F.lit(_AFTER_TIME))))
        bounds = _bounds_by_end(stage, F.col(MARK))
        grouped = rows.frame.groupBy(*(_named(key) for key in stage.keys if key.name not in bounds), MARK)
        made = grouped.agg(*_calls(stage), *gathered(rows.frame)).withColumns(bounds)
        return Rows(_finished(stage, made, F.col(MARK)))

    def gather(self, stage: Aggregate) -> DataFrame:
        """The panes of an aggregate, from the rows of the log."""
        return panes_of(stage, self._enter(self.lower(stage.input), stage.input, F.col(END)).frame)

    def total(self, stage: Aggregate, gone_since: datetime | None = None) -> DataFrame:
        """The totals of groups without an end, of the rows that count; or of those that no longer do, since then."""
        if gone_since is None:
            return totals_of(stage, self._retained(stage.input).frame)
        counted, now = self._counting(stage.input).frame, F.lit(self.settled_at)
        return totals_of(stage, counted.where((F.col(MARK) > F.lit(gone_since)) & (F.col(MARK) <= now)))

    def _keyed(self, below: Stage, keys: Sequence[Expression]) -> Rows:
        """The rows of a stage as they enter an operator with these keys; if one is a time it says when a group ends."""
        if not ends(keys, below):
            return self._retained(below)
        rows = self.lower(below)
        timed = _timed(keys, below)
        if STAMP not in rows.frame.columns and _is_joined(below) and not _is_by_calendar(timed):
            return self._enter(rows, below, self._end_behind(below, timed))
        if END not in rows.frame.columns and FINAL in rows.frame.columns:  # rows of windows, grouped by them again
            return self._enter(rows, below, F.col(FINAL))
        if END not in rows.frame.columns:
            end = _end_of(timed)
            return self._enter(self._admit(rows, below, end), below, end)
        if Role.WINDOW_END in timed or Role.WINDOW_TIME in timed:
            return self._enter(rows, below, F.col(END))
        if (started := timed.get(Role.WINDOW_START)) is not None:
            assert started.window is not None and not isinstance(started.window, Session)
            if isinstance(started.window, Calendar):
                return self._enter(rows, below, F.col(END))
            return self._enter(rows, below, later(F.col(f"`{started.name}`"), started.window.size))
        end = _end_of(timed)
        return self._enter(self._admit(rows, below, end), below, end)

    def _end_behind(self, below: Stage, timed: Mapping[Role, Field]) -> Column:
        """When a group of the rows of joins ends: that must follow from its keys alone, or it would become several.

        Pairs of one row come one after the other, each with a later partner. How far they lag behind the watermark is
        in the view's pace; a row of a window comes until the window ends, and one of a frame until what is ahead came.
        """
        if timed.keys() & {Role.WINDOW_END, Role.WINDOW_TIME, Role.WINDOW_START}:
            return _end_of(timed)
        return later(_end_of(timed), held_back(below, self.horizon))

    def _retained(self, below: Stage) -> Rows:
        """The rows of a stage that still count in groups without an end.

        They are counted before: a row that no longer counts was used.
        """
        rows = self._counting(below)
        return rows.then(rows.frame.where(F.col(MARK) > F.lit(self.settled_at)))

    def _counting(self, below: Stage) -> Rows:
        """The rows of a stage that have counted in groups without an end, marked by when they no longer do."""
        assert self.retention is not None and self.settled_at is not None
        rows = self.lower(below)
        known = next((name for name in (END, FINAL) if name in rows.frame.columns), None)
        until = later(F.col(known or TIME), self.retention)
        return self._enter(rows if known else self._admit(rows, below, until), below, until)

    def _session(self, stage: Aggregate) -> Rows:
        assign = [found for found in stage.input.walk() if isinstance(found, Assign)][-1]  # others are below a join
        assert isinstance(assign.window, Session)
        rows = self.lower(stage.input)
        rows = self._enter(rows, stage.input, later(F.col(END), -assign.window.gap))
        gap = f"{assign.window.gap // timedelta(microseconds=1)} microseconds"
        keys = [_named(key) for key in stage.keys if not _bound(stage, key)]
        keys = keys or [F.col(MARK).isNull().alias(_KEY)]  # Spark has no sessions of all rows together
        sessions = rows.frame.groupBy(*keys, F.session_window(MARK, gap).alias(_SESSION))
        frame = sessions.agg(*_calls(stage), *gathered(rows.frame))
        # a filter on a session's bounds would be pushed below the merge, where each row is a session of its own
        frame = barrier(frame, f"sessions{next(self._numbers)}", _every())
        start, end = F.col(f"{_SESSION}.start"), F.col(f"{_SESSION}.end")
        if (
            self.settled and self.horizon is not None
        ):  # a slice may not have all of it: no number is better than a wrong one
            longest, too_long = later(start, self.horizon), F.raise_error(F.lit(_TOO_LONG)).cast("timestamp")
            end = F.when(end > longest, too_long).otherwise(end)
        bounds = {
            Role.WINDOW_START: start,
            Role.WINDOW_END: end,
            Role.WINDOW_TIME: later(end, -_MILLISECOND),
        }
        shown = [
            bounds[role].alias(key.name) if (role := _bound(stage, key)) else F.col(f"`{key.name}`")
            for key in stage.keys
        ]
        calls = (F.col(f"`{call.name}`") for call in stage.aggregates)
        return Rows(_finished(stage, frame.select(*shown, *calls, *behind(frame), _SESSION), end))

    def _enter(self, rows: Rows, stage: Stage, marked: Column) -> Rows:
        """Admitted rows at the door of an operator that keeps state, evicted by the marked column: each event once."""
        unique = [ID, TIME] if ID in rows.frame.columns else []
        extra = [name for name in (*unique, LAST, WINDOWS, NEW, BEHIND) if name in rows.frame.columns]
        places = [COMMIT, ROW] if unique and self.settled else []
        shown = rows.frame.where(F.col(KEEP)) if KEEP in rows.frame.columns else rows.frame
        chosen = shown.select(*_columns(stage), *_position(shown), *extra, *places, mark(marked, MARK))
        if rows.passed:
            rows = self._count(rows.then(chosen), "late", by_filter=LAST not in extra)
        else:
            rows = rows.then(barrier(chosen, f"{MARKED}{next(self._numbers)}", _every()) if self.live else chosen)
        if unique:
            once = _earliest if self.settled else DataFrame.dropDuplicates
            rows = self._count(rows.then(once(rows.frame, [*unique, MARK])), "duplicates")
        self._use(rows)
        return rows

    def _first_copies(self, rows: Rows) -> Rows:
        """Of the copies of an event the first in the log, however late it came; all of them are among the rows."""
        first = _earliest(rows.frame, [ID, TIME])
        return self._count(rows.then(first), "duplicates")

    def _use(self, rows: Rows) -> None:
        if self.tally is not None:
            self.tally.use(rows)

    def _count(self, rows: Rows, fate: Fate, *, by_filter: bool = False) -> Rows:
        """Count the rows, as long as each is still a row of the log. Spark itself counts those that pass a filter."""
        if self.tally is None or not rows.passed:
            return rows
        return self.tally.passed(rows, fate) if by_filter and self.bare else self.tally.count(rows, fate)


def _timed(keys: Sequence[Expression], below: Stage) -> dict[Role, Field]:
    """The keys that are times of rows, or bounds of their windows."""
    fields = [found for key in keys if key.is_column and (found := below.column(key.reads[0]))]
    return {found.role: found for found in fields if found.role is not None and not found.nullable}


def _end_of(timed: Mapping[Role, Field]) -> Column:
    """When a group ends one of whose keys is a time of a row, or of the window of another view that it comes from."""
    after = {Role.WINDOW_END: timedelta(), Role.WINDOW_TIME: _MILLISECOND}
    role = next((found for found in (Role.WINDOW_END, Role.WINDOW_TIME, Role.WINDOW_START) if found in timed), None)
    if role is None:
        return F.col(f"`{next(iter(timed.values())).name}`")
    found = timed[role]
    if role is Role.WINDOW_START and not isinstance(found.window, Tumble | Hop):
        raise NotSupportedYet(
            "groups of another view's windows that are told by their start can't be kept in this version",
            hint="Group by window_end.",
        )
    return later(F.col(f"`{found.name}`"), after.get(role, getattr(found.window, "size", timedelta())))


def _is_joined(stage: Stage) -> bool:
    return any(isinstance(found, Join) for found in stage.walk())


def _is_by_calendar(timed: Mapping[Role, Field]) -> bool:
    """Whether groups are told by the start of a window of the calendar alone, whose end the rows carry."""
    by_end = timed.keys() & {Role.WINDOW_END, Role.WINDOW_TIME}
    started = timed.get(Role.WINDOW_START)
    return not by_end and started is not None and isinstance(started.window, Calendar)


def _name_of(branch: Stage) -> str:
    """What an input of a Python view is called: the first of what it reads."""
    return next(found.relation for found in branch.walk() if isinstance(found, Scan))


def _is_ordered(found: Field) -> bool:
    """Whether rows can be ordered by a column."""
    return not pa.types.is_nested(found.type)


def _nothing_of(counted: DataFrame, like: DataFrame) -> DataFrame:
    """Rows that no view shows, with the columns of another frame: to find that out, Spark has to count them.

    It must not know beforehand that there will be none, or what their values are: it would leave out the counting.
    """
    shown = F.col(MARK) < F.lit(_BEFORE_TIME)
    own = {KEEP: shown, FINAL: F.col(MARK)}
    columns = [
        own.get(found.name, F.get(F.array(F.lit(None).cast(found.dataType)), shown.cast("int"))).alias(found.name)
        for found in like.schema.fields
    ]
    return counted.select(*columns)


def _earliest(frame: DataFrame, keys: list[str]) -> DataFrame:
    """Of the rows with the same keys the first in the log: which of them is counted must not depend on the slice."""
    place = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {COMMIT}, {ROW})"
    return frame.withColumn(_RANK, F.expr(place)).where(F.col(_RANK) == 1).drop(_RANK, COMMIT, ROW)


def _every() -> Column:
    return F.count(F.lit(1)).alias("__rows")


def _columns(stage: Stage) -> list[Column]:
    return [F.col(f"`{found.name}`") for found in stage.columns]


def _named(found: Named) -> Column:
    return F.expr(found.expression.sql).alias(found.name)


def _carried(frame: DataFrame, but: str = "") -> list[Column]:
    return [F.col(name) for name in (*CARRIED, FINAL, KEEP) if name in frame.columns and name != but]


def _bounded(frame: DataFrame, below: Stage, span: Column) -> DataFrame:
    """The rows, each with the bounds of a window, which take the place of those of another."""
    carried = _carried(frame, but=END)
    kept = [F.col(f"`{found.name}`") for found in below.columns if found.name.lower() not in _WINDOW_COLUMNS]
    frame = frame.select(*kept, *carried, span.alias(_SPAN))
    start, end = F.col(f"{_SPAN}.start"), F.col(f"{_SPAN}.end")
    bounds = zip((start, end, later(end, -_MILLISECOND)), _WINDOW_COLUMNS, strict=True)
    return frame.select(*kept, *(column.alias(name) for column, name in bounds), *carried, end.alias(END))


def _position(frame: DataFrame) -> list[Column]:
    """What orders rows totally. Which copy of a duplicate survives is arbitrary, so there it is what copies share."""
    if POSITION in frame.columns:
        return [F.col(POSITION)]
    names = (TIME, ID) if ID in frame.columns else (COMMIT, ROW)
    return [F.struct(*names).alias(POSITION)] if set(names) <= set(frame.columns) else []


def _calls(stage: Aggregate) -> list[Column]:
    calls = [F.expr(stable(call, POSITION)).alias(call.name) for call in stage.aggregates]
    return calls or [_every()]


def _finished(stage: Aggregate, frame: DataFrame, final: Column) -> DataFrame:
    keep = F.lit(True) if stage.having is None else F.coalesce(F.expr(stage.having.sql), F.lit(False))
    keys = [F.col(f"`{key.name}`") for key in stage.keys]  # they tell the rows apart, and so decide ties behind this
    position = F.struct(*keys).alias(POSITION)
    return frame.select(*_columns(stage), position, final.alias(FINAL), keep.alias(KEEP), *behind(frame))


def _bounds_by_end(stage: Aggregate, end: Column) -> dict[str, Column]:
    """The keys that are bounds of windows of one size, and what they are where a window ends."""
    below = stage.input
    while isinstance(below, Filter | Project | Expand):
        below = below.input
    if not isinstance(below, Assign) or not isinstance(below.window, Tumble | Hop) or not is_stateless(below.input):
        return {}
    start, last = later(end, -below.window.size), later(end, -_MILLISECOND)
    bounds = {Role.WINDOW_START: start, Role.WINDOW_END: end, Role.WINDOW_TIME: last}
    return {key.name: bounds[role] for key in stage.keys if (role := _bound(stage, key))}


def _bound(stage: Aggregate, key: Named) -> Role | None:
    """Which bound of a session a key is, if it is one."""
    found = stage.input.column(key.expression.reads[0]) if key.expression.is_column else None
    return found.role if found and found.role and found.role.bounds_window else None
