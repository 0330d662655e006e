"""The same question has the same answer in every store: the same types, and the same values to the last digit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import StatementRefused
from headwater.log import open_storage
from headwater.model import Column, Emit, Variant
from headwater.query import Engine, Readable, answer, parse
from headwater.store import Batch, Position, Selection, SeveralStores, Store, Target
from headwater.store.delta import DeltaStore
from headwater.store.plain import plain
from headwater.store.postgres import PostgresStore
from headwater.store.redis import RedisStore
from headwater.store.sqlite import SqliteStore
from tests.query import corpus
from tests.query.asking import NOW
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

KINDS = ("sqlite", "postgres", "redis", "delta", "several")
Asks = Callable[[str], pa.Table]


def target(view: str, rows: pa.Table, key: tuple[str, ...]) -> Target:
    columns = tuple(Column(field.name, field.type, field.name not in key) for field in rows.schema)
    return Target(view, 1, columns, key, Emit.CHANGES)


def with_opaque(rows: pa.Table) -> pa.Table:
    """Columns that a query can only show: a VARIANT, months, times of day, and what is always NULL."""
    storage = pa.array([{"value": b"\x0c", "metadata": b"\x01"}] * rows.num_rows, Variant().storage_type)
    months = pa.array([(14, 0, 0), None, (-1, 0, 0), (0, 0, 0), (12, 0, 0), (1, 0, 0)], pa.month_day_nano_interval())
    times = pa.array([0, 1, None, 86_399_999_999, 3_600_000_000, 250_000], pa.int64()).cast(pa.time64("us"))
    made = rows.append_column("any", pa.ExtensionArray.from_storage(Variant(), storage)).append_column("age", months)
    return made.append_column("clock", times).append_column("empty", pa.nulls(rows.num_rows))


SALES, LIMITS = with_opaque(corpus.sales()), corpus.limits().slice(0, 3)


def keep(store: Store, made: Target, rows: pa.Table) -> None:
    gone = rows.slice(0, 0).select(list(made.key))
    position = Position(0, (("events", 7),), datetime(2026, 1, 1, tzinfo=UTC))
    store.apply(made, store.open(made, "plan"), Batch(rows, gone, position))
    store.promote(made.view, 1)


@pytest.fixture(scope="module")
def stores(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_server: RedisServer
) -> Iterator[dict[str, Store]]:
    folder: Path = tmp_path_factory.mktemp("stores")
    found: dict[str, Store] = {
        "sqlite": SqliteStore(folder / "views.db"),
        "postgres": PostgresStore(postgres_server.url, schema=f"answers_{uuid.uuid4().hex}"),
        "redis": RedisStore(redis_server.url, prefix=f"{uuid.uuid4().hex}:"),
        "delta": DeltaStore("lake", lambda path: open_storage(str(folder / path))),
        "several": SeveralStores(SqliteStore(folder / "first.db"), [SqliteStore(folder / "second.db")]),
    }
    with ExitStack() as opened:
        for store in found.values():
            opened.enter_context(closing(store))
            keep(store, target("sales", SALES, ("id",)), SALES)
            keep(store, target("limits", LIMITS, ("shop",)), LIMITS)
        yield found


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with closing(Engine()) as opened:
        yield opened


def ask(store: Store, engine: Engine, sql: str) -> pa.Table:
    statement = parse(sql)
    with store.snapshot(engine.limits.time) as snapshot:
        views = {}
        for view in statement.relations():
            served = snapshot.served(view)
            assert served is not None
            views[view] = Readable(
                served.target.schema,
                lambda part, served=served: snapshot.can(served, part),
                lambda selection, served=served: snapshot.rows(served, selection),
            )
        return answer(statement, views, engine, NOW)


STATEMENTS = [
    *(sql for sql in corpus.statements() if "ORDER BY" in sql or "FROM sales" not in sql),
    "SELECT id, any, age, clock, empty FROM sales ORDER BY id",
    "SELECT any, age FROM sales WHERE age IS NOT NULL ORDER BY id DESC LIMIT 2",
    "SELECT * FROM sales ORDER BY at DESC, id LIMIT 3",
    "SELECT id, at FROM sales WHERE shop = 'north' AND at >= '1960-01-01' ORDER BY at",
    "SELECT wide FROM sales WHERE wide = 12345678901234567890.12",
    "SELECT id FROM sales WHERE ratio >= 2.675 ORDER BY ratio DESC, id",
    "SELECT id FROM sales ORDER BY wide, id",
    "SELECT count(*) AS n FROM sales",
]


@pytest.mark.server
def test_every_store_gives_the_same_answers(stores: dict[str, Store], engine: Engine) -> None:
    for sql in STATEMENTS:
        expected = ask(stores["sqlite"], engine, sql)
        for kind in KINDS[1:]:
            found = ask(stores[kind], engine, sql)
            assert str(found.schema) == str(expected.schema), (kind, sql)
            assert repr(found.to_pylist()) == repr(expected.to_pylist()), (kind, sql)


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_shown_as_json_has_them_whatever_the_store(stores: dict[str, Store], kind: str) -> None:
    with stores[kind].snapshot() as snapshot:
        served = snapshot.served("sales")
        assert served is not None
        parts = [list(map(list, zip(*part, strict=True))) for part in snapshot.plain(served, Selection())]
    shown = sorted((row for part in parts for row in part), key=lambda row: row[SALES.schema.names.index("id")])
    expected = list(map(list, zip(*map(plain, SALES.sort_by("id").columns), strict=True)))
    assert json.dumps(shown) == json.dumps(expected)


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_all_values_come_back_as_they_were(stores: dict[str, Store], engine: Engine, kind: str) -> None:
    for sql in ("SELECT * FROM sales ORDER BY id", "SELECT *, 1 AS more FROM sales ORDER BY id + 0"):
        found = ask(stores[kind], engine, sql).select(SALES.schema.names)
        assert str(found.schema.remove_metadata()) == str(SALES.schema.remove_metadata()).replace(" not null", "") or (
            found.schema.types == SALES.schema.types
        )
        assert repr(found.to_pylist()) == repr(SALES.to_pylist()), (kind, sql)


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_is_exact_and_an_extreme_has_the_declared_type(
    stores: dict[str, Store], engine: Engine, kind: str
) -> None:
    found = ask(stores[kind], engine, "SELECT sum(wide) AS total, max(wide) AS most, avg(price) AS mean FROM sales")
    assert found.schema.types == [pa.decimal128(32, 2), pa.decimal128(22, 2), pa.decimal128(16, 7)]
    assert [str(value) for value in found.to_pylist()[0].values()] == [
        "112345678901234567893.50",
        "99999999999999999999.99",
        "20000002.9830000",
    ]


@pytest.mark.server
@pytest.mark.parametrize("kind", KINDS)
def test_what_can_only_be_shown_is_not_computed_with(stores: dict[str, Store], engine: Engine, kind: str) -> None:
    for sql in (
        "SELECT max(age) FROM sales",
        "SELECT id FROM sales ORDER BY any",
        "SELECT count(DISTINCT any) FROM sales",
    ):
        with pytest.raises(StatementRefused):
            ask(stores[kind], engine, sql)


@pytest.mark.server
def test_a_statement_sees_the_promoted_version(stores: dict[str, Store], engine: Engine) -> None:
    for kind in KINDS:
        store, second = stores[kind], replace(target("limits", LIMITS, ("shop",)), version=2)
        fewer = LIMITS.slice(0, 1)
        gone = fewer.slice(0, 0).select(["shop"])
        position = Position(0, (("events", 7),), datetime(2026, 1, 1, tzinfo=UTC))
        store.apply(second, store.open(second, "plan"), Batch(fewer, gone, position))
        try:
            store.promote("limits", 2)
            assert ask(store, engine, "SELECT count(*) AS n FROM limits").to_pylist() == [{"n": 1}], kind
        finally:
            store.promote("limits", 1)
