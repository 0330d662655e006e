"""A plan in print and as data."""

from __future__ import annotations

import json
import re

import pytest

from headwater import plan
from headwater.errors import UnknownView
from tests.plan.planning import planned, view

TEXT = """
    CREATE MATERIALIZED VIEW spend WITH (grace = '10 minutes', store = 'main') AS
    SELECT customer, window_start, window_end, sum(amount) AS spent
    FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY ALL;
    CREATE MATERIALIZED VIEW large AS SELECT id, amount FROM orders WHERE amount > 100;
"""


def test_a_view_in_print() -> None:
    checked = planned(TEXT).checked()
    assert (
        plan.describe(checked, "SPEND")
        == f"""\
view "spend" {checked.view("spend").fingerprint}
  execution  settle: its groups are kept in parts, and a step merges what is new into those that it touches
  emit       changes: what is open is compared with what it was, and the difference is written
  key        customer, window_start, window_end
  horizon    1 minute
  grace      10 minutes
  columns    customer STRING, window_start TIMESTAMP NOT NULL, window_end TIMESTAMP NOT NULL, spent DECIMAL(22, 2)
  stages
    Aggregate by customer, window_start, window_end: SUM(amount) AS spent
    └─ Assign TUMBLE of 1 minute over at
       └─ Scan stream orders: customer, amount, at
  lineage
    customer     ← orders.customer
    window_start ← orders.at
    window_end   ← orders.at
    spent        ← orders.amount"""
    )


def test_all_views_are_printed_in_the_order_in_which_they_can_be_built() -> None:
    text = plan.describe(planned(TEXT).checked())
    assert [line for line in text.splitlines() if line.startswith("view")] == [
        line for line in text.splitlines() if '"large"' in line or '"spend"' in line
    ]


def test_an_unknown_view_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownView, match='the project has no view "nothing"') as refused:
        plan.describe(planned(TEXT), "nothing")
    assert refused.value.detail == "Its views are large, spend."


def test_a_plan_as_data_has_stable_names_and_is_json() -> None:
    data = plan.as_dict(planned(TEXT))
    assert json.loads(json.dumps(data)) == data
    assert set(data) == {"project", "findings", "relations", "edges", "views", "outlets"}
    assert data["edges"] == [{"source": "orders", "reader": "large"}, {"source": "orders", "reader": "spend"}]
    large, spend = data["views"]
    assert large["view"] == "large"
    assert {name: spend[name] for name in ("execution", "emit", "horizon", "grace", "store", "key", "inputs")} == {
        "execution": "settle",
        "emit": "changes",
        "horizon": "1 minute",
        "grace": "10 minutes",
        "store": "main",
        "key": {"columns": ["customer", "window_start", "window_end"], "kind": "group"},
        "inputs": ["orders"],
    }
    assert spend["columns"][-1] == {"name": "spent", "type": "DECIMAL(22, 2)", "nullable": True}
    assert spend["lineage"]["spent"] == ["orders.amount"]


def test_the_stages_of_a_plan_as_data_are_numbered_and_name_their_inputs() -> None:
    (spend,) = [view for view in plan.as_dict(planned(TEXT))["views"] if view["view"] == "spend"]
    assert [(stage["number"], stage["stage"], stage["inputs"]) for stage in spend["stages"]] == [
        (1, "scan", []),
        (2, "assign", [1]),
        (3, "aggregate", [2]),
    ]
    assert spend["stages"][1]["window"] == {"kind": "tumble", "size": "1 minute", "offset": "0 seconds"}
    assert spend["stages"][2]["aggregates"][0]["expression"]["sql"] == "SUM(amount)"


def test_findings_as_data_have_their_code_place_and_severity() -> None:
    (finding,) = plan.as_dict(planned("CREATE MATERIALIZED VIEW v AS SELECT idd FROM orders"))["findings"]
    assert {name: finding[name] for name in ("error", "severity", "file", "line", "column", "view")} == {
        "error": "unknown-column",
        "severity": "error",
        "file": "project.sql",
        "line": 1,
        "column": 38,
        "view": "v",
    }


def test_each_fact_of_a_view_is_told_once() -> None:
    found = view(
        "SELECT customer, count(*) AS n FROM orders GROUP BY customer",
        "WITH (retention = '1 day', every = '10 seconds')",
    )
    facts = [line.split()[0] for line in plan.describe_view(found).splitlines() if re.match(r"  \w", line)]
    assert facts == [
        "execution",
        "emit",
        "every",
        "key",
        "horizon",
        "retention",
        "grace",
        "columns",
        "stages",
        "lineage",
    ]
