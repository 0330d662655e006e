"""Tables over HTTP: changes in, rows out as they are and were, deletes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server
from headwater.serve.status import lineage_of
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE
from tests.serve.conftest import serve

DECLARED = """
CREATE TABLE customers (id STRING, tier STRING, since TIMESTAMP, WATERMARK FOR since AS since, PRIMARY KEY (id));
CREATE TABLE prices (product STRING, year INT, price DECIMAL(8, 2), PRIMARY KEY (product, year));
CREATE STREAM orders (id STRING, at TIMESTAMP, WATERMARK FOR at AS at);
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[httpx.Client]:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(DECLARED)
    with (
        hw.open(tmp_path) as project,
        open_server(project, ServeSettings(port=0, dashboard=False)) as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield client


def customer(name: str, tier: str, second: int) -> dict[str, str]:
    return {"id": name, "tier": tier, "since": f"2026-01-01T12:00:{second:02}Z"}


def tiers(client: httpx.Client, **asked: str) -> list[tuple[str, str]]:
    answered = client.get("/tables/customers", params=asked)
    assert answered.status_code == 200, answered.text
    return [(row["id"], row["tier"]) for row in answered.json()["rows"]]


def test_changes_come_in_as_events_and_rows_are_served_as_they_are_and_were(shop: httpx.Client) -> None:
    first = [customer("ada", "silver", 1), customer("ben", "gold", 2), customer("eve", "gold", 3)]
    shop.post("/streams/customers/events", json=first)
    shop.post("/streams/customers/events", json=[customer("ada", "gold", 30), customer("eve", "none", 40)])
    deleted = shop.post("/tables/customers/delete", json=["ben", "nobody"], params={"at": "2026-01-01T12:00:50Z"})
    assert (deleted.status_code, deleted.json()["rows"]) == (201, 2)
    assert tiers(shop) == [("ada", "gold"), ("eve", "none")], "by key"
    assert tiers(shop, tier="gold", order="-id") == [("ada", "gold")]
    assert tiers(shop, as_of="2026-01-01T12:00:02Z") == [("ada", "silver"), ("ben", "gold")]
    assert tiers(shop, known_at="2026-01-01T12:00:02Z") == [], "it all arrived later"
    page = shop.get("/tables/customers", params={"limit": "1", "page": "2"}).json()
    assert (page["commit"], page["more"], [row["id"] for row in page["rows"]]) == (3, False, ["eve"])
    answered = shop.post(
        "/query", json={"sql": "SELECT tier, count(*) AS n FROM customers GROUP BY tier ORDER BY tier"}
    )
    assert answered.json()["rows"] == [{"tier": "gold", "n": 1}, {"tier": "none", "n": 1}]
    assert [table["table"] for table in shop.get("/tables").json()] == ["customers", "prices"]


def test_keys_of_several_columns_are_objects(shop: httpx.Client) -> None:
    shop.post("/streams/prices/events", json=[{"product": "cup", "year": year, "price": 1} for year in (1, 2)])
    shop.post("/tables/prices/delete", json=[{"product": "cup", "year": 1}])
    assert [row["year"] for row in shop.get("/tables/prices", params={"year.gte": "1"}).json()["rows"]] == [2]


@pytest.mark.parametrize(
    ("method", "path", "body", "problem"),
    [
        ("GET", "/tables/orders", None, "unknown-topic"),
        ("GET", "/tables/nothing", None, "unknown-topic"),
        ("GET", "/tables/customers?as_of=noon", None, "argument-refused"),
        ("GET", "/tables/customers?known_at=noon", None, "argument-refused"),
        ("GET", "/tables/customers?colour=red", None, "argument-refused"),
        ("POST", "/tables/customers/delete", '["ada"]', "argument-refused"),
        ("POST", "/tables/customers/delete?at=2026-01-01", '"ada"', "argument-refused"),
        ("POST", "/tables/customers/delete?at=2026-01-01", "[", "unreadable-event"),
        ("POST", "/tables/prices/delete", '[{"product": "cup"}]', "strict-load-refused"),
    ],
)
def test_what_can_not_be_asked_or_deleted_is_a_problem(
    shop: httpx.Client, method: str, path: str, body: str | None, problem: str
) -> None:
    answered = shop.request(method, path, content=body)
    assert 400 <= answered.status_code < 500
    assert answered.json()["type"] == f"urn:headwater:error:{problem}"


def test_a_token_for_views_alone_reads_no_table(tmp_path: Path) -> None:
    for bank in serve(tmp_path / "bank", host="0.0.0.0"):
        (bank.project.folder / "tables.sql").write_text("CREATE TABLE people (id STRING PRIMARY KEY);")
    for bank in serve(tmp_path / "bank", host="0.0.0.0"):
        secret = Tokens(bank.project.folder).create("board", "read", views=["spend"])
        bearer = {"Authorization": f"Bearer {secret}"}
        refused = [
            bank.client.get("/tables/people", headers=bearer),
            bank.client.post("/query", json={"sql": "SELECT * FROM people"}, headers=bearer),
        ]
        assert [answered.json()["type"] for answered in refused] == ["urn:headwater:error:role-refused"] * 2
        kinds = {node["name"]: node["kind"] for node in lineage_of(bank.project)["nodes"]}
        assert (kinds["people"], kinds["payments"]) == ("table", "stream")
