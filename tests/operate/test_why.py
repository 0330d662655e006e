"""Why a row is there: the very events behind it, whatever the view does with them, and those that came too late."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused, UnknownRow
from headwater.findings import NotSupportedYet
from headwater.model import Column
from headwater.operate.why import typed_row
from headwater.project import Project

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

DECLARATIONS = """
CREATE STREAM sales (id STRING, shop STRING, amount BIGINT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (unique = 'id');
CREATE STREAM refunds (id STRING, sale STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND);

CREATE MATERIALIZED VIEW per_minute AS
SELECT shop, window_start, window_end, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) WHERE amount > 0
GROUP BY shop, window_start, window_end;

CREATE MATERIALIZED VIEW sliding AS
SELECT shop, window_end, count(*) AS n FROM HOP(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)
GROUP BY shop, window_start, window_end HAVING count(*) > 1;

CREATE MATERIALIZED VIEW visits AS
SELECT shop, window_start, window_end, count(*) AS n
FROM SESSION(TABLE sales PARTITION BY shop, DESCRIPTOR(at), INTERVAL '30' SECOND)
GROUP BY shop, window_start, window_end;

CREATE MATERIALIZED VIEW best AS
SELECT shop, amount, at, window_end FROM (
  SELECT shop, amount, at, window_end, ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY amount DESC) AS place
  FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE)) WHERE place <= 1;

CREATE MATERIALIZED VIEW running AS
SELECT id, at, sum(amount) OVER (PARTITION BY shop ORDER BY at RANGE BETWEEN INTERVAL '30' SECOND PRECEDING
  AND CURRENT ROW) AS recent FROM sales;

CREATE MATERIALIZED VIEW steps WITH (horizon = '10 minutes') AS
SELECT id, at, lag(amount) OVER (PARTITION BY shop ORDER BY at) AS before FROM sales;

CREATE MATERIALIZED VIEW taken_back AS
SELECT s.id, s.amount, r.at AS back_at FROM sales s JOIN refunds r
ON s.id = r.sale AND r.at BETWEEN s.at AND s.at + INTERVAL '5' MINUTE;

CREATE MATERIALIZED VIEW by_five AS
SELECT window_end, sum(total) AS total FROM TUMBLE(TABLE per_minute, DESCRIPTOR(window_end), INTERVAL '5' MINUTE)
GROUP BY window_start, window_end;

CREATE MATERIALIZED VIEW dear AS SELECT id, amount, at FROM sales WHERE amount >= 50;
"""
PYTHON = """
import headwater as hw
from pyspark.sql import DataFrame, functions as F

@hw.view(columns={"shop": "STRING", "at": "TIMESTAMP", "most": "BIGINT"}, key=["shop", "at"], horizon="1 minute")
def opaque(sales: DataFrame) -> DataFrame:
    return sales.groupBy("shop", "at").agg(F.max("amount").alias("most"))
