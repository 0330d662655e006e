"""Views of sketches over many values: within their bounds of the truth, and verified within them.

Kept up to date commit by commit, and computed in batch over all of them at once: the sketches are merged differently.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.operate.verify import differences
from headwater.project import Project

START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS, COMMITS = 60_000, 6
SQL = """
CREATE STREAM hits (visitor BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW guessed AS
SELECT window_end, count(*) AS n, hll_sketch_estimate(hll_sketch_agg(visitor)) AS by_hll,
  theta_sketch_estimate(theta_sketch_agg(visitor)) AS by_theta, approx_count_distinct(visitor, 0.01) AS by_count,
  kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(visitor), 0.5) AS middle, kll_sketch_agg_bigint(visitor) AS kll
FROM TUMBLE(TABLE hits, DESCRIPTOR(at), INTERVAL '1' HOUR)
GROUP BY window_end;
"""


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder: Path = tmp_path_factory.mktemp("sketches")
    (folder / "headwater.toml").write_text('name = "sketches"\n[spark]\n"spark.master" = "local[2]"\n')
    (folder / "project.sql").write_text(SQL)
    project = hw.open(folder)
    for commit in range(COMMITS):  # visitors 0 … 29,999, each of them twice
        visitors = [number % (ROWS // 2) for number in range(commit, ROWS, COMMITS)]
        times = [START + timedelta(seconds=commit)] * len(visitors)
        at = pa.array(times, pa.timestamp("us", "UTC"))
        project.append("hits", pa.table({"visitor": pa.array(visitors, pa.int64()), "at": at}))
    (done,) = project.catch_up(options={"max_commits": "1"})
    assert done.error is None, done.error
    return project


def test_estimates_are_within_their_bounds(project: Project) -> None:
    (row,) = project.query("SELECT * FROM guessed").to_pylist()
    distinct = ROWS // 2
    assert row["n"] == ROWS
    assert row["by_hll"] == pytest.approx(distinct, rel=0.049)
    assert row["by_theta"] == pytest.approx(distinct, rel=0.047)
    assert row["by_count"] == pytest.approx(distinct, rel=0.03)
    assert row["middle"] == pytest.approx(distinct / 2, abs=distinct * 0.033)


def test_they_are_verified_within_their_bounds(project: Project) -> None:
    assert project.verify("guessed").identical


def test_what_is_exact_is_the_same_to_the_bit_and_what_is_guessed_is_not(project: Project) -> None:
    held, again = project.query("SELECT * FROM guessed"), project.views.batch("guessed")
    exact = ["window_end", "n", "by_theta", "by_count"]
    assert differences(held.select(exact), again.select(exact)) == ([], [])
    assert differences(held, again) != ([], []), "a KLL sketch of the same rows is another one each time"
