"""The stages that the usual shapes of queries become."""

from __future__ import annotations

import pytest

from headwater import plan
from headwater.operators import Aggregate, Join, Scan, TopN
from tests.plan.planning import STREAMS, declared, planned, stages, view

TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
WITHIN_AN_HOUR = "p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR"


def test_a_tumbling_count() -> None:
    query = f"SELECT customer, window_start, window_end, count(*) AS n FROM {TUMBLE} GROUP BY ALL"
    assert stages(query) == [
        "Aggregate by customer, window_start, window_end: COUNT(*) AS n",
        "└─ Assign TUMBLE of 1 minute over at",
        "   └─ Scan stream orders: customer, at",
    ]


def test_a_hop_with_filter_and_having() -> None:
    query = """
        SELECT customer, window_end, sum(amount) AS spent
        FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)
        WHERE amount > 0 GROUP BY customer, window_end HAVING sum(amount) > 100
    """
    assert stages(query) == [
        "Aggregate by customer, window_end: SUM(amount) AS spent having spent > 100",
        "└─ Filter amount > 0",
        "   └─ Assign HOP of 5 minutes every 1 minute over at",
        "      └─ Scan stream orders: customer, amount, at",
    ]


def test_a_cumulating_window_with_an_offset() -> None:
    query = """
        SELECT window_start, window_end, count(*) AS n
        FROM CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '1' DAY, INTERVAL '2' HOUR)
        GROUP BY window_start, window_end
    """
    assert stages(query)[1] == "└─ Assign CUMULATE to 1 day by 1 hour offset by 2 hours over at"


@pytest.mark.parametrize(
    ("arguments", "window"),
    [
        ("INTERVAL '1' MONTH", "TUMBLE of 1 month in UTC"),
        ("INTERVAL '2' YEAR, 'Asia/Tokyo'", "TUMBLE of 2 years in Asia/Tokyo"),
        ("INTERVAL '7' DAY, 'Asia/Tokyo'", "TUMBLE of 1 week in Asia/Tokyo"),
        ("INTERVAL '3' DAY, INTERVAL '6' HOUR, 'Asia/Tokyo'", "TUMBLE of 3 days in Asia/Tokyo offset by 6 hours"),
    ],
)
def test_a_window_of_the_calendar_is_told_by_its_start(arguments: str, window: str) -> None:
    query = f"SELECT window_start, count(*) AS n FROM TUMBLE(orders, at, {arguments}) GROUP BY window_start"
    assert stages(query)[1] == f"└─ Assign {window} over at"
    assert (view(query).key.columns, view(query).execution.kind) == (("window_start",), "settle")


def test_a_session_per_customer() -> None:
    query = """
        SELECT customer, window_start, window_end, count(*) AS n
        FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE)
        GROUP BY customer, window_start, window_end
    """
    assert stages(query)[1] == "└─ Assign SESSION with a gap of 5 minutes per customer over at"


def test_a_window_over_the_time_of_arrival() -> None:
    query = """
        SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(_arrived_at), INTERVAL '1' MINUTE)
        GROUP BY window_end
    """
    assert stages(query)[1:] == [
        "└─ Assign TUMBLE of 1 minute over _arrived_at",
        "   └─ Scan stream orders: _arrived_at",
    ]


def test_aggregates_inside_expressions_are_lifted_out_once() -> None:
    query = f"""
        SELECT window_end, sum(amount) / count(*) AS mean, count(*) AS n, count(*) FILTER (WHERE amount > 9) AS large
        FROM {TUMBLE} GROUP BY 1
    """
    assert stages(query)[:2] == [
        "Project window_end, sum / count AS mean, count AS n, large",
        "└─ Aggregate by window_end: SUM(amount) AS sum, COUNT(*) AS count, COUNT(*) FILTER(WHERE amount > 9) AS large",
    ]


