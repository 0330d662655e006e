"""Tables of MariaDB under writers, with the intake killed and the server killed: they are what the source is.

Four writers insert, update, delete and change keys in transactions, by chance, while `headwater intake` takes in, is
killed again and again and started again, and now and then the server is killed in the middle. At every quiet point each
table equals `SELECT *` of the source.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pymysql
import pytest

from tests.intake.mysql.shop import Database, Shop, table_rows
from tests.patience import until
from tests.servers.mariadb import FormattedMariadb, format_mariadb
from tools import servers

KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "intake")
TABLES = ("accounts", "notes")
WRITERS = 4
KEYS = 60
DURABLE = ("--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--max-binlog-size=16384")
"""A server that forgets what it has told when it is killed would tell something else afterwards."""


class Writer:
    """A client of the shop's database that does by chance what clients do."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._chance = random.Random(SEED * 100 + number)

    def work(self, transactions: int) -> None:
        """Make so many transactions, some of them in vain; a server that is away is waited for."""
        done = 0
        while done < transactions:
            with suppress(pymysql.OperationalError, OSError), closing(self._database.connect()) as connection:
                while done < transactions:
                    self._transaction(connection)
                    done += 1
            time.sleep(0.02)

    def _transaction(self, connection: pymysql.Connection) -> None:
        chance = self._chance
        connection.begin()
        try:
            with connection.cursor() as cursor:
                for _ in range(chance.choice((1, 1, 2, 5, 40))):
                    cursor.execute(self._statement())
            if chance.random() < 0.1:
                connection.rollback()
            connection.commit()
        except pymysql.IntegrityError:
            connection.rollback()

    def _statement(self) -> str:
        chance = self._chance
        key, other, number = chance.randrange(KEYS), chance.randrange(KEYS), chance.randrange(1000)
        ways = (
            f"REPLACE INTO accounts VALUES ({key}, {number})",
            f"INSERT INTO accounts VALUES ({key}, {number}) ON DUPLICATE KEY UPDATE balance = {number}",
            f"UPDATE accounts SET balance = balance + 1 WHERE id IN ({key}, {other})",
            f"UPDATE accounts SET id = {other} WHERE id = {key}",
            f"DELETE FROM accounts WHERE id = {key}",
            f"INSERT IGNORE INTO notes VALUES ('k{key}', {number}, repeat('ü{number}', 900))",
            f"UPDATE notes SET n = {number} WHERE k = 'k{key}'",
            f"UPDATE notes SET k = 'k{other}' WHERE k = 'k{key}'",
            f"DELETE FROM notes WHERE k = 'k{other}'",
        )
        rare = ("TRUNCATE notes", f"UPDATE accounts SET balance = {number}")
        return chance.choice(rare if chance.random() < 0.004 else ways)


@contextmanager
def writing(database: Database, chance: random.Random, transactions: int) -> Iterator[None]:
    """Writers at work meanwhile; all of them have ended behind the block."""
    writers = [Writer(database, chance.randrange(1 << 20)) for _ in range(WRITERS)]
    threads = [threading.Thread(target=writer.work, args=(transactions,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


class Server:
    """A server that is killed and started again."""

    def __init__(self, formatted: FormattedMariadb) -> None:
        self._formatted = formatted
        self._start()

    def _start(self) -> None:
        self._open = ExitStack()
        self.server = self._open.enter_context(self._formatted.running(*DURABLE))

    def restart(self) -> None:
        """Kill it and start it again."""
        pid = int((self._formatted.folder / "pid").read_text())
        os.kill(pid, 9)
        self.stop()
        self._start()

    def stop(self) -> None:
        """End it."""
        self._open.close()


def start(shop: Shop) -> subprocess.Popen[bytes]:
    with (shop.folder / "output").open("ab") as output:
        return subprocess.Popen(COMMAND, cwd=shop.folder, stdout=output, stderr=output)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def differences(shop: Shop) -> list[str]:
    """The tables that aren't what the source is."""
    with shop.opened() as project:
        return [
            name
            for name in TABLES
            if table_rows(project, name) != sorted(shop.database.rows(f"SELECT * FROM {name}"), key=str)
        ]


@pytest.mark.timeout(300 + 60 * KILLS)
def test_tables_are_what_the_source_is_whatever_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = servers.find("mariadb")
    assert program is not None, "run `make servers`"
    chance = random.Random(SEED)
    with format_mariadb(program) as formatted:
        server = Server(formatted)
        database = Database(server.server)
        monkeypatch.setenv("SHOP_DB", database.url)
        database.run(
            "CREATE TABLE accounts (id int PRIMARY KEY, balance int)",
            "CREATE TABLE notes (k varchar(9) PRIMARY KEY, n int, long_one mediumtext)",
            "INSERT INTO accounts SELECT seq, seq FROM seq_0_to_30",
        )
        shop = Shop(database, tmp_path)
        shop.declare("accounts", "id INT PRIMARY KEY, balance INT")
        shop.declare("notes", "k STRING PRIMARY KEY, n INT, long_one STRING")
        try:
            for number in range(KILLS):
                process = start(shop)
                with writing(database, chance, 60):
                    time.sleep(chance.uniform(0, 4))  # a moment that chance decides
                    if number % 3 == 1:
                        server.restart()
                    kill(process)
                shop.take_in()
                assert differences(shop) == []
            process = start(shop)
            try:
                with writing(database, chance, 200):
                    time.sleep(chance.uniform(1, 4))
                    server.restart()
                until(lambda: not differences(shop))
                assert process.poll() is None
            finally:
                kill(process)
        finally:
            server.stop()
