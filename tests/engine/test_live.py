"""A live view, run without a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.engine.checkpoint import Checkpoint
from headwater.engine.live import Changes, LiveView
from headwater.log import TopicLog

START = datetime(2026, 1, 1, tzinfo=UTC)
SQL = """
CREATE STREAM sales (id STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW twice WITH (execution = 'live') AS
SELECT id FROM sales UNION ALL SELECT concat(id, ' again') AS id FROM sales;
"""


class Growing(TopicLog):
    """A log to which something is appended whenever its head is asked for."""

    @property
    def head(self) -> int:
        found = super().head
        event = {"id": str(found), "at": START + timedelta(seconds=found)}
        hw.open(self.project).append("sales", event)
        return found

    project: Path


def test_two_scans_of_a_topic_end_at_the_same_commit_whatever_is_appended_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "headwater.toml").write_text('name = "growing"\n')
    (tmp_path / "project.sql").write_text(SQL)
    with hw.open(tmp_path) as project:
        project.append("sales", {"id": "first", "at": START})
        planned, topic = project.plan().view("twice"), project.declarations.topic("sales")
        log = Growing(topic, project._logs.of("sales").storage)
        log.project = tmp_path
        checkpoint, changes = Checkpoint.of(planned, tmp_path / "checkpoint"), list[Changes]()
        LiveView(planned, (), {"sales": log}, checkpoint, changes.append, lambda _: None).catch_up(spark, {})
        last = checkpoint.last_begun()
        assert last is not None
        assert len(set(checkpoint.offsets(last).values())) == 1
        names = [name for found in changes for name in found.upserts["id"].to_pylist()]
        again = {name for name in names if name.endswith(" again")}
        assert {f"{name} again" for name in names if name not in again} == again
        assert project.log.head("sales") > checkpoint.commits(last)["sales"], "or nothing was appended meanwhile"


@pytest.mark.parametrize("year", [None, 1970, 2026])
def test_a_tick_is_in_no_window_whenever_its_watermark_is(
    spark: SparkSession, year: int | None, tmp_path: Path
) -> None:
    (tmp_path / "headwater.toml").write_text('name = "ticks"\n')
    (tmp_path / "project.sql").write_text("""
        CREATE STREAM sales (id STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
        CREATE MATERIALIZED VIEW per_day WITH (grace = '30 days', execution = 'live') AS
          SELECT window_end, count(*) AS n FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' DAY)
          GROUP BY window_end;
    """)
    with hw.open(tmp_path) as project:
        if year is not None:
            project.append("sales", {"id": "one", "at": datetime(year, 1, 2, tzinfo=UTC)})
        for _ in range(2):  # a start alone is told by a tick
            project.catch_up()
        assert project.query("SELECT n FROM per_day").to_pylist() == ([{"n": 1}] if year else [])
        assert project.views.ledger("per_day").remainder == 0
