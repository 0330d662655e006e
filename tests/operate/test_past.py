"""Views as they were and as they were known: computed from the log, over what had happened or arrived by an instant."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import PositionRefused
from tests.patience import until

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHOP = """
CREATE TABLE orders (
  id STRING PRIMARY KEY, shop STRING, total DECIMAL(8, 2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND
);
CREATE TABLE shops (id STRING PRIMARY KEY, town STRING);
CREATE STREAM visits (shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW totals AS
SELECT s.town, count(*) AS n, sum(o.total) AS total FROM orders o JOIN shops s ON s.id = o.shop GROUP BY s.town;
CREATE MATERIALIZED VIEW largest AS SELECT max(total) AS total FROM totals;
CREATE MATERIALIZED VIEW per_minute AS
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE visits, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
"""
TOTALS = "SELECT town, n, total FROM totals {} ORDER BY town"


def after(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def instant(seconds: int) -> str:
    return f"TIMESTAMP '{after(seconds):%Y-%m-%d %H:%M:%S}'"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[hw.Project]:
    """Orders of two towns; a minute later one of them is another, and is told to have been since before."""
    folder: Path = tmp_path_factory.mktemp("past")
    (folder / "headwater.toml").write_text('name = "shop"')
    (folder / "shop.sql").write_text(SHOP)
    wall = [START]
    with hw.open(folder, now=lambda: wall[0]) as opened:
        opened.append("shops", [{"id": "s1", "town": "ulm"}, {"id": "s2", "town": "bonn"}])
        opened.append("orders", [order("a", "s1", "1.00", 0), order("b", "s2", "2.00", 10)])
        opened.append("visits", [{"shop": "s1", "at": after(0)}, {"shop": "s1", "at": after(30)}])
        wall[0] = after(60)
        opened.append("orders", [order("a", "s1", "5.00", 5), order("c", "s2", "4.00", 50)])
        opened.append("visits", [{"shop": "s1", "at": after(59)}])
        wall[0] = after(120)
        opened.append("shops", [{"id": "s2", "town": "ulm"}])
        opened.delete("orders", ["b"], at=after(115))
        assert [done.error for done in opened.catch_up() if done.error] == []
        yield opened


def order(name: str, shop: str, total: str, at: int) -> dict[str, object]:
    return {"id": name, "shop": shop, "total": total, "at": after(at)}


def asked(shop: hw.Project, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in shop.query(sql).to_pylist()]


def row(town: str, n: int, total: str) -> tuple[object, ...]:
    return town, n, Decimal(total)


@pytest.mark.parametrize(
    ("as_of", "known_at", "rows"),
    [
        (None, None, [row("ulm", 2, "9.00")]),
        (None, 0, [row("bonn", 1, "2.00"), row("ulm", 1, "1.00")]),
        (None, 60, [row("bonn", 2, "6.00"), row("ulm", 1, "5.00")]),
        (None, -1, []),
        # the town of a shop tells no time of its own: it counts since it has arrived
        (20, None, [row("bonn", 1, "2.00"), row("ulm", 1, "5.00")]),
        (4, None, [row("ulm", 1, "1.00")]),
        (114, 0, [row("bonn", 1, "2.00"), row("ulm", 1, "1.00")]),
        (20, 60, [row("bonn", 1, "2.00"), row("ulm", 1, "5.00")]),
    ],
)
def test_a_view_over_all_of_time_is_asked_as_it_was_and_as_it_was_known(
    shop: hw.Project, as_of: int | None, known_at: int | None, rows: list[tuple[object, ...]]
) -> None:
    was = "" if as_of is None else f"FOR SYSTEM_TIME AS OF {instant(as_of)} "
    known = "" if known_at is None else f"AS KNOWN AT {instant(known_at)}"
    assert asked(shop, TOTALS.format(was + known)) == rows


def test_what_it_was_is_compared_with_what_it_is(shop: hw.Project) -> None:
    then = f"totals AS KNOWN AT {instant(60)}"
    assert asked(shop, f"SELECT t.town, t.total - b.total AS more FROM totals t JOIN {then} AS b USING (town)") == [
        ("ulm", Decimal("4.00"))
    ]
    assert asked(shop, f"SELECT total FROM largest AS KNOWN AT {instant(60)}") == [(Decimal("6.00"),)], "a view on it"


def test_a_view_of_windows_is_asked_as_it_was_known(shop: hw.Project) -> None:
    known = "SELECT n FROM per_minute AS KNOWN AT {} WHERE window_end = " + instant(60)
    assert [asked(shop, known.format(instant(at))) for at in (0, 60)] == [[(2,)], [(3,)]]


def test_what_was_let_go_of_by_a_compaction_is_refused(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(SHOP)
    wall = [START]
    with hw.open(tmp_path, now=lambda: wall[0]) as shop:
        for seconds in (0, 60, 120):
            wall[0] = after(seconds)
            shop.append("shops", [{"id": "s1", "town": f"t{seconds}"}])
        shop.admin.compact("shops", timedelta(seconds=30))
        with pytest.raises(PositionRefused, match="can't be told as it was then"):
            shop.query(TOTALS.format(f"AS KNOWN AT {instant(60)}"))


INSTANTS = 50


def test_a_view_as_it_was_known_is_what_was_served_then_at_many_instants(tmp_path: Path, spark: Any) -> None:
    """Snapshots that were taken while it ran, against what is computed from the log afterwards."""
    del spark
    chance, wall, snapshots = random.Random(7), [START], []
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(SHOP)
    with hw.open(tmp_path, now=lambda: wall[0]) as shop:
        over = threading.Event()
        running = threading.Thread(target=lambda: shop.run(stop=over, stays=True))
        running.start()
        try:
            shop.append("shops", [{"id": f"s{number}", "town": f"t{number % 2}"} for number in range(4)])
            for number in range(INSTANTS):
                wall[0] = after(number)
                happened = number * 5 - chance.randrange(12)
                shop.append(
                    "visits", [{"shop": "s1", "at": after(happened + n)} for n in range(chance.randrange(1, 4))]
                )
                name, place = f"o{chance.randrange(9)}", f"s{chance.randrange(4)}"
                shop.append("orders", [order(name, place, f"{chance.randrange(90)}.50", happened)])
                until(lambda: all(is_at_head(shop, view) for view in ("totals", "per_minute")))
                snapshots.append([rows_of(shop, view, "") for view in ("totals", "per_minute")])
        finally:
            over.set()
            running.join()
        for number in range(INSTANTS):
            known = f"AS KNOWN AT {instant(number)}"
            assert [rows_of(shop, view, known) for view in ("totals", "per_minute")] == snapshots[number], number
    assert len({str(rows) for rows in snapshots}) > INSTANTS / 2


def is_at_head(shop: hw.Project, view: str) -> bool:
    served = shop.views.served(view)
    if served is None or served.position is None:
        return False
    return all(commit == max(shop.log.head(name), 0) for name, commit in served.position.commits)


def rows_of(shop: hw.Project, view: str, known: str) -> list[str]:
    return sorted(map(str, shop.query(f"SELECT * FROM {view} {known}").to_pylist()))
