"""Views as they were: computed from the log over what had happened, or had arrived, by an instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from headwater.plan import PlannedView
from headwater.query import Readable
from headwater.store import Condition, Order, Selection
from headwater.store.selection import can_choose, chosen


def readable_then(view: PlannedView, compute: Callable[[], pa.Table]) -> Readable:
    """A view as a statement reads its rows of another instant, which are computed when they are read."""
    schema = pa.schema([column.field for column in view.shown])
    return Readable(schema, partial(_can, schema), partial(_rows, compute, schema))


def _can(schema: pa.Schema, part: Condition | Order) -> bool:
    return can_choose(schema.field(part.column).type, part)


def _rows(compute: Callable[[], pa.Table], schema: pa.Schema, selection: Selection) -> Iterator[pa.Table]:
    rows = compute()
    shown = selection.columns if selection.columns is not None else schema.names
    yield chosen(rows, Selection(tuple(shown), selection.conditions)).slice(selection.offset, selection.limit)
