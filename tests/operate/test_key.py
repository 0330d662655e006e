"""Keys that don't tell the rows of a view apart: it stops before one row takes the place of another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import ViewFailed
from headwater.project import Project

STREAM = "CREATE STREAM sales (id STRING, shop STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND);"
MINUTE = "FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY id, shop, window_end"
FRAME = "(PARTITION BY shop ORDER BY at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW)"
VIEWS = {
    "rows": "(key = 'shop') AS SELECT id, shop FROM sales",
    "open_windows": f"(key = 'shop') AS SELECT id, shop, window_end, count(*) AS n {MINUTE}",
    "listed": f"(key = 'shop', execution = 'settle') AS SELECT id, shop, window_end, collect_list(at) AS l {MINUTE}",
    "micro_batches": f"(key = 'shop', execution = 'live', emit = 'final') AS SELECT id, shop, count(*) AS n {MINUTE}",
    "pairs": "(key = 'shop', retention = 'forever') AS SELECT l.id, l.shop FROM sales AS l JOIN sales USING (id)",
    "around": f"(key = 'shop') AS SELECT id, shop, at, count(*) OVER {FRAME} AS n FROM sales",
    "for_ever": "(key = 'shop', retention = 'forever') AS SELECT id, shop, count(*) AS n FROM sales GROUP BY id, shop",
    "told_apart": "(key = 'id') AS SELECT id, shop FROM sales",
    "told_by_lists": "(key = 'ids') AS SELECT id, array(id) AS ids FROM sales",
    "lists": "(key = 'shops') AS SELECT id, array(shop) AS shops FROM sales",
}
GOES_ON = {"told_apart", "told_by_lists"}
STOPPED = sorted(VIEWS.keys() - GOES_ON)


def sale(name: str, shop: str, second: int) -> dict[str, Any]:
    return {"id": name, "shop": shop, "at": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Project]:
    assert spark
    with opened(tmp_path_factory.mktemp("keys")) as project:
        yield project


@contextmanager
def opened(folder: Path) -> Iterator[Project]:
    (folder / "headwater.toml").write_text('name = "keys"\n[spark]\n"spark.master" = "local[2]"\n')
    views = "".join(f"CREATE MATERIALIZED VIEW {name} WITH {query};\n" for name, query in VIEWS.items())
    (folder / "views.sql").write_text(STREAM + views)
    with hw.open(folder) as project:
        project.append("sales", [sale("1", "a", 1), sale("2", "b", 2)])
        yield project


def test_a_view_stops_where_two_of_its_rows_have_one_key(project: Project) -> None:
    assert {done.view: done.error for done in project.catch_up()} == dict.fromkeys(VIEWS)
    project.append("sales", [sale("3", "c", 3), sale("4", "c", 4), sale("5", "d", 179)])
    errors = {done.view: done.error for done in project.catch_up()}
    assert {name for name, error in errors.items() if error is None} == GOES_ON
    for name in STOPPED:
        error = errors[name]
        assert isinstance(error, ViewFailed)
        assert error.summary == f'view "{name}" has 2 rows of one key', name
        assert error.detail is not None
        told = "shops = ['c']" if name == "lists" else "shop = 'c'"
        assert error.detail.startswith(f"They have {told}, and a store keeps one row of a key.")
        rows = project.query(f"SELECT id FROM {name} ORDER BY id").to_pylist()
        assert [row["id"] for row in rows] in ([], ["1", "2"]), "what it had is served"


def test_a_view_stops_where_a_new_row_has_the_key_of_one_of_an_earlier_step(tmp_path: Path) -> None:
    with opened(tmp_path) as project:
        project.append("sales", [sale("9", "z", 68)])
        assert {done.view: done.error for done in project.catch_up()} == dict.fromkeys(VIEWS)
        project.append("sales", [sale("3", "a", 66), sale("5", "d", 179)])
        errors = {done.view: done.error for done in project.catch_up()}
        assert {name for name, error in errors.items() if error is None} == GOES_ON
        for name in STOPPED:
            error = errors[name]
            assert isinstance(error, ViewFailed), name
            assert error.summary == f'view "{name}" has 2 rows of one key'
            assert project.query(f"SELECT id FROM {name} WHERE id = '3'").num_rows == 0, "what it had is served"


def test_rows_that_change_and_rows_that_take_the_key_of_one_that_goes_are_no_such_rows(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "keys"\n[spark]\n"spark.master" = "local[2]"\n')
    (tmp_path / "views.sql").write_text("""
        CREATE TABLE rooms (id BIGINT, guest STRING, PRIMARY KEY (id));
        CREATE MATERIALIZED VIEW guests WITH (key = 'guest') AS SELECT guest, id FROM rooms;
        CREATE MATERIALIZED VIEW stays WITH (key = 'guest') AS
          SELECT guest, max(id) AS id FROM rooms GROUP BY guest, id;
    """)
    with hw.open(tmp_path) as project:
        project.append("rooms", [{"id": 1, "guest": "ann"}, {"id": 2, "guest": "bob"}])
        assert [done.error for done in project.catch_up()] == [None, None]
        project.append("rooms", [{"id": 1, "guest": "bob"}, {"id": 2, "guest": "ann"}, {"id": 3, "guest": "eve"}])
        assert [done.error for done in project.catch_up()] == [None, None]
        for name in ("guests", "stays"):
            assert project.verify(name).identical
        project.append("rooms", [{"id": 4, "guest": "eve"}])
        assert all(isinstance(done.error, ViewFailed) for done in project.catch_up())
        project.delete("rooms", [{"id": 3}])
        assert [done.error for done in project.catch_up()] == [None, None]
        assert [project.verify(name).identical for name in ("guests", "stays")] == [True, True]


@pytest.mark.parametrize("name", STOPPED)
def test_batch_gives_no_rows_either(project: Project, name: str) -> None:
    with pytest.raises(ViewFailed, match="2 rows of one key"):
        project.views.batch(name)
