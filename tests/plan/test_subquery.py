"""Subqueries that stand for a value or for a set of values, and LATERAL."""

from __future__ import annotations

import pytest

from headwater.errors import Finding
from headwater.findings import NotSupportedYet, QueryRefused, UnboundedJoin
from headwater.operators import Join
from tests.plan.planning import planned, stages, view

ORDERS = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
PAYMENTS = "TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE)"


def test_a_value_is_a_left_join_with_an_aggregate_of_the_same_window() -> None:
    query = f"""
        SELECT id FROM {ORDERS} AS o
        WHERE amount > (SELECT avg(i.amount) FROM {ORDERS} AS i WHERE i.window_end = o.window_end AND i.amount > 0)
    """
    assert stages(query) == [
        "Project id",
        "└─ Filter amount > value",
        "   └─ Join left on l.window_end = r.__key0 in the same TUMBLE of 1 minute",
        "      ├─ Assign TUMBLE of 1 minute over at",
        "      │  └─ Scan stream orders: id, amount, at",
        "      └─ Project window_end AS __key0, value",
        "         └─ Aggregate by window_end: AVG(amount) AS value",
        "            └─ Filter amount > 0",
        "               └─ Assign TUMBLE of 1 minute over at",
        "                  └─ Scan stream orders: amount, at",
    ]


def test_a_count_of_no_rows_is_zero() -> None:
    query = f"""
        SELECT id, (SELECT count(*) FROM {PAYMENTS} AS p WHERE p.window_end = o.window_end AND p.order_id = o.id) AS n
        FROM {ORDERS} AS o
    """
    assert [str(column) for column in view(query).columns] == ["id STRING NOT NULL", "n BIGINT"]
    assert "COALESCE(value, CAST(0 AS BIGINT)) AS value" in stages(query)[1]


def test_the_star_shows_nothing_of_a_value() -> None:
    value = f"SELECT max(paid) FROM {PAYMENTS} p WHERE p.window_end = o.window_end"
    query = f"SELECT * FROM {ORDERS} o WHERE amount > ({value})"
    shown = [column.name for column in view(query).columns]
    assert shown == [
        *["id", "customer", "amount", "weight", "items", "at"],
        "window_start",
        "window_end",
        "window_time",
    ]


@pytest.mark.parametrize(
    ("value", "kind", "summary"),
    [
        ("SELECT max(paid) FROM payments", UnboundedJoin,
         'view "v" uses a subquery as a value that looks at rows of all time'),
        ("SELECT max(p.paid) FROM payments p WHERE p.order_id = o.id", UnboundedJoin,
         'view "v" uses a subquery as a value that looks at rows of all time'),
        ("SELECT max(p.paid) FROM payments p WHERE p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR", QueryRefused,
         'view "v" compares the rows of a subquery that stands for a value by more than equality'),
        (f"SELECT p.paid FROM {PAYMENTS} p WHERE p.window_end = o.window_end", NotSupportedYet,
         'view "v" uses a subquery as a value that is not one aggregate'),
        (f"SELECT count(*) + max(p.paid) FROM {PAYMENTS} p WHERE p.window_end = o.window_end", NotSupportedYet,
         'view "v" uses a subquery as a value that is not one aggregate'),
        (f"SELECT max(p.paid) FROM {PAYMENTS} p WHERE p.window_end = o.window_end GROUP BY p.order_id", NotSupportedYet,
         'view "v" uses a subquery as a value that is not one aggregate'),
    ],
)  # fmt: skip
def test_a_value_that_is_not_bounded_in_time_or_not_one_is_refused(
    value: str, kind: type[Finding], summary: str
) -> None:
    query = f"SELECT id, ({value}) AS x FROM {ORDERS} AS o"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").errors
    assert (type(finding), finding.summary) == (kind, summary)
    assert finding.hint


