"""The role that executes statements of others: it may read the views, and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from headwater.errors import SettingsRefused, StatementRefused, StoreDenied
from headwater.model import Store
from headwater.store import open_store as open_declared
from headwater.store.postgres import PostgresStore
from headwater.testing.conformance.targets import SPEND, batch
from tests.servers.postgres import PostgresServer, start_postgres
from tests.store.postgres.conftest import Open

ROOT = Path(__file__).parents[3]
POWERS = {
    "SUPERUSER": "is a superuser",
    "CREATEROLE": "may create roles",
    "CREATEDB": "may create databases",
    "REPLICATION": "may replicate",
    "BYPASSRLS": "sees every row",
    "IN ROLE pg_read_server_files": "is a member of pg_read_server_files",
}
NOT_ALLOWED = (
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT rolpassword FROM pg_authid",
    "SELECT * FROM headwater_versions",
    "SELECT * FROM spend__v1",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'",
    "SELECT set_config('role', 'postgres', false), query_to_xml('SELECT pg_read_file(''PG_VERSION'')', true, true, '')",
    "SELECT lo_import('PG_VERSION')",
)


@pytest.fixture
def mighty(postgres_server: PostgresServer, schema: str) -> Iterator[psycopg.Connection]:
    """A superuser, and the end of the role that a test makes under the name of its schema."""
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        yield connection
        connection.execute(f'DROP OWNED BY "{schema}"')
        connection.execute(f'DROP ROLE "{schema}"')


def test_statements_of_others_read_views_and_nothing_else(open_store: Open) -> None:
    store = open_store()
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    store.promote("spend", 1)
    assert store.query("SELECT card FROM spend").to_pylist() == [{"card": "a"}]
    for sql in NOT_ALLOWED:
        with pytest.raises(StatementRefused):
            store.query(sql)
    assert store.query("SELECT current_user AS me, card FROM spend").to_pylist() == [{"me": "reader", "card": "a"}]


def test_views_from_before_the_reader_was_declared_are_granted_to_it(open_store: Open) -> None:
    before = open_store(reader=None)
    before.apply(SPEND, before.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    before.promote("spend", 1)
    assert open_store().query("SELECT card FROM spend").num_rows == 1


def test_without_a_reader_nobody_executes_statements_of_others(open_store: Open) -> None:
    with pytest.raises(StoreDenied, match="has no reader") as refused:
        open_store(reader=None).query("SELECT 1")
    assert "CREATE ROLE" in str(refused.value.hint) and "reader = " in str(refused.value.hint)


@pytest.mark.parametrize("power", POWERS)
def test_a_role_that_may_more_than_read_is_refused(
    power: str, open_store: Open, postgres_server: PostgresServer, schema: str, mighty: psycopg.Connection
) -> None:
    mighty.execute(f'CREATE ROLE "{schema}" LOGIN {power}')
    url = postgres_server.reader_url.replace("reader@", f"{schema}@")
    with pytest.raises(StoreDenied, match="may more than read") as refused:
        open_store(reader=url).query("SELECT 1")
    assert POWERS[power] in str(refused.value.detail)


def test_the_reader_is_declared_among_the_options(postgres_server: PostgresServer, schema: str) -> None:
    options = (("schema", schema), ("reader", postgres_server.reader_url))
    declared = Store(name="main", url=postgres_server.url, options=options)
    store = open_declared(declared, None)
    assert store.query("SELECT current_user AS me").to_pylist() == [{"me": "reader"}]
    store.close()
    nameless = (("schema", schema), ("reader", "postgresql://127.0.0.1/postgres"))
    with pytest.raises(SettingsRefused):
        open_declared(Store(name="main", url=postgres_server.url, options=nameless), None)


def test_the_roles_of_the_deployment_suffice(postgres_server: PostgresServer) -> None:
    """deploy/postgres.sh on a server of its own, and a store with the roles that it makes."""
    with start_postgres(postgres_server.programs / "initdb") as server:
        surroundings = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PATH": f"{server.programs}:/usr/bin:/bin"}
        secrets = {"HEADWATER_PASSWORD": "it's one", "READER_PASSWORD": 'two"'}
        subprocess.run(["sh", ROOT / "deploy" / "postgres.sh"], check=True, env=surroundings | secrets)
        address = f"127.0.0.1:{server.port}/headwater"
        url, reader = f"postgresql://headwater@{address}", f"postgresql://headwater_reader@{address}"
        with closing(PostgresStore(url, schema="views", reader=reader)) as store:
            store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
            store.promote("spend", 1)
            assert store.query("SELECT current_user AS me FROM spend").to_pylist() == [{"me": "headwater_reader"}]
