"""Generated events for any declared topic, for demos, tests and benchmarks.

A generator is a value: the same one gives the same events, whatever the size of the batches they are taken in. Events
arrive at a steady rate. Some were delayed on the way (*late*: their event time lies before their arrival), some come
twice, some lines can't be read at all (*poison*), and the keys are as uneven as real ones (`skew`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.fill import Moment, Random, fill, numbered
from headwater.intake.layout import DELETE, UPSERT, Layout, layout_of
from headwater.intake.poison import poison_line
from headwater.json_text import json_lines_of
from headwater.model import INSTANT, Stream, Table, Topic

_BLOCK = 10_000
_SECOND = timedelta(seconds=1)
_MICROSECOND = timedelta(microseconds=1)
_1970 = datetime(1970, 1, 1, tzinfo=UTC)

Override = Sequence[Any] | Callable[[Moment], pa.Array]
"""Another filling of a column: values to choose from, or a function that makes them."""


@dataclass(frozen=True)
class Sender:
    """A source of events: its part of them, how wrong its clock is, and when (after the start) it falls silent."""

    name: str = "generator"
    weight: float = 1.0
    clock: timedelta = timedelta()
    silent_after: timedelta | None = None


@dataclass(frozen=True)
class Lateness:
    """A `share` of the events is late: by an exponentially distributed time of the mean `typical`, at most `most`."""

    share: float = 0.0
    typical: timedelta = timedelta(seconds=10)
    most: timedelta = timedelta(minutes=5)


@dataclass(frozen=True)
class GeneratedBatch:
    """Rows in the topic's columns (and `_op` for a table), the source of each, and lines that can't be read.

    `arrived_at` is when the last row arrived.
    """

    rows: pa.Table
    sources: pa.Array
    arrived_at: datetime
    poison: list[bytes]


@dataclass(frozen=True, kw_only=True)
class Generator:
    """A declaration of events to generate. `rate` is in events per second of event time; shares are parts of one.

    `skew` is the exponent of the keys' Zipf distribution: 0 makes all `keys` equally frequent.
    """

    topic: Topic
    seed: int = 0
    start_at: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    rate: float = 1000.0
    keys: int = 1000
    skew: float = 1.0
    senders: tuple[Sender, ...] = (Sender(),)
    lateness: Lateness = Lateness()
    duplicates: float = 0.0
    deletes: float = 0.0
    poison: float = 0.0
    nulls: float = 0.0
    overrides: Mapping[str, Override] = field(default_factory=dict)

    def batches(self, rows: int, batch_rows: int = _BLOCK) -> Iterator[GeneratedBatch]:
        """The first `rows` events in batches of `batch_rows`; the same events whatever the size of a batch."""
        layout = layout_of(self.topic)
        schema = pa.schema([field for field in layout.schema if field.name != "_id"])
        held: dict[int, _Block] = {}
        for start in range(0, rows, batch_rows):
            stop = min(start + batch_rows, rows)
            needed = range(start // _BLOCK, -(-stop // _BLOCK))
            held = {number: held.get(number) or _block(self, layout, schema, number) for number in needed}
            yield self._cut(list(held.values()), start, stop)

    def _cut(self, blocks: list[_Block], start: int, stop: int) -> GeneratedBatch:
        before = start - start % _BLOCK
        rows = pa.concat_tables([block.rows for block in blocks]).slice(start - before, stop - start)
        sources = pa.concat_arrays([block.sources for block in blocks]).slice(start - before, stop - start)
        poison = [line for block in blocks for at, line in block.poison if start <= at < stop]
        return GeneratedBatch(rows.combine_chunks(), sources, self.start_at + (stop - 1) / self.rate * _SECOND, poison)


def to_json_lines(batch: GeneratedBatch) -> bytes:
    """The batch as JSON lines, its poison spread evenly among the rows."""
    block = json_lines_of(batch.rows)
    if not batch.poison:
        return block
    lines = block.splitlines()
    for index, line in enumerate(batch.poison):
        lines.insert(index + (index + 1) * batch.rows.num_rows // (len(batch.poison) + 1), line)
    return b"\n".join(lines) + b"\n"


@dataclass(frozen=True)
class _Block:
    """A fixed number of events, made from the seed and the block's number alone."""

    rows: pa.Table
    sources: pa.Array
    poison: list[tuple[int, bytes]]


