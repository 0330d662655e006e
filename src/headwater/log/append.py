"""From rows to a proposed commit: arrival order, stamps, the log's own columns, the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.log import producer
from headwater.log.clock import Arrivals, Clock, Instants
from headwater.log.counts import Counts, as_note, together
from headwater.log.datafile import columns_of, measured_columns, write_file
from headwater.log.journal import Proposal, instant, milliseconds
from headwater.log.storage import Storage
from headwater.model import INSTANT, Punctuated, Table, Topic


@dataclass(frozen=True)
class Request:
    """Rows that want to be appended: the topic's columns, one source per row, when they arrived (microseconds).

    `unknown` counts the fields of their events that no column declares.
    """

    rows: pa.Table
    sources: pa.Array
    arrived: int
    sequence: producer.Sequence | None = None
    history: bool = False
    moves: tuple[producer.Move, ...] = ()
    unknown: Counts = field(default_factory=dict)

    @property
    def sequences(self) -> list[producer.Sequence]:
        """The numbers that the log keeps of its producers, in the same entry as the rows."""
        return [*([self.sequence] if self.sequence else []), *(move.sequence for move in self.moves)]

    @classmethod
    def of(cls, rows: pa.Table, source: str | pa.Array, arrived: int) -> Request:
        """A request whose rows come from one source, or each from its own."""
        one = isinstance(source, str)
        return cls(rows, pa.repeat(pa.scalar(source, pa.string()), rows.num_rows) if one else source, arrived)


@dataclass(frozen=True)
class Appended:
    """An acknowledged commit: it is on the disk. `behind` rows came with an event time before the watermark."""

    topic: str
    commit: int
    rows: int
    watermark: datetime
    behind: int = 0
    repeated: bool = False


def late_by_order(topic: Topic, clock: Clock, rows: pa.Table, source: str) -> int:
    """The number of rows that would fall behind the watermark only because of rows before them in this very load."""
    stamps, _ = clock.stamp(arrivals_of(topic, [Request.of(rows, source, clock.present)]))
    times = times_of(topic, rows)
    return int(np.count_nonzero((times < stamps) & (times >= clock.watermark)))


def share_commit(waiting: Mapping[int, Request]) -> dict[int, Request]:
    """The requests that go into the next commit: all up to a history load, or to a producer's second one."""
    chosen: dict[int, Request] = {}
    producers: set[str] = set()
    for index, request in waiting.items():
        if request.history:
            return chosen or {index: request}
        named = {sequence.producer for sequence in request.sequences}
        if named & producers:
            break
        producers |= named
        chosen[index] = request
    return chosen


def draft(
    topic: Topic, storage: Storage, number: int, clock: Clock, requests: Sequence[Request], now: datetime
) -> tuple[Proposal, list[Appended]]:
    """Stamp the rows, write them to a file, and propose the commit that makes it part of the log.

    Returns with it what each request is answered if the commit succeeds.
    """
    rows = pa.concat_tables([request.rows for request in requests]).combine_chunks()
    arrivals = arrivals_of(topic, requests)
    stamps, after = clock.load(arrivals) if requests[0].history else clock.stamp(arrivals)
    arrived = np.maximum.accumulate(np.maximum(arrivals.arrived, clock.present))
    stamped = _stamped(topic, number, 0, rows, _sources(requests), arrived, stamps)
    at = milliseconds(now)
    sequences = [sequence for request in requests for sequence in request.sequences]
    actions, note = producer.as_actions(sequences, number, at), producer.as_note(sequences)
    file = write_file(storage, stamped, measured_columns(topic)) if stamped.num_rows else None
    proposal = Proposal(
        kind="history" if requests[0].history else "append",
        clock=after,
        note={"rows": rows.num_rows, "sources": list(arrivals.names)}
        | ({"producers": note} if note else {})
        | as_note(together(request.unknown for request in requests)),
        actions=[*actions, *([file.as_action(at)] if file else [])],
        files=[file.path] if file else [],
    )
    return proposal, _receipts(topic, number, requests, times_of(topic, rows) < stamps, after)


