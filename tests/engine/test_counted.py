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
        project.log.tick("notes", to=START + timedelta(seconds=500))
        project.catch_up()
        project.append("notes", [{"id": "c", "at": START}])
        project.catch_up()
        ledger = project.views.ledger("v")
        assert (ledger.late, ledger.duplicates, ledger.remainder) == (1, 1, 0)
        assert project.rows("v")["notes"].to_pylist() == [2]
        assert project.verify("v").identical


@pytest.mark.usefixtures("nothing_is_broadcast")
def test_large_sides_without_an_equality_are_counted_once(tmp_path: Path) -> None:
    near = "p.n < o.n AND p.at BETWEEN o.at AND o.at + INTERVAL '10' SECOND"
    pairs = f"SELECT o.at AS at FROM o JOIN p ON {near}"
    windows = f"TUMBLE(TABLE ({pairs}), DESCRIPTOR(at), INTERVAL '10' SECOND)"
    view = f"SELECT window_end, count(*) AS pairs FROM {windows} GROUP BY window_end;"
    declared = STREAM.format("o", "") + STREAM.format("p", "")
    declared += f"CREATE MATERIALIZED VIEW in_windows WITH (execution = 'settle') AS {view}"
    for kind in ("left", "right", "full"):
        shown = f"SELECT o.id AS one, p.id AS other, o.at AS at FROM o {kind} JOIN p ON {near};"
        declared += f"CREATE MATERIALIZED VIEW all_of_{kind} WITH (emit = 'changes', key = 'one, other') AS {shown}"
    with opened(tmp_path, declared) as project:
        for commit in range(2):  # each side is in two files
            for topic in "op":
                at = [START + timedelta(seconds=n) for n in range(8)]
                project.append(topic, [{"id": f"{commit}-{n}", "n": n, "at": at[n]} for n in range(8)])
        for topic in "op":
            project.log.tick(topic, to=START + timedelta(minutes=1))
        project.catch_up()
        for name in ("in_windows", "all_of_left", "all_of_right", "all_of_full"):
            assert project.views.ledger(name).remainder == 0, name
            assert project.verify(name).identical, name
