"""The log as a stream of commits: where a batch ends, and what is in it.

An offset is (commit, tick). A batch holds the rows of some commits, always whole ones, and ends with a *tick row*: NULL
in every column but `_watermark` and `_arrived_at`, which carry the watermark after the batch and how late it was, in
the time of arrival. When the head of the log is reached, and again after a start, one more batch delivers only the tick
row, so that what is due closes without new data; a stream that reads no clock has nothing to close, and needs that
batch only if there is no other.

How much a batch may hold is decided here (`Limits`); who reads it elsewhere: Spark itself (`engine.direct`) where it
reaches the files, else workers in Python (`engine.workers`). Both plan by the same `LogStream`, and their offsets are
the same, so that a checkpoint of one can be gone on from by the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.engine.next_batch import NextBatch
from headwater.errors import ArgumentRefused
from headwater.log import TopicLog
from headwater.log.datafile import DataFile, columns_of
from headwater.log.journal import microseconds
from headwater.log.read import passed_at, watermark_at
from headwater.model import INSTANT, Topic, spell_type

Offset = dict[str, int]
START: Offset = {"commit": 0, "tick": 0}
UNLIMITED = 2**62
_PATTERN = re.compile(r"[{}\[\]*?\\]")
_CLOCKS = {"_watermark": watermark_at, "_arrived_at": passed_at}


@dataclass(frozen=True)
class Limits:
    """The most that a batch may hold. It has at least one commit, and ends where a file of the log does.

    `max_rows` and `max_bytes` are compared with what the log knows of its files: the bytes are those of the columns
    that are read, as they are on the disk. Nothing behind `last_commit` is read.
    """

    max_rows: int = 2_000_000
    max_bytes: int = 128 * 1024 * 1024
    max_commits: int = UNLIMITED
    last_commit: int = UNLIMITED

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Limits:
        """The limits among the options of a stream.

        >>> Limits.of({"max_rows": "1000"}).max_rows
        1000
        """
        names = [field.name for field in fields(cls)]
        return replace(cls(), **{name: _number(name, options[name]) for name in names if name in options})


OPTIONS = tuple(field.name for field in fields(Limits))
"""The options of a stream when it is started."""


def _number(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) < (0 if name == "last_commit" else 1):
        raise ArgumentRefused(
            f'"{value}" is no {name}',
            detail="It is the most that one micro-batch may hold.",
            hint="Give a whole number, 1 or more.",
        )
    return int(value)


def check_options(options: Mapping[str, str]) -> None:
    """Refuse options that a stream doesn't have, and values that they can't have."""
    Limits.of(options)
    unknown = next((name for name in options if name not in OPTIONS), None)
    if unknown is not None:
        raise ArgumentRefused(
            f'a stream has no option "{unknown}"', hint=f"Its options are {', '.join(OPTIONS)}.", option=unknown
        )


@dataclass(frozen=True)
class Portion:
    """The input of one batch: the rows of these files that are of the commits from `first` to `last`, and a tick row.

    `ticks` has the columns of the tick row that are not NULL, in microseconds.
    """

    files: tuple[DataFile, ...]
    first: int
    last: int
    ticks: Mapping[str, int]

    def is_whole(self, file: DataFile) -> bool:
        """Tells whether every row of a file belongs to it."""
        return self.first <= file.commits[0] and file.commits[1] <= self.last


class LogStream:
    """Plans the batches of one query that reads a topic. Not thread-safe: Spark asks from one thread.

    A stream of a query that follows its topics goes to the ends of its `next_batch`, which it shares with the
    others of that query.
    """

    def __init__(
        self, log: TopicLog, columns: Sequence[str], limits: Limits, next_batch: NextBatch | None = None
    ) -> None:
        self.log = log
        self.columns = list(columns)
        self._limits = limits
        self._next_batch = next_batch
        self._closes = any(name in _CLOCKS for name in columns)
        self._target: int | None = None
        self._began: Offset | None = None
        self._part_read: float | None = None

    def stop_at_head(self, last: int | None = None) -> None:
        """Go no further than the head is now, nor than a last commit."""
        self._target = self._head() if last is None else min(last, self._head())

    def ends_at(self, commit: int) -> bool:
        """Tells whether there is nothing behind a commit, for a stream that goes no further than a head was."""
        return self._target is not None and commit >= self._target

    def latest(self, start: Offset) -> Offset:
        """Where the batch that begins behind an offset ends; the same offset if there is nothing to deliver."""
        self._began = self._began or start
        head = self._reach(start["commit"]) if self._target is None else self._target
        if start["commit"] < head:
            return {"commit": self._admit(start["commit"], head), "tick": 0}
        if self._next_batch is not None and not self._next_batch.is_quiet:  # the next commit closes what is due
            return start
        if start == START or (self._closes and (start["tick"] == 0 or start == self._began)):
            return {"commit": start["commit"], "tick": start["tick"] + 1}
        return start

    def _reach(self, commit: int) -> int:
        return self._head() if self._next_batch is None else self._next_batch.head(self, self.log, commit)

    def portion(self, start: Offset, end: Offset) -> Portion:
        """The portion between two offsets. The same ones give the same rows, whatever became of the files."""
        first, last = start["commit"] + 1, end["commit"]
        files = self.log.snapshot().between(first, last) if first <= last else []
        ticks = {name: microseconds(clock(self.log, last)) for name, clock in _CLOCKS.items()}
        return Portion(tuple(files), first, last, ticks)

    def _head(self) -> int:
        return min(max(self.log.head, 0), self._limits.last_commit)

    def _admit(self, after: int, head: int) -> int:
        """The last commit of the batch behind a commit: before the first file that would be too much."""
        head = min(head, after + self._limits.max_commits)
        rows, size = 0.0, 0.0
        for file in self.log.snapshot().between(after + 1, head):
            new = _part(file, after + 1)
            rows, size = rows + file.rows * new, size + file.size * new * self._read_of(file)
            too_much = rows > self._limits.max_rows or size > self._limits.max_bytes
            if too_much and file.commits[0] > after + 1:
                return file.commits[0] - 1
        return head

    def _read_of(self, file: DataFile) -> float:
        """The share of a file's bytes that is read, by its columns; one file speaks for all."""
        if self._part_read is None:
            self._part_read = _part_read(self.log, file, set(self.columns))
        return self._part_read


