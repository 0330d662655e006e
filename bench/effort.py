"""What something costs: seconds on the clock, and seconds of the processor in this program and all that it has started.

On a busy machine the clock tells more about the neighbours than about the program; the processor's seconds don't.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Effort:
    """Seconds on the clock, and of the processor."""

    clock: float
    worked: float


def effort_of(action: Callable[[], object]) -> Effort:
    """What an action costs."""
    began, before = time.perf_counter(), worked()
    action()
    return Effort(time.perf_counter() - began, worked() - before)


def median(efforts: Sequence[Effort]) -> Effort:
    """The medians of both."""
    return Effort(
        statistics.median(effort.clock for effort in efforts), statistics.median(effort.worked for effort in efforts)
    )


def worked() -> float:
    """Processor seconds so far of this process and its descendants, and of those that have ended."""
    times: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for process, parent, ticks in _processes():
        times[process] = ticks
        children[parent].append(process)
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += times.get(process, 0)
        waiting.extend(children[process])
    return total / _TICKS


def _processes() -> Iterator[tuple[int, int, int]]:
    """Every process, its parent, and its own and its ended children's ticks."""
    for found in _PROCESSES.glob("[0-9]*"):
        try:
            fields = (found / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        yield int(found.name), int(fields[1]), sum(map(int, fields[11:15]))
