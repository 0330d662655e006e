"""From a Kafka topic into the log, each message exactly once.

A *session* is one life of a consumer. It begins where the log stands, and each of its commits has the rows and the next
offset of every partition in one entry: so a session that ends in the middle, by an error or by a kill, is forgotten,
and the next one goes on from what the log says. Nothing is remembered elsewhere; offsets are committed to Kafka for its
own tools only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import pyarrow as pa
from confluent_kafka import KafkaError, Message

from headwater.errors import HeadwaterError, SourceUnavailable
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.kafka.client import Client, Described
from headwater.intake.kafka.codec import codec_of
from headwater.intake.kafka.gather import Gathered, messages_of, place_of, with_envelopes
from headwater.intake.kafka.positions import Positions
from headwater.intake.kafka.tombstones import with_deletions
from headwater.intake.messages import Codec
from headwater.intake.schema.written import Schemas
from headwater.log import TopicLog
from headwater.model import Kafka, Table

_logger = logging.getLogger("headwater.kafka")

MOST_MESSAGES = 50_000
MOST_BYTES = 64 * 1024 * 1024
"""How much may wait for one commit; nothing more is read until it is made, and librdkafka stops fetching when its own
queue (`queued.max.messages.kbytes`) is full."""
AT_ONCE = 5_000
LOOK_EVERY = timedelta(seconds=5)
"""How often a silent topic is looked at: for new partitions, and for whether its watermark may move on."""
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
    """What a run took in: rows, dead letters, and the next offset of each partition after it."""

    stream: str
    rows: int
    dead: int
    positions: Mapping[int, int]


class KafkaIntake:
    """The intake of one stream or table. One thread at a time; of two processes one is `Fenced` off."""

    def __init__(
        self,
        log: TopicLog,
        dead: TopicLog,
        *,
        options: Mapping[str, str],
        group: str,
        schemas: Schemas | None = None,
        committed: Callable[[TopicLog, int], None] = lambda _, __: None,
    ) -> None:
        assert log.topic.intake is not None
        self.kafka: Kafka = log.topic.intake
        self._log = log
        self._dead = dead
        self._decoder = Decoder(log.topic)
        self._codec = codec_of(log.topic, options, schemas)
        self._options = options
        self._group = group
        self._committed = committed

    def drain(self) -> Taken:
        """Take in everything up to where each partition ends now, and return."""
        rows = dead = 0
        while True:
            with self._session() as session:
                finished = session.drain()
                taken = session.taken
                rows, dead = rows + taken.rows, dead + taken.dead
                if finished:
                    return replace(taken, rows=rows, dead=dead)

    def run(self, halt: Halting) -> None:
        """Take in whatever comes until the halt is wanted. What may pass by itself is waited for; the rest raises."""
        failures = 0
        while not halt.is_wanted:
            try:
                with self._session() as session:
                    failures = 0
                    session.run(halt)
            except HeadwaterError as failed:
                if not failed.transient:
                    raise
                pause = min(BACKOFF * 2**failures, LONGEST_BACKOFF)
                failures = min(failures + 1, 10)
                _logger.warning("%s; trying again in %s s", failed.summary, pause.total_seconds())
                halt.wait(pause)

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        client = Client(self.kafka, self._options, self._group)
        try:
            session = _Session(client, self.kafka, self._log, self._dead, self._decoder, self._codec, self._committed)
            session.open()
            yield session
        finally:
            client.close()


class _Again(Exception):  # says what to do
    """The session must begin anew: the log knows better than the consumer where to go on."""


class _Session:
    def __init__(
        self,
        client: Client,
        kafka: Kafka,
        log: TopicLog,
        dead: TopicLog,
        decoder: Decoder,
        codec: Codec | None,
        committed: Callable[[TopicLog, int], None],
    ) -> None:
        self._client = client
        self._kafka = kafka
        self._log = log
        self._dead = dead
        self._decoder = decoder
        self._committed = committed
        self._codec = codec
        self._positions = Positions(kafka, log, dead)
        self._at_end: set[int] = set()
        self._targets: dict[int, int] = {}
        self._looked_at = self._heard_at = time.monotonic()
        self._rows = self._letters = 0

    @property
    def taken(self) -> Taken:
        places = self._positions.places
        return Taken(self._log.topic.name, self._rows, self._letters, {at: places[at].log for at in sorted(places)})

    # Beginning

    def open(self) -> None:
        """Find out where the log stands, and begin to read there."""
        found = self._client.describe()
        if found is None and not self._positions.begun:
            raise SourceUnavailable(
                f'Kafka has no topic "{self._kafka.topic}" yet',
                detail=f'It is the source of "{self._log.topic.name}".',
                hint="Create it, or check its name in the declaration and the brokers.",
                topic=self._log.topic.name,
            )
        self._admit(self._positions.check(found))

    def _admit(self, described: Described) -> None:
        begins = self._positions.admit(self._client, described)
        if begins:
            self._targets |= {partition: self._client.bounds(partition).high for partition in begins}
            self._client.assign(begins)

    # Reading

    def drain(self) -> bool:
        """Read up to the ends that were found at the beginning; False if another session must go on."""
        try:
            while not self._is_drained():
                gathered = self._gather(self._is_drained)
                self._commit(gathered)
                self._refuse_silence()
        except _Again:
            return False
        return True

    def run(self, halt: Halting) -> None:
        """Read until the halt is wanted, or another session must go on."""
        try:
            while not halt.is_wanted:
                gathered = self._gather(lambda: halt.is_wanted)
                self._commit(gathered)
                self._look()
        except _Again:
            return

    def _is_drained(self) -> bool:
        places = self._positions.places
        return all(at in self._at_end or places[at].log >= end for at, end in self._targets.items())

    def _gather(self, is_enough: Callable[[], bool]) -> Gathered:
        gathered = Gathered()
        ends_at = time.monotonic() + self._kafka.commit_every.total_seconds()
        while True:
            left = max(0.0, ends_at - time.monotonic())
            self._take(self._client.read(AT_ONCE, min(left, 0.1)), gathered)
            if not left or gathered.count >= MOST_MESSAGES or gathered.size >= MOST_BYTES or is_enough():
                return gathered

    def _take(self, read: list[Message], gathered: Gathered) -> None:
        """Messages, and here and there the end of a partition or an error, in the order in which they came."""
        begin = 0
        for at, problem in enumerate(map(Message.error, read)):
            if problem is not None:
                self._at_end -= gathered.add(read[begin:at])
                self._hear(read[at], problem, gathered)
                begin = at + 1
        self._at_end -= gathered.add(read[begin:])

    def _hear(self, message: Message, problem: KafkaError, gathered: Gathered) -> None:
        """What came instead of a message: the end of a partition, or an error."""
        if problem.code() == KafkaError._PARTITION_EOF:
            partition, offset = place_of(message)
            self._at_end.add(partition)
            self._heard_at = time.monotonic()
            gathered.reach(partition, offset)
        elif problem.code() in _GONE:
            raise _Again
        elif (refusal := self._client.refusal(problem)) is not None:
            raise refusal
        else:
            _logger.info("Kafka said of %s: %s", self._kafka.topic, problem)

    # Committing

    def _commit(self, gathered: Gathered) -> None:
        """Append what was gathered: dead letters first, then the rows with the offsets, in one entry."""
        moves = self._positions.moves(gathered.reached)
        if not moves:
            return
        self._heard_at = time.monotonic()
        # asked after the messages were read: if the topic is still the one it was, they are from it
        described = self._positions.check(self._client.describe())
        arrived_at = self._log.now()
        parts = {at: self._decode(at, found, arrived_at) for at, found in gathered.partitions()}
        letters = {at: part.dead for at, part in parts.items() if part.dead.num_rows}
        dead_moves = self._positions.dead_moves(gathered.reached, letters)
        if letters:
            self._dead.append(
                pa.concat_tables(letters.values()),
                source=self._sources(letters),
                arrived_at=arrived_at,
                moves=dead_moves,
            )
        rows = {at: part.rows for at, part in parts.items()}
        self._expect_laggards()
        appended = self._log.append(
            pa.concat_tables([self._decoder.schema.empty_table(), *rows.values()]),
            source=self._sources(rows),
            arrived_at=arrived_at,
            moves=moves,
        )
        self._positions.moved(moves, dead_moves)
        self._rows += appended.rows
        self._letters += sum(part.num_rows for part in letters.values())
        self._client.show({at: self._positions.places[at].log for at in gathered.reached})
        self._committed(self._log, appended.commit)
        self._admit(described)

    def _decode(self, partition: int, found: list[Message], arrived_at: datetime) -> Decoded:
        buried, source = self._positions.places[partition].buried, self._positions.source(partition)
        if buried:
            found = [message for message in found if message.offset() not in buried]
        messages = messages_of(self._log.topic, self._kafka, found)
        read = messages if self._codec is None else self._codec.read(messages)
        if isinstance(self._log.topic, Table):
            read = with_deletions(self._log.topic, self._codec, read, found)
        decoded = self._decoder.decode(read, source=source, where=source, arrived_at=arrived_at)
        return replace(decoded, dead=with_envelopes(decoded.dead, found))

    def _sources(self, parts: Mapping[int, pa.Table]) -> pa.Array:
        named = [pa.repeat(pa.scalar(self._positions.source(at)), part.num_rows) for at, part in parts.items()]
        return pa.concat_arrays([pa.array([], pa.string()), *named])

    def _expect_laggards(self) -> None:
        """Keep a partition that isn't at its end from being taken for idle: it is we who are behind, not it."""
        if self._log.topic.idle is not None:
            behind = self._positions.places.keys() - self._at_end
            self._log.expect([self._positions.source(partition) for partition in sorted(behind)])

    # Silence

    def _look(self) -> None:
        """Now and then: take up new partitions, and let the watermark move on if every partition is at its end."""
        every = min(LOOK_EVERY, self._log.topic.idle or LOOK_EVERY).total_seconds()
        if time.monotonic() - self._looked_at < every:
            return
        self._looked_at = time.monotonic()
        self._admit(self._positions.check(self._client.describe()))
        if self._at_end >= self._positions.places.keys():
            self._log.tick()

    def _refuse_silence(self) -> None:
        if time.monotonic() - self._heard_at > PATIENCE.total_seconds():
            raise SourceUnavailable(
                f'nothing came from the Kafka topic "{self._kafka.topic}" for {PATIENCE.total_seconds():.0f} seconds',
                detail="It is not at its end. What was taken in before is in the log.",
                hint="See whether its brokers run and can be reached from here; then repeat the call.",
                topic=self._log.topic.name,
            )
