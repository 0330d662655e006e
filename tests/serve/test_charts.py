"""What the dashboard draws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headwater.operate import Ledger
from headwater.serve.dashboard import charts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_ledger_is_a_bar_whose_parts_add_up() -> None:
    found = Ledger("v", 1, {}, logged=10, used=6, filtered=1, late=2, duplicates=1, dead=3)
    drawn = charts.ledger(found)
    assert sum(part["data"][0] for part in drawn["series"]) == found.rows_in == drawn["xAxis"]["max"] == 13
    assert [part["name"] for part in drawn["series"]] == ["used 6", "filtered 1", "late 2", "duplicates 1", "dead 3"]


def test_what_no_fate_explains_is_drawn_too() -> None:
    found = Ledger("v", 1, {}, logged=10, used=6, filtered=1, late=2, duplicates=0)
    assert charts.ledger(found)["series"][-1]["name"] == "remainder 1"


def test_a_silence_before_the_events_does_not_press_them_together() -> None:
    points = {"till": [(NOON, 0.5), (NOON, 1.0)], "phone": [(NOON, 10.0)]}
    silence = [(NOON, 3600.0), (NOON + timedelta(seconds=1), 4.0), (NOON + timedelta(seconds=2), 5.0)]
    drawn = charts.scatter(points, silence)
    assert drawn["yAxis"]["max"] == 12.0
    assert [part["name"] for part in drawn["series"]] == ["till", "phone", "watermark"]


def test_of_nothing_there_are_no_axes() -> None:
    for drawn in (charts.scatter({}, []), charts.lines({"a": []}), charts.commits([])):
        assert drawn["title"]["text"] == "nothing yet"
        assert not drawn["yAxis"]["show"]


def test_lines_have_the_colour_of_their_name() -> None:
    drawn = charts.lines({"a": [(NOON, 1.0)], "b": [(NOON, 0.123456)]}, "s")
    assert drawn["series"][1]["data"] == [[1767268800000, 0.1235]]
    assert drawn["series"][0]["color"] != drawn["series"][1]["color"]
