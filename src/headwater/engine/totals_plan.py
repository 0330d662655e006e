"""The plans of a small step of a view that keeps running totals, made once: from rows to totals, and on to its rows.

Totals are kept between the two, so that they are two plans. What counts no more is given to the first beside what has
come; until when the view's rows are open follows from the end of the step, and is given to the second with the totals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, TimestampType

from headwater.engine.kept import as_kept, nullable
from headwater.engine.prepared import Frames, Instants, Prepared, PreparingSession, prepare
from headwater.engine.scan import columns_of, told_new
from headwater.engine.slice import Slice, keep_totals, lasting
from headwater.engine.source import arrow_schema
from headwater.engine.span import BEGAN_AT, BEGINNING, SETTLED_AT
from headwater.engine.step_plan import input_of, inputs_of, name_of, scans_of_step
from headwater.operators.aggregate.lowering.totals import UNTIL
from headwater.operators.lowering.ledger import LOGGED, Tally

_BEFORE, _TOTALS, _GONE = "__before", "__totals", "__gone"


@dataclass(frozen=True)
class TotalsPlan:
    """The plan that gives totals, with what it counts, and the one that gives rows of them."""

    totals: Prepared
    tally: Tally
    rows: Prepared

    @classmethod
    def of(cls, own: PreparingSession, some: Slice) -> TotalsPlan | None:
        """The plans of the steps of a view, of which this is one; None if they can't be prepared."""
        if not some.step.prepared:
            return None
        tally, scans, columns = Tally(), scans_of_step(some), StructType()

        def make(frames: Frames, marks: Instants) -> DataFrame:
            def before(kinds: StructType) -> DataFrame:
                return frames.add(input_of(_BEFORE, kinds)).drop(_BEFORE)

            come = {scan: frames[name_of(number)] for number, scan in enumerate(scans)}
            gone = {scan: frames[f"{_GONE}{number}"] for number, scan in enumerate(scans)}
            step = replace(some, spark=own.session, frames=come, gone=some.read, gone_frames=gone, marks=marks)
            totals = step.totals(tally, before)
            columns.fields[:], columns.names[:] = totals.schema.fields, totals.schema.names
            return totals

        given = inputs_of(some)
        gone = [replace(each, name=f"{_GONE}{number}") for number, each in enumerate(given)]
        totals = prepare(own, [*given, *gone], (BEGAN_AT, SETTLED_AT), make)
        if totals is None or not _gives_back(totals):
            return None

        def show(frames: Frames, marks: Instants) -> DataFrame:
            aggregate = some.step.aggregate
            assert aggregate is not None
            step = replace(some, spark=own.session, marks=marks)
            return step.rows(None, totals=(aggregate, frames[_TOTALS].drop(_TOTALS)))

        lasting = StructType([*columns.fields]).add(UNTIL, TimestampType())
        rows = prepare(own, [input_of(_TOTALS, lasting)], (BEGAN_AT, SETTLED_AT), show)
        return None if rows is None else cls(totals, tally, rows)

    def computed(self, some: Slice, before: pa.Table | None = None) -> tuple[pa.Table, dict[str, int]]:
        """The rows that a slice gives, with the totals where it begins, and the fates of its rows."""
        instants = {BEGAN_AT: some.began_at or BEGINNING, SETTLED_AT: some.settled_at}
        tables = {_BEFORE: self._columns(_BEFORE).empty_table() if before is None else before}
        for number, scan in enumerate(scans_of_step(some)):
            after, names = some.after(scan.relation), columns_of(scan, some.pace)
            nothing = arrow_schema(some.logs[scan.relation].topic, names).empty_table()
            tables[name_of(number)] = told_new(some.read[scan], after)
            tables[f"{_GONE}{number}"] = told_new(some.gone.get(scan, nothing), after)
        totals, counts = self.totals.run(tables, instants)
        totals = as_kept(totals)
        keep_totals(some, totals)
        rows, _ = self.rows.run({_TOTALS: lasting(some, totals)}, instants)
        return rows, {**self.tally.ledger(counts), LOGGED: some.logged()}

    def _columns(self, name: str) -> pa.Schema:
        return next(given.columns for given in self.totals.inputs if given.name == name)


def _gives_back(totals: Prepared) -> bool:
    """Tells whether the totals that a plan gives are of the types in which it takes them."""
    taken = next(given.columns for given in totals.inputs if given.name == _BEFORE)
    return [(part.name, nullable(part.type)) for part in totals.schema] == [
        (part.name, nullable(part.type)) for part in taken
    ]