@pytest.mark.parametrize(
    ("condition", "bound"),
    [
        ("p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR", "r.at − l.at in [0 seconds, 1 hour]"),
        ("p.at >= o.at AND p.at < o.at + INTERVAL '1' HOUR", "r.at − l.at in [0 seconds, 1 hour)"),
        ("o.at <= p.at AND o.at + INTERVAL '1' HOUR >= p.at", "r.at − l.at in [0 seconds, 1 hour]"),
        ("o.at BETWEEN p.at - INTERVAL '1' HOUR AND p.at", "r.at − l.at in [0 seconds, 1 hour]"),
        ("p.at - INTERVAL '1' HOUR <= o.at AND p.at > o.at", "r.at − l.at in (0 seconds, 1 hour]"),
        ("p.at - o.at BETWEEN INTERVAL '-5' MINUTE AND INTERVAL '5' MINUTE", "r.at − l.at in [-5 minutes, 5 minutes]"),
        ("o.at - p.at < INTERVAL '1' MINUTE AND p.at - o.at < INTERVAL '2' MINUTE",
         "r.at − l.at in (-1 minute, 2 minutes)"),
        ("p.at + INTERVAL '1' DAY > (o.at + INTERVAL '1' HOUR) AND p.at <= o.at",
         "r.at − l.at in (-23 hours, 0 seconds]"),
        ("p.at = o.at", "r.at − l.at in [0 seconds, 0 seconds]"),
        ("p.at > o.at AND p.at >= o.at AND p.at < o.at + INTERVAL 9 SECOND AND p.at < o.at + INTERVAL 8 SECOND",
         "r.at − l.at in (0 seconds, 8 seconds)"),
    ],
)  # fmt: skip
def test_every_spelling_of_a_time_bound_is_understood(condition: str, bound: str) -> None:
    written_in_on = view(f"SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id AND {condition}")
    written_in_where = view(f"SELECT o.id FROM orders o, payments p WHERE o.id = p.order_id AND {condition}")
    (join,) = [stage for stage in written_in_on.stages if isinstance(stage, Join)]
    (other,) = [stage for stage in written_in_where.stages if isinstance(stage, Join)]
    assert str(join.bound) == str(other.bound) == bound


def test_an_interval_join_keeps_equalities_and_the_rest_apart() -> None:
    query = f"SELECT o.id, p.id AS payment FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND {WITHIN_AN_HOUR}"
    assert stages(query) == [
        "Project id, p_id AS payment",
        "└─ Join left on l.id = r.order_id within r.at − l.at in [0 seconds, 1 hour] "
        "where r.at BETWEEN l.at AND l.at + INTERVAL '1' HOUR",
        "   ├─ Scan stream orders: id, at",
        "   └─ Scan stream payments unique by id: id, order_id, at",
    ]


def test_an_outer_join_makes_the_columns_of_the_other_side_nullable() -> None:
    on = f"ON o.id = p.order_id AND {WITHIN_AN_HOUR}"
    left = view(f"SELECT o.id, p.id AS payment FROM orders o LEFT JOIN payments p {on}")
    full = view(f"SELECT o.id, p.id AS payment FROM orders o FULL JOIN payments p {on}")
    assert [column.nullable for column in left.columns] == [False, True]
    assert [column.nullable for column in full.columns] == [True, True]


def test_a_window_join_is_bounded_by_its_window() -> None:
    query = """
        SELECT o.id, p.id AS payment, o.window_end
        FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) o
        JOIN TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) p
          ON o.id = p.order_id AND o.window_start = p.window_start AND o.window_end = p.window_end
    """
    assert stages(query)[1] == (
        "└─ Join inner on l.id = r.order_id and l.window_start = r.window_start and l.window_end = r.window_end "
        "in the same TUMBLE of 1 minute"
    )


def test_a_join_with_a_windowed_view_is_bounded_by_either_end_of_the_window() -> None:
    plan = planned(f"""
        CREATE MATERIALIZED VIEW highest AS
        SELECT window_start, window_end, max(amount) AS amount FROM {TUMBLE} GROUP BY window_start, window_end;
        CREATE MATERIALIZED VIEW v AS
        SELECT o.id, h.window_end FROM orders o
        JOIN highest h ON o.amount = h.amount AND o.at >= h.window_start AND o.at < h.window_end;
    """)
    (join,) = [stage for stage in plan.checked().view("v").stages if isinstance(stage, Join)]
    assert str(join.bound) == "r.window_end − l.at in (0 seconds, 1 minute]"


