"""Tables whose columns are read from a real database: once, and again when that is asked for."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal

import pytest
from typer.testing import CliRunner

from headwater.cli.app import app
from headwater.errors import ArgumentRefused, CheckFailed
from headwater.intake.postgres.description import declared_type
from headwater.project.described import FILE
from tests.intake.postgres.shop import Shop

EVERY = (
    "CREATE TABLE every (b bool, small smallint, id int, big bigint, f real, d double precision, n numeric, "
    "m numeric(12,2), wide numeric(60,2), thousands numeric(5,-3), day date, at timestamptz(3), local timestamp, "
    "clock time, doc jsonb, ints int[], grid numeric(4,1)[][], mood text, code varchar(8), u uuid, raw bytea, "
    '"Name with spaces" text, PRIMARY KEY (big, id))'
)


def declare(shop: Shop, name: str, parts: str = "", options: str = "") -> None:
    source = f"connector = 'postgres', url = '${{SHOP_DB}}', table = 'public.{name}', commit_every = '20 milliseconds'"
    (shop.folder / f"{name}.sql").write_text(f"CREATE TABLE {name} {parts} WITH ({source}{options});")


def columns_of(shop: Shop, name: str) -> list[str]:
    with shop.opened() as project:
        return [str(column) for column in project.declarations.topic(name).columns]


def test_columns_and_key_are_those_of_the_database_and_its_rows_come_as_they_are(shop: Shop) -> None:
    shop.database.run(EVERY.replace(" wide numeric(60,2),", ""))
    declare(shop, "every")
    assert columns_of(shop, "every") == [
        "b BOOLEAN",
        "small SMALLINT",
        "id INT NOT NULL",
        "big BIGINT NOT NULL",
        "f FLOAT",
        "d DOUBLE",
        "n DECIMAL(38, 18)",
        "m DECIMAL(12, 2)",
        "thousands DECIMAL(8, 0)",
        "day DATE",
        "at TIMESTAMP",
        "local TIMESTAMP",
        "clock STRING",
        "doc STRING",
        "ints ARRAY<INT>",
        "grid ARRAY<DECIMAL(4, 1)>",
        "mood STRING",
        "code STRING",
        "u STRING",
        "raw BINARY",
        "Name with spaces STRING",
        "committed_at TIMESTAMP",
    ]
    shop.database.run(
        'INSERT INTO every (id, big, m, n, thousands, at, ints, doc, raw, "Name with spaces") VALUES '
        "(1, 2, 3.10, 0.5, 12345, '2026-01-01 00:00:00.125+00', '{1,2}', '{\"a\": 1}', '\\x00ff', 'x')"
    )
    shop.take_in()
    with shop.opened() as project:
        assert project.declarations.topic("every").primary_key == ("big", "id")
        assert not project.dead("every").num_rows
        (row,) = project.query("SELECT * FROM every").to_pylist()
    assert (row["m"], row["n"], row["thousands"]) == (Decimal("3.10"), Decimal("0.5"), Decimal(12000))
    assert (row["ints"], row["doc"], row["raw"], row["Name with spaces"]) == ([1, 2], '{"a": 1}', b"\x00\xff", "x")
    assert row["at"].isoformat() == "2026-01-01T00:00:00.125000+00:00"
    assert isinstance(row["committed_at"], datetime)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("numeric(60,2)", "DECIMAL(38, 18)"),
        ("numeric(2,5)", "DECIMAL(5, 5)"),
        ("timestamp(0) without time zone", "TIMESTAMP"),
        ("character(3)", "STRING"),
        ("interval(3)", "STRING"),
        ("bit varying(4)", "STRING"),
        ("mood", "STRING"),
        ("text[]", "ARRAY<STRING>"),
    ],
)
def test_a_type_of_the_database_becomes_one_that_takes_its_values(kind: str, expected: str) -> None:
    assert declared_type(kind) == expected


def test_a_database_is_asked_once_and_a_change_of_it_changes_no_view(shop: Shop) -> None:
    shop.database.run("CREATE TABLE shops (id int PRIMARY KEY, name text)")
    declare(shop, "shops")
    before = columns_of(shop, "shops")
    kept = json.loads((shop.folder / FILE).read_text())
    assert kept == {
        "shops": {
            "of": "postgres public.shops",
            "columns": [["id", "INT"], ["name", "STRING"]],
            "primary_key": ["id"],
        }
    }
    shop.database.run("ALTER TABLE shops ADD COLUMN city text", "ALTER TABLE shops ALTER COLUMN id TYPE bigint")
    assert columns_of(shop, "shops") == before
    shop.database.run("INSERT INTO shops VALUES (1, 'one', 'Oslo')")
    shop.take_in()
    assert shop.rows("shops", ["id", "name"]) == [(1, "one")]

    answered = CliRunner().invoke(app, ["describe", "--project", str(shop.folder), "--json"])
    assert answered.exit_code == 0, answered.output
    assert json.loads(answered.output) == {
        "table": "shops",
        "columns": {"id": "BIGINT", "name": "STRING", "city": "STRING"},
        "changes": {"id": "was INT, is BIGINT", "city": "added: STRING"},
    }
    assert columns_of(shop, "shops") == ["id BIGINT NOT NULL", "name STRING", "city STRING", "committed_at TIMESTAMP"]
    told = CliRunner().invoke(app, ["describe", "shops", "--project", str(shop.folder)])
    assert "shops: 3 columns, as before" in told.output
    shop.database.run("INSERT INTO shops VALUES (5000000000, 'two', 'Rome')")
    shop.take_in()
    assert shop.rows("shops", ["id", "name", "city"]) == [(1, "one", None), (5000000000, "two", "Rome")]


def test_another_table_of_the_database_is_asked_for_its_columns(shop: Shop) -> None:
    shop.database.run("CREATE TABLE one (id int PRIMARY KEY)", "CREATE TABLE two (key text PRIMARY KEY)")
    declare(shop, "one")
    assert columns_of(shop, "one")[0] == "id INT NOT NULL"
    text = (shop.folder / "one.sql").read_text().replace("public.one", "public.two")
    (shop.folder / "one.sql").write_text(text)
    assert columns_of(shop, "one")[0] == "key STRING NOT NULL"


def test_what_the_database_does_not_tell_is_a_finding(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(shop, "shops")
    with shop.opened() as project, pytest.raises(CheckFailed) as failed:
        project.plan()
    told = str(failed.value)
    assert 'shops.sql:1:14: table "shops" leaves its columns to its database, and they are not known' in told
    assert '"public.shops", which isn\'t there' in told
    assert not (shop.folder / FILE).exists()
    monkeypatch.delenv("SHOP_DB")
    with shop.opened() as project, pytest.raises(CheckFailed, match="SHOP_DB"):
        project.plan()
    monkeypatch.setenv("SHOP_DB", "postgresql://127.0.0.1:1/nobody")
    with shop.opened() as project, pytest.raises(CheckFailed, match="write its columns out"):
        project.plan()


def test_a_table_that_is_not_described_is_not_asked_for(shop: Shop) -> None:
    shop.declare("rest", "id INT PRIMARY KEY")
    with shop.opened() as project:
        assert project.declarations.describe() == []
        with pytest.raises(ArgumentRefused, match='"rest" is no table whose columns were read from a database'):
            project.declarations.describe("rest")
    told = CliRunner().invoke(app, ["describe", "--project", str(shop.folder)])
    assert "no table leaves its columns to a database" in told.output


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"shops": {"of": "x"}}',
        '{"shops": {"columns": 3, "primary_key": []}}',
        '{"shops": {"of": "postgres public.shops", "columns": [["id", "STRNG"]], "primary_key": ["id"]}}',
    ],
)
def test_a_file_that_is_damaged_is_named(shop: Shop, text: str) -> None:
    shop.database.run("CREATE TABLE shops (id int PRIMARY KEY)")
    declare(shop, "shops")
    (shop.folder / FILE).write_text(text)
    with shop.opened() as project, pytest.raises(CheckFailed, match=f'"{FILE}" can\'t be read'):
        project.plan()
    told = CliRunner().invoke(app, ["describe", "--project", str(shop.folder)])
    assert told.exit_code == 1
    assert f'"{FILE}" can\'t be read' in told.output