def test_whether_there_are_rows_inside_an_expression_is_a_count_of_the_same_window() -> None:
    rows = f"FROM {PAYMENTS} AS p WHERE p.window_end = o.window_end AND p.order_id = o.id"
    exists = f"SELECT id FROM {ORDERS} AS o WHERE amount > 9 OR NOT EXISTS (SELECT 1 {rows})"
    counted = f"SELECT id FROM {ORDERS} AS o WHERE amount > 9 OR NOT ((SELECT count(*) {rows}) > 0)"
    assert stages(exists) == stages(counted)
    shown = f"SELECT id, EXISTS (SELECT p.paid {rows}) AS is_paid FROM {ORDERS} AS o"
    assert [str(column) for column in view(shown).columns] == ["id STRING NOT NULL", "is_paid BOOLEAN"]
    listed = f"""
        SELECT id FROM {ORDERS} AS o
        WHERE amount > 9 OR id IN (SELECT p.order_id FROM {PAYMENTS} AS p WHERE p.window_end = o.window_end)
    """
    assert stages(listed) == stages(f"SELECT id FROM {ORDERS} AS o WHERE amount > 9 OR EXISTS (SELECT 1 {rows})")


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        (f"amount > 9 OR id NOT IN (SELECT p.order_id FROM {PAYMENTS} p WHERE p.window_end = o.window_end)",
         NotSupportedYet),
        ("amount > 9 OR EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id)", UnboundedJoin),
        (f"amount > 9 OR EXISTS (SELECT 1 FROM {PAYMENTS} p WHERE p.window_end = o.window_end AND p.paid > o.amount)",
         QueryRefused),
    ],
)  # fmt: skip
def test_rows_inside_an_expression_that_no_count_tells_of_are_refused(condition: str, kind: type[Finding]) -> None:
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS SELECT id FROM {ORDERS} AS o WHERE {condition}").errors
    assert type(finding) is kind
    assert finding.hint


def test_in_may_bound_its_subquery_in_time() -> None:
    within = "p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR"
    listed = f"SELECT id FROM orders o WHERE id IN (SELECT order_id FROM payments p WHERE {within})"
    exists = f"SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM payments p WHERE {within} AND o.id = p.order_id)"
    assert stages(listed) == stages(exists)


def test_not_in_is_true_unless_a_value_may_be_equal() -> None:
    query = f"""
        SELECT id FROM {ORDERS} AS o
        WHERE (id, window_end) NOT IN (SELECT order_id, window_end FROM {PAYMENTS} AS p)
    """
    (join,) = [stage for stage in view(query).stages if isinstance(stage, Join)]
    assert join.kind == "anti"
    assert [(str(left), str(right)) for left, right in join.equal] == [("window_end", "window_end")]
    assert str(join.residual) == "l.id = r.order_id OR l.id IS NULL OR r.order_id IS NULL"


@pytest.mark.parametrize("word", ["IN", "NOT IN"])
def test_in_without_a_bound_is_refused(word: str) -> None:
    query = f"SELECT id FROM orders o WHERE id {word} (SELECT order_id FROM payments)"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").errors
    assert type(finding) is UnboundedJoin


def test_a_lateral_subquery_without_from_adds_columns() -> None:
    query = "SELECT o.id, x.twice FROM orders o, LATERAL (SELECT o.amount * 2 AS twice) AS x WHERE x.twice > 9"
    assert stages(query) == [
        "Filter twice > 9",
        "└─ Project id, amount * 2 AS twice",
        "   └─ Scan stream orders: id, amount",
    ]


def test_a_lateral_subquery_may_aggregate_the_rows_of_the_same_window() -> None:
    query = f"""
        SELECT o.id, x.n, x.most FROM {ORDERS} o
        CROSS JOIN LATERAL (
          SELECT count(*) AS n, max(paid) AS most FROM {PAYMENTS} p WHERE p.window_end = o.window_end) x
    """
    assert [str(column) for column in view(query).columns] == ["id STRING NOT NULL", "n BIGINT", "most DECIMAL(12, 2)"]
    assert view(query).execution.kind == "settle"


