"""Reading with Python workers: `spark.readStream.format("headwater")`, and `spark.read` alike.

It needs nothing of Spark's own to reach the files, so it works wherever the log can be: an object store for which the
JVM has no file system, too. Spark plans a batch in one Python process and reads it in others, as Arrow; each of them
has to start, and every row goes from one process to the other. Where that isn't needed, `engine.direct` is faster.

Options: `topic` (a `LogAddress`), `columns` (a JSON list), `cores`; of a stream the limits of `engine.source`, of a
batch its `parts`.
"""

from __future__ import annotations

import json
import pickle
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from headwater.engine.source import START, Limits, LogStream, Offset, arrow_schema, schema_ddl, tick_row
from headwater.log import TopicLog, open_storage
from headwater.log.datafile import DataFile
from headwater.log.read import read_rows
from headwater.log.watch import FAR
from headwater.model import Topic

NAME = "headwater"
CHUNK = 100_000
"""The most rows that are handed to Spark at once."""


def read_with_workers(
    spark: SparkSession, log: TopicLog, columns: Sequence[str], name: str, options: Mapping[str, str]
) -> DataFrame:
    """The topic as a stream under a name that is unique in the query."""
    spark.dataSource.register(LogSource)
    stream = spark.readStream.name(name).format(NAME)
    return stream.options(**_options(spark, log, columns), **options).load()


def read_batch_with_workers(
    spark: SparkSession, log: TopicLog, columns: Sequence[str], files: Sequence[DataFile], first: int, last: int
) -> DataFrame:
    """The rows of these files that are of the commits from `first` to `last`, at once."""
    spark.dataSource.register(LogSource)
    parts = [Part(tuple(group), first, last) for group in share(files, spark.sparkContext.defaultParallelism)]
    return spark.read.format(NAME).options(**_options(spark, log, columns), parts=_spelled(parts)).load()


def _options(spark: SparkSession, log: TopicLog, columns: Sequence[str]) -> dict[str, str]:
    return {
        "topic": _spelled(LogAddress(log.topic, log.storage.url, tuple(log.storage.options.items()))),
        "columns": json.dumps(list(columns)),
        "cores": str(spark.sparkContext.defaultParallelism),
    }


@dataclass(frozen=True)
class LogAddress:
    """A topic and where its log is: all that a worker needs to read it."""

    topic: Topic
    url: str
    options: tuple[tuple[str, str], ...]

    def open(self) -> TopicLog:
        """The log."""
        return TopicLog(self.topic, open_storage(self.url, dict(self.options)))


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
        return schema_ddl(_address(self.options).topic, _columns(self.options))

    def streamReader(self, schema: Any) -> LogStreamReader:  # noqa: N802, ARG002
        return LogStreamReader(self.options)

    def reader(self, schema: Any) -> LogReader:  # noqa: ARG002
        return LogReader(self.options)


class _PartReader:
    """Reads the parts of a batch, anywhere."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._address = _address(options)
        self._columns = _columns(options)
        self._log: TopicLog | None = None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        schema = arrow_schema(self._address.topic, self._columns)
        if partition.ticks:
            yield tick_row(schema, dict(partition.ticks))
            return
        rows = read_rows(self._opened(), list(partition.files), partition.first, partition.last, self._columns)
        yield from rows.cast(schema).combine_chunks().to_batches(max_chunksize=CHUNK)

    def _opened(self) -> TopicLog:
        if self._log is None:
            self._log = self._address.open()
        return self._log

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_log": None}  # each process opens its own


class LogReader(_PartReader, DataSourceReader):  # type: ignore[misc]
    """Reads files that were chosen beforehand."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._parts = _read_parts(options)

    def partitions(self) -> Sequence[Part]:
        return self._parts


class LogStreamReader(_PartReader, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans batches (one object per query, in a process of its own) and reads their parts (anywhere)."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._limits = Limits.of(options)
        self._cores = int(options["cores"])
        self._planned: LogStream | None = None
        self._ends = False

    def initialOffset(self) -> Offset:  # noqa: N802
        return START

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._ends = True
        self._stream().stop_at_head()

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802, ARG002
        latest = self._stream().latest(start)
        if latest == start and not self._ends:
            time.sleep(FAR.total_seconds())  # Spark asks again at once
        return latest

    def partitions(self, start: Offset, end: Offset) -> Sequence[Part]:
        portion = self._stream().portion(start, end)
        parts = [Part(tuple(files), portion.first, portion.last) for files in share(portion.files, self._cores)]
        return [*parts, Part((), portion.first, portion.last, tuple(portion.ticks.items()))]

    def _stream(self) -> LogStream:
        if self._planned is None:
            self._planned = LogStream(self._opened(), self._columns, self._limits)
        return self._planned

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_planned": None}


def share(files: Sequence[DataFile], cores: int) -> list[list[DataFile]]:
    """Files in as many groups of about equal rows as there are cores: a task per small file costs more than reading."""
    if not files:
        return []
    target = max(1, sum(file.rows for file in files) // cores)
    shares: list[list[DataFile]] = [[]]
    rows = 0
    for file in files:
        if rows >= target * len(shares) and len(shares) < cores:
            shares.append([])
        shares[-1].append(file)
        rows += file.rows
    return shares


def _spelled(value: object) -> str:
    """A value as text; functions of a project's files, which workers can't import, go along by value."""
    return b64encode(cloudpickle.dumps(value)).decode()


def _address(options: Mapping[str, str]) -> LogAddress:
    address = pickle.loads(b64decode(options["topic"]))  # noqa: S301  # our own words, from our own driver
    assert isinstance(address, LogAddress)
    return address


def _read_parts(options: Mapping[str, str]) -> list[Part]:
    return list(pickle.loads(b64decode(options["parts"])))  # noqa: S301


def _columns(options: Mapping[str, str]) -> list[str]:
    return [str(name) for name in json.loads(options["columns"])]
