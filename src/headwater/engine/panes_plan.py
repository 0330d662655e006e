"""The plans of a small step of a view that keeps panes, made once: to panes, to merged panes, and to windows.

Panes are kept between them. Of which windows a step shows its instants are no literals of the last plan, because
numbers are made of them: they are given to it with the panes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, TimestampType

from headwater.engine.kept import as_kept
from headwater.engine.prepared import Frames, Instants, Prepared, PreparingSession, prepare
from headwater.engine.scan import told_new
from headwater.engine.slice import Slice
from headwater.engine.span import BEGAN_AT, BEGINNING, SETTLED_AT
from headwater.engine.step_plan import input_of, inputs_of, name_of, scans_of_step
from headwater.operators.aggregate.lowering.panes import compacted
from headwater.operators.lowering.ledger import LOGGED, Tally
from headwater.operators.lowering.needed import AFTER, UPTO

_PANES = "__panes"


@dataclass(frozen=True)
class PanesPlan:
    """The plan that gives panes of rows, with what it counts; that which merges panes; and that which gives windows."""

    new: Prepared
    tally: Tally
    merged: Prepared
    rows: Prepared

    @classmethod
    def of(cls, own: PreparingSession, some: Slice) -> PanesPlan | None:
        """The plans of the steps of a view, of which this is one; None if they can't be prepared."""
        stage, tally, scans = some.step.aggregate, Tally(), scans_of_step(some)
        if stage is None or not some.step.prepared:
            return None
        columns = StructType()

        def gathered(frames: Frames, marks: Instants) -> DataFrame:
            by_scan = {scan: frames[name_of(number)] for number, scan in enumerate(scans)}
            panes = replace(some, spark=own.session, frames=by_scan, marks=marks).new_panes(tally)
            columns.fields[:], columns.names[:] = panes.schema.fields, panes.schema.names
            return panes

        def merge(frames: Frames, _: Instants) -> DataFrame:
            return compacted(stage, frames[_PANES].drop(_PANES))

        def show(frames: Frames, marks: Instants) -> DataFrame:
            return replace(some, spark=own.session, marks=marks).rows(None, frames[_PANES].drop(_PANES))

        new = prepare(own, inputs_of(some), (BEGAN_AT, SETTLED_AT), gathered)
        merged = prepare(own, [input_of(_PANES, columns)], (), merge) if new else None
        if new is None or merged is None or _kinds(new) != _kinds(merged):
            return None
        asked = StructType([*columns.fields]).add(AFTER, TimestampType()).add(UPTO, TimestampType())
        rows = prepare(own, [input_of(_PANES, asked)], (BEGAN_AT, SETTLED_AT), show)
        return None if rows is None else cls(new, tally, merged, rows)

    def computed(self, some: Slice, before: pa.Table | None = None) -> tuple[pa.Table, dict[str, int]]:
        """The rows that a slice gives, with the panes where it begins, and the fates of its rows."""
        instants = {BEGAN_AT: some.began_at or BEGINNING, SETTLED_AT: some.settled_at}
        scans = enumerate(scans_of_step(some))
        tables = {name_of(number): told_new(some.read[scan], some.after(scan.relation)) for number, scan in scans}
        new, counts = self.new.run(tables, instants)
        panes = some.keep_panes(before, as_kept(new), lambda both: as_kept(self.merged.run({_PANES: both}, {})[0]))
        for name, instant in ((AFTER, BEGAN_AT), (UPTO, SETTLED_AT)):
            kind = pa.timestamp("us", "UTC")
            panes = panes.append_column(name, pa.repeat(pa.scalar(instants[instant], kind), panes.num_rows))
        rows, _ = self.rows.run({_PANES: panes}, instants)
        return rows, {**self.tally.ledger(counts), LOGGED: some.logged()}


def _kinds(plan: Prepared) -> pa.Schema:
    return as_kept(plan.schema.empty_table()).schema
