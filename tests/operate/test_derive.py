"""Views on views: what a view publishes, and what becomes of its readers when that changes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from headwater.errors import CheckFailed
from headwater.log.derived import publish
from headwater.log.read import read
from headwater.project import DERIVED
from headwater.testing import Crash, Scenario, scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM sales (shop STRING, amount BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
"""
CHAIN = (
    STREAM
    + """
CREATE MATERIALIZED VIEW per_shop WITH (execution = 'live') AS SELECT shop, window_end, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW best WITH (emit = 'final') AS SELECT window_end AS until, max(total) AS most, count(*) AS n
FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_end), INTERVAL '20' SECOND) GROUP BY window_end;
"""
)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def sold(*sales: tuple[str, int, float]) -> list[dict[str, object]]:
    return [{"shop": shop, "amount": amount, "at": at(second)} for shop, amount, second in sales]


@pytest.fixture
def chain(spark: object) -> Iterator[Scenario]:
    """Two views, one on the other, that have read three commits."""
    assert spark
    with scenario(CHAIN) as found:
        found.append("sales", sold(("a", 1, 1), ("b", 2, 5), ("a", 4, 12), ("a", 8, 9)), commits=[2, 2])
        found.append("sales", sold(("b", 16, 25)))
        found.run()
        yield found


def topic(found: Scenario) -> list[tuple[object, ...]]:
    project = found.project
    rows = read(project._logs.derived(project.plan().view("per_shop")))
    return [tuple(row.values()) for row in rows.select(["shop", "window_end", "total", "_watermark"]).to_pylist()]


def test_what_is_final_is_published_in_the_order_of_time_and_key(chain: Scenario) -> None:
    # the sale at 9 is late: the watermark is at 12 by then
    epoch = datetime.fromtimestamp(0, UTC)
    expected = [("a", at(10), 1), ("b", at(10), 2), ("a", at(20), 4)]
    assert [row[:3] for row in topic(chain)] == expected
    assert {row[3] for row in topic(chain)} == {epoch}, "they were published at once, and nothing is late"
    log = chain.project._logs.derived(chain.project.plan().view("per_shop"))
    assert log.watermark == at(25), "as far as the view is"
    chain.expect("best", [{"until": at(20), "most": 4, "n": 3}])


def test_a_reader_is_verified_down_to_the_streams(chain: Scenario) -> None:
    assert chain.project.verify("best").identical
    assert chain.project.views.ledger("best").remainder == 0
    assert chain.project.views.batch("best").to_pylist() == [{"until": at(20), "most": 4, "n": 3}]
    assert chain.project.views.batch("best", last=2).num_rows == 0, "without the sale that moves the watermark past 20"


def test_what_a_crash_kept_from_being_published_is_published_next_time(chain: Scenario) -> None:
    chain.append("sales", sold(("a", 32, 41)))
    chain.crash("per_shop", at=Crash("after apply", view="per_shop"))
    assert len(topic(chain)) == 3, "the store has it, the topic not"
    chain.run()
    assert topic(chain)[3][:3] == ("b", at(30), 16)
    chain.expect("best", [{"until": at(20), "most": 4, "n": 3}, {"until": at(40), "most": 16, "n": 1}])


def test_publishing_twice_changes_nothing(chain: Scenario) -> None:
    log = chain.project._logs.derived(chain.project.plan().view("per_shop"))
    rows = chain.rows("per_shop")
    assert not publish(log, rows, at(3), at(60), "per_shop"), "chosen when the topic's watermark was another"
    assert log.watermark == at(25)
    assert len(topic(chain)) == 3


def test_a_topic_that_was_deleted_is_published_again_and_its_readers_are_rebuilt(chain: Scenario) -> None:
    before = topic(chain)
    chain.restart()
    shutil.rmtree(chain.folder / chain.project.settings.data / DERIVED)
    done = {found.view: found for found in chain.run()}
    assert topic(chain) == before
    assert done["per_shop"].rebuilt is None
    assert done["best"].rebuilt == "the derived topic of per_shop was made anew"
    chain.expect("best", [{"until": at(20), "most": 4, "n": 3}])


def test_a_reader_keeps_its_rows_while_a_deleted_topic_is_not_published_again(chain: Scenario) -> None:
    chain.append("sales", sold(("a", 2**63 - 1, 26), ("a", 2**63 - 1, 27)))  # the sum is no BIGINT: per_shop stops
    chain.restart()
    shutil.rmtree(chain.folder / chain.project.settings.data / DERIVED)
    done = {found.view: found.error for found in chain.project.catch_up()}
    assert done["per_shop"] is not None and "overflow" in str(done["per_shop"]).lower()
    assert done["best"] is not None and 'waits for view "per_shop"' in str(done["best"])
    chain.expect("best", [{"until": at(20), "most": 4, "n": 3}])


def test_a_reader_is_rebuilt_when_what_it_reads_means_something_else(chain: Scenario) -> None:
    declared = chain.folder / "declarations.sql"
    declared.write_text(CHAIN.replace("sum(amount)", "sum(amount * 10)"))
    chain.restart()
    assert {found.rebuilt for found in chain.run()} == {"its declaration has changed"}
    chain.expect("best", [{"until": at(20), "most": 40, "n": 3}])


def test_naming_a_view_brings_up_what_it_reads_too(chain: Scenario) -> None:
    chain.append("sales", sold(("a", 32, 41)))
    assert [found.view for found in chain.run("best")] == ["per_shop", "best"]
    assert chain.rows("best").num_rows == 2


def test_a_view_that_others_read_must_say_when_its_rows_happen() -> None:
    sql = (
        STREAM
        + """
CREATE MATERIALIZED VIEW per_shop AS SELECT shop, window_start, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_start;
CREATE MATERIALIZED VIEW large AS SELECT shop, total FROM per_shop WHERE total > 100;
"""
    )
    with scenario(sql) as found, pytest.raises(CheckFailed, match="don't say when they happened"):
        found.project.check().checked()
