"""Counts that the log keeps beside its rows: of fields that events had and no column declares, by name.

An entry has those of its own commit, and the total up to it, which each later entry carries on: whoever opens the log
knows the total from its newest entry, and no process is needed to remember it. Only so many names are told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

MOST_NAMES = 32
"""Of how many names a count tells; the rest are counted together."""
OTHERS = "(others)"
_LONGEST_NAME = 100
Counts = Mapping[str, int]
_OWN, _TOTAL = "unknown", "unknown_total"


def told(counts: Counts) -> dict[str, int]:
    """Counts of a limited number of names, the largest first.

    >>> told({"b": 1, "a": 1, "c": 3})
    {'c': 3, 'a': 1, 'b': 1}
    """
    short: Counter[str] = Counter()
    for name, count in counts.items():
        short[name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"] += count
    others = short.pop(OTHERS, 0)
    ordered = sorted(short.items(), key=lambda pair: (-pair[1], pair[0]))
    others += sum(count for _, count in ordered[MOST_NAMES:])
    return dict(ordered[:MOST_NAMES]) | ({OTHERS: others} if others else {})


def together(parts: Iterable[Counts]) -> dict[str, int]:
    """The sum of counts."""
    return dict(sum((Counter(part) for part in parts), Counter[str]()))


def as_note(counts: Counts) -> dict[str, Any]:
    """The part of a commit's note that has its own counts; nothing if there are none."""
    return {_OWN: told(counts)} if counts else {}


def with_total(note: Mapping[str, Any], before: Counts) -> dict[str, Any]:
    """A note with the total up to its commit, given the one before it."""
    total = told(together([before, note.get(_OWN, {})]))
    return {**note, _TOTAL: total} if total else dict(note)


def total_of(note: Mapping[str, Any]) -> Counts:
    """The total up to a commit, from its note."""
    total: Counts = note.get(_TOTAL, {})
    return total
