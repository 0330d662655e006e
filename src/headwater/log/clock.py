"""The watermark clock of a topic: a pure state machine from arrivals to stamps.

Every row is *stamped* with the watermark as it stood just before that row. The clock keeps, for each *source*, its
*mark*: the newest event time it has sent (or the newest punctuation). A source's own watermark is its mark minus the
delay; the topic's is the minimum over the sources that are not *idle*, it never goes back, and it is in whole
milliseconds. A source is idle once it has been silent for longer than `idle`; it is then forgotten, and starts afresh
with its next row.

Times are integers here: microseconds since 1970. Nothing reads the wall clock; arrival times are passed in, and the
same rows with the same arrival times get the same stamps however they are cut into commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.log.lateness import Lateness
from headwater.model import Bounded, Punctuated, Quantile, Topic

Instants = NDArray[np.int64]
NEVER = np.iinfo(np.int64).max
MILLISECOND = 1000


@dataclass(frozen=True)
class SourceClock:
    """One source: its mark, and when it was last heard of."""

    mark: int
    arrived: int


@dataclass(frozen=True)
class Rules:
    """The declaration's rules of time, in microseconds. `idle` None: every source is waited for, always."""

    strategy: Bounded | Quantile | Punctuated = field(default_factory=Bounded)
    idle: int | None = None

    @classmethod
    def of(cls, topic: Topic) -> Rules:
        """The rules that a topic declares."""
        idle = None if topic.idle is None else round(topic.idle.total_seconds() * 1_000_000)
        return cls(topic.watermark or Bounded(), idle)


@dataclass(frozen=True)
class Arrivals:
    """Rows in the order in which they came. `marks` are event times (or punctuations); `sources` index into `names`."""

    marks: Instants
    sources: NDArray[np.int64]
    names: Sequence[str]
    arrived: Instants

    def __len__(self) -> int:
        return len(self.marks)

    def part(self, start: int, end: int) -> Arrivals:
        """The rows from `start` up to `end`."""
        return Arrivals(self.marks[start:end], self.sources[start:end], self.names, self.arrived[start:end])


