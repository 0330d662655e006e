"""What goes wrong with tables of MariaDB: the message, and nothing lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal

import pymysql
import pytest

from headwater.errors import SourceRefused, SourceReplaced
from tests.intake.mysql.shop import Shop, table_rows, taking_in
from tests.patience import until


def made(shop: Shop, options: str = "") -> Shop:
    """A shop with a table of two rows, which were taken in."""
    shop.database.run("CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    shop.declare("t", "id INT PRIMARY KEY, n INT", options)
    shop.take_in()
    return shop


@contextmanager
def setting(shop: Shop, name: str, value: str) -> Iterator[None]:
    """A global variable of the server that is otherwise meanwhile."""
    ((before,),) = shop.database.rows(f"SELECT @@global.{name}")
    shop.database.run(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        shop.database.run(f"SET GLOBAL {name} = {before}")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("binlog_format", "MIXED", "doesn't write rows into its binary log"),
        ("binlog_row_image", "MINIMAL", "leaves out columns"),
        ("binlog_row_metadata", "NO_LOG", "doesn't name columns"),
        ("log_bin_compress", "1", "compresses its binary log"),
    ],
)
def test_a_server_that_does_not_write_all_is_refused_with_what_to_run(
    shop: Shop, name: str, value: str, says: str
) -> None:
    made(shop)
    with setting(shop, name, value), pytest.raises(SourceRefused, match=says) as refused:
        shop.take_in()
    assert f"SET GLOBAL {name}" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE TABLE t (id int, n int)", "can't tell the rows of its table apart"),
        ("CREATE TABLE t (id int, n int PRIMARY KEY)", "declares another key than its table has"),
        ("CREATE TABLE t (id int PRIMARY KEY)", 'declares the column "n"'),
        ("CREATE TABLE t (id int PRIMARY KEY, n uuid)", "whose type is not read"),
        ("CREATE TABLE t (id int PRIMARY KEY, n int) ENGINE = Aria", "of the engine Aria"),
        ("CREATE TABLE t (id int PRIMARY KEY, n int) WITH SYSTEM VERSIONING", "system versioned"),
        ("CREATE TABLE s (id int PRIMARY KEY, n int)", "which isn't there"),
        (
            "CREATE TABLE t (id int PRIMARY KEY, n int, FOREIGN KEY (n) REFERENCES t (id) ON DELETE CASCADE)",
            "whose rows are changed by a foreign key",
        ),
    ],
)
def test_a_table_whose_changes_are_not_all_told_is_refused(shop: Shop, statement: str, says: str) -> None:
    shop.database.run(statement)
    shop.declare("t", "id INT PRIMARY KEY, n INT")
    with pytest.raises(SourceRefused, match=says):
        shop.take_in()


def test_a_login_or_a_right_that_is_missing_is_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    made(shop)
    user = f"{shop.database.name[:20]}_reader"
    shop.database.run(f"CREATE USER {user} IDENTIFIED BY 'secret'", f"GRANT SELECT ON {shop.database.name}.* TO {user}")
    url = shop.database.url.replace("root", f"{user}:{{}}")
    for password in ("wrong", "secret"):
        monkeypatch.setenv("SHOP_DB", url.format(password))
        with pytest.raises(SourceRefused, match="the server refused") as refused:
            shop.take_in()
        assert "REPLICATION SLAVE" in str(refused.value.hint)
        assert password not in str(refused.value)
    shop.database.run(f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {user}", "INSERT INTO t VALUES (3, 3)")
    shop.take_in()
    assert shop.rows("t") == [(1, 1), (2, 2), (3, 3)]
    shop.database.run(f"DROP USER {user}")


def test_a_binary_log_that_was_purged_is_told_or_followed_by_a_snapshot(shop: Shop) -> None:
    made(shop)
    shop.database.run("INSERT INTO t VALUES (3, 3)", "DELETE FROM t WHERE id = 1", "FLUSH BINARY LOGS")
    newest = shop.database.rows("SHOW BINARY LOGS")[-1][0]

    def is_purged() -> bool:  # nothing is, while somebody still reads it
        shop.database.run(f"PURGE BINARY LOGS TO '{newest}'")
        return shop.database.rows("SHOW BINARY LOGS")[0][0] == newest

    until(is_purged)
    with pytest.raises(SourceReplaced, match='the binary log of the intake of "t" was purged'):
        shop.take_in()
    assert shop.rows("t") == [(1, 1), (2, 2)]
    shop.declare("t", "id INT PRIMARY KEY, n INT", "gaps = 'snapshot'")
    shop.take_in()
    assert shop.rows("t") == [(2, 2), (3, 3)]


def test_a_binary_log_that_was_made_anew_is_told_although_it_has_come_as_far(shop: Shop) -> None:
    made(shop)
    shop.database.run("INSERT INTO t VALUES (3, 3)")
    shop.take_in()
    time.sleep(1.1)  # the server tells the second
    shop.database.run("RESET MASTER", "UPDATE t SET n = 9")
    shop.database.run(*(f"REPLACE INTO t VALUES (4, {number})" for number in range(60)))
    with pytest.raises(SourceReplaced, match="was made anew"):
        shop.take_in()
    shop.declare("t", "id INT PRIMARY KEY, n INT", "gaps = 'snapshot'")
    shop.take_in()
    assert shop.rows("t") == [(1, 9), (2, 9), (3, 9), (4, 59)]


def test_a_statement_whose_rows_are_not_told_is_found(shop: Shop) -> None:
    made(shop)
    with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_format = 'STATEMENT'")
        cursor.execute("UPDATE t SET n = n + 1")
    with pytest.raises(SourceReplaced, match="doesn't tell all that happened") as replaced:
        shop.take_in()
    assert "binlog_format isn't ROW" in str(replaced.value.detail)
    shop.declare("t", "id INT PRIMARY KEY, n INT", "gaps = 'snapshot'")
    with shop.opened() as project, taking_in(project):
        until(lambda: table_rows(project, "t") == [(1, 2), (2, 3)])
    shop.take_in()
    assert shop.rows("t") == [(1, 2), (2, 3)]


def test_rows_are_read_as_they_were_when_the_table_was_another_one(shop: Shop) -> None:
    made(shop)
    shop.database.run(
        "INSERT INTO t VALUES (3, 3)",
        "ALTER TABLE t ADD COLUMN more varchar(9) FIRST",
        "INSERT INTO t VALUES ('m', 4, 4)",
        "ALTER TABLE t MODIFY COLUMN n bigint AFTER more",
        "INSERT INTO t VALUES ('m', 5, 55)",
    )
    shop.take_in()
    assert shop.rows("t") == [(1, 1), (2, 2), (3, 3), (4, 4), (55, 5)]
    shop.database.run("ALTER TABLE t DROP COLUMN n", "INSERT INTO t VALUES ('m', 6)")
    with pytest.raises(SourceRefused, match='declares the column "n"'):
        shop.take_in()
    shop.declare("t", "id INT PRIMARY KEY, n INT", "columns = 'ignore'")
    shop.take_in()
    assert shop.rows("t")[-1] == (6, None)


def test_columns_that_are_not_written_out_are_those_of_the_database(shop: Shop) -> None:
    shop.database.run(
        "CREATE TABLE t (id int unsigned, yes boolean, price decimal(12,2), kept json, seen datetime(6), who uuid, "
        "PRIMARY KEY (id))",
        "INSERT INTO t VALUES (4000000000, true, 1.5, '{}', '2026-01-01', NULL)",
    )
    way = "connector = 'mysql', url = '${SHOP_DB}', table = 't'"
    (shop.folder / "t.sql").write_text(f"CREATE TABLE t WITH ({way});")
    shop.take_in()
    ((key, yes, price, kept, seen, committed_at),) = shop.rows("t")
    assert (key, yes, price, kept) == (4_000_000_000, True, Decimal("1.50"), "{}")
    assert seen == datetime(2026, 1, 1, tzinfo=UTC) < committed_at


def test_a_transaction_that_is_large_or_changes_a_row_often_is_one(shop: Shop) -> None:
    made(shop)
    with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
        connection.begin()
        for number in range(1000):
            cursor.execute("UPDATE t SET n = %s WHERE id = 1", (number,))
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(number, number) for number in range(100, 20_100)])
        connection.commit()
    shop.take_in()
    with shop.opened() as project:
        assert project.query("SELECT count(*) AS n, max(n) AS most FROM t WHERE id > 2").to_pylist() == [
            {"n": 20_000, "most": 20_099}
        ]
        assert table_rows(project, "t WHERE id < 3") == [(1, 999), (2, 2)]


def test_a_connection_that_is_cut_is_made_again(shop: Shop) -> None:
    made(shop)
    with shop.opened() as project, taking_in(project):
        for number in range(3, 6):
            shop.database.run(f"INSERT INTO t VALUES ({number}, {number})")
            until(lambda: len(table_rows(project, "t")) == number)  # noqa: B023
            for (thread,) in shop.database.rows(
                "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
            ):
                with suppress(pymysql.OperationalError):  # it has ended meanwhile
                    shop.database.run(f"KILL {thread}")


def test_tables_of_a_database_are_read_at_one_transaction(shop: Shop) -> None:
    shop.database.run(
        "CREATE TABLE debits (id int PRIMARY KEY, amount int)", "CREATE TABLE credits (id int PRIMARY KEY, amount int)"
    )
    for name in ("debits", "credits"):
        shop.declare(name, "id INT PRIMARY KEY, amount INT")
    shop.take_in()
    ended = threading.Event()

    def transfer() -> None:
        number = 0
        with closing(shop.database.connect()) as connection, connection.cursor() as cursor:
            while not ended.is_set():
                number += 1
                connection.begin()
                cursor.execute("INSERT INTO debits VALUES (%s, 1)", (number,))
                cursor.execute("INSERT INTO credits VALUES (%s, 1)", (number,))
                connection.commit()
                ended.wait(0.005)

    thread = threading.Thread(target=transfer)
    thread.start()
    apart = "SELECT (SELECT count(*) FROM debits) AS d, (SELECT count(*) FROM credits) AS c"
    seen: set[int] = set()
    try:
        with shop.opened() as project, taking_in(project):

            def look() -> bool:
                (row,) = project.query(apart).to_pylist()
                assert row["d"] == row["c"]
                seen.add(row["d"])
                return len(seen) > 8

            until(look)
    finally:
        ended.set()
        thread.join()
