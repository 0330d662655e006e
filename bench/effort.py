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


def worked(of: int | None = None) -> float:
    """Processor seconds so far of a process, or this one, and its descendants, and of those that have ended."""
    return sum(ticks for _, ticks in _family(of or os.getpid())) / _TICKS


def descendants() -> set[str]:
    """The names of the programs that this process, and whatever it has started, runs now."""
    return {name for name, _ in _family(os.getpid())}


def _family(of: int) -> Iterator[tuple[str, int]]:
    """The name and the ticks of a process and its descendants."""
    known: dict[int, tuple[str, int]] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for process, parent, name, ticks in _processes():
        known[process] = name, ticks
        children[parent].append(process)
    waiting = [of]
    while waiting:
        process = waiting.pop()
        if process in known:
            yield known[process]
        waiting.extend(children[process])


def _processes() -> Iterator[tuple[int, int, str, int]]:
    """Every process, its parent, its name, and its own and its ended children's ticks."""
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            before, _, after = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = after.split()
        yield int(folder.name), int(fields[1]), before.partition("(")[2], sum(map(int, fields[11:15]))
