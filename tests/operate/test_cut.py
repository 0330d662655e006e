"""Several views at one cut: whatever each has written by now, their rows belong together."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused, NotReached
from headwater.operate.cut import Stand, newest_cut
from headwater.project import Project
from headwater.store import Batch, Position, Target
from tests.patience import PATIENCE

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SQL = """
CREATE STREAM sales (shop STRING NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW counts WITH (emit = 'changes') AS SELECT shop, window_end, count(*) AS n
  FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW shops AS SELECT shop FROM sales;
CREATE MATERIALIZED VIEW best AS SELECT window_end AS until, max(n) AS most
  FROM TUMBLE(TABLE counts, DESCRIPTOR(window_end), INTERVAL '1' DAY) GROUP BY window_end;
"""


class Market:
    """A project whose views are written by hand: commit number c is a sale of shop c % 3."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.at = {"counts": 0, "shops": 0}
        self.batch = {"counts": -1, "shops": -1}
        self.epochs: dict[str, int] = {}

    def target(self, view: str) -> Target:
        planned = self.project.plan().view(view)
        return Target(view, 1, planned.columns, planned.identity, planned.emit)

    def advance(self, view: str, commit: int) -> None:
        """A batch that reads up to a commit."""
        target, store = self.target(view), self.project.views.opened().ask.store(view)
        if view not in self.epochs:
            self.epochs[view] = store.open(target, self.project.plan().view(view).fingerprint)
        new = [f"s{number % 3}" for number in range(self.at[view] + 1, commit + 1)]
        rows: list[dict[str, Any]] = [{"shop": shop} for shop in new]
        if view == "counts":
            total = Counter(f"s{number % 3}" for number in range(1, commit + 1))
            rows = [{"shop": shop, "window_end": NOON, "n": total[shop]} for shop in sorted(set(new))]
        self.at[view], self.batch[view] = commit, self.batch[view] + 1
        upserts, position = (
            pa.Table.from_pylist(rows, schema=target.schema),
            Position(self.batch[view], (("sales", commit),), NOON),
        )
        deletes = target.schema.empty_table().select(list(target.key))
        store.apply(target, self.epochs[view], Batch(upserts, deletes, position))
        if store.promoted(view) != 1:
            store.promote(view, 1)

    def read(self, wait: float = 0) -> tuple[int, int, int]:
        """The common commit, and how many sales each view has, once both say the same of every shop."""
        counts, shops = self.project.views.rows_at_cut("counts", "shops", wait=timedelta(seconds=wait))
        assert counts.commits == shops.commits
        commit = counts.commits["sales"]
        expected = Counter(f"s{number % 3}" for number in range(1, commit + 1))
        assert {row["shop"]: row["n"] for row in counts.rows.to_pylist()} == expected
        assert Counter(row["shop"] for row in shops.rows.to_pylist()) == expected
        return commit, counts.batch, shops.batch


@pytest.fixture(params=["sqlite:///views.db", "delta://lake"])
def market(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Market]:
    (tmp_path / "headwater.toml").write_text(f'name = "market"\n[stores.main]\nurl = "{request.param}"\n')
    (tmp_path / "market.sql").write_text(SQL)
    with hw.open(tmp_path) as project:
        yield Market(project)


def test_views_that_are_apart_are_led_back_to_where_they_were_together(market: Market) -> None:
    for view, commits in {"counts": (3, 5, 9, 14), "shops": (2, 9, 12)}.items():
        for commit in commits:
            market.advance(view, commit)
    assert market.read() == (9, 2, 1)
    market.advance("shops", 14)
    assert market.read() == (14, 3, 3), "the newest cut is taken"


def test_a_cut_that_is_not_there_yet_is_waited_for(market: Market) -> None:
    market.advance("counts", 3)
    market.advance("shops", 5)
    with pytest.raises(NotReached, match="no common cut") as refused:
        market.read(wait=0.1)
    assert "Counts is at sales 3; shops is at sales 5" in str(refused.value.detail)
    timer = threading.Timer(0.2, market.advance, ("counts", 5))
    timer.start()
    assert market.read(wait=PATIENCE) == (5, 1, 0)


def test_rows_belong_together_while_both_views_go_on(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "market"\n')
    (tmp_path / "market.sql").write_text(SQL)
    chance, over = random.Random(7), threading.Event()
    with hw.open(tmp_path) as project:
        market = Market(project)
        for view in ("counts", "shops"):
            market.advance(view, 1)

        def write(view: str) -> None:
            while not over.wait(0.01):
                market.advance(view, market.at[view] + chance.randint(1, 3))

        writers = [threading.Thread(target=write, args=(view,)) for view in ("counts", "shops")]
        for writer in writers:
            writer.start()
        try:
            found, until = [market.read(wait=PATIENCE) for _ in range(10)], time.monotonic() + PATIENCE
            while len({commit for commit, _, _ in found}) == 1 and time.monotonic() < until:
                found.append(market.read(wait=PATIENCE))
        finally:
            over.set()
            for writer in writers:
                writer.join()
    assert len({commit for commit, _, _ in found}) > 1, "it went on meanwhile"


def test_views_that_read_a_stream_in_different_ways_have_no_cut(market: Market) -> None:
    with pytest.raises(ArgumentRefused) as refused:
        market.project.views.rows_at_cut("counts", "best")
    assert 'one by "sales", the other by "counts"' in str(refused.value.detail)


def test_three_views_agree_on_all_that_any_two_of_them_share() -> None:
    first = [Stand(2, {"a": 3}), Stand(1, {"a": 2})]
    second = [Stand(5, {"a": 3, "b": 8}), Stand(4, {"a": 2, "b": 7})]
    assert newest_cut([first, second, [Stand(9, {"b": 7})]]) == [first[1], second[1], Stand(9, {"b": 7})]
    assert newest_cut([first, second, [Stand(9, {"b": 6})]]) is None
    assert newest_cut([first, [Stand(9, {"c": 6})]]) == [first[0], Stand(9, {"c": 6})], "they share nothing"
