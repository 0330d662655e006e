"""Values that become columns, and columns that become rows."""

from __future__ import annotations

from headwater.findings import NotSupportedYet
from tests.plan.planning import planned, stages, view

WINDOWED = "SELECT window_end, customer, amount FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"


def test_a_pivot_is_an_aggregate_with_a_filter_per_value() -> None:
    query = f"SELECT * FROM ({WINDOWED}) PIVOT (sum(amount) FOR customer IN ('x' AS one, 'y'))"
    assert stages(query)[0] == (
        "Aggregate by window_end: SUM(amount) FILTER(WHERE customer IS NOT DISTINCT FROM 'x') AS one, "
        "SUM(amount) FILTER(WHERE customer IS NOT DISTINCT FROM 'y') AS y"
    )
    assert view(query).key.columns == ("window_end",)


def test_several_aggregates_have_their_names_behind_the_value_and_none_counts_nothing() -> None:
    query = f"SELECT * FROM ({WINDOWED}) PIVOT (max(amount) AS most, count(*) AS n FOR customer IN ('x'))"
    assert [column.name for column in view(query).columns] == ["window_end", "x_most", "x_n"]
    assert stages(query)[0] == ("Project window_end, x_most, CASE WHEN count > 0 THEN count END AS x_n")


def test_columns_of_several_values_are_compared_one_by_one() -> None:
    windowed = WINDOWED.replace("customer,", "customer, id,")
    query = f"SELECT * FROM ({windowed}) AS o PIVOT (sum(amount) FOR (customer, id) IN (('x', '1') AS only)) AS p"
    assert stages(query)[0] == (
        "Aggregate by window_end: "
        "SUM(amount) FILTER(WHERE customer IS NOT DISTINCT FROM 'x' AND id IS NOT DISTINCT FROM '1') AS only"
    )


def test_an_unpivot_gives_a_row_per_column() -> None:
    query = "SELECT id, what, quantity FROM orders UNPIVOT (quantity FOR what IN (customer AS who, id AS which))"
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert [finding.summary for finding in found.errors] == ['view "v" reads an unknown column "id"']
    assert stages("SELECT at, what, quantity FROM (SELECT at, customer, id FROM orders) "
                  "UNPIVOT (quantity FOR what IN (customer AS who, id))") == [
        "Project at, what, quantity",
        "└─ Filter NOT quantity IS NULL",
        "   └─ Expand INLINE(ARRAY(STRUCT('who' AS what, customer AS quantity), STRUCT('id' AS what, id AS quantity))) "
        "AS what, quantity",
        "      └─ Project at, customer, id",
        "         └─ Scan stream orders: id, customer, at",
    ]  # fmt: skip


def test_a_pivot_needs_its_values() -> None:
    query = f"SELECT * FROM ({WINDOWED}) UNPIVOT ((a, b) FOR what IN ((customer, amount) AS x))"
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query}").errors
    assert NotSupportedYet in [type(finding) for finding in found]
