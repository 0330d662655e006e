"""Whether a change was early, on time or late: told from its row and the watermarks around its batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from headwater.engine.timing import with_timing
from headwater.plan import PlannedView
from headwater.store import Target, changes_schema
from tests.plan.planning import view

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '10' SECOND)"


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def marked(
    planned: PlannedView, row: dict[str, Any], *, before: float | None, reached: float, op: str = "insert"
) -> Any:
    """The timing of one change of a row, brought by a batch that moved the watermark."""
    target = Target(planned.name, 1, planned.columns, planned.identity, planned.emit)
    change = {"op": op, "before": row if op == "delete" else None, "after": None if op == "delete" else row, "batch": 1}
    beside = {"commit": [("orders", 1)], "at": NOON, "watermark": at(reached)}
    change |= beside | {"watermark_before": None if before is None else at(before)}
    changes = pa.Table.from_pylist([change], schema=changes_schema(target))
    return with_timing(planned, changes)["timing"].to_pylist()[0]


@pytest.mark.parametrize(
    ("before", "reached", "timing"),
    [(0, 9, "early"), (None, 9.999, "early"), (9, 10, "on time"), (None, 60, "on time"), (10, 11, "late")],
)
@pytest.mark.parametrize("op", ["insert", "delete"])
@pytest.mark.parametrize(
    ("shown", "row"),
    [
        ("window_end", {"window_end": at(10)}),
        ("window_time", {"window_time": at(9.999)}),
        ("window_start", {"window_start": at(0)}),
    ],
)
def test_a_change_of_a_window_is_early_on_time_or_late(
    before: float | None, reached: float, timing: str, op: str, shown: str, row: dict[str, Any]
) -> None:
    planned = view(f"SELECT {shown}, count(*) AS n FROM {TUMBLE} GROUP BY {shown}", "WITH (grace = '1 minute')")
    assert marked(planned, row | {"n": 1}, before=before, reached=reached, op=op) == timing


def test_a_row_that_is_written_once_is_on_time() -> None:
    final = view(f"SELECT window_end, count(*) AS n FROM {TUMBLE} GROUP BY window_end", "WITH (emit = 'final')")
    assert marked(final, {"window_end": at(10), "n": 1}, before=30, reached=40) == "on time"
    assert marked(view("SELECT id FROM orders"), {"id": "1"}, before=None, reached=0) == "on time"


def test_a_row_that_is_never_final_is_early() -> None:
    query = "SELECT customer, max(at) AS last_at FROM orders GROUP BY customer"
    row = {"customer": "a", "last_at": at(1)}
    assert marked(view(query, "WITH (retention = '1 day')"), row, before=50, reached=60) == "early"


def test_a_row_that_waits_for_others_ends_that_much_later() -> None:
    query = "SELECT id, at, lead(id) OVER (PARTITION BY customer ORDER BY at) AS next FROM orders"
    planned = view(query, "WITH (horizon = '5 seconds', key = 'id', emit = 'changes')")
    row = {"id": "1", "at": at(1), "next": None}
    assert marked(planned, row, before=1, reached=5) == "early"
    assert marked(planned, row, before=5, reached=6) == "on time"
    assert marked(planned, row | {"at": None}, before=5, reached=6) is None
