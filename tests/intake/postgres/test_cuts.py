"""Tables of one slot are read at cuts: a transaction that changes several of them is there whole, or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from headwater.errors import StatementRefused
from headwater.project import Project
from tests.intake.postgres.shop import Database, Shop
from tests.patience import until

COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "intake")
ACCOUNTS, MONEY = 20, 20 * 100
APART = "SELECT a.id, a.balance, l.balance AS booked FROM accounts a JOIN ledger l ON a.id = l.id"


def declare(shop: Shop) -> None:
    """Two tables that a transfer changes both, and one that nobody changes."""
    shop.database.run(
        "CREATE TABLE accounts (id int PRIMARY KEY, balance int)",
        "CREATE TABLE ledger (id int PRIMARY KEY, balance int)",
        "CREATE TABLE idle (id int PRIMARY KEY)",
        f"INSERT INTO accounts SELECT n, 100 FROM generate_series(1, {ACCOUNTS}) n",
        f"INSERT INTO ledger SELECT n, 100 FROM generate_series(1, {ACCOUNTS}) n",
        "INSERT INTO idle VALUES (1)",
    )
    for name in ("accounts", "ledger"):
        shop.declare(name, "id INT PRIMARY KEY, balance INT")
    shop.declare("idle", "id INT PRIMARY KEY")


@contextmanager
def transfers(database: Database) -> Iterator[list[int]]:
    """Transfers, one after the other, each of which changes two rows of both tables; their number so far."""
    ended, made = threading.Event(), [0]
    chance = random.Random(7)

    def work() -> None:
        with psycopg.connect(database.url, autocommit=True) as connection:
            while not ended.wait(chance.choice((0, 0, 0.01))):
                one, other, amount = chance.randint(1, ACCOUNTS), chance.randint(1, ACCOUNTS), chance.randint(1, 9)
                with connection.transaction():
                    for table in chance.sample(("accounts", "ledger"), 2):
                        update = f"UPDATE {table} SET balance = balance + %s WHERE id = %s".encode()
                        connection.execute(update, (-amount, one))
                        connection.execute(update, (amount, other))
                made[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield made
    finally:
        ended.set()
        thread.join()


@contextmanager
def taking_in(shop: Shop) -> Iterator[None]:
    """An intake in a process of its own, which is killed at the end."""
    with (shop.folder / "output").open("ab") as output:
        process = subprocess.Popen(COMMAND, cwd=shop.folder, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def look(project: Project) -> tuple[tuple[Any, ...], ...]:
    """The rows of both tables in one statement, which agree with each other and have all the money."""
    rows = [tuple(row.values()) for row in project.query(APART).to_pylist()]
    assert [row for row in rows if row[1] != row[2]] == []
    assert sum(row[1] for row in rows) == MONEY
    return tuple(sorted(rows))


@pytest.mark.timeout(180)
def test_a_statement_over_tables_never_sees_half_a_transfer(shop: Shop) -> None:
    declare(shop)
    shop.take_in()
    with shop.opened() as project:
        for _ in range(2):  # the second intake begins where the first one was killed
            seen = {look(project)}
            with transfers(shop.database) as made, taking_in(shop):
                until(lambda: seen.add(look(project)) or len(seen) > 12)  # noqa: B023
                assert made[0] > 12
        shop.take_in()
        assert [row[:2] for row in look(project)] == sorted(shop.database.rows("SELECT * FROM accounts"))


def test_a_table_that_is_added_later_is_cut_with_the_others_once_they_have_come_there(shop: Shop) -> None:
    shop.database.run("CREATE TABLE accounts (id int PRIMARY KEY, balance int)", "INSERT INTO accounts VALUES (1, 1)")
    shop.declare("accounts", "id INT PRIMARY KEY, balance INT")
    shop.take_in()
    shop.database.run(
        "CREATE TABLE ledger (id int PRIMARY KEY, balance int)",
        f"ALTER PUBLICATION {shop.slot} ADD TABLE ledger",
        "BEGIN; INSERT INTO ledger VALUES (1, 2); UPDATE accounts SET balance = 2; COMMIT",
    )
    shop.declare("ledger", "id INT PRIMARY KEY, balance INT")
    with shop.opened() as project, pytest.raises(StatementRefused, match="no common transaction"):
        project.query(APART)
    shop.take_in()
    with shop.opened() as project:
        assert project.query(APART).to_pylist() == [{"id": 1, "balance": 2, "booked": 2}]
    commits = [commit.number for commit in commits_of(shop, "accounts")]
    shop.take_in()
    assert [commit.number for commit in commits_of(shop, "accounts")] == commits


def test_a_table_that_is_paused_holds_up_those_that_are_read_with_it(shop: Shop) -> None:
    declare(shop)
    shop.take_in()
    both = "BEGIN; UPDATE accounts SET balance = 101 WHERE id = 1; UPDATE ledger SET balance = 101 WHERE id = 1; COMMIT"
    shop.database.run(both)
    shop.take_in("accounts")
    with shop.opened() as project:
        assert {row["balance"] for row in project.query(APART).to_pylist()} == {100}
        assert {row["balance"] for row in project.query("SELECT balance FROM accounts").to_pylist()} == {100, 101}
    shop.take_in()
    with shop.opened() as project:
        assert {row["booked"] for row in project.query(APART).to_pylist()} == {100, 101}


def commits_of(shop: Shop, name: str) -> list[Any]:
    with shop.opened() as project:
        return project.log.commits(name)


def test_commits_of_tables_end_at_the_same_transactions(shop: Shop) -> None:
    declare(shop)
    with shop.opened() as project:
        with transfers(shop.database) as made, taking_in(shop):
            until(lambda: made[0] > 100)
            until(lambda: project.log.head("ledger") > 5)
        ends = [[commit.rows for commit in project.log.commits(name)][2:-1] for name in ("accounts", "ledger")]
        shorter = min(map(len, ends))
        assert ends[0][:shorter] == ends[1][:shorter]
        assert "append" not in {commit.kind for commit in project.log.commits("idle")}
