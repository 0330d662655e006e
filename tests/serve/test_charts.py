"""What the dashboard draws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headwater.operate import Ledger
from headwater.serve.dashboard import charts
from headwater.serve.dashboard.history import Moment, rates

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_ledger_is_a_bar_whose_parts_add_up() -> None:
    found = Ledger("v", 1, {}, logged=10, used=6, filtered=1, late=2, duplicates=1, dead=3)
    drawn = charts.ledger(found)
    assert sum(part["data"][0] for part in drawn["series"]) == found.rows_in == 13
    assert [part["name"] for part in drawn["series"]] == ["used 6", "filtered 1", "late 2", "duplicates 1", "dead 3"]


def test_what_no_fate_explains_is_drawn_too() -> None:
    found = Ledger("v", 1, {}, logged=10, used=6, filtered=1, late=2, duplicates=0)
    assert charts.ledger(found)["series"][-1]["name"] == "remainder 1"


def test_lineage_goes_from_left_to_right() -> None:
    graph = {
        "nodes": [{"name": name, "kind": kind} for name, kind in (("s", "stream"), ("v", "view"), ("w", "view"))],
        "edges": [{"from": "s", "to": "v"}, {"from": "v", "to": "w"}],
    }
    nodes = {node["name"]: node["x"] for node in charts.lineage(graph, None)["series"][0]["data"]}
    assert nodes["s"] < nodes["v"] < nodes["w"]


def test_rates_are_told_from_one_moment_to_the_next() -> None:
    moments = [Moment(NOON + timedelta(seconds=2 * n), 100 * n, n, {}, {}, {}) for n in range(3)]
    assert [rate for _, rate in rates(moments)] == [50.5, 50.5]
