"""Damage of the log is the log's, whoever meets it; damage of a store is mended from the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import LogDamaged, StoreDamaged
from headwater.log.loss import Lost

START = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = """
CREATE STREAM orders (id STRING, amount DECIMAL(12,2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
  WITH (key = 'id');
CREATE MATERIALIZED VIEW per_minute AS
  SELECT window_start, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)
  GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW large AS SELECT id, amount FROM orders WHERE amount > 1;
"""


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_what_is_damaged_is_named_and_what_can_be_is_rebuilt(spark: SparkSession, tmp_path: Path) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "orders.sql").write_text(DECLARED)
    with hw.open(tmp_path) as project:
        for commit in range(4):
            at = START + timedelta(seconds=40 * commit)
            project.append("orders", [{"id": f"o{commit}-{n}", "amount": n, "at": at} for n in range(5)])
        assert not [done.error for done in project.catch_up() if done.error]
        expected = project.query("SELECT * FROM large ORDER BY id")

    store = tmp_path / "views.db"
    flip(store, store.read_bytes().find(b"o3-2") + 1)
    file = next((tmp_path / "data/log/orders").glob(f"{3:020d}-*.parquet"))
    with hw.open(tmp_path) as project:
        with pytest.raises(StoreDamaged, match="it was left with"):
            project.query("SELECT * FROM large")
        assert not [done.error for done in project.catch_up() if done.error]
        assert project.query("SELECT * FROM large ORDER BY id").equals(expected)
        assert list(tmp_path.glob("views.db.damaged-*"))
        assert project.verify("large").identical

        flip(file, file.stat().st_size // 2)
        for view in ("large", "per_minute"):
            with pytest.raises(LogDamaged) as blamed:
                project.verify(view)
            assert (blamed.value.fields["commits"], blamed.value.fields["topic"]) == ("3", "orders")
    with hw.open(tmp_path) as project:  # which has nothing of the file in memory
        assert [type(done.error) for done in project.admin.replay()] == [LogDamaged, LogDamaged]

        assert project.integrity.declare_lost("orders", "3", "the disk died") == Lost(rows=5)
        assert not [done.error for done in project.admin.replay() if done.error]
        assert project.verify("large").identical
        assert project.views.ledger("large").lost == 5
        assert project.query("SELECT count(*) AS n FROM large")["n"].to_pylist() == [9]


def test_a_view_in_a_delta_store_is_replayed_whatever_is_damaged_of_it(spark: SparkSession, tmp_path: Path) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "shop"\n[stores.main]\nurl = "delta://lake"\n')
    (tmp_path / "orders.sql").write_text(DECLARED)
    with hw.open(tmp_path) as project:
        project.append("orders", [{"id": f"o{n}", "amount": n, "at": START} for n in range(5)])
        assert not [done.error for done in project.catch_up() if done.error]
        expected = project.query("SELECT * FROM large ORDER BY id")

    for damaged in ("large/_v1/_delta_log", "large/_delta_log"):
        first = tmp_path / "lake" / damaged / f"{0:020d}.json"
        flip(first, first.stat().st_size // 2)
        with hw.open(tmp_path) as project:
            with pytest.raises(StoreDamaged) as refused:
                project.query("SELECT * FROM large")
            assert refused.value.fields["path"] == str(first)
            assert "Run `headwater replay large`" in str(refused.value)
            (stopped,) = project.catch_up("large")
            assert isinstance(stopped.error, StoreDamaged)
            (done,) = project.admin.replay("large")
            assert done.error is None
            assert project.query("SELECT * FROM large ORDER BY id").equals(expected)
            assert list((tmp_path / "lake/large").glob("_damaged-*"))
            assert project.verify("large").identical
    with hw.open(tmp_path) as project:
        project.append("orders", [{"id": "o9", "amount": 9, "at": START}])
        assert not [done.error for done in project.catch_up() if done.error]
        assert len(project.query("SELECT * FROM large")) == len(expected) + 1


def test_a_run_scrubs_share_by_share(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "orders.sql").write_text(DECLARED)
    with hw.open(tmp_path) as project:
        project.append("orders", [{"id": "a", "amount": 1, "at": START}])
        flip(next((tmp_path / "data/log/orders").glob("*.parquet")), 100)
        for _ in range(24):
            project.integrity.scrub_share()
    assert "log/orders is damaged in commits 1" in caplog.text
