"""Tables of MariaDB: the rows that are there, and then each change."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal

from tests.intake.mysql.shop import Shop, table_rows, taking_in
from tests.patience import until


def test_the_rows_that_are_there_come_first_and_then_every_change(shop: Shop) -> None:
    shop.database.run(
        "CREATE TABLE customers (id int PRIMARY KEY, name varchar(40), spent decimal(12,2))",
        "INSERT INTO customers VALUES (1, 'ada', 1.50), (2, 'bob', NULL)",
    )
    shop.declare("customers", "id INT PRIMARY KEY, name STRING, spent DECIMAL(12,2)")
    shop.take_in()
    assert shop.rows("customers") == [(1, "ada", Decimal("1.50")), (2, "bob", None)]
    shop.database.run(
        "UPDATE customers SET name = 'eve', spent = -0.07 WHERE id = 1",
        "DELETE FROM customers WHERE id = 2",
        "INSERT INTO customers VALUES (3, 'zoé', 99999999.99)",
        "UPDATE customers SET id = 4 WHERE id = 3",
    )
    shop.take_in()
    assert shop.rows("customers") == [(1, "eve", Decimal("-0.07")), (4, "zoé", Decimal("99999999.99"))]


def test_what_comes_is_taken_in_as_its_transactions_are_committed(shop: Shop) -> None:
    shop.database.run("CREATE TABLE notes (k varchar(9) PRIMARY KEY, n int)")
    shop.declare("notes", "k STRING PRIMARY KEY, n INT, t STRING", "transaction = 't'")
    shop.take_in()
    with shop.opened() as project, taking_in(project):
        with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
            for number in range(20):
                connection.begin()
                cursor.execute("REPLACE INTO notes VALUES (%s, %s)", (f"k{number % 5}", number))
                cursor.execute("REPLACE INTO notes VALUES (%s, %s)", (f"l{number % 5}", number))
                if number % 3 == 0:
                    connection.rollback()
                connection.commit()
        until(lambda: table_rows(project, "notes", ("k", "n")) == sorted(shop.database.rows("SELECT * FROM notes")))
        told = project.query("SELECT t, count(*) AS n FROM notes GROUP BY t").to_pylist()
        assert {row["n"] for row in told} == {2}
        shop.database.run("TRUNCATE TABLE notes", "INSERT INTO notes VALUES ('x', 1)")
        until(lambda: table_rows(project, "notes", ("k", "n")) == [("x", 1)])


TEXTS = {
    "c": ("char(5)", "'ä b'", "''", "'€'"),
    "v": ("varchar(300)", "'x'", "'ẞ😀'", "repeat('y', 300)"),
    "l": ("varchar(20) CHARACTER SET latin1", "'äß€'", "_latin1 x'8190a0ff'", "''"),
    "u": ("text CHARACTER SET ucs2", "'ä'", "'語'", "''"),
    "m": ("mediumtext", "'m'", "repeat('z', 70000)", "''"),
    "e": ("enum('a','ö','c') CHARACTER SET latin1", "'ö'", "'c'", "'a'"),
    "s": ("set('x','ü','z')", "'z,x'", "'ü'", "''"),
    "j": ("json", "'{\"a\": [1, null]}'", "'\"ü\"'", "'1.50'"),
    "n": ("decimal(30,10)", "-12345678901234567890.0000000001", "0.5", "-0.0000000007"),
    "n2": ("decimal(9,0)", "-999999999", "7", "0"),
    "n3": ("decimal(65,30)", "-1e34", "1e-30", "12345678901234567.8"),
    "b": ("bigint unsigned", "18446744073709551615", "0", "7"),
    "i": ("mediumint", "-8388608", "8388607", "-1"),
    "iu": ("mediumint unsigned", "16777215", "0", "1"),
    "y": ("year", "2155", "1999", "1901"),
    "d": ("date", "'9999-12-31'", "'0001-01-01'", "'2024-02-29'"),
    "dt": ("datetime", "'9999-12-31 23:59:59'", "'1000-01-01 00:00:00'", "'2024-02-29 01:02:03'"),
    "dt6": ("datetime(6)", "'2026-01-01 10:00:00.000001'", "'1969-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'"),
    "dt3": ("datetime(3)", "'2026-01-01 10:00:00.120'", "'2026-01-01 10:00:00.999'", "'2026-01-01'"),
    "dt1": ("datetime(1)", "'2026-01-01 10:00:00.1'", "'2026-01-01 10:00:00.9'", "'2026-01-01'"),
    "ts": ("timestamp(5) NULL", "'2026-01-01 10:00:00.12345'", "'2038-01-19 03:14:07.99999'", "'1970-01-01 00:00:01'"),
    "t": ("time", "'838:59:59'", "'-838:59:59'", "'-00:00:01'"),
    "t1": ("time(1)", "'-12:00:00.5'", "'00:00:00.1'", "'-00:00:00.1'"),
    "t4": ("time(4)", "'-12:00:00.5'", "'00:00:00.0001'", "'-00:00:00.0001'"),
    "t6": ("time(6)", "'-838:59:58.999999'", "'12:34:56.000007'", "'-00:00:00.000001'"),
}
"""Columns and values of which the server's own text is compared."""


