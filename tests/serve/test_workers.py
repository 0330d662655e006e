"""Workers: processes of their own that serve what other processes write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headwater.serve.workers import Workers
from tests.patience import PATIENCE, eventually, until
from tests.serve.conftest import DECLARED, Bank, event, serve

SERVING = """
import sys, time
import headwater as hw
from headwater.config import ServeSettings
from headwater.serve import open_server
with hw.open(sys.argv[1]) as project, open_server(project, ServeSettings(port=0, workers=1)) as server:
    print(server.url, *server.processes, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    yield from serve(tmp_path / "bank", workers=2)


def test_workers_serve_what_other_processes_write_and_write_themselves(bank: Bank) -> None:
    assert bank.client.post("/streams/payments/events", json=[event(1)]).status_code == 201
    assert bank.project.log.head("payments") == 1
    for spent in ("1.00", "2.00"):
        bank.write([("c1", spent, 1)])
        read = [bank.client.get("/views/spend").json()["rows"] for _ in range(4)]
        assert [rows[0]["spent"] for rows in read] == [spent] * 4


def test_a_worker_that_ends_is_replaced(bank: Bank) -> None:
    workers = bank.server
    assert isinstance(workers, Workers)
    first, second = workers.processes
    os.kill(first, signal.SIGKILL)
    until(lambda: first not in workers.processes)
    assert second in workers.processes
    eventually(lambda: httpx.get(f"{workers.url}/healthz", timeout=PATIENCE).status_code, 200)


def test_declarations_that_the_run_takes_over_are_those_of_its_workers(bank: Bank) -> None:
    (bank.project.folder / "more.sql").write_text("CREATE MATERIALIZED VIEW more AS SELECT id FROM payments;")
    assert bank.project.admin.promote().added == ("more",)
    for _ in range(4):  # whichever it is that answers
        eventually(lambda: "no rows yet" in bank.client.get("/views/more").json().get("title", ""), True)


def test_nobody_promotes_where_no_run_is(bank: Bank) -> None:
    refused = bank.client.post("/promote")
    assert (refused.status_code, refused.json()["detail"]) == (409, "No run has taken them up.")


def test_workers_end_with_the_process_that_has_begun_them(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    with subprocess.Popen([sys.executable, "-c", SERVING, str(tmp_path)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        url, worker = run.stdout.readline().split()
        assert httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        run.kill()
    until(lambda: not Path(f"/proc/{worker}").exists())
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz", timeout=PATIENCE)
