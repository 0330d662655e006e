"""Events: a settled view whose rows are made of one event each and of what that asks tables for.

What an event shows depends on itself and on the rows of tables that it asks for. So a step computes the events that are
new, those that become final, and of those that are open the ones that ask for what has changed; they take the place of
what was open of them. The others are as they were, and are let go of when the watermark has passed them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headwater.engine.difference import texts_of
from headwater.engine.event_rows import EventRows
from headwater.engine.partitions import PartitionsView
from headwater.engine.settle import SettleView
from headwater.engine.slice import Slice
from headwater.engine.source import arrow_schema
from headwater.engine.span import BEGINNING, Settled
from headwater.operators.lowering.stamp import COMMIT, ID, PARTS, ROW, TIME


@dataclass(frozen=True)
class EventsView(PartitionsView):
    """A settled view whose open rows are replaced event by event."""

    def _slice(self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int]) -> Slice:
        if begin is None:
            return SettleView._slice(self, spark, begin, upto)
        whole = Slice(self.planned, self.logs, begin, upto, spark, self.folder)
        read = self._events.find(whole.reaches(), (whole.began_at or BEGINNING, whole.settled_at))
        return whole if read is None else replace(whole, spark=self._small_session(spark), read=read)

    @cached_property
    def _events(self) -> EventRows:
        return EventRows(self.planned, self.logs, self._small)

    def _computed(self, spark: SparkSession, step: Slice, before: pa.Table | None) -> tuple[pa.Table, dict[str, int]]:
        if not self._how.shows_open:
            return SettleView._computed(self, spark, step, before)
        return super()._computed(spark, step, before)

    def _step(
        self, step: Slice, rows: pa.Table, ledger: dict[str, int], before: pa.Table | None, began_at: datetime
    ) -> pa.Table:
        if not self._how.shows_open:
            return SettleView._step(self, step, rows, ledger, before, began_at)
        return super()._step(step, rows, ledger, before, began_at)

    def _touched(self, step: Slice) -> pa.Array | None:
        """The names of the events that are computed; None if all are."""
        if step.begin is None or not step.read:
            return None
        rows = step.read[self._events.events]
        return pc.unique(texts_of(pa.table({name: rows[column] for name, column in self._place.items()})))

    def _names(self, rows: pa.Table) -> pa.Array:
        """A text for the event of each row, the one that it has in the log."""
        schema = arrow_schema(self.logs[self._events.events.relation].topic, list(self._place.values()))
        places = rows[PARTS].combine_chunks()
        kinds = {name: schema.field(column).type for name, column in self._place.items()}
        return texts_of(pa.table({name: pc.struct_field(places, name).cast(kind) for name, kind in kinds.items()}))

    @cached_property
    def _place(self) -> dict[str, str]:
        """The columns of the log that tell events apart, each under its name in a row: copies of one share them."""
        scan = self._events.events
        assert scan.time is not None
        return {TIME: scan.time, ID: "_id"} if scan.unique else {COMMIT: "_commit", ROW: "_row"}

    def _keep_at(self, commits: Mapping[str, int], open_part: pa.Table) -> None:
        if self._how.shows_open:
            super()._keep_at(commits, open_part)
