"""A server that goes away in the middle of a run: its view waits, the others go on, and nothing is lost or doubled.

With CHAOS_KILLS beyond 5 it is away for half a minute.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.project import Project
from tests.patience import until
from tests.servers.postgres import format_postgres
from tests.servers.process import free_port, running, server_folder
from tests.servers.redis import RedisServer
from tools import servers

IS_LONG = int(os.environ.get("CHAOS_KILLS", "1")) > 5
AWAY = 30
START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = """
name = "shop"
[stores.main]
url = "{url}"
[stores.local]
url = "sqlite:///views.db"
[catch_up]
attempts = 2
longest_backoff = "2 seconds"
[spark]
"spark.master" = "local[2]"
"""
SQL = """
CREATE STREAM sales (shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW kept WITH (store = 'main', emit = 'changes') AS SELECT shop, window_end, sum(amount) AS total
  FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW other WITH (store = 'local') AS SELECT shop, amount FROM sales;
"""
Serve = Callable[[], AbstractContextManager[object]]


@contextlib.contextmanager
def postgres() -> Iterator[tuple[str, Serve]]:
    program = servers.find("postgres")
    assert program is not None
    with format_postgres(program) as formatted:
        yield formatted.server.url, formatted.running


@contextlib.contextmanager
def redis() -> Iterator[tuple[str, Serve]]:
    program, server = servers.find("redis"), RedisServer(free_port())
    assert program is not None
    with server_folder() as folder:
        command = [program, "--port", str(server.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        command += ["--appendonly", "yes", "--appendfsync", "always"]

        def serve() -> AbstractContextManager[object]:
            return running(command, folder=folder, answers=lambda: server.command("PING") == "+PONG")

        yield server.url, serve


def sell(project: Project, number: int) -> None:
    at = [START + timedelta(seconds=3 * number + place) for place in range(3)]
    project.append("sales", [{"shop": "abc"[place], "amount": "1.50", "at": at[place]} for place in range(3)])


def rows(project: Project, view: str) -> int:
    version = project.views.served(view)
    return dict(version.position.commits).get("sales", 0) if version and version.position else 0


@pytest.mark.skipif(not IS_LONG, reason="it takes minutes; stores meet lost connections in tests of their own")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", [postgres, redis])
def test_a_server_that_is_away_for_half_a_minute_is_waited_for(
    kind: Callable[[], AbstractContextManager[tuple[str, Serve]]], tmp_path: Path, spark: SparkSession
) -> None:
    notes: list[str] = []
    stop = threading.Event()
    with kind() as (url, serve), contextlib.ExitStack() as up:
        up.enter_context(serve())
        (tmp_path / "headwater.toml").write_text(SETTINGS.format(url=url))
        (tmp_path / "shop.sql").write_text(SQL)
        with hw.open(tmp_path) as project:
            sell(project, 0)
            follow = threading.Thread(
                target=project.run,
                kwargs={"progress": lambda found: notes.append(found.note) if found.note else None, "stop": stop},
            )
            follow.start()
            try:
                until(lambda: rows(project, "kept") == rows(project, "other") == project.log.head("sales"))
                up.close()
                back = time.monotonic() + AWAY
                for number in range(1, 20):
                    sell(project, number)
                    time.sleep(1)
                until(lambda: rows(project, "other") == project.log.head("sales"))
                assert notes and follow.is_alive()
                time.sleep(max(0, back - time.monotonic()))
                up.enter_context(serve())
                until(lambda: rows(project, "kept") == project.log.head("sales"))
            finally:
                stop.set()
                follow.join(60)
            for view in ("kept", "other"):
                assert project.verify(view).identical
                assert project.views.ledger(view).remainder == 0
