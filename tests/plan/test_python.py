"""Views that are Python functions of DataFrames."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa

from headwater import model, plan
from headwater.findings import NoWatermark, QueryRefused, UnboundedState, UnknownName
from headwater.operators import Apply, Role
from headwater.operators.stage import with_role
from tests.plan.planning import declared

AT = model.Column("at", model.INSTANT, nullable=False)
COLUMNS = (model.Column("id", pa.string()), AT, model.Column("total", pa.int64()))
SOURCE = "def totals(orders):\n    return orders\n"


def totals(orders: Any) -> Any:
    return orders


def python_view(
    *,
    inputs: tuple[str, ...] = ("orders",),
    columns: tuple[model.Column, ...] = COLUMNS,
    horizon: timedelta | None = timedelta(hours=1),
    source: str = SOURCE,
    time: str | None = None,
    gap: timedelta | None = None,
) -> model.View:
    query = model.PythonQuery("shop", "totals", source, inputs, columns, totals, time, gap)
    return model.View(name="totals", query=query, horizon=horizon)


def check(view: model.View, text: str = "") -> plan.Plan:
    project, _ = declared(text)
    declarations = (*project.declarations, view)
    return plan.check(model.Project(name="shop", declarations=declarations, stores=project.stores))


def test_a_python_view_is_settled_over_its_horizon() -> None:
    found = check(python_view()).checked().view("totals")
    assert found.execution.kind == "settle"
    assert found.horizon == timedelta(hours=1)
    assert found.inputs == ("orders",)
    assert isinstance(found.root, Apply)
    assert [str(column) for column in found.columns] == ["id STRING", "at TIMESTAMP NOT NULL", "total BIGINT"]


def test_its_columns_derive_from_everything_it_reads_but_the_log_s_own() -> None:
    found = check(python_view()).checked().view("totals")
    assert sorted(str(ancestor) for ancestor in found.lineage["total"]) == [
        "orders.amount",
        "orders.at",
        "orders.customer",
        "orders.id",
        "orders.items",
        "orders.weight",
    ]


def test_a_column_with_the_name_and_type_of_an_input_s_time_carries_the_time() -> None:
    found = check(python_view()).checked().view("totals")
    assert [field.name for field in with_role(found.root, Role.EVENT_TIME)] == ["at"]


def test_a_view_can_window_over_a_python_view() -> None:
    found = check(
        python_view(),
        """CREATE MATERIALIZED VIEW per_day AS SELECT window_end, max(total) AS most
           FROM TUMBLE(TABLE totals, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY window_end""",
    )
    assert found.checked().view("per_day").inputs == ("totals",)


def test_it_must_state_its_horizon() -> None:
    (finding,) = check(python_view(horizon=None)).findings
    assert isinstance(finding, UnboundedState)
    assert str(finding) == (
        'view "totals" runs a Python function for ever\n'
        "  Detail: Nothing in the query says when its state can be forgotten.\n"
        "  Hint:   State how far back an input can matter with horizon = '…'; '0 seconds' if rows stand alone."
    )


def test_a_parameter_must_name_something_that_is_declared() -> None:
    (finding,) = check(python_view(inputs=("ordrs",))).findings
    assert isinstance(finding, UnknownName)
    assert finding.hint == 'Did you mean "orders"?'


def test_it_must_return_the_time_of_its_rows() -> None:
    (finding,) = check(python_view(columns=COLUMNS[:1])).findings
    assert isinstance(finding, QueryRefused)
    assert finding.hint == "Return at among its columns, or name another with time=…."


def test_a_column_of_its_own_may_say_when_a_row_is_final() -> None:
    columns = (*COLUMNS, model.Column("window_end", model.INSTANT))
    found = check(python_view(columns=columns, time="window_end")).checked().view("totals")
    assert isinstance(found.root, Apply)
    assert found.root.time == "window_end"
    assert [(field.name, field.role) for field in found.root.columns if field.role] == [("window_end", Role.WINDOW_END)]
    assert not found.root.columns[-1].nullable, "a row without a time would never be final"


def test_its_time_must_be_one_of_its_columns_of_type_timestamp() -> None:
    (finding,) = check(python_view(time="total")).findings
    assert str(finding) == (
        'view "totals" names "total" as its time, which is none of its columns of type TIMESTAMP\n'
        "  Detail: Its columns of type TIMESTAMP are at.\n"
        "  Hint:   Name the column that says when a row is final."
    )


def test_rows_may_stand_alone() -> None:
    assert check(python_view(horizon=timedelta())).checked().view("totals").horizon == timedelta()


def test_its_inputs_need_a_watermark() -> None:
    findings = check(python_view(inputs=("clicks",))).findings
    assert [type(finding) for finding in findings] == [NoWatermark, QueryRefused]


def test_comments_and_formatting_of_the_function_dont_change_the_fingerprint() -> None:
    plain = check(python_view()).view("totals").fingerprint
    commented = check(python_view(source="def totals( orders ):  # all of them\n  return (orders)\n"))
    changed = check(python_view(source="def totals(orders):\n    return orders.distinct()\n"))
    assert commented.view("totals").fingerprint == plain
    assert changed.view("totals").fingerprint != plain
