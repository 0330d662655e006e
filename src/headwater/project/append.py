"""Appending: rows and files on their way into the log of a topic, what can't be read beside it as dead letters."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from headwater.errors import StrictLoadRefused, UnsortedLoad
from headwater.intake import Decoded, Decoder, Format, read_file
from headwater.intake.deletes import deletes_of
from headwater.log import LOCAL_SOURCE, Appended, TopicLog, bulk
from headwater.log.append import late_by_order
from headwater.log.counts import together, told
from headwater.log.journal import Now
from headwater.project.logs import Logs

UNSORTED_SHARE = 0.1
"""A load is taken for unsorted if more than this share of its rows would be late only because of its own order."""
UNSORTED_ROWS = 100
Sequence = tuple[str, int]
"""A producer and the number that it gives to an append."""


@dataclass(frozen=True)
class Receipt:
    """The outcome of an append: rows in the log, dead letters, and the watermark after it.

    `commit` is the number of the (last) commit, `behind` how many rows came with an event time before the watermark,
    `repeated` that the same sequence had been appended before, `unknown` how many of the events had each field that no
    column declares.
    """

    topic: str
    commit: int
    rows: int
    dead: int
    watermark: datetime
    behind: int = 0
    repeated: bool = False
    unknown: Mapping[str, int] = field(default_factory=dict)

    @property
    def became(self) -> Literal["rows", "rows and dead letters", "dead letters", "nothing"]:
        """The fate of the events; nothing, if there were none. The same if the same sequence is appended again."""
        if self.rows and self.dead:
            return "rows and dead letters"
        return "rows" if self.rows else "dead letters" if self.dead else "nothing"

    @classmethod
    def of(cls, appended: Appended, dead: int = 0, unknown: Mapping[str, int] | None = None) -> Receipt:
        """The receipt of a commit."""
        return cls(
            appended.topic, appended.commit, appended.rows, dead, appended.watermark, appended.behind,
            appended.repeated, told(unknown or {}),
        )  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """The progress of a long append."""

    rows: int
    dead: int
    bytes_read: int


Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class Load:
    """A file on its way in: so many rows of it are a commit. `version` is that of its rows, if it is an earlier one."""

    topic: str
    file: str | Path | Any
    format: Format | None = None
    batch: int = 100_000
    source: str = LOCAL_SOURCE
    unsorted: bool = False
    version: int | None = None

    @property
    def name(self) -> str:
        """The name by which its dead letters say where they came from."""
        return Path(self.file).name if isinstance(self.file, str | Path) else "stream"

    def rewind(self) -> None:
        """Read a stream from its start again; a file is opened anew anyway."""
        if not isinstance(self.file, str | Path):
            self.file.seek(0)

    @contextmanager
    def twice(self) -> Iterator[Load]:
        """The load from a file that can be read twice: a stream is copied into a temporary one."""
        if isinstance(self.file, str | Path):
            yield self
            return
        with tempfile.SpooledTemporaryFile(max_size=64 * 1024 * 1024) as spooled:
            shutil.copyfileobj(self.file, spooled)
            spooled.seek(0)
            yield replace(self, file=spooled)


class Appender:
    """Appends to the topics of a project. Thread-safe."""

    def __init__(self, logs: Logs, now: Now) -> None:
        self._logs = logs
        self._now = now
        self._guard = threading.Lock()
        self._decoders: dict[str, Decoder] = {}

    def decoder(self, topic: str) -> Decoder:
        """The decoder of the events of a topic."""
        declared = self._logs.of(topic).topic
        with self._guard:
            return self._decoders.setdefault(declared.name, Decoder(declared))

    def append(
        self,
        topic: str,
        rows: Any,
        *,
        source: str = LOCAL_SOURCE,
        sequence: Sequence | None = None,
        history: bool = False,
        strict: bool = False,
        version: int | None = None,
    ) -> Receipt:
        """Append rows as one commit; see `Project.append`."""
        log, arrived_at = self._logs.of(topic), self._now()
        decoded = self.decoder(topic).decode(rows, source=source, arrived_at=arrived_at, version=version)
        if strict:
            _refuse_dead(topic, decoded)
        dead = self._bury(topic, decoded, source, sequence, arrived_at)
        appended = log.append(
            decoded.rows, source=source, sequence=sequence, history=history, arrived_at=arrived_at,
            unknown=decoded.unknown,
        )  # fmt: skip
        self._logs.committed(log, appended.commit)
        return Receipt.of(appended, dead, decoded.unknown)

    def delete(
        self,
        table: str,
        keys: Any,
        at: datetime | None,
        *,
        source: str = LOCAL_SOURCE,
        sequence: Sequence | None = None,
    ) -> Receipt:
        """Append deletes of keys as one commit; see `Project.delete`."""
        deletes = deletes_of(self._logs.of(table).topic, keys, at)
        return self.append(table, deletes, source=source, sequence=sequence, strict=True)

    def load(self, load: Load, progress: Tell, *, history: bool = False, strict: bool = False) -> Receipt:
        """Append a file, in batches or as one commit of history; see `Project.append_file`."""
        with load.twice() if strict else nullcontext(load) as again:
            if strict:
                for _, decoded in self._decoded(again):
                    _refuse_dead(load.topic, decoded)
                again.rewind()
            return self._load_history(again, progress) if history else self._load_batches(again, progress)

    def _load_batches(self, load: Load, progress: Tell) -> Receipt:
        log, rows, dead, behind = self._logs.of(load.topic), 0, 0, 0
        commit, watermark, unknown = log.head, log.watermark, dict[str, int]()
        for bytes_read, decoded in self._decoded(load):
            if not load.unsorted:
                _refuse_unsorted(log, decoded.rows, load.source)
            dead += self._bury(load.topic, decoded, load.source, None, self._now())
            appended = log.append(decoded.rows, source=load.source, unknown=decoded.unknown)
            unknown = told(together([unknown, decoded.unknown]))
            commit, watermark = appended.commit, appended.watermark
            self._logs.committed(log, commit)
            rows, behind = rows + appended.rows, behind + appended.behind
            progress(Progress(rows, dead, bytes_read))
        return Receipt(load.topic, commit, rows, dead, watermark, behind, unknown=unknown)

    def _load_history(self, load: Load, progress: Tell) -> Receipt:
        rows, dead, unknown = 0, 0, dict[str, int]()

        def parts() -> Iterator[pa.Table]:
            nonlocal rows, dead, unknown
            for bytes_read, decoded in self._decoded(load):
                dead += self._bury(load.topic, decoded, load.source, None, self._now())
                rows += decoded.rows.num_rows
                unknown = told(together([unknown, decoded.unknown]))
                progress(Progress(rows, dead, bytes_read))
                yield decoded.rows

        loaded = bulk.load(self._logs.of(load.topic), parts(), load.source, lambda: unknown)
        return Receipt.of(loaded, dead, unknown)

    def _decoded(self, load: Load) -> Iterator[tuple[int, Decoded]]:
        decoder = self.decoder(load.topic)
        for chunk in read_file(load.file, load.format, load.batch):
            decoded = decoder.decode(
                chunk, source=load.source, where=load.name, arrived_at=self._now(), version=load.version
            )
            yield chunk.bytes_read, decoded

    def _bury(self, topic: str, decoded: Decoded, source: str, sequence: Sequence | None, arrived_at: datetime) -> int:
        """Append the dead letters; before the rows, and under the same sequence, so that a retry doubles neither."""
        if decoded.dead.num_rows:
            log = self._logs.dead(topic)
            log.append(decoded.dead, source=source, sequence=sequence, arrived_at=arrived_at)
        return int(decoded.dead.num_rows)


def _refuse_dead(topic: str, decoded: Decoded) -> None:
    if decoded.dead.num_rows:
        first = decoded.dead.slice(0, 1).to_pylist()[0]
        raise StrictLoadRefused(
            f'{decoded.dead.num_rows} events for "{topic}" can\'t be read',
            detail=f"The first is at {first['position']}: {first['reason']}. Nothing was appended.",
            hint="Mend the events, or append without --strict: they become dead letters and the rest is appended.",
            topic=topic,
            dead=decoded.dead.num_rows,
        )


def _refuse_unsorted(log: TopicLog, rows: pa.Table, source: str) -> None:
    late = late_by_order(log.topic, log.clock, rows, source) if log.topic.time else 0
    if late > max(UNSORTED_ROWS, UNSORTED_SHARE * rows.num_rows):
        raise UnsortedLoad(
            f'{late:,} of the next {rows.num_rows:,} rows for "{log.topic.name}" would be late',
            detail="They come behind newer rows of the same load: it is not sorted by event time. These rows were not "
            "appended; batches before them were.",
            hint="Append it as --history (stamped as a whole, nothing in it is late for itself), sort it, or say "
            "--unsorted if rows are meant to be late.",
            topic=log.topic.name,
            late=late,
        )
