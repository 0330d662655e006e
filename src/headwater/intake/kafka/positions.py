"""Where the log stands in a Kafka topic: the next offset of each partition, and which topic it was.

Both are kept by the log itself, in the entries that have the rows: an *offset* as the position of the producer
`kafka:topic[partition]`, the topic's *identity* as that of `kafka:topic`. The log of dead letters keeps its own offset
of a partition, written before that of the log. After a crash between the two it is ahead, and the letters in between
are there already: their offsets are *buried*, and passed by when they are read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow.compute as pc

from headwater.errors import EventsLost, HeadwaterError, RetentionGap, SourceRefused, SourceReplaced
from headwater.intake.dead import Letter, table_of
from headwater.intake.kafka.client import Bounds, Client, Described, Partition
from headwater.intake.layout import layout_of
from headwater.log import Move, TopicLog
from headwater.log.read import read
from headwater.model import Kafka


@dataclass
class Place:
    """A partition that is read: the log's offset, that of its dead letters, and what is buried between them."""

    log: int
    dead: int | None
    buried: frozenset[int] = field(default_factory=frozenset)


class Positions:
    """The partitions of one or several topics as the logs know them. Not thread-safe."""

    def __init__(self, kafka: Kafka, log: TopicLog, dead: TopicLog) -> None:
        self._kafka = kafka
        self._log = log
        self._dead = dead
        self.places: dict[Partition, Place] = {}

    def check(self, found: Mapping[str, Described]) -> None:
        """Refuse a topic that is not, or no longer, the one whose offsets the log has."""
        for topic in {*found, *self._kafka.topics, *(partition.topic for partition in self.places)}:
            known, described = self._log.position(_identity(topic)), found.get(topic)
            if known is not None and (described is None or known != described.identity):
                raise self._replaced(
                    topic,
                    "is gone" if described is None else "was deleted and made anew",
                    "Offsets that the log has taken in no longer mean the same events.",
                )

    # Beginning

    def begin(self, client: Client, found: Mapping[str, Described]) -> None:
        """Decide, once for all members of the group, where topics begin that the log has nothing of."""
        fresh = [topic for topic in found if self._log.position(_identity(topic)) is None]
        later = len(fresh) < len(found) and self._kafka.pattern is not None
        moves = []
        for topic in fresh:
            moves.append(Move(_identity(topic), None, found[topic].identity))
            for number in found[topic].partitions:
                at = Partition(topic, number)
                moves.append(Move(_producer(at), None, client.bounds(at).low if later else self._start(client, at)))
        if moves:
            self._log.append(layout_of(self._log.topic).schema.empty_table(), moves=moves)
            partitions = [Partition(topic, number) for topic in fresh for number in found[topic].partitions]
            self._log.expect([str(partition) for partition in partitions])

    def take_up(self, client: Client, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Read these partitions from now on; returns the offset at which each begins."""
        taken, moves = list(partitions), []
        for partition in taken:
            moves += self._take_up(client, partition)
        if moves:
            self._log.append(layout_of(self._log.topic).schema.empty_table(), moves=moves)
        self._log.expect([str(partition) for partition in taken])
        return {partition: self.places[partition].log for partition in taken}

    def let_go(self, partitions: Iterable[Partition]) -> None:
        """Read these partitions no more."""
        for partition in partitions:
            self.places.pop(partition, None)

    def behind(self, client: Client, found: Mapping[str, Described]) -> list[Partition]:
        """The partitions that others read, or nobody, and of which the log doesn't have everything."""
        others = (Partition(topic, number) for topic, one in found.items() for number in one.partitions)
        return [
            other
            for other in others
            if other not in self.places and (self._log.position(_producer(other)) or 0) < client.bounds(other).high
        ]

    def _take_up(self, client: Client, partition: Partition) -> list[Move]:
        producer, bounds = _producer(partition), client.bounds(partition)
        known, dead = self._log.position(producer), self._dead.position(producer)
        # a partition that came later than its topic is read from its start
        start = bounds.low if known is None else self._resume(known, partition, bounds)
        if known is not None and start > known:
            dead = self._record_gap(partition, known, start, dead)
        buried = self._buried(partition, start, dead) if dead is not None and dead > start else frozenset()
        self.places[partition] = Place(start, dead, buried)
        return [] if start == known else [Move(producer, known, start)]

    def _start(self, client: Client, partition: Partition) -> int:
        """Where the first run begins with a partition."""
        start, bounds = self._kafka.start, client.bounds(partition)
        if isinstance(start, datetime):
            return client.offset_at(partition, start)
        if isinstance(start, str):
            return bounds.low if start == "earliest" else bounds.high
        wanted = dict(start).get(partition.number, bounds.low)
        if not bounds.low <= wanted <= bounds.high:
            raise SourceRefused(
                f'partition "{partition}" has no offset {wanted} to begin at',
                detail=f"It has {bounds.low} up to {bounds.high}. Nothing was appended.",
                hint=f'Name another one in start of "{self._log.topic.name}".',
                topic=self._log.topic.name,
            )
        return wanted

    def _resume(self, known: int, partition: Partition, bounds: Bounds) -> int:
        """Where to go on; `RetentionGap` or `SourceReplaced` if that can't be done without losing something."""
        if known > bounds.high:
            raise self._replaced(
                partition.topic,
                "has lost events",
                f"Partition {partition.number} ends at {bounds.high}, and the log has it up to {known}.",
            )
        if known < bounds.low and self._kafka.gaps == "stop":
            raise self._gap(partition, known, bounds.low)
        return max(known, bounds.low)

    def _buried(self, partition: Partition, first: int, end: int) -> frozenset[int]:
        """The offsets of dead letters from `first` on."""
        letters = read(self._dead, columns=["source", "position"])
        mine = letters.filter(pc.equal(letters["source"], str(partition)))
        texts = pc.replace_substring_regex(mine["position"], r"^.*:", "").to_pylist()
        return frozenset(int(text) for text in texts if text.isdigit() and first <= int(text) < end)

    # Moving

    def moves(self, reached: Mapping[Partition, int]) -> list[Move]:
        """The moves of the log's offsets to these."""
        places = self.places
        return [Move(_producer(at), places[at].log, to) for at, to in reached.items() if to != places[at].log]

    def dead_moves(self, reached: Mapping[Partition, int], partitions: Iterable[Partition]) -> list[Move]:
        """The moves of the dead letters' offsets to these, for some partitions."""
        return [
            Move(_producer(at), self.places[at].dead, max(reached[at], self.places[at].dead or 0)) for at in partitions
        ]

    def moved(self, moves: Iterable[Move], dead_moves: Iterable[Move]) -> None:
        """Say that these have been made."""
        by_producer = {_producer(partition): place for partition, place in self.places.items()}
        for move in moves:
            by_producer[move.producer].log = move.after
        for move in dead_moves:
            by_producer[move.producer].dead = move.after

    # Gaps

    def _record_gap(self, partition: Partition, first: int, end: int, dead: int | None) -> int:
        """A dead letter that names the offsets that are gone, unless a run before this one has written it."""
        if dead is not None and dead >= end:
            return dead
        reason = f"offsets {first} to {end - 1} were deleted by Kafka before they were read: {end - first} at most"
        place = f"{partition}:{first}-{end - 1}"
        letters = table_of([Letter(0, b"", reason, EventsLost, place)], str(partition))
        self._dead.append(letters, source=str(partition), moves=[Move(_producer(partition), dead, end)])
        return end

    def _gap(self, partition: Partition, known: int, low: int) -> HeadwaterError:
        stream = self._log.topic.name
        return RetentionGap(
            f'events of "{stream}" were deleted by Kafka before they were read',
            detail=f'Offsets {known} to {low - 1} of "{partition}" are gone; it begins at {low}. '
            "Nothing was appended since.",
            hint=f"Load them from a copy with `headwater append {stream}`; then say gaps = 'skip' in its WITH: the "
            "range is recorded as a dead letter, and the intake goes on behind it.",
            topic=stream,
            partition=partition.number,
            first=known,
            last=low - 1,
        )

    def _replaced(self, topic: str, what: str, detail: str) -> HeadwaterError:
        stream = self._log.topic.name
        return SourceReplaced(
            f'the Kafka topic "{topic}" of "{stream}" {what}',
            detail=f"{detail} Nothing of it was appended; what the log has stays.",
            hint="Declare a stream of another name for the new topic, and read both in a view by UNION ALL.",
            topic=stream,
            kafka_topic=topic,
        )


def _identity(topic: str) -> str:
    """Under which name the log keeps which topic it was."""
    return f"kafka:{topic}"


def _producer(partition: Partition) -> str:
    """Under which name the logs keep the offset of a partition."""
    return f"kafka:{partition}"
