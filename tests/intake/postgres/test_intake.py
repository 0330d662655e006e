"""Tables of a real PostgreSQL: a snapshot, then every change, each once and in the order of the database."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime
from decimal import Decimal

from headwater.errors import SourceRefused
from headwater.waiting import Until
from tests.intake.postgres.shop import Shop, table_rows
from tests.patience import until

CUSTOMERS = "id INT PRIMARY KEY, name STRING, tier STRING"
LONG = "(SELECT string_agg(md5(n::text), '') FROM generate_series({}, {} + 400) n)"
"""A text that PostgreSQL keeps beside its row."""


def test_a_table_is_its_snapshot_and_every_change_after_it(shop: Shop) -> None:
    database = shop.database
    database.run(
        "CREATE TABLE customers (id int PRIMARY KEY, name text, tier text)",
        "CREATE TABLE orders (id int PRIMARY KEY, customer int, note text)",
        f"INSERT INTO customers VALUES (1, 'ada', {LONG.format(1, 1)}), (2, 'ben', 'tin')",
        "INSERT INTO orders SELECT n, n FROM generate_series(1, 3) n",
    )
    shop.declare("customers", f"{CUSTOMERS}, changed_in STRING", "transaction = 'changed_in'")
    shop.declare("orders", "id INT PRIMARY KEY, customer INT, note STRING")
    assert sorted((taken.stream, taken.rows, taken.dead) for taken in shop.take_in()) == [
        ("customers", 2, 0),
        ("orders", 3, 0),
    ]
    database.run(
        "BEGIN; INSERT INTO customers VALUES (3, 'eve', 'tin'); UPDATE customers SET id = 4 WHERE id = 2; COMMIT",
        "UPDATE customers SET name = 'Ada' WHERE id = 1",  # its tier isn't in WAL again
        f"INSERT INTO orders VALUES (8, 8, {LONG.format(2, 2)})",
        "BEGIN; INSERT INTO orders VALUES (9, 9); ROLLBACK",
        "TRUNCATE orders",
        f"BEGIN; INSERT INTO orders VALUES (4, 4, {LONG.format(3, 3)}); UPDATE orders SET customer = 5; COMMIT",
        "UPDATE customers SET id = 6 WHERE id = 1",
        "DELETE FROM customers WHERE id = 3 OR id = 77",
    )
    shop.take_in()
    for name, columns in (("customers", ["id", "name", "tier"]), ("orders", ["id", "customer", "note"])):
        source = sorted(database.rows(f"SELECT {', '.join(columns)} FROM {name}"), key=str)
        assert shop.rows(name, columns) == source, name
    with shop.opened() as project:
        changes = project.read("customers").to_pylist()
        assert not project.dead("customers").num_rows
    assert [(row["id"], row["_op"]) for row in changes[2:]] == [
        *[(3, "upsert"), (2, "delete"), (4, "upsert"), (1, "upsert"), (1, "delete"), (6, "upsert"), (3, "delete")]
    ]
    assert len({row["changed_in"] for row in changes[2:5]}) == len({row["_commit"] for row in changes[2:5]}) == 1

    def is_known() -> bool:
        again = shop.take_in()
        assert [taken.rows for taken in again] == [0, 0], "nothing comes twice"
        confirmed = database.rows("SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots")
        return confirmed == [(min(taken.positions[shop.slot] for taken in again),)]

    until(is_known)  # PostgreSQL is told what all logs have, which it may hear in the next run alone


def test_values_are_exact(shop: Shop) -> None:
    database = shop.database
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE every (id int PRIMARY KEY, n numeric, m numeric(10,2), f float8, at timestamptz, "
        "local timestamp, day date, clock time, doc jsonb, list int[], texts text[], mood mood, "
        "u uuid, b bytea, i interval, ip inet, t numeric, era date, never date)",
    )
    insert = (
        "INSERT INTO every VALUES ({}, '1234567890123456789012345678.123456789', -1.50, 1e300, "
        "'2026-01-01 10:00:00.123456+02', '2026-01-01 10:00:00.123456', '2026-01-31', '10:00:00.5', '{{\"a\": 1.10}}', "
        "'{{1,NULL,3}}', '{{\"a,b\",c}}', 'sad', '6a9cf4d0-0000-4000-8000-000000000001', '\\xdeadbeef', "
        "'1 mon 2 days 03:04:05.5', '10.0.0.1/8', 'NaN', '0044-03-15 BC', 'infinity')"
    )
    odd = [
        "n = 'NaN'",
        "at = 'infinity'",
        "local = '-infinity'",
        "day = 'infinity'",
        "at = '0044-03-15 BC'",
        "day = '0001-03-15 BC'",
    ]
    database.run(insert.format(1))
    for number, what in enumerate(odd, 20):  # in the snapshot
        database.run(f"INSERT INTO every (id) VALUES ({number})", f"UPDATE every SET {what} WHERE id = {number}")
    shop.declare(
        "every",
        "id INT PRIMARY KEY, n DECIMAL(38, 9), m DECIMAL(10, 2), f DOUBLE, at TIMESTAMP, local TIMESTAMP, day DATE, "
        "clock STRING, doc STRING, list ARRAY<INT>, texts ARRAY<STRING>, mood STRING, u STRING, b BINARY, i STRING, "
        "ip STRING, t STRING, era STRING, never STRING",
        "max_dead = 'none'",
    )
    (taken,) = shop.take_in()
    assert taken.dead == len(odd)
    database.run(insert.format(2), "INSERT INTO every (id, f, t) VALUES (3, 'NaN', 'Infinity')")
    for number, what in enumerate(odd, 10):
        database.run(f"INSERT INTO every (id) VALUES ({number})", f"UPDATE every SET {what} WHERE id = {number}")
    (taken,) = shop.take_in()
    instant = datetime(2026, 1, 1, 8, 0, 0, 123456, UTC)
    values = (
        Decimal("1234567890123456789012345678.123456789"), Decimal("-1.50"), 1e300, instant, instant.replace(hour=10),
        date(2026, 1, 31), "10:00:00.5", '{"a": 1.10}', [1, None, 3], ["a,b", "c"], "sad",
        "6a9cf4d0-0000-4000-8000-000000000001", b"\xde\xad\xbe\xef", "P0Y1M2DT3H4M5.5S", "10.0.0.1/8", "NaN",
        "-0043-03-15", "infinity",
    )  # fmt: skip
    with shop.opened() as project:
        rows = {row["id"]: row for row in project.read("every").to_pylist()}
        letters = project.dead("every").to_pylist()
    for key in (1, 2):
        assert tuple(rows[key][name] for name in rows[key] if not name.startswith("_"))[1:] == values, key
    assert (str(rows[3]["f"]), rows[3]["t"]) == ("nan", "Infinity")
    assert len(letters) == taken.dead * 2 == len(odd) * 2
    assert {letter["error"] for letter in letters} == {"wrong-type"}
    told = [letter["reason"].partition('"')[2] for letter in letters]
    assert told[: len(odd)] == told[len(odd) :], "a snapshot and a change say the same"
    assert '"day" is "infinity"'[1:] in told[3]


def test_a_column_that_is_dropped_stops_the_intake_before_the_first_row_without_it(shop: Shop) -> None:
    database = shop.database
    database.run("CREATE TABLE customers (id int PRIMARY KEY, name text, tier text)")
    shop.declare("customers", CUSTOMERS)
    shop.take_in()
    with shop.opened() as project:
        (intake,) = project.intakes.open()
        halt, failed = Until(threading.Event()), []

        def run() -> None:
            try:
                intake.run(halt)
            except SourceRefused as refused:
                failed.append(refused)

        thread = threading.Thread(target=run)
        thread.start()
        database.run("INSERT INTO customers VALUES (1, 'ada', 'gold')", "ALTER TABLE customers ADD COLUMN more int")
        database.run("INSERT INTO customers VALUES (2, 'ben', 'tin', 7)")
        until(lambda: table_rows(project, "customers") == [(1, "ada", "gold"), (2, "ben", "tin")])
        database.run("ALTER TABLE customers DROP COLUMN tier", "UPDATE customers SET name = 'Ada' WHERE id = 1")
        until(lambda: not thread.is_alive())
        assert 'declares the column "tier", which "public.customers" doesn\'t have' in str(failed[0])
        assert table_rows(project, "customers") == [(1, "ada", "gold"), (2, "ben", "tin")]
    database.run("ALTER TABLE customers ADD COLUMN tier text", "UPDATE customers SET tier = 'iron' WHERE id = 2")
    shop.take_in()
    assert shop.rows("customers") == [(1, "Ada", None), (2, "ben", "iron")], "nothing is lost"
