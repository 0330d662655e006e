"""A Kafka topic as an inlet: its partitions are sources, and the position of each is its next offset.

Offsets come from the log, and are committed to Kafka for its own tools only. Inlets that are not alone share the
partitions as *members* of a consumer group. A partition that goes from one to another is begun where the log stands;
what its former reader had gathered is forgotten, and if it comes to commit it all the same, the log refuses one of the
two.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from confluent_kafka import KafkaError, Message

from headwater.errors import SourceUnavailable
from headwater.intake.kafka.archive import Archive
from headwater.intake.kafka.codec import codec_of
from headwater.intake.kafka.dead_topic import DeadTopic
from headwater.intake.kafka.gather import Gathered, coordinates_of
from headwater.intake.kafka.member import claimed_name
from headwater.intake.kafka.piece import KafkaPiece
from headwater.intake.kafka.positions import Positions
from headwater.intake.positions import SourcePositions
from headwater.intake.protocol import Again, Inlet, Piece, Wait
from headwater.kafka.admin import Described
from headwater.kafka.client import INSTANCE, Client, Partition
from headwater.model import Kafka, Topic
from headwater.schemas.written import Schemas

_logger = logging.getLogger("headwater.kafka")

MOST_MESSAGES = 50_000
MOST_BYTES = 64 * 1024 * 1024
"""The most that may wait for one commit; nothing more is read until it is made, and librdkafka stops fetching when its
own queue (`queued.max.messages.kbytes`) is full."""
AT_ONCE = 5_000
PATIENCE = timedelta(seconds=60)
"""The time that is waited, alone, for a topic from which nothing comes although it isn't at its end."""
_GONE = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


