"""A snapshot: the rows of tables as they were at one place of the binary log, in the spelling of its changes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from headwater.intake.changes.change import Change
from headwater.intake.mysql.binlog import content_of, position_of
from headwater.intake.mysql.database import Database, SourceTable, quote, rows
from headwater.intake.mysql.types import INTEGERS, UNREAD, is_bits

AT_ONCE = 5_000
"""The most rows that are handed on together."""


@contextmanager
def at_one_place(database: Database) -> Iterator[tuple[pymysql.Connection, int]]:
    """A connection that sees what was there at a position, and the position."""
    with database.connected() as connection:
        rows(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
        if rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_file'"):  # MariaDB tells it without a lock
            rows(connection, begin)
            told = dict(rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%%'"))
            position = position_of(told["Binlog_snapshot_file"], int(told["Binlog_snapshot_position"]))
        else:
            rows(connection, "FLUSH TABLES WITH READ LOCK")
            rows(connection, begin)
            position = database.head(connection)
            rows(connection, "UNLOCK TABLES")
        yield connection, position


def rows_of(connection: pymysql.Connection, table: SourceTable, made_at: int) -> Iterator[Sequence[Change]]:
    """The rows of a table as changes of this time."""
    columns = [(name, kind) for name, kind in table.columns.items() if kind not in UNREAD]
    listed = ", ".join(_selected(quote(name), kind) for name, kind in columns)
    readers = [(name, _reader(kind)) for name, kind in columns]
    with connection.cursor(SSCursor) as cursor:
        cursor.execute(f"SELECT {listed} FROM {table.quoted}")  # noqa: S608  # names in quotes
        while some := list(islice(cursor, AT_ONCE)):
            yield [Change("r", made_at, "", content_of(None, _row(readers, values))) for values in some]


def _row(readers: Sequence[tuple[str, Callable[[Any], object]]], values: Sequence[Any]) -> dict[str, object]:
    return {name: None if value is None else read(value) for (name, read), value in zip(readers, values, strict=True)}


def _selected(column: str, kind: str) -> str:
    """A column as it is selected: a FLOAT is told with six digits otherwise, and bits as bytes."""
    if kind == "float":
        return f"CAST({column} AS DOUBLE)"
    return f"CAST({column} AS UNSIGNED)" if is_bits(kind) else column


def _reader(kind: str) -> Callable[[Any], object]:
    if kind in INTEGERS or is_bits(kind):
        return int
    return float if kind in ("float", "double") else _text


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode()
