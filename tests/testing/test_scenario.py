"""Scenarios on real parts: commits as told, crashes that drop a process in the middle, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headwater.errors import ArgumentRefused, CheckFailed, ViewFailed
from headwater.testing import COMMIT, CRASH, Crash, Now, Scenario, Tick, scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
SQL = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10, 2), sold_at TIMESTAMP NOT NULL,
  WATERMARK FOR sold_at AS sold_at - INTERVAL '5' SECOND);
CREATE STREAM returns (id STRING, sold_at TIMESTAMP NOT NULL, WATERMARK FOR sold_at AS sold_at);
CREATE MATERIALIZED VIEW per_shop WITH (emit = 'final', execution = 'live') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(sold_at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
"""


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def sale(number: int, shop: str, amount: str, second: float) -> dict[str, object]:
    return {"id": str(number), "shop": shop, "amount": amount, "sold_at": at(second)}


SALES = [sale(1, "a", "1.00", 1), sale(2, "b", "2.00", 9), sale(3, "a", "4.00", 12), sale(4, "b", "8.00", 3)]
EXPECTED = [
    {"shop": "a", "window_end": at(10), "n": 1, "total": "1.00"},
    {"shop": "b", "window_end": at(10), "n": 2, "total": "10.00"},
    {"shop": "a", "window_end": at(20), "n": 1, "total": "4.00"},
]


@pytest.fixture
def shop(spark: object) -> Iterator[Scenario]:
    """A scenario, once Spark is there."""
    assert spark
    with scenario(SQL) as found:
        yield found


def counted(found: Scenario, topic: str) -> list[int]:
    """How many rows each commit of a topic has; the first one made the topic."""
    return [commit.rows for commit in found.project.log.commits(topic)][1:]


def test_rows_are_committed_as_told(shop: Scenario) -> None:
    shop.append("sales", SALES, commits=[1, 3])
    shop.append("sales", SALES[:1], source="till-2")
    assert counted(shop, "sales") == [1, 3, 1]
    assert shop.project.read("sales")["_source"].to_pylist() == ["local"] * 4 + ["till-2"]
    with pytest.raises(ArgumentRefused, match="commits of 2, 3 rows don't make up 4 rows"):
        shop.append("sales", SALES, commits=[2, 3])


def test_a_script_is_followed(shop: Scenario) -> None:
    first, second, third, _ = ({"sales": row} for row in SALES)
    refund = {"returns": {"id": "1", "sold_at": at(2)}}
    shop.feed([Now(at(60)), first, refund, second, COMMIT, Now(at(70)), third, Tick("sales", at(20))])
    assert counted(shop, "sales") == [2, 1, 0]
    assert counted(shop, "returns") == [1]
    assert shop.project.read("sales")["_arrived_at"].to_pylist() == [at(60), at(60), at(70)]
    assert shop.project.log.watermark("sales") == at(20)


def test_the_store_has_the_rows_of_a_run_with_their_types(shop: Scenario) -> None:
    shop.append("sales", SALES)
    shop.tick("sales", at(20))
    shop.run(per_batch=1)
    shop.expect("per_shop", EXPECTED)
    assert shop.rows("per_shop").schema.types == shop.batch("per_shop").schema.types
    with pytest.raises(AssertionError, match=r'view "per_shop": 0 rows missing, 1 row extra\n\+ shop=\'a\''):
        shop.expect("per_shop", EXPECTED[1:])


def test_a_view_without_rows_has_its_types(shop: Scenario) -> None:
    shop.run()
    assert shop.rows("per_shop").schema.types == shop.batch("per_shop").schema.types
    shop.expect("per_shop", [])


@pytest.mark.parametrize("point", ["before open", "before apply", "after apply", "before promote", "after promote"])
def test_a_crash_drops_the_process_and_the_next_one_goes_on(shop: Scenario, point: str) -> None:
    shop.append("sales", SALES, commits=[2, 2])
    shop.tick("sales", at(20))
    dead = shop.project
    shop.crash(at=Crash(point), per_batch=1)
    assert shop.project is not dead
    assert [done.version for done in shop.run()] == [1]
    shop.expect("per_shop", EXPECTED)


def test_crashes_are_data_in_the_input(shop: Scenario) -> None:
    first, second, third, fourth = ({"sales": row} for row in SALES)
    shop.feed([first, CRASH, second, third, CRASH, fourth, Tick("sales", at(20)), Crash("before apply", 2)])
    shop.run()
    shop.expect("per_shop", EXPECTED)
    assert shop.project.verify("per_shop").identical


def test_a_crash_that_the_run_does_not_come_to_is_said(shop: Scenario) -> None:
    shop.append("sales", SALES)
    with pytest.raises(AssertionError, match='ended before it came to "after apply" for the time 99'):
        shop.crash(at=Crash("after apply", 99))


def test_a_rebuild_makes_a_new_version_with_the_same_rows(shop: Scenario) -> None:
    shop.append("sales", SALES)
    shop.tick("sales", at(20))
    shop.run()
    (done,) = shop.rebuild(per_batch=1)
    assert done.version == 2
    shop.expect("per_shop", EXPECTED)


def test_what_stops_a_view_is_raised_also_where_a_crash_was_meant(spark: object) -> None:
    failing = "CREATE MATERIALIZED VIEW failing AS SELECT id, 1 / CAST(amount AS INT) AS share FROM sales;"
    with scenario(f"{SQL}{failing}") as found:
        found.append("sales", [sale(1, "a", "0.00", 1)])
        for run in (found.run, found.crash):
            with pytest.raises(ViewFailed, match="DIVIDE_BY_ZERO"):
                run("failing")


def test_declarations_may_be_text_a_file_or_a_folder(tmp_path: Path) -> None:
    streams, views = SQL.split("CREATE MATERIALIZED")
    (tmp_path / "streams.sql").write_text(streams)
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "views.sql").write_text(f"CREATE MATERIALIZED{views}")
    (tmp_path / "notes.txt").write_text("not a declaration")
    with scenario(tmp_path) as found:
        assert found.views == ("per_shop",)
    with scenario(tmp_path / "streams.sql") as found:
        assert found.views == ()
    with scenario("CREATE STREEM x") as found, pytest.raises(CheckFailed):
        _ = found.views


def test_the_folder_goes_with_the_scenario() -> None:
    with scenario(SQL) as found:
        folder = found.folder
        assert (folder / "headwater.toml").exists()
    assert not folder.exists()
