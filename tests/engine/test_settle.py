"""Where the slices of a settled view end: as far as the limits allow, and further if they would look back for longer
than they go.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import headwater as hw
from headwater.engine.settle import Ends
from headwater.engine.source import Limits, LogStream

START = datetime(2026, 1, 1, tzinfo=UTC)
FRAME = "OVER (PARTITION BY shop ORDER BY at RANGE BETWEEN INTERVAL '{}' SECOND PRECEDING AND CURRENT ROW)"
DECLARED = f"""
CREATE STREAM sales (shop STRING, pieces INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND);
CREATE MATERIALIZED VIEW short WITH (emit = 'final') AS
SELECT shop, at, sum(pieces) {FRAME.format(2)} AS pieces FROM sales;
CREATE MATERIALIZED VIEW long WITH (emit = 'final') AS
SELECT shop, at, sum(pieces) {FRAME.format(3600)} AS pieces FROM sales;
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[hw.Project]:
    """Thirty seconds of sales, a second in each commit."""
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    (tmp_path / "sales.sql").write_text(DECLARED)
    with hw.open(tmp_path) as opened:
        for second in range(30):
            opened.append("sales", [{"shop": "a", "pieces": 1, "at": START + timedelta(seconds=second)}])
        yield opened


@pytest.mark.parametrize(
    ("view", "ends"),
    [("short", [5, 10, 15, 20, 25, 30, 30]), ("long", [20, 30, 30])],
)
def test_a_slice_that_looks_back_for_longer_than_it_goes_has_more_rows(
    project: hw.Project, view: str, ends: list[int]
) -> None:
    log = project._logs.of("sales")
    near, far = ({"sales": LogStream(log, ["shop"], Limits(max_rows=rows))} for rows in (5, 20))
    for stream in (*near.values(), *far.values()):
        stream.stop_at_head()
    slices, at = Ends(project.plan().view(view), near, lambda: far), 0
    found = []
    for _ in ends:
        at = slices.behind({"sales": at})["sales"]
        found.append(at)
    assert found == ends
