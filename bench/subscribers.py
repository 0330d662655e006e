"""Subscribers: from an event's append until the last of many has the change that it makes, as a server-sent event.

A view counts events in windows of 10 seconds and is kept up to date by `headwater run`, while 1,000 events come in each
second, in five commits. First one client has subscribed to it, then 1,000; they are in a process of their own. Each
change tells the newest event that is counted in it.

    python -m bench.subscribers [SECONDS]
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import headwater as hw
from bench.serve import clicks, port_of
from headwater.config import ServeSettings
from headwater.project import Project
from headwater.serve import open_server

RATE, COMMITS, CROWD = 1_000, 5, 1_000
DECLARED = """
CREATE STREAM clicks (id BIGINT NOT NULL, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND) WITH (idle = '5 seconds');
CREATE MATERIALIZED VIEW counted WITH (emit = 'changes') AS
SELECT window_end, count(*) AS n, max(id) AS newest FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '10' SECOND)
GROUP BY window_end;
"""
ASK = b"GET /views/counted/changes?snapshot=false HTTP/1.1\r\nHost: localhost\r\n\r\n"
AFTER = re.compile(rb'"after":\{[^}]*"newest":(\d+)')
CLIENTS = "from bench.subscribers import subscribe; subscribe()"


class Subscriber(asyncio.Protocol):
    """A client that notes when it was told of each newest event, in what all of them have been told."""

    def __init__(self, told: dict[int, list[float]]) -> None:
        self._told = told
        self._begun = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Subscribe."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(ASK)

    def data_received(self, data: bytes) -> None:
        """Note what has come as a whole."""
        whole, _, self._begun = (self._begun + data).rpartition(b"\n")
        for newest in AFTER.findall(whole):
            self._told.setdefault(int(newest), []).append(time.time())


def subscribe() -> None:
    """Be so many clients until a line comes in; tell when the first and the last of them had each newest event."""
    port, count = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * CROWD, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    told: dict[int, list[float]] = {}

    async def stay() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(count):
            await loop.create_connection(lambda: Subscriber(told), "127.0.0.1", port)
        print("subscribed", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

    asyncio.run(stay())
    whole = {newest: (min(times), max(times)) for newest, times in told.items() if len(times) == count}
    print(json.dumps(whole))


@contextmanager
def running(project: Project, appended: list[tuple[int, float]]) -> Iterator[None]:
    """The view is kept up to date, while events stream in; of each commit the last event and when it was appended."""
    over = threading.Event()

    def stream() -> None:
        began, number = time.perf_counter(), 0
        while not over.wait(max(0.0, began + number / COMMITS - time.perf_counter())):
            first = number * RATE // COMMITS
            begun_at = time.time()
            project.append("clicks", clicks(first, RATE // COMMITS))
            appended.append((first + RATE // COMMITS - 1, begun_at))
            number += 1

    threads = [threading.Thread(target=project.run, kwargs={"stop": over}), threading.Thread(target=stream)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def measure(port: int, count: int, seconds: float, appended: list[tuple[int, float]]) -> None:
    """Let so many subscribe for so long, and print a line."""
    command = [sys.executable, "-c", CLIENTS, str(port), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdout is not None and clients.stdout.readline() == "subscribed\n"
        time.sleep(3)
        begun_at = time.time()
        time.sleep(seconds)
        ended_at = time.time() - 2  # what was appended later may be on its way
        told = {int(newest): times for newest, times in json.loads(clients.communicate("end\n")[0]).items()}
    batches = sorted(told)
    of_commits = [(last, at) for last, at in appended if begun_at <= at <= ended_at]
    reached = [(at, batches[place]) for last, at in of_commits if (place := np.searchsorted(batches, last)) < len(told)]
    first, whole = ([told[newest][which] - at for at, newest in reached] for which in (0, 1))
    figures = [value for taken in (first, whole) for value in np.percentile(taken, [50, 99]) * 1000]
    shown = "".join(f"{value:10,.0f}" for value in figures)
    print(f"{count:>12,}{shown}{len(reached):>10}", flush=True)


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {RATE:,} events/s; milliseconds")
    print(f"{'subscribers':>12}{'first p50':>10}{'p99':>10}{'last p50':>10}{'p99':>10}{'commits':>10}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * CROWD, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "headwater.toml").write_text('name = "subscribers"\n[spark]\n"spark.master" = "local[2]"\n')
        (folder / "project.sql").write_text(DECLARED)
        settings = ServeSettings(port=0, dashboard=False)
        with hw.open(folder) as project, open_server(project, settings) as server:
            appended: list[tuple[int, float]] = []
            with running(project, appended):
                while project.views.served("counted") is None:
                    time.sleep(0.1)
                time.sleep(10)  # until it follows
                for count in (1, CROWD):
                    measure(port_of(server.url), count, seconds, appended)


if __name__ == "__main__":
    main()
