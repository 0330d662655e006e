"""The server and what may go wrong with it: each failure has a name, and no batch is lost or doubled by it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from headwater.errors import (
    ArgumentRefused,
    BatchRefused,
    ExtraMissing,
    SettingsRefused,
    StatementRefused,
    StoreDamaged,
    StoreDenied,
    StoreUnavailable,
)
from headwater.model import Column, Serving, Store
from headwater.store import open_store as open_declared
from headwater.store.postgres import PostgresStore
from headwater.testing.conformance.targets import SPEND, batch, position, rows_of, version
from tests.patience import PATIENCE
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.store.postgres.conftest import Open

SHORT = timedelta(milliseconds=150)


@pytest.fixture
def admin(postgres_server: PostgresServer, schema: str) -> Iterator[psycopg.Connection]:
    """Somebody else who works in the same schema."""
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f'SET search_path = "{schema}"')
        yield connection


@pytest.fixture
def role(admin: psycopg.Connection, schema: str) -> Iterator[str]:
    """A user who may do nothing yet."""
    admin.execute(f'CREATE ROLE "{schema}" LOGIN')
    yield schema
    admin.execute(f'DROP OWNED BY "{schema}"')
    admin.execute(f'DROP ROLE "{schema}"')


def url_of(server: PostgresServer, user: str, database: str = "postgres") -> str:
    return f"postgresql://{user}@127.0.0.1:{server.port}/{database}"


def test_a_database_that_does_not_exist(postgres_server: PostgresServer) -> None:
    store = PostgresStore(url_of(postgres_server, "postgres", "nowhere"))
    with pytest.raises(StoreDenied, match="refuses to be used") as denied:
        store.open(SPEND, "plan")
    assert "The database doesn't exist" in str(denied.value) and '"nowhere" does not exist' in str(denied.value)


def test_a_wrong_password_is_told_without_telling_it(
    postgres_server: PostgresServer, admin: psycopg.Connection, role: str
) -> None:
    admin.execute(f"ALTER ROLE \"{role}\" PASSWORD 'right'")
    rules = Path(str(admin.execute("SHOW hba_file").fetchall()[0][0]))
    before = rules.read_text()
    rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{before}")
    admin.execute("SELECT pg_reload_conf()")
    try:
        url = f"postgresql://{role}:wrong-one@127.0.0.1:{postgres_server.port}/postgres"
        with closing(PostgresStore(url)) as store, pytest.raises(StoreDenied) as denied:
            store.position("spend", 1)
        assert "The password is wrong" in str(denied.value)
        assert "wrong-one" not in str(denied.value) and "wrong-one" not in repr(denied.value.as_dict())
    finally:
        rules.write_text(before)
        admin.execute("SELECT pg_reload_conf()")


def test_a_user_without_permission_and_what_it_needs(
    postgres_server: PostgresServer, admin: psycopg.Connection, role: str, schema: str
) -> None:
    with closing(PostgresStore(url_of(postgres_server, role), schema=schema)) as store:
        with pytest.raises(StoreDenied) as denied:
            store.open(SPEND, "plan")
        assert "The user lacks a permission" in str(denied.value)
        admin.execute(f'CREATE SCHEMA "{schema}"')
        admin.execute(f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{role}"')
        assert store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))


def test_a_server_that_is_not_there() -> None:
    store = PostgresStore(f"postgresql://postgres@127.0.0.1:{free_port()}/postgres")
    with pytest.raises(StoreUnavailable, match="could not be reached") as missing:
        store.read("spend")
    assert missing.value.transient


def test_connections_that_were_cut_off_are_made_again(open_store: Open, admin: psycopg.Connection) -> None:
    store = open_store(parameters={"application_name": "cut off"})
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'cut off'"
    for number in range(1, 4):
        assert admin.execute(cut).fetchall()[0][0] >= 1
        assert store.apply(SPEND, epoch, batch(number, [("a", 1, number)]))
        assert admin.execute(cut).fetchall()[0][0] >= 1
        assert store.position("spend", 1) == position(number)


def test_a_connection_that_is_cut_off_in_the_middle_of_a_batch_leaves_nothing_of_it(
    open_store: Open, admin: psycopg.Connection, schema: str
) -> None:
    store, blocked = open_store(parameters={"application_name": "blocked"}), open_store()
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    with admin.transaction():
        admin.execute("LOCK TABLE spend__v1 IN ACCESS EXCLUSIVE MODE")
        script = (
            "import time, psycopg\n"
            f"with psycopg.connect({admin.info.dsn!r}, autocommit=True) as c:\n"
            '    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "\n'
            "    cut += \"application_name = 'blocked' AND wait_event_type = 'Lock'\"\n"
            "    while not c.execute(cut).fetchall()[0][0]:\n"
            "        time.sleep(0.02)\n"
        )
        killer = subprocess.Popen([sys.executable, "-c", script])
        with pytest.raises(StoreUnavailable, match="could not be written"):
            store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
        assert killer.wait(PATIENCE) == 0
    assert (rows_of(blocked), blocked.position("spend", 1)) == ({("a", 1, "1.00")}, position(0))
    assert store.apply(SPEND, epoch, batch(1, [("a", 1, 2)])), "the same call, made again"


def test_a_lock_that_somebody_keeps_is_waited_for_and_then_named(open_store: Open, admin: psycopg.Connection) -> None:
    store = open_store(lock_timeout=SHORT)
    epoch = store.open(SPEND, "plan")
    with admin.transaction():
        admin.execute("LOCK TABLE spend__v1 IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable) as locked:
            store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    assert "kept a lock for longer than lock_timeout" in str(locked.value)
    assert store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))


def test_a_run_that_was_stopped_in_the_middle_of_a_transaction_is_ended_by_the_server(open_store: Open) -> None:
    store = open_store(silence_timeout=SHORT)
    epoch = store.open(SPEND, "plan")
    with pytest.raises(StoreUnavailable), store._database.writing() as connection:
        assert store._books.is_new(
            connection, SPEND, epoch, batch(0)
        )  # here a process is stopped, and says nothing more
        assert open_store().open(SPEND, "plan") == epoch + 1, "it waited until the server had ended the other"
        connection.execute("SELECT 1")


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE spend__v1 CASCADE",
        "ALTER TABLE spend__v1 ALTER COLUMN spent TYPE double precision",
        "ALTER TABLE spend__v1 DROP COLUMN minute CASCADE",
        "ALTER TABLE spend__v1 ADD COLUMN mine text NOT NULL DEFAULT ''",
        "DROP TABLE headwater_changes_spend__v1 CASCADE",
        "ALTER TABLE spend__v1 DROP CONSTRAINT spend__v1_card_minute_key",
    ],
)
def test_a_table_that_somebody_dropped_or_altered_is_never_made_again_empty(
    store: PostgresStore, admin: psycopg.Connection, damage: str
) -> None:
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    admin.execute(damage)
    with pytest.raises(StoreDamaged, match="not as Headwater left them") as damaged:
        store.open(SPEND, "plan")
    assert "headwater replay" in str(damaged.value)


def test_a_table_that_is_dropped_while_a_run_goes_on_stops_it(store: PostgresStore, admin: psycopg.Connection) -> None:
    epoch = store.open(SPEND, "plan")
    admin.execute("DROP TABLE spend__v1 CASCADE")
    with pytest.raises(StoreDamaged, match="lacks something that Headwater made"):
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    assert store.position("spend", 1) is None


def test_a_name_that_is_taken_is_left_alone(store: PostgresStore, admin: psycopg.Connection) -> None:
    store.open(SPEND, "plan")
    admin.execute("CREATE TABLE spend AS SELECT 1 AS mine")
    with pytest.raises(ArgumentRefused, match='already has a table "spend"'):
        store.promote("spend", 1)
    admin.execute("CREATE TABLE spend__v2 AS SELECT 1 AS mine")
    with pytest.raises(ArgumentRefused, match='already has a table "spend__v2"'):
        store.open(version(2), "plan")


def test_a_key_that_is_too_long_for_an_index_is_refused(store: PostgresStore) -> None:
    epoch = store.open(SPEND, "plan")
    long = "".join(map(chr, range(0x4E00, 0x4E00 + 6000)))  # PostgreSQL would compress a repetition
    with pytest.raises(BatchRefused, match="can't take batch 0") as refused:
        store.apply(SPEND, epoch, batch(0, [(long, 1, 1)]))
    assert "index row" in str(refused.value)


def test_a_name_that_would_be_cut_is_refused(store: PostgresStore) -> None:
    with pytest.raises(ArgumentRefused, match="can't be kept in a PostgreSQL store") as refused:
        store.open(replace(SPEND, view="x" * 60), "plan")
    assert "63 bytes" in str(refused.value)


def test_what_was_granted_on_a_view_stays_granted(
    store: PostgresStore, admin: psycopg.Connection, postgres_server: PostgresServer, role: str, schema: str
) -> None:
    wider = replace(version(2), columns=(Column("mark", pa.string(), comment="which one"), *SPEND.columns))
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    store.open(wider, "plan")
    store.promote("spend", 1)
    admin.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO "{role}"')
    admin.execute(f'GRANT SELECT ON spend TO "{role}"')
    with psycopg.connect(url_of(postgres_server, role), autocommit=True) as client:
        for number in (1, 2, 1):
            store.promote("spend", number)
            assert len(client.execute(f'SELECT * FROM "{schema}".spend').fetchall()) == 2 - number
    store.promote("spend", 2)
    comment = "SELECT col_description('spend'::regclass, 1)"
    assert admin.execute(comment).fetchall() == [("which one",)]


def test_what_depends_on_a_view_goes_on_or_stands_in_the_way(store: PostgresStore, admin: psycopg.Connection) -> None:
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    store.open(version(2), "plan")
    store.open(replace(version(3), columns=SPEND.columns[::-1]), "plan")
    store.promote("spend", 1)
    admin.execute("CREATE VIEW mine AS SELECT card FROM spend")
    store.promote("spend", 2)
    assert admin.execute("SELECT * FROM mine").fetchall() == []
    with pytest.raises(ArgumentRefused, match="can't be promoted yet") as refused:
        store.promote("spend", 3)
    assert "mine" in str(refused.value)
    assert store.promoted("spend") == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_sleep(20)",
        "SELECT set_config('transaction_read_only', 'off', true), (SELECT count(*) FROM spend)",
        "SELECT 1) TO PROGRAM 'true",
        "SELECT nextval('mine')",
        "SELECT * FROM spend FOR UPDATE",
        "SET statement_timeout = 0",
        "COPY spend__v1 TO STDOUT",
        "SELECT $1::int",
    ],
)
def test_a_query_is_one_reading_statement_that_ends(open_store: Open, admin: psycopg.Connection, sql: str) -> None:
    store = open_store(statement_timeout=timedelta(seconds=1))
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    store.promote("spend", 1)
    admin.execute("CREATE SEQUENCE mine")
    with pytest.raises(StatementRefused, match="the query can't be answered"):
        store.query(sql)
    assert store.query("SELECT card FROM spend", limit=5).to_pylist() == [{"card": "a"}]


def test_a_query_leaves_nothing_behind(store: PostgresStore, admin: psycopg.Connection) -> None:
    store.open(SPEND, "plan")
    store.query("SELECT pg_advisory_lock(99), lo_create(4242)")
    assert admin.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchall() == [(0,)]
    assert admin.execute("SELECT pg_try_advisory_lock(99)").fetchall() == [(True,)]


def test_the_changelog_is_there_for_any_client(store: PostgresStore, admin: psycopg.Connection) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
    store.apply(SPEND, epoch, batch(2, deletes=[("a", 1)]))
    rows = admin.execute(
        "SELECT op, before ->> 'spent', after ->> 'spent', batch, commit FROM spend__v1__changes ORDER BY batch"
    ).fetchall()
    assert rows == [
        ("insert", None, "1.00", 0, {"payments": 0}),
        ("update", "1.00", "2.00", 1, {"payments": 1}),
        ("delete", "2.00", None, 2, {"payments": 2}),
    ]


def test_a_store_is_declared_by_its_url_and_its_options(postgres_server: PostgresServer, tmp_path: Path) -> None:
    options = (("schema", "declared"), ("sslmode", "disable"), ("statement_timeout", "5 seconds"))
    with closing(open_declared(Store(name="main", url=postgres_server.url, options=options), tmp_path)) as store:
        store.open(version(7), "plan")
    assert postgres_server.query("SELECT count(*) FROM declared.spend__v7") == "0"
    for bad, told in (("schemas", 'unknown option "schemas"'), ("lock_timeout", "not a duration")):
        with pytest.raises(SettingsRefused, match=told):
            open_declared(Store(name="main", url=postgres_server.url, options=((bad, "x"),)), tmp_path)
    with pytest.raises(SettingsRefused, match="can't read"):
        open_declared(Store(name="main", url="postgresql://here?nonsense=1"), tmp_path)


def test_the_environment_says_where_the_server_is(
    postgres_server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("HOST", "127.0.0.1"), ("PORT", postgres_server.port), ("USER", "postgres")):
        monkeypatch.setitem(os.environ, f"PG{name}", str(value))
    with closing(PostgresStore("postgresql://", schema=schema)) as store:
        assert store.open(SPEND, "plan") == 1


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("headwater.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ExtraMissing, match='store "main" needs the package psycopg') as missing:
        open_declared(Store(name="main", url="postgresql://here/db"), tmp_path)
    assert "headwater[postgres]" in str(missing.value)


def test_indexes_and_comments_come_from_the_declaration(store: PostgresStore, admin: psycopg.Connection) -> None:
    columns = (replace(SPEND.columns[0], comment="whose"), *SPEND.columns[1:])
    stated = replace(
        SPEND, columns=columns, comment="Per minute.", serving=Serving(indexes=(("minute",), ("spent", "card")))
    )
    for _ in range(2):
        store.open(stated, "plan")
    store.promote("spend", 1)
    found = admin.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'spend__v1' ORDER BY indexname").fetchall()
    assert [text.partition("USING ")[2] for (text,) in found][:2] == ["btree (minute)", "btree (spent, card)"]
    for name in ("spend", "spend__v1"):
        told = admin.execute(
            "SELECT obj_description(to_regclass(%s)), col_description(to_regclass(%s), 1)", (name, name)
        ).fetchone()
        assert told == ("Per minute.", "whose")
    store.open(replace(stated, comment=None), "plan")
    store.promote("spend", 1)
    assert admin.execute("SELECT obj_description(to_regclass('spend'))").fetchone() == (None,)
