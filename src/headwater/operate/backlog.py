"""A large backlog of a Kafka topic, read by Spark: ranges of offsets are tasks, and what they write is one commit.

The rows are those that one process would take in, one after the other; as a history load they are stamped as a whole,
so nothing in them is late for itself. Dead letters, positions and what comes after the backlog are as they always are.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.errors import HeadwaterError
from headwater.intake.breaker import Breaker
from headwater.intake.positions import SourcePositions
from headwater.intake.protocol import Taken
from headwater.log import TopicLog
from headwater.log.bulk import commit_parts, next_stamp
from headwater.log.counts import together, told
from headwater.log.journal import instant

if TYPE_CHECKING:
    from headwater.intake.kafka import KafkaInlet
    from headwater.intake.kafka.ranges import Done, Job, Range
    from headwater.kafka.client import Partition

TASK_MESSAGES = 1_000_000
"""A task reads so many messages at most."""
MOST_ROWS = 2**31 - 1
"""A commit has so many rows at most."""
StorageAddress = tuple[str, Mapping[str, str]]
"""The URL of a log, and its options."""


class Backlog:
    """The messages of a topic of Kafka that the log of a stream or table doesn't have. One process at a time."""

    def __init__(
        self,
        log: TopicLog,
        dead: TopicLog,
        inlet: KafkaInlet,
        options: Mapping[str, str],
        group: str,
        schemas: StorageAddress,
        committed: Callable[[TopicLog, int], None] = lambda _, __: None,
    ) -> None:
        """`inlet` is not open yet; `committed` is told of the commit."""
        self._log, self._dead, self._inlet = log, dead, inlet
        self._options, self._group, self._schemas = options, group, schemas
        self._committed = committed

    def take(self, above: int, spark: Callable[[], Any]) -> Taken | None:
        """Take the backlog in as one commit; None if it has no more than so many messages: then nothing was done.

        `Fenced` if another process takes in.
        """
        source_positions = SourcePositions("kafka", self._log, self._dead)
        with closing(self._inlet):
            self._inlet.open(source_positions, alone=True)
            backlog = self._inlet.backlog
            if sum(end - first for first, end in backlog.values()) <= above:
                return None
            job = self._job(source_positions, backlog)
            session = spark()
            ranges = list(split(backlog, max(1, int(session.sparkContext.defaultParallelism))))
            return self._commit(source_positions, job, _run(session, job, ranges))

    def _job(self, source_positions: SourcePositions, backlog: Mapping[Partition, tuple[int, int]]) -> Job:
        from headwater.intake.kafka.ranges import Job

        log, stamp = self._log.storage, next_stamp(self._log)
        buried = {str(at): frozenset(source_positions.buried(str(at), str(at))) for at in backlog}
        return Job(
            self._log.topic, dict(self._options), self._group, (log.url, log.options), self._schemas, stamp,
            instant(stamp.arrived), buried,
        )  # fmt: skip

    def _commit(self, source_positions: SourcePositions, job: Job, done: Sequence[Done]) -> Taken:
        kept = list(_contiguous(done))
        reached = {str(task.range.partition): task.reached for task in kept}
        parts = [part for task in kept for part in task.files]
        letters = pa.concat_tables([task.letters for task in kept])
        breaker = Breaker(self._log.topic.name, job.kafka.max_dead)
        rows = sum(part.file.rows for part in parts)
        breaker.check(rows, letters.num_rows, lambda: letters["reason"].slice(0, 3).to_pylist())
        self._inlet.check()
        sources = list(dict.fromkeys(letters["source"].to_pylist()))
        dead_moves = source_positions.dead_moves(reached, sources)
        if letters.num_rows:
            self._dead.append(
                letters, source=letters["source"].combine_chunks(), arrived_at=job.arrived_at, moves=dead_moves
            )
        moves = source_positions.moves(reached, {})
        unknown = together(task.unknown for task in kept)
        appended = commit_parts(self._log, job.stamp, parts, moves, unknown)
        source_positions.moved(moves, dead_moves)
        self._inlet.taken(reached)
        self._committed(self._log, appended.commit)
        positions = {source: position.log for source, position in sorted(source_positions.sources.items())}
        spelled = {source: self._inlet.spell(source, at) for source, at in positions.items()}
        counts = told(unknown)
        return Taken(self._log.topic.name, appended.rows, letters.num_rows, positions, spelled, "spark", counts)


def split(backlog: Mapping[Partition, tuple[int, int]], tasks: int) -> Iterator[Range]:
    """The backlog in ranges of about the same size, at least so many, in the order of partitions and offsets."""
    from headwater.intake.kafka.ranges import Range

    total = sum(end - first for first, end in backlog.values())
    size = max(1, min(TASK_MESSAGES, -(-total // tasks)))
    start = 0
    for partition, (first, end) in sorted(backlog.items()):
        for at in range(first, end, size):
            upto = min(at + size, end, at + MOST_ROWS - start)
            if upto > at:
                yield Range(partition, at, upto, start)
            start += upto - at


def _run(session: Any, job: Job, ranges: Sequence[Range]) -> list[Done]:
    """Each range in a task of its own."""

    def take(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield pa.record_batch([pa.array([_attempt(job, ranges[at])], pa.binary())], ["done"])

    numbers = session.range(0, len(ranges), 1, len(ranges))
    outcomes = [pickle.loads(row["done"]) for row in numbers.mapInArrow(take, "done binary").collect()]  # noqa: S301
    for failed in outcomes:
        if isinstance(failed, HeadwaterError):
            raise failed
    return sorted(outcomes, key=lambda done: (done.range.partition, done.range.first))


def _attempt(job: Job, range_: Range) -> bytes:
    from headwater.intake.kafka.ranges import take_range

    try:
        return pickle.dumps(take_range(job, range_))
    except HeadwaterError as error:
        return pickle.dumps(error)


def _contiguous(done: Sequence[Done]) -> Iterator[Done]:
    """The ranges up to where each partition could be read: behind an open transaction there is nothing yet."""
    ended: set[Partition] = set()
    for task in done:
        if task.range.partition not in ended:
            yield task
            if task.reached < task.range.end:
                ended.add(task.range.partition)
