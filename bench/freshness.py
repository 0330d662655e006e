"""Freshness: how long after an append its events are in a view's store, and with a subscriber over HTTP.

Events come in five commits a second into views that emit changes: 1,000 or 10,000 a second into windows of ten seconds,
one view of them or several, settled in parts or live; into rows that are computed from one row, into pairs, and into
rows with those of a table of a million; 2,000 a second into views that look back, behind a history that fills what they
look back on. In some runs another view is built anew meanwhile, again and again, over five million events of another
stream. Each commit's latency is measured from before the append until the batch that has read it
is in the store, and until the newest event of that batch has been received as a server-sent event. Half of each run
warms up, or as long as it takes until every view keeps up: many views that begin at once have their plans made first.

Where the time goes: *append* until the commit is durable, *wait* until a batch begins that reads it, *batch* until its
rows are computed, *store* until they are written, *notice* until the subscriber has them.

    python -m bench.freshness [SECONDS] [NAME ...] [--plot FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw
from bench.effort import worked
from bench.stacked import stacked
from headwater.config import ServeSettings
from headwater.operate import Reading
from headwater.project import Project
from headwater.serve import open_server

COMMITS = 5
SOME = 100_000
"""The events of a commit of those that are replayed."""
LONGEST = 180
"""Seconds after which is measured even though a view doesn't keep up."""
PARTS = ("append", "wait", "batch", "store", "notice")
STREAM = """
CREATE STREAM clicks (id BIGINT, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND) WITH (idle = '5 seconds');
"""
WINDOWS = """
SELECT page, window_end, count(*) AS n, sum(price) AS total, max(id) AS newest
FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY page, window_end
"""
SESSIONS = """
SELECT page, window_start, window_end, count(*) AS n, sum(price) AS total, max(id) AS newest
FROM SESSION(TABLE clicks PARTITION BY page, DESCRIPTOR(at), INTERVAL '5' SECOND)
GROUP BY page, window_start, window_end
"""
OVER = """
SELECT id AS newest, page, at, sum(price) OVER (PARTITION BY page ORDER BY at
  RANGE BETWEEN INTERVAL '{}' MINUTE PRECEDING AND CURRENT ROW) AS recent FROM clicks
"""
REPLAYED = """
CREATE STREAM visits (id BIGINT, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND);
CREATE MATERIALIZED VIEW replayed WITH (emit = 'changes', grace = '1 minute') AS
SELECT page, window_end, count(*) AS n, sum(price) AS total
FROM TUMBLE(TABLE visits, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY page, window_end;
"""
ROWS = "SELECT id AS newest, upper(page) AS page, price * 2 AS twice, at FROM clicks WHERE id % 10 < 9"
TABLE = """
CREATE TABLE pages (page STRING, title STRING, changed_at TIMESTAMP NOT NULL, PRIMARY KEY (page),
  WATERMARK FOR changed_at AS changed_at) WITH (idle = '1 second');
"""
ENRICHED = """
SELECT c.id AS newest, c.at, c.price, p.title FROM clicks c
JOIN pages FOR SYSTEM_TIME AS OF c.at AS p ON p.page = c.page
"""
PAIRS = """
SELECT r.id AS newest, l.id AS before, l.page FROM clicks l JOIN clicks r
ON r.page = l.page AND r.id > l.id AND r.at BETWEEN l.at AND l.at + INTERVAL '1' MINUTE
"""
PATTERN = """
SELECT newest, page FROM clicks MATCH_RECOGNIZE (PARTITION BY page ORDER BY at MEASURES LAST(id) AS newest
  PATTERN (even odd+? third) WITHIN INTERVAL '{}' SECOND
  DEFINE even AS id % 2 = 0, odd AS id % 2 = 1, third AS id % 3 = 0)
"""
TOP = """
SELECT page, window_end, n, newest, place FROM (
  SELECT page, window_end, n, newest, row_number() OVER (PARTITION BY window_end ORDER BY n DESC, page) AS place FROM (
    SELECT page, window_end, count(*) AS n, max(id) AS newest
    FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY page, window_end))
WHERE place <= 10
"""