def test_an_as_of_join_asks_a_versioned_table() -> None:
    query = """
        SELECT o.id, c.country FROM orders o
        JOIN customers FOR SYSTEM_TIME AS OF o.at AS c ON c.customer = o.customer
    """
    assert stages(query) == [
        "AsOfJoin inner on l.customer = r.customer as of at",
        "├─ Scan stream orders: id, customer, at",
        "└─ Scan table customers: customer, country",
    ]


def test_exists_is_a_semi_join_and_not_exists_an_anti_join() -> None:
    inner = f"(SELECT 1 FROM payments p WHERE order_id = o.id AND {WITHIN_AN_HOUR})"
    semi = stages(f"SELECT o.id FROM orders o WHERE amount > 0 AND EXISTS {inner}")
    anti = stages(f"SELECT o.id FROM orders o WHERE NOT EXISTS {inner}")
    assert semi[:2] == [
        "Project id",
        "└─ Filter amount > 0",
    ]
    assert semi[2].startswith("   └─ Join semi on l.id = r.order_id within r.at − l.at in [0 seconds, 1 hour]")
    assert anti[0].startswith("Join anti on l.id = r.order_id within r.at − l.at in [0 seconds, 1 hour]")


@pytest.mark.parametrize("condition", ["place <= 3", "place < 4", "3 >= place", "place BETWEEN 1 AND 3"])
def test_a_filter_on_row_number_is_a_top_n(condition: str) -> None:
    rank = "ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY amount DESC) AS place"
    ranked = f"SELECT id, amount, window_end, {rank} FROM {TUMBLE}"
    assert stages(f"SELECT * FROM ({ranked}) WHERE {condition}") == [
        "Project id, amount, window_end, place",
        "└─ TopN 3 by row_number per window_end, ordered by amount DESC",
        "   └─ Assign TUMBLE of 1 minute over at",
        "      └─ Scan stream orders: id, amount, at",
    ]


def test_qualify_is_a_top_n_without_showing_the_rank() -> None:
    query = (
        f"SELECT id, window_end FROM {TUMBLE} QUALIFY RANK() OVER (PARTITION BY window_end ORDER BY amount DESC) <= 2"
    )
    (top,) = [stage for stage in view(query).stages if isinstance(stage, TopN)]
    assert (top.limit, top.ranking, top.rank) == (2, "rank", None)


def test_order_by_with_limit_is_a_top_n_over_all_rows() -> None:
    query = "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 10"
    assert stages(query, "WITH (retention = '1 day', key = 'id')") == [
        "TopN 10 by row_number, ordered by amount DESC, id",
        "└─ Scan stream orders: id, amount",
    ]


def test_the_first_row_number_is_a_deduplication() -> None:
    query = "SELECT customer, id, at FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY at) = 1"
    assert stages(query, "WITH (retention = '1 day')") == [
        "Project customer, id, at",
        "└─ Deduplicate by customer, the first by at",
        "   └─ Scan stream orders: id, customer, at",
    ]


def test_distinct_is_a_deduplication_by_all_columns() -> None:
    assert stages("SELECT DISTINCT customer, at FROM orders") == [
        "Deduplicate by customer, at",
        "└─ Scan stream orders: customer, at",
    ]


def test_a_union_is_flat_and_named_as_its_first_branch() -> None:
    query = "SELECT id, at FROM orders UNION ALL SELECT id, at FROM payments UNION ALL SELECT customer, at FROM orders"
    assert stages(query) == [
        "Union id, at",
        "├─ Scan stream orders: id, at",
        "├─ Scan stream payments unique by id: id, at",
        "└─ Project customer AS id, at",
        "   └─ Scan stream orders: customer, at",
    ]


def test_window_functions_become_one_stage() -> None:
    query = """
        SELECT id, sum(amount) OVER hour AS spent, count(*) OVER hour AS n FROM orders
        WINDOW hour AS (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)
    """
    frame = "OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)"
    assert stages(query) == [
        "Project id, spent, n",
        f"└─ Over SUM(amount) {frame} AS spent, COUNT(*) {frame} AS n",
        "   └─ Scan stream orders: id, customer, amount, at",
    ]


