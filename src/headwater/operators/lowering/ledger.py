"""The ledger: what became of every row that a view has read.

Rows are counted where they pass, by Spark itself (`observe`), on their way from the log up to the first operator that
keeps state. What one count has more than the next was lost between them, and every such place has a name, a *fate*:

    filtered    a WHERE was not true of it
    late        it came after the end of its window + grace
    duplicates  a copy of it was there already
    expanded    what an EXPLODE made of the rows beyond one for each (less than none, where it gave no element)
    used        it reached the view
    unmatched   it asked a table for a row that wasn't there, and is not shown; until that is final it counts as used

What is lost in an operator that keeps state, or between two of them, has no fate. It is *dropped* or went *astray*,
which must never happen.

A row in several windows has an *assignment* to each. Its own fate is that of its last window: a row is late once it is
too late even for that one. Assignments are counted beside the rows, each on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators.lowering.stamp import COMMIT, LAST, NEW, WINDOWS, barrier

Fate = Literal["filtered", "late", "duplicates", "expanded", "unmatched"]
LOGGED = "logged"
"""The number of rows by the log, which is known without any query."""
DROPPED, ASTRAY = "dropped", "astray"
"""The rows that Spark's operators have dropped, and those that were lost between two of them."""
FATES: tuple[Fate, ...] = ("filtered", "late", "duplicates", "expanded")
EQUAL = "late_by_equality"
"""The late rows that had the very time of the watermark that they met."""
UNMATCHED: Fate = "unmatched"
"""Of the rows that were used, those that are not shown for good, because a table had no row for them."""
FIRST, PASSED = "in0", "passed"
_ASSIGNED_FATES = ("filtered", "late", "duplicates")


class Count(NamedTuple):
    """The number of rows that passed, and of assignments of rows to windows."""

    rows: int
    assignments: int


@dataclass(frozen=True)
class Rows:
    """A DataFrame and, up to the first operator that keeps state, the names of the counts that its rows last passed.

    `assigned` says that each row stands for itself in one window; `asking` that it is a row of the log still, beside
    those that it has asked tables for.
    """

    frame: DataFrame
    passed: tuple[str, ...] = ()
    assigned: bool = False
    asking: bool = False

    def then(self, frame: DataFrame) -> Rows:
        """The rows as a step left them, not counted again."""
        return replace(self, frame=frame)


@dataclass(frozen=True)
class _Step:
    name: str
    below: tuple[str, ...]
    fate: Fate | None
    assigned: bool
    windows: int | None = None
    """Each row is in so many windows: what there is to count follows from the step below."""


