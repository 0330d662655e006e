"""Oddities of a real PostgreSQL: nothing is lost, and what can't be taken is said."""

from __future__ import annotations

import os

import pytest

from headwater.errors import SourceRefused
from tests.intake.postgres.shop import Shop

ROWS = int(os.environ.get("CHAOS_ROWS", "3000"))
"""The rows of the large transaction."""


def equal(shop: Shop, name: str, columns: list[str]) -> bool:
    """Tells whether a table is what the source is."""
    source = shop.database.rows(f"SELECT {', '.join(columns)} FROM {name}")
    return shop.rows(name, columns) == sorted(source, key=str)


def test_large_transactions_lost_rows_and_other_types_leave_the_table_as_the_source_is(shop: Shop) -> None:
    database = shop.database
    long = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) n)"
    database.run(
        "CREATE TABLE large (id int PRIMARY KEY, n int)",
        "CREATE TABLE busy (id int PRIMARY KEY, n int)",
        "CREATE TABLE dead (id int PRIMARY KEY, n float8, long text)",
        "CREATE TABLE bare (a int, b text)",
        "ALTER TABLE bare REPLICA IDENTITY FULL",
        "CREATE TABLE retyped (id int PRIMARY KEY, n int)",
        "INSERT INTO busy VALUES (1, 0)",
        f"INSERT INTO dead VALUES (3, 'NaN', {long})",
    )
    shop.declare("large", "id INT PRIMARY KEY, n INT")
    shop.declare("busy", "id INT PRIMARY KEY, n INT")
    shop.declare("dead", "id INT PRIMARY KEY, n DECIMAL(9, 2), long STRING", "max_dead = 'none'")
    shop.declare("bare", "a INT PRIMARY KEY, b STRING")
    shop.declare("retyped", "id INT PRIMARY KEY, n INT", "max_dead = 'none'")
    shop.take_in()
    database.run(
        f"INSERT INTO large SELECT n, n FROM generate_series(1, {ROWS}) n",
        "DO $$ BEGIN FOR i IN 1..1000 LOOP UPDATE busy SET n = i WHERE id = 1; END LOOP; END $$",
        f"INSERT INTO dead VALUES (1, 'NaN', 'a'), (2, 'NaN', {long}), (4, 4, 'd')",
        "DELETE FROM dead WHERE id = 1",  # of a key that the log doesn't have
        "UPDATE dead SET n = 2 WHERE id = 2",  # before its insert
        "UPDATE dead SET n = 3 WHERE id = 3",  # without what the log should have had
        "INSERT INTO bare VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "BEGIN; UPDATE bare SET a = 4 WHERE a = 1; DELETE FROM bare WHERE a = 2; COMMIT",
        "UPDATE bare SET b = 'C' WHERE a = 3",
        "INSERT INTO retyped VALUES (1, 1)",
        "ALTER TABLE retyped ALTER COLUMN n TYPE bigint",
        "INSERT INTO retyped VALUES (2, 2), (3, 3000000000)",
        "ALTER TABLE retyped ALTER COLUMN n TYPE text",
        "UPDATE retyped SET n = 'one' WHERE id = 1",
    )
    taken = {one.stream: one for one in shop.take_in()}
    assert {name: one.dead for name, one in taken.items() if one.dead} == {"dead": 3, "retyped": 2}
    assert taken["busy"].rows == 1000, "each change is kept"
    with shop.opened() as project:
        assert len(set(project.read("large")["_commit"].to_pylist())) == 1, "a transaction is not split"
        assert len(set(project.read("busy")["_commit"].to_pylist())) == 2
        lost = project.dead("dead").to_pylist()[-1]
        odd = [letter["reason"] for letter in project.dead("retyped").to_pylist()]
    assert (lost["error"], "leaves out long" in lost["reason"]) == ("missing-value", True)
    assert 'column "n" is 3000000000, which doesn\'t fit INT' in odd[0]
    assert 'column "n" is "one", which doesn\'t fit INT' in odd[1]
    assert equal(shop, "large", ["id", "n"])
    assert shop.rows("busy") == [(1, 1000)]
    assert equal(shop, "bare", ["a", "b"])
    database.run("DELETE FROM dead WHERE id = 3")
    assert equal(shop, "dead", ["id", "long"])
    assert shop.rows("retyped") == [(1, 1), (2, 2)]


def test_columns_that_are_otherwise_than_declared_are_followed_ignored_or_stopped_at(shop: Shop) -> None:
    database = shop.database
    database.run("CREATE TABLE items (id int PRIMARY KEY, name text, price int)")
    columns = "id INT PRIMARY KEY, name STRING, price INT"
    shop.declare("items", columns, "columns = 'stop'")
    database.run("INSERT INTO items VALUES (1, 'a', 1)")
    shop.take_in()
    database.run("ALTER TABLE items ADD COLUMN more int", "INSERT INTO items VALUES (2, 'b', 2, 2)")
    with pytest.raises(SourceRefused, match=r'declare the column "more", which "public'):
        shop.take_in()
    database.run("ALTER TABLE items DROP COLUMN more", "ALTER TABLE items ALTER COLUMN price TYPE bigint")
    with pytest.raises(SourceRefused, match=r'"price" as INT, and .* has it as bigint'):
        shop.take_in()
    database.run("ALTER TABLE items DROP COLUMN name", "INSERT INTO items VALUES (3, 3)")
    shop.declare("items", columns)
    with pytest.raises(SourceRefused, match='declares the column "name"'):
        shop.take_in()
    shop.declare("items", columns, "columns = 'ignore'")
    shop.take_in()
    assert shop.rows("items") == [(1, "a", 1), (2, "b", 2), (3, None, 3)]
    shop.declare("items", "id INT PRIMARY KEY, code INT, price INT", "columns = 'ignore'")
    database.run("ALTER TABLE items RENAME COLUMN id TO code")
    with pytest.raises(SourceRefused, match='declares the column "id"'):
        shop.take_in()
