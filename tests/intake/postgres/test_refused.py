"""What a database must have is looked at before anything is read, and each refusal says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headwater.errors import HeadwaterError, SourceRefused, SourceReplaced, SourceUnavailable
from tests.intake.postgres.shop import Database, Shop
from tests.servers.postgres import start_postgres
from tools import servers

COLUMNS = "id INT PRIMARY KEY, name STRING"


@pytest.fixture
def customers(shop: Shop) -> Shop:
    """A project with a table that could be taken in."""
    shop.database.run("CREATE TABLE customers (id int PRIMARY KEY, name text)")
    shop.declare("customers", COLUMNS)
    return shop


def refusal(shop: Shop, kind: type[HeadwaterError] = SourceRefused) -> str:
    with pytest.raises(kind) as refused:
        shop.take_in()
    assert type(refused.value) is kind
    assert refused.value.fields["topic"] == "customers"
    return str(refused.value)


def test_a_table_or_column_that_is_not_there_is_refused(shop: Shop) -> None:
    shop.declare("customers", COLUMNS)
    assert 'reads the table "public.customers", which isn\'t there' in refusal(shop)
    shop.database.run("CREATE TABLE customers (id int PRIMARY KEY, label text)")
    assert 'declares the column "name", which "public.customers" doesn\'t have' in refusal(shop)


def test_a_table_without_a_key_is_refused_with_the_two_ways_out(shop: Shop) -> None:
    shop.database.run("CREATE TABLE customers (id int, name text)")
    shop.declare("customers", COLUMNS)
    told = refusal(shop)
    assert "has no primary key" in told
    assert "ADD PRIMARY KEY (id)" in told
    assert "REPLICA IDENTITY FULL" in told
    shop.database.run("ALTER TABLE customers ADD PRIMARY KEY (name)")
    assert "tell its rows apart by name; declared is id" in refusal(shop)


def test_a_user_without_rights_is_refused(customers: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    database = customers.database
    mine = re.sub("postgres@", f"{database.name}@", database.url)
    monkeypatch.setenv("SHOP_DB", mine)
    assert "does not exist" in refusal(customers)
    database.run(f"CREATE ROLE {database.name} LOGIN")
    try:
        assert f"Run ALTER ROLE {database.name} REPLICATION" in refusal(customers)
        database.run(f"ALTER ROLE {database.name} REPLICATION")
        assert 'may not read the table "public.customers"' in refusal(customers)
    finally:
        database.run(f"DROP ROLE {database.name}")


def test_an_address_that_is_not_there_is_named(customers: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DB", customers.database.url + "_not")
    assert "does not exist" in refusal(customers)
    monkeypatch.setenv("SHOP_DB", "postgresql://postgres@127.0.0.1:1/shop")
    assert "did not answer" in refusal(customers, SourceUnavailable)
    monkeypatch.delenv("SHOP_DB")
    assert "needs the environment variable SHOP_DB" in refusal(customers)


def test_a_publication_without_the_table_is_refused(customers: Shop) -> None:
    customers.database.run("CREATE TABLE others (id int PRIMARY KEY)")
    customers.database.run(f"CREATE PUBLICATION {customers.slot} FOR TABLE others")
    assert f"Run ALTER PUBLICATION {customers.slot} ADD TABLE public.customers" in refusal(customers)
    customers.database.run(f"ALTER PUBLICATION {customers.slot} SET (publish = 'insert')")
    assert "leaves out kinds of changes" in refusal(customers)


def test_a_slot_that_is_gone_or_made_anew_is_refused(customers: Shop) -> None:
    database = customers.database
    database.run("INSERT INTO customers VALUES (1, 'ada')")
    customers.take_in()
    before = customers.rows("customers")
    database.run(f"SELECT pg_drop_replication_slot('{customers.slot}')")
    assert "is gone" in refusal(customers, SourceReplaced)
    database.run("INSERT INTO customers VALUES (2, 'ben')")
    database.run(f"SELECT pg_create_logical_replication_slot('{customers.slot}', 'pgoutput')")
    told = refusal(customers, SourceReplaced)
    assert "was made anew" in told
    assert "Declare gaps = 'snapshot'" in told
    assert customers.rows("customers") == before == [(1, "ada")]


def test_a_server_without_logical_decoding_and_a_wrong_password_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = servers.find("postgres")
    assert program is not None, "run `make servers`"
    with start_postgres(program, "wal_level=replica") as server:
        database = Database(server.url)
        monkeypatch.setenv("SHOP_DB", database.url)
        shop = Shop(database, tmp_path)
        shop.declare("customers", COLUMNS)
        assert "Run ALTER SYSTEM SET wal_level = logical" in refusal(shop)
        file = database.rows("SHOW hba_file")[0][0]
        database.run(
            "CREATE ROLE locked LOGIN PASSWORD 'right'",
            f"COPY (VALUES ('host all locked all scram-sha-256'), ('host all all all trust')) TO '{file}'",
            "SELECT pg_reload_conf()",
        )
        monkeypatch.setenv("SHOP_DB", re.sub("postgres@", "locked:wrong@", database.url))
        assert "password authentication failed" in refusal(shop)
