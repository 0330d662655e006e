"""Panes that are kept: a step of a settled view reads its new rows and combines windows of panes that it knows already.

A window of a day by minutes would have every step read two days of the log. So the panes that open windows still need
are kept beside the open part (see `engine.kept`): each step adds those of its new rows.

Where a stream says what is unique, a copy may come after the event's pane was made, so there the log is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from headwater.engine.batch import as_arrow
from headwater.engine.kept import Commits, KeptRows, as_kept
from headwater.operators.lowering.stamp import MARK

_OFTEN = 4
"""After so many steps, the parts that each of them has added to a pane are merged."""


@dataclass(frozen=True)
class KeptPanes:
    """The panes of an aggregate after some steps, in a folder of their own."""

    folder: Path

    def read(self, commits: Commits) -> pa.Table | None:
        """The panes after a step that ended at these commits; None if they are not there."""
        return self._rows.read(commits)

    def write(self, commits: Commits, panes: pa.Table, before: Commits | None, after: datetime) -> None:
        """Keep what a window that ends after an instant can need."""
        needed = panes.filter(pc.greater(panes[MARK], pa.scalar(after, panes.schema.field(MARK).type)))
        self._rows.write(commits, needed, before)

    def added(
        self, compact: Callable[[pa.Table], pa.Table], number: int, before: pa.Table | None, new: pa.Table
    ) -> pa.Table:
        """The panes known before and the new ones; `compact` merges the parts of each."""
        if before is None:
            return new
        both = pa.concat_tables([before, new]).combine_chunks()
        return both if number % _OFTEN else compact(both)

    @property
    def _rows(self) -> KeptRows:
        return KeptRows("panes", self.folder)


def collected(panes: DataFrame) -> pa.Table:
    """Panes as Arrow."""
    return as_kept(as_arrow(panes))
