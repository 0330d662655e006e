"""What a query may take, and that it can touch nothing but the views that it reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import StatementRefused
from headwater.model import INSTANT, Column, Emit
from headwater.query import Engine, Limits, Readable, answer, parse
from headwater.store import Batch, Position, Selection, Target
from headwater.store.sqlite import SqliteStore
from tests.query.asking import NOW, ask

ROWS = pa.table({"id": pa.array(range(3000), pa.int64()), "text": ["x" * 100] * 3000})


@pytest.fixture
def engine() -> Iterator[Engine]:
    limits = Limits(timedelta(milliseconds=500), answer_bytes=100_000, memory_bytes=64 * 2**20)
    with closing(Engine(limits)) as opened:
        yield opened


def refusal(engine: Engine, sql: str) -> str:
    with pytest.raises(StatementRefused) as refused:
        ask(engine, sql, rows=ROWS)
    return str(refused.value.detail)


def test_a_query_that_takes_too_long_is_ended(engine: Engine) -> None:
    began = time.monotonic()
    endless = "SELECT count(*) FROM rows a, rows b, rows c WHERE a.id + b.id * c.id % 7 = 3"
    assert refusal(engine, endless) == "It took longer than 0.5 s."
    assert time.monotonic() - began < 5
    assert ask(engine, "SELECT count(*) AS n FROM rows", rows=ROWS).to_pylist() == [{"n": 3000}], (
        "the next one is answered"
    )


def test_an_answer_has_so_many_bytes_at_most(engine: Engine) -> None:
    assert "more than" in refusal(engine, "SELECT text FROM rows")
    assert "more than" in refusal(engine, "SELECT text || 'y' AS t FROM rows")
    assert ask(engine, "SELECT text || 'y' AS t FROM rows", 10, rows=ROWS).num_rows == 10
    assert ask(engine, "SELECT text FROM rows", 10, rows=ROWS).num_rows == 10
    assert ask(engine, "SELECT text FROM rows", 0, rows=ROWS).num_rows == 0


def test_queries_share_a_memory_that_they_cannot_leave(engine: Engine) -> None:
    slow = Engine(Limits(timedelta(seconds=20), memory_bytes=16 * 2**20))
    with closing(slow):
        grouped = (
            "SELECT a.id * 3000 + b.id AS k, max(a.text || b.id) AS t FROM rows a, rows b GROUP BY 1 ORDER BY 2 LIMIT 1"
        )
        assert "memory" in refusal(slow, grouped)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 1000000000)",
        "SELECT lpad('x', 1000000000)",
        "SELECT replace(repeat('x', 200000), 'x', repeat('y', 200000))",
        "SELECT concat(repeat('x', 200000), repeat('x', 200000))",
    ],
)
def test_no_text_becomes_too_long(engine: Engine, sql: str) -> None:
    assert "text" in refusal(engine, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM `/etc/passwd`",
        "SELECT read_text('/etc/passwd')",
        "SELECT * FROM duckdb_settings()",
        "SELECT getvariable('x'), current_setting('memory_limit')",
        "SELECT hw_refuse('x')",
        "SELECT error('x')",
        "COPY rows TO '/tmp/x.csv'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '9GB'",
        "PRAGMA database_list",
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO rows VALUES (1, 'x')",
        "DELETE FROM rows",
        "DROP TABLE rows",
        "EXPLAIN SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT java_method('java.lang.System', 'exit', 1)",
        "SELECT rand()",
        "SELECT * FROM rows TABLESAMPLE (10 ROWS)",
        "SELECT id FROM rows UNION ALL BY NAME SELECT id FROM rows",
        "SELECT /*+ BROADCAST(rows) */ id FROM rows SORT BY id",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
        "SELECT id FROM rows LIMIT 1 + 1",
        "SELECT collect_list(id) FROM rows",
        "SELECT approx_count_distinct(id) FROM rows",
        "",
    ],
)
def test_whatever_is_not_known_to_be_right_is_refused(engine: Engine, sql: str) -> None:
    with pytest.raises((StatementRefused, KeyError)) as refused:
        ask(engine, sql, rows=ROWS)
    if isinstance(refused.value, KeyError):  # it names no view: who asks a project is told so
        assert parse(sql).relations()
    else:
        assert refused.value.hint


SPEND = Target(
    "spend",
    1,
    (Column("card", pa.string(), False), Column("at", INSTANT, False), Column("spent", pa.decimal128(12, 2))),
    ("card", "at"),
    Emit.CHANGES,
)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT * FROM spend WHERE card = 'c7' AND at = '2026-01-01 00:00:07'", 1),
        ("SELECT sum(spent) AS s FROM spend WHERE card IN ('c7', 'c8')", 2),
        ("SELECT max(spent) AS s FROM spend s WHERE s.at >= TIMESTAMP '2026-01-01 00:00:50'", 50),
        ("SELECT count(*) AS s FROM spend WHERE at > now() - INTERVAL 1 HOUR", 0),
        ("SELECT card FROM spend WHERE spent BETWEEN 10 AND 12.5 ORDER BY card", 3),
        ("SELECT card FROM spend ORDER BY at DESC LIMIT 3", 3),
        ("SELECT count(*) AS n FROM spend WHERE spent > 1.5", 98),
        ("SELECT count(*) AS n FROM spend WHERE card = 'c7' OR spent > 5", 100),
        ("SELECT count(*) AS n FROM spend a LEFT JOIN spend b ON a.card = b.card WHERE b.card = 'c1'", 100),
    ],
)
def test_the_store_is_asked_for_no_more_rows_than_are_needed(tmp_path: Path, sql: str, read: int) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    columns = {
        "card": [f"c{n}" for n in range(100)],
        "at": [start + timedelta(seconds=n) for n in range(100)],
        "spent": [Decimal(n) for n in range(100)],
    }
    rows = pa.table(columns, schema=SPEND.schema)
    store, counted = SqliteStore(tmp_path / "views.db"), []
    with closing(store), closing(Engine()) as engine:
        batch = Batch(rows, rows.slice(0, 0).select(["card", "at"]), Position(0, (("payments", 0),), start))
        store.apply(SPEND, store.open(SPEND, "plan"), batch)
        store.promote("spend", 1)
        with store.snapshot() as snapshot:
            served = snapshot.served("spend")
            assert served is not None

            def chosen(selection: Selection) -> Iterator[pa.Table]:
                for part in snapshot.rows(served, selection):
                    counted.append(part.num_rows)
                    yield part

            view = Readable(SPEND.schema, lambda part: snapshot.can(served, part), chosen)
            found = answer(parse(sql), {"spend": view}, engine, NOW)
    assert sum(counted) == read
    assert found == ask(Engine(), sql, spend=rows).cast(found.schema), "and the answer is that of all rows"
