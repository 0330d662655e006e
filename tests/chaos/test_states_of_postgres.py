"""No reader ever sees a state that PostgreSQL never had: views, tables and statements over them are read all the time.

Writers commit one after the other, and each notes what every view is in PostgreSQL itself behind its transaction. So
all states that there ever were are known, in their order. Meanwhile `headwater run` is killed and the server restarted,
and readers read: each read must be one of these states, not one from before what its reader had seen. It is left to
`make chaos`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import headwater as hw
from headwater.errors import HeadwaterError
from headwater.testing.history import History, Read, Write, check_history
from tests.chaos.test_postgres import Server
from tests.chaos.test_views_of_postgres import (
    IN_VAIN,
    JOINED,
    KILLS,
    SEED,
    TABLES,
    VIEWS,
    Values,
    declared,
    differences,
    in_order,
    kill_after,
    start,
)
from tests.chaos.test_views_of_postgres import statement as some_statement
from tests.intake.postgres.shop import Database, Shop
from tests.patience import until
from tests.servers.postgres import format_postgres
from tools import servers

WRITERS, TRANSACTIONS = 4, 40
CHOSEN = {
    name: VIEWS[name]
    for name in (
        *("open_ones", "per_kind", "all_in_all", "largest", "running", "inner_pairs", "full_pairs", "not_in"),
        *("per_region", "flows", "net", "numbers", "per_owner", "regions_by_size", "richest", "richest_per_region"),
    )
}
"""Views of every way in which they are kept up to date: all of them would begin too slowly to be killed often."""
TABLES_READ = {name: f"SELECT * FROM {name}" for name in TABLES}
STATEMENTS = {
    "a statement over two tables": f"SELECT a.id, a.balance, o.region, o.level {JOINED}",
    "a statement over three tables": "SELECT (SELECT count(*) FROM accounts) AS a, (SELECT count(*) FROM owners) AS o, "
    "(SELECT sum(amount) FROM moves) AS m",
}
ASKED = {**TABLES_READ, **STATEMENTS, **{name: f"SELECT * FROM {name}" for name in CHOSEN}}


class States:
    """What is asked, as it was in PostgreSQL behind each transaction; who commits has it for itself."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.writes: dict[str, list[Write]] = {name: [] for name in ASKED}
        self._alone = threading.Lock()
        self.note()

    def note(self) -> None:
        """Note the states while nobody writes."""
        with psycopg.connect(self.database.url) as connection:
            self._note(time.monotonic(), self._behind(connection))

    def commit(self, connection: psycopg.Connection[Any]) -> None:
        """Commit, and note the states; after a loss of the connection the server is asked what became of it."""
        with self._alone:
            states, began = self._behind(connection), time.monotonic()
            ((transaction,),) = connection.execute("SELECT pg_current_xact_id()::text").fetchall()
            try:
                connection.commit()
            except psycopg.OperationalError:
                if not self._was_committed(transaction):
                    raise
            self._note(began, states)

    def _behind(self, connection: psycopg.Connection[Any]) -> dict[str, Values]:
        """What is asked as this transaction sees it, of which nobody else commits meanwhile."""
        return {name: in_order(connection.execute(query.encode()).fetchall()) for name, query in ASKED.items()}

    def _note(self, began: float, states: dict[str, Values]) -> None:
        for name, rows in states.items():
            self.writes[name].append(Write(began, None, frozenset(rows)))

    def _was_committed(self, transaction: str) -> bool:
        while True:
            with suppress(psycopg.OperationalError):
                told = self.database.rows(f"SELECT pg_xact_status('{transaction}'::xid8)")
                return told == [("committed",)]
            time.sleep(0.1)


class Writer(threading.Thread):
    """A client of the database that does by chance what clients do, and begins anew where the server was away."""

    def __init__(self, states: States, seed: int) -> None:
        super().__init__()
        self._states, self._chance = states, random.Random(seed)

    def run(self) -> None:
        done = 0
        while done < TRANSACTIONS:
            with suppress(psycopg.OperationalError), psycopg.connect(self._states.database.url) as connection:
                while done < TRANSACTIONS:
                    done += 1
                    self._transaction(connection)
                    time.sleep(self._chance.uniform(0, 0.2))

    def _transaction(self, connection: psycopg.Connection[Any]) -> None:
        try:
            for _ in range(self._chance.choice((1, 1, 2, 8))):
                connection.execute(some_statement(self._chance).encode())
        except IN_VAIN:
            connection.rollback()
            return
        if self._chance.random() < 0.1:
            connection.rollback()
        else:
            self._states.commit(connection)


