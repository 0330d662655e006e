"""From a Kafka topic into the log, each message exactly once.

A *session* is one life of a consumer. It begins where the log stands, and each of its commits has the rows and the next
offset of every partition in one entry: so a session that ends in the middle, by an error or by a kill, is forgotten,
and the next one goes on from what the log says. Nothing is remembered elsewhere; offsets are committed to Kafka for its
own tools only.

Sessions that run share the partitions as *members* of a consumer group. A partition that goes from one to another is
begun where the log stands; what its former reader had gathered is forgotten, and if it comes to commit it all the same,
the log refuses one of the two, which begins anew.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from confluent_kafka import KafkaError, Message

from headwater.errors import Fenced, HeadwaterError, SourceUnavailable
from headwater.intake.breaker import Breaker
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.kafka.client import INSTANCE, Client, Described, Partition
from headwater.intake.kafka.codec import codec_of
from headwater.intake.kafka.dead_topic import DeadTopic
from headwater.intake.kafka.gather import Gathered, messages_of, place_of, with_envelopes
from headwater.intake.kafka.member import claimed_name
from headwater.intake.kafka.positions import Positions
from headwater.intake.kafka.tombstones import with_deletions
from headwater.intake.schema.written import Schemas
from headwater.log import Move, TopicLog
from headwater.model import Kafka, Table

_logger = logging.getLogger("headwater.kafka")

MOST_MESSAGES = 50_000
MOST_BYTES = 64 * 1024 * 1024
"""How much may wait for one commit; nothing more is read until it is made, and librdkafka stops fetching when its own
queue (`queued.max.messages.kbytes`) is full."""
AT_ONCE = 5_000
LOOK_EVERY = timedelta(seconds=5)
"""How often a silent topic is looked at: whether it is still there, and whether its watermark may move on."""
PATIENCE = timedelta(seconds=60)
"""How long `drain` waits for a topic from which nothing comes although it isn't at its end."""
BACKOFF = timedelta(milliseconds=500)
LONGEST_BACKOFF = timedelta(seconds=30)
_GONE = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


class Halting(Protocol):
    """The end of some work, as whoever runs an intake says it."""

    @property
    def is_wanted(self) -> bool:
        """Whether the work shall end."""

    def wait(self, duration: timedelta) -> None:
        """Wait so long, or until the work shall end."""


@dataclass(frozen=True)
class Taken:
    """What a run took in: rows, dead letters, and the next offset of each partition (`payments[0]`) after it."""

    stream: str
    rows: int
    dead: int
    positions: Mapping[str, int]


class KafkaIntake:
    """The intake of one stream or table. One thread at a time; processes that `run` share the partitions."""

    def __init__(
        self,
        log: TopicLog,
        dead: TopicLog,
        *,
        options: Mapping[str, str],
        group: str,
        folder: Path,
        schemas: Schemas | None = None,
        committed: Callable[[TopicLog, int], None] = lambda _, __: None,
        waits: Callable[[str, HeadwaterError | None], None] = lambda _, __: None,
    ) -> None:
        """`committed` is told of each commit; `waits` of what keeps a run waiting, and (None) that it goes on."""
        assert log.topic.intake is not None
        self.kafka: Kafka = log.topic.intake
        self.log = log
        self.dead = dead
        self.decoder = Decoder(log.topic)
        self.codec = codec_of(log.topic, options, schemas)
        self._options = options
        self._group = group
        self._folder = folder
        self.committed = committed
        self.waits = waits
        self.is_going_on = False
        self.breaker = Breaker(log.topic.name, self.kafka.max_dead)
        copies = self.kafka.dead_topic
        self.copies = None if copies is None else DeadTopic(copies, self.kafka, options)

    def drain(self) -> Taken:
        """Take in everything up to where each partition ends now, and return; `Fenced` if another process takes in."""
        rows = dead = 0
        while True:
            with self._session(self._options) as session:
                session.open_all()
                finished = session.drain()
                taken = session.taken
                rows, dead = rows + taken.rows, dead + taken.dead
                if finished:
                    return replace(taken, rows=rows, dead=dead)

    def run(self, halt: Halting) -> None:
        """Take in whatever comes, beside other members of the group, until the halt is wanted.

        What may pass by itself is waited for; the rest raises.
        """
        with claimed_name(self._folder, self._group, self.log.topic.name) as name:
            self._run(halt, {INSTANCE: name, **self._options})

    def _run(self, halt: Halting, options: Mapping[str, str]) -> None:
        failures = 0
        while not halt.is_wanted:
            try:
                with self._session(options) as session:
                    session.join()
                    session.run(halt)
            except HeadwaterError as failed:
                if not failed.transient and not isinstance(failed, Fenced):
                    raise
                failures = 0 if self.is_going_on else failures
                self.is_going_on = False
                pause = min(BACKOFF * 2**failures, LONGEST_BACKOFF)
                failures = min(failures + 1, 10)
                _logger.warning("%s; trying again in %s s", failed.summary, pause.total_seconds())
                self.waits(self.log.topic.name, failed)
                halt.wait(pause)

    @contextmanager
    def _session(self, options: Mapping[str, str]) -> Iterator[_Session]:
        client = Client(self.kafka, options, self._group)
        try:
            yield _Session(self, client)
        finally:
            client.close()


