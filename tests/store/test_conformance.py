"""Every store passes the suite of `headwater.testing`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.log import open_storage
from headwater.store import SeveralStores, Store
from headwater.store.delta import DeltaStore
from headwater.store.postgres import PostgresStore
from headwater.store.redis import RedisStore
from headwater.store.redis.rows import Layout
from headwater.store.sqlite import SqliteStore
from headwater.testing import SqlStoreConformance, StoreConformance, TogetherConformance, Wall
from headwater.testing.conformance import Again
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

DAY = timedelta(days=1)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def store(again: Again) -> Store:
    return again()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What is closed at the end of a test."""
    with ExitStack() as stack:
        yield stack


class TestSqlite(SqlStoreConformance, TogetherConformance):
    @pytest.fixture
    def again(self, tmp_path: Path, wall: Wall, opened: ExitStack) -> Again:
        return lambda: opened.enter_context(
            closing(SqliteStore(tmp_path / "views.db", changes_retention=DAY, now=wall))
        )


class TestPostgres(SqlStoreConformance, TogetherConformance):
    @pytest.fixture
    def again(self, postgres_server: PostgresServer, wall: Wall, opened: ExitStack) -> Again:
        schema = f"conformance_{uuid.uuid4().hex}"
        return lambda: opened.enter_context(
            closing(
                PostgresStore(
                    postgres_server.url,
                    schema=schema,
                    reader=postgres_server.reader_url,
                    changes_retention=DAY,
                    now=wall,
                )
            )
        )


class TestRedis(StoreConformance):
    @pytest.fixture(params=["json", "hash", "stream"])
    def again(self, request: pytest.FixtureRequest, redis_server: RedisServer, wall: Wall, opened: ExitStack) -> Again:
        prefix, layout = f"{uuid.uuid4().hex}:", Layout(request.param)
        return lambda: opened.enter_context(
            closing(RedisStore(redis_server.url, prefix=prefix, layout=layout, changes_retention=DAY, now=wall))
        )


class TestDelta(StoreConformance):
    @pytest.fixture
    def again(self, tmp_path: Path, wall: Wall, opened: ExitStack) -> Again:
        def open_again() -> Store:
            lake = DeltaStore("lake", lambda path: open_storage(str(tmp_path / path)), changes_retention=DAY, now=wall)
            return opened.enter_context(closing(lake))

        return open_again


class TestSeveral(SqlStoreConformance):
    @pytest.fixture
    def again(self, tmp_path: Path, wall: Wall, opened: ExitStack) -> Again:
        def open_again() -> Store:
            files = (tmp_path / f"{name}.db" for name in ("first", "second"))
            leader, follower = [SqliteStore(file, changes_retention=DAY, now=wall) for file in files]
            return opened.enter_context(closing(SeveralStores(leader, [follower])))

        return open_again
