"""The description of a table: its columns, each with the declared type that takes its values, and its primary key."""

from __future__ import annotations

import re

import psycopg

from headwater.intake.postgres.database import Database, address_of
from headwater.model import Description, Postgres, Table

UNBOUNDED = "DECIMAL(38, 18)"
"""The type for a numeric that says no digits, or more than a DECIMAL has: what doesn't fit is a dead letter."""
_TYPES = {
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer": "INT",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "date": "DATE",
    "timestamp with time zone": "TIMESTAMP",
    "timestamp without time zone": "TIMESTAMP",
    "bytea": "BINARY",
}
_NUMERIC = re.compile(r"numeric(?:\((\d+),(-?\d+)\))?")
_LENGTH = re.compile(r"\(\d+\)")


def describe(name: str, postgres: Postgres) -> Description:
    """Ask the database for the columns of the table that a topic takes in; the key is empty if it has none."""
    topic = Table(name=name, columns=(), primary_key=(), intake=postgres)
    database = Database(address_of(topic), f'table "{name}"', name)
    with database.connected() as connection:
        table = database.table(connection, postgres.table)
        columns = connection.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (table.identifier.as_string(connection),),
        ).fetchall()
        key = _primary_key(connection, table.identifier.as_string(connection))
    return Description(tuple((column, declared_type(kind)) for column, kind in columns), key)


def declared_type(kind: str) -> str:
    """The type to declare for one of PostgreSQL.

    >>> declared_type("numeric(12,2)"), declared_type("timestamp(3) with time zone"), declared_type("integer[]")
    ('DECIMAL(12, 2)', 'TIMESTAMP', 'ARRAY<INT>')
    >>> declared_type("numeric"), declared_type("jsonb"), declared_type("character varying(40)")
    ('DECIMAL(38, 18)', 'STRING', 'STRING')
    """
    if kind.endswith("[]"):
        return f"ARRAY<{declared_type(kind.removesuffix('[]'))}>"
    if (numeric := _NUMERIC.fullmatch(kind)) is not None:
        return _decimal(*numeric.groups())
    return _TYPES.get(_LENGTH.sub("", kind), "STRING")


def _decimal(precision: str | None, scale: str | None) -> str:
    if precision is None or scale is None:
        return UNBOUNDED
    digits, behind = int(precision), int(scale)
    if behind < 0:  # so many digits before the point are zero
        digits, behind = digits - behind, 0
    return f"DECIMAL({max(digits, behind)}, {behind})" if max(digits, behind) <= 38 else UNBOUNDED


def _primary_key(connection: psycopg.Connection, table: str) -> tuple[str, ...]:
    """The columns of the primary key, in its order; else those of the index by which the table's changes are told."""
    rows = connection.execute(
        "SELECT i.indisprimary, a.attname FROM pg_index i JOIN pg_attribute a "
        "ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
        "WHERE i.indrelid = %s::regclass AND (i.indisprimary OR i.indisreplident) "
        "ORDER BY array_position(i.indkey::int[], a.attnum::int)",
        (table,),
    ).fetchall()
    primary = tuple(name for is_primary, name in rows if is_primary)
    return primary or tuple(name for _, name in rows)
