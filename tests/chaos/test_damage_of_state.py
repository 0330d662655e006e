"""Random damage to what is kept beside views: Spark's checkpoints, open parts, panes, totals, winners, arrangements.

All of it can be made again from the log, and is: whatever became of it, the next catch-up has the right rows.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.project import Project
from tests.chaos.damage import DAMAGES, SEED, damage

WHOLE = "CHAOS_DAMAGES" in os.environ
"""All kinds of views, and state that Spark has made snapshots of; without it a few, with changes alone."""
START = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(12, 2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (key = 'id');
CREATE STREAM orders (id STRING, shop STRING, amount DECIMAL(12, 2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (key = 'id', "unique" = 'id', within = '10 minutes');
"""
MINUTE = "TUMBLE(TABLE {}, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
GROUPS = "SELECT shop, window_end, count(*) AS n, sum(amount) AS total FROM {} GROUP BY shop, window_start, window_end"
VIEWS = {
    "live": f"WITH (execution = 'live') AS {GROUPS.format(MINUTE.format('sales'))}",
    "once": f"AS {GROUPS.format(MINUTE.format('orders'))}",
    "ever": "WITH (retention = 'forever') AS SELECT shop, sum(amount) AS total FROM sales GROUP BY shop",
    "totals": "WITH (retention = '1 hour') AS SELECT shop, sum(amount) AS total FROM sales GROUP BY shop",
}
OTHERS = {
    "joined": "WITH (execution = 'live', emit = 'final') AS SELECT a.id, b.id AS other, a.at FROM sales a JOIN sales b "
    "ON a.shop = b.shop AND b.at BETWEEN a.at AND a.at + INTERVAL '20' SECOND",
    "parts": f"AS {GROUPS.format(MINUTE.format('sales'))}",
    "panes": "WITH (emit = 'final') AS SELECT shop, window_end, count(*) AS n FROM HOP(TABLE sales, DESCRIPTOR(at), "
    "INTERVAL '10' SECOND, INTERVAL '2' MINUTE) GROUP BY shop, window_start, window_end",
    "pairs": "WITH (retention = 'forever') AS SELECT a.shop, count(*) AS n FROM sales a JOIN sales b "
    "ON a.shop = b.shop GROUP BY a.shop",
}
LOOKED_AT = VIEWS | OTHERS if WHOLE else VIEWS
SNAPSHOTS = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
}


def events(number: int) -> list[dict[str, Any]]:
    """Some events of twenty-five seconds; every other is one that was there before."""
    rng = random.Random(number)
    return [
        {
            "id": f"e{rng.randrange(number * 20, number * 20 + 30)}",
            "shop": f"s{rng.randrange(6)}",
            "amount": rng.randrange(100),
            "at": START + timedelta(seconds=20 * number + rng.randrange(25)),
        }
        for _ in range(40)
    ]


def append(project: Project, *numbers: int) -> None:
    for number in numbers:
        project.append("sales", events(number))
        project.append("orders", events(number))


@pytest.fixture(scope="module")
def healthy(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project whose views have something open, kept from several batches."""
    folder = tmp_path_factory.mktemp("healthy") / "shop"
    folder.mkdir()
    (folder / "headwater.toml").write_text('name = "shop"')
    views = "".join(f"CREATE MATERIALIZED VIEW {name} {query};\n" for name, query in LOOKED_AT.items())
    (folder / "shop.sql").write_text(DECLARED + views)
    for name, value in SNAPSHOTS.items() if WHOLE else ():
        spark.conf.set(name, value)
    with hw.open(folder) as project:
        for number in range(6 if WHOLE else 2):
            append(project, number)
            assert not [done.error for done in project.catch_up() if done.error]
            time.sleep(2 if WHOLE else 0)  # Spark's maintenance makes snapshots in its own time
    yield folder
    for name in SNAPSHOTS if WHOLE else ():
        spark.conf.unset(name)


def caught_up(folder: Path, *views: str) -> tuple[dict[str, set[tuple[Any, ...]]], list[str]]:
    """The rows of views after more events, and why they were built anew, if they were."""
    with hw.open(folder) as project:
        append(project, 30, 3)
        done = project.catch_up(*views)
        assert not [outcome.error for outcome in done if outcome.error]
        rows = {view: project.query(f"SELECT * FROM {view}").to_pylist() for view in views}
        told = {view: {tuple(row.values()) for row in found} for view, found in rows.items()}
        return told, [outcome.rebuilt for outcome in done if outcome.rebuilt]


def test_after_any_damage_to_what_views_keep_their_rows_are_right(
    healthy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(healthy, tmp_path / "sound")
    expected, _ = caught_up(tmp_path / "sound", *LOOKED_AT)
    noticed = 0
    for number in range(DAMAGES if WHOLE else DAMAGES // 10):
        rng, folder = random.Random(f"{SEED}-{number}"), tmp_path / f"shop-{number}"
        view = list(LOOKED_AT)[number % len(LOOKED_AT)]
        shutil.copytree(healthy, folder)
        what, _ = damage(rng, folder / ".headwater/state" / view, newest if rng.random() < 0.8 else list)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "headwater.run"):
            rows, rebuilt = caught_up(folder, view)
        assert rows[view] == expected[view], f"{number}: {view}: {what}"
        noticed += bool(rebuilt) or "is damaged" in caplog.text
        shutil.rmtree(folder, ignore_errors=True)  # Spark may be about to tidy up there
    assert noticed > DAMAGES // 30, "a checker that sees nothing"


def newest(files: Sequence[Path]) -> Sequence[Path]:
    """The files that were written last, but for checksums: those that are gone on from."""
    last = [file for file in files if not file.name.startswith(".") and file.name != "lock"]
    return sorted(last, key=lambda file: (file.stat().st_mtime_ns, file))[-max(4, len(last) // 3) :]
