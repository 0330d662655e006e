"""Where the log stands in a Kafka topic: the next offset of each partition, and which topic it was.

Both are positions that the log keeps: an *offset* as that of `topic[partition]`, the topic's *identity* as that of
`topic`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from headwater.errors import HeadwaterError, RetentionGap, SourceRefused, SourceReplaced
from headwater.intake.kafka.archive import MARK, Archive
from headwater.intake.positions import SourcePositions
from headwater.kafka.admin import Described
from headwater.kafka.client import Bounds, Client, Partition
from headwater.model import Kafka


class Positions:
    """The partitions of one or several topics as the log knows them. `read` are those that are read here."""

    def __init__(self, kafka: Kafka, positions: SourcePositions, archive: Archive | None = None) -> None:
        self._kafka = kafka
        self._positions = positions
        self._archive = archive
        self.read: set[Partition] = set()

    def offset(self, partition: Partition) -> int:
        """The next offset of a partition that is read, as of the last commit."""
        return self._positions.sources[str(partition)].log

    def check(self, topics: Mapping[str, Described]) -> None:
        """Refuse a topic that is not, or no longer, the one whose offsets the log has."""
        for topic in {*topics, *self._kafka.topics, *(partition.topic for partition in self.read)}:
            known, described = self._positions.position(topic), topics.get(topic)
            if known is not None and (described is None or known != described.identity):
                raise self._replaced(
                    topic,
                    "is gone" if described is None else "was deleted and made anew",
                    "Offsets that the log has taken in no longer mean the same events.",
                )

    # Beginning

    def begin(self, client: Client, topics: Mapping[str, Described]) -> None:
        """Decide, once for all members of the group, where topics begin that the log has nothing of."""
        fresh = [topic for topic in topics if self._positions.position(topic) is None]
        later = len(fresh) < len(topics) and self._kafka.pattern is not None
        partitions = [Partition(topic, number) for topic in fresh for number in topics[topic].partitions]
        identities = {topic: topics[topic].identity for topic in fresh}
        if self._archive is not None and self._positions.position(MARK) is None:
            self._load(self._archive, client, partitions, identities)
            return
        starts = {str(at): client.bounds(at).low if later else self._start(client, at) for at in partitions}
        self._positions.write(identities | starts, starts)

    def _load(
        self, archive: Archive, client: Client, partitions: Sequence[Partition], identities: Mapping[str, int]
    ) -> None:
        """Take the archive in, and begin behind it in the same commit."""
        if not partitions:
            raise self._begun()

        def positions(behind: Mapping[Partition, int]) -> dict[str, int]:
            starts = {str(at): behind[at] if at in behind else self._start(client, at) for at in partitions}
            return {**identities, **starts}

        archive.load(self._positions, partitions, positions)

    def take_up(self, client: Client, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Read these partitions from now on; returns the offset at which each begins."""
        starts = {partition: self._found(client, partition) for partition in partitions}
        self._positions.take_up({str(partition): start for partition, start in starts.items()})
        self.read |= starts.keys()
        return starts

    def let_go(self, partitions: Iterable[Partition]) -> None:
        """Read these partitions no more."""
        gone = list(partitions)
        self._positions.let_go(map(str, gone))
        self.read.difference_update(gone)

    def behind(self, client: Client, topics: Mapping[str, Described]) -> list[Partition]:
        """The partitions that others read, or nobody, and of which the log doesn't have everything."""
        others = (Partition(topic, number) for topic, one in topics.items() for number in one.partitions)
        return [
            other
            for other in others
            if other not in self.read and (self._positions.position(str(other)) or 0) < client.bounds(other).high
        ]

    def _found(self, client: Client, partition: Partition) -> int:
        """Where a partition begins that is taken up; one that came later than its topic is read from its start."""
        bounds, known = client.bounds(partition), self._positions.position(str(partition))
        start = bounds.low if known is None else self._resume(known, partition, bounds)
        if known is not None and start > known:
            lost = (
                f"offsets {known} to {start - 1} were deleted by Kafka before they were read: {start - known} at most"
            )
            self._positions.record_loss(str(partition), known, start, lost)
        return start

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
                hint=f'Name another one in start of "{self._positions.stream}".',
                topic=self._positions.stream,
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

    # Refusals

    def _begun(self) -> HeadwaterError:
        stream = self._positions.stream
        return SourceRefused(
            f'the archive of "{stream}" was declared when the topic was being taken in already',
            detail="The log has offsets of the topic; an archive comes before the first of them.",
            hint=f"Declare a stream of another name with the archive; or load it with `headwater append {stream} "
            "--history`, and take archive out of the declaration.",
            topic=stream,
        )

    def _gap(self, partition: Partition, known: int, low: int) -> HeadwaterError:
        stream = self._positions.stream
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
        stream = self._positions.stream
        return SourceReplaced(
            f'the Kafka topic "{topic}" of "{stream}" {what}',
            detail=f"{detail} Nothing of it was appended; what the log has stays.",
            hint="Declare a stream of another name for the new topic, and read both in a view by UNION ALL.",
            topic=stream,
            kafka_topic=topic,
        )
