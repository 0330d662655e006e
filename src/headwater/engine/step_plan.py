"""The plan of a small step, prepared once for a view and executed for each of its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from headwater.engine.kept import nullable
from headwater.engine.prepared import Frames, Input, Instants, Prepared, PreparingSession, prepare
from headwater.engine.scan import columns_of, memory_schema, told_new
from headwater.engine.slice import Slice
from headwater.engine.source import arrow_schema
from headwater.engine.span import BEGAN_AT, BEGINNING, SETTLED_AT
from headwater.operators import Scan
from headwater.operators.lowering.ledger import LOGGED, Tally
from headwater.operators.lowering.stamp import NEW, PARTS

_KNOWN = "__known"


@dataclass(frozen=True)
class StepPlan:
    """A prepared plan, and what it counts."""

    prepared: Prepared
    tally: Tally

    @classmethod
    def of(
        cls, own: PreparingSession, some: Slice, rows: Callable[[Slice, Tally], DataFrame] = Slice.rows
    ) -> StepPlan | None:
        """The plan of the steps of a view, of which this is one, and their `rows`; None if it can't be prepared."""
        if not some.step.prepared:
            return None
        tally, scans, adds = Tally(), scans_of_step(some), some.step.adds == "parts"

        def make(frames: Frames, marks: Instants) -> DataFrame:
            def known(kinds: StructType) -> DataFrame:
                return frames.add(Input(_KNOWN, to_arrow_schema(kinds, timezone="UTC"), kinds)).drop(_KNOWN)

            by_scan = {scan: frames[name_of(number)] for number, scan in enumerate(scans)}
            step = replace(some, spark=own.session, frames=by_scan, marks=marks)
            return step.groups(tally, known) if adds else rows(step, tally)

        prepared = prepare(own, inputs_of(some), (BEGAN_AT, SETTLED_AT), make)
        if prepared is None or (adds and not _gives_back(prepared)):
            return None
        return cls(prepared, tally)

    def computed(self, some: Slice, known: pa.Table | None = None) -> tuple[pa.Table, dict[str, int]]:
        """The rows that a slice gives, with the parts that are known of its groups, and the fates of its rows."""
        tables = {
            name_of(number): told_new(some.read[scan], some.begin.commits[scan.relation] if some.begin else 0)
            for number, scan in enumerate(scans_of_step(some))
        }
        tables |= {} if known is None else {_KNOWN: known}
        rows, counts = self.prepared.run(tables, {BEGAN_AT: some.began_at or BEGINNING, SETTLED_AT: some.settled_at})
        return rows, {**self.tally.ledger(counts), LOGGED: some.logged()}

    def no_parts(self) -> pa.Table:
        """The parts of no group."""
        return _known(self.prepared).empty_table()


def _known(prepared: Prepared) -> pa.Schema:
    """The columns of the parts that are known."""
    return next(given.columns for given in prepared.inputs if given.name == _KNOWN)


def _gives_back(prepared: Prepared) -> bool:
    """Tells whether the parts that a plan gives are of the types in which it takes them."""
    given, known = prepared.schema.field(PARTS).type, _known(prepared)
    return [(part.name, nullable(part.type)) for part in given] == [(part.name, nullable(part.type)) for part in known]


def inputs_of(some: Slice) -> list[Input]:
    """The rows that the plan of a step is given."""
    inputs = []
    for number, scan in enumerate(scans_of_step(some)):
        topic, columns = some.logs[scan.relation].topic, columns_of(scan, some.pace)
        schema = arrow_schema(topic, columns).append(pa.field(NEW, pa.bool_()))
        inputs.append(Input(name_of(number), schema, memory_schema(topic, columns)))
    return inputs


def input_of(name: str, kinds: StructType) -> Input:
    """Rows of these columns, as a plan is given them; what can be NULL is not said of any."""
    kinds = StructType([StructField(each.name, each.dataType) for each in kinds])
    return Input(name, to_arrow_schema(kinds, timezone="UTC"), kinds)


def scans_of_step(some: Slice) -> list[Scan]:
    """The scans of a view; those of equal rows are one."""
    return list(dict.fromkeys(some.planned.reading))


def name_of(number: int) -> str:
    """The name of the rows of a scan, by its number."""
    return f"__scan{number}"
