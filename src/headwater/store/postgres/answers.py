"""Answers to a person's SQL: read-only by every means that PostgreSQL has, and typed as declared.

The statement becomes a cursor's. That is possible with one reading statement alone: a second one, a COPY, a SET or
anything that writes doesn't parse or is refused, and the transaction can't write either.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
import pyarrow as pa

from headwater.errors import StatementRefused
from headwater.store.postgres.bookkeeping import BOOKS
from headwater.store.postgres.connections import Connection
from headwater.store.postgres.values import codec_of, infer
from headwater.store.spelling import table_of
from headwater.store.unfit import Unfit

_MINE = ("080", "53", "57P", "58", "XX")
"""Failures of the server, not of the statement; a lost connection has no code."""
Declared = Mapping[tuple[str, str], pa.DataType]


def answer(connection: Connection, sql: str, limit: int | None, declared: Declared) -> pa.Table:
    """The rows that one reading statement gives."""
    cursor = connection.cursor()
    try:
        cursor.execute(f"DECLARE headwater_answer NO SCROLL CURSOR FOR {sql}".encode(), binary=True)
        cursor.execute("FETCH ALL headwater_answer" if limit is None else f"FETCH {limit} headwater_answer")
    except psycopg.Error as cause:
        if (cause.sqlstate or "080").startswith(_MINE):
            raise
        raise _refusal(sql, cause) from cause
    result = cursor.pgresult
    assert result is not None
    names = [(result.fname(position) or b"").decode() for position in range(result.nfields)]
    origins = [result.ftable(position) for position in range(result.nfields)]
    tables = _tables(connection, origins)
    arrays = []
    for position, name in enumerate(names):
        values = [result.get_value(row, position) for row in range(result.ntuples)]
        texts = pa.array([None if value is None else bytes(value).decode() for value in values], pa.string())
        kind = declared.get((tables.get(origins[position], ""), name))
        arrays.append(_typed(texts, kind, result.ftype(position), result.fmod(position)))
    return pa.Table.from_arrays(arrays, names=names)


def declared_types(connection: Connection) -> Declared:
    """The declared types, by table or view and column; of a view those of the promoted version."""
    promoted: dict[str, int] = dict(connection.execute("SELECT view, version FROM headwater_promoted").fetchall())
    types = {}
    for target in BOOKS.targets(connection):
        names = [table_of(target.view, target.version)]
        names += [target.view] if promoted.get(target.view) == target.version else []
        types.update({(name, column.name): column.type for name in names for column in target.columns})
    return types


def _tables(connection: Connection, origins: list[int]) -> dict[int, str]:
    rows = connection.execute(
        "SELECT oid, relname FROM pg_class WHERE oid = ANY (%s) AND relnamespace = current_schema()::regnamespace",
        (origins,),
    )
    return dict(rows.fetchall())


def _typed(texts: pa.Array, kind: pa.DataType | None, oid: int, modifier: int) -> pa.Array:
    if kind is None:
        return infer(texts, oid, modifier)
    try:
        return codec_of(kind).decode(texts)
    except Unfit:
        return infer(texts, oid, modifier)


def _refusal(sql: str, cause: psycopg.Error) -> StatementRefused:
    told = cause.diag.message_primary or str(cause)
    return StatementRefused(
        "the query can't be answered",
        detail=f"{told[:1].upper()}{told[1:]}.",
        hint="Write one SELECT in PostgreSQL's SQL over the views of the project.",
        sql=sql,
    )
