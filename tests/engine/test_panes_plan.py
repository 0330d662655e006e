"""Panes that are kept: steps of windows that overlap are computed by plans made once, and give the rows of batch."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.engine import settle
from headwater.engine.slice import Slice

START = datetime(2026, 1, 1, tzinfo=UTC)
PROJECT = """
CREATE STREAM sales (id STRING, shop STRING, pieces INT, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '1' SECOND);
CREATE MATERIALIZED VIEW hops WITH (emit = 'final', grace = '3 seconds') AS
SELECT shop, window_end, count(*) AS n, avg(price) AS a, max(id) AS newest, stddev(pieces) AS s
FROM HOP(TABLE sales, DESCRIPTOR(at), INTERVAL '1' SECOND, INTERVAL '12' SECOND) WHERE pieces > 0
GROUP BY shop, window_end HAVING count(*) > 1;
CREATE MATERIALIZED VIEW grows WITH (emit = 'final') AS
SELECT upper(shop) AS shop, window_start, window_end, sum(price) AS total
FROM CUMULATE(TABLE sales, DESCRIPTOR(at), INTERVAL '2' SECOND, INTERVAL '20' SECOND)
GROUP BY upper(shop), window_start, window_end;
"""
NAMES = ("hops", "grows")


@pytest.mark.parametrize("compiled", [0, settle.COMPILED])
def test_every_step_gives_the_rows_of_batch_by_plans_that_are_made_once(
    tmp_path: Path, spark: Any, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of rows that come in and out of order, of late ones and of ticks; with the panes kept, and without them."""
    assert spark
    monkeypatch.setattr(settle, "COMPILED", compiled)
    monkeypatch.setattr(settle, "WORTH", 0)
    monkeypatch.setattr(Slice, "computed", lambda _: pytest.fail("a step was planned anew"))
    (tmp_path / "headwater.toml").write_text('name = "panes"\n')
    (tmp_path / "sales.sql").write_text(PROJECT)
    chance = random.Random(11)
    with hw.open(tmp_path) as project:
        for commit in range(14):
            rows = []
            for number in range(chance.randint(1, 8)):
                at = START + timedelta(seconds=3 * commit + chance.random() * 3 - chance.choice([0, 0, 0, 2, 6, 40]))
                price, shop = f"{chance.randint(0, 500) / 100:.2f}", chance.choice(["a", "A", "b", None])
                sale = {"id": f"{commit}-{number}", "shop": shop, "pieces": chance.choice([0, 1, 2, 3, None])}
                rows.append(sale | {"price": chance.choice([price, None]), "at": max(at, START)})
            project.append("sales", rows)
            if commit == 7:
                project.log.tick("sales", to=START + timedelta(seconds=40))
            if commit % 4 == 3:
                for file in tmp_path.rglob("panes-*.arrow"):
                    file.unlink()
            if chance.random() < 0.7:
                assert [str(done.error) for done in project.catch_up() if done.error] == []
        project.catch_up()
        assert [name for name in NAMES if not project.verify(name).identical] == []
        assert [project.views.ledger(name).remainder for name in NAMES] == [0] * len(NAMES)
        assert all(project.rows(name).num_rows for name in NAMES)
