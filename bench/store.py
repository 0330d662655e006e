"""The SQLite store under load: batches of 100,000 upserts, beside a plain upsert of the same rows with `executemany`.

The peer has what anyone would write first: a table with a primary key, WAL, the rows of the batch in the order in which
they come, one transaction, synced. It keeps no position, no ledger and no changelog, and takes Python values that are
ready for SQLite; ours takes Arrow. Run it with `.venv/bin/python bench/store.py`; it prints Markdown.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from headwater.model import INSTANT, Column, Emit
from headwater.store import Batch, Position, Target
from headwater.store.sqlite import SqliteStore

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
    key=("card_id", "window_start", "window_end"),
    emit=Emit.CHANGES,
)
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


def plain(path: Path, synchronous: str) -> Callable[[list[tuple[object, ...]]], None]:
    """An upsert as anyone would write it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute(
        "CREATE TABLE spend (card_id TEXT, window_start TEXT, window_end TEXT, spent REAL, n INT, "
        "PRIMARY KEY (card_id, window_start, window_end))"
    )

    def upsert(rows: list[tuple[object, ...]]) -> None:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO spend VALUES (?, ?, ?, ?, ?) ON CONFLICT (card_id, window_start, window_end) "
            "DO UPDATE SET spent = excluded.spent, n = excluded.n",
            rows,
        )
        connection.execute("COMMIT")

    return upsert


def ready_rows(batch: Batch) -> list[tuple[object, ...]]:
    columns = [column.to_pylist() for column in batch.upserts.columns]
    texts = [[str(value) for value in column] for column in columns[1:3]]
    return list(zip(columns[0], *texts, map(float, columns[3]), columns[4], strict=True))


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    began, worked = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - began, time.process_time() - worked


def main() -> None:
    batches = [batch_of(number) for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10)]
    took: dict[str, list[tuple[float, float]]] = {"ours": [], "plain": [], "plain, NORMAL": []}
    with tempfile.TemporaryDirectory() as home:
        store = SqliteStore(Path(home) / "ours.db")
        epoch = store.open(TARGET, "plan")
        peers = {name: plain(Path(home) / f"{name}.db", name) for name in ("FULL", "NORMAL")}
        for batch in batches:
            rows = ready_rows(batch)
            took["ours"].append(timed(lambda batch=batch: store.apply(TARGET, epoch, batch)))
            took["plain"].append(timed(lambda rows=rows: peers["FULL"](rows)))
            took["plain, NORMAL"].append(timed(lambda rows=rows: peers["NORMAL"](rows)))
        read, _ = timed(lambda: store.read(TARGET.view, 1))
        held = store.query("SELECT count(*) AS held FROM spend_per_minute__v1")["held"][0].as_py()
        store.close()
    print("| 100,000 rows a batch | upserts/s | of processor time | ours is |\n|---|---|---|---|")
    ours = statistics.median(clock for clock, _ in took["ours"])
    for name, times in took.items():
        clock, worked = statistics.median(c for c, _ in times), statistics.median(w for _, w in times)
        print(f"| {name} | {ROWS / clock:,.0f} | {ROWS / worked:,.0f} | {clock / ours:.2f}× |")
    print(f"\nRead back {held:,} rows: {held / read:,.0f} rows/s.")


if __name__ == "__main__":
    main()
