"""A range of offsets of one partition, read, decoded and written to files of the log by whoever has the time.

It is the work of one Spark task: the same code decodes as in the process that takes a topic in, and the files become
part of the log when the driver commits them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
from confluent_kafka import KafkaError, Message

from headwater.errors import SourceUnavailable
from headwater.intake.dead import NO_LETTERS
from headwater.intake.decode import Decoder
from headwater.intake.kafka.codec import codec_of
from headwater.intake.kafka.gather import coordinates_of
from headwater.intake.kafka.inlet import AT_ONCE, MOST_BYTES, MOST_MESSAGES, PATIENCE
from headwater.intake.kafka.piece import KafkaPiece
from headwater.kafka.client import Client, Partition
from headwater.log import TopicLog, open_storage
from headwater.log.bulk import Stamp, Written, let_go, with_source, write_part
from headwater.log.counts import Counts, together
from headwater.model import Kafka, Topic
from headwater.schemas.known import TOPIC as SCHEMAS
from headwater.schemas.registry import SchemaRegistry

FILE_ROWS = 500_000
"""The number of rows that share a file."""


@dataclass(frozen=True)
class Range:
    """Offsets of a partition, from `first` to before `end`; its first row is at least row `start` of the commit."""

    partition: Partition
    first: int
    end: int
    start: int


@dataclass(frozen=True)
class Job:
    """All that a range of a backlog needs to be taken in, wherever that is done.

    `log` and `schemas` are URLs of storage with their options. `buried` are offsets that are dead letters already.
    """

    topic: Topic
    options: Mapping[str, str]
    group: str
    log: tuple[str, Mapping[str, str]]
    schemas: tuple[str, Mapping[str, str]]
    stamp: Stamp
    arrived_at: datetime
    buried: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def kafka(self) -> Kafka:
        """Where the messages are."""
        assert isinstance(self.topic.intake, Kafka)
        return self.topic.intake


@dataclass(frozen=True)
class Done:
    """A range that was taken in: its files, its dead letters, and the offset behind the last that was read.

    That is before the range's end only where a transaction is still open. `unknown` counts fields that no column
    declares.
    """

    range: Range
    files: tuple[Written, ...]
    letters: pa.Table
    reached: int
    unknown: Counts = field(default_factory=dict)


def take_range(job: Job, range_: Range) -> Done:
    """Read a range, decode it, and write its rows to files that are not part of the log yet."""
    storage = open_storage(job.log[0], dict(job.log[1]))
    decoder = Decoder(job.topic)
    registry = SchemaRegistry(TopicLog(SCHEMAS, open_storage(job.schemas[0], dict(job.schemas[1]))))
    codec = codec_of(job.topic, job.options, registry)
    source, files, letters, held = str(range_.partition), list[Written](), [NO_LETTERS], list[pa.Table]()
    row, reached, unknown = range_.start, range_.first, list[Counts]()

    def write() -> None:
        nonlocal row
        rows = pa.concat_tables(held) if held else decoder.schema.empty_table()
        if rows.num_rows:
            files.append(write_part(job.topic, storage, job.stamp, with_source(rows, source), row))
            row += rows.num_rows
        held.clear()

    try:
        with closing(Client(job.kafka, job.options, job.group)) as client:
            for messages, after in messages_in(client, job.kafka, range_):
                piece = KafkaPiece(range_.partition, messages, after, job.kafka, codec)
                decoded = piece.decode(decoder, job.arrived_at, job.buried.get(source, frozenset()))
                held.append(decoded.rows)
                letters.append(decoded.dead)
                unknown.append(decoded.unknown)
                reached = after
                if sum(rows.num_rows for rows in held) >= FILE_ROWS:
                    write()
        write()
    except BaseException:
        let_go(storage, files)
        raise
    return Done(range_, tuple(files), pa.concat_tables(letters), reached, together(unknown))


def messages_in(client: Client, kafka: Kafka, range_: Range) -> Iterator[tuple[list[Message], int]]:
    """The messages of a range, and the offset behind them, a good many at a time."""
    client.assign({range_.partition: range_.first})
    gathered, reached, heard_at = list[Message](), range_.first, time.monotonic()
    size, is_over = 0, False
    while not is_over:
        read = client.read(AT_ONCE, 0.1)
        told = [message for message in read if message.error() is not None]
        messages = [message for message in read if message.error() is None] if told else read
        ends = [coordinates_of(message)[1] for message in told if _is_end(client, message)]
        reached = max([reached, *ends, *(coordinates_of(message)[1] + 1 for message in messages[-1:])])
        is_over = bool(ends) or reached >= range_.end
        mine = _within(range_, messages)
        gathered += mine
        size += sum(map(len, mine))
        if is_over or len(gathered) >= MOST_MESSAGES or size >= MOST_BYTES:
            yield gathered, min(reached, range_.end)
            gathered, size = [], 0
        heard_at = time.monotonic() if read else heard_at
        if time.monotonic() - heard_at > PATIENCE.total_seconds():
            raise _silent(kafka, range_, reached)


def _within(range_: Range, messages: list[Message]) -> list[Message]:
    """The messages before the end of a range; they come in the order of their offsets."""
    if not messages or coordinates_of(messages[-1])[1] < range_.end:
        return messages
    return [message for message in messages if coordinates_of(message)[1] < range_.end]


def _silent(kafka: Kafka, range_: Range, reached: int) -> SourceUnavailable:
    return SourceUnavailable(
        f'nothing came from "{range_.partition}" for {PATIENCE.total_seconds():.0f} seconds',
        detail=f"Offset {reached} was to come next. Nothing was appended.",
        hint="See whether the brokers run and can be reached from where Spark's tasks run; then repeat the call.",
        topic=kafka.topic,
    )


def _is_end(client: Client, message: Message) -> bool:
    """Tells whether something that isn't a message says that the partition is at its end; what is an error raises."""
    problem = message.error()
    assert problem is not None
    if problem.code() == KafkaError._PARTITION_EOF:
        return True
    if (refusal := client.refusal(problem)) is not None:
        raise refusal
    return False
