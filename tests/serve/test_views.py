"""Rows of views over HTTP, with the position that they are true for."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server
from headwater.serve.encode import to_json
from headwater.serve.reach import Way
from headwater.serve.server import TURN
from headwater.store import Batch, Position, Target
from tests.patience import PATIENCE, Rounds, eventually
from tests.serve.conftest import NOON, Bank, event, serve
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

EVERY_TYPE = """
CREATE STREAM given (id BIGINT NOT NULL, text STRING, small TINYINT, big BIGINT, ok BOOLEAN, ratio DOUBLE, half FLOAT,
  price DECIMAL(10, 2), tiny DECIMAL(12, 9), wide DECIMAL(30, 10), whole DECIMAL(9, 0), raw BINARY, day DATE,
  at TIMESTAMP NOT NULL, local TIMESTAMP_NTZ, tags ARRAY<STRING>, part STRUCT<a: DOUBLE, b: TIMESTAMP>,
  pairs MAP<STRING, DECIMAL(5, 1)>, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW kept WITH (key = 'id') AS SELECT * FROM given;
"""
EVERY_VALUE: list[dict[str, Any]] = [
    {"id": 1, "at": NOON},
    {
        "id": 2, "text": 'a "b"\n\\\x1f\x7f\u2028\U0001f6b0', "small": -128, "big": 2**63 - 1, "ok": True,
        "ratio": 1e16, "half": 0.1, "price": Decimal("-0.05"), "tiny": Decimal("0E-9"),
        "wide": Decimal("12345678901234567890.0000000001"), "whole": Decimal(7),
        "raw": b"\x00\xff", "day": date(1, 1, 1), "at": NOON.replace(microsecond=250_000),
        "local": datetime(9999, 12, 31, 23, 59, 59, 999_999), "tags": ["x", None],
        "part": {"a": 1e-7, "b": NOON}, "pairs": [("k", Decimal("1.5"))],
    },
    {"id": 3, "at": NOON.replace(microsecond=1), "ok": False, "ratio": math.nan, "half": -math.inf},
]  # fmt: skip
CARDS = [(f"c{number}", f"{number}0.50", number) for number in range(1, 6)]


@pytest.fixture
def filled(bank: Bank) -> Bank:
    """Five cards; c5 has spent the most."""
    bank.client.post("/streams/payments/events", json=event(1))
    bank.write(CARDS)
    return bank


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """The same, for those who only ask."""
    for bank in serve(tmp_path_factory.mktemp("standing") / "bank"):
        bank.client.post("/streams/payments/events", json=event(1))
        bank.write(CARDS)
        yield bank


SELECTIONS = {
    "card=c2": ["c2"],
    "CARD=c2": ["c2"],
    "card.in=c1,c3": ["c1", "c3"],
    "card.ne=c1&n.lt=4": ["c2", "c3"],
    "spent.gte=30.50&order=-spent": ["c5", "c4", "c3"],
    "spent=20.5": ["c2"],
    "window_end=2026-01-01T12:00:00Z&limit=2": ["c1", "c2"],
    "window_end=2026-01-01T13:00:00%2B01:00&limit=2&page=3": ["c5"],
    "window_end.gt=2026-01-01T12:00:00Z": [],
    "card.null=true": [],
    "card.null=false&order=n,-card&limit=1": ["c1"],
    "card=' OR 1=1 --": [],
}


@pytest.mark.parametrize("selection", SELECTIONS)
def test_rows_are_selected_ordered_and_paged(standing: Bank, selection: str) -> None:
    found = standing.client.get(f"/views/spend?{selection}").json()
    assert [row["card"] for row in found["rows"]] == SELECTIONS[selection]


def test_a_view_in_postgres_is_answered_alike(tmp_path: Path, postgres_server: PostgresServer) -> None:
    postgres_server.query("CREATE DATABASE served")
    for bank in serve(tmp_path / "bank", postgres_server.url.removesuffix("postgres") + "served"):
        bank.client.post("/streams/payments/events", json=event(1))
        bank.write(CARDS)
        for selection, cards in SELECTIONS.items():
            found = bank.client.get(f"/views/spend?{selection}").json()
            assert [row["card"] for row in found["rows"]] == cards, selection
        assert found["position"]["batch"] == 0
        asked = bank.client.post("/query", json={"sql": "SELECT count(*) AS n FROM spend"})
        assert asked.json()["rows"] == [{"n": 5}]


def test_the_answer_says_what_it_is_true_for_and_whether_there_is_more(filled: Bank) -> None:
    found = filled.client.get("/views/spend?limit=4").json()
    commits = {"payments": filled.project.log.head("payments")}
    assert found["position"] == {"batch": 0, "commits": commits, "watermark": "2026-01-01T12:00:00+00:00"}
    assert (found["view"], found["version"], found["page"], found["more"]) == ("spend", 1, 1, True)
    assert found["rows"][0] == {"card": "c1", "window_end": "2026-01-01T12:00:00+00:00", "spent": "10.50", "n": 1}
    assert not filled.client.get("/views/spend?limit=4&page=2").json()["more"]


def test_an_answer_is_not_sent_again_while_nothing_has_changed(filled: Bank) -> None:
    first = filled.client.get("/views/spend?card=c1")
    known = {"If-None-Match": first.headers["etag"]}
    again = filled.client.get("/views/spend?card=c1", headers=known)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    listed = {"If-None-Match": f'"other", W/{first.headers["etag"]}'}
    assert filled.client.get("/views/spend?card=c1", headers=listed).status_code == 304
    assert filled.client.get("/views/spend?card=c1", headers={"If-None-Match": '"other"'}).status_code == 200
    assert filled.client.get("/views/spend?colour=red", headers=known).status_code == 400
    filled.write([("c1", "77.00", 7)])
    changed = filled.client.get("/views/spend?card=c1", headers=known)
    assert (changed.status_code, changed.json()["rows"][0]["spent"]) == (200, "77.00")


def test_another_version_with_the_same_batches_is_another_answer(filled: Bank) -> None:
    known = {"If-None-Match": filled.client.get("/views/spend").headers["etag"]}
    filled.version, filled.batch = 2, -1
    filled.write(CARDS[:1])
    assert len(filled.client.get("/views/spend", headers=known).json()["rows"]) == 1
    store = filled.project.views.opened().ask.store("spend")
    store.drop("spend", 1)
    filled.version, filled.batch = 1, -1
    filled.write(CARDS[:2])
    assert filled.client.get("/views/spend", headers=known).json()["version"] == 1


def test_an_answer_of_a_store_that_tells_no_batches_apart_has_a_tag_too(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    for bank in serve(tmp_path / "bank", redis_server.url):
        bank.client.post("/streams/payments/events", json=event(1))
        bank.write(CARDS)
        known = {"If-None-Match": bank.client.get("/views/spend?card=c1").headers["etag"]}
        assert bank.client.get("/views/spend?card=c1", headers=known).status_code == 304
        bank.write([("c1", "77.00", 7)])
        assert bank.client.get("/views/spend?card=c1", headers=known).status_code == 200


def test_a_row_by_its_key_is_read_however_many_queries_are_under_way(tmp_path: Path) -> None:
    for bank in serve(tmp_path / "bank", queries=1):
        bank.client.post("/streams/payments/events", json=event(1))
        bank.write(CARDS)
        assert bank.server is not None
        queries = bank.server.service.queries
        queries.take()
        assert bank.client.get("/views/spend?card=c1").status_code == 429
        found = bank.client.get("/views/spend?card=c1&window_end=2026-01-01T12:00:00Z").json()
        assert [row["card"] for row in found["rows"]] == ["c1"]
        assert bank.client.get("/views/spend?card=c9&window_end=2026-01-01T12:00:00Z").json()["rows"] == []
        assert bank.client.get("/views/spend?card=c1&window_end=noon").status_code == 400
        queries.leave()
        assert bank.client.get("/views/spend?card=c1").status_code == 200


def test_who_computes_in_the_process_of_a_server_lets_it_have_its_turn(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    for _ in serve(tmp_path / "bank"):
        assert sys.getswitchinterval() == pytest.approx(TURN)
    assert sys.getswitchinterval() == pytest.approx(before)


def test_rows_come_as_arrow_too(filled: Bank) -> None:
    arrow = {"Accept": "application/vnd.apache.arrow.stream"}
    answered = filled.client.get("/views/spend?limit=4", headers=arrow)
    assert answered.headers["content-type"] == arrow["Accept"]
    rows = pa.ipc.open_stream(answered.content).read_all()
    assert rows.schema.field("spent").type == pa.decimal128(20, 2)
    assert rows["card"].to_pylist() == ["c1", "c2", "c3", "c4"]
    told, in_json = json.loads(rows.schema.metadata[b"headwater"]), filled.client.get("/views/spend?limit=4").json()
    assert told == {name: part for name, part in in_json.items() if name != "rows"}
    assert answered.headers["etag"] != filled.client.get("/views/spend?limit=4").headers["etag"]


def test_rows_of_every_type_are_spelled_as_they_were_in_python(tmp_path: Path) -> None:
    (folder := tmp_path / "types").mkdir()
    (folder / "headwater.toml").write_text('name = "types"\n')
    (folder / "types.sql").write_text(EVERY_TYPE)
    settings = ServeSettings(port=0, dashboard=False)
    with hw.open(folder) as project, open_server(project, settings) as server:
        planned = project.plan().view("kept")
        target = Target("kept", 1, planned.columns, ("id",), planned.emit)
        store = project.views.opened().ask.store("kept")
        rows = pa.Table.from_pylist(EVERY_VALUE, schema=target.schema)
        none = target.schema.empty_table().select(["id"])
        store.apply(target, store.open(target, planned.fingerprint), Batch(rows, none, Position(0, (), NOON)))
        store.promote("kept", 1)
        body = httpx.get(f"{server.url}/views/kept").content
        read = project.rows("kept").to_pylist()
    assert body.partition(b'"rows":')[2] == to_json(read) + b',"page":1,"more":false}'


REFUSED = {
    "/views/nope": (404, "unknown-view"),
    "/views/untouched": (404, "unknown-view"),
    "/views/spend?colour=red": (400, "argument-refused"),
    "/views/spend?spent=much": (400, "argument-refused"),
    "/views/spend?window_end=noon": (400, "argument-refused"),
    "/views/spend?n.about=1": (400, "argument-refused"),
    "/views/spend?order=colour": (400, "argument-refused"),
    "/views/spend?limit=0": (400, "argument-refused"),
    "/views/spend?limit=10001": (400, "argument-refused"),
    "/views/spend?page=0": (400, "argument-refused"),
    "/views/spend?card.null=perhaps": (400, "argument-refused"),
    "/views/spend?after=rubbish": (400, "argument-refused"),
    "/views/spend?after=WyJ4IiwxLCJ5Il0": (400, "argument-refused"),
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_cannot_be_answered_says_why(standing: Bank, path: str) -> None:
    found = standing.client.get(path)
    status, code = REFUSED[path]
    assert (found.status_code, found.json()["type"]) == (status, f"urn:headwater:error:{code}")
    assert found.json()["who"] == "caller"


def test_one_reads_ones_own_write(filled: Bank) -> None:
    token = filled.client.post("/streams/payments/events", json=event(2)).json()["token"]
    early = filled.client.get(f"/views/spend?after={token}&timeout=0.2")
    assert (early.status_code, early.json()["type"]) == (504, "urn:headwater:error:not-reached")
    threading.Timer(0.2, lambda: filled.write([("c9", "1.00", 1)])).start()
    found = filled.client.get(f"/views/spend?after={token}&timeout=30&card=c9")
    assert [row["card"] for row in found.json()["rows"]] == ["c9"]


def test_a_view_is_asked_as_it_was_known(bank: Bank, spark: Any) -> None:
    del spark  # it is begun
    project = bank.project
    project.append("payments", [event(1), event(2, "c2")])
    then = datetime.now(UTC).isoformat()
    time.sleep(0.01)
    project.append("payments", [event(3), event(4, at="2026-01-01T12:02:30Z")])
    bank.write([("c1", "19.00", 2)])

    def asked(**parameters: str) -> Any:
        return bank.client.get("/views/spend", params=parameters).json()

    assert [(row["card"], row["n"]) for row in asked(known_at=then)["rows"]] == [("c1", 1), ("c2", 1)]
    some = asked(known_at=then, card="c2", limit="1")
    assert ([row["n"] for row in some["rows"]], some["more"], some["known_at"]) == ([1], False, then)
    assert [row["n"] for row in asked(known_at=datetime.now(UTC).isoformat(), order="card,-n")["rows"]] == [2, 1, 1]
    assert bank.client.get("/views/spend?known_at=noon").status_code == 400


def test_those_who_wait_do_not_stand_in_the_way_of_others(filled: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = Rounds(monkeypatch, Way, "wait")
    token = filled.client.post("/streams/payments/events", json=event(2)).json()["token"]
    address = f"{filled.client.base_url}/views/spend?after={token}&timeout=30"
    with ThreadPoolExecutor(max_workers=60) as pool:  # more than the server has threads
        waiting = [pool.submit(httpx.get, address, timeout=PATIENCE) for _ in range(60)]
        eventually(lambda: waits.count, 60)
        assert filled.client.get("/views/spend?card=c1").json()["rows"]
        assert filled.client.post("/streams/payments/events", json=event(3)).status_code == 201
        assert not any(found.done() for found in waiting), "the others were answered before any of them"
        filled.write([("c9", "1.00", 1)])
        statuses = [found.result().status_code for found in waiting]
    assert set(statuses) <= {200, 429}, "as many as may read at a time are answered, and the others come back"
    assert 200 in statuses


def test_the_ledger_and_the_explanation_are_answered(filled: Bank) -> None:
    ledger = filled.client.get("/views/spend/ledger").json()
    assert (ledger["used"], ledger["remainder"]) == (5, 0)
    assert filled.client.get("/views/spend/explain").json()["execution"] == "settle"


def test_a_row_that_is_asked_for_is_named_by_its_columns(filled: Bank) -> None:
    found = filled.client.get("/views/spend/why?till=7")
    assert (found.status_code, found.json()["who"]) == (400, "caller")
    assert found.json()["title"] == 'view "spend" has no column "till"'
    assert filled.client.get("/views/nobody/why?card=c1").status_code == 404


def test_a_column_that_is_called_like_a_parameter_is_spelled_out(filled: Bank) -> None:
    """The view has none of that name, and says so: the parameter `events` was not taken for it."""
    found = filled.client.get("/views/spend/why?events=5&events.eq=7")
    assert (found.status_code, found.json()["title"]) == (400, 'view "spend" has no column "events"')
    refused = filled.client.get("/views/spend/why?card.null=false")
    assert (refused.status_code, refused.json()["title"]) == (400, '"card.null=false" names no row')


def test_queries_read_within_limits_and_cannot_write(filled: Bank) -> None:
    post = filled.client.post
    found = post("/query", json={"sql": "SELECT card, spent FROM spend ORDER BY card", "limit": 2}).json()
    assert (found["rows"][0], found["truncated"]) == ({"card": "c1", "spent": "10.50"}, True)
    assert [column["name"] for column in found["columns"]] == ["card", "spent"]
    for sql in (
        "DELETE FROM spend__v1",
        "SELECT 1; SELECT 2",
        "PRAGMA journal_mode = DELETE",
        "SELECT nope FROM spend",
    ):
        refused = post("/query", json={"sql": sql})
        assert (refused.status_code, refused.json()["type"]) == (400, "urn:headwater:error:statement-refused"), sql
    assert post("/query", json={"sql": "SELECT 1", "store": "nope"}).status_code == 404
    assert post("/query", json={"question": "?"}).status_code == 422


def test_a_query_is_exact_and_a_native_one_is_the_stores_own(filled: Bank) -> None:
    post = filled.client.post
    total = {"sql": "SELECT sum(spent) AS total, max(spent) AS most, typeof(1) FROM spend"}
    assert post("/query", json=total).status_code == 400, "typeof is SQLite's"
    exact = post("/query", json={"sql": total["sql"].replace(", typeof(1)", "")}).json()
    assert [column["type"] for column in exact["columns"]] == ["decimal128(30, 2)", "decimal128(20, 2)"]
    assert isinstance(exact["rows"][0]["total"], str), "a decimal is text"
    assert post("/query", json=total | {"native": True}).status_code == 200
    assert filled.client.get("/views/spend").json()["rows"]
