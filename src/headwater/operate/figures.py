"""The golden figures of views that run: how far behind, how fast, how fresh, and in what state.

Freshness is measured per commit: from when its events arrived at the log until the store has what they changed. The
time of a batch is measured from when it was planned until the store has it, the time of writing within it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from headwater.errors import HeadwaterError
from headwater.log import TopicLog
from headwater.log.read import arrived_at
from headwater.operate.supervise import CaughtUp, Reading

State = Literal["starting", "following", "waiting", "paused", "stopped"]
SAMPLES = 500
"""The times of a view are told from so many commits, or batches."""
RATE_OVER = timedelta(seconds=10)
_COMMITS_OF_A_BATCH = 20


@dataclass
class Figures:
    """The figures of one view. `lag` is in commits. Rates are per second, over the last ten."""

    view: str
    state: State = "starting"
    version: int = 0
    commits: Mapping[str, int] = field(default_factory=dict)
    heads: Mapping[str, int] = field(default_factory=dict)
    watermark: datetime | None = None
    batches: int = 0
    events: int = 0
    rows: int = 0
    written_at: datetime | None = None
    state_bytes: int = 0
    note: str | None = None
    error: dict[str, Any] | None = None
    _delays: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    _batches: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    _writings: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    _recent: deque[tuple[datetime, float, float]] = field(default_factory=deque)

    @property
    def lag(self) -> int:
        """The number of commits of its topics that the view has not read."""
        return sum(max(0, head - self.commits.get(name, 0)) for name, head in self.heads.items())

    def freshness(self, share: float) -> float | None:
        """Within how many seconds this share of the newest commits was in the store; None before the first."""
        return _quantile(self._delays, share)

    def batch_time(self, share: float) -> float | None:
        """The seconds that this share of the newest batches took at most; None before the first."""
        return _quantile(self._batches, share)

    def writing_time(self, share: float) -> float | None:
        """The seconds of this share of the newest batches that the store took at most; None before the first."""
        return _quantile(self._writings, share)

    def rates(self, now: datetime) -> tuple[float, float]:
        """Events read and rows written per second."""
        recent = [sample for sample in self._recent if sample[0] > now - RATE_OVER]
        seconds = RATE_OVER.total_seconds()
        return sum(events for _, events, _ in recent) / seconds, sum(rows for _, _, rows in recent) / seconds

    def as_dict(self, now: datetime) -> dict[str, Any]:
        """The figures with stable names."""
        events_per_second, rows_per_second = self.rates(now)
        return {
            "view": self.view, "state": self.state, "version": self.version, "commits": dict(self.commits),
            "heads": dict(self.heads), "lag": self.lag, "watermark": self.watermark, "batches": self.batches,
            "events": self.events, "rows": self.rows, "events_per_second": events_per_second,
            "rows_per_second": rows_per_second, "freshness_p50": self.freshness(0.5),
            "freshness_p99": self.freshness(0.99), "batch_p50": self.batch_time(0.5),
            "batch_p99": self.batch_time(0.99), "writing_p50": self.writing_time(0.5),
            "writing_p99": self.writing_time(0.99), "state_bytes": self.state_bytes,
            "written_at": self.written_at, "note": self.note, "error": self.error,
        }  # fmt: skip

    def record(self, now: datetime) -> dict[str, Any]:
        """The figures as another process can read them; of times, a hundredth after the other."""
        told = {name: getattr(self, name) for name in _TOLD}
        told |= {"commits": dict(self.commits), "heads": dict(self.heads), "rates": self.rates(now)}
        return told | {"times": {name: _hundredths(samples) for name, samples in self._times().items()}}

    @classmethod
    def read(cls, record: Mapping[str, Any], at: datetime) -> Figures:
        """The figures that were written down at an instant."""
        figures = cls(**{name: record[name] for name in (*_TOLD, "commits", "heads")})
        figures.watermark, figures.written_at = _instant(record["watermark"]), _instant(record["written_at"])
        for name, samples in figures._times().items():
            samples.extend(record["times"][name])
        seconds = RATE_OVER.total_seconds()
        events, rows = record["rates"]
        figures._recent.append((at, events * seconds, rows * seconds))
        return figures

    def _times(self) -> dict[str, deque[float]]:
        return {"delays": self._delays, "batches": self._batches, "writings": self._writings}


_TOLD = (
    "view", "state", "version", "watermark", "batches", "events", "rows", "written_at", "state_bytes", "note", "error"
)  # fmt: skip


def _hundredths(samples: Iterable[float]) -> list[float]:
    """Not more than a hundred and one samples, of which quantiles are told as of all."""
    values = sorted(samples)
    return [values[min(len(values) - 1, part * len(values) // 100)] for part in range(101)] if values else []


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _quantile(samples: Iterable[float], share: float) -> float | None:
    values = sorted(samples)
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


class Gauge:
    """Collects the figures of views from what their runs report. Thread-safe."""

    def __init__(self, log_of: Callable[[str, str], TopicLog], now: Callable[[], datetime]) -> None:
        self._log_of = log_of
        self._now = now
        self._guard = threading.Lock()
        self._views: dict[str, Figures] = {}

    def begin(self, views: Iterable[str]) -> None:
        """Take in that views are about to run; what computes them may have to start first."""
        with self._guard:
            for view in views:
                figures = self._views.setdefault(view, Figures(view))
                figures.state, figures.error = "starting", None

    def take(self, reading: Reading) -> None:
        """Take in how far a run has come."""
        with self._guard:
            figures = self._views.setdefault(reading.view, Figures(reading.view))
            figures.note = reading.note
            if reading.paused:
                figures.state = "paused"
                return
            if reading.note is not None:
                figures.state = "waiting"
                return
            if figures.state in ("paused", "stopped"):
                figures.state, figures.error = "starting", None
            figures.version, figures.heads = reading.version, reading.heads
            if reading.commits:
                self._advance(figures, reading)

    def _advance(self, figures: Figures, reading: Reading) -> None:
        now, before = self._now(), figures.commits
        figures.state, figures.error = "following", None
        figures.commits, figures.watermark, figures.written_at = reading.commits, reading.watermark, now
        figures.batches += 1
        figures.events += reading.events
        figures._recent.append((now, reading.events, reading.rows - figures.rows))
        figures.rows = reading.rows
        while figures._recent and figures._recent[0][0] < now - RATE_OVER:
            figures._recent.popleft()
        figures.state_bytes = reading.state_bytes
        if reading.began_at is not None:
            figures._batches.append((now - reading.began_at).total_seconds())
            figures._writings.append(reading.writing.total_seconds())
        if reading.events and before:
            figures._delays.extend(self._delays(reading, before, now))

    def _delays(self, reading: Reading, before: Mapping[str, int], now: datetime) -> list[float]:
        """The ages of the events of each new commit."""
        delays = []
        for name, commit in reading.commits.items():
            log, last = self._log_of(reading.view, name), before.get(name, commit)
            arrivals = [arrived_at(log, last)] if last < commit else []
            for number in range(max(last + 1, commit - _COMMITS_OF_A_BATCH), commit + 1):
                arrivals.append(arrived_at(log, number))
                if arrivals[-1] > arrivals[-2]:  # a tick brings no events
                    delays.append((now - arrivals[-1]).total_seconds())
        return delays

    def end(self, done: CaughtUp) -> None:
        """Take in that a view has stopped, and why."""
        with self._guard:
            figures = self._views.setdefault(done.view, Figures(done.view))
            figures.state = "stopped"
            error: HeadwaterError | None = done.error
            figures.error = error.as_dict() if error else None

    def figures(self) -> list[Figures]:
        """The figures of each view that has run."""
        with self._guard:
            return list(self._views.values())
