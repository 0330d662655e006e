"""Panes that are kept: a step of a settled view reads its new rows and combines windows of panes that it knows already.

A window of a day by minutes would have every step read two days of the log. So the panes that open windows still need
are kept in a file beside the open part: each step adds those of its new rows. The log remains the only truth: a file
that is missing, or of other commits than the step before, is made again from it.

Where a stream says what is unique, a copy may come after the event's pane was made, so there the log is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
from pyspark.sql import DataFrame, SparkSession

from headwater.engine.batch import as_arrow
from headwater.engine.join import MARK
from headwater.engine.panes import compacted
from headwater.engine.scan import given
from headwater.plan import PlannedView
from headwater.plan.panes import pane_aggregate
from headwater.plan.stages import Aggregate

_COMMITS = b"commits"
_OFTEN = 4
"""After so many steps, the parts that each of them has added to a pane are merged."""


def keeps_panes(planned: PlannedView) -> Aggregate | None:
    """The aggregate of a view whose panes are kept between steps; None if none are."""
    if planned.execution.kind != "settle" or any(scan.unique for scan in planned.scans):
        return None
    return pane_aggregate(planned.root)


@dataclass(frozen=True)
class KeptRows:
    """Rows that a view keeps from step to step, under a name in a folder of its own."""

    name: str
    folder: Path

    def read(self, number: int, commits: Mapping[str, int]) -> pa.Table | None:
        """The rows after a step that ended at these commits; None if they are not there."""
        try:
            found: pa.Table = feather.read_table(self._file(number))
        except (OSError, pa.ArrowInvalid):
            return None
        return found.replace_schema_metadata(None) if _commits_of(found) == dict(commits) else None

    def write(self, number: int, commits: Mapping[str, int], rows: pa.Table) -> None:
        """Keep the rows before the step is delivered. It may have to be done again: the ones before are kept too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        staged = self._file(number).with_suffix(".tmp")
        feather.write_feather(rows.replace_schema_metadata({_COMMITS: json.dumps(dict(commits))}), staged)
        staged.replace(self._file(number))
        for file in self.folder.glob(f"{self.name}-*.arrow"):
            if file not in (self._file(number), self._file(number - 1)):
                file.unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{self.name}-{number}.arrow"


@dataclass(frozen=True)
class KeptPanes:
    """The panes of an aggregate after some steps, in a folder of their own."""

    stage: Aggregate
    folder: Path

    def read(self, number: int, commits: Mapping[str, int]) -> pa.Table | None:
        """The panes after a step that ended at these commits; None if they are not there."""
        return self._rows.read(number, commits)

    def write(self, number: int, commits: Mapping[str, int], panes: pa.Table, after: datetime) -> None:
        """Keep what a window that ends after an instant can need."""
        needed = panes.filter(pc.greater(panes[MARK], pa.scalar(after, panes.schema.field(MARK).type)))
        self._rows.write(number, commits, needed)

    def added(self, spark: SparkSession, number: int, before: pa.Table | None, new: pa.Table) -> pa.Table:
        """The panes known before and the new ones."""
        if before is None:
            return new
        both = pa.concat_tables([before, new]).combine_chunks()
        return both if number % _OFTEN else collected(compacted(self.stage, given(spark, both)))

    @property
    def _rows(self) -> KeptRows:
        return KeptRows("panes", self.folder)


def collected(panes: DataFrame) -> pa.Table:
    """Panes as Arrow, in the same types whichever query has made them: what can be NULL is not said of any."""
    table = as_arrow(panes, None).replace_schema_metadata(None)
    return table.cast(pa.schema([(field.name, _nullable(field.type)) for field in table.schema]))


def _nullable(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct(
            [(kind.field(place).name, _nullable(kind.field(place).type)) for place in range(kind.num_fields)]
        )
    return pa.list_(_nullable(kind.value_type)) if pa.types.is_list(kind) else kind


def _commits_of(panes: pa.Table) -> dict[str, int]:
    found: dict[str, int] = json.loads((panes.schema.metadata or {}).get(_COMMITS, b"{}"))
    return found