def test_a_generator_gives_a_row_per_element() -> None:
    expected = ["Project id, item", "└─ Expand EXPLODE(items) AS item", "   └─ Scan stream orders: id, items"]
    assert stages("SELECT id, explode(items) AS item FROM orders") == expected
    assert stages("SELECT id, item FROM orders LATERAL VIEW explode(items) t AS item") == expected


def test_a_common_table_expression_hides_a_stream_of_its_name() -> None:
    query = "WITH orders AS (SELECT id, amount FROM orders WHERE amount > 1) SELECT id FROM orders WHERE amount < 9"
    assert stages(query) == [
        "Project id",
        "└─ Filter amount < 9",
        "   └─ Filter amount > 1",
        "      └─ Scan stream orders: id, amount",
    ]


def test_an_inline_view_and_a_stateless_view_are_taken_in() -> None:
    plan = planned("""
        CREATE VIEW large AS SELECT id, customer, amount, at FROM orders WHERE amount > 100;
        CREATE MATERIALIZED VIEW vip AS SELECT id, amount, at FROM large WHERE customer = 'x';
        CREATE MATERIALIZED VIEW v AS
        SELECT window_end, sum(amount) AS spent FROM TUMBLE(TABLE vip, DESCRIPTOR(at), INTERVAL '1' DAY)
        GROUP BY window_end;
    """).checked()
    assert plan.view("large").execution.kind == "inline"
    assert plan.view("v").inputs == ("orders",)
    assert plan.graph.sources("v") == ("vip",)


def test_a_windowed_view_is_read_through_its_derived_topic_at_its_window_time() -> None:
    plan = planned(f"""
        CREATE MATERIALIZED VIEW per_minute AS
        SELECT customer, window_start, window_end, sum(amount) AS spent FROM {TUMBLE} GROUP BY ALL;
        CREATE MATERIALIZED VIEW v AS
        SELECT customer, window_end, max(spent) AS most
        FROM TUMBLE(TABLE per_minute, DESCRIPTOR(window_end), INTERVAL '1' HOUR) GROUP BY customer, window_end;
    """).checked()
    (scan,) = plan.view("v").scans
    assert (scan.kind, scan.relation, scan.time) == ("view", "per_minute", "window_end")
    assert plan.view("v").execution.kind == "settle"
    assert [str(stage.shift) for stage in plan.view("v").stages if hasattr(stage, "shift")] == [
        "-1 day, 23:59:59.999000"
    ]


def test_a_diamond_of_views() -> None:
    plan = planned(f"""
        CREATE MATERIALIZED VIEW total AS SELECT window_end, sum(amount) AS s FROM {TUMBLE} GROUP BY window_end;
        CREATE MATERIALIZED VIEW number AS SELECT window_end, count(*) AS n FROM {TUMBLE} GROUP BY window_end;
        CREATE MATERIALIZED VIEW v AS
        SELECT t.window_end, s, n FROM total t JOIN number n ON t.window_end = n.window_end;
    """).checked()
    assert list(plan.views) == ["number", "total", "v"]
    assert plan.graph.upstream("v") == {"orders", "number", "total"}
    assert plan.graph.downstream("orders") == {"number", "total", "v"}
    (join,) = [stage for stage in plan.view("v").stages if isinstance(stage, Join)]
    assert join.window is not None


def test_a_scan_names_only_the_columns_that_are_used() -> None:
    (scan,) = view("SELECT id FROM (SELECT * FROM orders) WHERE weight > 1.5").scans
    assert [field.name for field in scan.columns] == ["id", "weight"]


def test_using_makes_one_column_of_two() -> None:
    query = """
        SELECT * FROM (SELECT id, customer, at FROM orders) a
        JOIN (SELECT customer, country, at AS seen_at FROM (SELECT customer, id AS country, at FROM orders)) b
        USING (customer) WHERE b.seen_at BETWEEN a.at AND a.at + INTERVAL '1' MINUTE
    """
    assert [column.name for column in view(query).columns] == ["id", "customer", "at", "country", "seen_at"]


