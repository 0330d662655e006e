"""The lateness of events, learned row by row: the delay of a `Quantile` watermark.

A row's lateness is how far it lies behind the newest row of its own source. Lateness is counted in buckets that grow
by a quarter (so that a quantile is at most 25% too large, never too small), and the delay is estimated anew every
`EPOCH` rows. Counts are halved once they are many, so that the estimate follows a change. Both happen at fixed row
numbers, never at commit boundaries: cutting rows into other commits gives the same delays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.model import Quantile

EPOCH = 256
HALVE_AT = 256 * EPOCH
_STEPS = 4
_BUCKETS = 1 + 63 * _STEPS


@dataclass(frozen=True)
class Lateness:
    """Counts per bucket, how many rows were seen, and the delay in force (None before the first estimate)."""

    counts: Mapping[int, int] = field(default_factory=dict)
    seen: int = 0
    estimate: int | None = None

    def delay(self, rules: Quantile) -> int:
        """The delay in force, in microseconds: the most that is allowed until enough rows were seen."""
        least, most = _microseconds(rules.least), _microseconds(rules.most)
        return most if self.estimate is None else min(max(self.estimate, least), most)

    def observe(self, behind: NDArray[np.int64], rules: Quantile) -> tuple[NDArray[np.int64], Lateness]:
        """The delay in force after each row, and the state after the last."""
        counts = np.zeros(_BUCKETS, np.int64)
        for bucket, count in self.counts.items():
            counts[bucket] = count
        buckets, delays, state, start = _buckets(behind), np.empty(len(behind), np.int64), self, 0
        while start < len(behind):
            end = min(len(behind), start + EPOCH - state.seen % EPOCH)
            counts += np.bincount(buckets[start:end], minlength=_BUCKETS)
            delays[start:end] = state.delay(rules)
            seen = state.seen + end - start
            if seen % EPOCH == 0:
                state = Lateness(seen=seen, estimate=_quantile(counts, rules.share))
                delays[end - 1] = state.delay(rules)
                counts = counts // 2 if counts.sum() >= HALVE_AT else counts
            else:
                state = Lateness(seen=seen, estimate=state.estimate)
            start = end
        kept = {int(bucket): int(counts[bucket]) for bucket in np.flatnonzero(counts)}
        return delays, Lateness(kept, state.seen, state.estimate)

    def as_note(self) -> list[Any]:
        """The state as JSON values."""
        return [{str(bucket): count for bucket, count in self.counts.items()}, self.seen, self.estimate]

    @classmethod
    def from_note(cls, note: list[Any] | None) -> Lateness:
        """The state from a commit's note; a fresh one if the note has none."""
        if note is None:
            return cls()
        return cls({int(bucket): count for bucket, count in note[0].items()}, note[1], note[2])


def _buckets(behind: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bucket 0 is exactly on time; bucket b > 0 ends at `_upper(b)`."""
    mantissa, exponent = np.frexp(np.maximum(behind, 1).astype(np.float64))
    step = np.ceil((mantissa * 2 - 1) * _STEPS).astype(np.int64)
    buckets = np.minimum((exponent.astype(np.int64) - 1) * _STEPS + step + 1, _BUCKETS - 1)
    return np.where(behind <= 0, 0, buckets)


def _upper(bucket: int) -> int:
    if bucket == 0:
        return 0
    exponent, step = divmod(bucket - 1, _STEPS)
    return -(-(1 << exponent) * (_STEPS + step) // _STEPS)


def _quantile(counts: NDArray[np.int64], share: float) -> int:
    reached = np.cumsum(counts) >= share * counts.sum()
    return _upper(int(np.argmax(reached)))


def _microseconds(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1_000_000)