def _part(file: DataFile, first: int) -> float:
    """The part of a file that is of the commit `first` and later ones, if its commits are of one size."""
    least, greatest = file.commits
    return min(1.0, (greatest - first + 1) / (greatest - least + 1))


def _part_read(log: TopicLog, file: DataFile, columns: set[str]) -> float:
    try:
        with log.storage.open(file.path, file.size) as opened, pq.ParquetFile(opened) as parquet:
            sizes = [_sizes(parquet.metadata.row_group(0))] if parquet.metadata.num_row_groups else []
    except (OSError, pa.ArrowInvalid):  # whoever reads the file says what is wrong with it
        return 1.0
    every = sum(size for group in sizes for _, size in group)
    return sum(size for group in sizes for name, size in group if name in columns) / every if every else 1.0


def _sizes(group: Any) -> list[tuple[str, int]]:
    """The bytes of each column of a row group; a nested column has several."""
    chunks = (group.column(number) for number in range(group.num_columns))
    return [(chunk.path_in_schema.partition(".")[0], chunk.total_compressed_size) for chunk in chunks]


def arrow_schema(topic: Topic, columns: Sequence[str]) -> pa.Schema:
    """The columns as Arrow; every one may be NULL, because tick rows are."""
    schema = columns_of(topic)
    return pa.schema([schema.field(name).with_nullable(True) for name in columns])


def schema_ddl(topic: Topic, columns: Sequence[str]) -> str:
    """The same as Spark declares it."""
    return ", ".join(f"`{field.name}` {spell_type(field.type)}" for field in arrow_schema(topic, columns))


def as_pattern(path: str) -> str:
    """The pattern that stands for this path alone, as Spark takes paths.

    Telling Spark to take them literally (`__globPaths__`) makes it read every file once for each of them (4.3).

    >>> print(as_pattern("/data/[old] 1"))
    /data/\\[old\\] 1
    """
    return _PATTERN.sub(r"\\\g<0>", path)


def tick_row(schema: pa.Schema, ticks: Mapping[str, int]) -> pa.RecordBatch:
    """The tick row, in these columns."""
    arrays = [
        pa.array([ticks[field.name]]).cast(INSTANT) if field.name in ticks else pa.nulls(1, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
