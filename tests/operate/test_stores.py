"""A project whose views are in several stores: crashes at every step, and each store has what the log says."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import headwater.testing as ht
from headwater.store.redis import RedisStore
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

SQL = """
CREATE STREAM sales (shop STRING, amount DECIMAL(10, 2), tags ARRAY<STRING>, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW per_shop WITH (store = 'main, live, lake', grace = '20 seconds') AS
  SELECT shop, window_end, sum(amount) AS total, collect_list(tags) AS every
  FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end HAVING sum(amount) > 1;
CREATE MATERIALIZED VIEW per_window WITH (store = 'local', emit = 'final') AS
  SELECT window_end, count(*) AS n FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY window_end;
CREATE MATERIALIZED VIEW best WITH (store = 'main', emit = 'final') AS SELECT window_end AS until, max(total) AS most
  FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_end), INTERVAL '20' SECOND) GROUP BY window_end;
"""


def sale(shop: str | None, amount: str, second: int, *tags: str) -> dict[str, object]:
    return {"shop": shop, "amount": amount, "tags": list(tags), "at": f"2026-01-01T00:00:{second:02}Z"}


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    name = f"stores_{uuid.uuid4().hex}"
    postgres_server.query(f"CREATE DATABASE {name}")
    yield postgres_server.url.removesuffix("postgres") + name
    postgres_server.query(f"DROP DATABASE {name} WITH (FORCE)")


def test_views_in_several_stores_are_what_the_log_says_whatever_crashes(
    database: str, redis_server: RedisServer, spark: SparkSession, tmp_path: Path
) -> None:
    live = redis_server.url.removesuffix("0") + "15"
    lake = tmp_path / "lake"
    stores = {"main": database, "local": "sqlite:///views.db", "live": live, "lake": f"delta://{lake}"}
    with ht.scenario(SQL, stores=stores) as shop:
        shop.append("sales", [sale("a", "2.00", 1, "x"), sale(None, "0.50", 2)])
        shop.crash("per_shop", at=ht.Crash("before apply"))
        shop.crash("per_shop", at=ht.Crash("after apply"))
        shop.append("sales", [sale(None, "3.00", 3, "y", 'z"'), sale("b", "0.75", 12), sale("a", "-1.50", 4)])
        shop.crash("per_shop", at=ht.Crash("after open"))
        shop.run()
        shop.append("sales", [sale("b", "9.00", 55)])
        shop.crash("best", at=ht.Crash("after apply", view="best"))
        shop.run()
        shop.expect(
            "per_shop",
            [
                {"shop": None, "window_end": "2026-01-01T00:00:10Z", "total": "3.50", "every": [[], ["y", 'z"']]},
                {"shop": "b", "window_end": "2026-01-01T00:01:00Z", "total": "9.00", "every": [[]]},
            ],
        )
        shop.expect("best", [{"until": "2026-01-01T00:00:20Z", "most": "3.50"}])
        for view in shop.views:
            assert shop.project.verify(view).identical
            assert shop.project.views.ledger(view).remainder == 0
        with psycopg.connect(database) as client:
            assert client.execute("SELECT count(*), sum(total) FROM per_shop").fetchone() == (2, 12.5)
        with closing(RedisStore(live)) as follower:
            assert not ht.compare(follower.read("per_shop"), shop.rows("per_shop"))
        wanted = shop.rows("per_shop")
        assert not ht.compare(DeltaTable(lake / "per_shop").to_pyarrow_table().cast(wanted.schema), wanted)
        status = next(found for found in shop.project.status().views if found.view == "per_shop")
        assert [(found.store, found.lag) for found in status.stores] == [("main", 0), ("live", 0), ("lake", 0)]
