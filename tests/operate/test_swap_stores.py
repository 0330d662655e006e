"""Swaps of versions in every kind of store, and what is left when they are cut off anywhere."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli import app
from headwater.errors import Fenced, PromotionRefused
from headwater.outlets.feed import Feed
from headwater.outlets.protocol import Place
from headwater.store import Batch, Position, Store, Target
from headwater.store.several import SeveralStores
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SQL = """CREATE STREAM sales (id STRING, shop STRING, n INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW shops WITH (store = 'main, other') AS SELECT shop, window_end, sum(n) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY shop, window_end;"""


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    name = f"swap_{uuid.uuid4().hex}"
    postgres_server.query(f"CREATE DATABASE {name}")
    yield postgres_server.url.removesuffix("postgres") + name
    postgres_server.query(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres and redis", "delta"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The URLs of the store that leads and of the one that follows."""
    if request.param == "postgres and redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return request.getfixturevalue("database"), server.url.removesuffix("0") + "14"
    if request.param == "delta":
        return "sqlite:///main.db", f"delta://{tmp_path / 'lake'}"
    return "sqlite:///main.db", "sqlite:///other.db"


class Shop:
    """A project whose versions are written by hand: version 1 is served, version 2 has twice its sums."""

    def __init__(self, folder: Path, stores: tuple[str, str]) -> None:
        main, other = stores
        (folder / "headwater.toml").write_text(
            f'name = "shop"\n[stores.main]\nurl = "{main}"\n[stores.other]\nurl = "{other}"\n'
        )
        (folder / "shop.sql").write_text(SQL)
        self.project = hw.open(folder)
        self.planned = self.project.plan().view("shops")
        self.project.declarations.keep(self.planned)
        self.store: SeveralStores = self.project.views.opened().ask.store("shops")
        self.epochs = {number: self.open(number) for number in (1, 2)}

    def target(self, number: int) -> Target:
        planned = self.planned
        return Target("shops", number, planned.columns, planned.identity, planned.emit)

    def open(self, number: int) -> int:
        return self.store.open(self.target(number), self.planned.fingerprint)

    def write(self, number: int, batch: int, **sums: int) -> None:
        """Let a version have these sums after a batch, whose number is that of the commit."""
        target = self.target(number)
        made = [{"shop": shop, "window_end": NOON, "n": n * number} for shop, n in sums.items()]
        upserts = pa.Table.from_pylist(made, schema=target.schema)
        nothing = target.schema.empty_table().select(list(target.key))
        position = Position(batch, (("sales", batch),), NOON + timedelta(seconds=batch))
        self.store.apply(target, self.epochs[number], Batch(upserts, nothing, position))

    def served(self) -> list[int | None]:
        return [store.promoted("shops") for store in self.store.parts]

    def sums(self, store: Store) -> dict[str, int]:
        return {row["shop"]: row["n"] for row in store.read("shops").to_pylist()}


@pytest.fixture
def shop(tmp_path: Path, stores: tuple[str, str]) -> Iterator[Shop]:
    opened = Shop(tmp_path, stores)
    for number in (1, 2):
        opened.write(number, 1, a=1, b=2)
        opened.write(number, 2, a=3)
    opened.store.promote("shops", 1)
    yield opened
    opened.project.close()


def test_versions_are_compared_promoted_and_rolled_back_in_each_store(shop: Shop) -> None:
    versions = shop.project.versions
    shop.write(1, 3, a=10)
    seen = versions.compare("shops")
    assert seen.commits == {"sales": 2}, "the newest commits that both have read"
    assert (seen.rows, seen.rows_new, seen.changed, seen.difference, seen.missing) == (2, 2, 2, 1.0, 0.0)
    assert [pair[0]["n"] for pair in seen.examples["changed"]] in ([3, 2], [2, 3])
    shop.write(2, 3, a=10)
    with pytest.raises(PromotionRefused, match=r"100.000% of its rows differ"):
        versions.promote("shops", max_diff=0.5)
    assert shop.served() == [1, 1]
    assert versions.promote("shops", max_missing=0, require="SELECT min(new.n) > 3 FROM new").before == 1
    assert shop.served() == [2, 2]
    assert [shop.sums(store) for store in shop.store.parts] == [{"a": 20, "b": 4}] * 2
    with pytest.raises(Fenced):
        shop.write(1, 4, a=11)
    shop.epochs[1] = shop.open(1)
    shop.write(1, 4, a=11)
    assert versions.rollback("shops").version == 1
    assert shop.served() == [1, 1]
    assert [shop.sums(store) for store in shop.store.parts] == [{"a": 11, "b": 2}] * 2
    assert versions.is_held("shops")


class Killed(BaseException):
    """The process is gone."""


STEPS = ("hold", "keep", "fenced", "swapping", "release")


@pytest.mark.parametrize("stores", [("sqlite:///main.db", "sqlite:///other.db")])
@pytest.mark.parametrize("back", [False, True], ids=["promote", "rollback"])
@pytest.mark.parametrize("point", [*STEPS, "after open", "after the follower", "after the leader"])
def test_a_swap_that_is_cut_off_changed_nothing_or_is_finished(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, point: str, back: bool
) -> None:
    versions, catalog = shop.project.versions, shop.project.views.opened().catalog
    if back:
        versions.promote("shops")

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    def behind(function: Any) -> Any:
        def done(*arguments: Any, **named: Any) -> None:
            function(*arguments, **named)
            raise Killed

        return done

    leader, follower = shop.store.parts
    with monkeypatch.context() as patch, suppress(Killed):
        if point in STEPS:
            patch.setattr(f"headwater.operate.hold.Holds.{point}", die)
        elif point == "after open":
            patch.setattr(shop.store, "open", behind(shop.store.open))
        else:
            store = follower if point == "after the follower" else leader
            patch.setattr(store, "promote", behind(store.promote))
        versions.rollback("shops") if back else versions.promote("shops")
    before, after = (2, 1) if back else (1, 2)
    cut_between = point == "after the follower"
    assert shop.served() == [before, after] if cut_between else shop.served() in ([before] * 2, [after] * 2)
    shop.project.views.opened().run._begun(None)  # as the next run does
    assert shop.served() in ([before] * 2, [after] * 2)
    assert catalog.holds.unfinished("shops") is None
    if shop.served() == [before] * 2:  # the same command again does it
        versions.rollback("shops", version=1) if back else versions.promote("shops")
    assert shop.served() == [after] * 2


@pytest.mark.parametrize("stores", [("sqlite:///main.db", "sqlite:///other.db")])
def test_two_promotions_at_once_are_one(shop: Shop) -> None:
    holds = shop.project.views.opened().catalog.holds
    with holds.promoting("shops"), pytest.raises(PromotionRefused, match="is being promoted"):
        shop.project.versions.promote("shops")
    assert shop.served() == [1, 1]


@pytest.mark.parametrize("stores", [("sqlite:///main.db", "sqlite:///other.db")])
def test_a_version_that_is_behind_is_waited_for_and_then_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.project.versions.WAIT", timedelta(seconds=0.2))
    shop.write(1, 3, a=10)
    with pytest.raises(PromotionRefused, match="it is behind version 1"):
        shop.project.versions.promote("shops")
    assert shop.served() == [1, 1]


@pytest.mark.parametrize("stores", [("sqlite:///main.db", "sqlite:///other.db")])
def test_an_outlet_misses_nothing_of_a_version_that_is_fed_on_behind_a_swap(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of the old version that comes just before its rows are compared with the new one's is sent as well."""
    shop.write(2, 3, a=25)
    shop.project.versions.promote("shops")
    shop.epochs[1] = shop.open(1)
    read = shop.store.read

    def read_late(view: str, version: int | None = None, *more: Any) -> pa.Table:
        if version == 1 and shop.store.position("shops", 1).batch == 2:  # type: ignore[union-attr]
            shop.write(1, 3, a=50)
        return read(view, version, *more)

    monkeypatch.setattr(shop.store, "read", read_late)
    feed = Feed("hook", "shops", shop.store, shop.planned.fingerprint, _untimed)
    rows = {"a": 1, "b": 2}
    for delivery in feed.after(Place(1, 1)):
        for change in delivery.changes.to_pylist():
            rows[change["after"]["shop"]] = change["after"]["n"]
    assert rows == {"a": 50, "b": 4} == shop.sums(shop.store)


def _untimed(changes: pa.Table) -> pa.Table:
    return changes.append_column("timing", pa.nulls(changes.num_rows, pa.string()))


@pytest.mark.parametrize("stores", [("sqlite:///main.db", "sqlite:///other.db")])
def test_the_same_in_a_terminal(shop: Shop, tmp_path: Path) -> None:
    def headwater(*arguments: str) -> tuple[int, str]:
        outcome = CliRunner().invoke(app, [*arguments, "-p", str(tmp_path)], env={"COLUMNS": "200", "NO_COLOR": "1"})
        return outcome.exit_code, outcome.output

    code, text = headwater("compare", "shops")
    assert code == 1
    assert "shops v1 and v2, read up to sales 2: 100.000% of the rows differ" in text
    assert "changed" in text
    code, text = headwater("compare", "shops", "--json")
    assert json.loads(text)["deltas"] == [
        {"column": "n", "changed": 2, "before": 5, "after": 10, "least": 2, "greatest": 3}
    ]
    assert headwater("promote", "shops", "--max-diff", "0%")[0] == 1
    assert headwater("promote", "--max-diff", "1%")[0] == 2
    assert headwater("promote", "shops", "--max-diff", "x")[0] == 2
    code, text = headwater("promote", "shops", "--max-diff", "100%", "--keep-old", "1 hour")
    assert (code, "shops: v1 → v2 is served; v1 is kept up until" in text) == (0, True)
    assert "v1       kept up until" in headwater("versions", "shops")[1]
    assert headwater("rollback", "shops")[1].startswith("shops: v2 → v1 is served")
    versions = json.loads(headwater("versions", "shops", "--prune", "--json")[1])
    assert (versions["held"], versions["dropped"], [one["served"] for one in versions["versions"]]) == (
        True,
        [],
        [True, False],
    )
