"""What an outlet has to send: the changes of the served version, in order, and the way from one version to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ArgumentRefused, ChangesLost
from headwater.outlets import Delivery, Feed, Place
from headwater.project import Project
from headwater.store.sqlite import SqliteStore
from tests.outlets.shop import SPEND, Shop, row

OUTLET = "CREATE OUTLET o FROM spend TO 'kafka://t' WITH (envelope = '{envelope}'{more})"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, OUTLET.format(envelope="change", more=""))


def feed_of(project: Project, most: int = 50_000) -> Feed:
    found = project.views.opened().ask.feed(project.plan().outlet("o"))
    return Feed(
        found.outlet,
        found.view,
        found.store,
        found.fingerprint,
        found.mark,
        found.start,
        found.keyed,
        found.differ,
        most,
    )


def told(deliveries: Iterator[Delivery]) -> list[tuple[str, Place]]:
    """Of each delivery its changes, as `+a 1.00`, `~a 2.00`, `-a 2.00`, and its place."""
    return [(" ".join(map(_spelled, found.changes.to_pylist())), found.place) for found in deliveries]


def _spelled(change: dict[str, Any]) -> str:
    found = change["before"] if change["after"] is None else change["after"]
    return f"{ {'insert': '+', 'update': '~', 'delete': '-'}[change['op']] }{found['card']} {found['spent']}"


def test_a_view_without_rows_has_nothing_to_send(shop: Shop) -> None:
    with shop.project() as project:
        assert told(feed_of(project).after(None)) == []


def test_each_batch_is_a_delivery(shop: Shop) -> None:
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    shop.write(1)  # changes nothing
    shop.write(2, [row("a", "2.00")], [row("b", "1.00")])
    with shop.project() as project:
        feed = feed_of(project)
        assert told(feed.after(None)) == [("+a 1.00 +b 1.00", Place(1, 0)), ("-b 1.00 ~a 2.00", Place(1, 2))]
        assert told(feed.after(Place(1, 0))) == [("-b 1.00 ~a 2.00", Place(1, 2))]
        assert told(feed.after(Place(1, 2))) == []
        assert [feed.lag(place) for place in (None, Place(1, 0), Place(1, 2))] == [3, 2, 0]


def test_a_large_batch_is_delivered_in_parts_and_gone_on_with_in_the_middle(shop: Shop) -> None:
    shop.write(0, [row(card, "1.00") for card in "abcde"])
    shop.write(1, [row("a", "2.00")])
    with shop.project() as project:
        feed = feed_of(project, most=2)
        parts = list(feed.after(None))
        assert [found.place for found in parts] == [Place(1, 0, 2), Place(1, 0, 4), Place(1, 0), Place(1, 1)]
        assert told(feed.after(Place(1, 0, 4))) == [("+e 1.00", Place(1, 0)), ("~a 2.00", Place(1, 1))]
        assert [found.change_id(0) for found in parts] == ["1.0.0", "1.0.2", "1.0.4", "1.1.0"]


def test_an_outlet_that_starts_with_the_latest_sends_what_comes_after(shop: Shop) -> None:
    shop.declare(OUTLET.format(envelope="change", more=", start = 'latest'"))
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        feed = feed_of(project)
        assert told(feed.after(None)) == [("", Place(1, 0))]
    shop.write(1, [row("a", "2.00")])
    with shop.project() as project:
        assert told(feed_of(project).after(Place(1, 0))) == [("~a 2.00", Place(1, 1))]


def test_from_a_version_to_the_next_the_difference_is_sent(shop: Shop) -> None:
    shop.write(0, [row("a", "1.00"), row("b", "1.00"), row("c", "1.00")])
    shop.write(1, [row("c", "2.00")])
    shop.write(7, [row("a", "1.00"), row("b", "9.00"), row("d", "1.00")], version=2)
    with shop.project() as project:
        assert told(feed_of(project).after(Place(1, 0))) == [
            ("~c 2.00", Place(1, 1)),
            ("-c 2.00 ~b 9.00 +d 1.00", Place(2, 7)),
        ]
        assert told(feed_of(project).after(Place(2, 7))) == []


def test_a_version_that_has_no_batch_yet_takes_over_with_nothing(shop: Shop) -> None:
    shop.write(0, [row("a", "1.00")])
    with shop.project() as project:
        store, old = shop.store(project), shop.store(project).versions("spend")[0]
        store.open(replace(old.target, version=2), old.fingerprint)
        store.promote("spend", 2)
        assert told(feed_of(project).after(Place(1, 0))) == [("-a 1.00", Place(2, -1))]
    shop.write(0, [row("b", "1.00")], version=2)
    with shop.project() as project:
        assert told(feed_of(project).after(Place(2, -1))) == [("+b 1.00", Place(2, 0))]


def test_a_version_with_other_columns_takes_over(shop: Shop) -> None:
    shop.write(0, [row("a", "1.00")])
    shop.declare(OUTLET.format(envelope="change", more=""), view=SPEND.replace("AS spent", "AS spent, count(*) AS n"))
    shop.write(0, [row("a", "1.00") | {"n": 1}], version=2)
    with shop.project() as project:
        (delivery,) = feed_of(project).after(Place(1, 0))
        (change,) = delivery.changes.to_pylist()
        assert (change["op"], "n" in change["before"], change["after"]["n"]) == ("update", False, 1)


def test_rows_without_a_key_are_compared_as_a_whole(tmp_path: Path) -> None:
    large = """
    CREATE STREAM payments (card STRING, amount DECIMAL(12, 2), at TIMESTAMP, WATERMARK FOR at AS at);
    CREATE MATERIALIZED VIEW spend {options} AS SELECT card, amount AS spent FROM payments;"""
    shop = Shop(tmp_path, "")
    shop.declare(OUTLET.format(envelope="row", more=""), view=large)
    rows = [{"card": card, "spent": row(card, "1.00")["spent"]} for card in "aab"]
    shop.write(0, rows)
    shop.write(0, [*rows[1:], rows[2]], version=2)
    with shop.project() as project:
        assert told(feed_of(project).after(Place(1, 0))) == [("-a 1.00 +b 1.00", Place(2, 0))]


def test_changes_that_are_no_longer_kept_are_replaced_by_the_rows_for_one_who_has_nothing(shop: Shop) -> None:
    short = 'name = "shop"\n[stores.main]\nurl = "sqlite:///views.db"\noptions = { changes_retention = "0 seconds" }'
    (shop.folder / "headwater.toml").write_text(short)
    for number in range(3):
        shop.write(number, [row("a", f"{number}.00"), row("b", "1.00")])
    with shop.project() as project:
        feed = feed_of(project)
        assert told(feed.after(None)) == [("+a 2.00 +b 1.00", Place(1, 2))]
        with pytest.raises(ChangesLost, match="has not sent are gone"):
            list(feed.after(Place(1, 0)))


def test_a_version_that_was_dropped_cannot_be_gone_on_from(shop: Shop) -> None:
    shop.write(0, [row("a", "1.00")])
    shop.write(0, [row("a", "1.00")], version=2)
    with shop.project() as project:
        shop.store(project).drop("spend", 1)
        with pytest.raises(ChangesLost):
            list(feed_of(project).after(Place(1, 0)))


def test_a_reader_of_the_feed_holds_nobody_up(shop: Shop) -> None:
    for number in range(3):
        shop.write(number, [row("a", f"{number}.00")])
    with shop.project() as project:
        deliveries = feed_of(project).after(None)
        next(deliveries)
        store = SqliteStore(shop.folder / "views.db", busy_timeout=timedelta())
        planned = project.plan().view("spend")
        assert store.versions("spend")[0].target.columns == planned.columns
        shop.write(3, [row("a", "3.00")])  # while the outlet is in the middle of its work
        assert [found.place.batch for found in deliveries] == [1, 2, 3]


def test_differences_add_up_to_the_view_wherever_one_begins(shop: Shop) -> None:
    shop.declare(OUTLET.format(envelope="row", more=", accumulation = 'discard'"))
    shop.write(0, [row("a", "1.00"), row("b", "1.00"), row("c", "3.00")])
    shop.write(1, [row("a", "1.50"), row("b", "0.25")])
    shop.write(2, deletes=[row("c", "3.00")])
    shop.write(0, [row("a", "2.00"), row("d", "1.00")], version=2)  # built anew, with other rows
    with shop.project() as project:
        feed = feed_of(project)
        assert told(feed.after(Place(1, -1))) == [
            ("+a 1.00 +b 1.00 +c 3.00", Place(1, 0)),
            ("+a 0.50 +b -0.75", Place(1, 1)),
            ("+c -3.00", Place(1, 2)),
            ("+b -0.25 +a 0.50 +d 1.00", Place(2, 0)),
        ]


def test_the_changelog_can_be_read_as_differences(shop: Shop) -> None:
    shop.write(0, [row("a", "1.00")])
    shop.write(1, [row("a", "3.50")])
    with shop.project() as project:
        found = [table.to_pylist() for table in project.changes("spend", accumulation="discard")]
        assert [[str(change["after"]["spent"]) for change in batch] for batch in found] == [["1.00"], ["2.50"]]
    shop.declare(OUTLET.format(envelope="change", more=""), view=SPEND.replace("sum(", "max("))
    with shop.project() as project, pytest.raises(ArgumentRefused, match="have no differences"):
        next(project.changes("spend", accumulation="discard"))
