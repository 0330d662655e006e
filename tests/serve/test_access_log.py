"""The access log: who asked for what and how it ended, and nothing that is secret."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
from websockets.sync.client import connect

import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE
from tests.serve.conftest import DECLARED, event


def test_every_request_is_a_line_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    settings = ServeSettings(port=0, host="0.0.0.0", behind_proxy=True, dashboard=False, access_log="logs/access.jsonl")
    till = Tokens(tmp_path).create("till", "write")
    with hw.open(tmp_path) as project, open_server(project, settings) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        with httpx.Client(base_url=url, timeout=PATIENCE, headers={"Authorization": f"Bearer {till}"}) as client:
            appended = client.post("/streams/payments/events?source=secret-place", json=event(1))
            client.get("/views/spend", headers={"Authorization": "Bearer hw_wrong"})
            client.post("/views/spend/pause")
        with connect(f"{url.replace('http', 'ws')}/views/spend/changes", open_timeout=PATIENCE) as socket:
            socket.recv(timeout=PATIENCE)
    file = tmp_path / "logs" / "access.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    told = [(line["who"], line["method"], line["path"], line["status"]) for line in lines]
    assert told == [
        ("token till", "POST", "/streams/payments/events", 201),
        (None, "GET", "/views/spend", 401),
        ("token till", "POST", "/views/spend/pause", 403),
        (None, "WEBSOCKET", "/views/spend/changes", 1000),
    ]
    assert lines[0]["bytes"] == len(appended.content) and lines[0]["from"] == "127.0.0.1"
    assert not any(secret in file.read_text() for secret in (till, "hw_", "secret-place", "p-1"))
    assert file.stat().st_mode & 0o077 == 0
