"""Business transactions with an outbox, with the intake killed: exactly the committed events come, each once.

Several writers change orders in transactions that take a while, a twentieth of which is rolled back, while `headwater
intake` takes in, by a slot or by queries, and is killed again and again. The events of one order come in the order in
which they were committed.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import defaultdict
from pathlib import Path

import psycopg
import pytest

import headwater as hw
from tests.chaos.test_postgres import KILLS, SEED, kill, start
from tests.intake.postgres.shop import Database, Shop
from tests.servers.postgres import PostgresServer

EVENTS = int(os.environ.get("CHAOS_EVENTS", "200"))
"""The business transactions of all writers together."""
WRITERS = 4
ORDERS = 10
OUTBOX = hw.Outbox()


class Writer:
    """A client that changes orders, and says so in the outbox. `committed` are its events."""

    def __init__(self, database: Database, number: int, transactions: int) -> None:
        self._database, self._number, self._transactions = database, number, transactions
        self._chance = random.Random(SEED * 100 + number)
        self.committed: list[str] = []

    def work(self) -> None:
        with psycopg.connect(self._database.url) as connection:
            for at in range(self._transactions):
                self._transaction(connection, f"{self._number}-{at}")

    def _transaction(self, connection: psycopg.Connection, key: str) -> None:
        chance = self._chance
        if chance.random() < 0.3:  # an xid long before the order is changed, or after it
            connection.execute("SELECT pg_current_xact_id()")
            time.sleep(chance.uniform(0, 0.01))
        order = chance.randrange(ORDERS)
        query = "UPDATE orders SET version = version + 1 WHERE id = %s RETURNING version"
        found = connection.execute(query, [order]).fetchone()
        assert found is not None
        OUTBOX.send(connection, "order", order, "changed", {"id": order, "version": found[0]}, id=key)
        if chance.random() < 0.1:
            time.sleep(chance.uniform(0, 0.02))
        if chance.random() < 0.05:
            connection.rollback()
            return
        connection.commit()
        self.committed.append(key)


@pytest.mark.parametrize("polled", [False, True], ids=["slot", "queries"])
@pytest.mark.timeout(300 + 60 * KILLS + EVENTS // 10)
def test_the_events_of_committed_transactions_come_once_whatever_is_killed(
    polled: bool, postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(SEED)
    database = Database(postgres_server.url)
    monkeypatch.setenv("SHOP_DB", database.url)
    database.run(
        OUTBOX.definition,
        "CREATE TABLE orders (id int PRIMARY KEY, version int)",
        f"INSERT INTO orders SELECT n, 0 FROM generate_series(0, {ORDERS - 1}) n",
    )
    shop = Shop(database, tmp_path)
    columns = "event_id STRING, id INT, version INT"
    shop.stream("changes", columns, "outbox = 'order', message_id = 'event_id'", polled=polled)
    shop.take_in()
    writers = [Writer(database, number, EVENTS // WRITERS) for number in range(WRITERS)]
    threads = [threading.Thread(target=writer.work) for writer in writers]
    try:
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            process = start(shop)
            time.sleep(chance.uniform(1, 8))  # a moment that chance decides
            kill(process)
            if not polled:  # queries see what is there when they come, so nothing may go before it was taken in
                database.run("DELETE FROM outbox")
    finally:
        for thread in threads:
            thread.join()
    shop.take_in()
    with shop.opened() as project:
        events = project.read("changes").to_pylist()
        assert not project.dead("changes").num_rows
    committed = sorted(key for writer in writers for key in writer.committed)
    assert sorted(event["event_id"] for event in events) == committed
    versions: dict[int, list[int]] = defaultdict(list)
    for event in events:
        versions[event["id"]].append(event["version"])
    in_order = {order: list(range(1, len(told) + 1)) for order, told in versions.items()}
    assert versions == in_order, "each version of an order comes once, in its order"
    database.drop()
