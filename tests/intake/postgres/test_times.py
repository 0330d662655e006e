"""The time of a commit may go back in the order of WAL; that of a change never does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.intake.postgres.shop import Shop

COLUMNS = "id INT PRIMARY KEY, name STRING, changed_at TIMESTAMP, WATERMARK FOR changed_at AS changed_at"
OPTIONS = "message_time = 'changed_at'"


def times(shop: Shop, name: str) -> list[datetime]:
    """The times of the changes of a table, in the order of its log."""
    with shop.opened() as project:
        told: list[datetime] = project.read(name)["changed_at"].to_pylist()
        return told


def test_the_last_change_in_the_order_of_the_database_counts_whatever_its_clock_says(shop: Shop) -> None:
    database = shop.database
    database.run("CREATE TABLE customers (id int PRIMARY KEY, name text)", "CREATE TABLE orders (LIKE customers)")
    database.run("ALTER TABLE orders ADD PRIMARY KEY (id)", "INSERT INTO customers VALUES (0, 'old')")
    shop.declare("customers", COLUMNS, OPTIONS)
    shop.declare("orders", COLUMNS, OPTIONS)
    shop.take_in()
    (snapshot,) = times(shop, "customers")
    late, early = (snapshot + timedelta(hours=hours) for hours in (2, 1))
    database.run_at(f"{snapshot - timedelta(hours=1)}", "UPDATE customers SET name = 'new' WHERE id = 0")
    database.run_at(f"{late}", "INSERT INTO customers VALUES (1, 'ada'), (2, 'ben')")
    database.run_at(f"{early}", "UPDATE customers SET name = 'Ada' WHERE id = 1", "INSERT INTO orders VALUES (1, 'o')")
    shop.take_in()
    database.run_at(f"{early}", "DELETE FROM customers WHERE id = 2", "UPDATE orders SET name = 'O'")
    shop.take_in()
    assert shop.rows("customers", ["id", "name"]) == database.rows("SELECT * FROM customers ORDER BY id")
    assert times(shop, "customers") == [snapshot, snapshot, late, late, late, late], "after a restart too"
    assert times(shop, "orders") == [late, late], "a transaction has one time in all tables of a slot"


def test_one_commit_in_the_far_future_is_not_the_time_of_all_later_ones(shop: Shop) -> None:
    database = shop.database
    database.run("CREATE TABLE customers (id int PRIMARY KEY, name text)")
    shop.declare("customers", COLUMNS, OPTIONS)
    shop.take_in()
    database.run_at("2999-01-01", "INSERT INTO customers VALUES (1, 'ada')")
    database.run("UPDATE customers SET name = 'Ada'")
    (taken,) = shop.take_in()
    assert (taken.rows, taken.dead) == (2, 0)
    assert shop.rows("customers", ["id", "name"]) == [(1, "Ada")]
    assert max(times(shop, "customers")) < datetime.now(UTC) + timedelta(minutes=5)
