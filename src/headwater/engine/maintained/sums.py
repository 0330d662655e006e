"""Sums: groups whose rows are found below them, as they were and as they are, and are taken off and added.

The totals of each group, kept by its keys, are the number of its rows and what its calls add up (see
`operators.aggregate.lowering.totals`). A step follows the trace of what is *below* the groups, computes the totals of
what was found without the new rows and with them, and adds the difference. What was found beside that is the same both
times. The values of the groups that it comes to follow from their totals, as they were and as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headwater.engine.batch import as_arrow
from headwater.engine.difference import texts_of
from headwater.engine.kept import as_kept
from headwater.engine.maintained.arrangement import Arrangement
from headwater.engine.maintained.traced import TracedView, both
from headwater.engine.prepared import Frames, Input, Instants, Prepared, PreparingSession, prepare
from headwater.engine.scan import in_memory
from headwater.engine.slice import Slice
from headwater.engine.small import LONG
from headwater.engine.span import BEGAN_AT, BEGINNING, SETTLED_AT
from headwater.engine.step_plan import StepPlan
from headwater.operators import Aggregate
from headwater.operators.aggregate.lowering.totals import UNTIL, summed
from headwater.operators.lowering.columns import ROWS
from headwater.operators.lowering.ledger import Tally
from headwater.operators.lowering.stamp import FOREVER

Make = Callable[[Mapping[str, DataFrame], Instants], DataFrame]
"""Makes a query over given tables, between instants."""


@dataclass
class _Memory:
    """The totals that a step has come to, until it is delivered: of some groups, or of all; and plans, by their names.

    A plan is None where it can't be prepared.
    """

    totals: pa.Table | None = None
    is_all: bool = False
    plans: dict[str, Prepared | None] = field(default_factory=dict)


@dataclass(frozen=True)
class SumsView(TracedView):
    """A maintained view whose groups are added to, and taken off from."""

    _own: _Memory = field(default_factory=_Memory)

    def _computed(self, spark: SparkSession, step: Slice, _before: pa.Table | None) -> tuple[pa.Table, dict[str, int]]:
        """The rows of the groups that can have changed, as they were and as they are."""
        before, after, ledger = self._moved(spark, step)
        self._own.totals = after
        was = self._shown(spark, step, before)
        return both(self.planned, was, self._shown(spark, step, after)), ledger

    def _step(
        self, step: Slice, rows: pa.Table, ledger: dict[str, int], before: pa.Table | None, began_at: datetime
    ) -> pa.Table:
        left = super()._step(step, rows, ledger, before, began_at)
        self._put_totals()
        return left

    def _moved(self, spark: SparkSession, step: Slice) -> tuple[pa.Table | None, pa.Table, dict[str, int]]:
        """The totals of the groups that can have changed, as they were and as they are, and the fates of new rows."""
        found = self._found(step)
        self._own.is_all = found is None
        if found is None:
            come, ledger = self._totals(spark, replace(step, read={}))
            return self._kept_totals.all(), come, ledger
        scans = self._rows_of(found)
        over = self._over(spark, step, scans)
        come, ledger = self._totals(spark, over)
        gone, _ = self._totals(spark, replace(over, read=self._earlier(step, scans)))
        come, gone = _unlike(come, gone), _unlike(gone, come)
        names = pc.unique(pa.concat_arrays([self._names(come), self._names(gone)]))
        if len(names) == 0:
            return None, come, ledger
        known = self._kept_totals.find(names)
        return known, self._added(spark, come.slice(0, 0) if known is None else known, come, gone), ledger

    def _totals(self, spark: SparkSession, step: Slice) -> tuple[pa.Table, dict[str, int]]:
        """The totals of the groups of a step's rows."""
        plan = self._plan(spark, step)
        if plan is not None:
            try:
                rows, ledger = plan.computed(step)
                return as_kept(rows), ledger
            except (PySparkException, Py4JError):  # the plan that is made anew fails in the same way, and says of what
                pass
        tally = Tally()
        frame = step.sums(tally)
        return as_kept(as_arrow(frame)), step.counts(tally, frame)

    def _prepared(self, spark: SparkSession, step: Slice, *, compiled: bool) -> StepPlan | None:
        try:
            return StepPlan.of(PreparingSession(spark, compiled=compiled), step, Slice.sums)
        except (PySparkException, Py4JError):  # what can't be planned is said by the plan that is made anew
            return None

    def _added(self, spark: SparkSession, known: pa.Table, come: pa.Table, gone: pa.Table) -> pa.Table:
        """The totals of groups that some are added to, and others taken off from."""

        def make(frames: Mapping[str, DataFrame], _marks: Instants) -> DataFrame:
            return summed(self._aggregate, frames["known"], frames["come"], frames["gone"])

        return as_kept(self._asked(spark, "added", {"known": known, "come": come, "gone": gone}, {}, make))

    def _shown(self, spark: SparkSession, step: Slice, totals: pa.Table | None) -> pa.Table | None:
        """The rows of the view for groups with these totals."""
        if totals is not None and self._aggregate.keys:
            totals = totals.filter(pc.greater(totals[ROWS], 0))
        if totals is None or totals.num_rows == 0:
            return None

        def make(frames: Mapping[str, DataFrame], marks: Instants) -> DataFrame:
            frame = frames["totals"].withColumn(UNTIL, F.lit(FOREVER))
            of = replace(step, spark=frame.sparkSession, read={}, marks=marks or None)
            return of.rows(None, totals=(self._aggregate, frame))

        instants = {BEGAN_AT: step.began_at or BEGINNING, SETTLED_AT: step.settled_at}
        return self._asked(spark, "shown", {"totals": totals}, instants, make)

    def _asked(
        self, spark: SparkSession, name: str, tables: Mapping[str, pa.Table], instants: Instants, make: Make
    ) -> pa.Table:
        """The answer of a query over tables, by a plan that is prepared once, if it can be."""
        if sum(table.nbytes for table in tables.values()) <= LONG:
            if name not in self._own.plans:
                self._own.plans[name] = self._prepared_plan(spark, tables, instants, make)
            plan = self._own.plans[name]
            if plan is not None:
                return plan.run({f"__{given}": table for given, table in tables.items()}, instants)[0]
        session = self._small_session(spark)
        return as_arrow(make({given: in_memory(session, table) for given, table in tables.items()}, {}))

    def _prepared_plan(
        self, spark: SparkSession, tables: Mapping[str, pa.Table], instants: Instants, make: Make
    ) -> Prepared | None:
        inputs = [Input(f"__{name}", table.schema, from_arrow_schema(table.schema)) for name, table in tables.items()]

        def made(frames: Frames, marks: Instants) -> DataFrame:
            return make({name: frames[f"__{name}"].drop(f"__{name}") for name in tables}, marks)

        try:
            return prepare(PreparingSession(spark), inputs, tuple(instants), made)
        except (PySparkException, Py4JError):
            return None

    # Totals that are kept

    def _put_totals(self) -> None:
        totals = self._own.totals
        if self._own.is_all:
            self._kept_totals.clear()
        if totals is not None:
            self._kept_totals.put(self._names(totals), totals)

    def _take_in(self, spark: SparkSession, step: Slice) -> None:
        self._own.totals = self._moved(spark, step)[1]
        super()._take_in(spark, step)
        self._put_totals()

    def _names(self, totals: pa.Table) -> pa.Array:
        """A text for each group that no other has."""
        keys = [key.name for key in self._aggregate.keys]
        return texts_of(totals.select(keys)) if keys else pa.array([""] * totals.num_rows, pa.large_string())

    @cached_property
    def _kept_totals(self) -> Arrangement:
        return Arrangement(self.folder, "totals", unique=True)

    @property
    def _arranged(self) -> Sequence[Arrangement]:
        return [*super()._arranged, self._kept_totals]

    @property
    def _aggregate(self) -> Aggregate:
        aggregate = self._how.summed
        assert aggregate is not None
        return aggregate


def _unlike(some: pa.Table, others: pa.Table) -> pa.Table:
    """The rows that are none of the others."""
    return some.filter(pc.invert(pc.is_in(texts_of(some), value_set=texts_of(others))))
