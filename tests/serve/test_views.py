"""Rows of views over HTTP, with the position that they are true for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.patience import PATIENCE
from tests.serve.conftest import Bank, event, serve
from tests.servers.postgres import PostgresServer

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
    commits = {"payments": filled.project.head("payments")}
    assert found["position"] == {"batch": 0, "commits": commits, "watermark": "2026-01-01T12:00:00+00:00"}
    assert (found["view"], found["version"], found["page"], found["more"]) == ("spend", 1, 1, True)
    assert found["rows"][0] == {"card": "c1", "window_end": "2026-01-01T12:00:00+00:00", "spent": "10.50", "n": 1}
    assert not filled.client.get("/views/spend?limit=4&page=2").json()["more"]


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


def test_those_who_wait_do_not_stand_in_the_way_of_others(filled: Bank) -> None:
    token = filled.client.post("/streams/payments/events", json=event(2)).json()["token"]
    address = f"{filled.client.base_url}/views/spend?after={token}&timeout=30"
    with ThreadPoolExecutor(max_workers=60) as pool:  # more than the server has threads
        waiting = [pool.submit(httpx.get, address, timeout=PATIENCE) for _ in range(60)]
        time.sleep(0.5)
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
    assert filled.client.get("/views/spend/explain").json()["execution"] == "live"


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
