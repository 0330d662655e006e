"""Parts that are kept: a settled view of groups that a step adds to.

The groups that can still change are in memory, with their values and the parts that these are made of. A step reads its
new rows, merges their parts into those of the groups that they touch, and writes what changed of these; groups without
news cost nothing. Rows that are final are written when the watermark has passed their end, without asking Spark.

They follow from the log alone. From time to time, and at the end, they are kept beside the position (see `kept`); if
they are older than that when a view begins, the rows that have come since are added to them, and if they are not there
they are made again from the rows of the log that open groups can have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.engine.batch import as_arrow
from headwater.engine.difference import difference, texts_of
from headwater.engine.kept import KeptRows, as_kept
from headwater.engine.key import new_keys
from headwater.engine.live import Effort
from headwater.engine.settle import SettleView
from headwater.engine.slice import Slice
from headwater.engine.small import FEW
from headwater.engine.span import Settled
from headwater.engine.step_plan import StepPlan
from headwater.engine.typed import typed
from headwater.engine.view import output_schema, reached_by
from headwater.model import Emit
from headwater.operators.aggregate.lowering.sessions import ALL
from headwater.operators.lowering.ledger import Tally
from headwater.operators.lowering.stamp import FINAL, KEEP, MARK, PARTS


@dataclass(frozen=True)
class Groups:
    """Groups of a view: its columns, when they are final, whether they are shown, and parts, with `keys` among them.

    Those of the same keys take each other's place: a window with its end, all sessions of a key.
    """

    rows: pa.Table
    keys: frozenset[str]

    @cached_property
    def names(self) -> pa.ChunkedArray:
        """A text for each group, by its keys."""
        parts = self.rows[PARTS].combine_chunks()
        told_by = [column.name for column in parts.type if column.name in self.keys]
        return pa.chunked_array([texts_of(pa.table({name: pc.struct_field(parts, name) for name in told_by}))])

    @property
    def none(self) -> Groups:
        """No group."""
        return Groups(self.rows.schema.empty_table(), self.keys)

    def among(self, others: Groups) -> pa.ChunkedArray:
        """Tells of each group whether it is one of others."""
        return pc.is_in(self.names, value_set=others.names)

    def where(self, mask: pa.ChunkedArray) -> Groups:
        """The groups of which something is true."""
        chosen = Groups(self.rows.filter(mask), self.keys)
        chosen.__dict__["names"] = self.names.filter(mask)  # they are the same, and take long to make
        return chosen

    def added(self, others: Groups) -> Groups:
        """These groups and others, which take the place of those that they are."""
        kept = self.where(pc.invert(self.among(others)))
        both = Groups(pa.concat_tables([kept.rows, others.rows]).combine_chunks(), self.keys)
        names = pa.chunked_array([*kept.names.chunks, *others.names.chunks], kept.names.type)
        both.__dict__["names"] = pa.chunked_array([names.combine_chunks()])
        return both

    def after(self, settled_at: datetime) -> pa.ChunkedArray:
        """Tells of each group whether it can still change once rows are final up to an instant."""
        return pc.greater(self.rows[FINAL], pa.scalar(settled_at, self.rows.schema.field(FINAL).type))

    def parts(self, of: Mapping[str, pa.Array]) -> pa.Table:
        """The parts of the groups that have one of these values in each of some keys."""
        column = self.rows[PARTS].combine_chunks()
        for name, values in of.items():
            own = pc.struct_field(column, name)
            column = column.filter(pc.is_in(own, value_set=values.cast(own.type)))
        return pa.Table.from_struct_array(column).combine_chunks()  # behind an empty chunk Spark loses rows


@dataclass(frozen=True)
class PartsView(SettleView):
    """A settled view whose open groups are kept in parts."""

    def _computed(self, spark: SparkSession, step: Slice, before: Groups | None) -> tuple[Groups, dict[str, int]]:
        if before is not None and step.has_only_ticks:
            return before.none, {}  # a tick: it costs no more than to look what is final now
        known = None if before is None else before.parts(self._values(step))
        plan = self._plan(spark, step, known) if known is None or known.num_rows <= FEW else None
        if isinstance(plan, StepPlan):
            try:
                rows, ledger = plan.computed(step, plan.no_parts() if known is None else known)
                return self._groups(rows), ledger
            except (PySparkException, Py4JError):  # the plan that is made anew fails in the same way, and says of what
                pass
        tally, few = Tally(), replace(step, spark=self._small_session(spark)) if step.read else step
        is_known = known is not None and known.num_rows
        frame = few.groups(tally, partial(few.spark.createDataFrame, known) if is_known else None)
        return self._groups(as_arrow(frame)), few.counts(tally, frame)

    def _values(self, step: Slice) -> dict[str, pa.Array]:
        """The values that new rows have in the keys of groups that are columns of the log: they touch no others."""
        if not step.read:
            return {}
        rows = step.read[self.planned.scans[0]] if self._how.grouped_by else {}
        return {key: pc.unique(rows[column]) for key, column in self._how.grouped_by}

    def _step(
        self, step: Slice, rows: Groups, ledger: dict[str, int], before: Groups | None, began_at: datetime
    ) -> Groups:
        schema = output_schema(self.planned)
        groups = rows if before is None else before.added(rows)
        still_open = groups.after(step.settled_at)
        if self.planned.emit is Emit.FINAL:
            upserts = self._shown(groups.where(pc.invert(still_open)))
            new = new_keys(self.planned, upserts)
            deletes = schema.empty_table().select(list(self.key))
        else:
            known = schema.empty_table() if before is None else self._shown(before.where(before.among(rows)))
            shown = self._shown(rows)
            upserts, deletes = difference(known, shown, self.key)
            new = new_keys(self.planned, shown, known)
        left = groups.where(still_open)
        self._deliver(step, upserts, deletes, new, ledger, Effort(began_at, left.rows.nbytes))
        return left

    def _open_part(self, spark: SparkSession, at: Settled) -> Groups:
        kept = self._kept.newest(at.commits)
        if kept is not None and kept[0] == dict(at.commits):
            return Groups(kept[1], self._keys)
        if kept is not None:
            commits, rows = kept
            before, begin = Groups(rows, self._keys), replace(at, commits=commits, watermark=self._reached(commits))
            step = self._slice(spark, begin, at.commits)
            groups = before.added(self._computed(spark, step, before)[0])
            return groups.where(groups.after(step.settled_at))
        step = Slice(self.planned, self.logs, at, at.commits, spark, self.folder, again=True)
        groups = self._groups(as_arrow(step.groups(None, None)))
        return groups.where(groups.after(step.settled_at))

    def _keep_at(self, commits: Mapping[str, int], open_part: Groups) -> None:
        self._kept.write(commits, open_part.rows, None)

    def _reached(self, commits: Mapping[str, int]) -> datetime:
        return reached_by(self.planned, self.logs, commits)

    def _groups(self, rows: pa.Table) -> Groups:
        return Groups(as_kept(rows), self._keys)

    def _shown(self, groups: Groups) -> pa.Table:
        """The rows of the groups that are shown."""
        return typed(self.planned, groups.rows.filter(groups.rows[KEEP]))

    @property
    def _keys(self) -> frozenset[str]:
        aggregate = self._how.aggregate
        assert aggregate is not None
        if aggregate.is_of_sessions:  # whoever adds to one of a key gives all of the key
            return frozenset([*(key.name for key in aggregate.keys), ALL])
        return frozenset([*(key.name for key in aggregate.keys), MARK])

    @property
    def _kept(self) -> KeptRows:
        return KeptRows("parts", self.folder)
