"""Tables that leave their columns to the database: what a statement becomes, and what it can't leave out."""

from __future__ import annotations

from typing import Any

import pytest

from headwater import model
from headwater.errors import SourceUnavailable
from headwater.findings import ClauseRefused, ColumnsUnknown, OptionRefused
from headwater.sql import parse_declarations, render

SHOPS = model.Description((("Id", "INT"), ("name", "STRING"), ("since", "TIMESTAMP")), ("Id",))
SOURCE = "connector = 'postgres', url = '${SHOP_DB}', table = 'public.shops'"


def declared(text: str, description: model.Description = SHOPS) -> model.Table:
    parsed = parse_declarations(text, "shops.sql", lambda _, __: description)
    assert not parsed.findings
    table = parsed.declarations[0]
    assert isinstance(table, model.Table)
    return table


def refused(text: str, description: model.Description = SHOPS) -> Any:
    parsed = parse_declarations(text, "shops.sql", lambda _, __: description)
    assert not parsed.declarations
    return parsed.findings[0]


def test_columns_key_and_time_are_what_the_database_says() -> None:
    table = declared(f"CREATE TABLE shops WITH ({SOURCE})")
    written = (
        'CREATE TABLE shops ("Id" INT, name STRING, since TIMESTAMP, committed_at TIMESTAMP, '
        "WATERMARK FOR committed_at AS committed_at, PRIMARY KEY (`Id`)) "
        f"WITH ({SOURCE}, message_time = 'committed_at', idle = '10 seconds')"
    )
    assert render(table) == render(declared(written))
    assert render(declared(render(table))) == render(table), "once it is rendered, no database is asked"


def test_what_is_written_is_kept() -> None:
    table = declared(
        f"CREATE TABLE shops (WATERMARK FOR changed AS changed - INTERVAL '1' SECOND, PRIMARY KEY (name)) "
        f"COMMENT 'All of them.' WITH ({SOURCE}, message_time = 'changed', transaction = 'xid', idle = 'none')"
    )
    assert [column.name for column in table.columns] == ["Id", "name", "since", "changed", "xid"]
    assert (table.primary_key, table.idle, table.comment) == (("name",), None, "All of them.")
    assert isinstance(table.intake, model.Postgres)
    assert (table.intake.message_time, table.intake.transaction) == ("changed", "xid")
    assert isinstance(table.watermark, model.Bounded)
    assert table.watermark.delay.total_seconds() == 1


def test_a_column_of_the_database_can_take_the_time_of_commits_if_that_is_said() -> None:
    table = declared(f"CREATE TABLE shops WITH ({SOURCE}, message_time = 'since')")
    assert [column.name for column in table.columns] == ["Id", "name", "since"]
    assert table.time == "since"


def test_a_column_that_is_called_as_the_one_that_is_added_is_refused() -> None:
    taken = model.Description((("id", "INT"), ("Committed_At", "TIMESTAMP")), ("id",))
    finding = refused(f"CREATE TABLE shops WITH ({SOURCE})", taken)
    assert isinstance(finding, OptionRefused)
    assert 'table "shops" has a column "committed_at" in its database' in str(finding)
    assert "Say message_time = 'changed_at'" in (finding.hint or "")


def test_a_table_without_a_key_is_refused_with_the_two_ways_out() -> None:
    keyless = model.Description((("id", "INT"),), ())
    finding = refused(f"CREATE TABLE shops WITH ({SOURCE})", keyless)
    assert isinstance(finding, ClauseRefused)
    assert "ADD PRIMARY KEY" in (finding.hint or "")
    assert "REPLICA IDENTITY FULL" in (finding.hint or "")
    assert declared(f"CREATE TABLE shops (PRIMARY KEY (id)) WITH ({SOURCE})", keyless).primary_key == ("id",)


@pytest.mark.parametrize(
    "options", ["retention = '1 day'", "connector = 'kafka', topic = 'shops'", "connector = 'postgres'", ""]
)
def test_only_a_table_of_a_database_leaves_columns_out(options: str) -> None:
    text = f"CREATE TABLE shops WITH ({options})" if options else "CREATE TABLE shops COMMENT 'none'"
    finding = refused(text)
    assert isinstance(finding, ClauseRefused)
    assert 'table "shops" declares no columns' in str(finding)


def test_a_database_that_does_not_tell_is_a_finding_at_the_name_of_the_table() -> None:
    def silent(name: str, intake: model.Intake) -> model.Description:
        assert isinstance(intake, model.Postgres)
        raise SourceUnavailable(f'the database of "{name}" doesn\'t answer', detail="Refused.", hint="Start it.")

    text = f"CREATE TABLE\n  shops WITH ({SOURCE});\nCREATE TABLE rest (id INT PRIMARY KEY);"
    parsed = parse_declarations(text, "shops.sql", silent)
    (finding,) = parsed.findings
    assert isinstance(finding, ColumnsUnknown)
    assert str(finding.origin) == "shops.sql:2:3"
    assert finding.detail == 'The database of "shops" doesn\'t answer. Refused.'
    assert (finding.hint or "").startswith("Start it. Or write its columns out")
    assert [declared.name for declared in parsed.declarations] == ["rest"], "the rest of the file is read"
