"""Patterns: three variables over the payments of many cards, caught up from the first commit to the head.

Small payments that are followed by a large one within ten minutes. What came out is counted, and what it costs is told
beside reading, sorting and shipping the same rows alone (a pattern that no row begins).

    python -m bench.patterns [EVENTS] [CARDS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import headwater as hw
from bench.effort import Effort, effort_of

EVENTS, CARDS, COMMIT = 5_000_000, 100_000, 250_000
START = 1_767_225_600_000_000  # 2026-01-01
DECLARED = """
CREATE STREAM payments (card BIGINT, amount INT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (key = 'card');
"""
VIEW = """
CREATE MATERIALIZED VIEW found AS SELECT * FROM payments MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY at
  MEASURES FIRST(small.at) AS started_at, LAST(large.amount) AS amount, COUNT(*) AS n
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (small+ other? large) WITHIN INTERVAL '10' MINUTE
  DEFINE small AS amount < {least}, other AS amount BETWEEN 300 AND 900, large AS amount > 950);
"""


def deliver(folder: Path, events: int, cards: int) -> None:
    """Append the payments: of each card one in five minutes, in the order of their times."""
    chosen = np.random.default_rng(7)
    step = 300_000_000 / cards
    for first in range(0, events, COMMIT):
        count = min(COMMIT, events - first)
        at = START + ((first + np.arange(count)) * step).astype(np.int64)
        rows = {
            "card": chosen.integers(0, cards, count),
            "amount": pa.array(chosen.integers(0, 1000, count), pa.int32()),
            "at": pa.array(at).cast(pa.timestamp("us", "UTC")),
        }
        with project_of(folder, "") as project:
            project.append("payments", pa.table(rows))


def project_of(folder: Path, view: str) -> hw.Project:
    """A new project that reads the payments, with one view or none."""
    home = Path(tempfile.mkdtemp(prefix="project-", dir=folder))
    (home / "headwater.toml").write_text(f'name = "bench"\ndata = "{folder / "data"}"\n')
    (home / "payments.sql").write_text(DECLARED + view)
    return hw.open(home)


def caught_up(folder: Path, least: int) -> tuple[Effort, int]:
    """What it costs to catch up, and the matches that were found."""
    with project_of(folder, VIEW.format(least=least)) as project:
        effort = effort_of(project.catch_up)
        return effort, int(project.query("SELECT count(*) AS n FROM found")["n"][0].as_py())


def main() -> None:
    """Deliver, and print Markdown."""
    given = [int(word) for word in sys.argv[1:]]
    events, cards = (*given, *(EVENTS, CARDS)[len(given) :])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        deliver(folder, events, cards)
        caught_up(folder, 300)  # Spark has started, and the files are in memory
        print(f"{events:,} events of {cards:,} cards.\n")
        print("| | events/s | processor seconds | matches |")
        print("|---|---|---|---|")
        for name, least in (("three variables within 10 minutes", 300), ("the same, and no row begins one", -1)):
            effort, matches = caught_up(folder, least)
            print(f"| {name} | {events / effort.clock:,.0f} | {effort.worked:.1f} | {matches:,} |")


if __name__ == "__main__":
    main()
