"""A slot is shown and dropped by command; where it is lost, a new snapshot tells what has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import SourceReplaced
from tests.cli.test_commands import headwater, records
from tests.intake.postgres.shop import Database, Shop
from tests.patience import until
from tests.servers.postgres import start_postgres
from tools import servers

COLUMNS = "id INT PRIMARY KEY, name STRING, changed_at TIMESTAMP, WATERMARK FOR changed_at AS changed_at"
OPTIONS = "message_time = 'changed_at'"


def listed(shop: Shop, code: int = 0) -> list[dict[str, Any]]:
    """The slots as the command tells them."""
    done = headwater("slot", "list", "--json", folder=shop.folder)
    assert done.returncode == code
    return [json.loads(line) for line in done.stdout.splitlines()]


def changes(shop: Shop) -> list[tuple[int, str | None, str]]:
    """The changes of the customers, in the order of the log."""
    with shop.opened() as project:
        return [(row["id"], row["name"], row["_op"]) for row in project.read("customers").to_pylist()]


def test_a_slot_is_shown_and_dropped_and_a_new_snapshot_keeps_the_history(shop: Shop) -> None:
    database = shop.database
    database.run(
        "CREATE TABLE customers (id int PRIMARY KEY, name text)",
        "INSERT INTO customers VALUES (1, 'ada'), (2, 'ben'), (3, 'eve')",
    )
    shop.declare("customers", COLUMNS, OPTIONS)
    (missing,) = listed(shop, 1)
    assert (missing["slot"], missing["state"]) == (shop.slot, "missing")
    assert missing["unpublished"] == ["public.customers"]
    shop.take_in()
    (found,) = listed(shop)
    assert (found["state"], found["topics"], found["unpublished"]) == ("at rest", ["customers"], [])
    assert found["database"].endswith(f"/{database.name}")
    before = found["held"]
    database.run("CREATE TABLE other AS SELECT generate_series(1, 10000) AS n")
    (found,) = listed(shop)
    assert found["held"] > before + 100_000, "WAL is held back for it"
    assert "MB" in headwater("slot", "list", folder=shop.folder).stdout

    settings = shop.folder / "headwater.toml"
    settings.write_text(f'{settings.read_text()}\n[[alerts]]\nwhen = "held"\nabove = 1e5\n')
    told = json.loads(headwater("alerts", "--json", folder=shop.folder).stdout)
    assert [(alert["name"], alert["state"]) for alert in told["alerts"]] == [("customers", "firing")]
    assert "MB of WAL for its slot" in told["alerts"][0]["detail"]
    (topic,) = records("status", folder=shop.folder)[0]["topics"]
    assert topic["held"] >= found["held"]

    wrong = headwater("slot", "drop", "other", folder=shop.folder)
    assert f"Its slots are {shop.slot}" in wrong.stderr
    dropped = [f"slot {shop.slot}", f"publication {shop.slot}"]
    assert records("slot", "drop", shop.slot, folder=shop.folder) == [{"slot": shop.slot, "dropped": dropped}]
    assert not database.rows("SELECT FROM pg_publication")
    with pytest.raises(SourceReplaced, match="is gone"):
        shop.take_in()

    database.run(
        "DELETE FROM customers WHERE id = 1",
        "UPDATE customers SET name = 'Ben' WHERE id = 2",
        "INSERT INTO customers VALUES (4, 'dan')",
    )
    first = changes(shop)
    shop.declare("customers", COLUMNS, f"{OPTIONS}, gaps = 'snapshot'")
    (taken,) = shop.take_in()
    assert (taken.rows, taken.dead) == (4, 0)
    now = changes(shop)
    assert now[:3] == first
    assert sorted(now[3:]) == [(1, None, "delete"), (2, "Ben", "upsert"), (3, "eve", "upsert"), (4, "dan", "upsert")]
    assert shop.rows("customers", ["id", "name"]) == database.rows("SELECT * FROM customers ORDER BY id")
    database.run("UPDATE customers SET name = 'Eve' WHERE id = 3", "DELETE FROM customers WHERE id = 4")
    shop.take_in()
    assert shop.rows("customers", ["id", "name"]) == database.rows("SELECT * FROM customers ORDER BY id")


def test_a_slot_that_the_server_has_invalidated_is_said_to_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = servers.find("postgres")
    assert program is not None, "run `make servers`"
    with start_postgres(program, "max_slot_wal_keep_size=1MB") as server:
        database = Database(server.url)
        monkeypatch.setenv("SHOP_DB", database.url)
        shop = Shop(database, tmp_path)
        database.run(
            "CREATE TABLE customers (id int PRIMARY KEY, name text)", "INSERT INTO customers VALUES (1, 'ada')"
        )
        shop.declare("customers", COLUMNS, OPTIONS)
        shop.take_in()
        database.run("UPDATE customers SET name = 'Ada'")

        def is_lost() -> bool:
            database.run("CREATE TABLE filler (n int)", "DROP TABLE filler", "SELECT pg_switch_wal()", "CHECKPOINT")
            return database.rows("SELECT wal_status FROM pg_replication_slots") == [("lost",)]

        until(is_lost)
        (found,) = listed(shop, 1)
        assert found["state"] == "lost"
        with pytest.raises(SourceReplaced, match="was invalidated by the server"):
            shop.take_in()
        shop.declare("customers", COLUMNS, f"{OPTIONS}, gaps = 'snapshot'")
        shop.take_in()
        assert shop.rows("customers", ["id", "name"]) == [(1, "Ada")]
