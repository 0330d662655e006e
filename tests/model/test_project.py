"""Declarations are inert values: equal by what they say, not by where it was written."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pyarrow as pa
import pytest

from headwater.errors import Origin
from headwater.model import INSTANT, Bounded, Column, Function, Project, SqlQuery, Store, Stream, Table, View

STREAM = Stream(
    name="Orders", columns=(Column("id", pa.string()), Column("at", INSTANT)), time="at", watermark=Bounded()
)
TABLE = Table(name="rates", columns=(Column("currency", pa.string()),), primary_key=("currency",))
VIEW = View(name="big", query=SqlQuery("SELECT 1 AS a"))
FUNCTION = Function(name="f", parameters=(), returns=pa.int32(), body="1")
PROJECT = Project(name="shop", declarations=(STREAM, TABLE, VIEW, FUNCTION))


def test_a_project_sorts_its_declarations_by_kind() -> None:
    assert list(PROJECT.topics) == [STREAM, TABLE]
    assert list(PROJECT.views) == [VIEW]
    assert list(PROJECT.functions) == [FUNCTION]


def test_names_are_found_without_regard_to_case() -> None:
    assert PROJECT.find("ORDERS") is STREAM
    assert PROJECT.find("nothing") is None
    assert STREAM.column("AT") is STREAM.columns[1]
    assert STREAM.column("x") is None


def test_the_place_of_a_declaration_is_no_part_of_its_value() -> None:
    assert replace(STREAM, origin=Origin("a.sql", 3, 1)) == STREAM
    assert SqlQuery("SELECT 1", written="select 1", origin=Origin("a.sql")) == SqlQuery("SELECT 1")
    assert hash(replace(VIEW, origin=Origin("a.sql"))) == hash(VIEW)


def test_a_declaration_cant_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        STREAM.name = "other"  # type: ignore[misc]


def test_a_table_is_versioned_by_time_and_watermark() -> None:
    assert not TABLE.versioned
    assert replace(TABLE, time="at", watermark=Bounded()).versioned


def test_the_url_of_a_store_is_not_in_its_print() -> None:
    assert "secret" not in repr(Store(name="main", url="postgresql://user:secret@host/db"))