def stamp_append(topic: Topic, number: int, clock: Clock, request: Request) -> pa.Table:
    """Rows of an append as the log keeps them, given how its clock stood before."""
    arrivals = arrivals_of(topic, [request])
    stamps, _ = clock.stamp(arrivals)
    arrived = np.maximum.accumulate(np.maximum(arrivals.arrived, clock.present))
    return _stamped(topic, number, 0, request.rows.combine_chunks(), _sources([request]), arrived, stamps)


def arrivals_of(topic: Topic, requests: Sequence[Request]) -> Arrivals:
    """The requests' rows as the clock takes them."""
    strategy = topic.watermark
    column = strategy.column if isinstance(strategy, Punctuated) else topic.time
    marks = np.concatenate([_instants(request.rows, column) for request in requests])
    encoded = _sources(requests).combine_chunks().dictionary_encode()
    arrived = np.repeat([request.arrived for request in requests], [request.rows.num_rows for request in requests])
    indices = encoded.indices.to_numpy().astype(np.int64)
    return Arrivals(marks, indices, encoded.dictionary.to_pylist(), arrived.astype(np.int64))


def times_of(topic: Topic, rows: pa.Table) -> Instants:
    """The rows' event times; 1970 in a topic without event time."""
    return _instants(rows, topic.time)


def _instants(rows: pa.Table, name: str | None) -> Instants:
    if name is None:
        return np.zeros(rows.num_rows, np.int64)
    counted: Instants = pc.fill_null(rows[name].cast(pa.int64()), 0).to_numpy().astype(np.int64)
    return counted


def _sources(requests: Sequence[Request]) -> pa.ChunkedArray:
    return pa.chunked_array([request.sources for request in requests], pa.string())


def stamp_history(topic: Topic, number: int, request: Request, watermark: int, start: int) -> pa.Table:
    """Rows of a history load as the log keeps them; the first of them is row `start` of the commit."""
    count = request.rows.num_rows
    stamps, arrived = np.full(count, watermark, np.int64), np.full(count, request.arrived, np.int64)
    return _stamped(topic, number, start, request.rows, _sources([request]), arrived, stamps)


def _stamped(
    topic: Topic,
    number: int,
    start: int,
    rows: pa.Table,
    sources: pa.ChunkedArray,
    arrived: Instants,
    stamps: Instants,
) -> pa.Table:
    """The rows as the log keeps them: sealed, and with the log's own columns."""
    count, schema = rows.num_rows, columns_of(topic)
    own = {
        "_commit": pa.repeat(pa.scalar(number, pa.int64()), count),
        "_row": pa.array(np.arange(start, start + count, dtype=np.int32)),
        "_id": rows["_id"] if "_id" in rows.column_names else pa.nulls(count, pa.string()),
        "_source": sources,
        "_arrived_at": pa.array(arrived).cast(INSTANT),
        "_watermark": pa.array(stamps).cast(INSTANT),
    }
    if isinstance(topic, Table):
        own["_op"] = rows["_op"]
    payload = seal(topic, rows.select(topic.schema.names))
    return pa.table([own[name] if name in own else payload[name] for name in schema.names], schema=schema)


def seal(topic: Topic, payload: pa.Table) -> pa.Table:
    """The payload as the log keeps it: the one place that rows pass through on their way into a file.

    A topic without personal columns is kept as it is; one with them is refused when the project is checked.
    """
    assert not topic.personal, f"{topic.name} has personal columns, which can't be kept yet"
    return payload


def _receipts(
    topic: Topic, number: int, requests: Sequence[Request], behind: np.typing.NDArray[np.bool_], after: Clock
) -> list[Appended]:
    ends = np.cumsum([request.rows.num_rows for request in requests])
    counts = [int(np.count_nonzero(part)) for part in np.split(behind, ends[:-1])]
    return [
        Appended(topic.name, number, request.rows.num_rows, instant(after.watermark), count)
        for request, count in zip(requests, counts, strict=True)
    ]
