"""Stores under load: batches of 100,000 upserts, beside a plain upsert of the same rows with the client's fastest way.

Twice: with a key that starts with the window, so that a batch touches one part of the table, and with one that starts
with the card, so that a batch of a new window touches all of it. In SQLite also with rows that are settled: each is
written once, and is its own change.

The peer has what anyone would write first: a table with a primary key, the rows of the batch in the order in which they
come, one transaction, synced. In SQLite that is `executemany`, in PostgreSQL psycopg's COPY into a temporary table and
one INSERT … ON CONFLICT, in Redis a pipeline of HSETs of JSON into one hash (with `appendfsync always`), in Delta
`deltalake`'s merge. It keeps no position, no ledger and no changelog, and takes values that are ready for the client:
Python's, JSON, or for Delta Arrow; ours takes Arrow. Run it with `.venv/bin/python -m bench.store`; it prints Markdown.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import redis
from deltalake import DeltaTable, Schema

from headwater.log import open_storage
from headwater.model import INSTANT, Column, Emit
from headwater.store import Batch, Position, Store, Target
from headwater.store.delta import DeltaStore
from headwater.store.postgres import PostgresStore
from headwater.store.redis import RedisStore
from headwater.store.sqlite import SqliteStore
from tests.servers.postgres import start_postgres
from tests.servers.redis import start_redis
from tools import servers

ROWS = 100_000
CARDS = 200_000
START = datetime(2026, 1, 1, tzinfo=UTC)
TARGET = Target(
    view="spend_per_minute",
    version=1,
    columns=(
        Column("card_id", pa.string()),
        Column("window_start", INSTANT),
        Column("window_end", INSTANT),
        Column("spent", pa.decimal128(22, 2)),
        Column("n", pa.int64()),
    ),
    key=("window_start", "window_end", "card_id"),
    emit=Emit.CHANGES,
)
BY_CARD = replace(TARGET, view="spend_by_card", key=("card_id", "window_start", "window_end"))
SETTLED = replace(TARGET, view="settled_per_minute", emit=Emit.FINAL)
NO_DELETES = TARGET.schema.empty_table().select(list(TARGET.key))


def batch_of(number: int) -> Batch:
    """Half of the cards spend something in a minute that has two batches: a quarter of the rows are corrections."""
    chosen = np.random.default_rng(number)
    cards = chosen.permutation(CARDS)[:ROWS]
    start = START + timedelta(minutes=number // 2)
    columns = [
        pa.array([f"card-{card:07d}" for card in cards.tolist()]),
        pa.array([start] * ROWS, INSTANT),
        pa.array([start + timedelta(minutes=1)] * ROWS, INSTANT),
        pa.array(chosen.integers(1, 1_000_000, ROWS)).cast(pa.decimal128(22, 2)),
        pa.array(chosen.integers(1, 100, ROWS)),
    ]
    rows = pa.Table.from_arrays(columns, schema=TARGET.schema)
    return Batch(rows, NO_DELETES, Position(number, (("transactions", number),), start), {"rows_in": ROWS})


Ready = Callable[[Batch], Any]
"""Makes of a batch what the client takes, before the clock starts."""
Upsert = Callable[[Any], None]


def plain_sqlite(path: Path, key: tuple[str, ...]) -> Upsert:
    """An upsert as anyone would write it."""
    connection, columns = sqlite3.connect(path, isolation_level=None), ", ".join(key)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "CREATE TABLE spend (card_id TEXT, window_start TEXT, window_end TEXT, spent REAL, n INT, "
        f"PRIMARY KEY ({columns}))"
    )

    def upsert(rows: list[tuple[object, ...]]) -> None:
        connection.execute("BEGIN")
        connection.executemany(
            f"INSERT INTO spend VALUES (?, ?, ?, ?, ?) ON CONFLICT ({columns}) "
            "DO UPDATE SET spent = excluded.spent, n = excluded.n",
            rows,
        )
        connection.execute("COMMIT")

    return upsert


def plain_postgres(url: str, key: tuple[str, ...]) -> Upsert:
    """An upsert as anyone would write it, with COPY."""
    connection, name, columns = psycopg.connect(url, autocommit=True), f"plain_{key[0]}", ", ".join(key)
    kinds = "card_id text, window_start timestamptz, window_end timestamptz, spent numeric(22, 2), n bigint"
    connection.execute(f"CREATE TABLE {name} ({kinds}, PRIMARY KEY ({columns}))")
    connection.execute(f"CREATE TEMPORARY TABLE given ({kinds}) ON COMMIT DELETE ROWS")

    def upsert(rows: list[tuple[object, ...]]) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy("COPY given FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(
                f"INSERT INTO {name} SELECT * FROM given ON CONFLICT ({columns}) "
                "DO UPDATE SET spent = excluded.spent, n = excluded.n"
            )

    return upsert


def plain_redis(url: str, key: tuple[str, ...]) -> Upsert:
    """Rows as JSON in one hash, by their key, in as few round trips as are good."""
    client, name = redis.Redis.from_url(url), f"plain-{key[0]}"

    def upsert(rows: dict[str, str]) -> None:
        pairs = list(rows.items())
        with client.pipeline(transaction=True) as pipeline:
            for at in range(0, len(pairs), 2_000):
                pipeline.hset(name, mapping=dict(pairs[at : at + 2_000]))
            pipeline.execute()

    return upsert


def plain_delta(path: Path, key: tuple[str, ...]) -> Upsert:
    """A merge by key."""
    same = " AND ".join(f"old.{name} = new.{name}" for name in key)
    DeltaTable.create(path, schema=Schema.from_arrow(TARGET.schema))

    def upsert(rows: pa.Table) -> None:
        merge = DeltaTable(path).merge(rows, same, source_alias="new", target_alias="old")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    return upsert


def ready_json(batch: Batch) -> dict[str, str]:
    rows = [dict(zip(TARGET.schema.names, map(str, row), strict=True)) for row in ready_rows(batch)]
    return {f"{row['card_id']} {row['window_start']}": json.dumps(row) for row in rows}


def ready_rows(batch: Batch) -> list[tuple[object, ...]]:
    columns = [column.to_pylist() for column in batch.upserts.columns]
    texts = [[str(value) for value in column] for column in columns[1:3]]
    return list(zip(columns[0], *texts, map(float, columns[3]), columns[4], strict=True))


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    began, worked = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - began, time.process_time() - worked


def measure(
    name: str, store: Store, upsert: Upsert, target: Target, batches: list[Batch], ready: Ready = ready_rows
) -> None:
    """Print a line for a key; ours and the peer take turns, so that noise hits both."""
    epoch, ours, peer = store.open(target, "plan"), [], []
    for batch in batches:
        rows = ready(batch)
        ours.append(timed(lambda batch=batch: store.apply(target, epoch, batch)))
        peer.append(timed(lambda rows=rows: upsert(rows)))
    held = [0]
    read, _ = timed(lambda: held.append(store.read(target.view, 1).num_rows))
    store.close()
    clock, worked = (statistics.median(times) for times in zip(*ours, strict=True))
    plain_clock, _ = (statistics.median(times) for times in zip(*peer, strict=True))
    print(
        f"| {name} | {', '.join(target.key)} "
        f"| {ROWS / clock:,.0f} ({ROWS / worked:,.0f} a second of our processor time) "
        f"| {ROWS / plain_clock:,.0f} | {plain_clock / clock:.2f}× | {held[-1] / read:,.0f} |"
    )


def main() -> None:
    batches = [batch_of(number) for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10)]
    print("| store | key | upserts/s | plain upserts/s | ratio | rows/s read back |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as home:
        settled = [batch_of(2 * number) for number in range(len(batches))]
        for target, given in ((TARGET, batches), (BY_CARD, batches), (SETTLED, settled)):
            store = SqliteStore(Path(home) / f"{target.view}.db")
            upsert = plain_sqlite(Path(home) / f"plain-{target.view}.db", target.key)
            measure("SQLite, settled rows" if target is SETTLED else "SQLite", store, upsert, target, given)
        for target in (TARGET, BY_CARD):
            lake = DeltaStore("lake", lambda path: open_storage(f"{home}/lake/{path}"))
            upsert = plain_delta(Path(home) / f"plain-{target.view}", target.key)
            measure("Delta", lake, upsert, target, batches, lambda batch: batch.upserts)
    in_postgres(batches)
    in_redis(batches)


def in_redis(batches: list[Batch]) -> None:
    program = servers.find("redis")
    if program is None:
        print("Redis is not present: run `make servers`")
        return
    with start_redis(program, "--appendonly", "yes", "--appendfsync", "always") as server:
        for target in (TARGET, BY_CARD):
            upsert = plain_redis(server.url, target.key)
            measure("Redis", RedisStore(server.url), upsert, target, batches, ready_json)


def in_postgres(batches: list[Batch]) -> None:
    program = servers.find("postgres")
    if program is None:
        print("PostgreSQL is not present: run `make servers`")
        return
    with start_postgres(program, "fsync=on", "max_wal_size=8GB", "shared_buffers=512MB") as server:
        for target in (TARGET, BY_CARD):
            upsert = plain_postgres(server.url, target.key)
            measure("PostgreSQL", PostgresStore(server.url), upsert, target, batches)


if __name__ == "__main__":
    main()