@dataclass(frozen=True)
class Case:
    """A question, how many views ask it, how many events come in a second, and how long they came before; and how many
    events another view is built anew over meanwhile.
    """

    name: str
    query: str
    views: int
    rate: int
    history: timedelta = timedelta()
    grace: str = "1 minute"
    keys: int = 100
    key: str = "page, window_end"
    execution: str = "settle"
    replayed: int = 0

    @property
    def declarations(self) -> str:
        """The stream and the views."""
        options = f"emit = 'changes', grace = '{self.grace}', key = '{self.key}', execution = '{self.execution}'"
        view = f"CREATE MATERIALIZED VIEW v{{}} WITH ({options}) AS {self.query};\n"
        topics = STREAM + (TABLE if " pages " in self.query else "") + (REPLAYED if self.replayed else "")
        return topics + "".join(view.format(number) for number in range(self.views))


CASES = (
    Case("one view, live", WINDOWS, 1, 1_000, execution="live"),
    Case("one view", WINDOWS, 1, 1_000),
    Case("four views", WINDOWS, 4, 1_000),
    Case("sixteen views, live", WINDOWS, 16, 1_000, execution="live"),
    Case("sixteen views", WINDOWS, 16, 1_000),
    Case("thirty-two views", WINDOWS, 32, 1_000),
    Case("one view, a replay", WINDOWS, 1, 1_000, replayed=5_000_000),
    Case("four views, a replay", WINDOWS, 4, 1_000, replayed=5_000_000),
    Case("sixteen views, a replay", WINDOWS, 16, 1_000, replayed=5_000_000),
    Case("four views, live, 10,000", WINDOWS, 4, 10_000, execution="live"),
    Case("four views, 10,000", WINDOWS, 4, 10_000),
    Case("rows, live", ROWS, 1, 1_000, key="newest", execution="live"),
    Case("rows", ROWS, 1, 1_000, key="newest"),
    Case("four views of rows", ROWS, 4, 1_000, key="newest"),
    Case("pairs, live", PAIRS, 1, 1_000, timedelta(minutes=1), "0 seconds", 20_000, "newest, before", "live"),
    Case("pairs", PAIRS, 1, 1_000, timedelta(minutes=1), "0 seconds", 20_000, "newest, before"),
    Case("sessions", SESSIONS, 1, 1_000, keys=20_000, key="page, window_start, window_end", grace="0 seconds"),
    Case("with a table of a million", ENRICHED, 1, 10_000, timedelta(), "0 seconds", 1_000_000, "newest"),
    Case("top 10 per window", TOP, 1, 2_000, timedelta(minutes=1), "5 seconds"),
    Case("pattern within 5 seconds", PATTERN.format(5), 1, 2_000, timedelta(), "0 seconds", key="newest"),
    Case("OVER 1 minute", OVER.format(1), 1, 2_000, timedelta(minutes=1), "0 seconds", 20_000, "newest"),
    Case("OVER 10 minutes", OVER.format(10), 1, 2_000, timedelta(minutes=10), "0 seconds", 20_000, "newest"),
)


