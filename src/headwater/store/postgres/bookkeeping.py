"""The bookkeeping of a store in a PostgreSQL database, and the shape of its tables."""

from __future__ import annotations

import json

from headwater.store.bookkeeping import Bookkeeping
from headwater.store.postgres.connections import Connection

BOOKS = Bookkeeping("%s", "shape", lambda at: at, lambda at: at, lambda value: value, locking=" FOR UPDATE")


def shape_of(connection: Connection, tables: list[str]) -> str:
    """The columns, their types and the constraints of tables, as the database knows them now."""
    columns = connection.execute(
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = ANY (SELECT to_regclass(name) FROM unnest(%s::text[]) name) AND attnum > 0 "
        "AND NOT attisdropped ORDER BY 1, attnum",
        (tables,),
    ).fetchall()
    constraints = connection.execute(
        "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid = ANY (SELECT to_regclass(name) FROM unnest(%s::text[]) name) AND contype IN ('p', 'u') "
        "ORDER BY 1, 2",
        (tables,),
    ).fetchall()
    return json.dumps([columns, constraints])
