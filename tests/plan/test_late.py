"""`FROM late(view)`: what is read, and which views have no late rows that could be."""

from __future__ import annotations

import pytest

from headwater import model
from headwater.findings import DependencyCycle, QueryRefused, UnknownName
from headwater.operators import Late
from tests.plan.planning import planned

TUMBLED = "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY)"
COUNTED = f"SELECT customer, window_end, count(*) AS n {TUMBLED} WHERE amount > 3 AND window_end > at GROUP BY ALL"


def reading(declarations: str) -> list[str]:
    """The stages of the view `missed`."""
    from headwater.plan import describe_view

    text = describe_view(planned(declarations).checked().view("missed"))
    return [line.strip(" └─") for line in text.split("  stages\n")[1].split("  lineage\n")[0].splitlines()]


def test_late_rows_are_those_of_the_log_that_the_windows_of_a_view_turn_away() -> None:
    found = reading(
        f"CREATE MATERIALIZED VIEW v WITH (grace = '1 minute') AS {COUNTED};"
        "CREATE MATERIALIZED VIEW missed AS SELECT id, window_end, _watermark AS came_at FROM late(v)"
    )
    assert found == [
        "Project id, window_end, _watermark AS came_at",
        "Late for the window and a grace of 1 minute",
        "Assign TUMBLE of 1 day over at",
        "Scan stream orders: id, at",
    ]


def test_a_row_is_late_for_a_group_without_an_end_once_it_would_no_longer_count() -> None:
    found = planned(
        "CREATE MATERIALIZED VIEW v WITH (retention = '1 day', grace = '1 hour') AS "
        "SELECT customer, count(*) AS n, max(at) AS last_at FROM orders GROUP BY customer;"
        "CREATE MATERIALIZED VIEW missed AS SELECT customer, _watermark AS came_at FROM late(v)"
    )
    (late,) = [stage for stage in found.checked().view("missed").stages if isinstance(stage, Late)]
    assert late.grace == model.parse_duration("1 day 1 hour")


def test_what_a_filter_on_the_rows_themselves_drops_is_not_late() -> None:
    found = reading(
        f"CREATE MATERIALIZED VIEW v AS SELECT window_end, count(*) AS n {TUMBLED} WHERE amount > 3 GROUP BY ALL;"
        "CREATE MATERIALIZED VIEW missed AS SELECT id FROM late(v) AS l WHERE l.amount > 10"
    )
    assert found[1:] == [
        "Filter amount > 10",
        "Late for the window",
        "Assign TUMBLE of 1 day over at",
        "Filter amount > 3",
        "Scan stream orders: id, amount, at",
    ]


def test_rows_without_windows_are_late_by_their_own_time_and_can_be_put_into_windows_of_when_they_came() -> None:
    found = reading(
        "CREATE MATERIALIZED VIEW v AS SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY at "
        "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s FROM orders;"
        "CREATE MATERIALIZED VIEW missed AS SELECT window_end, count(*) AS n "
        "FROM TUMBLE(TABLE late(v), DESCRIPTOR(_watermark), INTERVAL '1' DAY) GROUP BY window_end"
    )
    assert found[1:] == ["Assign TUMBLE of 1 day over _watermark", "Late for at", "Scan stream orders: at"]


def test_a_row_is_late_for_a_group_without_an_end_once_it_is_no_longer_retained() -> None:
    found = reading(
        "CREATE MATERIALIZED VIEW v WITH (retention = '7 days', grace = '1 hour') AS "
        "SELECT customer, count(*) AS n FROM orders GROUP BY customer;"
        "CREATE MATERIALIZED VIEW missed AS SELECT id FROM late(v)"
    )
    assert found[1:] == ["Late for at and a grace of 7 days 1 hour", "Scan stream orders: id, at"]


def test_without_windows_each_copy_is_turned_away_by_its_time_where_something_is_kept() -> None:
    frame = "RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW"
    found = reading(
        f"CREATE MATERIALIZED VIEW v AS SELECT id, at, count(*) OVER (ORDER BY at {frame}) AS n FROM payments;"
        "CREATE MATERIALIZED VIEW missed AS SELECT id FROM late(v)"
    )
    assert found == ["Project id", "Late for at", "Scan stream payments: id, at"]


