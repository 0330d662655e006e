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

from headwater.errors import EventsLost, HeadwaterError, RetentionGap, SourceReplaced
from headwater.intake.dead import Letter, table_of
from headwater.intake.kafka.client import Bounds, Client, Described
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
    """The partitions of one topic as the logs know them. Not thread-safe."""

    def __init__(self, kafka: Kafka, log: TopicLog, dead: TopicLog) -> None:
        self._kafka = kafka
        self._log = log
        self._dead = dead
        self.places: dict[int, Place] = {}

    def source(self, partition: int) -> str:
        """The name of a partition, as rows and dead letters have it."""
        return f"{self._kafka.topic}[{partition}]"

    def producer(self, partition: int) -> str:
        """Under which name the logs keep its offset."""
        return f"kafka:{self.source(partition)}"

    @property
    def _identity(self) -> str:
        return f"kafka:{self._kafka.topic}"

    def check(self, found: Described | None) -> Described:
        """Refuse a topic that is not, or no longer, the one whose offsets the log has."""
        known = self._log.position(self._identity)
        if found is None or (known is not None and known != found.identity):
            raise self._replaced(
                "is gone" if found is None else "was deleted and made anew",
                "Offsets that the log has taken in no longer mean the same events.",
            )
        return found

    @property
    def begun(self) -> bool:
        """Whether the log has taken in anything of the topic, or decided where to begin."""
        return self._log.position(self._identity) is not None

    # Beginning

    def admit(self, client: Client, described: Described) -> dict[int, int]:
        """Take up the partitions that aren't read yet; returns the offset at which each begins."""
        begun, moves = self.begun, []
        fresh = [partition for partition in described.partitions if partition not in self.places]
        for partition in fresh:
            moves += self._take_up(client, partition, begun)
        if not begun:
            moves.append(Move(self._identity, None, described.identity))
        if moves:
            self._log.append(layout_of(self._log.topic).schema.empty_table(), moves=moves)
        self._log.expect([self.source(partition) for partition in fresh])
        return {partition: self.places[partition].log for partition in fresh}

    def _take_up(self, client: Client, partition: int, begun: bool) -> list[Move]:
        producer, bounds = self.producer(partition), client.bounds(partition)
        known, dead = self._log.position(producer), self._dead.position(producer)
        start = (
            self._start(client, partition, bounds, begun) if known is None else self._resume(known, partition, bounds)
        )
        if known is not None and start > known:
            dead = self._record_gap(partition, known, start, dead)
        buried = self._buried(partition, start, dead) if dead is not None and dead > start else frozenset()
        self.places[partition] = Place(start, dead, buried)
        return [] if start == known else [Move(producer, known, start)]

    def _start(self, client: Client, partition: int, bounds: Bounds, begun: bool) -> int:
        """Where to begin with a partition; at its start if it came later than the topic itself."""
        start = self._kafka.start
        if begun or start == "earliest":
            return bounds.low
        return client.offset_at(partition, start) if isinstance(start, datetime) else bounds.high

    def _resume(self, known: int, partition: int, bounds: Bounds) -> int:
        """Where to go on; `RetentionGap` or `SourceReplaced` if that can't be done without losing something."""
        if known > bounds.high:
            raise self._replaced(
                "has lost events", f"Partition {partition} ends at {bounds.high}, and the log has it up to {known}."
            )
        if known < bounds.low and self._kafka.gaps == "stop":
            raise self._gap(partition, known, bounds.low)
        return max(known, bounds.low)

    def _buried(self, partition: int, first: int, end: int) -> frozenset[int]:
        """The offsets of dead letters from `first` on."""
        letters = read(self._dead, columns=["source", "position"])
        mine = letters.filter(pc.equal(letters["source"], self.source(partition)))
        texts = pc.replace_substring_regex(mine["position"], r"^.*:", "").to_pylist()
        return frozenset(int(text) for text in texts if text.isdigit() and first <= int(text) < end)

    # Moving

    def moves(self, reached: Mapping[int, int]) -> list[Move]:
        """The moves of the log's offsets to these."""
        places = self.places
        return [Move(self.producer(at), places[at].log, to) for at, to in reached.items() if to != places[at].log]

    def dead_moves(self, reached: Mapping[int, int], partitions: Iterable[int]) -> list[Move]:
        """The moves of the dead letters' offsets to these, for some partitions."""
        return [
            Move(self.producer(at), self.places[at].dead, max(reached[at], self.places[at].dead or 0))
            for at in partitions
        ]

    def moved(self, moves: Iterable[Move], dead_moves: Iterable[Move]) -> None:
        """Say that these have been made."""
        by_producer = {self.producer(partition): place for partition, place in self.places.items()}
        for move in moves:
            by_producer[move.producer].log = move.after
        for move in dead_moves:
            by_producer[move.producer].dead = move.after

    # Gaps

    def _record_gap(self, partition: int, first: int, end: int, dead: int | None) -> int:
        """A dead letter that names the offsets that are gone, unless a run before this one has written it."""
        if dead is not None and dead >= end:
            return dead
        reason = f"offsets {first} to {end - 1} were deleted by Kafka before they were read: {end - first} at most"
        place = f"{self.source(partition)}:{first}-{end - 1}"
        letters = table_of([Letter(0, b"", reason, EventsLost, place)], self.source(partition))
        self._dead.append(letters, source=self.source(partition), moves=[Move(self.producer(partition), dead, end)])
        return end

    def _gap(self, partition: int, known: int, low: int) -> HeadwaterError:
        stream = self._log.topic.name
        return RetentionGap(
            f'events of "{stream}" were deleted by Kafka before they were read',
            detail=f'Offsets {known} to {low - 1} of "{self.source(partition)}" are gone; it begins at {low}. '
            "Nothing was appended since.",
            hint=f"Load them from a copy with `headwater append {stream}`; then say gaps = 'skip' in its WITH: the "
            "range is recorded as a dead letter, and the intake goes on behind it.",
            topic=stream,
            partition=partition,
            first=known,
            last=low - 1,
        )

    def _replaced(self, what: str, detail: str) -> HeadwaterError:
        stream = self._log.topic.name
        return SourceReplaced(
            f'the Kafka topic "{self._kafka.topic}" of "{stream}" {what}',
            detail=f"{detail} Nothing of it was appended; what the log has stays.",
            hint="Declare a stream of another name for the new topic, and read both in a view by UNION ALL.",
            topic=stream,
            kafka_topic=self._kafka.topic,
        )
