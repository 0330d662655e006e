"""Headwater and plain Spark at the same questions: in turns, in one process and one Spark session.

Both give as many rows, or the benchmark fails. It is run as `python -m bench.live [ROWS] [FOLDER]`; bids that are in
the folder already are used again. It prints Markdown for docs/benchmarks.md, and its progress to standard error.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.effort import Effort, effort_of, median
from bench.nexmark import ROWS, Data, prepared
from headwater.engine.session import open_session

Thing = TypeVar("Thing")
ROUNDS = 5
"""How often each side answers each question; the first time warms up and isn't counted."""


@dataclass(frozen=True)
class Attempt:
    """An answer that is ready to be worked out: the work, which is measured, and then how many rows it has given."""

    work: Callable[[], object]
    rows: Callable[[], int]


@dataclass(frozen=True)
class Duel:
    """One question to two sides."""

    name: str
    about: str
    ours: Callable[[], Attempt]
    peer: Callable[[], Attempt]

    def fight(self, done: Callable[[], object]) -> tuple[int, Effort, Effort]:
        """How many rows the answer has, and what it cost each side."""
        efforts: list[tuple[Effort, Effort]] = []
        for _ in range(ROUNDS):
            (ours, spent), (peer, peer_spent) = _tried(self.ours()), _tried(self.peer())
            if ours != peer:
                raise SystemExit(f"{self.name}: Headwater gave {ours:,} rows, plain Spark {peer:,}")
            efforts.append((spent, peer_spent))
            done()
        ours_spent, peers_spent = zip(*efforts[1:], strict=True)
        return ours, median(ours_spent), median(peers_spent)


def _tried(attempt: Attempt) -> tuple[int, Effort]:
    effort = effort_of(attempt.work)
    return attempt.rows(), effort


@dataclass(frozen=True)
class Bench:
    """The bids, a Spark session, and where progress is shown."""

    data: Data
    spark: Any
    bar: Progress

    def each(self, name: str, things: Sequence[Thing], times: int = 1) -> Iterator[tuple[Thing, Callable[[], object]]]:
        """The things one after the other, each with what is to be called as often as said when it gets on."""
        task = self.bar.add_task(name, total=len(things) * times)
        for thing in things:
            yield thing, lambda: self.bar.update(task, advance=1)

    def tell(self, name: str, duels: Sequence[Duel]) -> None:
        """Let the sides answer, and print what it took."""
        fought = [(duel, *duel.fight(done)) for duel, done in self.each(name, duels, ROUNDS)]
        _print(self.data.rows, fought)


@contextmanager
def prepared_bench(usual: int = ROWS) -> Iterator[Bench]:
    """The bids that the command line asks for, or the usual number of them."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else usual
    with nullcontext(sys.argv[2]) if len(sys.argv) > 2 else tempfile.TemporaryDirectory() as place, _bar() as bar:
        folder = Path(place)
        task = bar.add_task("bids", total=rows)
        data = prepared(folder, rows, lambda more: bar.update(task, advance=more))
        bar.update(task, completed=rows)
        yield Bench(data, open_session("bench", {}, folder / "spark"), bar)


def run(name: str, duels_of: Callable[[Data, Any], Sequence[Duel]]) -> None:
    """Prepare the bids, let the sides answer, and print what it took."""
    with prepared_bench() as bench:
        bench.tell(name, duels_of(bench.data, bench.spark))


def _bar() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    return Progress(*columns, console=Console(stderr=True))


def _print(rows: int, fought: Sequence[tuple[Duel, int, Effort, Effort]]) -> None:
    print(
        f"Measured {datetime.now(UTC):%Y-%m-%d}, {rows:,} bids, medians of {ROUNDS - 1} runs of each side in turns.\n"
    )
    print("| question | rows | Headwater, events/s | plain Spark, events/s | ratio | ratio by processor time |")
    print("|---|---|---|---|---|---|")
    for duel, found, ours, peer in fought:
        print(f"| {duel.name}: {duel.about} | {found:,} | {_ratios(rows, ours, peer)} |")
    totals = [Effort(sum(e.clock for e in side), sum(e.worked for e in side)) for side in _sides(fought)]
    print(f"| all | | {_ratios(rows * len(fought), *totals)} |")


def _sides(fought: Sequence[tuple[Duel, int, Effort, Effort]]) -> tuple[list[Effort], list[Effort]]:
    return [ours for _, _, ours, _ in fought], [peer for _, _, _, peer in fought]


def _ratios(rows: int, ours: Effort, peer: Effort) -> str:
    return (
        f"{rows / ours.clock:,.0f} | {rows / peer.clock:,.0f} | {peer.clock / ours.clock:.0%} "
        f"| {peer.worked / ours.worked:.0%}"
    )
