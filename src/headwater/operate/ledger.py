"""The ledger of a view: what became of every event that was sent to its topics.

Each micro-batch's counts are written with its rows, once per batch, so that a retry doesn't double them. What the log
says it has is set against what the counts explain. The difference is the *remainder*: anything but 0 means that rows
were lost or doubled on the way, and is an alarm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FATES = ("used", "filtered", "late", "duplicates")


@dataclass(frozen=True)
class Ledger:
    """The number of rows of each fate, up to these commits.

    rows in = used + unmatched + filtered + late + duplicates + dead. Rows that the view reads more than once count each
    time. `unmatched` rows asked a table for a row that wasn't there at their instant, and are not shown; until that is
    final they are among those that were used.
    `logged` rows are in the log; `dead` are the dead letters of its topics, which never got there. `expanded` are those
    that an EXPLODE made beyond one for each. `late_by_equality` are the late rows that had the very time of the
    watermark that they met: with a millisecond more of delay or grace they are in time. `assigned` says the same of
    rows in windows, each counted on its own: a row can be late for one of its windows and in time for another. `lost`
    rows of its topics were declared lost: the view may have used them before that, and a replay can't.

    Rows are counted up to the first operator that keeps state. What is lost behind that, in an operator or between two
    of them, is `dropped`, and part of the remainder.
    """

    view: str
    version: int
    commits: Mapping[str, int]
    logged: int
    used: int
    filtered: int
    late: int
    duplicates: int
    expanded: int = 0
    dead: int = 0
    late_by_equality: int = 0
    assigned: Mapping[str, int] | None = None
    lost: int = 0
    dropped: int = 0
    unmatched: int = 0

    @property
    def rows_in(self) -> int:
        """All events that were sent, readable or not."""
        return self.logged + self.dead

    @property
    def remainder(self) -> int:
        """The number of rows that are not explained.

        >>> Ledger("v", 1, {}, logged=10, used=7, filtered=2, late=1, duplicates=0).remainder
        0
        """
        explained = self.used + self.unmatched + self.filtered + self.late + self.duplicates - self.dropped
        return self.logged + self.expanded - explained


def ledger_of(view: str, version: int, commits: Mapping[str, int], counts: Mapping[str, int]) -> Ledger:
    """The ledger from a store's counts."""
    windows = {fate: counts[f"assigned_{fate}"] for fate in FATES if f"assigned_{fate}" in counts}
    dropped = counts.get("dropped", 0) + counts.get("astray", 0)
    kept = {name: counts.get(name, 0) for name in ("logged", *FATES, "expanded", "late_by_equality")}
    unmatched = counts.get("unmatched", 0)
    kept["used"] -= unmatched
    return Ledger(view, version, commits, **kept, assigned=windows or None, dropped=dropped, unmatched=unmatched)