class Watched:
    """When each commit was appended, how long each part of its way took, and when the subscriber had it.

    The parts of a commit add up to how long after the append its events were in the store; *notice* comes on top.
    """

    def __init__(self) -> None:
        self.appended: dict[int, tuple[float, float]] = {}
        self.numbered: dict[int, float] = {}
        self.newest: dict[int, int] = {}
        self.parts: list[tuple[float, float, float, float]] = []
        self.received: list[float] = []
        self.noticed: list[float] = []
        self._stored: dict[int, float] = {}
        self._read: dict[str, int] = {}
        self.warm = False
        self.warmed_after = 0.0
        self.steps = 0
        self.worked = 0.0
        self.replays = 0
        self.is_replayed = threading.Event()

    @property
    def stored(self) -> list[float]:
        """How long each commit took until it was in a store."""
        return [sum(parts) for parts in self.parts]

    def keeps_up(self, views: int) -> bool:
        """Tells whether all views are within two seconds of the newest commit."""
        read = [self._read[f"v{number}"] for number in range(views) if f"v{number}" in self._read]
        return len(read) == views and min(read) >= max(self.appended) - 2 * COMMITS

    def store(self, reading: Reading) -> None:
        """A batch is in the store."""
        if reading.view == "replayed":
            if reading.commits == reading.heads:
                self.is_replayed.set()
            return
        now, upto = time.time(), reading.commits.get("clicks", 0)
        for commit in range(self._read.get(reading.view, upto) + 1, upto + 1):
            if self.warm and commit in self.appended and reading.began_at is not None:
                before, after = self.appended[commit]
                began, writing = max(after, reading.began_at.timestamp()), reading.writing.total_seconds()
                self.parts.append((after - before, began - after, now - began - writing, writing))
                if reading.view == "v0":
                    self._stored[self.newest[commit]] = now
        self.steps += self.warm and upto > self._read.get(reading.view, upto)
        self._read[reading.view] = upto

    def receive(self, newest: int) -> None:
        """The subscriber has a batch whose newest event has this number."""
        if self.warm and newest in self.numbered:
            now = time.time()
            self.received.append(now - self.numbered[newest])
            if newest in self._stored:
                self.noticed.append(max(0.0, now - self._stored[newest]))

    def shares(self) -> dict[str, float]:
        """The mean of each part, in milliseconds."""
        parts = np.mean(self.parts, axis=0) if self.parts else np.zeros(len(PARTS) - 1)
        notice = float(np.mean(self.noticed)) if self.noticed else 0.0
        return {name: 1000 * float(value) for name, value in zip(PARTS, [*parts, notice], strict=True)}


@cache
def names(count: int) -> pa.Array:
    """The names of so many pages."""
    return pa.array([f"page-{place}" for place in range(count)])


def clicks(case: Case, first: int, at: np.ndarray[Any, Any]) -> pa.Table:
    """Events numbered from here on, at these microseconds."""
    ids = np.arange(first, first + len(at))
    pages = names(case.keys).take(pa.array(ids * 7919 % case.keys))
    price = pa.array(["1.25"]).cast(pa.decimal128(10, 2)).take(pa.array(np.zeros(len(at), dtype=np.int8)))
    return pa.table({"id": ids, "page": pages, "price": price, "at": pa.array(at).cast(pa.timestamp("us", "UTC"))})


