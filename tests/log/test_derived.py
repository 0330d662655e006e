"""What a view publishes: rows stamped as a whole, behind a watermark that the view decides."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from headwater.log import TopicLog, open_storage
from headwater.log.derived import publish
from headwater.log.read import read, watermark_at
from tests.log.conftest import ORDERS, START, orders, seconds

EPOCH = datetime.fromtimestamp(0, UTC)


def test_rows_are_stamped_with_the_watermark_before_them_and_the_next_is_the_publishers(log: TopicLog) -> None:
    assert publish(log, orders(("a", 3), ("b", 9)), EPOCH, START + timedelta(seconds=10), "view")
    assert publish(log, orders(("c", 12)), START + timedelta(seconds=10), START + timedelta(seconds=15), "view")
    rows = read(log)
    assert rows["id"].to_pylist() == ["a", "b", "c"]
    assert rows["_watermark"].to_pylist() == [EPOCH, EPOCH, START + timedelta(seconds=10)]
    assert set(rows["_source"].to_pylist()) == {"view"}
    assert seconds(log.watermark) == 15, "not what the newest row or the declared delay would make it"


def test_without_rows_only_the_watermark_moves(log: TopicLog) -> None:
    assert publish(log, orders(), EPOCH, START, "view")
    assert (log.head, log.watermark, read(log).num_rows) == (1, START, 0)
    assert watermark_at(log, 1) == START


def test_nothing_is_published_behind_the_back_of_another_publisher(
    log: TopicLog, again: Callable[[], TopicLog]
) -> None:
    assert publish(again(), orders(("a", 3)), EPOCH, START + timedelta(seconds=10), "view")
    assert not publish(log, orders(("a", 3)), EPOCH, START + timedelta(seconds=10), "view")
    assert read(log)["id"].to_pylist() == ["a"]


def test_a_log_that_is_made_anew_is_another_one(log: TopicLog, again: Callable[[], TopicLog]) -> None:
    assert log.identity is None
    other = TopicLog(ORDERS, open_storage(f"memory://{uuid.uuid4()}"))
    log.create()
    other.create()
    assert log.identity and other.identity and log.identity != other.identity
    assert again().identity == log.identity