def test_star_leaves_out_the_columns_of_the_log_and_those_it_is_told_to() -> None:
    assert [column.name for column in view("SELECT * EXCEPT (items, weight) FROM orders").columns] == [
        "id",
        "customer",
        "amount",
        "at",
    ]


def test_the_columns_of_the_log_can_be_named() -> None:
    found = view(
        "SELECT id, _commit AS position, unix_micros(_arrived_at) - unix_micros(at) AS took FROM orders"
    ).columns
    assert [str(column) for column in found] == ["id STRING NOT NULL", "position BIGINT NOT NULL", "took BIGINT"]


def test_an_alternative_among_conditions_keeps_its_parentheses() -> None:
    query = "SELECT id FROM orders WHERE (amount > 5 OR weight > 5) AND customer = 'x'"
    assert stages(query)[1] == "└─ Filter (amount > 5 OR weight > 5) AND customer = 'x'"


def test_a_function_of_the_project_is_replaced_by_its_body() -> None:
    plan = planned("""
        CREATE FUNCTION net(gross DECIMAL(12, 2), rate DOUBLE) RETURNS DOUBLE RETURN gross / (1 + rate);
        CREATE MATERIALIZED VIEW v AS SELECT id, net(amount, 0.2) AS net FROM orders;
    """).checked()
    assert [str(column) for column in plan.view("v").columns] == ["id STRING NOT NULL", "net DOUBLE"]
    assert plan.view("v").lineage["net"] == {("orders", "amount")}


def test_a_group_key_may_be_an_expression() -> None:
    found = view(f"SELECT upper(customer) AS who, window_end, count(*) AS n FROM {TUMBLE} GROUP BY upper(customer), 2")
    (aggregate,) = [stage for stage in found.stages if isinstance(stage, Aggregate)]
    assert [str(key) for key in aggregate.keys] == ["UPPER(customer) AS who", "window_end"]
    assert found.key.columns == ("who", "window_end")


def test_a_table_alone_keeps_its_primary_key() -> None:
    found = view("SELECT customer, country FROM customers WHERE country <> 'XX'")
    assert [stage.kind for stage in found.stages if isinstance(stage, Scan)] == ["table"]
    assert (found.key.kind, found.key.columns) == ("group", ("customer",))


def test_the_unnest_of_rows_gives_their_fields() -> None:
    streams = STREAMS.replace("items ARRAY<STRING>", "items ARRAY<STRUCT<name: STRING, price: DOUBLE>>")
    query = "CREATE MATERIALIZED VIEW v AS SELECT id, i.* FROM orders CROSS JOIN UNNEST(items) AS i;"
    project, findings = declared(query, streams=streams)
    assert not findings
    assert [str(column) for column in plan.check(project).checked().view("v").columns] == [
        "id STRING NOT NULL",
        "name STRING",
        "price DOUBLE",
    ]


def test_json_operators_are_paths() -> None:
    assert stages("SELECT id, customer ->> '$.a.b' AS c FROM orders")[0].endswith(
        "GET_JSON_OBJECT(customer, '$.a.b') AS c"
    )
    assert stages("SELECT id, customer -> 'a b' -> 0 ->> 'c' || 'x' AS c FROM orders")[0].endswith(
        r"GET_JSON_OBJECT(customer, '$[\'a b\'][0].c') || 'x' AS c"
    )
    assert stages("SELECT id, customer #>> '{a,1}' AS c FROM orders")[0].endswith(
        "GET_JSON_OBJECT(customer, '$.a[1]') AS c"
    )
    assert stages("SELECT id, customer -> 'a' AS c FROM orders")[0].endswith(
        "TO_JSON(TRY_VARIANT_GET(TRY_PARSE_JSON(customer), '$.a', 'variant')) AS c"
    )
    _, (finding,) = declared("CREATE MATERIALIZED VIEW v AS SELECT id, customer -> 'it''s' AS c FROM orders;")
    assert "->>" in (finding.hint or "") and finding.origin is not None
