"""Capture: one reader for all tables that are read together, whose changes it hands to the intakes of these.

It first takes a snapshot of the tables whose logs have nothing, and then reads changes, transaction by transaction.
What is behind the position of a table's log is handed on; the database is told of the least position that all logs
have, if it wants to know.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from headwater.errors import HeadwaterError, SourceReplaced
from headwater.intake.changes.cutting import Cutting
from headwater.intake.changes.tap import Tap
from headwater.intake.changes.times import Times, loosest
from headwater.intake.protocol import Again

_logger = logging.getLogger("headwater.intake")
GATHERING = timedelta(seconds=2)
"""The time that the first table waits for the others that are read with it."""


class Capture(ABC):
    """The reader of tables, from the first tap to the last one. `tables` are those of the database by topic."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        self._tables = tables
        self._guard = threading.Lock()
        self._joined = threading.Condition(self._guard)
        self._taps: dict[str, Tap] = {}
        self._cutting = Cutting(self._taps)
        self._has_begun = self._is_over = False
        self._joined_at = time.monotonic()
        self._told = 0
        self._looked_at = 0.0
        self._finished = threading.Event()
        self.is_behind = True

    def add(self, tap: Tap) -> bool:
        """Take up a tap; False if it has begun without it."""
        with self._guard:
            if self._has_begun or self._is_over or tap.topic in self._taps:
                return False
            tap.leave = partial(self._leave, tap)
            self._taps[tap.topic] = tap
            self._joined_at = time.monotonic()
            self._joined.notify_all()
            return True

    def start(self) -> None:
        """Begin to read, in a thread."""
        threading.Thread(target=self._run, name="headwater-capture", daemon=True).start()

    def end(self, error: BaseException) -> None:
        """End it: every tap gets this error."""
        with self._guard:
            self._is_over = True
            self._joined.notify_all()
            taps = list(self._taps.values())
        for tap in taps:
            tap.fail(error)
        self._interrupt()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._finished.wait()

    def durable(self, tap: Tap, position: int) -> None:
        """Say up to where a log has its table; the database is told what all of them have."""
        with self._guard:
            tap.durable = position
            least = self._least()
            if least > self._told:
                self._told = least
                self._acknowledge(least)

    def cut(self, tap: Tap) -> bool:
        """End the share of a tap, and those of all others, at one place; False while one has not taken its last."""
        return self._cutting.cut(tap)

    def look(self, every: timedelta = timedelta(seconds=4)) -> None:
        """Now and then: see whether the database has more than we have heard of."""
        if time.monotonic() - self._looked_at < every.total_seconds():
            return
        self._looked_at = time.monotonic()
        self._look()

    # What a database does its own way

    @abstractmethod
    def _prepare(self) -> None:
        """See that what comes behind the positions of the taps can be read, and decide how each of them begins."""

    @abstractmethod
    def _take_snapshot(self, taps: Sequence[Tap]) -> None:
        """Hand the rows that are there to taps, and begin them."""

    @abstractmethod
    def _stream(self) -> None:
        """Hand on transactions, until it is interrupted."""

    @abstractmethod
    def _look(self) -> None:
        """See whether there is more than we have heard of."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Let reading end, soon; called from other threads, perhaps before it has begun."""

    def _acknowledge(self, least: int) -> None:  # noqa: B027
        """Tell the database, while it is read, of what all logs have."""

    @abstractmethod
    def _stop(self, least: int) -> None:
        """End reading, and let the database forget what all logs have."""

    # Reading

    def _run(self) -> None:
        try:
            self._gather()
            self._prepare()
            self._take_snapshot([tap for tap in self._taps.values() if tap.start is None])
            self._stream()
        except BaseException as error:
            self.end(error)
        finally:
            with self._guard:
                least = self._least()
            with suppress(HeadwaterError):
                self._stop(least)
            self._finished.set()

    def _gather(self) -> None:
        """Wait until the tables that are read together are there, or no other one comes."""
        with self._joined:
            while not self._is_over and len(self._taps) < len(self._tables):
                left = self._joined_at + GATHERING.total_seconds() - time.monotonic()
                if left <= 0:
                    break
                self._joined.wait(left)
            self._has_begun = True
            if self._is_over:
                raise Again

    def _refuse_gap(self, gap: SourceReplaced) -> None:
        """Raise, unless all tables may begin with a new snapshot."""
        if not all(tap.again for tap in self._taps.values()):
            raise gap
        _logger.warning("%s; its tables begin with a new snapshot", gap.summary)

    def _times(self) -> Times:
        return Times(loosest([tap.ahead for tap in self._taps.values()]))

    def _leave(self, tap: Tap) -> None:
        with self._guard:
            is_last = self._cutting.leave(tap)
        if is_last:
            self.end(Again())
            self.wait()

    def _least(self) -> int:
        """The position that all logs have; 0 if one isn't known."""
        if self._taps.keys() < self._tables.keys():
            return 0
        return min(tap.durable or 0 for tap in self._taps.values())


_captures: dict[Hashable, Capture] = {}
_guard = threading.Lock()


def join(key: Hashable, open_capture: Callable[[], Capture], tap: Tap) -> Capture:
    """The reader of this key that hands its changes to this tap too; one that has begun without it is begun anew."""
    with _guard:
        before = _captures.get(key)
        if before is not None and before.add(tap):
            return before
        capture = _captures[key] = open_capture()
        capture.add(tap)
    if before is not None:
        before.end(Again())
        before.wait()
    capture.start()
    return capture
