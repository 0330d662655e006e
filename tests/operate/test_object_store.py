"""Views over a log in an object store, which Spark itself doesn't reach: read by Python workers, live and in batch."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import headwater as hw
from tests.servers.s3 import S3Server

START = datetime(2026, 1, 1, tzinfo=UTC)
SQL = """
CREATE STREAM sales (shop STRING, amount BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW large AS SELECT shop, amount * 2 AS twice FROM sales WHERE amount > 7;
CREATE MATERIALIZED VIEW per_shop AS SELECT shop, window_end, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW best WITH (emit = 'final') AS SELECT window_end AS until, max(total) AS most
FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_end), INTERVAL '20' SECOND) GROUP BY window_end;
"""


def test_views_and_views_on_views_are_kept_and_verified(
    s3_server: S3Server, spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark
    settings = ['name = "shop"', f'data = "{s3_server.url}/{uuid.uuid4()}"', "[storage]"]
    for name, value in s3_server.storage_options.items():
        monkeypatch.setenv(f"SHOP_{name.upper()}", value)
        settings.append(f'{name} = "${{SHOP_{name.upper()}}}"')
    (tmp_path / "headwater.toml").write_text("\n".join(settings))
    (tmp_path / "shop.sql").write_text(SQL)
    with hw.open(tmp_path) as project:
        rows = [{"shop": "a", "amount": second, "at": START + timedelta(seconds=5 * second)} for second in range(10)]
        project.append("sales", rows[:6])
        project.append("sales", rows[6:])
        assert [done.error for done in project.catch_up(options={"max_commits": "1"})] == [None] * 3
        assert project.query("SELECT twice FROM large ORDER BY 1")["twice"].to_pylist() == [16, 18]
        assert project.query("SELECT most FROM best ORDER BY until")["most"].to_pylist() == [2 + 3, 6 + 7]
        for view in ("large", "per_shop", "best"):
            assert project.views.ledger(view).remainder == 0
            assert project.verify(view).identical
