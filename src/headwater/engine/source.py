"""The log as a Spark streaming source: `spark.readStream.format("headwater")`.

An offset is (commit, tick). A batch holds the rows of some commits and ends with a *tick row*: NULL in every column but
`_watermark` and `_arrived_at`, which carry the watermark and the last arrival after the batch. When the head of the log
is reached, and again after a start, one more batch delivers only the tick row, so that what is due closes without new
data. Spark plans a batch in one Python process and reads it in others, as Arrow.

Options: `topic` (a `Place`), `columns` (a JSON list), `max_rows` and `max_commits` (admission control), `cores`.
"""

from __future__ import annotations

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from headwater.log import TopicLog, open_storage
from headwater.log.datafile import DataFile, columns_of
from headwater.log.journal import microseconds
from headwater.log.read import arrived_at, read_rows, watermark_at
from headwater.model import INSTANT, Topic, spell_type

NAME = "headwater"
MAX_ROWS = 2_000_000
Offset = dict[str, int]


@dataclass(frozen=True)
class Place:
    """A topic and where its log is: all that a worker needs to read it."""

    topic: Topic
    url: str
    options: tuple[tuple[str, str], ...]

    def open(self) -> TopicLog:
        """The log."""
        return TopicLog(self.topic, open_storage(self.url, dict(self.options)))

    def spelled(self) -> str:
        """The place as an option of the source."""
        return b64encode(pickle.dumps(self)).decode()


def place_of(log: TopicLog) -> Place:
    """Where a log is."""
    return Place(log.topic, log.storage.url, tuple(log.storage.options.items()))


def schema_ddl(topic: Topic, columns: Sequence[str]) -> str:
    """The columns as Spark declares them; every one may be NULL, because tick rows are."""
    schema = columns_of(topic)
    return ", ".join(f"`{name}` {spell_type(schema.field(name).type)}" for name in columns)


@dataclass
class Part(InputPartition):  # type: ignore[misc]  # pyspark ships no types
    """Some files of a batch, or its tick row."""

    files: tuple[DataFile, ...]
    first: int
    last: int
    ticks: tuple[tuple[str, int], ...] = ()


class LogSource(DataSource):  # type: ignore[misc]
    """The data source that Spark is told about."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        place = _place(self.options)
        return schema_ddl(place.topic, _columns(self.options))

    def streamReader(self, schema: Any) -> LogStreamReader:  # noqa: N802, ARG002
        return LogStreamReader(self.options)


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans batches (one object per query, in a process of its own) and reads their parts (anywhere)."""

    def __init__(self, options: Any) -> None:
        self._place = _place(options)
        self._columns = _columns(options)
        self._max_rows = int(options.get("max_rows", MAX_ROWS))
        self._max_commits = int(options.get("max_commits", 2**62))
        self._cores = int(options.get("cores", 2))
        self._log: TopicLog | None = None
        self._target: int | None = None
        self._began: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"commit": 0, "tick": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = max(self._opened().head, 0)

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802, ARG002
        self._began = self._began or start
        head = max(self._opened().head, 0) if self._target is None else self._target
        if start["commit"] < head:
            return {"commit": self._admit(start["commit"], head), "tick": 0}
        if start["tick"] == 0 or start == self._began:
            return {"commit": start["commit"], "tick": start["tick"] + 1}
        return start

    def _admit(self, after: int, head: int) -> int:
        """How far the next batch goes: by commits, and by rows as far as the files tell."""
        head = min(head, after + self._max_commits)
        rows = 0
        for file in self._opened().snapshot().between(after + 1, head):
            if rows and rows + file.rows > self._max_rows and file.commits[0] > after + 1:
                return min(head, file.commits[0] - 1)
            rows += file.rows
        return head

    def partitions(self, start: Offset, end: Offset) -> Sequence[Part]:
        log, first, last = self._opened(), start["commit"] + 1, end["commit"]
        files = log.snapshot().between(first, last) if last >= first else []
        shares = _share(files, self._cores)
        clocks = {"_watermark": watermark_at, "_arrived_at": arrived_at}
        ticks = tuple((name, microseconds(clock(log, last))) for name, clock in clocks.items())
        return [*(Part(tuple(share), first, last) for share in shares), Part((), first, last, ticks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        if partition.ticks:
            yield self._tick_row(dict(partition.ticks))
            return
        rows = read_rows(self._opened(), list(partition.files), partition.first, partition.last, self._columns)
        yield from rows.cast(self._arrow()).combine_chunks().to_batches(max_chunksize=100_000)

    def _tick_row(self, ticks: Mapping[str, int]) -> pa.RecordBatch:
        arrays = [
            pa.array([ticks[field.name]]).cast(INSTANT) if field.name in ticks else pa.nulls(1, field.type)
            for field in self._arrow()
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow())

    def _arrow(self) -> pa.Schema:
        schema = columns_of(self._place.topic)
        return pa.schema([schema.field(name).with_nullable(True) for name in self._columns])

    def _opened(self) -> TopicLog:
        if self._log is None:
            self._log = self._place.open()
        return self._log

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_log": None}


def _share(files: list[DataFile], cores: int) -> list[list[DataFile]]:
    """Files in as many groups of about equal rows as there are cores: a task per small file costs more than reading."""
    if not files:
        return []
    target = max(1, sum(file.rows for file in files) // cores)
    shares: list[list[DataFile]] = [[]]
    for file in files:
        if sum(found.rows for found in shares[-1]) >= target and len(shares) < cores:
            shares.append([])
        shares[-1].append(file)
    return shares


def _place(options: Any) -> Place:
    place = pickle.loads(b64decode(options["topic"]))  # noqa: S301  # our own words, from our own driver
    assert isinstance(place, Place)
    return place


def _columns(options: Any) -> list[str]:
    return [str(name) for name in json.loads(options["columns"])]
