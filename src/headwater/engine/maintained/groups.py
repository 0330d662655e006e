"""Groups for ever: a view of groups without an end, whose values follow from parts that new rows are added to.

The groups are in an arrangement by their keys, each with its values and its parts. A step finds those that its new rows
touch, adds to their parts (see `engine.parts`), writes what changed of them, and puts them back. It costs what its rows
cost, whether there are ten groups or ten million.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headwater.engine.batch import as_arrow
from headwater.engine.difference import difference, texts_of
from headwater.engine.key import new_keys
from headwater.engine.live import Effort
from headwater.engine.maintained.arrangement import Arrangement
from headwater.engine.parts import Groups, PartsView
from headwater.engine.slice import Slice
from headwater.engine.span import Settled, kept_behind
from headwater.engine.view import output_schema
from headwater.operators import Aggregate
from headwater.operators.lowering.stamp import PARTS

_ONE = pa.array([""], pa.large_string())
"""The name of the one group of all rows."""


@dataclass(frozen=True)
class GroupsView(PartsView):
    """A maintained view whose groups are found by their keys."""

    def _computed(self, spark: SparkSession, step: Slice, _before: Groups | None) -> tuple[Groups, dict[str, int]]:
        """The groups that the new rows touch, from their parts and those of the rows."""
        return super()._computed(spark, step, self._found(self._names_in(step)))

    def _step(
        self, step: Slice, rows: Groups, ledger: dict[str, int], _before: Groups | None, began_at: datetime
    ) -> Groups:
        """Write what changed of the groups; they are in the arrangement once that is durable."""
        names = self._names_of(rows)
        before = self._found(names)
        known = output_schema(self.planned).empty_table() if before is None else self._shown(before)
        shown = self._shown(rows)
        upserts, deletes = difference(known, shown, self.key)
        new = new_keys(self.planned, shown, known)
        self._deliver(step, upserts, deletes, new, ledger, Effort(began_at, self._arranged.nbytes))
        self._arranged.put(names, rows.rows)
        return rows

    def _found(self, names: pa.Array) -> Groups | None:
        known = self._arranged.find(names)
        return None if known is None else Groups(known, self._keys)

    def _names_in(self, step: Slice) -> pa.Array:
        """The names of the groups that the new rows of a step come to."""
        columns = dict(self._how.grouped_by)
        if not self._aggregate.keys:
            return _ONE
        if len(columns) < len(self._aggregate.keys) or not step.read:
            return self._names(as_arrow(step.touched()))
        (rows,) = step.read.values()
        return pc.unique(self._names(pa.table({name: rows[column] for name, column in columns.items()})))

    def _names_of(self, groups: Groups) -> pa.Array:
        return self._names(pa.Table.from_struct_array(groups.rows[PARTS].combine_chunks()))

    def _names(self, rows: pa.Table) -> pa.Array:
        """A text for each group that no other has, from rows with its keys."""
        if not self._aggregate.keys:
            return _ONE.slice(0, rows.num_rows)
        fields = zip(self._aggregate.keys, self._aggregate.columns, strict=False)
        return texts_of(pa.table({key.name: rows[key.name].cast(column.type) for key, column in fields}))

    # Beside the position

    def _open_part(self, spark: SparkSession, at: Settled) -> Groups:
        """Make the arrangement that of a position: from what was kept, and the rows of the log behind it."""
        kept = self._arranged.open()
        begin = kept_behind(self.planned, self.logs, [kept], at)
        if begin is None:
            self._arranged.clear()
        if kept != dict(at.commits):
            rows, _ = self._computed(spark, self._slice(spark, begin, at.commits), None)
            self._arranged.put(self._names_of(rows), rows.rows)
        return Groups(pa.table({}), self._keys)

    def _keep_at(self, commits: Mapping[str, int], _rows: Groups) -> None:
        self._arranged.keep(commits)

    @cached_property
    def _arranged(self) -> Arrangement:
        return Arrangement(self.folder, "groups", unique=True)

    @property
    def _aggregate(self) -> Aggregate:
        aggregate = self._how.aggregate
        assert aggregate is not None
        return aggregate
