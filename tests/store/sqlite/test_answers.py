"""Queries: what they may do, and how their columns are typed."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import StatementRefused
from headwater.model import Column, Emit
from headwater.store import Batch, Target
from headwater.store.sqlite import SqliteStore
from headwater.store.sqlite.answers import answer
from headwater.testing.conformance.targets import position

WIDE = pa.decimal128(38, 20)
RATIOS = Target("ratios", 1, (Column("id", pa.int64()), Column("ratio", WIDE)), ("id",), Emit.CHANGES)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "views.db")


def keep(store: SqliteStore, *ratios: str) -> None:
    values = {"id": list(range(len(ratios))), "ratio": list(map(Decimal, ratios))}
    rows = pa.Table.from_pydict(values, schema=RATIOS.schema)
    store.apply(RATIOS, store.open(RATIOS, "plan"), Batch(rows, rows.slice(0, 0).select(["id"]), position(0)))
    store.promote("ratios", 1)


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA user_version = 3",
        "PRAGMA journal_mode = DELETE",
        "SELECT * FROM pragma_wal_checkpoint",
        "ATTACH 'other.db' AS other",
        "ATTACH ':memory:' AS other",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
        "ANALYZE",
        "SAVEPOINT mine",
        "SELECT load_extension('evil')",
        "REPLACE INTO headwater_promoted VALUES ('ratios', 9)",
        "EXPLAIN DELETE FROM ratios__v1",
        "CREATE VIRTUAL TABLE mine USING fts5(text)",
        "ALTER TABLE ratios__v1 ADD COLUMN mine",
        "SELECT ?",
    ],
)
def test_nothing_but_reading(store: SqliteStore, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(store, "0.5")
    store.close()
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / "views.db").read_bytes()
    with pytest.raises(StatementRefused):
        store.query(sql)
    assert (tmp_path / "views.db").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} <= {"views.db", "views.db-wal", "views.db-shm", "views.db.sum"}


def test_all_that_reads_is_answered(store: SqliteStore) -> None:
    keep(store, "0.5", "0.25")
    recursive = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) AS s FROM n"
    assert store.query(recursive).to_pylist() == [{"s": 6}]
    assert store.query("SELECT key FROM headwater_versions").to_pylist() == [{"key": '["id"]'}]
    assert store.query("EXPLAIN QUERY PLAN SELECT * FROM ratios WHERE id = 1").num_rows == 1


def test_a_decimal_has_all_its_digits_and_is_sorted_as_a_number(store: SqliteStore) -> None:
    keep(store, "0.33333333333333333333", "0.5", "-0.66666666666666666667")
    found = store.query("SELECT ratio FROM ratios ORDER BY ratio")
    assert found.schema.field("ratio").type == WIDE
    assert list(map(str, found["ratio"].to_pylist())) == [
        "-0.66666666666666666667",
        "0.33333333333333333333",
        "0.50000000000000000000",
    ]


def test_a_number_that_could_be_either_of_two_decimals_stays_a_number(store: SqliteStore) -> None:
    keep(store, "0.33333333333333333333", "0.33333333333333333334", "0.5")
    assert store.query("SELECT ratio FROM ratios WHERE id < 2")["ratio"].to_pylist() == [1 / 3, 1 / 3]
    assert store.query("SELECT ratio FROM ratios WHERE id = 2")["ratio"].to_pylist() == [Decimal("0.5")]
    exact = store.query("SELECT ratio FROM ratios__v1 ORDER BY id")["ratio"].to_pylist()
    assert str(exact[1]) == "0.33333333333333333334"


def test_a_computed_column_is_typed_by_its_values_even_under_a_declared_name(store: SqliteStore) -> None:
    keep(store, "0.5", "0.25")
    found = store.query("SELECT 'row ' || id AS id, ratio / 3 AS ratio, NULL AS empty, x'00' AS data FROM ratios")
    assert found.schema.types == [pa.string(), pa.float64(), pa.null(), pa.binary()]
    assert found["ratio"].to_pylist() == [0.5 / 3, 0.25 / 3]


def test_values_of_several_kinds_in_one_column_are_text(store: SqliteStore) -> None:
    keep(store, "0.5", "0.25")
    found = store.query("SELECT CASE id WHEN 0 THEN 1.5 ELSE 'many' END AS mixed, id + 0.5 * id AS number FROM ratios")
    assert found["mixed"].to_pylist() == ["1.5", "many"]
    assert found["number"].to_pylist() == [0.0, 1.5]


def test_an_empty_answer_has_its_columns(store: SqliteStore) -> None:
    keep(store, "0.5")
    found = store.query("SELECT id, ratio FROM ratios WHERE id > 5")
    assert found == RATIOS.schema.empty_table()


def test_an_answer_has_no_values_and_not_as_many_bytes_as_would_fill_the_memory(store: SqliteStore) -> None:
    keep(store, "0.5", "0.25")
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT zeroblob(1000000) FROM n"
    )
    for sql in ("SELECT zeroblob(1000000000) AS x", "SELECT instr(zeroblob(50000000), x'01')", many):
        with pytest.raises(StatementRefused):
            store.query(sql)
    assert store.query("SELECT length(zeroblob(1000)) AS n").to_pylist() == [{"n": 1000}]


def test_a_statement_that_never_ends_is_ended(store: SqliteStore) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    keep(store, "0.5")
    with store._database.reading() as connection:
        with pytest.raises(StatementRefused) as refused:
            answer(connection, endless, None, timedelta(milliseconds=100))
        assert refused.value.detail == "It took longer than 0.1 s."
        assert answer(connection, "SELECT id FROM ratios", None).num_rows == 1
