"""Freshness: how long after an append its events are in a view's store, and with a subscriber over HTTP.

10,000 events a second come in five commits a second, into windows of ten seconds that emit changes: one view of them,
then four. Each commit's latency is measured from before the append until the batch that has read it is in the store,
and until the newest event of that batch has been received as a server-sent event. The first part of each run warms up.

    python bench/freshness.py [SECONDS]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa

import headwater as hw
from headwater.config import ServeSettings
from headwater.operate import Reading
from headwater.project import Project
from headwater.serve import open_server

RATE, COMMITS = 10_000, 5
KEYS = 100
STREAM = """
CREATE STREAM clicks (id BIGINT, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND) WITH (idle = '5 seconds');
"""
VIEW = """
CREATE MATERIALIZED VIEW v{} WITH (emit = 'changes', grace = '1 minute') AS
SELECT page, window_end, count(*) AS n, sum(price) AS total, max(id) AS newest
FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY page, window_end;
"""


class Watched:
    """When each commit was appended, and how long it took until it was in a store, and with the subscriber."""

    def __init__(self) -> None:
        self.appended: dict[int, float] = {}
        self.numbered: dict[int, float] = {}
        self.stored: list[float] = []
        self.received: list[float] = []
        self._read: dict[str, int] = {}
        self.warm = False

    def store(self, reading: Reading) -> None:
        """A batch is in the store."""
        now, upto = time.perf_counter(), reading.commits.get("clicks", 0)
        for commit in range(self._read.get(reading.view, upto) + 1, upto + 1):
            if self.warm and commit in self.appended:
                self.stored.append(now - self.appended[commit])
        self._read[reading.view] = upto

    def receive(self, newest: int) -> None:
        """The subscriber has a batch whose newest event has this number."""
        if self.warm and newest in self.numbered:
            self.received.append(time.perf_counter() - self.numbered[newest])


def append(project: Project, watched: Watched, seconds: float) -> None:
    """Append at the rate; the second half is measured."""
    began, size = time.perf_counter(), RATE // COMMITS
    pages = pa.array([f"page-{place % KEYS}" for place in range(size)])
    for number in range(int(seconds * COMMITS)):
        watched.warm = number > seconds * COMMITS / 2
        ids = np.arange(number * size, (number + 1) * size)
        at = pa.array(np.full(size, time.time_ns() // 1000)).cast(pa.timestamp("us", "UTC"))
        price = pa.array(["1.25"] * size).cast(pa.decimal128(10, 2))
        rows = pa.table({"id": ids, "page": pages, "price": price, "at": at})
        before = time.perf_counter()
        watched.numbered[int(ids[-1])] = before
        commit = project.append("clicks", rows).commit
        watched.appended[commit] = before
        time.sleep(max(0.0, began + (number + 1) / COMMITS - time.perf_counter()))


def subscribe(url: str, watched: Watched, over: threading.Event) -> None:
    """Follow the first view as a client would, until the server ends."""
    while not over.is_set():
        with httpx.stream("GET", f"{url}/views/v0/changes?snapshot=false", timeout=None) as response:
            if response.status_code != 200:  # it is not served yet
                time.sleep(0.2)
                continue
            for newest in _newest(response):
                watched.receive(newest)


def _newest(response: httpx.Response) -> Iterator[int]:
    """The number of the newest event of each batch."""
    newest, ends = 0, False
    for line in response.iter_lines():
        ends = ends or line.startswith("id:")
        if line.startswith("data: "):
            after: dict[str, Any] = json.loads(line[6:]).get("after") or {}
            newest = max(newest, after.get("newest", 0))
            if ends:
                yield newest
                newest, ends = 0, False


def measure(views: int, seconds: float) -> Watched:
    """One run."""
    watched, over = Watched(), threading.Event()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "headwater.toml").write_text('name = "freshness"\n[spark]\n"spark.master" = "local[2]"\n')
        (folder / "project.sql").write_text(STREAM + "".join(VIEW.format(number) for number in range(views)))
        with hw.open(folder) as project, open_server(project, ServeSettings(port=0, dashboard=False)) as server:
            running = threading.Thread(target=project.run, kwargs={"progress": watched.store, "stop": over})
            listening = threading.Thread(target=subscribe, args=(server.url, watched, over), daemon=True)
            running.start()
            listening.start()
            append(project, watched, seconds)
            over.set()
            running.join()
    return watched


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {RATE:,} events/s, {COMMITS} commits/s; milliseconds"
    )
    print(f"{'':24}{'commits':>8}{'p50':>8}{'p90':>8}{'p99':>8}")
    for views in (1, 4):
        watched = measure(views, seconds)
        for where, found in (("store", watched.stored), ("subscriber", watched.received)):
            shown = np.percentile(found, [50, 90, 99]) * 1000 if found else []
            print(f"{f'{views} views, {where}':24}{len(found):8}{''.join(f'{value:8.0f}' for value in shown)}")


if __name__ == "__main__":
    main()
