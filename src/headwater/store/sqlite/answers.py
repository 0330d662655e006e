"""Answers to a person's SQL: read-only by every means that SQLite has, and typed as declared where that is exact."""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow as pa

from headwater.errors import StatementRefused
from headwater.store.spelling import quoted, table_of
from headwater.store.sqlite.bookkeeping import BOOKS
from headwater.store.sqlite.database import STEPS
from headwater.store.sqlite.values import codec_of, infer
from headwater.store.unfit import Unfit

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer"}
_MINE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN")
"""Failures of the file, not of the statement."""
LONGEST = timedelta(seconds=30)
"""The time that a statement may take."""
LONGEST_VALUE = 16 * 2**20
"""The number of bytes that a value may have that a statement makes: SQLite looks at no clock while it makes one."""
MOST_BYTES = 64 * 2**20
"""The number of bytes that an answer may have."""
_PART = 1_000


@dataclass
class _Guard:
    """Allows reading and nothing else; remembers what was read."""

    read: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action not in _READING:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            self.read.add((first or "", second or ""))
        return sqlite3.SQLITE_OK


def answer(connection: sqlite3.Connection, sql: str, limit: int | None, longest: timedelta = LONGEST) -> pa.Table:
    """The rows that one reading statement gives, within a time."""
    declared = {
        (table_of(target.view, target.version), column.name): column.type
        for target in BOOKS.targets(connection)
        for column in target.columns
    }
    guard = _Guard()
    names, rows = _run(connection, guard, sql, limit, longest)
    values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    origins = [_origins(name, guard.read, declared) for name in names]
    arrays = [_typed(connection, *pair) for pair in zip(values, origins, strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def _run(
    connection: sqlite3.Connection, guard: _Guard, sql: str, limit: int | None, longest: timedelta
) -> tuple[list[str], list[Any]]:
    deadline = time.monotonic() + longest.total_seconds()
    connection.set_authorizer(guard)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    held = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    try:
        cursor = connection.execute(sql)
        if cursor.description is None:
            raise _refusal(sql, "It reads nothing.")
        names = [str(part[0]) for part in cursor.description]
        return names, _fetched(cursor, sql, limit)
    except (sqlite3.Error, sqlite3.Warning) as cause:
        if (getattr(cause, "sqlite_errorname", "") or "").startswith(_MINE):
            raise
        raise _refusal(sql, _reason(cause, longest)) from cause
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, held)


def _fetched(cursor: sqlite3.Cursor, sql: str, limit: int | None) -> list[Any]:
    """The rows of an answer, at most so many, of not more than so many bytes."""
    rows, size = list[Any](), 0
    while limit is None or len(rows) < limit:
        part = cursor.fetchmany(_PART if limit is None else min(_PART, limit - len(rows)))
        if not part:
            break
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for row in part for value in row)
        if size > MOST_BYTES:
            raise _refusal(sql, f"Its answer has more than {MOST_BYTES // 2**20} MB.")
        rows += part
    return rows


def _reason(cause: Exception, longest: timedelta) -> str:
    if getattr(cause, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
        return f"It took longer than {longest.total_seconds():g} s."
    return "A query can only read." if "not authorized" in str(cause) else f"{cause}."


def _refusal(sql: str, reason: str) -> StatementRefused:
    return StatementRefused(
        "the query can't be answered",
        detail=f"{reason[:1].upper()}{reason[1:]}",
        hint="Write one SELECT in SQLite's SQL over the views of the project.",
        sql=sql,
    )


Origins = dict[tuple[str, str], pa.DataType]


def _origins(name: str, read: set[tuple[str, str]], declared: Origins) -> Origins:
    """The declared columns that were read and have a result column's name."""
    return {column: declared[column] for column in read if column in declared and column[1].lower() == name.lower()}


def _typed(connection: sqlite3.Connection, values: list[Any], origins: Origins) -> pa.Array:
    """Of the declared type, if there is one and every value is exactly of it; else typed by the values."""
    if len(set(origins.values())) != 1:
        return infer(values)
    codec = codec_of(next(iter(origins.values())))
    try:
        return codec.decode_strictly(_with_all_digits(connection, values, origins) if codec.wide else values)
    except Unfit:
        return infer(values)


def _with_all_digits(connection: sqlite3.Connection, values: list[Any], origins: Origins) -> list[Any]:
    """Decimals of more digits than SQLite's numbers have are shown as the nearest number; find the digits again.

    A number that is the nearest to exactly one of the column's values stands for it.
    """
    digits: dict[float, str | None] = {}
    for table, column in origins:
        name = quoted(column)
        long = connection.execute(f"SELECT DISTINCT {name} FROM {quoted(table)} WHERE typeof({name}) = 'text'")
        for (text,) in long:
            digits[float(text)] = None if digits.get(float(text), text) != text else text
    return [digits.get(value) or value if isinstance(value, float) else value for value in values]