def test_an_outer_lateral_generator_keeps_rows_without_elements() -> None:
    query = "SELECT id, item FROM orders o LEFT JOIN LATERAL explode(o.items) AS t(item) ON true"
    unnest = "SELECT id, item FROM orders o LEFT JOIN UNNEST(o.items) AS t(item) ON true"
    assert stages(query)[1] == stages(unnest)[1] == "└─ Expand outer EXPLODE(items) AS item"


def test_a_lateral_subquery_that_gives_several_rows_is_refused() -> None:
    query = f"SELECT o.id, x.paid FROM {ORDERS} o, LATERAL (SELECT paid AS paid FROM {PAYMENTS} p) AS x"
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query}").errors
    assert NotSupportedYet in [type(finding) for finding in found]


FOREVER = "WITH (retention = 'forever')"


def test_a_value_over_all_of_time_needs_no_window_where_every_row_is_held() -> None:
    assert stages("SELECT country, (SELECT count(*) FROM orders) AS n FROM countries", FOREVER) == [
        "Project country, value AS n",
        "└─ Project country, COALESCE(value, CAST(0 AS BIGINT)) AS value",
        "   └─ Join left",
        "      ├─ Scan table countries: country",
        "      └─ Aggregate: COUNT(*) AS value",
        "         └─ Scan stream orders: no column",
    ]


def test_a_value_may_be_a_column_of_the_one_row_of_a_key() -> None:
    by_key = "SELECT customer, (SELECT i.name FROM countries i WHERE i.country = c.country) AS name FROM customers c"
    checked = view(by_key)
    assert [str(column) for column in checked.columns] == ["customer STRING NOT NULL", "name STRING"]
    assert checked.key.columns == ("customer",)
    by_another = (
        "SELECT country, (SELECT c.customer FROM customers c WHERE c.country = i.country) AS x FROM countries i"
    )
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {by_another}").errors
    assert finding.summary == 'view "v" uses a subquery as a value that is not one aggregate'


def test_groups_are_of_the_type_in_which_they_are_compared() -> None:
    """Else a number would be paired with the groups of '1' and of '01', and its row be there twice."""
    rows = f"FROM {PAYMENTS} AS p WHERE p.window_end = o.window_end AND p.order_id = CAST(o.weight AS INT)"
    shown = stages(f"SELECT id, (SELECT count(*) {rows}) AS n FROM {ORDERS} AS o")
    assert any("CAST(order_id AS BIGINT) AS __key1" in line or "by window_end, CAST(order_id" in line for line in shown)


def test_having_may_ask_other_relations_of_its_groups() -> None:
    query = """
        SELECT country, count(*) AS n FROM customers GROUP BY country
        HAVING count(*) > (SELECT count(*) FROM countries) OR EXISTS (SELECT 1 FROM orders o WHERE o.id = country)
    """
    checked = view(query, FOREVER)
    assert [str(column) for column in checked.columns] == ["country STRING", "n BIGINT NOT NULL"]
    assert checked.key.columns == ("country",)
    semi = view("SELECT country FROM customers c GROUP BY country HAVING EXISTS (SELECT 1 FROM countries i WHERE "
                "i.country = c.country)")  # fmt: skip
    assert semi.key.columns == ("country",)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT count(*) AS n FROM customers GROUP BY country "
        "HAVING count(*) > (SELECT count(*) FROM countries)",
        "SELECT country, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM customers GROUP BY country "
        "HAVING count(*) > (SELECT count(*) FROM countries)",
    ],
)
def test_having_asks_no_subquery_where_something_looks_at_what_it_has_left(query: str) -> None:
    assert NotSupportedYet in {type(finding) for finding in planned(f"CREATE MATERIALIZED VIEW v AS {query}").errors}