@dataclass(frozen=True)
class Clock:
    """The state after some commit.

    `newest` is the newest mark of any source, `arrived` the last arrival of all, and `ticked` when the last tick came.
    """

    rules: Rules = field(default_factory=Rules)
    watermark: int = 0
    newest: int = 0
    arrived: int = 0
    sources: Mapping[str, SourceClock] = field(default_factory=dict)
    lateness: Lateness = field(default_factory=Lateness)
    ticked: int = 0

    @property
    def present(self) -> int:
        """Nothing arrives earlier from now on: the last arrival, or a tick since."""
        return max(self.arrived, self.ticked)

    def stamp(self, rows: Arrivals) -> tuple[Instants, Clock]:
        """The stamp of each row, and the clock after the last.

        >>> zeros = np.zeros(3, np.int64)
        >>> stamps, after = Clock().stamp(Arrivals(np.array([5_000, 9_000, 7_000]), zeros, ["a"], zeros))
        >>> stamps.tolist(), after.watermark
        ([0, 5000, 9000], 9000)
        """
        rows = replace(rows, arrived=np.maximum.accumulate(np.maximum(rows.arrived, self.present)))
        clock, stamps = self, []
        for start, end in self._runs(rows):
            part, clock = clock._stamp_run(rows.part(start, end))
            stamps.append(part)
        return (np.concatenate(stamps) if stamps else np.zeros(0, np.int64)), clock

    def load(self, rows: Arrivals) -> tuple[Instants, Clock]:
        """Stamp a history load: as a whole, with the watermark before it, so that nothing in it is late for itself."""
        stamps = np.full(len(rows), self.watermark, np.int64)
        if not len(rows):
            return stamps, self
        arrived = max(self.present, int(rows.arrived.max()))
        sources = dict(self._active(arrived))
        for index in np.unique(rows.sources):
            name, mark = rows.names[index], int(rows.marks[rows.sources == index].max())
            known = sources.get(name)
            sources[name] = SourceClock(max(mark, known.mark if known else 0), arrived)
        newest = max(self.newest, int(rows.marks.max()))
        clock = replace(self, sources=sources, arrived=arrived, newest=newest)
        return stamps, clock._raised(min(source.mark for source in sources.values()) - clock._delay())

    def expect(self, names: Sequence[str], arrived: int) -> Clock:
        """Wait for these sources from now on, although they have sent nothing: each holds the watermark until idle."""
        arrived = max(arrived, self.present)
        sources = dict(self._active(arrived))
        fresh = {name: SourceClock(0, arrived) for name in names if name not in sources}
        return replace(self, sources=sources | fresh, arrived=arrived) if fresh else self

    def tick(self, arrived: int) -> Clock:
        """Let silence count: sources that have become idle no longer hold the watermark.

        Once every source is idle, event time is taken to go on with the wall clock, so that the last windows close.
        """
        if self.rules.idle is None:
            return self
        arrived = max(arrived, self.present)
        active = self._active(arrived)
        if active:
            return replace(self, sources=dict(active))._raised(min(s.mark for s in active.values()) - self._delay())
        if not self.newest:
            return self
        silence = arrived - self.arrived - self.rules.idle
        return replace(self, sources={})._raised(self.newest - self._delay() + max(0, silence))

    def advance(self, to: int) -> Clock:
        """Move the watermark on to an instant by decree; it never goes back."""
        return self._raised(to)

    def pass_on(self, to: int) -> Clock:
        """Let it be known that it is that late, in the time of arrival; before anything has come there is no need."""
        return replace(self, ticked=to) if self.arrived and to > self.present else self

    def pass_beyond(self, at: int, now: int) -> Clock:
        """Let nothing arrive at an instant any more, nor before it."""
        return self if self.present > at else replace(self, ticked=max(at + 1, now))

    def _active(self, arrived: int) -> Mapping[str, SourceClock]:
        idle = self.rules.idle
        if idle is None:
            return self.sources
        return {name: source for name, source in self.sources.items() if arrived - source.arrived <= idle}

    def _delay(self) -> int:
        match self.rules.strategy:
            case Bounded(delay):
                return round(delay.total_seconds() * 1_000_000)
            case Quantile() as quantile:
                return self.lateness.delay(quantile)
            case Punctuated():
                return 0

    def _raised(self, to: int) -> Clock:
        return replace(self, watermark=max(self.watermark, to // MILLISECOND * MILLISECOND))

    def _runs(self, rows: Arrivals) -> list[tuple[int, int]]:
        """Cut the rows where a source may have become idle: inside a run none can."""
        if not len(rows):
            return []
        idle, last = self.rules.idle, int(rows.arrived[-1])
        oldest = min([source.arrived for source in self.sources.values()] + [int(rows.arrived[0])])
        if idle is None or last - oldest <= idle:
            return [(0, len(rows))]
        cuts = np.flatnonzero(np.diff(rows.arrived)) + 1
        bounds = [0, *cuts.tolist(), len(rows)]
        return list(pairwise(bounds))

    def _stamp_run(self, rows: Arrivals) -> tuple[Instants, Clock]:
        """Stamp rows during which no source becomes idle, except before the first of them."""
        arrived = int(rows.arrived[-1])
        sources = dict(self._active(int(rows.arrived[0])))
        present = np.unique(rows.sources)
        names = {rows.names[index] for index in present}
        others = [source.mark for name, source in sources.items() if name not in names]
        lowest = np.full(len(rows), min(others, default=NEVER), np.int64)
        behind = np.zeros(len(rows), np.int64)
        for index in present:
            name, mine = rows.names[index], rows.sources == index
            before = sources[name].mark if name in sources else NEVER
            marks = _running(rows.marks[mine], before)
            lowest = np.minimum(lowest, np.concatenate(([before], marks))[np.cumsum(mine)])
            behind[mine] = np.maximum(
                np.concatenate(([0 if before == NEVER else before], marks[:-1])) - rows.marks[mine], 0
            )
            sources[name] = SourceClock(int(marks[-1]), int(rows.arrived[mine][-1]))
        delays, lateness = self._delays(behind)
        after = np.maximum.accumulate(np.maximum((lowest - delays) // MILLISECOND * MILLISECOND, self.watermark))
        stamps = np.concatenate(([self.watermark], after[:-1]))
        newest = max(self.newest, int(rows.marks.max()))
        return stamps, replace(
            self, watermark=int(after[-1]), newest=newest, arrived=arrived, sources=sources, lateness=lateness
        )

    def _delays(self, behind: Instants) -> tuple[Instants | int, Lateness]:
        if isinstance(self.rules.strategy, Quantile):
            return self.lateness.observe(behind, self.rules.strategy)
        return self._delay(), self.lateness

    def as_note(self) -> dict[str, Any]:
        """The state as JSON values, for a commit's note."""
        note: dict[str, Any] = {
            "watermark": self.watermark,
            "newest": self.newest,
            "arrived": self.arrived,
            "sources": {name: [source.mark, source.arrived] for name, source in self.sources.items()},
        }
        if self.ticked:
            note["ticked"] = self.ticked
        if isinstance(self.rules.strategy, Quantile):
            note["lateness"] = self.lateness.as_note()
        return note

    @classmethod
    def from_note(cls, rules: Rules, note: Mapping[str, Any]) -> Clock:
        """The clock as a commit's note has it, going on under these rules."""
        return cls(
            rules=rules,
            watermark=note["watermark"],
            newest=note["newest"],
            arrived=note["arrived"],
            sources={name: SourceClock(*values) for name, values in note["sources"].items()},
            lateness=Lateness.from_note(note.get("lateness")),
            ticked=note.get("ticked", 0),
        )


def _running(marks: Instants, before: int) -> Instants:
    """The running maximum of a source's marks, starting from what it was (`NEVER`: it starts afresh)."""
    running = np.maximum.accumulate(marks)
    return running if before == NEVER else np.maximum(running, before)
