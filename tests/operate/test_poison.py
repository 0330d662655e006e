"""Views that meet something they can't compute: each stops alone, names what it met, and keeps its rows.

One project for all: every view is served, then one poisonous row comes, and every view is run once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import ViewFailed
from headwater.operate import CaughtUp
from headwater.project import Project

START = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = "id STRING, shop STRING, n BIGINT, k INT, text STRING, amount DECIMAL(38, 2), xs ARRAY<INT>"
STREAMS = f"""
CREATE STREAM sales ({COLUMNS}, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE STREAM events ({COLUMNS}, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
  WITH (unique = 'id');
"""
WINDOW = "FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY shop, window_end"
GREATEST = 2**63 - 1
PLENTY = Decimal("9" * 36 + ".00")
POISON = {"n": GREATEST, "k": 0, "text": "Connection reset", "amount": PLENTY, "xs": []}
HARMLESS = {"n": 5, "k": 1, "text": "12", "amount": Decimal("1.00"), "xs": [1, 2, 3]}
COMMITS = [
    [("1", "a", 1, HARMLESS), ("2", "b", 2, HARMLESS)],
    [("3", "b", 3, HARMLESS), ("4", "c", 4, HARMLESS), ("5", "a", 5, POISON), ("6", "b", 130, HARMLESS)],
]
THE_ROW = {"topic": "sales", "commit": 2, "row": 2}
THE_GROUP = '{"shop":"a","window_end":"2026-01-01 00:01:00.000000Z"}'


@dataclass(frozen=True)
class Poisoned:
    """A view, Spark's name for what goes wrong, and what shall be named."""

    query: str
    condition: str
    named: dict[str, Any]
    options: str = ""


VIEWS = {
    "division": Poisoned("SELECT id, 1 / k AS x FROM sales", "DIVIDE_BY_ZERO", THE_ROW),
    "conversion": Poisoned("SELECT id FROM sales WHERE CAST(text AS INT) > 0", "CAST_INVALID_INPUT", THE_ROW),
    "arithmetic": Poisoned("SELECT id, n * 2 AS x FROM sales", "ARITHMETIC_OVERFLOW", THE_ROW),
    "element": Poisoned("SELECT id, xs[k] AS x FROM sales", "INVALID_ARRAY_INDEX", THE_ROW),
    "day": Poisoned("SELECT id, to_date(concat('2026-01-', text)) AS x FROM sales", "CAST_INVALID_INPUT", THE_ROW),
    "argument": Poisoned(f"SELECT shop, window_end, sum(100 DIV k) AS x {WINDOW}", "DIVIDE_BY_ZERO", THE_ROW),
    "branch": Poisoned(
        "SELECT id, k AS x FROM events WHERE shop = 'a' UNION ALL SELECT id, 7 DIV k AS x FROM sales",
        "DIVIDE_BY_ZERO",
        THE_ROW,
    ),
    "copies": Poisoned("SELECT id, 1 / k AS x FROM events", "DIVIDE_BY_ZERO", THE_ROW | {"topic": "events"}),
    "around": Poisoned(
        "SELECT id, sum(10 DIV k) OVER (PARTITION BY shop ORDER BY at"
        " RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW) AS x, at FROM sales",
        "DIVIDE_BY_ZERO",
        THE_ROW,
    ),
    "whole_sum": Poisoned(
        f"SELECT shop, window_end, sum(n) AS x {WINDOW}",
        "ARITHMETIC_OVERFLOW",
        {"group": THE_GROUP, "expression": "SUM(n)"},
    ),
    "exact_sum": Poisoned(
        f"SELECT shop, window_end, sum(amount) AS x {WINDOW}",
        "ARITHMETIC_OVERFLOW",
        {"group": THE_GROUP, "expression": "SUM(amount)"},
        "WITH (emit = 'final')",
    ),
    "ratio": Poisoned(
        f"SELECT shop, window_end, 100 DIV (sum(k) - 1 + count(*) - 2) AS x {WINDOW}",
        "DIVIDE_BY_ZERO",
        {"group": THE_GROUP, "expression": "100 DIV (SUM(k) - 1 + COUNT(*) - 2)"},
    ),
    "limit_of_groups": Poisoned(
        f"SELECT shop, window_end, count(*) AS x {WINDOW} HAVING 10 DIV (2 * sum(k) - count(*)) > 3",
        "DIVIDE_BY_ZERO",
        {"group": THE_GROUP, "expression": "10 DIV (2 * SUM(k) - x)"},
    ),
    "ordered_list": Poisoned(
        f"SELECT shop, window_end, array_agg(n ORDER BY 10 DIV k) AS x {WINDOW}",
        "DIVIDE_BY_ZERO",
        THE_ROW | {"expression": "10 DIV k"},
    ),
}
HEALTHY = "CREATE MATERIALIZED VIEW healthy AS SELECT id FROM sales"


@dataclass(frozen=True)
class Outcome:
    """The project after the poison, what each view held before, and what became of it."""

    project: Project
    held: dict[str, pa.Table]
    done: dict[str, CaughtUp]


def rows_of(project: Project, view: str) -> pa.Table:
    return project.query(f"SELECT * FROM {view} ORDER BY 1")


def feed(project: Project, commits: list[list[tuple[str, str, int, dict[str, Any]]]]) -> None:
    for commit in commits:
        rows = [{"id": i, "shop": s, "at": START + timedelta(seconds=at), **values} for i, s, at, values in commit]
        for topic in ("sales", "events"):
            project.append(topic, rows)


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("poison")
    (folder / "headwater.toml").write_text('name = "poison"\n[spark]\n"spark.master" = "local[2]"\n')
    (folder / "streams.sql").write_text(STREAMS)
    views = [f"CREATE MATERIALIZED VIEW {name} {view.options} AS {view.query}" for name, view in VIEWS.items()]
    (folder / "views.sql").write_text(";\n".join([*views, HEALTHY]) + ";\n")
    with hw.open(folder) as project:
        feed(project, COMMITS[:1])
        first = project.catch_up()
        assert not [done.error for done in first if done.error]
        held = {name: rows_of(project, name) for name in VIEWS}
        nothing_final_yet = {"around", "exact_sum"}
        assert {name for name, rows in held.items() if not rows.num_rows} == nothing_final_yet
        feed(project, COMMITS[1:])
        done = project.catch_up()
        assert [found.view for found in done] == [*VIEWS, "healthy"], "in the order of declaration"
        return Outcome(project, held, {found.view: found for found in done})


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_cannot_compute_something_names_it(outcome: Outcome, name: str) -> None:
    error = outcome.done[name].error
    assert error is not None
    assert error.code() == "view-failed", error
    assert {key: error.fields[key] for key in VIEWS[name].named} == VIEWS[name].named
    assert error.fields["condition"] == VIEWS[name].condition


def test_the_event_stands_in_the_error(outcome: Outcome) -> None:
    error = outcome.done["division"].error
    assert error is not None
    assert error.summary == 'view "division" stopped at row 2 of commit 2 of "sales"'
    assert str(error.fields["event"]).startswith(
        '{"id":"5","shop":"a","n":9223372036854775807,"k":0,"text":"Connection'
    )
    assert "In: 1 / k." in str(error.detail)
    assert str(error.fields["event"]) in str(error.detail)


@pytest.mark.parametrize("name", VIEWS)
def test_the_rows_of_a_view_that_stopped_are_as_they_were(outcome: Outcome, name: str) -> None:
    assert rows_of(outcome.project, name).equals(outcome.held[name])


def test_the_other_views_go_on(outcome: Outcome) -> None:
    assert outcome.done["healthy"].error is None
    assert rows_of(outcome.project, "healthy").num_rows == 6


@pytest.mark.parametrize("name", VIEWS)
def test_batch_fails_as_well_and_gives_no_number(outcome: Outcome, name: str) -> None:
    with pytest.raises(ViewFailed) as caught:
        outcome.project.views.batch(name)
    assert caught.value.fields["condition"] == VIEWS[name].condition


def test_a_view_that_stopped_goes_on_once_its_declaration_takes_the_row(outcome: Outcome) -> None:
    file = outcome.project.folder / "views.sql"
    file.write_text(file.read_text().replace("1 / k AS x FROM sales", "try_divide(1, k) AS x FROM sales"))
    with hw.open(outcome.project.folder) as project:
        (done,) = project.catch_up("division")
        assert (done.error, done.version, done.rebuilt) == (None, 2, "its declaration has changed")
        assert [row["x"] for row in rows_of(project, "division").to_pylist()] == [1.0, 1.0, 1.0, 1.0, None, 1.0]
        assert project.verify("division").identical
