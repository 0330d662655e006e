"""Which columns of topics the columns of views derive from."""

from __future__ import annotations

from headwater import plan
from headwater.plan import Ancestor
from tests.plan.planning import known, planned, view

CHAIN = """
    CREATE VIEW large AS SELECT id, customer AS who, amount, at FROM orders WHERE weight > 10;
    CREATE MATERIALIZED VIEW per_minute AS
    SELECT who, window_start, window_end, sum(amount) AS spent, count(*) AS n
    FROM TUMBLE(TABLE large, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY ALL;
    CREATE MATERIALIZED VIEW rates AS
    SELECT m.who, m.window_end, m.spent / m.n AS mean, c.country
    FROM per_minute m JOIN customers FOR SYSTEM_TIME AS OF m.window_end AS c ON c.customer = m.who;
"""


def spelled(ancestors: frozenset[Ancestor]) -> list[str]:
    return sorted(str(found) for found in ancestors)


def test_a_column_derives_from_the_columns_of_topics_through_every_view() -> None:
    found = known(planned(CHAIN)).views["rates"].lineage
    assert {name: spelled(ancestors) for name, ancestors in found.items()} == {
        "who": ["orders.customer"],
        "window_end": ["orders.at"],
        "mean": ["orders.amount"],
        "country": ["customers.country"],
    }


def test_a_view_reads_what_decides_its_rows() -> None:
    views = known(planned(CHAIN)).views
    assert spelled(views["per_minute"].reads) == ["orders.amount", "orders.at", "orders.customer", "orders.weight"]
    assert spelled(views["rates"].reads) == [
        "customers.country",
        "customers.customer",
        "orders.amount",
        "orders.at",
        "orders.customer",
    ]


def test_a_column_of_a_topic_reaches_columns_of_views() -> None:
    checked = known(planned(CHAIN))
    assert [str(found) for found in plan.reaches(checked, "orders", "amount")] == [
        "large.amount",
        "per_minute.spent",
        "rates.mean",
    ]


def test_the_branches_of_a_union_and_the_sides_of_a_case_all_count() -> None:
    query = """
        SELECT id, CASE WHEN weight > 1 THEN amount END AS value FROM orders
        UNION ALL SELECT order_id, paid FROM payments
    """
    assert {name: spelled(found) for name, found in view(query).lineage.items()} == {
        "id": ["orders.id", "payments.order_id"],
        "value": ["orders.amount", "orders.weight", "payments.paid"],
    }


def test_a_count_derives_from_no_column_and_a_window_function_from_all_it_looks_at() -> None:
    counted = view("SELECT at, count(*) AS n FROM orders GROUP BY at")
    ranked = view("SELECT id, sum(amount) OVER (PARTITION BY at ORDER BY weight) AS s FROM orders")
    assert counted.lineage["n"] == frozenset()
    assert spelled(ranked.lineage["s"]) == ["orders.amount", "orders.at", "orders.weight"]
