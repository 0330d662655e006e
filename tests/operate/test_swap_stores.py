"""Swaps of versions in every kind of store, and what is left when they are cut off anywhere."""

from __future__ import annotations

import json
import threading
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
from headwater.operate.audit import acting_as
from headwater.operate.halt import Halt
from headwater.outlets.feed import Feed
from headwater.outlets.protocol import Place
from headwater.store import Batch, Position, Store, Target
from headwater.store.several import SeveralStores
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

TWO_FILES = ("sqlite:///main.db", "sqlite:///other.db")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
VIEW = """CREATE MATERIALIZED VIEW {} WITH (store = 'main, other') AS SELECT shop, window_end, sum(n) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY shop, window_end;"""
STREAM = "CREATE STREAM sales (id STRING, shop STRING, n INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);"
SQL = "\n".join([STREAM, VIEW.format("shops"), VIEW.format("kiosks")])


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

    def __init__(self, folder: Path, stores: tuple[str, str], view: str = "shops", settings: str = "") -> None:
        main, other = stores
        self.view = view
        (folder / "headwater.toml").write_text(
            f'name = "shop"\n[stores.main]\nurl = "{main}"\n[stores.other]\nurl = "{other}"\n{settings}'
        )
        (folder / "shop.sql").write_text(SQL)
        self.project = hw.open(folder)
        self.planned = self.project.plan().view(view)
        self.project.declarations.keep(self.planned)
        self.store: SeveralStores = self.project.views.opened().ask.store(view)
        self.epochs = {number: self.open(number) for number in (1, 2)}

    def target(self, number: int) -> Target:
        planned = self.planned
        return Target(self.view, number, planned.columns, planned.identity, planned.emit)

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
        return [store.promoted(self.view) for store in self.store.parts]

    def sums(self, store: Store) -> dict[str, int]:
        return {row["shop"]: row["n"] for row in store.read("shops").to_pylist()}

    def fill(self) -> Shop:
        for number in (1, 2):
            self.write(number, 1, a=1, b=2)
            self.write(number, 2, a=3)
        self.store.promote(self.view, 1)
        return self


@pytest.fixture
def shop(tmp_path: Path, stores: tuple[str, str]) -> Iterator[Shop]:
    opened = Shop(tmp_path, stores).fill()
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


@pytest.mark.parametrize("stores", [TWO_FILES])
def test_a_run_that_is_fenced_off_before_the_promotion_could_say_so_waits_for_its_end(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several stores the one that leads fences a run off while the others aren't asked yet."""
    holds, outcomes = shop.project.views.opened().catalog.holds, []
    _, follower = shop.store.parts
    take = follower.open

    def meet_the_run(*arguments: Any) -> int:
        with pytest.raises(Fenced):
            shop.write(1, 3, a=10)
        run = threading.Thread(target=lambda: outcomes.append(holds.outlast(shop.store, "shops", 1, Halt())))
        run.start()
        assert outcomes == []
        threads.append(run)
        return take(*arguments)

    threads: list[threading.Thread] = []
    monkeypatch.setattr(follower, "open", meet_the_run)
    shop.project.versions.promote("shops")
    threads[0].join()
    assert outcomes == [True]


class Killed(BaseException):
    """The process is gone."""


STEPS = ("hold", "keep", "fenced", "swapping", "release")


@pytest.mark.parametrize("stores", [TWO_FILES])
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


def test_several_views_are_promoted_together_or_none_of_them(tmp_path: Path) -> None:
    shops, kiosks = (Shop(tmp_path, TWO_FILES, view).fill() for view in ("shops", "kiosks"))
    versions = shops.project.versions
    kiosks.write(2, 3, b=0)
    kiosks.write(1, 3, a=9)
    twice = "SELECT sum(new.n) = 2 * (SELECT sum(n) FROM old) FROM new"
    with pytest.raises(PromotionRefused, match='view "kiosks" version 2 is not promoted: what is required'):
        versions.promote_together("shops", "kiosks", require=twice)
    assert (shops.served(), kiosks.served()) == ([1, 1], [1, 1])
    assert [done.version for done in versions.promote_together("shops", "kiosks", "SHOPS")] == [2, 2]
    assert (shops.served(), kiosks.served()) == ([2, 2], [2, 2])
    for opened in (shops, kiosks):
        opened.project.close()


def test_a_promotion_of_several_views_that_is_cut_off_between_them_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shops, kiosks = (Shop(tmp_path, TWO_FILES, view).fill() for view in ("shops", "kiosks"))
    with monkeypatch.context() as patch, suppress(Killed):
        patch.setattr("headwater.operate.hold.Holds.release", _die)
        shops.project.versions.promote_together("shops", "kiosks")
    assert (shops.served(), kiosks.served()) == ([2, 2], [1, 1])
    shops.project.views.opened().run._begun(None)  # as the next run does
    assert (shops.served(), kiosks.served()) == ([2, 2], [2, 2])
    for opened in (shops, kiosks):
        opened.project.close()


def _die(*_: Any, **__: Any) -> None:
    raise Killed


def test_the_policy_of_a_project_holds_for_every_promotion(tmp_path: Path) -> None:
    policy = """[promotion]
max_diff = "0.5"
require = ["SELECT count(*) = 2 FROM new"]
keep_old = "1 hour"
by = ["token deploy"]
"""
    policy = policy.replace('"0.5"', "0.5")
    shop = Shop(tmp_path, TWO_FILES, settings=policy).fill()
    versions = shop.project.versions
    with pytest.raises(PromotionRefused, match="may not promote") as refused:
        versions.promote("shops")
    assert "token deploy" in str(refused.value)
    with pytest.raises(PromotionRefused, match="may not promote"):
        shop.project.admin.ask_promotion(only_tell=False, wait=timedelta())
    with acting_as("token deploy"):
        with pytest.raises(PromotionRefused, match=r"100.000% of its rows differ, and 50.000% may"):
            versions.promote("shops", max_diff=1)
        shop.write(2, 3, a=1, b=1)
        shop.write(1, 3, a=2, b=2)
        with pytest.raises(PromotionRefused, match=r"and 10.000% may"):
            shop.write(2, 4, b=2)
            shop.write(1, 4, b=2)
            versions.promote("shops", max_diff=0.1)
        assert shop.served() == [1, 1]
        shop.write(2, 5, a=1)
        shop.write(1, 5, a=2)
        done = versions.promote("shops")
        assert done.kept_until is not None
        assert done.kept_until - shop.project.views.opened().catalog.holds.now() < timedelta(hours=2)
    assert versions.rollback("shops").version == 1, "the way back is open to whoever operates"
    shop.project.close()


@pytest.mark.parametrize("stores", [TWO_FILES])
def test_two_promotions_at_once_are_one(shop: Shop) -> None:
    holds = shop.project.views.opened().catalog.holds
    with holds.promoting("shops"), pytest.raises(PromotionRefused, match="is being promoted"):
        shop.project.versions.promote("shops")
    assert shop.served() == [1, 1]


@pytest.mark.parametrize("stores", [TWO_FILES])
def test_a_version_that_is_behind_is_waited_for_and_then_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.project.versions.WAIT", timedelta(seconds=0.2))
    shop.write(1, 3, a=10)
    with pytest.raises(PromotionRefused, match="it is behind version 1"):
        shop.project.versions.promote("shops")
    assert shop.served() == [1, 1]


@pytest.mark.parametrize("stores", [TWO_FILES])
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


@pytest.mark.parametrize("stores", [TWO_FILES])
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
