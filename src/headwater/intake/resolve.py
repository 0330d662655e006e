"""From what an event says to what its columns are: values under former names, and defaults in place of none.

Every format is read by all names that a column has, each as a column of its own, which are made one here: a value under
the column's name comes before those under its aliases. A column that has no value then has its default. Where a format
comes with its writer's schema (`Parsed.explicit`) a NULL is the writer's word, and only a field that the schema doesn't
have is given the default, as it is read; without one, a field that is missing and one that is NULL are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.converted import Converted, either
from headwater.intake.layout import DELETE, Layout
from headwater.intake.parsed import Parsed


def resolve(layout: Layout, parsed: Parsed) -> list[Converted]:
    """One column for each of the topic's, and `_op` of a table."""
    columns = parsed.columns[: layout.payload + layout.is_table]
    for at, aliases in layout.aliases.items():
        for alias in aliases:
            columns[at] = _first(columns[at], parsed.columns[alias])
    if layout.defaults and not parsed.explicit:
        deletes = pc.equal(columns[layout.operation].values, DELETE).fill_null(False) if layout.is_table else None
        for at, default in layout.defaults.items():
            columns[at] = Converted(_filled(columns[at], default, deletes), columns[at].bad)
    return columns


def misfits(layout: Layout, parsed: Parsed) -> Iterator[tuple[int, pa.Array]]:
    """Columns with values that don't fit, by their indices, and where; of those that count."""
    for at, column in enumerate(parsed.columns[: layout.payload + layout.is_table]):
        if column.bad is not None:
            yield at, column.bad
    for at, aliases in layout.aliases.items():
        for alias in aliases:
            bad = parsed.columns[alias].bad
            if bad is not None:
                yield alias, pc.and_(bad, _absent(parsed.columns[at]))


def _absent(column: Converted) -> pa.Array:
    missing = column.values.is_null()
    return missing if column.bad is None else pc.and_not(missing, column.bad)


def _first(column: Converted, other: Converted) -> Converted:
    if not column.values.null_count:
        return column
    absent = _absent(column)
    bad = None if other.bad is None else pc.and_(other.bad, absent)
    return Converted(_replaced(column.values, absent, other.values), either(column.bad, bad))


def _filled(column: Converted, default: pa.Scalar, but: pa.Array | None) -> pa.Array:
    if not column.values.null_count:
        return column.values
    missing = _absent(column) if but is None else pc.and_not(_absent(column), but)
    return _replaced(column.values, missing, pa.repeat(default, len(column.values)))


def _replaced(values: pa.Array, mask: pa.Array, others: pa.Array) -> pa.Array:
    """The others where the mask is true."""
    if not pa.types.is_nested(values.type):
        return pc.if_else(mask, others, values)
    indices = pa.array(np.arange(len(values)) + np.where(mask.to_numpy(zero_copy_only=False), len(values), 0))
    return pa.concat_arrays([values, others]).take(indices)
