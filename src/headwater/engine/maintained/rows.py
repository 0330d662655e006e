"""Rows found: those of a step, and those of the log that a trace leads to from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine.difference import texts_of
from headwater.engine.maintained.arrangement import Arrangement
from headwater.plan.physical.trace import Columns, LookUp, Take, Trace

_ROWS_OF_A_COMMIT = 1 << 40


@dataclass
class FoundRows:
    """The rows of each scan that were found so far, by its number, and the values that were taken from them."""

    rows: dict[int, list[pa.Table]]
    taken: dict[int, pa.Array] = field(default_factory=dict)
    looked_up: int = 0

    def follow(self, trace: Trace, indexes: Mapping[Columns, Arrangement], most: int) -> bool:
        """Find all that a trace leads to; False if that is more than some rows."""
        for step in trace.steps:
            if isinstance(step, Take):
                self.taken[step.number] = self._values(step)
            else:
                self._look_up(step, indexes[step.columns])
            if self.looked_up > most:
                return False
        return True

    def of(self, scan: int) -> pa.Table:
        """The rows that were found of a scan, each once, in the order of the log."""
        return in_log_order(pa.concat_tables(self.rows[scan]))

    def _look_up(self, step: LookUp, index: Arrangement) -> None:
        rows = index.find(self.taken[step.taken])
        if rows is not None:
            self.looked_up += rows.num_rows
            self.rows[step.columns.scan].append(rows)

    def _values(self, step: Take) -> pa.Array:
        parts = [names_in(rows, columns.names, step) for columns in step.of for rows in self.rows[columns.scan]]
        return pc.unique(pa.concat_arrays(parts))


def in_log_order(rows: pa.Table) -> pa.Table:
    """Rows of a topic, each once, in the order of the log."""
    places = rows["_commit"].to_numpy() * _ROWS_OF_A_COMMIT + rows["_row"].to_numpy()
    return rows.take(np.unique(places, return_index=True)[1]).combine_chunks()


def names_in(rows: pa.Table, columns: tuple[str, ...], step: Take | None = None) -> pa.Array:
    """A text for the values of each row in some columns; without those of NULL, if a step takes none."""
    keys = rows.select(list(columns))
    return texts_of(keys.drop_null() if step is not None and not step.with_null else keys)
