"""An opened project: declarations from files, appends with dead letters, reading back, other tools on the same log."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import StrictLoadRefused, UnknownTopic, UnsortedLoad
from headwater.project import Progress, Project
from tests.patience import PATIENCE

STREAMS = """
CREATE STREAM orders (
  id STRING NOT NULL, amount DECIMAL(12,2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'id', unique = 'id', max_ahead = '1 minute');
"""
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def order(name: str, second: int, amount: object = "1.50") -> dict[str, object]:
    return {"id": name, "amount": amount, "at": (START + timedelta(seconds=second)).isoformat()}


def make(folder: Path, **files: str) -> Path:
    (folder / "headwater.toml").write_text('name = "shop"')
    for name, text in ({"streams.sql": STREAMS} | files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return hw.open(make(tmp_path), now=lambda: START)


def test_rows_come_back_as_they_were_declared(project: Project) -> None:
    receipt = project.append("orders", [order("a", 10), order("b", 20, 3)], source="till-1")
    assert (receipt.commit, receipt.rows, receipt.dead) == (1, 2, 0)
    assert receipt.watermark == START + timedelta(seconds=15)
    rows = project.read("orders").to_pylist()
    assert [(row["id"], row["amount"], row["_id"], row["_source"]) for row in rows] == [
        ("a", Decimal("1.50"), "a", "till-1"),
        ("b", Decimal("3.00"), "b", "till-1"),
    ]
    assert rows[0]["at"] == START + timedelta(seconds=10)


@dataclass
class Order:
    id: str
    amount: Decimal
    at: datetime


@pytest.mark.parametrize(
    "rows",
    [
        order("a", 1),
        [order("a", 1)],
        iter([order("a", 1)]),
        [Order("a", Decimal("1.50"), START + timedelta(seconds=1))],
        pa.table({"id": ["a"], "amount": ["1.50"], "at": [START + timedelta(seconds=1)]}),
        pd.DataFrame({"id": ["a"], "amount": ["1.50"], "at": [pd.Timestamp(START) + pd.Timedelta(seconds=1)]}),
        pl.DataFrame({"id": ["a"], "amount": ["1.50"], "at": [START + timedelta(seconds=1)]}),
        '{"id": "a", "amount": 1.50, "at": "2026-01-01T12:00:01Z"}\n',
    ],
    ids=["a dict", "dicts", "an iterator", "dataclasses", "Arrow", "pandas", "Polars", "JSON lines"],
)
def test_every_kind_of_rows_gives_the_same_log(project: Project, rows: object) -> None:
    project.append("orders", rows)
    assert project.read("orders", columns=["id", "amount", "at"]).to_pylist() == [
        {"id": "a", "amount": Decimal("1.50"), "at": START + timedelta(seconds=1)}
    ]


def test_what_cannot_be_read_is_a_dead_letter_and_the_rest_goes_on(project: Project) -> None:
    bad = [order("x", 1, "lots"), {"id": "y", "amount": 1}, order("z", 3600), {"amount": 1, "at": "2026-01-01"}]
    receipt = project.append("orders", [order("a", 1), *bad, order("b", 2)], source="web")
    assert (receipt.rows, receipt.dead) == (2, 4)
    assert project.read("orders")["id"].to_pylist() == ["a", "b"]
    letters = project.dead("orders").to_pylist()
    assert [(letter["error"], letter["position"]) for letter in letters] == [
        ("wrong-type", "rows[1]"),
        ("missing-value", "rows[2]"),
        ("time-out-of-range", "rows[3]"),
        ("missing-value", "rows[4]"),
    ]
    assert (letters[0]["source"], letters[0]["_arrived_at"]) == ("web", START)
    assert b'"lots"' in letters[0]["bytes"]


def test_a_strict_append_takes_all_or_nothing(project: Project) -> None:
    with pytest.raises(StrictLoadRefused, match="1 events") as refused:
        project.append("orders", [order("a", 1), order("x", 1, "lots")], strict=True)
    assert "rows[1]" in str(refused.value)
    assert (project.read("orders").num_rows, project.dead("orders").num_rows) == (0, 0)


def test_a_retry_under_the_same_sequence_doubles_neither_rows_nor_dead_letters(
    project: Project, tmp_path: Path
) -> None:
    rows = [order("a", 1), order("x", 1, "lots")]
    first = project.append("orders", rows, sequence=("till-1", 1))
    again = hw.open(tmp_path, now=lambda: START).append("orders", rows, sequence=("till-1", 1))
    assert (first.commit, again.commit, again.repeated) == (1, 1, True)
    assert (project.read("orders").num_rows, project.dead("orders").num_rows) == (1, 1)


def test_an_append_of_dead_letters_alone_still_records_its_sequence(project: Project) -> None:
    receipt = project.append("orders", [order("x", 1, "lots")], sequence=("till-1", 1))
    assert (receipt.rows, receipt.dead, receipt.commit) == (0, 1, 1)
    assert project.append("orders", [order("x", 1, "lots")], sequence=("till-1", 1)).repeated
    assert project.dead("orders").num_rows == 1


def test_an_unknown_topic_is_refused_by_name(project: Project) -> None:
    with pytest.raises(UnknownTopic, match='no stream or table "odrers"') as refused:
        project.append("odrers", [])
    assert "It declares: orders." in str(refused.value)


def lines(*orders: dict[str, object]) -> bytes:
    return "".join(str(found).replace("'", '"') + "\n" for found in orders).encode()


def test_a_file_is_appended_in_batches_with_progress(project: Project, tmp_path: Path) -> None:
    (tmp_path / "orders.jsonl").write_bytes(lines(*[order(str(n), n % 50) for n in range(250)]) + b"not json\n")
    seen: list[Progress] = []
    receipt = project.append_file("orders", tmp_path / "orders.jsonl", batch=100, unsorted=True, progress=seen.append)
    assert (receipt.rows, receipt.dead, receipt.commit) == (250, 1, 3)
    assert [done.rows for done in seen] == [100, 200, 250]
    assert project.dead("orders")["position"].to_pylist() == ["orders.jsonl:251"]


def test_a_stream_can_be_read_strictly(project: Project) -> None:
    good, bad = lines(order("a", 1), order("b", 2)), lines(order("c", 3)) + b"{}\n"
    assert project.append_file("orders", io.BytesIO(good), strict=True).rows == 2
    with pytest.raises(StrictLoadRefused):
        project.append_file("orders", io.BytesIO(bad), strict=True)
    assert project.read("orders").num_rows == 2


def test_an_unsorted_load_is_told_so_before_it_is_committed(project: Project) -> None:
    unsorted = lines(*[order(str(n), -n) for n in range(500)])
    with pytest.raises(UnsortedLoad, match="would be late") as refused:
        project.append_file("orders", io.BytesIO(unsorted))
    assert "--history" in str(refused.value)
    assert project.read("orders").num_rows == 0
    assert project.append_file("orders", io.BytesIO(unsorted), history=True).behind == 0
    stamps = project.read("orders")["_watermark"].to_pylist()
    assert set(stamps) == {datetime(1970, 1, 1, tzinfo=UTC)}, "stamped as a whole"
    again = project.append_file("orders", io.BytesIO(unsorted), unsorted=True)
    assert (again.rows, again.behind > 400) == (500, True)


def test_a_large_history_load_is_one_commit(project: Project) -> None:
    events = io.BytesIO(lines(*[order(str(n), -n) for n in range(500)]))
    receipt = project.append_file("orders", events, batch=100, history=True)
    assert (receipt.rows, receipt.commit) == (500, 1)
    assert [commit.rows for commit in project.log.commits("orders")] == [0, 500]


def test_reading_from_a_commit_an_instant_or_a_time_ago(tmp_path: Path) -> None:
    moment = [START]
    project = hw.open(make(tmp_path), now=lambda: moment[0])
    for number in range(4):
        project.append("orders", [order(str(number), number)])
        moment[0] += timedelta(minutes=10)

    def ids(**bounds: object) -> list[str]:
        return project.read("orders", **bounds)["id"].to_pylist()  # type: ignore[arg-type,no-any-return]

    assert ids(since=3) == ["2", "3"]
    assert ids(since=START + timedelta(minutes=10)) == ["1", "2", "3"]
    assert ids(since=timedelta(minutes=15)) == ["3"]
    assert ids(until=2) == ["0", "1"]
    assert ids(until=START + timedelta(minutes=10)) == ["0"]
    assert [batch.commit for batch in project.log.scan("orders", since=2)] == [4]


def test_following_sees_what_another_thread_appends(project: Project) -> None:
    stop, seen = threading.Event(), []
    project.append("orders", [order("a", 1)])

    def watch() -> None:
        for batch in project.log.follow("orders", stop=stop):
            seen.extend(batch.rows["id"].to_pylist())
            if len(seen) == 3:
                stop.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    project.append("orders", [order("b", 2)])
    project.append("orders", [order("c", 3)])
    watcher.join(PATIENCE)
    assert seen == ["a", "b", "c"]


def test_a_named_reader_keeps_its_position_in_the_project(project: Project, tmp_path: Path) -> None:
    project.append("orders", [order("a", 1)])
    assert [batch.rows.num_rows for batch in project.log.reader("orders", "billing")] == [1]
    project.append("orders", [order("b", 2)])
    reopened = hw.open(tmp_path, now=lambda: START)
    assert [batch.rows["id"].to_pylist() for batch in reopened.log.reader("orders", "billing")] == [["b"]]


def test_a_tick_moves_the_watermark(project: Project) -> None:
    assert project.log.tick("orders", START + timedelta(seconds=30)).watermark == START + timedelta(seconds=30)
    assert project.log.watermark("orders") == START + timedelta(seconds=30)


def test_other_tools_read_the_log_as_the_delta_table_it_is(project: Project, tmp_path: Path) -> None:
    project.append("orders", [order("a", 10), order("b", 20, "2.25")])
    project.append("orders", [order("c", 30)])
    project.log.tick("orders", START + timedelta(seconds=40))
    path = str(tmp_path / "data" / "log" / "orders")
    expected = [("a", Decimal("1.50"), 1, 0), ("b", Decimal("2.25"), 1, 1), ("c", Decimal("1.50"), 2, 0)]
    names = ["id", "amount", "_commit", "_row"]
    polars = pl.read_delta(path).select(names).sort("_commit", "_row")
    assert polars.rows() == expected
    from deltalake import DeltaTable

    pandas = DeltaTable(path).to_pandas().sort_values(["_commit", "_row"])
    assert list(pandas[names].itertuples(index=False, name=None)) == expected
    table = DeltaTable(path).to_pyarrow_dataset()  # noqa: F841  # DuckDB finds it by its name
    query = "SELECT id, amount, _commit, _row FROM table ORDER BY _commit, _row".replace("table", '"table"')
    assert duckdb.sql(query).fetchall() == expected


def test_declarations_come_from_sql_and_python_in_any_layout(tmp_path: Path) -> None:
    python = (
        "import headwater as hw\n"
        "clicks = hw.stream('clicks', columns={'page': 'STRING', 'at': 'TIMESTAMP'}, time='at', watermark='1 second')\n"
    )
    view = "CREATE MATERIALIZED VIEW big AS SELECT id, at FROM orders WHERE amount > 100;"
    project = hw.open(
        make(tmp_path, **{"deep/er/clicks.py": python, "views/big.sql": view, ".hidden/x.sql": "nonsense"})
    )
    assert [found.name for found in project.declared.declarations] == ["clicks", "orders", "big"]
    assert project.plan().view("big").columns[0].name == "id"
    assert project.append("clicks", {"page": "/", "at": START}).rows == 1


def test_every_finding_of_every_file_is_reported_at_once(tmp_path: Path) -> None:
    files = {
        "a.sql": "CREATE STREAM (id STRING);",
        "b.sql": "CREATE MATERIALIZED VIEW v AS SELECT idd FROM orders;",
        "c.sql": "CREATE MATERIALIZED VIEW w AS SELECT id, now() AS n FROM orders;",
    }
    project = hw.open(make(tmp_path, **files))
    findings = [(found.origin.file, found.code()) for found in project.check().findings if found.origin]
    assert findings == [("a.sql", "syntax-refused"), ("b.sql", "unknown-column"), ("c.sql", "impure-function")]
    with pytest.raises(hw.CheckFailed):
        project.plan()
    assert project.append("orders", [order("a", 1)]).rows == 1, "a view's error doesn't stop the log"


def test_a_delete_needs_only_the_key_of_a_table(tmp_path: Path) -> None:
    table = "CREATE TABLE rates (code STRING, rate DECIMAL(8,4) NOT NULL, PRIMARY KEY (code));"
    project = hw.open(make(tmp_path, **{"rates.sql": table}), now=lambda: START)
    rows = [{"code": "EUR", "rate": "1.0"}, {"code": "EUR", "_op": "delete"}, {"code": "USD"}, {"_op": "delete"}]
    assert (project.append("rates", rows).rows, project.dead("rates").num_rows) == (2, 2)
    assert project.read("rates", columns=["code", "rate", "_op"]).to_pylist() == [
        {"code": "EUR", "rate": Decimal("1.0000"), "_op": "upsert"},
        {"code": "EUR", "rate": None, "_op": "delete"},
    ]


def test_a_name_never_leads_out_of_the_data_folder(tmp_path: Path) -> None:
    odd = "CREATE STREAM `../../odd name` (id STRING, at TIMESTAMP, WATERMARK FOR at AS at);"
    (tmp_path / "project").mkdir()
    project = hw.open(make(tmp_path / "project", **{"odd.sql": odd}), now=lambda: START)
    assert project.append("../../odd name", {"id": "a", "at": START}).commit == 1
    assert [found.name for found in (tmp_path / "project" / "data" / "log").iterdir()] == ["%2E.%2F..%2Fodd name"]
    assert [found.name for found in tmp_path.iterdir()] == ["project"]
