"""The checks at the log's door: what a row must have besides values that fit their types.

Each check is one comparison over whole columns. What it finds is an *objection*: a mask of rows, the error, and how to
say it for one row. A row with several objections becomes one dead letter that names them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError, EventTooLarge, MissingValue, TimeOutOfRange, WrongType
from headwater.intake.converted import Converted, only_where
from headwater.intake.dead import shorten
from headwater.intake.layout import DELETE, UPSERT, Layout
from headwater.intake.lines import LARGEST_EVENT
from headwater.model import INSTANT, spell_duration

_1970 = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Objection:
    """Why some rows can't be taken: where `mask` is true, for the reason that `reason` gives for that row."""

    mask: pa.Array
    error: type[DataError]
    reason: Callable[[int], str]


def default_operations(layout: Layout, columns: list[Converted]) -> None:
    """Set `_op` to `upsert` where a table's row doesn't say."""
    if layout.is_table:
        operations = columns[layout.operation]
        columns[layout.operation] = Converted(operations.values.fill_null(UPSERT), operations.bad)


def objections(layout: Layout, columns: Sequence[Converted], arrived_at: datetime | None) -> Iterator[Objection]:
    """Every reason why a row can't be taken although its values fit their types."""
    deletes = None
    if layout.is_table:
        operations = columns[layout.operation].values
        yield from _unknown_operations(operations)
        deletes = pc.equal(operations, DELETE)
    yield from _too_large([column.values for column in columns])
    for at in layout.always:
        yield from _missing(layout.names[at], columns[at], None)
    for at in layout.required:
        yield from _missing(layout.names[at], columns[at], deletes)
    if layout.time is not None:
        yield from _out_of_range(layout, columns[layout.time].values, arrived_at)


def _missing(name: str, column: Converted, excused: pa.Array | None) -> Iterator[Objection]:
    if not column.values.null_count:
        return
    missing = column.values.is_null()
    for mask in (column.bad, excused):
        missing = missing if mask is None else pc.and_not(missing, mask)
    if pc.any(missing).as_py():
        yield Objection(missing, MissingValue, lambda _: f'column "{name}" has no value and must have one')


def _too_large(columns: Sequence[pa.Array]) -> Iterator[Objection]:
    """Rows with more than an event may have in their strings and bytes; looked for only where a column has so much."""
    long = [array for array in columns if pa.types.is_string(array.type) or pa.types.is_binary(array.type)]
    if not any(array.nbytes > LARGEST_EVENT for array in long):
        return
    sizes = pc.binary_length(long[0]).fill_null(0).cast(pa.int64())
    for array in long[1:]:
        sizes = pc.add(sizes, pc.binary_length(array).fill_null(0))
    large = only_where(pc.greater(sizes, LARGEST_EVENT))
    if large is not None:
        yield Objection(large, EventTooLarge, lambda _: f"the event has more than {LARGEST_EVENT:,} bytes")


def _unknown_operations(operations: pa.Array) -> Iterator[Objection]:
    unknown = only_where(pc.invert(pc.is_in(operations, value_set=pa.array([UPSERT, DELETE]))))
    if unknown is not None:
        yield Objection(
            unknown,
            WrongType,
            lambda row: f'column "_op" is {shorten(operations[row].as_py())}, which is neither "upsert" nor "delete"',
        )


def _out_of_range(layout: Layout, times: pa.Array, arrived_at: datetime | None) -> Iterator[Objection]:
    if not pa.types.is_timestamp(times.type) or times.null_count == len(times):
        return
    name, instants = layout.names[layout.time or 0], times.cast(INSTANT)
    extremes = pc.min_max(instants)
    if extremes["min"].value <= 0:
        early = pc.less_equal(instants, pa.scalar(0, INSTANT)).fill_null(False)
        limit = "not after 1970-01-01 00:00:00 UTC"
        yield Objection(early, TimeOutOfRange, _reason(name, instants, limit))
    if arrived_at is None or layout.max_ahead is None:
        return
    latest = _micros(arrived_at - _1970) + _micros(layout.max_ahead)
    if extremes["max"].value > latest:
        ahead = pc.greater(instants, pa.scalar(latest, INSTANT)).fill_null(False)
        limit = f"further ahead of its arrival than max_ahead, {spell_duration(layout.max_ahead)}"
        yield Objection(ahead, TimeOutOfRange, _reason(name, instants, limit))


def _reason(name: str, instants: pa.Array, limit: str) -> Callable[[int], str]:
    return lambda row: f'event time "{name}" is {instants[row].cast(pa.string()).as_py()}, which is {limit}'


def _micros(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)