class KafkaInlet(Inlet):
    """The topics of one stream or table."""

    def __init__(
        self,
        topic: Topic,
        options: Mapping[str, str],
        group: str,
        folder: Path,
        schemas: Schemas | None = None,
        archive: Archive | None = None,
    ) -> None:
        """`folder` is where the processes of this machine tell each other apart."""
        assert isinstance(topic.intake, Kafka)
        self._topic = topic
        self._kafka = topic.intake
        self._options, self._group, self._folder = options, group, folder
        self._archive = archive
        self._codec = codec_of(topic, options, schemas)
        copies = self._kafka.dead_topic
        self._copies = None if copies is None else DeadTopic(copies, self._kafka, options)
        self._held = ExitStack()
        self._gathered = self._nothing()
        self._at_end: set[Partition] = set()
        self._targets: dict[Partition, int] = {}
        self._revoked: set[Partition] = set()
        self._others_behind: list[Partition] = []
        self._is_alone = True
        self._heard_at = time.monotonic()

    # Beginning and ending

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        """Alone, begin to read every partition where the log stands; else those that the group gives us."""
        self._is_alone = alone
        options = dict(self._options)
        if not alone:
            options.setdefault(
                INSTANCE, self._held.enter_context(claimed_name(self._folder, self._group, self._topic.name))
            )
        self._client = Client(self._kafka, options, self._group)
        self._held.callback(self._client.close)
        self._positions = Positions(self._kafka, positions, self._archive)
        topics = self._find()
        if alone:
            every = [Partition(topic, number) for topic, one in topics.items() for number in one.partitions]
            begins = self._positions.take_up(self._client, every)
            self._targets = {partition: self._client.bounds(partition).high for partition in begins}
            self._client.assign(begins)
        else:
            self._client.join(self._given, self._taken_away)

    def close(self) -> None:
        """Leave the group, and let go of the connections."""
        self._held.close()

    def _find(self) -> dict[str, Described]:
        """The topics, held against what the log has of them; where they begin is decided if it wasn't."""
        topics = self._client.topics()
        self._positions.check(topics)
        if not topics:
            raise SourceUnavailable(
                f'Kafka has no topic "{self._kafka.topic}" yet',
                detail=f'It is the source of "{self._topic.name}".',
                hint="Create it, or check its name in the declaration and the brokers.",
                topic=self._topic.name,
            )
        self._positions.begin(self._client, topics)
        return topics

    def _given(self, partitions: list[Partition]) -> dict[Partition, int]:
        self._find()
        return self._positions.take_up(self._client, partitions)

    def _taken_away(self, partitions: list[Partition]) -> None:
        self._revoked.update(partitions)
        self._at_end.difference_update(partitions)
        self._gathered.drop(partitions)
        self._positions.let_go(partitions)

    # Reading

    def read(self, wait: Wait) -> Sequence[Piece]:
        """The messages of each partition, in the order of topics and numbers."""
        self._gathered = gathered = self._nothing()
        while True:
            is_last = wait.is_over
            self._take(self._fetch(min(wait.left.total_seconds(), 0.1)))
            if is_last or gathered.count >= MOST_MESSAGES or gathered.size >= MOST_BYTES or self.is_drained:
                break
        if self._is_alone and not gathered.reached:
            self._refuse_silence()
        return [KafkaPiece(at, messages, to, self._kafka, self._codec) for at, messages, to in gathered.partitions()]

    @property
    def is_drained(self) -> bool:
        """Tells whether each partition was read up to where it ended at the beginning, or ends now."""
        reached = self._gathered.reached
        return self._is_alone and all(
            at in self._at_end or reached.get(at, self._positions.offset(at)) >= end
            for at, end in self._targets.items()
        )

    @property
    def backlog(self) -> dict[Partition, tuple[int, int]]:
        """The range to be read of each partition when it is opened alone: from an offset to before another."""
        ranges = {at: (self._positions.offset(at), end) for at, end in self._targets.items()}
        return {at: (first, end) for at, (first, end) in ranges.items() if first < end}

    def _nothing(self) -> Gathered:
        return Gathered(several=len(self._kafka.topics) != 1)

    def _fetch(self, seconds: float) -> list[Message]:
        """The messages that came, without those of partitions that the group took away while it was read."""
        self._revoked.clear()
        read = self._client.read(AT_ONCE, seconds)
        if not self._revoked:
            return read
        if self._revoked & self._positions.read:  # given back at once: who knows what is of which time
            raise Again
        return [message for message in read if coordinates_of(message)[0] not in self._revoked]

    def _take(self, read: list[Message]) -> None:
        """Messages, and here and there the end of a partition or an error, in the order in which they came."""
        begin = 0
        for at, problem in enumerate(map(Message.error, read)):
            if problem is not None:
                self._at_end -= self._gathered.add(read[begin:at])
                self._hear(read[at], problem)
                begin = at + 1
        self._at_end -= self._gathered.add(read[begin:])
        if read:
            self._heard_at = time.monotonic()

    def _hear(self, message: Message, problem: KafkaError) -> None:
        """Take what came instead of a message: the end of a partition, or an error."""
        if problem.code() == KafkaError._PARTITION_EOF:
            partition, offset = coordinates_of(message)
            self._at_end.add(partition)
            self._gathered.reach(partition, offset)
        elif problem.code() in _GONE:
            raise Again
        elif (refusal := self._client.refusal(problem)) is not None:
            raise refusal
        else:
            _logger.info("Kafka said of %s: %s", self._kafka.topic, problem)

    def _refuse_silence(self) -> None:
        if time.monotonic() - self._heard_at > PATIENCE.total_seconds():
            raise SourceUnavailable(
                f'nothing came from the Kafka topic "{self._kafka.topic}" for {PATIENCE.total_seconds():.0f} seconds',
                detail="It is not at its end. What was taken in before is in the log.",
                hint="See whether its brokers run and can be reached from here; then repeat the call.",
                topic=self._topic.name,
            )

    # Around a commit

    def check(self) -> None:
        """Refuse messages of a topic that was made anew."""
        self._positions.check(self._client.topics())

    def bury(self, piece: Piece, letters: pa.Table) -> None:
        """Write copies to the topic for dead letters, if one is declared."""
        if self._copies is not None and isinstance(piece, KafkaPiece):
            self._copies.copy(letters, {f"{piece.where}:{one.offset()}": one for one in piece.messages})

    def taken(self, positions: Mapping[str, int]) -> None:
        """Show the offsets to the tools of Kafka."""
        self._client.show({at: positions[str(at)] for at in self._positions.read if str(at) in positions})

    @property
    def behind(self) -> Sequence[str]:
        """The partitions that are not at their end, whoever reads them."""
        return [str(partition) for partition in (*(self._positions.read - self._at_end), *self._others_behind)]

    def look(self) -> None:
        """Ask which topics there are, and how far others have come with the partitions that they read."""
        topics = self._client.topics()
        self._positions.check(topics)
        self._others_behind = self._positions.behind(self._client, topics)
