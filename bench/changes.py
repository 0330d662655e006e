"""Changes of tables in a database: how many come into the log in a second, and how long one takes.

`python -m bench.changes postgres mariadb`: a snapshot of so many rows; then as many changes as were made while nothing
was read; then changes at a steady rate, whose lag is the time from before their transaction was committed to when a
reader of the log has them.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pymysql

import headwater as hw
from tests.servers.mariadb import start_mariadb
from tests.servers.postgres import start_postgres
from tools import servers

ROWS = int(os.environ.get("ROWS", "100000"))
RATE, EACH, SECONDS = 500, 5, 15
INTAKE = (sys.executable, "-c", "from headwater.cli import main; main()", "intake")
TABLE = "CREATE TABLE items (id int PRIMARY KEY, n int, sent_at double precision, note varchar(80))"
DECLARED = "id INT PRIMARY KEY, n INT, sent_at DOUBLE, note STRING"
Run = Callable[[str], None]


@contextlib.contextmanager
def postgres() -> Iterator[tuple[str, Run]]:
    """An address, and what runs a statement."""
    program = servers.find("postgres")
    assert program is not None
    with start_postgres(program) as server, psycopg.connect(server.url, autocommit=True) as connection:
        yield server.url, lambda statement: connection.execute(statement.encode()) and None


@contextlib.contextmanager
def mariadb() -> Iterator[tuple[str, Run]]:
    """An address, and what runs a statement."""
    program = servers.find("mariadb")
    assert program is not None
    with start_mariadb(program) as server, contextlib.closing(server.connect()) as connection:
        connection.cursor().execute("CREATE DATABASE bench")
        connection.select_db("bench")
        yield f"{server.url}/bench", lambda statement: run(connection, statement)


def run(connection: pymysql.Connection, statement: str) -> None:
    """Run a statement, or several in one transaction."""
    for part in statement.split(";"):
        connection.cursor().execute(part)


def inserted(first: int, count: int) -> str:
    """A statement that adds rows."""
    rows = (f"({number}, {number}, {time.time()}, 'a note of {number}')" for number in range(first, first + count))
    return f"INSERT INTO items VALUES {', '.join(rows)}"


def measure(name: str, url: str, execute: Run) -> None:
    """Print the figures of a database."""
    execute(TABLE)
    for first in range(0, ROWS, 1000):
        execute(inserted(first, 1000))
    connector = {"postgres": "postgres", "mariadb": "mysql"}[name]
    os.environ["BENCH_DB"] = url
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "headwater.toml").write_text('name = "bench"')
        source = f"connector = '{connector}', url = '${{BENCH_DB}}', table = 'items', commit_every = '50 milliseconds'"
        Path(folder, "items.sql").write_text(f"CREATE TABLE items ({DECLARED}) WITH ({source});")
        print(f"{name}: snapshot of {ROWS:,} rows: {ROWS / took(folder):,.0f} rows/s, with the start")
        for first in range(0, ROWS, 100):
            execute(f"UPDATE items SET n = n + 1 WHERE id >= {first} AND id < {first + 100}")
        print(f"{name}: {ROWS:,} changes in {ROWS // 100:,} transactions: {ROWS / took(folder):,.0f}/s, with the start")
        lags = steady(folder, execute)
        told = statistics.quantiles(lags, n=100)
        print(f"{name}: {RATE} changes/s for {SECONDS} s: lag p50 {told[49] * 1000:.0f}, p99 {told[98] * 1000:.0f} ms")


def took(folder: str) -> float:
    """The time in which what is there is taken in."""
    with hw.open(folder) as project:
        begun = time.perf_counter()
        project.take_in()
        return time.perf_counter() - begun


def steady(folder: str, execute: Run) -> list[float]:
    """The lags of changes that are made at a steady rate, in seconds."""
    lags: list[float] = []
    with subprocess.Popen(INTAKE, cwd=folder) as process, hw.open(folder) as project:
        try:
            since = int(project.read("items")["_commit"].to_numpy().max()) + 1
            execute(inserted(ROWS, 1))
            while not project.read("items", since=since).num_rows:
                time.sleep(0.05)
            since += 1
            writer = threading.Thread(target=write, args=(execute,))
            writer.start()
            while writer.is_alive() or len(lags) < RATE * SECONDS:
                rows = project.read("items", since=since)
                now = time.time()
                if rows.num_rows:
                    lags += [now - sent for sent in rows["sent_at"].to_pylist()]
                    since = int(rows["_commit"].to_numpy().max()) + 1
                time.sleep(0.002)
            writer.join()
        finally:
            process.kill()
    return lags


def write(execute: Run) -> None:
    """Make changes at a steady rate."""
    begun = time.monotonic()
    for number in range(RATE * SECONDS // EACH):
        time.sleep(max(0.0, begun + number * EACH / RATE - time.monotonic()))
        execute(inserted(ROWS + 1 + number * EACH, EACH))


def main() -> None:
    """Measure the databases that are named, or both."""
    for name, database in {"postgres": postgres, "mariadb": mariadb}.items():
        if name in sys.argv[1:] or not sys.argv[1:]:
            with database() as (url, execute):
                measure(name, url, execute)


if __name__ == "__main__":
    main()
