"""Histories: what readers saw, against what was written, for the promise that every read is a state of some prefix.

A *history* is what happened in a test: the states that the writer's batches lead through, in their order, and for each
reader what it saw at each moment, in its order. `check_history` proves that each read is exactly one of those states,
that no reader goes backwards, and that nobody sees a state before it was begun or misses one that was acknowledged
before the read began.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

State = frozenset[Hashable]
"""The rows of a view at one moment, as tuples."""


@dataclass(frozen=True)
class Read:
    """The rows that a reader saw, between two moments of one clock."""

    reader: str
    began: float
    ended: float
    rows: Sequence[Hashable]


@dataclass(frozen=True)
class Write:
    """A batch: when its writer began and when it was told that it is there, if it was; and the state after it."""

    began: float
    acknowledged: float | None
    state: State


@dataclass
class History:
    """The writes, in the order of the batches, and the reads, in any order. Before all, there is nothing."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)


@dataclass(frozen=True)
class Anomaly:
    """A read that no correct store gives: `kind` is doubled, torn, lost, backwards or early."""

    kind: str
    read: Read
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: reader {self.read.reader}, {self.read.began:.6f}–{self.read.ended:.6f}: {self.reason}"


def check_history(history: History) -> list[Anomaly]:
    """Every anomaly of a history; none, if each read was a state of the writes, in order.

    >>> early = Read("r", 0.5, 0.6, [("a", 1)])
    >>> late = Read("r", 3.0, 3.1, [])
    >>> for anomaly in check_history(History([Write(1.0, 2.0, frozenset({("a", 1)}))], [early, late])):
    ...     print(anomaly.kind)
    early
    lost
    """
    states = [frozenset(), *(write.state for write in history.writes)]
    numbers: Mapping[State, list[int]] = _numbered(states)
    anomalies = []
    for reads in _by_reader(history.reads):
        reached = 0
        for read in reads:
            anomaly, reached = _judge(history, numbers, read, reached)
            anomalies += [anomaly] if anomaly else []
    return anomalies


def _numbered(states: Iterable[State]) -> dict[State, list[int]]:
    """The numbers of batches that were written at each state; a state may come again."""
    numbers: dict[State, list[int]] = defaultdict(list)
    for number, state in enumerate(states):
        numbers[state].append(number)
    return numbers


def _by_reader(reads: Iterable[Read]) -> list[list[Read]]:
    by_reader: dict[str, list[Read]] = defaultdict(list)
    for read in sorted(reads, key=lambda read: read.began):
        by_reader[read.reader].append(read)
    return list(by_reader.values())


def _judge(
    history: History, numbers: Mapping[State, list[int]], read: Read, reached: int
) -> tuple[Anomaly | None, int]:
    """The anomaly of a read of someone who had reached a batch, and the batch that is reached now."""
    rows = frozenset(read.rows)
    if len(rows) != len(read.rows):
        return Anomaly("doubled", read, "a row is there more than once"), reached
    if rows not in numbers:
        return Anomaly("torn", read, "its rows are those of no state"), reached
    begun = sum(write.began <= read.ended for write in history.writes)
    sure = max(
        (
            number
            for number, write in enumerate(history.writes, 1)
            if write.acknowledged is not None and write.acknowledged < read.began
        ),
        default=0,
    )
    possible = [number for number in numbers[rows] if number <= begun]
    if not possible:
        return Anomaly("early", read, f"batch {numbers[rows][0]} had not begun"), reached
    if possible[-1] < reached:
        return Anomaly("backwards", read, f"it is batch {possible[-1]} after batch {reached}"), reached
    if possible[-1] < sure:
        return Anomaly("lost", read, f"it is batch {possible[-1]}, and batch {sure} was acknowledged"), reached
    return None, next(number for number in possible if number >= max(reached, sure))
