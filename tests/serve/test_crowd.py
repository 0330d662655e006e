"""Many subscribers, and one that stops reading: whoever reads is served, and the view is written all the same."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from tests.patience import PATIENCE
from tests.serve.conftest import Bank, serve

CROWD = 1000
ASK = b"GET /views/spend/changes HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of each connection are files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CROWD if hard == resource.RLIM_INFINITY else min(hard, 4 * CROWD)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def subscribe(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A subscription that has its snapshot."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASK)
    await asyncio.wait_for(reader.readuntil(b'"more":false}\n\n'), PATIENCE)
    return reader, writer


def test_a_thousand_subscribers_are_told_of_a_change_and_one_more_is_refused(bank: Bank, many_files: None) -> None:
    bank.write([("c1", "1.00", 1)])
    port = bank.client.base_url.port
    assert port is not None

    async def crowd() -> None:
        found = []
        for _ in range(CROWD // 50):
            found += await asyncio.gather(*(subscribe(port) for _ in range(50)))
        refused = await asyncio.to_thread(httpx.get, f"{bank.client.base_url}/views/spend/changes", timeout=PATIENCE)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        read = await asyncio.to_thread(bank.client.get, "/views/spend")
        assert read.json()["rows"][0]["card"] == "c1"
        await asyncio.to_thread(bank.write, [("c2", "2.00", 1)])  # which waits for none of them: nobody reads yet
        await asyncio.wait_for(asyncio.gather(*(reader.readuntil(b"event: change") for reader, _ in found)), PATIENCE)
        for _, writer in found:
            writer.close()

    asyncio.run(crowd())


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    monkeypatch.setattr("headwater.serve.changes.STUCK", timedelta(milliseconds=300))
    yield from serve(tmp_path / "impatient", subscriptions=1)


def test_a_client_that_stops_reading_is_let_go_of_and_its_place_is_free(impatient: Bank) -> None:
    impatient.write([("c1", "1.00", 1)])
    wide = "x" * 100_000
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.connect(("127.0.0.1", impatient.client.base_url.port))
        stuck.sendall(ASK)
        assert b"200" in stuck.recv(100)
        deadline, number = time.monotonic() + PATIENCE, 0
        while (status := answered(impatient)) == 429 and time.monotonic() < deadline:
            number += 1
            impatient.write([(f"{wide}{number}", "1.00", 1)])
        assert status == 200, "the place is free again, though the connection is still there"


def answered(bank: Bank) -> int:
    """What is answered to one who would like to subscribe."""
    with httpx.stream("GET", f"{bank.client.base_url}/views/spend/changes", timeout=PATIENCE) as response:
        return response.status_code
