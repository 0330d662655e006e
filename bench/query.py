"""Queries of a view of a million rows in SQLite: by key, sums, groups; against SQLite itself and DuckDB on Arrow.

    python bench/query.py [ROWS]

Prints milliseconds, the best of five. `sqlite3` is what SQLite's own SQL takes, which adds decimals as doubles;
`arrow` what DuckDB takes over rows that are in memory already; `functions` an exact sum by a function in Python.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import INSTANT, Column, Emit
from headwater.query import Engine, Readable, answer, parse
from headwater.store import Batch, Position, Target
from headwater.store.sqlite import SqliteStore

SALES = Target(
    "sales",
    1,
    (
        Column("product", pa.string(), False),
        Column("window_end", INSTANT, False),
        Column("orders", pa.int64()),
        Column("revenue", pa.decimal128(22, 2)),
    ),
    ("product", "window_end"),
    Emit.CHANGES,
)
BY_KEY = "SELECT * FROM sales WHERE product = 'product-7' AND window_end = '2026-01-01 10:00:00'"
QUERIES = {
    "by key": BY_KEY,
    "by a part of the key": "SELECT sum(revenue) FROM sales WHERE product = 'product-7'",
    "sum": "SELECT sum(revenue) FROM sales",
    "count": "SELECT count(*) FROM sales",
    "group": "SELECT product, sum(revenue) FROM sales GROUP BY product",
    "first rows": "SELECT * FROM sales LIMIT 20",
    "newest rows": "SELECT * FROM sales ORDER BY window_end DESC LIMIT 20",
}
MINUTE = 60_000_000


class ExactSum:
    """A sum of decimals as SQLite can be taught it."""

    def __init__(self) -> None:
        self.total = Decimal(0)

    def step(self, value: Any) -> None:
        """One more."""
        self.total += Decimal(repr(value) if isinstance(value, float) else value)

    def finalize(self) -> str:
        """The sum."""
        return str(self.total)


def filled(path: Path, count: int) -> SqliteStore:
    """A store with so many rows."""
    numbers, chance = np.arange(count), np.random.default_rng(1)
    cents = pa.array(chance.integers(100, 100_000, count)).cast(pa.decimal128(22, 0))
    first = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
    columns = [
        pa.array([f"product-{number % 1000}" for number in numbers]),
        pa.array(first + numbers // 1000 * MINUTE).cast(INSTANT),
        pa.array(chance.integers(1, 100, count)),
        pc.multiply(cents, pa.scalar(Decimal("0.01"))).cast(pa.decimal128(22, 2)),
    ]
    rows = pa.Table.from_arrays(columns, schema=SALES.schema)
    store = SqliteStore(path)
    position = Position(0, (("orders", 0),), datetime(2026, 1, 1, tzinfo=UTC))
    store.apply(SALES, store.open(SALES, "plan"), Batch(rows, rows.slice(0, 0).select(list(SALES.key)), position))
    store.promote("sales", 1)
    return store


def best(work: Callable[[], Any], times: int = 5) -> float:
    """The shortest of some runs, in milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def ask(store: SqliteStore, engine: Engine, sql: str) -> pa.Table:
    """A query as a project answers it."""
    with store.snapshot(engine.limits.time) as snapshot:
        served = snapshot.served("sales")
        assert served is not None
        view = Readable(
            SALES.schema, lambda part: snapshot.can(served, part), lambda wanted: snapshot.rows(served, wanted)
        )
        return answer(parse(sql), {"sales": view}, engine, datetime.now(UTC))


def main(count: int) -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "views.db"
        with closing(filled(path, count)) as store, closing(Engine()) as engine, closing(sqlite3.connect(path)) as raw:
            rows = store.read("sales")
            with closing(duckdb.connect()) as memory:
                memory.execute("SET TimeZone = 'UTC'")
                memory.register("sales", rows)
                print(f"{count:,} rows{'query':>22} {'sqlite3':>10} {'arrow':>10}   ratio to sqlite3")
                for name, sql in QUERIES.items():
                    ours = best(lambda sql=sql: ask(store, engine, sql))
                    plain = best(lambda sql=sql: raw.execute(sql).fetchall())
                    arrow = best(lambda sql=sql: memory.execute(sql).fetchall())
                    print(f"{name:>24} {ours:10.2f} {plain:10.2f} {arrow:10.2f} {ours / plain:8.1f}")
            raw.create_aggregate("exact_sum", 1, ExactSum)  # type: ignore[arg-type]
            taught = best(lambda: raw.execute("SELECT exact_sum(revenue) FROM sales__v1").fetchall(), 2)
            print(f"{'sum by functions':>24} {taught:10.2f}")
            print(f"{'all rows as Arrow':>24} {best(lambda: store.read('sales'), 2):10.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