def _block(spec: Generator, layout: Layout, schema: pa.Schema, number: int) -> _Block:
    random = np.random.default_rng([spec.seed, number])
    numbers = np.arange(number * _BLOCK, (number + 1) * _BLOCK, dtype=np.int64)
    elapsed = np.floor(numbers * (1_000_000 / spec.rate)).astype(np.int64)
    senders = _senders(spec, random, elapsed)
    clocks = np.array([sender.clock // _MICROSECOND for sender in spec.senders], dtype=np.int64)
    at = (spec.start_at - _1970) // _MICROSECOND + elapsed - _delays(spec.lateness, random, _BLOCK) + clocks[senders]
    rows = pa.Table.from_arrays(_columns(spec, layout, Moment(random, at), numbers), schema=schema)
    copies = pa.array(_copies(spec.duplicates, random))
    names = pa.array([sender.name for sender in spec.senders]).take(pa.array(senders))
    rows, names = rows.take(copies).combine_chunks(), names.take(copies)
    poisoned = np.flatnonzero(random.random(_BLOCK) < spec.poison)
    poison = [(int(numbers[at]), poison_line(layout, rows.slice(int(at), 1), random)) for at in poisoned]
    return _Block(rows, names, poison)


def _senders(spec: Generator, random: Random, elapsed: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The sender that each event comes from; the events of one that has fallen silent come from the others."""
    weights = np.array([sender.weight for sender in spec.senders])
    ends = [sender.silent_after for sender in spec.senders]
    limits = np.array([np.inf if end is None else end // _MICROSECOND for end in ends])
    alive = np.where(elapsed[:, None] < limits[None, :], weights[None, :], 0.0)
    steps = np.cumsum(alive, axis=1)
    drawn = random.random(len(elapsed)) * steps[:, -1]
    chosen: np.ndarray[Any, Any] = np.minimum((drawn[:, None] >= steps).sum(axis=1), len(weights) - 1)
    return chosen


def _delays(lateness: Lateness, random: Random, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    delays = random.exponential(lateness.typical / _MICROSECOND, count).clip(max=lateness.most / _MICROSECOND)
    return np.where(random.random(count) < lateness.share, delays, 0).astype(np.int64)


def _copies(share: float, random: Random) -> np.ndarray[Any, Any]:
    """The number of the event at each index: its own, or one of the hundred before it, again."""
    numbers = np.arange(_BLOCK)
    earlier = np.maximum(numbers - random.integers(1, 100, _BLOCK), 0)
    return np.where(random.random(_BLOCK) < share, earlier, numbers)


def _columns(spec: Generator, layout: Layout, moment: Moment, numbers: np.ndarray[Any, Any]) -> list[pa.Array]:
    keys = _key_columns(spec.topic)
    drawn = _keys(spec, moment.random)
    columns = []
    for index, (name, kind) in enumerate(zip(layout.names[: layout.payload], layout.kinds, strict=False)):
        if index == layout.time:
            columns.append(pa.array(moment.at).cast(INSTANT).cast(kind))
        elif name in spec.overrides:
            columns.append(_override(spec.overrides[name], kind, moment))
        elif name.lower() in keys:
            columns.append(numbered(name, drawn, kind))
        elif index in layout.unique:
            columns.append(numbered(name, numbers, kind))
        else:
            columns.append(_thinned(spec, layout, index, fill(kind, moment), moment.random))
    if layout.is_table:
        columns.append(_operations(spec.deletes, moment.random))
    return columns


def _key_columns(topic: Topic) -> set[str]:
    named = topic.primary_key if isinstance(topic, Table) else topic.key if isinstance(topic, Stream) else ()
    return {name.lower() for name in named}


def _keys(spec: Generator, random: Random) -> np.ndarray[Any, np.dtype[np.int64]]:
    weights = 1.0 / np.arange(1, spec.keys + 1) ** spec.skew
    return np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(_BLOCK)).clip(max=spec.keys - 1)


def _override(override: Override, kind: pa.DataType, moment: Moment) -> pa.Array:
    if callable(override):
        return override(moment).cast(kind)
    return pa.array(override, kind).take(pa.array(moment.random.integers(0, len(override), len(moment))))


def _thinned(spec: Generator, layout: Layout, index: int, column: pa.Array, random: Random) -> pa.Array:
    """The column with NULLs in it, if it may have them."""
    if not spec.nulls or index in layout.required or index in layout.always:
        return column
    return pc.if_else(pa.array(random.random(len(column)) < spec.nulls), pa.scalar(None, column.type), column)


def _operations(deletes: float, random: Random) -> pa.Array:
    return pc.if_else(pa.array(random.random(_BLOCK) < deletes), DELETE, UPSERT)