class Reader(threading.Thread):
    """Reads one after the other, until it is told to stop; what isn't there yet is asked for again."""

    def __init__(self, folder: Path, name: str, asked: list[str]) -> None:
        super().__init__()
        self._folder, self._name, self._asked = folder, name, asked
        self._is_over = threading.Event()
        self.reads: dict[str, list[Read]] = {name: [] for name in asked}
        self.failures: list[str] = []

    def run(self) -> None:
        with hw.open(self._folder) as project:
            while not self._is_over.is_set():
                for asked in self._asked:
                    self._read(project, asked)

    def _read(self, project: hw.Project, asked: str) -> None:
        began = time.monotonic()
        try:
            rows = [tuple(row.values()) for row in project.query(ASKED[asked]).to_pylist()]
        except HeadwaterError as failure:  # a view that was not built yet, tables without a common cut
            self.failures.append(f"{asked}: {failure.summary}")
            return
        self.reads[asked].append(Read(f"{self._name} {asked}", began, time.monotonic(), in_order(rows)))

    def end(self) -> None:
        """Let it end, and wait for it."""
        self._is_over.set()
        self.join()


@contextmanager
def reading(folder: Path) -> Iterator[list[Reader]]:
    """Readers at work: of views, in two orders, and of tables."""
    views = list(CHOSEN)
    readers = [
        Reader(folder, "first", views),
        Reader(folder, "second", views[::-1]),
        Reader(folder, "of tables", [*TABLES_READ, *STATEMENTS]),
    ]
    for reader in readers:
        reader.start()
    try:
        yield readers
    finally:
        for reader in readers:
            reader.end()


def is_like_postgres(shop: Shop) -> bool:
    """Tells whether all views are there, and as they are in PostgreSQL."""
    with shop.opened() as project, suppress(HeadwaterError):
        return not differences(shop, project, CHOSEN)
    return False


def work(shop: Shop, server: Server, states: States, chance: random.Random) -> None:
    """Writers, a run that is killed, and a server that is restarted."""
    process = start(shop, "run", "--no-serve")
    try:
        until(lambda: is_like_postgres(shop))
        writers = [Writer(states, chance.randrange(1 << 30)) for _ in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(chance.uniform(1, 6))
        if chance.random() < 0.5:
            server.restart()
            time.sleep(chance.uniform(0, 4))
        kill_after(process, 0)
        process = start(shop, "run", "--no-serve")
        time.sleep(chance.uniform(0, 8))
        server.restart()
        for writer in writers:
            writer.join()
        until(lambda: is_like_postgres(shop))
        assert process.poll() is None
    finally:
        kill_after(process, 0)


@pytest.mark.timeout(600 + 300 * KILLS)
@pytest.mark.skipif(KILLS == 0, reason="left to make chaos")
def test_every_read_is_a_state_that_postgresql_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = servers.find("postgres")
    assert program is not None, "run `make servers`"
    chance = random.Random(SEED)
    with format_postgres(program) as formatted:
        server = Server(formatted)
        database = Database(server.url)
        monkeypatch.setenv("SHOP_DB", database.url)
        shop = declared(database, tmp_path, CHOSEN)
        states = States(database)
        database.run(*(some_statement(chance) for _ in range(50)))
        states.note()
        try:
            with reading(tmp_path) as readers:
                for _ in range(KILLS):
                    work(shop, server, states, chance)
        finally:
            server.stop()
    histories = {
        asked: History(writes, [read for reader in readers for read in reader.reads.get(asked, ())])
        for asked, writes in states.writes.items()
    }
    assert {asked: len(history.reads) for asked, history in histories.items() if len(history.reads) < 10} == {}
    anomalies = {asked: [str(one) for one in check_history(history)] for asked, history in histories.items()}
    assert {asked: told for asked, told in anomalies.items() if told} == {}
