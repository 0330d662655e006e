"""An archive of a topic: events that Kafka no longer has, taken in as history before the first message is read.

Its rows have the columns of the stream, by name. All of them are one commit of the log, which also has the offset at
which each partition goes on: so there is neither a gap nor an overlap between the archive and the topic, and a process
that is killed on the way begins the load again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headwater.errors import ArgumentRefused, SourceRefused, SourceUnavailable
from headwater.intake.breaker import Breaker
from headwater.intake.chunk import Chunk, Format
from headwater.intake.dead import NO_LETTERS
from headwater.intake.decode import Decoder
from headwater.intake.files import format_of, read_file
from headwater.intake.folder.shelf import Shelf
from headwater.intake.identity import identities
from headwater.intake.layout import layout_of
from headwater.intake.positions import History, SourcePositions
from headwater.kafka.client import Partition
from headwater.log.bulk import SOURCE
from headwater.log.counts import together
from headwater.model import Column, Kafka, Topic

MARK = "#archive"
"""The position that says that the archive was taken in; no topic of Kafka has such a name."""
_AT_ONCE = 100_000
Chunks = Iterator[tuple[str, Chunk]]
Begin = Callable[[Mapping[Partition, int]], Mapping[str, int]]


@dataclass
class Archive:
    """The archive of one topic. `read` gives its parts, each with where it is, always in the same order."""

    topic: Topic
    read: Callable[[], Chunks]
    _next: dict[Partition, int] = field(default_factory=dict)
    _letters: list[pa.Table] = field(default_factory=list)
    _rows: int = 0
    _unknown: dict[str, int] = field(default_factory=dict)

    def load(self, positions: SourcePositions, partitions: Sequence[Partition], begin: Begin) -> None:
        """Take the archive in; `begin` gives all positions to begin at, from the offsets behind the archive's last."""
        self._next, self._letters, self._rows, self._unknown = {}, [], 0, {}

        def then() -> History:
            letters = pa.concat_tables([NO_LETTERS, *self._letters])
            self._refuse_poison(letters)
            return History(begin(self._next), letters, self._unknown)

        positions.begin_with_history(self._parts(positions, partitions), then, MARK, list(map(str, partitions)))

    @property
    def _kafka(self) -> Kafka:
        return cast(Kafka, self.topic.intake)

    def _parts(self, positions: SourcePositions, partitions: Sequence[Partition]) -> Iterable[pa.Table]:
        decoder, source = Decoder(self._extended()), f"{self._kafka.topic} archive"
        for where, chunk in self.read():
            for part in chunk.without(positions.buried_in_history(MARK, source, where)):
                decoded = decoder.decode(part, source=source, where=where)
                self._letters.append(decoded.dead)
                self._rows += decoded.rows.num_rows
                self._unknown = together([self._unknown, decoded.unknown])
                yield self._with_sources(decoded.rows, partitions)

    def _extended(self) -> Topic:
        """The topic with the columns that have partition and offset, which it needn't declare."""
        named = [Column(name, pa.int64(), nullable=False) for name in self._kafka.archive_offset]
        declared = [
            replace(column, nullable=False) if self._is_offset(column) else column for column in self.topic.columns
        ]
        return replace(self.topic, columns=(*declared, *(one for one in named if self.topic.column(one.name) is None)))

    def _is_offset(self, column: Column) -> bool:
        return column.name.lower() in {name.lower() for name in self._kafka.archive_offset}

    def _with_sources(self, rows: pa.Table, partitions: Sequence[Partition]) -> pa.Table:
        if not self._kafka.archive_offset:
            sources = pa.repeat(pa.scalar(str(partitions[0])), rows.num_rows)
            return rows.append_column(SOURCE, sources)
        numbers, offsets = (self._column(rows, name) for name in self._kafka.archive_offset)
        self._count(numbers, offsets, partitions)
        names = pc.binary_join_element_wise(f"{self._kafka.topics[0]}[", numbers.cast(pa.string()), "]", "")
        return self._declared(rows).append_column(SOURCE, names)

    def _column(self, rows: pa.Table, name: str) -> pa.Array:
        written = next(known for known in rows.column_names if known.lower() == name.lower())
        return rows[written].combine_chunks()

    def _count(self, numbers: pa.Array, offsets: pa.Array, partitions: Sequence[Partition]) -> None:
        """Keep the offset behind the last of each partition."""
        largest = pa.table({"number": numbers, "offset": offsets}).group_by("number").aggregate([("offset", "max")])
        for row in largest.to_pylist():
            at = Partition(self._kafka.topics[0], int(row["number"]))
            if at not in partitions:
                raise self._refused(f'It has rows of partition {at.number}, and the topic "{at.topic}" has none.')
            self._next[at] = max(self._next.get(at, 0), int(row["offset_max"]) + 1)

    def _declared(self, rows: pa.Table) -> pa.Table:
        """The rows in the columns of the topic, with ids that don't depend on the others."""
        layout = layout_of(self.topic)
        kept = rows.select([name for name in layout.schema.names if name != "_id"])
        ids = identities(layout, [column.combine_chunks() for column in kept.columns])
        return kept if ids is None else kept.append_column(layout.schema.field("_id"), ids)

    def _refuse_poison(self, letters: pa.Table) -> None:
        breaker = Breaker(self.topic.name, self._kafka.max_dead)
        breaker.check(self._rows, letters.num_rows, lambda: letters["reason"].slice(0, 3).to_pylist())

    def _refused(self, detail: str) -> SourceRefused:
        return refused(self.topic, detail)


def refused(topic: Topic, detail: str) -> SourceRefused:
    """The refusal of an archive that can't be taken in."""
    return SourceRefused(
        f'the archive of "{topic.name}" can\'t be taken in',
        detail=f"{detail} Nothing of it was appended, and nothing of the topic.",
        hint="Correct archive, archive_format and archive_offset in its WITH, or take them out.",
        topic=topic.name,
    )


def files_of(topic: Topic, open_shelf: Callable[[], Shelf], form: Format | None) -> Callable[[], Chunks]:
    """A function that reads an archive of files, in the order of their names."""

    def read() -> Chunks:
        shelf = open_shelf()
        try:
            names = sorted(file.name for file in shelf.list() if form is not None or _is_known(file.name))
            if not names:
                raise refused(topic, "It has no files of a known format.")
            for name in names:
                fetched = shelf.fetch(name)
                if fetched is None:
                    raise refused(topic, f'Its file "{name}" is gone.')
                yield from ((name, chunk) for chunk in read_file(fetched.path, form, _AT_ONCE))
        except ArgumentRefused as problem:
            raise refused(topic, problem.detail or problem.summary) from problem
        finally:
            shelf.close()

    return read


def table_of(location: str, options: Mapping[str, str], topic: Topic) -> Callable[[], Chunks]:
    """A function that reads an archive that is a Delta table."""

    def read() -> Chunks:
        first = 1
        try:
            dataset: Any = DeltaTable(location, storage_options=dict(options)).to_pyarrow_dataset()
            for batch in dataset.to_batches(batch_size=_AT_ONCE):
                yield location, Chunk(pa.Table.from_batches([batch]), "parquet", first, 0)
                first += batch.num_rows
        except DeltaError as problem:
            raise refused(topic, f"{problem}.") from problem
        except OSError as problem:
            raise SourceUnavailable(
                f'the archive of "{topic.name}" could not be read', detail=f"{problem}.", topic=topic.name
            ) from problem

    return read


def _is_known(name: str) -> bool:
    try:
        format_of(Path(name))
    except ArgumentRefused:
        return False
    return True
