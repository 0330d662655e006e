"""Serving: point reads of a view over HTTP, while it runs and events stream in, against the least that could answer.

The view has a row for each of 100,000 events and takes in 1,000 more every second. Clients read it by key, as fast as
they are answered: from `headwater run`, which keeps the view up to date in the same process; from a worker of it, which
is one of its own; and from a bare FastAPI application in a process of its own, which sends the same SELECT to the same
SQLite file. They are read in turns, and once more while nothing streams in. What a processor could
answer is told too, of a worker and of the bare application, whose processes do nothing else: on a busy machine it says
more than the clock.

    python -m bench.serve [SECONDS]
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

import headwater as hw
from bench.effort import worked
from headwater.config import ServeSettings
from headwater.project import Project
from headwater.serve import open_server
from headwater.serve.workers import Workers

ROWS, RATE, CLIENTS, ROUNDS = 100_000, 1_000, 4, 3
DECLARED = """
CREATE STREAM clicks (id BIGINT NOT NULL, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND) WITH (idle = '5 seconds');
CREATE MATERIALIZED VIEW seen WITH (key = 'id') AS SELECT id, page, price, at FROM clicks;
"""
PEER = """
import sqlite3, sys, threading, uvicorn
from fastapi import FastAPI
app, local = FastAPI(), threading.local()
@app.get("/seen")
def seen(id: int):
    if not hasattr(local, "file"):
        local.file = sqlite3.connect(sys.argv[1])
        local.file.row_factory = sqlite3.Row
    return {"rows": [dict(row) for row in local.file.execute("SELECT * FROM seen WHERE id = ? LIMIT 101", (id,))]}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
BARE, OURS = "bare FastAPI and sqlite3", "/views/seen?id="
CLIENT = "from bench.serve import load; load()"


def clicks(first: int, count: int) -> pa.Table:
    """Events numbered from here on, now."""
    ids = np.arange(first, first + count)
    price = pa.array(["1.25"] * count).cast(pa.decimal128(10, 2))
    at = pa.array(np.full(count, time.time_ns() // 1000)).cast(pa.timestamp("us", "UTC"))
    return pa.table({"id": ids, "page": pa.array([f"page-{number % 100}" for number in ids]), "price": price, "at": at})


def load() -> None:
    """Be a client: read rows by key for so long, over some connections, and tell how long each read took."""
    _, port, path, seconds = sys.argv
    taken: list[float] = []
    ends = time.perf_counter() + float(seconds)

    def ask(seed: int) -> None:
        chance, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", int(port))
        while time.perf_counter() < ends:
            began = time.perf_counter()
            connection.request("GET", path + str(chance.randrange(ROWS)))
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200 and b'"page":"page-' in body, body
            taken.append(time.perf_counter() - began)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(taken))


def read(port: int, path: str, seconds: float) -> list[float]:
    """How long each read took that clients in a process of their own could make."""
    command = [sys.executable, "-c", CLIENT, str(port), path, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


@contextmanager
def peer(folder: Path) -> Iterator[tuple[int, int]]:
    """The bare application; gives its port and its process, which is in a session of its own, as a worker is.

    Where a system shares its cores between sessions first, one in the clients' session answers sooner.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-c", PEER, str(folder / "views.db"), str(port)]
    with subprocess.Popen(command, start_new_session=True) as process:
        for _ in range(200):
            try:
                http.client.HTTPConnection("127.0.0.1", port).connect()
                break
            except OSError:
                time.sleep(0.05)
        try:
            yield port, process.pid
        finally:
            process.terminate()


@contextmanager
def running(project: Project) -> Iterator[None]:
    """The view is kept up to date meanwhile, while events stream in."""
    over = threading.Event()

    def stream() -> None:
        began, number = time.perf_counter(), 0
        while not over.wait(max(0.0, began + number / 5 - time.perf_counter())):
            project.append("clicks", clicks(ROWS + number * RATE // 5, RATE // 5))
            number += 1

    threads = [threading.Thread(target=project.run, kwargs={"stop": over}), threading.Thread(target=stream)]
    for thread in threads:
        thread.start()
    time.sleep(10)  # until it follows
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@dataclass
class Served:
    """Something that is read: on which port and by what path, how long each read took, and the processor's seconds that
    its process took meanwhile, where it does nothing else.
    """

    port: int
    path: str
    process: int | None = None
    taken: list[float] = field(default_factory=list)
    worked: float = 0.0

    def read(self, seconds: float) -> None:
        """Let clients read for so long."""
        before = worked(self.process) if self.process else 0.0
        self.taken += read(self.port, self.path, seconds)
        self.worked += worked(self.process) - before if self.process else 0.0

    @property
    def by_processor(self) -> float | None:
        """The reads in a second of the processor."""
        return len(self.taken) / self.worked if self.worked else None


def compare(read: Mapping[str, Served], seconds: float, title: str) -> None:
    """Read all in turns, and print a line for each; they are compared with the bare application."""
    for one in read.values():
        one.taken, one.worked = [], 0.0
    for _ in range(ROUNDS):
        for one in read.values():
            one.read(seconds / ROUNDS)
    beside = read[BARE]
    for name, one in read.items():
        p50, p99 = (value * 1000 for value in np.percentile(one.taken, [50, 99]))
        figures = f"{len(one.taken) / seconds:10,.0f}{p50:8.1f}{p99:8.1f}{len(one.taken) / len(beside.taken):8.0%}"
        if one.by_processor and beside.by_processor:
            figures += f"{one.by_processor:12,.0f}{one.by_processor / beside.by_processor:8.0%}"
        print(f"{f'{title}, {name}':56}{figures}", flush=True)


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {CLIENTS} clients; milliseconds; a processor's second"
    )
    print(f"{'':56}{'reads/s':>10}{'p50':>8}{'p99':>8}{'ratio':>8}{'reads':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "headwater.toml").write_text('name = "serve"\n[spark]\n"spark.master" = "local[2]"\n')
        (folder / "project.sql").write_text(DECLARED)
        settings = ServeSettings(port=0, dashboard=False)
        with hw.open(folder) as project:
            project.append("clicks", clicks(0, ROWS))
            project.catch_up()
            apart = Workers(project, settings.model_copy(update={"workers": 1}))
            with open_server(project, settings) as own, apart, peer(folder) as (port, process):
                read = {
                    "the run": Served(port_of(own.url), OURS),
                    "a worker of it": Served(port_of(apart.url), OURS, apart.processes[0]),
                    BARE: Served(port, "/seen?id=", process),
                }
                compare(read, seconds, "at rest")
                with running(project):
                    compare(read, seconds, f"{RATE:,} events/s come in")


def port_of(url: str) -> int:
    """The port of an address."""
    return int(url.rpartition(":")[2])


if __name__ == "__main__":
    main()
