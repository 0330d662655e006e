"""Equal times: where rows of a stream turn each other away, and where they don't."""

from __future__ import annotations

import pytest

from headwater.findings import EqualTimesLate
from tests.plan.planning import planned

STRICT = "CREATE STREAM bids (id INT, item STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (unique = 'id');"
NEAR = "b.item = c.item AND c.at BETWEEN b.at AND b.at + INTERVAL '1' MINUTE"
FRAME = "RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW"


def cautions(query: str, options: str = "", streams: str = STRICT) -> list[str]:
    plan = planned(f"{streams} CREATE MATERIALIZED VIEW v {options} AS {query}").checked()
    return [finding.summary for finding in plan.findings if isinstance(finding, EqualTimesLate)]


@pytest.mark.parametrize(
    ("query", "does"),
    [
        (f"SELECT b.id, c.id AS other FROM bids b JOIN bids c ON {NEAR}", "joins"),
        ("SELECT b.id FROM bids b JOIN orders o ON o.id = b.item AND o.at = b.at", "joins"),
        (f"SELECT id, count(*) OVER (ORDER BY at {FRAME}) AS n FROM bids", "looks at the rows around a row of"),
        ("SELECT at, count(*) AS n FROM bids GROUP BY at", "groups by the event time of"),
        ("SELECT DISTINCT item, at FROM bids", "removes duplicates of"),
    ],
)
def test_rows_that_are_admitted_by_their_own_time_are_cautioned_about(query: str, does: str) -> None:
    assert cautions(query) == [f'view "v" {does} stream "bids", whose rows of equal times are late']
    assert cautions(query, "WITH (grace = '1 millisecond')") == []
    delayed = STRICT.replace("AS at)", "AS at - INTERVAL '0.001' SECOND)")
    assert cautions(query, streams=delayed) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, at FROM bids",
        "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY 1",
    ],
)
def test_the_ends_of_windows_are_after_the_times_of_their_rows(query: str) -> None:
    assert cautions(query) == []
