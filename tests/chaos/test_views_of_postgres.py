"""Views of tables that PostgreSQL keeps: at every quiet point each is what the same query gives in PostgreSQL itself.

Four writers insert, update, delete and change keys in transactions, by chance, while `headwater intake` takes in and is
killed, and so is `headwater catch-up`, while it brings the views up to date. It is left to `make chaos`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

import headwater as hw
from tests.intake.postgres.shop import Database, Shop
from tests.servers.postgres import PostgresServer

KILLS = int(os.environ.get("CHAOS_KILLS", "0"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()")
WRITERS, KEYS, OWNERS = 4, 40, 8
IN_VAIN = (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected)

TABLES = {
    "accounts": "id INT PRIMARY KEY, owner INT, balance INT, kind TEXT",
    "owners": "id INT PRIMARY KEY, region TEXT, level INT",
    "moves": "id INT PRIMARY KEY, source INT, target INT, amount INT",
}
JOINED = "FROM accounts a JOIN owners o ON a.owner = o.id"
VIEWS = {
    # one table
    "open_ones": "SELECT id, balance FROM accounts WHERE kind = 'open' AND balance > 100",
    "cases": "SELECT id, CASE WHEN balance < 0 THEN 'owes' WHEN balance IS NULL THEN 'new' ELSE 'has' END AS state "
    "FROM accounts",
    "per_kind": "SELECT kind, count(*) AS n, sum(balance) AS total, min(balance) AS least, max(balance) AS most "
    "FROM accounts GROUP BY kind",
    "means": "SELECT owner, avg(balance) AS mean, count(balance) AS n FROM accounts GROUP BY owner",
    "all_in_all": "SELECT count(*) AS n, sum(balance) AS total FROM accounts",
    "kinds": "SELECT DISTINCT kind, owner FROM accounts",
    "owners_of_kind": "SELECT kind, count(DISTINCT owner) AS owners FROM accounts GROUP BY kind",
    "many": "SELECT owner, count(*) AS n FROM accounts GROUP BY owner HAVING count(*) > 3 AND max(balance) > 10",
    "filtered": "SELECT owner, count(*) FILTER (WHERE kind = 'open') AS opened, count(*) AS n FROM accounts "
    "GROUP BY owner",
    "computed": "SELECT balance % 7 AS rest, count(*) AS n FROM accounts GROUP BY balance % 7",
    "largest": "SELECT owner, id, balance FROM (SELECT owner, id, balance, row_number() OVER (PARTITION BY owner "
    "ORDER BY balance DESC NULLS LAST, id) AS place FROM accounts) AS ranked WHERE place <= 2",
    "ranks": "SELECT id, owner, rank() OVER (PARTITION BY owner ORDER BY balance DESC NULLS LAST) AS place "
    "FROM accounts",
    "running": "SELECT id, sum(balance) OVER (PARTITION BY owner ORDER BY id) AS total FROM accounts",
    "before": "SELECT id, lag(balance) OVER (PARTITION BY owner ORDER BY id) AS was FROM accounts",
    "top": "SELECT id, balance FROM accounts ORDER BY balance DESC NULLS LAST, id LIMIT 5",
    # two tables
    "inner_pairs": f"SELECT a.id, o.region, a.balance {JOINED}",
    "left_pairs": "SELECT a.id, o.region FROM accounts a LEFT JOIN owners o ON a.owner = o.id",
    "right_pairs": "SELECT o.id AS owner, a.id AS account FROM accounts a RIGHT JOIN owners o ON a.owner = o.id",
    "full_pairs": "SELECT a.id AS account, o.id AS owner FROM accounts a FULL JOIN owners o ON a.owner = o.id",
    "with_owner": "SELECT id FROM accounts a WHERE EXISTS (SELECT 1 FROM owners o WHERE o.id = a.owner AND level > 1)",
    "without_owner": "SELECT id FROM accounts a WHERE NOT EXISTS (SELECT 1 FROM owners o WHERE o.id = a.owner)",
    "in_levels": "SELECT id FROM accounts WHERE owner IN (SELECT id FROM owners WHERE level = 2)",
    "not_in": "SELECT id FROM owners WHERE id NOT IN (SELECT owner FROM accounts)",
    "not_in_known": "SELECT id FROM owners WHERE id NOT IN (SELECT owner FROM accounts WHERE owner IS NOT NULL)",
    "per_region": f"SELECT o.region, count(*) AS n, sum(a.balance) AS total {JOINED} GROUP BY o.region",
    "per_owner": "SELECT o.id, count(a.id) AS n, sum(a.balance) AS total FROM owners o "
    "LEFT JOIN accounts a ON a.owner = o.id GROUP BY o.id",
    "of_everyone": "SELECT coalesce(o.region, 'none') AS region, count(a.id) AS n, max(a.balance) AS most "
    "FROM accounts a FULL JOIN owners o ON a.owner = o.id GROUP BY coalesce(o.region, 'none')",
    "best_of_region": "SELECT region, id, balance FROM (SELECT o.region, a.id, a.balance, row_number() OVER "
    f"(PARTITION BY o.region ORDER BY a.balance DESC NULLS LAST, a.id) AS place {JOINED}) AS ranked WHERE place = 1",
    "dearer": "SELECT a.id, count(b.id) AS n FROM accounts a LEFT JOIN accounts b ON b.balance > a.balance + 900 "
    "GROUP BY a.id",
    "siblings": "SELECT a.id, b.id AS other FROM accounts a JOIN accounts b ON a.owner = b.owner AND a.id < b.id",
    "unused_partner": "SELECT a.owner, max(a.balance) AS most FROM accounts a LEFT JOIN owners o ON o.id = a.owner "
    "GROUP BY a.owner",
    "beside_the_whole": "SELECT id, balance, (SELECT max(balance) FROM accounts) AS most FROM accounts WHERE id < 20",
    "above_its_own": "SELECT id FROM accounts a WHERE balance > "
    "(SELECT avg(b.balance) FROM accounts b WHERE b.owner = a.owner)",
    # three tables, sets
    "moved": "SELECT m.id, s.owner AS giver, t.owner AS taker, m.amount FROM moves m "
    "JOIN accounts s ON s.id = m.source JOIN accounts t ON t.id = m.target",
    "moved_anyway": "SELECT m.id, s.owner AS giver, o.region FROM moves m LEFT JOIN accounts s ON s.id = m.source "
    "LEFT JOIN owners o ON o.id = s.owner",
    "flows": "SELECT f.region AS giver, t.region AS taker, sum(m.amount) AS amount FROM moves m "
    "JOIN accounts s ON s.id = m.source JOIN accounts r ON r.id = m.target "
    "JOIN owners f ON f.id = s.owner JOIN owners t ON t.id = r.owner GROUP BY f.region, t.region",
    "net": "SELECT account, sum(amount) AS amount FROM (SELECT target AS account, amount FROM moves UNION ALL "
    "SELECT source AS account, -amount AS amount FROM moves) AS sides GROUP BY account",
    "numbers": "SELECT owner AS number FROM accounts UNION SELECT id AS number FROM owners",
    "ownerless": "SELECT owner FROM accounts EXCEPT SELECT id AS owner FROM owners",
    "owning": "SELECT id FROM owners INTERSECT SELECT owner AS id FROM accounts",
    # views on views
    "regions_by_size": "SELECT n, count(*) AS regions FROM per_region GROUP BY n",
    "richest": "SELECT p.id, o.region, p.total FROM per_owner p JOIN owners o ON o.id = p.id WHERE p.total > 500",
    "richest_per_region": "SELECT region, max(total) AS most, count(*) AS n FROM richest GROUP BY region",
    "of_large_owners": "SELECT a.id, m.n FROM accounts a JOIN many m ON m.owner = a.owner",
    "balanced": "SELECT a.id, a.balance, n.amount FROM accounts a LEFT JOIN net n ON n.account = a.id",
    "unmoved": "SELECT id FROM open_ones WHERE id NOT IN (SELECT account FROM net WHERE account IS NOT NULL)",
}
PAIRS = {"right_pairs": "owner, account", "full_pairs": "account, owner", "siblings": "id, other"}

Values = list[tuple[Any, ...]]


class Writer(threading.Thread):
    """A client of the database that does by chance what clients do."""

    def __init__(self, database: Database, seed: int, transactions: int) -> None:
        super().__init__()
        self._database, self._chance, self._transactions = database, random.Random(seed), transactions

    def run(self) -> None:
        with psycopg.connect(self._database.url) as connection:
            for _ in range(self._transactions):
                with (
                    suppress(psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected),
                    connection.transaction(),
                ):
                    for _ in range(self._chance.choice((1, 1, 2, 8))):
                        connection.execute(self._statement().encode())
                    if self._chance.random() < 0.1:
                        raise psycopg.Rollback

    def _statement(self) -> str:
        return statement(self._chance)


def statement(chance: random.Random) -> str:
    """A statement that changes one of the tables."""
    key, other, amount = chance.randrange(KEYS), chance.randrange(KEYS), chance.randrange(-50, 1000)
    owner, kind = chance.choice([*range(OWNERS), "NULL"]), chance.choice(["'open'", "'closed'", "NULL"])
    mine, region = chance.randrange(OWNERS), chance.choice(["'north'", "'south'", "'east'", "NULL"])
    account = f"({key}, {owner}, {chance.choice([amount, 'NULL'])}, {kind})"
    put = "ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, balance = excluded.balance, kind = excluded.kind"
    return chance.choice(
        (
            f"INSERT INTO accounts VALUES {account} {put}",
            f"INSERT INTO accounts VALUES {account} {put}",
            f"UPDATE accounts SET balance = balance + {amount} WHERE id IN ({key}, {other})",
            f"UPDATE accounts SET id = {other} WHERE id = {key}",
            f"UPDATE accounts SET owner = {owner} WHERE id = {key}",
            f"DELETE FROM accounts WHERE id = {key}",
            f"INSERT INTO owners VALUES ({mine}, {region}, {chance.randrange(4)}) ON CONFLICT (id) "
            "DO UPDATE SET region = excluded.region, level = excluded.level",
            f"DELETE FROM owners WHERE id = {mine}",
            f"INSERT INTO moves VALUES ({key * 100 + other}, {key}, {other}, {abs(amount)}) ON CONFLICT DO NOTHING",
            f"DELETE FROM moves WHERE id % 10 = {chance.randrange(10)}",
        )
    )


@pytest.fixture
def shop(tmp_path: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    database = Database(postgres_server.url)
    monkeypatch.setenv("SHOP_DB", database.url)
    yield declared(database, tmp_path)
    database.drop()


def declared(database: Database, folder: Path, queries: Mapping[str, str] = VIEWS) -> Shop:
    """The project, and tables and views in the database that are as it declares them."""
    shop = Shop(database, folder)
    for name, columns in TABLES.items():
        database.run(f"CREATE TABLE {name} ({columns})")
        shop.declare(name, columns.replace("TEXT", "STRING"))
    database.run(*(f"CREATE VIEW {name} AS {query}" for name, query in queries.items()))
    says = {name: f"WITH (key = '{key}') " for name, key in PAIRS.items()}
    views = [f"CREATE MATERIALIZED VIEW {name} {says.get(name, '')}AS {query};" for name, query in queries.items()]
    (folder / "views.sql").write_text("\n".join(views))
    return shop


def start(shop: Shop, *command: str) -> subprocess.Popen[bytes]:
    with (shop.folder / "output").open("ab") as output:
        return subprocess.Popen([*COMMAND, *command], cwd=shop.folder, stdout=output, stderr=output)


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.wait()


def in_order(rows: Values) -> Values:
    """Rows in order; PostgreSQL has averages of numbers as decimals."""
    plain = [
        tuple(round(float(part), 6) if isinstance(part, Decimal | float) else part for part in row) for row in rows
    ]
    return sorted(plain, key=repr)


def differences(shop: Shop, project: hw.Project, views: Iterable[str] = VIEWS) -> dict[str, tuple[Values, Values]]:
    """What each view that isn't what it is in PostgreSQL has, and what it should have."""
    found = {}
    for name in (*TABLES, *views):
        rows = in_order([tuple(row.values()) for row in project.query(f"SELECT * FROM {name}").to_pylist()])
        wanted = in_order(shop.database.rows(f"SELECT * FROM {name}"))
        if rows != wanted:
            found[name] = ([row for row in rows if row not in wanted], [row for row in wanted if row not in rows])
    return found


def work(shop: Shop, chance: random.Random, transactions: int) -> None:
    """Let writers write while what is taken in is killed."""
    writers = [Writer(shop.database, chance.randrange(1 << 30), transactions) for _ in range(WRITERS)]
    process = start(shop, "intake")
    for writer in writers:
        writer.start()
    kill_after(process, chance.uniform(0, 8))
    for writer in writers:
        writer.join()


@pytest.mark.timeout(600 + 300 * KILLS)
@pytest.mark.skipif(KILLS == 0, reason="left to make chaos")
def test_views_are_what_the_same_queries_give_in_postgresql(shop: Shop, spark: Any) -> None:
    chance = random.Random(SEED)
    for _ in range(KILLS):
        work(shop, chance, 40)
        shop.take_in()
        kill_after(start(shop, "catch-up"), chance.uniform(5, 90))
        with shop.opened() as project:
            assert [str(done.error) for done in project.catch_up() if done.error] == []
            assert differences(shop, project) == {}
    with shop.opened() as project:
        assert [name for name in VIEWS if not project.verify(name).identical] == []
        assert [name for name in VIEWS if project.views.ledger(name).remainder] == []
