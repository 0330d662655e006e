"""The ledger of a settled view counts every row that a step reads once, however Spark joins it with others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM {} (id STRING, n INT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND){};
"""


def opened(folder: Path, declarations: str) -> hw.Project:
    (folder / "headwater.toml").write_text('name = "counted"\n')
    (folder / "views.sql").write_text(declarations)
    return hw.open(folder)


@pytest.fixture
def nothing_is_broadcast(spark: SparkSession) -> Iterator[None]:
    """As for sides of joins that are large."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.conf.get(name)
    spark.conf.set(name, "-1")
    yield
    spark.conf.set(name, str(before))


def test_a_step_with_nothing_but_late_ids_counts_them(tmp_path: Path, spark: SparkSession) -> None:
    windows = "TUMBLE(TABLE notes, DESCRIPTOR(at), INTERVAL '10' SECOND)"
    view = f"SELECT window_end, count(*) AS notes FROM {windows} GROUP BY window_end;"
    declared = STREAM.format("notes", " WITH (unique = 'id', within = '10 seconds')")
    options = "execution = 'settle'"
    with opened(tmp_path, f"{declared} CREATE MATERIALIZED VIEW v WITH ({options}) AS {view}") as project:
        project.append("notes", [{"id": "a", "at": START}, {"id": "a", "at": START}, {"id": "b", "at": START}])
        project.catch_up()
        project.tick("notes", to=START + timedelta(seconds=500))
        project.catch_up()
        project.append("notes", [{"id": "c", "at": START}])
        project.catch_up()
        ledger = project.ledger("v")
        assert (ledger.late, ledger.duplicates, ledger.remainder) == (1, 1, 0)
        assert project.rows("v")["notes"].to_pylist() == [2]
        assert project.verify("v").identical


@pytest.mark.usefixtures("nothing_is_broadcast")
def test_large_sides_without_an_equality_are_counted_once(tmp_path: Path) -> None:
    near = "p.n < o.n AND p.at BETWEEN o.at AND o.at + INTERVAL '10' SECOND"
    pairs = f"SELECT o.at AS at FROM o JOIN p ON {near}"
    windows = f"TUMBLE(TABLE ({pairs}), DESCRIPTOR(at), INTERVAL '10' SECOND)"
    view = f"SELECT window_end, count(*) AS pairs FROM {windows} GROUP BY window_end;"
    streams = STREAM.format("o", "") + STREAM.format("p", "")
    with opened(tmp_path, f"{streams} CREATE MATERIALIZED VIEW v WITH (execution = 'settle') AS {view}") as project:
        for topic in "oopp":  # each side is in two files
            project.append(topic, [{"id": f"{n}", "n": n, "at": START + timedelta(seconds=n)} for n in range(8)])
        for topic in "op":
            project.tick(topic, to=START + timedelta(minutes=1))
        project.catch_up()
        assert project.ledger("v").remainder == 0
        assert project.verify("v").identical
