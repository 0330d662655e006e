"""Cutting: where the commits of the tables of a slot end, so that no transaction is half in their logs.

Each tap gets the transactions of its table, and takes them in *shares*. All shares end at the same cuts: whoever wants
to commit ends those of all taps, once every tap has taken the one before. So the commits of the tables end at the same
positions, and each says where the others stand there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from headwater.intake.changes.change import Change, Cut, Transaction
from headwater.intake.changes.tap import Tap
from headwater.intake.changes.times import Times


class Cutting:
    """The taps of a slot that is read, by topic, and the positions that their logs will have at the next cut."""

    def __init__(self, taps: Mapping[str, Tap]) -> None:
        self._taps = taps
        self._left: set[str] = set()
        self._guard = threading.Lock()
        self._stands: dict[str, int] = {}
        self._newest = 0
        self.reached = 0

    def begin(self) -> bool:
        """Begin where the taps start; True if there are some that are at no cut with the others, and get a level."""
        starts = {tap.topic: tap.start for tap in self._taps.values() if tap.start is not None}
        self._stands = starts
        first = max(self._taps.values(), key=lambda tap: (tap.start or 0, tap.stands is not None))
        for tap in self._taps.values():
            is_level = tap is first or (first.stands or {}).get(tap.topic) == tap.start
            tap.level = None if is_level else first.start
        return any(tap.level is not None for tap in self._taps.values())

    def hand_on(self, end: int, changes: Mapping[str, Sequence[Change]], times: Times) -> None:
        """Give a transaction that ended at a position to the taps that don't have it."""
        behind = [tap for tap in self._here() if tap.start is not None and tap.start < end]
        for tap in behind:
            times.raise_to(tap.newest)
        made_at = times.of(next(iter(changes.values()))[0].made_at) if behind and changes else times.newest
        for tap in behind:
            if tap.table in changes:
                tap.wait_for_room()
        with self._guard:
            for tap in behind:
                if tap.table in changes:
                    rows = [change._replace(made_at=made_at) for change in changes[tap.table]]
                    tap.put(Transaction(end, made_at, rows))
                tap.reach(end)
            for tap in self._taps.values():
                if tap.topic in self._left and tap.table in changes:
                    self._stands.pop(tap.topic, None)
            self._newest = made_at
            self.reached = max(end, self.reached)

    def cut(self, tap: Tap) -> bool:
        """End the share of a tap here, and those of all others; False while one has not taken the one before."""
        with self._guard:
            here = list(self._here())
            if any(other.has_share for other in here):
                return False
            ending = [other for other in here if other.has_open or other is tap]
            self._stands |= {other.topic: self.reached for other in ending}
            cut = Cut(self.reached, self._newest, dict(self._stands))
            for other in ending:
                other.end(cut)
            return True

    def leave(self, tap: Tap) -> bool:
        """Go on without a tap; True if it was the last one."""
        with self._guard:
            self._left.add(tap.topic)
            if not tap.is_empty:
                self._stands.pop(tap.topic, None)
            return self._left >= self._taps.keys()

    def _here(self) -> Iterator[Tap]:
        return (tap for tap in self._taps.values() if tap.topic not in self._left)
