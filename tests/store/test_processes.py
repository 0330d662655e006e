"""Real processes that are killed: afterwards the store has exactly the batches that were applied.

A nursery is a process that has everything imported and forks a child for each line it is sent, which saves the second
that a process takes to start. It touches no Arrow data itself, so it has no threads that a fork would lose.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from headwater.errors import StoreUnavailable
from headwater.model import Store as Declared
from headwater.store import Batch, Store, open_store
from headwater.testing.conformance.targets import SPEND, batch

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
PRELUDE = """
import json, os, signal, sqlite3, sys
import headwater.store.delta.declared, headwater.store.postgres.declared, headwater.store.redis.declared, psycopg, redis
from tests.store.test_processes import numbered, opened, patiently
from headwater.testing.conformance.targets import SPEND

def say(*words):  # in one piece, which a kill doesn't tear, whether or not Python's own output is buffered
    os.write(1, (" ".join(map(str, words)) + chr(10)).encode())
"""
NURSERY = """
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        live(*line.split())
        os._exit(0)
    say("child", child)
    say("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
LIVES = max(10, int(os.environ.get("CHAOS_KILLS", "1")))
DATABASES = count(1)
"""Of Redis: the number of one that nothing is in."""
EACH = 6
"""How many rows batch N adds; it also corrects those of batch N − 1 and deletes one of batch N − 2."""


def opened(url: str) -> Store:
    options = (("silence_timeout", "2 seconds"),) if url.startswith("postgresql") else ()
    return open_store(Declared(name="main", url=url, options=options), ROOT)


@pytest.fixture(params=["sqlite", "postgres", "redis", "delta"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is that nothing is in yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/views.db"
    if request.param == "delta":
        return f"delta://{tmp_path}/lake"
    if request.param == "redis":
        return str(request.getfixturevalue("redis_server").url).removesuffix("0") + str(next(DATABASES))
    server = request.getfixturevalue("postgres_server")
    name = f"killed_{uuid.uuid4().hex}"
    server.query(f"CREATE DATABASE {name}")
    return str(server.url).removesuffix("postgres") + name


def patiently(step: Callable[[], T]) -> T:
    """Do a step as a run does: again while the store is not available, such as for a server that was kept waiting."""
    while True:
        try:
            return step()
        except StoreUnavailable:
            time.sleep(0.01)


def numbered(number: int) -> Batch:
    added = [(f"{number}-{place}", number, 1) for place in range(EACH)]
    corrected = [(f"{number - 1}-{place}", number - 1, 2) for place in range(EACH)] if number else []
    deleted = [(f"{number - 2}-0", number - 2)] if number > 1 else []
    return batch(number, [*added, *corrected], deleted, rows_in=EACH)


def expected(last: int) -> set[tuple[str, int, str]]:
    """The table after batch `last`, by its definition."""
    return {
        (f"{number}-{place}", number, "1.00" if number == last else "2.00")
        for number in range(last + 1)
        for place in range(EACH)
        if not (place == 0 and number <= last - 2)
    }


def check(url: str, at_least: int) -> int:
    """That the store has exactly the batches up to its position; the position's batch.

    A server may still be at work for a client that is dead: taking the next epoch waits for that.
    """
    with closing(opened(url)) as store:
        patiently(lambda: store.open(SPEND, "plan"))
        position = store.position("spend", 1)
        last = -1 if position is None else position.batch
        assert last >= at_least, "what was acknowledged is there"
        rows = store.read("spend", 1).to_pylist()
        found = [(row["card"], row["minute"], str(row["spent"])) for row in rows]
        assert len(found) == len(set(found))
        assert set(found) == expected(last)
        assert store.ledger("spend", 1) == ({"rows_in": EACH * (last + 1)} if last >= 0 else {})
        assert [found["batch"][0].as_py() for found in store.changes("spend", 1)] == list(range(last + 1))
    return last


def command(script: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", PRELUDE + textwrap.dedent(script), *map(str, arguments)]


@contextmanager
def nursery(live: str) -> Iterator[tuple[Callable[..., None], Callable[[], list[str]]]]:
    """Children that run `live(*arguments)`: a function that starts one, and one that reads the next line."""
    arguments = command(textwrap.dedent(live) + NURSERY)
    with subprocess.Popen(arguments, text=True, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        told, heard = process.stdin, process.stdout
        assert told is not None and heard is not None
        yield lambda *line: print(*line, file=told, flush=True), lambda: heard.readline().split()
        told.close()


@pytest.mark.timeout(300 + 6 * LIVES)
def test_kill_9_at_any_moment_leaves_exactly_the_batches_that_were_applied(url: str) -> None:
    live = """
    def live(url):
        store = opened(url)
        epoch = patiently(lambda: store.open(SPEND, "plan"))
        position = store.position("spend", 1)
        number = 0 if position is None else position.batch  # the last one again: a retry
        while True:
            patiently(lambda: store.apply(SPEND, epoch, numbered(number)))
            say("applied", number)
            number += 1
    """
    last = -1
    with nursery(live) as (start, line):
        for life in range(LIVES):
            start(url)
            child, acknowledged = None, []
            while child is None or (life % 2 and len(acknowledged) < 2):  # every other one is killed while it starts
                word, number = line()
                assert word != "ended", "it failed by itself, and says why on standard error"
                child = int(number) if word == "child" else child
                acknowledged += [int(number)] if word == "applied" else []
            time.sleep(0.001 * life)
            os.kill(child, signal.SIGKILL)
            while (told := line())[0] != "ended":
                acknowledged.append(int(told[1]))
            last = check(url, max([last, *acknowledged]))
    assert last >= LIVES // 2, "a life that got to apply two batches got further than the one before"


COUNTED = """
left = {"statements": -1}

def passes():
    left["statements"] -= 1
    if left["statements"] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(function):
    def call(*arguments, **options):
        passes()
        return function(*arguments, **options)
    return call

connect = sqlite3.connect

def counting(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(lambda statement: passes())
    return connection

def live(url, statements):
    sqlite3.connect = counting
    psycopg.Connection.execute = counted(psycopg.Connection.execute)
    psycopg.Copy.write = counted(psycopg.Copy.write)
    psycopg.Copy.finish = counted(psycopg.Copy.finish)
    os.fsync, os.link, os.unlink = counted(os.fsync), counted(os.link), counted(os.unlink)
    headwater.store.redis.DIRECT = 0  # what is handed to the script at once has no steps between
    connection = redis.connection.AbstractConnection
    connection.send_packed_command = counted(connection.send_packed_command)
    connection.read_response = counted(connection.read_response)
    store = opened(url)
    epoch = store.open(SPEND, "plan")
    for number in range(2):
        store.apply(SPEND, epoch, numbered(number))
    left["statements"] = int(statements)
    store.apply(SPEND, epoch, numbered(2))
"""
FEWEST = {"sqlite": 4 * EACH, "postgresql": 15, "redis": 4, "delta": 7}
"""How many statements a batch takes at least: in SQLite also between rows, and between a row and its change. In a
folder of Delta tables a statement is a file or folder that is synced, or a file that is given its name or deleted."""


def test_a_crash_between_any_two_statements_leaves_a_batch_whole_or_not_at_all(url: str) -> None:
    """A process kills itself before the n-th statement of an `apply`, for every n; the next tries the batch again."""
    statements, end = 0, -signal.SIGKILL
    # what was sent to Redis happens, whoever waits for an answer; a Delta table's entry has its name before it is told
    killed = (1, 2) if url.startswith(("redis", "delta")) else (1,)
    with nursery(COUNTED) as (start, line):
        while end == -signal.SIGKILL:
            statements += 1
            start(url, statements)
            assert line()[0] == "child"
            end = int(line()[1])
            assert check(url, 1) in (killed if end else (2,)), "nothing of the batch, or all of it"
    assert end == 0
    assert statements > FEWEST[url.partition(":")[0]]
