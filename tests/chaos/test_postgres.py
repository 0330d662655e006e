"""Tables of PostgreSQL under writers, with the intake killed and the server restarted: they are what the source is.

Four writers insert, update, delete and change keys in transactions, by chance, while `headwater intake` takes in, is
killed again and again and started again, and now and then the server is restarted in the middle. At every quiet
point each table equals `SELECT *` of the source; the last time a process that has lived through a restart comes there
by itself.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.intake.postgres.shop import Database, Shop
from tests.patience import until
from tests.servers.postgres import FormattedPostgres, format_postgres
from tools import servers

KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "intake")
TABLES = ("accounts", "notes")
WRITERS = 4
KEYS = 60


class Writer:
    """A client of the shop's database that does by chance what clients do."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._chance = random.Random(SEED * 100 + number)

    def work(self, transactions: int) -> None:
        """Make so many transactions, some of them in vain; a server that is away is waited for."""
        done = 0
        while done < transactions:
            with suppress(psycopg.OperationalError), psycopg.connect(self._database.url) as connection:
                while done < transactions:
                    self._transaction(connection)
                    done += 1

    def _transaction(self, connection: psycopg.Connection) -> None:
        chance = self._chance
        try:
            for _ in range(chance.choice((1, 1, 2, 5, 40))):
                connection.execute(self._statement())
            if chance.random() < 0.1:
                connection.rollback()
            connection.commit()
        except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
            connection.rollback()

    def _statement(self) -> bytes:
        chance = self._chance
        key, other, number = chance.randrange(KEYS), chance.randrange(KEYS), chance.randrange(1000)
        long = f"(SELECT string_agg(md5((n + {number})::text), '') FROM generate_series(1, 120) n)"
        ways = (
            f"INSERT INTO accounts VALUES ({key}, {number}) ON CONFLICT (id) DO UPDATE SET balance = {number}",
            f"UPDATE accounts SET balance = balance + 1 WHERE id IN ({key}, {other})",
            f"UPDATE accounts SET id = {other} WHERE id = {key}",
            f"DELETE FROM accounts WHERE id = {key}",
            f"INSERT INTO notes VALUES ('k{key}', {number}, {long}) ON CONFLICT (k) DO NOTHING",
            f"UPDATE notes SET n = {number} WHERE k = 'k{key}'",
            f"UPDATE notes SET k = 'k{other}' WHERE k = 'k{key}'",
            f"DELETE FROM notes WHERE k = 'k{other}'",
        )
        rare = ("TRUNCATE notes", f"UPDATE accounts SET balance = {number}")
        return chance.choice(rare if chance.random() < 0.004 else ways).encode()


@contextmanager
def writing(database: Database, transactions: int) -> Iterator[None]:
    """Writers at work meanwhile; all of them have ended behind the block."""
    writers = [Writer(database, number + random.randrange(1 << 20)) for number in range(WRITERS)]
    threads = [threading.Thread(target=writer.work, args=(transactions,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


class Server:
    """A server that can be restarted."""

    def __init__(self, formatted: FormattedPostgres) -> None:
        self._formatted = formatted
        self._running = formatted.running()
        self.url = self._running.__enter__().url

    def stop(self) -> None:
        programs, data = self._formatted.server.programs, self._formatted.folder / "data"
        stop = [programs / "pg_ctl", "stop", "--mode", "fast", "--wait", "--pgdata", data]
        subprocess.run(stop, check=True, capture_output=True, user=self._formatted.user)
        self._running.__exit__(None, None, None)

    def restart(self) -> None:
        self.stop()
        self._running = self._formatted.running()
        self._running.__enter__()


def start(shop: Shop) -> subprocess.Popen[bytes]:
    with (shop.folder / "output").open("ab") as output:
        return subprocess.Popen(COMMAND, cwd=shop.folder, stdout=output, stderr=output)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def differences(shop: Shop) -> list[str]:
    """The tables that aren't what the source is."""
    found = []
    with shop.opened() as project:
        for name in TABLES:
            source = sorted(shop.database.rows(f"SELECT * FROM {name}"), key=str)
            rows = project.query(f"SELECT * FROM {name}").to_pylist()
            if sorted((tuple(row.values()) for row in rows), key=str) != source:
                found.append(name)
    return found


@pytest.mark.timeout(300 + 60 * KILLS)
def test_tables_are_what_the_source_is_whatever_is_killed_or_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = servers.find("postgres")
    assert program is not None, "run `make servers`"
    chance = random.Random(SEED)
    random.seed(SEED)
    with format_postgres(program) as formatted:
        server = Server(formatted)
        database = Database(server.url)
        monkeypatch.setenv("SHOP_DB", database.url)
        database.run(
            "CREATE TABLE accounts (id int PRIMARY KEY, balance int)",
            "CREATE TABLE notes (k text PRIMARY KEY, n int, long text)",
            "INSERT INTO accounts SELECT n, n FROM generate_series(0, 30) n",
        )
        shop = Shop(database, tmp_path)
        shop.declare("accounts", "id INT PRIMARY KEY, balance INT")
        shop.declare("notes", "k STRING PRIMARY KEY, n INT, long STRING")
        try:
            for _ in range(KILLS):
                process = start(shop)
                with writing(database, 60):
                    time.sleep(chance.uniform(0, 8))  # a moment that chance decides
                    if chance.random() < 0.3:
                        server.restart()
                    kill(process)
                shop.take_in()
                assert differences(shop) == []
            process = start(shop)
            try:
                with writing(database, 200):
                    time.sleep(chance.uniform(2, 8))
                    server.restart()
                until(lambda: not differences(shop))
                assert process.poll() is None
            finally:
                kill(process)
        finally:
            server.stop()
