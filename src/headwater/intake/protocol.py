"""The inlet of an intake, as it must be for each of its events to be taken in exactly once.

An *inlet* is what an intake reads from: a topic of Kafka, a folder, or whatever a package of yours brings
along. It has *sources* (partitions, devices, one for all), and each source has a *position*: a number that says up to
where it was read, from which reading can go on. The log keeps the position of each source in the same entry as the
rows, so that a process which is killed at any moment goes on where the log is: nothing is remembered elsewhere.

A *piece* is a run of events of one source, with the position behind it. An inlet does nothing but find its sources and
give pieces; decoding, dead letters, the breaker, the commit and the watermark are the same for all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

import pyarrow as pa

from headwater.intake.decode import Decoded, Decoder
from headwater.intake.positions import SourcePositions
from headwater.waiting import Halting, Until


class Wait:
    """The wait of an inlet for events that share a commit: until a while has passed, or the run shall end."""

    def __init__(self, longest: timedelta, halt: Halting | None = None) -> None:
        self._ends_at = time.monotonic() + longest.total_seconds()
        self._halt = halt or Until(threading.Event())

    @property
    def left(self) -> timedelta:
        """The time that may still be waited."""
        return timedelta(seconds=max(0.0, self._ends_at - time.monotonic()))

    @property
    def is_over(self) -> bool:
        """Tells to give what there is."""
        return not self.left or self._halt.is_wanted

    def pause(self, duration: timedelta) -> None:
        """Wait so long, or until the wait is over."""
        self._halt.wait(min(duration, self.left))


@dataclass(frozen=True)
class Taken:
    """The outcome of a run: rows, dead letters, and the position of each source (`payments[0]`) after it.

    `places` are the positions for people. `path` says who read: this process, or tasks of Spark. `unknown` says how
    many of the events had each field that no column declares.
    """

    stream: str
    rows: int
    dead: int
    positions: Mapping[str, int]
    places: Mapping[str, str]
    path: Literal["process", "spark"] = "process"
    unknown: Mapping[str, int] = field(default_factory=dict)


class Again(Exception):  # says what to do
    """Raised by an inlet that must be opened anew: the log knows better than it where to go on. Nothing is wrong."""


class Piece(Protocol):
    """Events of one source in their order, behind those that the source gave before. `Events` is one."""

    @property
    def source(self) -> str:
        """The source that they are of."""

    @property
    def where(self) -> str:
        """The beginning of the positions of its dead letters: they are `where:number`, and a number is an event's own.

        The same event has the same one whenever it is read.
        """

    @property
    def after(self) -> int:
        """The position of the source behind them; larger than before, unless there was nothing between."""

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:
        """The events as rows and dead letters, in their order; those of the numbers `without` are passed by."""


class Inlet(Protocol):
    """The inlet of an intake, as one run has it. Called from one thread; derive from it for what has a default.

    Whatever goes wrong is an `OperatorError`. After a transient one, and after `Again`, it is closed, and another one
    is opened. The others stop the intake.
    """

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        """Begin to read where the log stands: `positions` tells, and is told by `take_up` which sources are read.

        Called once, first. If `alone`, everything is read up to where it ends now, and nobody else is expected to; if
        not, an inlet may share its sources with other processes, and read those that are its share.
        """

    def read(self, wait: Wait) -> Sequence[Piece]:
        """The pieces that came since the last call and share a commit; none, if nothing came until the wait is over.

        Called again when the commit is made: what is not asked for waits where it is. If the commit fails the inlet is
        closed, and the events are read again by another.
        """

    @property
    def is_drained(self) -> bool:
        """Tells whether everything was read that was there when the inlet was opened alone."""

    def close(self) -> None:
        """Let go of connections. Called once, last; `open` may have failed."""

    # What has a default

    def check(self) -> None:
        """Raise if what was read is not from what the log has positions of. Called before each commit."""
        return

    @property
    def behind(self) -> Sequence[str]:
        """Sources that have events which are not read yet: they are not idle, however long the log has none of them."""
        return ()

    @property
    def beside(self) -> Mapping[str, int]:
        """Numbers by names that are no sources, which the log keeps in the entry of what was read last.

        They are what must be known beside the positions to go on from there. They never go back.
        """
        return {}

    @property
    def stands(self) -> Mapping[str, int] | None:
        """The positions that the logs of all topics of a source have where the last read ended, by topic.

        For sources whose transactions come into several topics, and whose inlets all end what they read at the same
        positions: the log keeps them, so that the topics are read at one cut. None where a topic stands alone.
        """
        return None

    def look(self) -> None:
        """See how everything is, by asking if need be: what is behind, and whether it is still there.

        Called every few seconds.
        """
        return

    def bury(self, piece: Piece, letters: pa.Table) -> None:  # noqa: ARG002
        """Do what shall be done with dead letters elsewhere. Called before they are appended; perhaps again."""
        return

    def taken(self, positions: Mapping[str, int]) -> None:  # noqa: ARG002
        """Hear up to where the log has come. Called after each commit; not, if the process dies before."""
        return

    def spell(self, source: str, position: int) -> str:  # noqa: ARG002
        """A position of a source for people."""
        return f"{position:,}"