def test_a_view_of_events_as_they_come_turns_none_away() -> None:
    (finding,) = planned(
        "CREATE MATERIALIZED VIEW v AS SELECT id, paid, at FROM payments WHERE paid > 3;"
        "CREATE MATERIALIZED VIEW missed AS SELECT id FROM late(v)"
    ).errors
    assert finding.detail == "Every row is computed from one row, and none is too late."


def test_the_windows_that_a_row_was_late_for_are_no_windows_of_the_reader() -> None:
    plan = planned(
        f"CREATE MATERIALIZED VIEW v AS {COUNTED};"
        "CREATE MATERIALIZED VIEW missed AS SELECT window_end, count(*) AS n FROM late(v) GROUP BY window_end"
    )
    assert [finding.summary for finding in plan.errors] == ['view "missed" groups rows for ever']


JOINED = "SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id AND p.at = o.at"


@pytest.mark.parametrize(
    ("view", "detail"),
    [
        (f"CREATE VIEW v AS {COUNTED}", "It is a view without a store: those that read it admit rows."),
        (f"CREATE MATERIALIZED VIEW v WITH (late = 'drop') AS {COUNTED}", "It declares late = 'drop'."),
        ("CREATE MATERIALIZED VIEW v AS SELECT id FROM orders",
         "Every row is computed from one row, and none is too late."),
        ("CREATE STREAM once (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (unique = 'id', within = '1 day');"
         "CREATE MATERIALIZED VIEW v AS SELECT window_end, count(*) AS n "
         "FROM TUMBLE(TABLE once, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY window_end",
         'It reads the stream "once", whose events are taken once before any view admits them.'),
        ("CREATE MATERIALIZED VIEW v AS SELECT window_end, count(*) AS n FROM TUMBLE((SELECT id, at FROM payments "
         "QUALIFY row_number() OVER (PARTITION BY id ORDER BY at) = 1), DESCRIPTOR(at), "
         "INTERVAL '1' DAY) GROUP BY window_end",
         "It removes duplicates before it admits rows to what comes behind."),
        (f"CREATE MATERIALIZED VIEW v AS {JOINED}", "It admits the rows of several inputs, each in its own way."),
        ("CREATE MATERIALIZED VIEW v AS SELECT window_end, count(*) AS n "
         "FROM TUMBLE(TABLE orders, DESCRIPTOR(_arrived_at), INTERVAL '1' DAY) GROUP BY window_end",
         "Its windows are of arrival, and nothing is late for them."),
        (f"CREATE MATERIALIZED VIEW w AS {COUNTED}; CREATE MATERIALIZED VIEW v AS SELECT window_end, sum(n) AS n "
         "FROM TUMBLE(TABLE w, DESCRIPTOR(window_end), INTERVAL '7' DAY) GROUP BY window_end",
         'It reads the view "w", in which nothing is late.'),
    ],
)  # fmt: skip
def test_a_view_that_turns_no_rows_away_in_one_place_has_none_to_read(view: str, detail: str) -> None:
    (finding,) = planned(f"{view}; CREATE MATERIALIZED VIEW missed AS SELECT * FROM late(v)").errors
    assert isinstance(finding, QueryRefused)
    assert finding.summary == 'view "missed" reads the late rows of view "v", which has none that could be read'
    assert finding.detail == detail


def test_late_rows_of_something_else_than_a_view_are_refused() -> None:
    (finding,) = planned("CREATE MATERIALIZED VIEW missed AS SELECT * FROM late(orders)").errors
    assert isinstance(finding, UnknownName)
    assert finding.summary == 'view "missed" reads the late rows of "orders", which is no view'


def test_a_view_can_t_read_its_own_late_rows() -> None:
    (finding,) = planned("CREATE MATERIALIZED VIEW missed AS SELECT * FROM late(missed)").errors
    assert isinstance(finding, DependencyCycle)


def test_all_columns_of_late_rows_are_those_of_the_stream_and_its_windows() -> None:
    text = f"CREATE MATERIALIZED VIEW v AS {COUNTED}; CREATE MATERIALIZED VIEW missed AS SELECT {{}} FROM late(v)"
    of_stream = ["id", "customer", "amount", "weight", "items", "at", "window_start", "window_end", "window_time"]
    found = planned(text.format("*")).checked().view("missed")
    assert [column.name for column in found.columns] == of_stream
    found = planned(text.format("*, _watermark AS came_at")).checked().view("missed")
    assert [column.name for column in found.columns] == [*of_stream, "came_at"]
