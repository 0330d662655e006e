"""The door of the dashboard where others can reach it: who comes in, and what a session is worth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.requests import HTTPConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

import headwater as hw
from headwater.config import ServeSettings
from headwater.errors import RoleRefused, TokenRefused
from headwater.serve import open_server
from headwater.serve.door import COOKIE, LOGIN, SESSIONS, Door, routes
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE
from tests.serve.conftest import DECLARED

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def request(session: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "headers": [(b"cookie", f"{COOKIE}={session}".encode())]})


@pytest.fixture
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tokens, str]]:
    """The tokens of a bank that others can reach, and where it is served."""
    folder = tmp_path_factory.mktemp("exposed")
    (folder / "headwater.toml").write_text('name = "bank <&>"\n')
    (folder / "bank.sql").write_text(DECLARED)
    settings = ServeSettings(port=0, host="0.0.0.0")
    with hw.open(folder) as project, open_server(project, settings) as server:
        yield Tokens(folder), server.url.replace("0.0.0.0", "127.0.0.1")


def log_in(url: str, secret: str, **headers: str) -> httpx.Response:
    return httpx.post(url + LOGIN, data={"token": secret}, headers=headers, timeout=PATIENCE)


def test_pages_lead_to_the_login_until_a_token_is_given(exposed: tuple[Tokens, str]) -> None:
    tokens, url = exposed
    for path in ("/", "/dashboard/query", "/dashboard/views/spend"):
        refused = httpx.get(url + path, timeout=PATIENCE)
        assert (refused.status_code, refused.headers["location"]) == (303, LOGIN)
    assert "bank &lt;&amp;&gt;" in httpx.get(url + LOGIN, timeout=PATIENCE).text
    came_in = log_in(url, tokens.create("reader", "read"))
    assert (came_in.status_code, came_in.headers["location"]) == (303, "/")
    cookie = came_in.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Max-Age=43200"))
    assert "Secure" not in cookie, "the connection isn't"
    session = {"Cookie": f"{COOKIE}={came_in.cookies[COOKIE]}"}
    assert httpx.get(url, headers=session, timeout=PATIENCE).status_code == 200
    assert httpx.get(url + "/status", headers=session, timeout=PATIENCE).status_code == 401, (
        "the API has its own way in"
    )
    tokens.revoke("reader")
    assert httpx.get(url, headers=session, timeout=PATIENCE).status_code == 303


def test_the_wrong_ones_are_refused(exposed: tuple[Tokens, str]) -> None:
    tokens, url = exposed
    assert log_in(url, "hw_wrong").status_code == 401
    assert log_in(url, "").status_code == 401
    board = log_in(url, tokens.create("board", "read", views=["spend"]))
    assert board.status_code == 403
    assert "shows all of them" in board.text
    foreign = log_in(url, tokens.create("whole", "read"), Origin="https://evil.example")
    assert foreign.status_code == 403
    assert "set-cookie" not in foreign.headers


def test_sockets_are_for_pages_of_who_has_logged_in(exposed: tuple[Tokens, str]) -> None:
    tokens, url = exposed
    session = log_in(url, tokens.create("socket", "read")).cookies[COOKIE]
    address = url.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    cookie = {"Cookie": f"{COOKIE}={session}"}
    with connect(address, origin=Origin(url), additional_headers=cookie, open_timeout=PATIENCE) as socket:
        assert str(socket.recv(timeout=PATIENCE)).startswith("0{")
    for origin, headers in ((url, {}), ("https://evil.example", cookie)):
        with (
            pytest.raises(InvalidStatus),
            connect(address, origin=Origin(origin), additional_headers=headers, open_timeout=PATIENCE),
        ):
            pass
    polled = address.replace("ws://", "http://").replace("websocket", "polling")
    assert httpx.get(polled, timeout=PATIENCE).status_code == 401


def test_a_revoked_token_ends_the_socket_of_an_open_page(exposed: tuple[Tokens, str]) -> None:
    tokens, url = exposed
    session = log_in(url, tokens.create("watcher", "read")).cookies[COOKIE]
    address = url.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    cookie = {"Cookie": f"{COOKIE}={session}"}
    with connect(address, origin=Origin(url), additional_headers=cookie, open_timeout=PATIENCE) as socket:
        assert str(socket.recv(timeout=PATIENCE)).startswith("0{")
        tokens.revoke("watcher")
        began = time.monotonic()
        with pytest.raises(ConnectionClosed):
            while True:
                socket.recv(timeout=PATIENCE)
        assert time.monotonic() - began < 5


def test_logging_out_ends_a_session(exposed: tuple[Tokens, str]) -> None:
    tokens, url = exposed
    session = {"Cookie": f"{COOKIE}={log_in(url, tokens.create('leaver', 'operate')).cookies[COOKIE]}"}
    left = httpx.post(url + "/dashboard/logout", headers=session, timeout=PATIENCE)
    assert (left.status_code, left.headers["location"]) == (303, LOGIN)
    assert httpx.get(url, headers=session, timeout=PATIENCE).status_code == 303


def test_sessions_end_by_themselves_and_there_are_so_many(tmp_path: Path) -> None:
    tokens, clock = Tokens(tmp_path), [NOON]
    door = Door(tokens, lambda: clock[0])
    secret = tokens.create("reader", "read")
    first = door.log_in(secret)
    assert door.access(request(first)).name == "reader"
    assert secret not in first
    clock[0] += timedelta(hours=12, seconds=1)
    with pytest.raises(TokenRefused):
        door.access(request(first))
    second = door.log_in(secret)
    for _ in range(SESSIONS - 1):
        door.log_in(secret)
    assert door.access(request(second)).allows("read")
    door.log_in(secret)
    with pytest.raises(TokenRefused):
        door.access(request(second))
    with pytest.raises(RoleRefused):
        door.log_in(tokens.create("narrow", "read", streams=["payments"]))


def test_over_tls_a_session_is_sent_over_tls_alone(tmp_path: Path) -> None:
    tokens, app = Tokens(tmp_path), FastAPI()
    app.include_router(routes(Door(tokens), "bank"))
    client = TestClient(app, base_url="https://bank.example", follow_redirects=False)
    cookie = client.post(LOGIN, data={"token": tokens.create("reader", "read")}).headers["set-cookie"]
    assert all(part in cookie for part in ("Secure", "HttpOnly", "SameSite=strict"))