def prepare(project: Project, case: Case) -> int:
    """Append the history, and catch up; how many events it has."""
    found = int(case.history.total_seconds() * case.rate)
    if "pages" in project.plan().topics:
        pages = names(case.keys)
        at = pa.array(np.full(len(pages), time.time_ns() // 1000 - 60_000_000)).cast(pa.timestamp("us", "UTC"))
        project.append("pages", pa.table({"page": pages, "title": pc.utf8_upper(pages), "changed_at": at}))
    for part in range(0, case.replayed, SOME):
        now = time.time_ns() // 1000
        at = now - 1_000_000 * (case.replayed - part) // 10_000 + np.arange(SOME) * 100  # ten thousand a second
        project.append("visits", clicks(case, part, at))
    if found:
        now, length = time.time_ns() // 1000, case.history // timedelta(microseconds=1)
        project.append("clicks", clicks(case, 0, np.linspace(now - length, now, found).astype(np.int64)))
    project.catch_up()
    return found


def append(project: Project, case: Case, first: int, watched: Watched, seconds: float) -> None:
    """Append at the rate, until as much was measured as half of so many seconds."""
    began, size, worked_before, half = time.perf_counter(), case.rate // COMMITS, 0.0, int(seconds * COMMITS / 2)
    number = measured = 0
    while measured < half:
        if not watched.warm and number > half and (watched.keeps_up(case.views) or number > LONGEST * COMMITS):
            watched.warm, worked_before, watched.warmed_after = True, worked(), time.perf_counter() - began
        measured += watched.warm
        rows = clicks(case, first + number * size, np.full(size, time.time_ns() // 1000))
        before, newest = time.time(), first + (number + 1) * size - 1
        watched.numbered[newest] = before
        commit = project.append("clicks", rows).commit
        watched.newest[commit] = newest
        watched.appended[commit] = (before, time.time())
        number += 1
        time.sleep(max(0.0, began + number / COMMITS - time.perf_counter()))
    watched.worked = worked() - worked_before


def replay(project: Project, watched: Watched, over: threading.Event) -> None:
    """Have the other view built anew, again and again, by the run that keeps it up to date."""
    while not over.wait(0.1):
        if watched.warm:
            watched.is_replayed.clear()
            project.admin.replay("replayed")
            while not over.is_set() and not watched.is_replayed.wait(0.1):
                pass
            watched.replays += watched.is_replayed.is_set()


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


def measure(case: Case, seconds: float) -> Watched:
    """One run."""
    watched, over = Watched(), threading.Event()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "headwater.toml").write_text('name = "freshness"\n[spark]\n"spark.master" = "local[2]"\n')
        (folder / "project.sql").write_text(case.declarations)
        with hw.open(folder) as project, open_server(project, ServeSettings(port=0, dashboard=False)) as server:
            first = prepare(project, case)
            listeners = hw.Listeners(progress=watched.store)
            running = threading.Thread(target=project.run, kwargs={"listeners": listeners, "stop": over})
            listening = threading.Thread(target=subscribe, args=(server.url, watched, over), daemon=True)
            running.start()
            listening.start()
            if case.replayed:
                threading.Thread(target=replay, args=(project, watched, over), daemon=True).start()
            append(project, case, first, watched, seconds)
            over.set()
            running.join()
    return watched


def main() -> None:
    """Print how fresh views are, then where the time goes; draw the latter if a file is named."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("seconds", nargs="?", type=float, default=60.0)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--plot", type=Path, help="An SVG file to draw where the time goes in.")
    wanted = arguments.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {COMMITS} commits/s; milliseconds")
    print(f"{'':32}{'events/s':>10}{'commits':>8}{'p50':>8}{'p90':>8}{'p99':>8}")
    shares, costs, warmed, replays = {}, {}, {}, {}
    for case in (found for found in CASES if found.name in (wanted.names or [found.name])):
        watched = measure(case, wanted.seconds)
        shares[case.name] = watched.shares()
        replays |= {case.name: watched.replays} if case.replayed else {}
        costs[case.name] = 1000 * watched.worked / max(watched.steps, 1)
        warmed[case.name] = watched.warmed_after
        for where, found in (("store", watched.stored), ("subscriber", watched.received)):
            shown = "".join(f"{value * 1000:8.0f}" for value in np.percentile(found, [50, 90, 99])) if found else ""
            print(f"{f'{case.name}, {where}':32}{case.rate:10,}{len(found):8}{shown}", flush=True)
    print(f"\nwhere the time goes, means{'':6}" + "".join(f"{name:>9}" for name in PARTS))
    for name, found in shares.items():
        print(f"{name:32}" + "".join(f"{value:9.0f}" for value in found.values()))
    print("\nprocessor time of all that runs, for each step of a view, ms")
    for name, spent in costs.items():
        print(f"{name:32}{spent:9.0f}")
    for name, count in replays.items():
        print(f"{name:32}{count:9} replays")
    print("\nseconds until all views kept up, or half of the run")
    for name, seconds in warmed.items():
        print(f"{name:32}{seconds:9.0f}")
    if wanted.plot:
        wanted.plot.write_text(stacked(shares, "ms"), encoding="utf-8")


if __name__ == "__main__":
    main()
