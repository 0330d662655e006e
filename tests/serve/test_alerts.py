"""Alerts as the dashboard tells them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headwater.model import Rule
from headwater.operate.alert import Alert
from headwater.serve.dashboard.alerts import alert_row, rule_row

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEHIND = Alert("behind", "view", "spend", "firing", 120, 100, NOON, "120 commits are not in the store")


def test_an_alert_leads_to_what_it_is_about_and_says_since_when() -> None:
    assert alert_row(BEHIND, NOON + timedelta(minutes=3)) == {
        "state": "firing", "health": "bad", "rule": "behind", "about": "view spend", "page": "/dashboard/views/spend",
        "detail": "120 commits are not in the store", "value": "120 > 100", "since": "3 m 0 s ago",
    }  # fmt: skip


def test_a_rule_is_as_bad_as_the_worst_of_its_alerts() -> None:
    rule = Rule(name="behind", when="lag", above=100, lasting=timedelta(minutes=5))
    over = Alert("behind", "view", "top", "resolved", 0, 100, NOON, "")
    assert [rule_row(rule, found)["state"] for found in ((over, BEHIND), (over,), ())] == ["firing", "quiet", "quiet"]
    row = rule_row(rule, ())
    assert (row["above"], row["for"], row["of"]) == ("100", "5 minutes", "everything")