"""


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Project]:
    folder: Path = tmp_path_factory.mktemp("why")
    (folder / "headwater.toml").write_text('name = "why"\n')
    (folder / "declarations.sql").write_text(DECLARATIONS)
    with hw.open(folder) as opened:
        opened.append("sales", [
            sale("a1", "north", 10, 1), sale("a2", "north", 20, 20), sale("b1", "south", 70, 25),
            sale("a2", "north", 20, 20), sale("a3", "north", -5, 30),
        ])  # fmt: skip
        opened.append("refunds", [{"id": "r1", "sale": "b1", "at": at(40)}])
        opened.append("sales", [sale("a4", "north", 40, 130), sale("a5", "north", 1, 50)])
        for topic in ("sales", "refunds"):
            opened.log.tick(topic, to=at(1000))
        failed = [done.error for done in opened.catch_up() if done.error]
        assert not failed, failed
        yield opened


def sale(name: str, shop: str, amount: int, seconds: int) -> dict[str, Any]:
    return {"id": name, "shop": shop, "amount": amount, "at": at(seconds)}


def behind(project: Project, view: str, **row: Any) -> tuple[list[str], list[str]]:
    """The ids of the events behind a row, and of those that came too late for it."""
    found = project.why(view, row)
    assert found.events == sum(table.num_rows for table in found.shown.values())
    assert found.late == sum(table.num_rows for table in found.shown_late.values())
    ids = [[name for table in part.values() for name in table["id"].to_pylist()]
           for part in (found.shown, found.shown_late)]  # fmt: skip
    return ids[0], ids[1]


@pytest.mark.parametrize(
    ("view", "row", "events", "late"),
    [
        # filtered rows and copies are not behind a group; what came after its end is late for it
        ("per_minute", {"shop": "north", "window_start": at(0)}, ["a1", "a2"], ["a5"]),
        ("sliding", {"shop": "north", "window_end": at(60)}, ["a1", "a2", "a3"], ["a5"]),
        ("visits", {"shop": "north", "window_start": at(1)}, ["a1", "a2", "a3"], []),
        ("best", {"window_end": at(60)}, ["b1"], ["a5"]),
        ("running", {"id": "a2"}, ["a1", "a2"], ["a2"]),  # its copy came when the watermark had reached it
        ("running", {"id": "a3"}, ["a1", "a2", "a3"], []),
        ("steps", {"id": "a3"}, ["a2", "a3"], []),
        ("steps", {"id": "a1"}, ["a1"], []),
        ("taken_back", {"id": "b1"}, ["r1", "b1"], []),
        ("by_five", {"window_end": at(300)}, ["a1", "a2", "b1", "a4"], []),
        ("Dear", {"ID": "b1"}, ["b1"], []),  # names in any case
    ],
)
def test_the_events_behind_a_row_are_named(
    project: Project, view: str, row: dict[str, Any], events: list[str], late: list[str]
) -> None:
    assert behind(project, view, **row) == (events, late)


def test_the_row_is_shown_with_where_the_view_is_and_the_events_as_the_log_has_them(project: Project) -> None:
    found = project.why("per_minute", {"SHOP": "south", "window_start": "2026-01-05T09:00:00"})
    assert found.row == {"shop": "south", "window_start": at(0), "window_end": at(60), "total": 70}
    assert found.commits == {"sales": project.log.head("sales")}
    (event,) = found.shown["sales"].to_pylist()
    assert (event["id"], event["_commit"], event["_row"], event["_source"]) == ("b1", 1, 2, "local")


def test_a_row_that_only_late_events_would_have_made_says_so(project: Project) -> None:
    project.append("sales", [sale("a6", "east", 9, 10)])
    project.catch_up("per_minute")
    found = project.why("per_minute", {"shop": "east"})
    assert (found.row, found.events, found.late) == (None, 0, 1)


def test_as_many_events_as_asked_for_are_shown_and_all_are_counted(project: Project) -> None:
    found = project.why("by_five", {"window_end": at(300)}, most=2)
    assert found.events == 4
    assert found.shown["sales"]["id"].to_pylist() == ["a1", "a2"]


def test_a_row_that_is_not_there_is_an_error(project: Project) -> None:
    with pytest.raises(UnknownRow, match='view "per_minute" has no row with shop = west'):
        project.why("per_minute", {"shop": "west"})


def test_several_rows_are_told_apart_by_the_rest_of_the_key(project: Project) -> None:
    with pytest.raises(ArgumentRefused, match="2 rows") as refused:
        project.why("per_minute", {"shop": "north"})
    assert "window_start" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"till": 7}, 'has no column "till"'),
        ({}, "no row of view"),
        ({"total": "many"}, '"many" doesn\'t fit column "total"'),
        ({"window_end": "noon"}, '"noon" doesn\'t fit column "window_end"'),
    ],
)
def test_a_row_is_named_by_columns_and_values_of_their_types(
    project: Project, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentRefused, match=message):
        project.why("per_minute", row)


def test_a_truth_is_told_by_its_word() -> None:
    columns = [Column("paid", pa.bool_())]
    told = [typed_row("orders", columns, {"paid": value})["paid"] for value in ("true", "False", True)]
    assert told == [True, False, True]
    with pytest.raises(ArgumentRefused, match='"yes" doesn\'t fit column "paid"'):
        typed_row("orders", columns, {"paid": "yes"})


def test_what_a_function_in_python_makes_of_its_inputs_is_not_guessed(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "headwater.toml").write_text('name = "opaque"\n')
    (tmp_path / "declarations.sql").write_text(DECLARATIONS[: DECLARATIONS.index("CREATE STREAM refunds")])
    (tmp_path / "views.py").write_text(PYTHON)
    with hw.open(tmp_path) as opened:
        opened.append("sales", [sale("a1", "north", 10, 1)])
        opened.log.tick("sales", to=at(1000))
        assert [done.error for done in opened.catch_up()] == [None]
        with pytest.raises(NotSupportedYet, match="isn't known"):
            opened.why("opaque", {"shop": "north"})
