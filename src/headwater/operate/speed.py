"""The measured speed of views: how many events a second each was built by, from the log to where it was served.

It is kept below the project whenever a version has been built, so that it can be told how long the next one will take.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.log import folder_of
from headwater.operate.record import tell

LEAST = 1000
"""A version that read fewer events says nothing of the speed."""


@dataclass(frozen=True)
class Speeds:
    """The speeds that were measured, kept below a project's own folder, `home`."""

    home: Path

    def measured(self, view: str, events: int, seconds: float) -> None:
        """Take in that a view was built from so many events in this time."""
        if events >= LEAST and seconds > 0:
            tell("the speed of a view", self._of(view), {"events": events, "seconds": seconds})

    def of(self, view: str) -> float | None:
        """Events a second of a view; the median of all views if it was never measured, None if none was."""
        own = _read(self._of(view))
        if own is not None:
            return own
        known = list(self._all())
        return statistics.median(known) if known else None

    def _all(self) -> Iterator[float]:
        folder = self._of("any").parent
        for path in folder.iterdir() if folder.is_dir() else ():
            if (speed := _read(path)) is not None:
                yield speed

    def _of(self, view: str) -> Path:
        return self.home / "speeds" / folder_of(view)


def _read(path: Path) -> float | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return float(record["events"]) / float(record["seconds"])
    except (FileNotFoundError, ValueError, KeyError, ZeroDivisionError):
        return None


class Stopwatch:
    """Measures the speed of one run of a view, from where it begins to where the heads were then."""

    def __init__(self, speeds: Speeds | None, view: str, heads: Mapping[str, int]) -> None:
        self._speeds, self._view, self._heads = speeds, view, heads
        self._began, self._events, self._is_over = time.monotonic(), 0, False

    def take(self, commits: Mapping[str, int], events: int) -> None:
        """Take in a batch that was written: the commits that it read up to, and the events in it."""
        if self._is_over or self._speeds is None:
            return
        self._events += events
        if all(commits.get(name, -1) >= head for name, head in self._heads.items()):
            self._is_over = True
            self._speeds.measured(self._view, self._events, time.monotonic() - self._began)