@dataclass
class Tally:
    """The counts of one query: which there are, and what the difference of two of them means."""

    steps: list[_Step] = field(default_factory=list)
    scans: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    equals: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    assigned: bool = False
    known: dict[str, Count] = field(default_factory=dict)
    """The counts of queries that were executed before, on whose rows this one goes on."""

    def follow(self, frame: DataFrame) -> Rows:
        """Rows as they come from a log, which are counted by Spark where it reads it (see `metered`)."""
        self.scans.append(name := f"in{len(self.scans)}")
        return Rows(frame, (name,))

    def enter(self, frame: DataFrame) -> Rows:
        """Rows as they come from a log; tick rows, which have no position, are not counted."""
        self.scans.append(name := f"in{len(self.scans)}")
        counted = F.count_if(F.col(NEW)) if NEW in frame.columns else F.count(COMMIT)
        return Rows(barrier(frame, name, counted.alias("rows")), (name,))

    def passed(self, rows: Rows, fate: Fate) -> Rows:
        """As `count`, behind filters that are the only ones of the query: Spark counts what passes them."""
        self.steps.append(_Step(PASSED, rows.passed, fate, rows.assigned))
        return replace(rows, passed=(PASSED,))

    def count(self, rows: Rows, fate: Fate) -> Rows:
        """Count the rows here; those that are missing since they were last counted have this fate.

        Where nothing is counted any more, because state has been kept, this is only a barrier.
        """
        every = _counting(rows.frame)
        if WINDOWS in rows.frame.columns:
            return self._step(
                rows, fate, every.alias("rows"), _summing(rows.frame, F.col(WINDOWS)).alias("assignments")
            )
        if LAST in rows.frame.columns:
            return self._step(rows, fate, _counting(rows.frame, LAST).alias("rows"), every.alias("assignments"))
        return self._step(rows, fate, every.alias("rows"))

    def equal(self, rows: Rows, late: Column) -> Rows:
        """Count the rows that are late by equality alone, before they are turned away."""
        self.equals.append(name := f"equal{len(self.equals)}")
        among_new = late & F.col(NEW) if NEW in rows.frame.columns else late
        return rows.then(barrier(rows.frame, name, F.count_if(among_new).alias("rows")))

    def drop_unmatched(self, frame: DataFrame, is_dropped: Column) -> DataFrame:
        """Count the rows that are dropped for good, because a table has no row for them."""
        self.unmatched.append(name := f"{UNMATCHED}{len(self.unmatched)}")
        told = frame.withColumn(name, is_dropped)
        return barrier(told, name, F.count_if(F.col(name)).alias("rows")).drop(name)

    def spread(self, rows: Rows, windows: Column | int) -> Rows:
        """Count the rows and the windows that each is in, before it is taken apart into them."""
        if isinstance(windows, int):
            self.steps.append(_Step(f"count{len(self.steps)}", rows.passed, None, rows.assigned, windows))
            return replace(rows, passed=(self.steps[-1].name,))
        assignments = _summing(rows.frame, windows)
        return self._step(rows, None, _counting(rows.frame).alias("rows"), assignments.alias("assignments"))

    def _step(self, rows: Rows, fate: Fate | None, *counts: Column) -> Rows:
        name = f"count{len(self.steps)}"
        self.steps.append(_Step(name, rows.passed, fate, rows.assigned))
        return replace(rows, frame=barrier(rows.frame, name, *counts), passed=(name,) if rows.passed else ())

    def use(self, rows: Rows) -> None:
        """The rows have reached the view."""
        self.used.extend(rows.passed)
        self.assigned = self.assigned or (rows.assigned and bool(rows.passed))

    def ledger(self, counts: Mapping[str, Count]) -> dict[str, int]:
        """The counts by fate, of rows and, where there are windows, of assignments."""
        counts = {**self.known, **counts}
        for step in self.steps:
            if step.windows is not None:
                rows = self._sum(counts, step.below).rows
                counts[step.name] = Count(rows, rows * step.windows)
        ledger = {"in": self._sum(counts, self.scans).rows, "used": self._sum(counts, self.used).rows}
        ledger |= dict.fromkeys(FATES, 0)
        if self.equals:
            ledger[EQUAL] = self._sum(counts, self.equals).rows
        if self.unmatched:
            ledger[UNMATCHED] = self._sum(counts, self.unmatched).rows
        if self.assigned:
            ledger |= {f"assigned_{fate}": 0 for fate in _ASSIGNED_FATES}
            ledger["assigned_used"] = self._sum(counts, self.used).assignments
        for step in (step for step in self.steps if step.below and step.fate):
            below, above = self._sum(counts, step.below), self._sum(counts, [step.name])
            lost = below.rows - above.rows
            ledger[str(step.fate)] = ledger.get(str(step.fate), 0) + lost * (-1 if step.fate == "expanded" else 1)
            ledger["used"] += lost if step.fate == UNMATCHED else 0  # they are among those that were used
            if step.assigned and step.fate in _ASSIGNED_FATES:
                ledger[f"assigned_{step.fate}"] += below.assignments - above.assignments
        return ledger

    @staticmethod
    def _sum(counts: Mapping[str, Count], names: Iterable[str]) -> Count:
        chosen = [counts.get(name, Count(0, 0)) for name in names]  # of an empty log Spark counts nothing
        return Count(sum(count.rows for count in chosen), sum(count.assignments for count in chosen))


def _counting(frame: DataFrame, *conditions: str) -> Column:
    """The number of rows of which all conditions hold, among those that are new; tick rows are none."""
    wanted = [F.col(name) for name in (*conditions, NEW) if name in frame.columns]
    if wanted:
        return F.count_if(reduce(and_, wanted))
    return F.count(COMMIT if COMMIT in frame.columns else F.lit(1))


def _summing(frame: DataFrame, value: Column) -> Column:
    """The sum of a value over the rows that are new."""
    return F.sum(F.when(F.col(NEW), value) if NEW in frame.columns else value)


def observed(execution: Any) -> dict[str, Count]:
    """The counts of an executed query. `execution` is Spark's own QueryExecution, behind the gateway."""
    counts, entries = {}, execution.observedMetrics().iterator()
    while entries.hasNext():
        entry = entries.next()
        row = entry._2()
        numbers = [0 if row.isNullAt(index) else int(row.getLong(index)) for index in range(row.size())]
        counts[str(entry._1())] = Count(numbers[0], numbers[-1])
    return counts


def metered(execution: Any, logged: int) -> dict[str, Count]:
    """The counts, by Spark's own metrics, of an executed micro-batch of one log: rows read, and rows behind filters.

    `logged` rows were to be read, and a tick row. Where a filter can't be passed Spark reads nothing.
    """
    counts: dict[str, list[int]] = {"": [], "Filter": []}
    waiting = [execution.executedPlan()]
    while waiting:
        node = waiting.pop()
        children = node.children()
        waiting += [children.apply(number) for number in range(children.size())]
        name = node.nodeName() if children.size() else ""
        if name in counts:
            counts[name].append(int(node.metrics().apply("numOutputRows").value()))
    read = sum(counts[""]) - 1 if sum(counts[""]) else logged
    passed = counts["Filter"][0] if counts["Filter"] else 0
    return {FIRST: Count(read, read), PASSED: Count(passed, passed)}


def merged(frame: DataFrame) -> DataFrame:
    """A side of a join by equality that is not broadcast: behind a broadcast of no rows Spark leaves the other side
    unread, and the ledger without its rows.
    """
    return frame.hint("merge")
