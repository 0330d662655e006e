"""A server that is killed between the commit and its answer: who asks again with the same key is acknowledged once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import headwater as hw
from tests.patience import PATIENCE

SQL = """
CREATE STREAM payments (id STRING NOT NULL, amount INT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
"""
SERVER = """
import os, signal, sys, time
import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server

folder, point = sys.argv[1:]
with hw.open(folder) as project:
    append = project.append

    def appended(*arguments, **options):
        if point == "before the commit":
            os.kill(os.getpid(), signal.SIGKILL)
        receipt = append(*arguments, **options)
        if point == "between commit and answer":
            os.kill(os.getpid(), signal.SIGKILL)
        return receipt

    project.append = appended
    with open_server(project, ServeSettings(port=0)) as server:
        print(server.url, flush=True)
        sys.stdin.readline()
"""


@contextmanager
def served(folder: Path, point: str) -> Iterator[httpx.Client]:
    """A client of a process of its own, which is killed at a point."""
    command = [sys.executable, "-c", SERVER, str(folder), point]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, "it serves"
            with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                yield client
        finally:
            process.kill()


def send(client: httpx.Client, number: int) -> httpx.Response:
    events = [
        {"id": f"{number}-1", "amount": number, "at": "2026-01-01T12:00:00Z"},
        {"id": f"{number}-2", "amount": "many", "at": "2026-01-01T12:00:00Z"},
    ]
    return client.post("/streams/payments/events", json=events, headers={"Idempotency-Key": f"till:{number}"})


def test_a_retry_is_acknowledged_once_wherever_the_server_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "headwater.toml").write_text('name = "shop"\n')
    (folder / "streams.sql").write_text(SQL)
    points = {1: "before the commit", 2: "between commit and answer", 3: "between commit and answer"}
    for number, point in points.items():
        with served(folder, point) as client, pytest.raises(httpx.TransportError):
            send(client, number)
    # each of them asks again, the newest only: a producer's numbers rise, and it stops at the first without an answer
    with served(folder, "nowhere") as client:
        again = send(client, 3)
        assert (again.status_code, again.json()["rows"], again.json()["dead"]) == (207, 1, 1)
        assert again.json()["repeated"] is True
        assert send(client, 3).json() == again.json()
        assert send(client, 4).json()["repeated"] is False
    with hw.open(folder) as project:
        assert project.read("payments")["id"].to_pylist() == ["2-1", "3-1", "4-1"], "what was acknowledged, once"
        assert len(project.dead("payments")) == 3