def test_values_are_those_of_the_server_from_the_snapshot_and_from_the_binary_log(shop: Shop) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, *_) in TEXTS.items())
    insert = "SET time_zone = '+00:00'; INSERT INTO every VALUES "
    rows = [", ".join(values[at] for values in TEXTS.values()) for at in (1, 2, 3)]
    rows.append(", ".join(["NULL"] * len(TEXTS)))
    shop.database.run(f"CREATE TABLE every (id int PRIMARY KEY, {columns})")
    shop.declare("every", f"id INT PRIMARY KEY, {', '.join(f'{name} STRING' for name in TEXTS)}")
    for at, row in enumerate(rows):
        shop.database.run(*(insert + f"({at}, {row})").split("; "))
    shop.take_in()
    for at, row in enumerate(rows, 10):
        shop.database.run(*(insert + f"({at}, {row})").split("; "))
    shop.take_in()
    texts = ", ".join(f"CAST({name} AS CHAR CHARACTER SET utf8mb4)" for name in TEXTS)
    with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT id, {texts} FROM every ORDER BY id")
        expected = list(cursor.fetchall())
    with shop.opened() as project:
        found = sorted(table_rows(project, "every"))
    for (key, *mine), (_, *theirs) in zip(found, expected, strict=True):
        differing = [(name, one, other) for name, one, other in zip(TEXTS, mine, theirs, strict=True) if one != other]
        assert (key, differing) == (key, []), differing
    assert shop.dead("every") == []


def test_values_are_those_of_the_declared_types(shop: Shop) -> None:
    shop.database.run(
        "CREATE TABLE every (id int PRIMARY KEY, yes boolean, bits bit(10), one bit(1), f float, d double, raw blob, "
        "short binary(4), at timestamp(6) NULL, born date, amount decimal(12,2))"
    )
    shop.declare(
        "every",
        "id INT PRIMARY KEY, yes BOOLEAN, bits INT, one BOOLEAN, f FLOAT, d DOUBLE, raw BINARY, short BINARY, "
        "at TIMESTAMP, born DATE, amount DECIMAL(12,2)",
    )
    values = "true, b'1000000001', 1, 1.1, 1e-300, x'00ff', x'ab00', '2026-01-01 10:00:00.000001', '2026-01-31', -1.5"
    way = "SET time_zone = '+00:00'", "INSERT INTO every VALUES ({}, " + values + ")"
    shop.database.run(way[0], way[1].format(1))
    with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
        for at in (1, 2):
            cursor.execute(way[0])
            cursor.execute(f"REPLACE INTO every VALUES ({at}, {values})")
            shop.take_in()
    instant = datetime(2026, 1, 1, 10, 0, 0, 1, UTC)
    row = (True, 513, True, 1.100000023841858, 1e-300, b"\0\xff", b"\xab\0\0\0", instant, date(2026, 1, 31))
    assert shop.rows("every") == [(at, *row, Decimal("-1.50")) for at in (1, 2)]


def test_a_date_that_is_none_is_a_dead_letter_or_a_text(shop: Shop) -> None:
    shop.database.run("CREATE TABLE days (id int PRIMARY KEY, d date, t datetime)")
    shop.declare("days", "id INT PRIMARY KEY, d DATE, t STRING")
    zero = "SET sql_mode = ''", "INSERT INTO days VALUES ({}, {}, '0000-00-00')"
    for at, day in ((1, "'2026-02-00'"), (2, "NULL")):
        with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(zero[0])
            cursor.execute(zero[1].format(at, day))
            cursor.execute(zero[1].format(at + 10, day))
        shop.take_in()
    assert shop.rows("days") == [(12, None, "0000-00-00 00:00:00"), (2, None, "0000-00-00 00:00:00")]
    assert len(shop.dead("days")) == 2
