"""Who may do what: tokens, roles, scopes; and what is never served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

import headwater as hw
from headwater.config import ServeSettings
from headwater.errors import ArgumentRefused, TokenRefused
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE
from tests.serve.conftest import Bank, event, serve

OPEN = {"/healthz", "/readyz"}


@pytest.fixture
def exposed(tmp_path: Path) -> Iterator[Bank]:
    """A bank on an address that others can reach."""
    yield from serve(tmp_path / "exposed", host="0.0.0.0")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def routes(bank: Bank) -> list[tuple[str, str]]:
    """Every method and path that the API says it has."""
    token = Tokens(bank.project.folder).create("description", "read")
    assert {bank.client.get(path).status_code for path in ("/openapi.json", "/docs", "/")} == {401, 404}
    paths = bank.client.get("/openapi.json", headers=bearer(token)).json()["paths"]
    return [(method.upper(), path.format(name="spend")) for path, found in paths.items() for method in found]


def ask(bank: Bank, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
    body: Any = {"sql": "SELECT 1"} if path == "/query" else event(1)
    path = path.replace("/streams/spend", "/streams/payments")
    return bank.client.request(method, path, json=body if method == "POST" else None, headers=headers)


def test_every_route_but_health_needs_a_token_that_is_known(exposed: Bank) -> None:
    found_routes = routes(exposed)
    assert len(found_routes) >= 12
    for method, path in found_routes:
        for headers in ({}, bearer("hw_wrong"), {"Authorization": "Basic eDp5"}):
            found = ask(exposed, method, path, headers)
            assert (found.status_code == 401) == (path not in OPEN), (path, headers)
            if path not in OPEN:
                assert found.headers["www-authenticate"] == "Bearer"
                assert found.json()["type"] == "urn:headwater:error:token-refused"


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WRITES = {"/streams/spend/events", "/tables/spend/delete"}
OPERATES = {
    "/promote", "/streams/spend/pause", "/streams/spend/redrive", "/streams/spend/resume", "/views/spend/pause",
    "/views/spend/promote", "/views/spend/replay", "/views/spend/resume", "/views/spend/rollback",
}  # fmt: skip
READS_BY_POST = {"/query"}


def test_every_route_refuses_a_role_that_is_too_small(exposed: Bank) -> None:
    tokens = Tokens(exposed.project.folder)
    reader, writer = tokens.create("reader", "read"), tokens.create("writer", "write")
    posts = {path for method, path in routes(exposed) if method != "GET"}
    assert posts == WRITES | OPERATES | READS_BY_POST, "a route that does something says here who may do it"
    refused = [(path, token) for path in OPERATES for token in (reader, writer)] + [(path, reader) for path in WRITES]
    for path, token in refused:
        found = ask(exposed, "POST", path, bearer(token))
        assert (found.status_code, found.json()["type"]) == (403, "urn:headwater:error:role-refused"), path
    assert exposed.project.log.head("payments") == -1, "nothing was done"


def test_a_subscription_by_websocket_needs_a_token_too(exposed: Bank) -> None:
    exposed.write([("c1", "1.00", 1)])
    token = Tokens(exposed.project.folder).create("board", "read", views=["spend"])
    address = str(exposed.client.base_url).rstrip("/").replace("http", "ws")
    expected = [
        ("spend", {}, "urn:headwater:error:token-refused"),
        ("spend", bearer("hw_wrong"), "urn:headwater:error:token-refused"),
        ("untouched", bearer(token), "urn:headwater:error:role-refused"),
    ]
    for view, headers, code in expected:
        with connect(f"{address}/views/{view}/changes", additional_headers=headers, open_timeout=PATIENCE) as socket:
            assert json.loads(socket.recv(timeout=PATIENCE))["type"] == code
    with connect(f"{address}/views/spend/changes", additional_headers=bearer(token), open_timeout=PATIENCE) as socket:
        assert json.loads(socket.recv(timeout=PATIENCE))["event"] == "snapshot"


def test_a_role_and_a_scope_allow_so_much(exposed: Bank) -> None:
    tokens = Tokens(exposed.project.folder)
    reader, writer = tokens.create("reader", "read"), tokens.create("writer", "write")
    till = tokens.create("till", "write", streams=["payments"])
    board = tokens.create("board", "read", views=["spend"])
    append, rows, status = ("POST", "/streams/payments/events"), ("GET", "/views/spend"), ("GET", "/status")
    exposed.write([("c1", "1.00", 1)])
    expected = {
        reader: (403, 200, 200),
        writer: (201, 200, 200),
        till: (201, 403, 403),
        board: (403, 200, 403),
    }
    for token, statuses in expected.items():
        found = tuple(ask(exposed, *what, bearer(token)).status_code for what in (append, rows, status))
        assert found == statuses
    assert ask(exposed, "GET", "/views/untouched", bearer(board)).json()["who"] == "caller"


def test_tokens_are_told_once_kept_as_hashes_and_revoked(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    secret = tokens.create("ci", "write")
    file = tmp_path / ".headwater" / "tokens.json"
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert (tokens.access(secret).name, tokens.access(secret).role) == ("ci", "write")
    with pytest.raises(ArgumentRefused):
        tokens.create("ci", "read")
    tokens.revoke("ci")
    with pytest.raises(TokenRefused):
        tokens.access(secret)
    with pytest.raises(ArgumentRefused):
        tokens.revoke("ci")


def test_on_loopback_only_names_of_this_machine_are_served(bank: Bank) -> None:
    assert bank.client.get("/status").status_code == 200
    assert bank.client.get("/status", headers={"Host": "evil.example"}).status_code == 400


def test_pages_of_other_origins_are_not_served(bank: Bank) -> None:
    bank.write([("c1", "1.00", 1)])
    own, foreign = str(bank.client.base_url).rstrip("/"), "https://evil.example"
    assert bank.client.get("/status", headers={"Origin": own}).status_code == 200
    for origin in (foreign, "null"):
        refused = bank.client.get("/status", headers={"Origin": origin})
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:headwater:error:role-refused")
        assert not [name for name in refused.headers if name.startswith("access-control")]
    assert refused.headers["x-content-type-options"] == "nosniff"
    address = own.replace("http", "ws") + "/views/spend/changes"
    with connect(address, origin=Origin(own), open_timeout=PATIENCE) as socket:
        assert "snapshot" in str(socket.recv(timeout=PATIENCE))
    with pytest.raises(InvalidStatus), connect(address, origin=Origin(foreign), open_timeout=PATIENCE):
        pass


def test_the_server_binds_to_loopback_unless_told(tmp_path: Path) -> None:
    assert ServeSettings().host == "127.0.0.1"
    (tmp_path / "headwater.toml").write_text('name = "x"\n[serve]\nport = 9000\n')
    with hw.open(tmp_path) as project:
        assert (project.settings.serve.host, project.settings.serve.port) == ("127.0.0.1", 9000)


def test_a_token_expires_and_its_name_can_be_taken_again(tmp_path: Path) -> None:
    clock = [NOON]
    tokens = Tokens(tmp_path, now=lambda: clock[0])
    secret = tokens.create("ci", "write", expires=timedelta(days=1))
    clock[0] += timedelta(hours=23)
    assert Tokens(tmp_path, now=lambda: clock[0]).access(secret).name == "ci", "as another process reads it"
    clock[0] += timedelta(hours=1)
    with pytest.raises(TokenRefused, match="expired"):
        tokens.access(secret)
    assert tokens.access(tokens.create("ci", "read")).role == "read"
    with pytest.raises(TokenRefused, match="not known"):
        tokens.access(secret)


def test_a_rotated_token_is_good_for_the_overlap_beside_the_new_one(tmp_path: Path) -> None:
    clock = [NOON]
    tokens = Tokens(tmp_path, now=lambda: clock[0])
    first = tokens.create("board", "read", views=["spend"], expires=timedelta(minutes=90))
    second = tokens.rotate("board", timedelta(hours=1))
    clock[0] += timedelta(minutes=59)
    assert tokens.access(first) == tokens.access(second)
    third = tokens.rotate("board", timedelta(hours=1))
    clock[0] += timedelta(minutes=1)
    with pytest.raises(TokenRefused, match="expired"):
        tokens.access(first)
    assert tokens.access(second) == tokens.access(third)
    tokens.revoke("board")
    for secret in (first, second, third):
        with pytest.raises(TokenRefused):
            tokens.access(secret)
    with pytest.raises(ArgumentRefused):
        tokens.rotate("board", timedelta(hours=1))