@contextmanager
def _without_collecting() -> Iterator[None]:
    """No collection of garbage meanwhile: so many records that live for a moment would have it go through everything
    that the process holds, again and again, which costs as much as reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Again(Exception):  # says what to do
    """The session must begin anew: the log knows better than the consumer where to go on."""


class _Session:
    def __init__(self, intake: KafkaIntake, client: Client) -> None:
        self._intake = intake
        self._client = client
        self._kafka = intake.kafka
        self._log = intake.log
        self._dead = intake.dead
        self._positions = Positions(self._kafka, self._log, self._dead)
        self._gathered = self._nothing()
        self._at_end: set[Partition] = set()
        self._targets: dict[Partition, int] = {}
        self._revoked: set[Partition] = set()
        self._others_behind: list[Partition] = []
        self._looked_at = self._heard_at = time.monotonic()
        self._rows = self._letters = 0

    @property
    def taken(self) -> Taken:
        places = self._positions.places
        positions = {str(at): places[at].log for at in sorted(places)}
        return Taken(self._log.topic.name, self._rows, self._letters, positions)

    # Beginning

    def open_all(self) -> None:
        """Begin to read every partition where the log stands, alone."""
        found = self._find()
        every = [Partition(topic, number) for topic, one in found.items() for number in one.partitions]
        begins = self._positions.take_up(self._client, every)
        self._targets = {partition: self._client.bounds(partition).high for partition in begins}
        self._client.assign(begins)

    def join(self) -> None:
        """Begin to read the partitions that the group gives us, where the log stands."""
        self._find()
        self._client.join(self._given, self._taken_away)

    def _find(self) -> dict[str, Described]:
        """The topics, held against what the log has of them; where they begin is decided if it wasn't."""
        found = self._client.topics()
        self._positions.check(found)
        if not found:
            raise SourceUnavailable(
                f'Kafka has no topic "{self._kafka.topic}" yet',
                detail=f'It is the source of "{self._log.topic.name}".',
                hint="Create it, or check its name in the declaration and the brokers.",
                topic=self._log.topic.name,
            )
        self._positions.begin(self._client, found)
        return found

    def _given(self, partitions: list[Partition]) -> dict[Partition, int]:
        self._find()
        return self._positions.take_up(self._client, partitions)

    def _taken_away(self, partitions: list[Partition]) -> None:
        self._revoked.update(partitions)
        self._at_end.difference_update(partitions)
        self._gathered.drop(partitions)
        self._positions.let_go(partitions)

    # Reading

    def drain(self) -> bool:
        """Read up to the ends that were found at the beginning; False if another session must go on."""
        try:
            while not self._is_drained():
                self._gather(self._is_drained)
                self._commit()
                self._refuse_silence()
        except _Again:
            return False
        return True

    def run(self, halt: Halting) -> None:
        """Read until the halt is wanted, or another session must go on."""
        try:
            while not halt.is_wanted:
                self._gather(lambda: halt.is_wanted)
                self._commit()
                self._look()
        except _Again:
            return

    def _is_drained(self) -> bool:
        places = self._positions.places
        return all(at in self._at_end or places[at].log >= end for at, end in self._targets.items())

    def _nothing(self) -> Gathered:
        return Gathered(several=len(self._kafka.topics) != 1)

    def _gather(self, is_enough: Callable[[], bool]) -> None:
        self._gathered = gathered = self._nothing()
        ends_at = time.monotonic() + self._kafka.commit_every.total_seconds()
        while True:
            left = max(0.0, ends_at - time.monotonic())
            self._take(self._read(min(left, 0.1)))
            if not left or gathered.count >= MOST_MESSAGES or gathered.size >= MOST_BYTES or is_enough():
                return

    def _read(self, seconds: float) -> list[Message]:
        """What came, without what is of partitions that the group took away while it was read."""
        self._revoked.clear()
        read = self._client.read(AT_ONCE, seconds)
        if not self._revoked:
            return read
        if self._revoked & self._positions.places.keys():  # given back at once: who knows what is of which time
            raise _Again
        return [message for message in read if place_of(message)[0] not in self._revoked]

    def _take(self, read: list[Message]) -> None:
        """Messages, and here and there the end of a partition or an error, in the order in which they came."""
        begin = 0
        for at, problem in enumerate(map(Message.error, read)):
            if problem is not None:
                self._at_end -= self._gathered.add(read[begin:at])
                self._hear(read[at], problem)
                begin = at + 1
        self._at_end -= self._gathered.add(read[begin:])

    def _hear(self, message: Message, problem: KafkaError) -> None:
        """What came instead of a message: the end of a partition, or an error."""
        if problem.code() == KafkaError._PARTITION_EOF:
            partition, offset = place_of(message)
            self._at_end.add(partition)
            self._heard_at = time.monotonic()
            self._gathered.reach(partition, offset)
        elif problem.code() in _GONE:
            raise _Again
        elif (refusal := self._client.refusal(problem)) is not None:
            raise refusal
        else:
            _logger.info("Kafka said of %s: %s", self._kafka.topic, problem)

    # Committing

    def _commit(self) -> None:
        """Append what was gathered: dead letters first, then the rows with the offsets, in one entry."""
        gathered = self._gathered
        moves = self._positions.moves(gathered.reached)
        if not moves:
            return
        self._heard_at = time.monotonic()
        # asked after the messages were read: if the topic is still the one it was, they are from it
        self._positions.check(self._client.topics())
        arrived_at = self._log.now()
        parts = {at: self._decode(at, found, arrived_at) for at, found in gathered.partitions()}
        letters = {at: part.dead for at, part in parts.items() if part.dead.num_rows}
        self._refuse_poison(parts)
        dead_moves = self._positions.dead_moves(gathered.reached, letters)
        if letters:
            self._bury(letters, dead_moves, arrived_at)
        rows = {at: part.rows for at, part in parts.items()}
        self._expect_laggards()
        appended = self._log.append(
            pa.concat_tables([self._intake.decoder.schema.empty_table(), *rows.values()]),
            source=self._sources(rows),
            arrived_at=arrived_at,
            moves=moves,
        )
        self._positions.moved(moves, dead_moves)
        self._count(appended.rows, sum(part.num_rows for part in letters.values()))
        self._client.show({at: self._positions.places[at].log for at in gathered.reached})
        self._intake.committed(self._log, appended.commit)

    def _refuse_poison(self, parts: Mapping[Partition, Decoded]) -> None:
        """Append nothing if far too much of it is dead."""

        def reasons() -> list[str]:
            first = (part.dead["reason"][0].as_py() for part in parts.values() if part.dead.num_rows)
            return list(islice(first, 3))

        rows = sum(part.rows.num_rows for part in parts.values())
        self._intake.breaker.check(rows, sum(part.dead.num_rows for part in parts.values()), reasons)

    def _bury(self, letters: Mapping[Partition, pa.Table], moves: Sequence[Move], arrived_at: datetime) -> None:
        if self._intake.copies is not None:
            every = {f"{at}:{one.offset()}": one for at, found in self._gathered.partitions() for one in found}
            for part in letters.values():
                self._intake.copies.copy(part, every)
        rows = pa.concat_tables(letters.values())
        self._dead.append(rows, source=self._sources(letters), arrived_at=arrived_at, moves=moves)

    def _count(self, rows: int, letters: int) -> None:
        self._rows += rows
        self._letters += letters
        self._intake.breaker.passed(rows, letters)
        if not self._intake.is_going_on:
            self._intake.is_going_on = True
            self._intake.waits(self._log.topic.name, None)

    def _decode(self, partition: Partition, found: list[Message], arrived_at: datetime) -> Decoded:
        buried, source = self._positions.places[partition].buried, str(partition)
        if buried:
            found = [message for message in found if message.offset() not in buried]
        messages = messages_of(self._log.topic, self._kafka, found)
        with _without_collecting() if self._intake.codec is not None else nullcontext():
            read = messages if self._intake.codec is None else self._intake.codec.read(messages)
            if isinstance(self._log.topic, Table):
                read = with_deletions(self._log.topic, self._intake.codec, read, found)
            decoded = self._intake.decoder.decode(read, source=source, where=source, arrived_at=arrived_at)
        return replace(decoded, dead=with_envelopes(decoded.dead, found))

    def _sources(self, parts: Mapping[Partition, pa.Table]) -> pa.Array:
        named = [pa.repeat(pa.scalar(str(at)), part.num_rows) for at, part in parts.items()]
        return pa.concat_arrays([pa.array([], pa.string()), *named])

    def _expect_laggards(self) -> None:
        """Keep a partition that isn't at its end from being taken for idle: it is we who are behind, not it."""
        if self._log.topic.idle is not None:
            behind = [*(self._positions.places.keys() - self._at_end), *self._others_behind]
            self._log.expect([str(partition) for partition in sorted(behind)])

    # Silence

    def _look(self) -> None:
        """Now and then: let the watermark move on if every partition is at its end, whoever reads it."""
        every = min(LOOK_EVERY, self._log.topic.idle or LOOK_EVERY).total_seconds()
        if time.monotonic() - self._looked_at < every:
            return
        self._looked_at = time.monotonic()
        found = self._client.topics()
        self._positions.check(found)
        if self._log.topic.idle is None:
            return
        self._others_behind = self._positions.behind(self._client, found)
        if self._others_behind or not self._at_end >= self._positions.places.keys():
            self._expect_laggards()
        else:
            self._log.tick()

    def _refuse_silence(self) -> None:
        if time.monotonic() - self._heard_at > PATIENCE.total_seconds():
            raise SourceUnavailable(
                f'nothing came from the Kafka topic "{self._kafka.topic}" for {PATIENCE.total_seconds():.0f} seconds',
                detail="It is not at its end. What was taken in before is in the log.",
                hint="See whether its brokers run and can be reached from here; then repeat the call.",
                topic=self._log.topic.name,
            )
