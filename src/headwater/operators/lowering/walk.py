"""From stages to a DataFrame: one walk for streaming and for batch.

Beside its own columns, every DataFrame carries what later stages need and no view shows: `stamp.CARRIED` up to the
first operator that keeps state, and behind it the instant from which a row is final (`FINAL`) and whether it is shown
at all (`KEEP`), because a row that a HAVING drops must be deleted where it stood before.

Rows *enter* an operator that keeps state in one way: those in time are let in, marked by the column that the state is
evicted by, and each event once where its stream says what is unique. Those that came too late are set aside.

How a stage is lowered stands in the room of its operator, which makes it known here (`lowered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import singledispatch
from itertools import count

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater import model
from headwater.model import Calendar, Session
from headwater.operators import Expression, Role, Scan, Stage
from headwater.operators.join.stage import is_joined
from headwater.operators.lowering.columns import columns_of, earliest, every, position_of
from headwater.operators.lowering.ends import Times, end_of, is_by_calendar, times_among
from headwater.operators.lowering.ledger import Fate, Rows, Tally
from headwater.operators.lowering.needed import Needed
from headwater.operators.lowering.stamp import (
    BEHIND,
    COMMIT,
    END,
    FINAL,
    FOREVER,
    ID,
    KEEP,
    LAST,
    MARK,
    MARKED,
    NEW,
    OP,
    ROW,
    STAMP,
    TIME,
    WINDOWS,
    barrier,
    in_time,
    later,
    mark,
)
from headwater.operators.stage import ends
from headwater.plan.physical.finality import held_back
from headwater.plan.physical.view import Physical

_MICROSECOND = timedelta(microseconds=1)


@singledispatch
def lowered(stage: Stage, _lowering: Lowering) -> Rows:
    """The rows of a stage. Each operator registers how it is lowered."""
    raise NotImplementedError(type(stage).__name__)


@singledispatch
def taken_in(_stage: Stage, frame: DataFrame, _side: int) -> DataFrame:
    """The rows of an input of a stage with what it computes from each alone: keys, and each row as its own group."""
    return frame


@dataclass(frozen=True)
class LateRows:
    """Rows of a stage that came too late, with the end that they came too late for in `END`; made when asked for."""

    stage: Stage
    make: Callable[[], DataFrame]


@dataclass(frozen=True)
class KnownParts:
    """The groups of a stage as they are kept in parts: `known` gives their rows, if it is told the columns that new
    ones have; None where there are none yet.

    Added to them are the parts of rows that are new; where they are made again from the log, those of all rows.
    """

    stage: Stage
    known: Callable[[StructType], DataFrame] | None
    only_new: bool = True


@dataclass(frozen=True)
class Searched:
    """The place that the search for a pattern had come to before a slice, and who keeps where it comes to.

    A slice of few rows (`is_small`) is searched where it is.
    """

    before: Callable[[], pa.Table | None]
    keep: Callable[[pa.Table], None]
    is_small: bool


@dataclass(frozen=True)
class Lowering:
    """The way stages are lowered: where a scan's rows come from, the view's grace, and its physical plan.

    `live` rows are a stream, whose state must be evicted; `bare` ones come without a barrier. `settled` views get every
    operator that Spark has in batch, and a `FINAL` for every row; `horizon` is how far away a row is seen where nothing
    else bounds it. `tally` counts rows where it is given. Rows that come too late are gathered in `late`, as queries
    that nobody need run; where they are the ones that are wanted (`turned_away`), they take the place of the others.
    Where it is said which groups are `needed`, no others are computed, and windows that overlap are made of panes.

    Where scans give the rows of a slice, which tell of themselves whether they are new, it is `sliced`. Where a scan
    gives some rows of a topic, `taken` gives the places of those that are taken once of the whole of it.

    Groups without an end hold each row for `retention`: those whose time and retention are later than `settled_at`, up
    to where the view is settled; before a slice it was so at `began_at`. Where the `totals` of such groups are given,
    they are not made from the rows.
    Where the `parts` of groups are known, what is new is added to them. How far patterns were `searched` for before a
    slice is told where one is computed.
    """

    scan: Callable[[Scan], DataFrame]
    grace: timedelta
    live: bool
    physical: Physical = field(kw_only=True)
    settled: bool = False
    horizon: timedelta | None = None
    tally: Tally | None = None
    bare: bool = False
    turned_away: bool = False
    sliced: bool = False
    taken: Callable[[Scan], DataFrame] | None = None
    retention: timedelta | None = None
    settled_at: datetime | None = None
    began_at: datetime | None = None
    totals: tuple[Stage, DataFrame] | None = None
    parts: KnownParts | None = None
    needed: Needed | None = None
    searched: Callable[[Stage], Searched] | None = None
    late: list[LateRows] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def as_they_come(self) -> bool:
        """Tells whether every row says if it is new: if it couldn't be made of the rows that were there before."""
        step = self.physical.step
        return self.sliced and step is not None and step.as_they_come

    def view(self, root: Stage) -> DataFrame:
        """The rows of a view, each event once where its stream says what is unique."""
        rows = self.lower(root)
        if self.physical.first_copies:
            self.use(rows := self._first_copies(rows))
        elif ID in rows.frame.columns:
            windowed = END in rows.frame.columns
            rows = rows if windowed else self.admit(rows, root, F.col(TIME))
            rows = self.enter(rows, root, F.col(END if windowed else TIME))
        else:
            self.use(rows)
        return rows.frame

    def lower(self, stage: Stage) -> Rows:
        """The stage's rows. What can't be lowered is refused by the planner."""
        assert not (self.live and stage.streaming.obstacle), stage
        return lowered(stage, self)

    def admit(self, rows: Rows, stage: Stage, end: Column) -> Rows:
        """The rows that are in time for their end; behind an operator that keeps state all are."""
        if STAMP not in rows.frame.columns:
            return rows.then(rows.frame.where(end.isNotNull()))
        admitted = in_time(end, self.grace)
        if self.turned_away:
            return rows.then(rows.frame.where(~admitted))
        if self.tally is not None and rows.passed and END not in rows.frame.columns:
            rows = self.tally.equal(rows, in_time(end, self.grace + _MICROSECOND) & ~admitted)
        self.set_aside(stage, rows.frame, ~admitted, end)
        return rows.then(rows.frame.where(admitted))

    @property
    def is_forever(self) -> bool:
        """Tells whether every row counts for ever: none is late, and none is let go of."""
        return self.retention == model.FOREVER

    def set_aside(self, stage: Stage, frame: DataFrame, refused: Column, end: Column) -> None:
        """Remember rows that came too late for an end, as a query that nobody need run."""
        if not self.live:
            self.late.append(LateRows(stage, lambda: frame.where(refused).withColumn(END, end)))

    def entered(self, below: Stage) -> Rows:
        """The rows of a stage by their own time, or by that of the window or the group that they are in."""
        return self.enter_by_time(self.lower(below), below)

    def enter_by_time(self, rows: Rows, below: Stage) -> Rows:
        """The rows of a stage, lowered already, as they enter by their own time or that of their window."""
        if self.is_forever:
            return self.enter(rows, below, F.lit(FOREVER))
        known = next((name for name in (END, FINAL) if name in rows.frame.columns), None)
        rows = rows if known else self.admit(rows, below, F.col(TIME))
        return self.enter(rows, below, F.col(known or TIME))

    def keyed(self, below: Stage, keys: Sequence[Expression]) -> Rows:
        """The rows of a stage as they enter an operator with these keys; if one is a time it says when a group ends."""
        if self.is_forever or not ends(keys, below):
            return self.retained(below)
        rows = self.lower(below)
        timed = times_among(keys, below)
        if STAMP not in rows.frame.columns and is_joined(below) and not is_by_calendar(timed):
            return self.enter(rows, below, self._end_behind(below, timed))
        if END not in rows.frame.columns and FINAL in rows.frame.columns:  # rows of windows, grouped by them again
            return self.enter(rows, below, F.col(FINAL))
        if END not in rows.frame.columns:
            end = end_of(timed)
            return self.enter(self.admit(rows, below, end), below, end)
        if Role.WINDOW_END in timed or Role.WINDOW_TIME in timed:
            return self.enter(rows, below, F.col(END))
        if (started := timed.get(Role.WINDOW_START)) is not None:
            assert started.window is not None and not isinstance(started.window, Session)
            if isinstance(started.window, Calendar):
                return self.enter(rows, below, F.col(END))
            return self.enter(rows, below, later(F.col(f"`{started.name}`"), started.window.size))
        end = end_of(timed)
        return self.enter(self.admit(rows, below, end), below, end)

    def _end_behind(self, below: Stage, timed: Times) -> Column:
        """When a group of the rows of joins ends: that must follow from its keys alone, or it would become several.

        Pairs of one row come one after the other, each with a later partner. How far they lag behind the watermark is
        in the view's pace; a row of a window comes until the window ends, and one of a frame until what is ahead came.
        """
        if timed.keys() & {Role.WINDOW_END, Role.WINDOW_TIME, Role.WINDOW_START}:
            return end_of(timed)
        return later(end_of(timed), held_back(below, self.horizon))

    def retained(self, below: Stage) -> Rows:
        """The rows of a stage that still count in groups without an end.

        They are counted before: a row that no longer counts was used.
        """
        rows = self.counting(below)
        return rows if self.is_forever else rows.then(rows.frame.where(F.col(MARK) > F.lit(self.settled_at)))

    def counting(self, below: Stage) -> Rows:
        """The rows of a stage that have counted in groups without an end, marked by when they no longer do."""
        assert self.retention is not None and self.settled_at is not None
        rows = self.lower(below)
        if self.is_forever:
            return self.enter(rows, below, F.lit(FOREVER))
        known = next((name for name in (END, FINAL) if name in rows.frame.columns), None)
        until = later(F.col(known or TIME), self.retention)
        return self.enter(rows if known else self.admit(rows, below, until), below, until)

    def enter(self, rows: Rows, stage: Stage, marked: Column, more: Sequence[str] = ()) -> Rows:
        """Admitted rows at the door of an operator that keeps state, evicted by the marked column: each event once.

        They have the columns of the stage, and `more` of ours.
        """
        identity = [name for name in (ID, TIME) if name in rows.frame.columns]
        unique = identity if ID in identity else []
        extra = [name for name in (*unique, LAST, WINDOWS, NEW, BEHIND, OP) if name in rows.frame.columns]
        positions = [COMMIT, ROW] if unique and self.settled else []
        shown = rows.frame.where(F.col(KEEP)) if KEEP in rows.frame.columns else rows.frame
        chosen = shown.select(*columns_of(stage), *position_of(shown), *extra, *positions, *more, mark(marked, MARK))
        if rows.passed:
            rows = self.count(rows.then(chosen), "late", by_filter=LAST not in extra)
        else:
            rows = rows.then(barrier(chosen, f"{MARKED}{next(self.numbers)}", every()) if self.live else chosen)
        if unique:
            once = earliest if self.settled else DataFrame.dropDuplicates
            rows = self.count(rows.then(once(rows.frame, [*unique, MARK])), "duplicates")
        self.use(rows)
        return rows

    def _first_copies(self, rows: Rows) -> Rows:
        """Of the copies of an event the first in the log, however late it came; all of them are among the rows."""
        first = earliest(rows.frame, [ID, TIME])
        return self.count(rows.then(first), "duplicates")

    def becomes_final(self, at: Column) -> Column:
        """Tells whether a row that is final from an instant on becomes so in what is computed here."""
        ends = at <= F.lit(self.settled_at)
        return ends if self.began_at is None else ends & (at > F.lit(self.began_at))

    def use(self, rows: Rows) -> None:
        """The rows have reached the view, or an operator of it that keeps state."""
        if self.tally is not None:
            self.tally.use(rows)

    def count(self, rows: Rows, fate: Fate, *, by_filter: bool = False) -> Rows:
        """Count the rows, as long as each is still a row of the log. Spark itself counts those that pass a filter."""
        if self.tally is None or not rows.passed:
            return rows
        return self.tally.passed(rows, fate) if by_filter and self.bare else self.tally.count(rows, fate)
