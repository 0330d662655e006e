"""Once per id within a span of time: held against a loop over the log, at once and in steps that forget."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from headwater.engine.once import KeptWinners, winners
from headwater.operators.lowering.stamp import COMMIT, ID, ROW, STAMP, TIME

START = datetime(2026, 1, 1, tzinfo=UTC)
WITHIN = timedelta(seconds=10)
RowPosition = tuple[int, int]


def log_of(seed: int, commits: int = 40) -> pa.Table:
    """Rows of few ids, out of order by up to 15 seconds, with the watermark 5 seconds behind the newest."""
    chance, newest, rows = random.Random(seed), 0.0, []  # the same in every run
    for commit in range(1, commits + 1):
        for row in range(chance.randrange(1, 6)):
            stamp = max(0.0, newest - 5)
            at = max(0.5, newest + chance.choice([-15, -8, -3, 0, 1, 2, 5]) + chance.random())
            newest = max(newest, at)
            rows.append((chance.choice("abcd"), START + timedelta(seconds=at), commit, row, stamp))
    names = (ID, TIME, COMMIT, ROW)
    columns = dict(zip(names, map(list, zip(*(row[:4] for row in rows), strict=True)), strict=True))
    stamps = [START + timedelta(seconds=row[4]) for row in rows]
    table = pa.table({**columns, STAMP: stamps})
    return table.set_column(3, ROW, table[ROW].cast(pa.int32()))


def looped(rows: pa.Table) -> set[RowPosition]:
    """Who wins, one row after the other."""
    won: dict[str, datetime] = {}
    taken = set()
    for row in rows.to_pylist():
        at, before = row[TIME], won.get(row[ID])
        if at + WITHIN > row[STAMP] and (before is None or at >= before + WITHIN):
            won[row[ID]] = at
            taken.add((row[COMMIT], row[ROW]))
    return taken


def places(found: pa.Table) -> set[RowPosition]:
    return set(zip(found[COMMIT].to_pylist(), found[ROW].to_pylist(), strict=True))


def test_the_winners_are_those_of_a_loop_over_the_log(spark: SparkSession) -> None:
    rows = log_of(seed=1)
    assert 4 < len(looped(rows)) < rows.num_rows / 2
    assert places(winners(spark.createDataFrame(rows), WITHIN).toArrow()) == looped(rows)


def test_winners_older_than_twice_the_span_can_be_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    rows, kept = log_of(seed=2), KeptWinners("notes", WITHIN, tmp_path)
    found: set[RowPosition] = set()
    before = None
    for first, last in ((1, 9), (10, 11), (12, 25), (26, 40)):
        commits = rows[COMMIT].to_pylist()
        new = rows.filter(pa.array([first <= commit <= last for commit in commits]))
        now = kept.renewed(spark, before, spark.createDataFrame(new.combine_chunks()))
        found |= places(now)
        watermark = max(new[STAMP].to_pylist())
        kept.write(last, now, watermark - 2 * WITHIN, but=first - 1)
        before = kept.read(last)
        assert before is not None
        assert all(at > watermark - 2 * WITHIN for at in before[TIME].to_pylist())
    assert found == looped(rows)
    assert {commit for commit in (9, 11, 25, 40) if kept.read(commit) is not None} == {25, 40}
    assert len(list(tmp_path.iterdir())) == 2
