"""The view's own name: an SQL view that is made to stand for another version, with what was granted on it.

Where the columns stay as they are, or some are added at the end, the SQL view is replaced in place, and whatever
depends on it goes on. Where they don't, it is dropped and made again; a user's own view that depends on it stands in
the way then, and the server names it.
"""

# names are quoted
from __future__ import annotations

import psycopg
from psycopg import errors

from headwater.errors import ArgumentRefused
from headwater.store.postgres.connections import Connection
from headwater.store.postgres.version_tables import VersionTables
from headwater.store.spelling import literal, quoted

_KINDS = {"r": "table", "v": "view", "m": "materialized view", "i": "index", "S": "sequence", "f": "foreign table"}


def kind_of(connection: Connection, name: str) -> str | None:
    """The kind of thing that has this name in the schema; None if nothing has."""
    row = connection.execute(
        "SELECT relkind FROM pg_class WHERE relname = %s AND relnamespace = current_schema()::regnamespace", (name,)
    ).fetchone()
    if row is None:
        return None
    kind = row[0].decode() if isinstance(row[0], bytes) else row[0]
    return _KINDS.get(kind, "relation")


def swap(connection: Connection, tables: VersionTables, *, exists: bool) -> None:
    """Let the view's name stand for this version."""
    try:
        with connection.transaction():
            connection.execute(tables.alias(replace=True))
    except errors.InvalidTableDefinition:
        _make_again(connection, tables)
    connection.execute(
        f"COMMENT ON VIEW {quoted(tables.target.view)} IS "  # as its table says, which has it from the declaration
        f"{_comment_of(connection, tables.table)}"
    )
    for column in tables.target.shown:
        told = "NULL" if column.comment is None else literal(column.comment)
        if exists or column.comment is not None:
            connection.execute(f"COMMENT ON COLUMN {quoted(tables.target.view)}.{quoted(column.name)} IS {told}")


def _comment_of(connection: Connection, table: str) -> str:
    row = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", (table,)).fetchone()
    return "NULL" if row is None or row[0] is None else literal(row[0])


def _make_again(connection: Connection, tables: VersionTables) -> None:
    view = quoted(tables.target.view)
    granted = _grants(connection, tables.target.view)
    try:
        connection.execute(f"DROP VIEW {view}")
    except psycopg.errors.DependentObjectsStillExist as cause:
        raise ArgumentRefused(
            f'view "{tables.target.view}" version {tables.target.version} can\'t be promoted yet',
            detail=f"It has other columns than the promoted one, and something depends on those: "
            f"{cause.diag.message_detail}. Nothing was changed.",
            hint="Drop what depends on the view, promote, and make it again.",
            view=tables.target.view,
            version=tables.target.version,
        ) from cause
    connection.execute(tables.alias(replace=False))
    for privilege, role, option in granted:
        connection.execute(f"GRANT {privilege} ON {view} TO {role}{' WITH GRANT OPTION' if option else ''}")


def _grants(connection: Connection, view: str) -> list[tuple[str, str, bool]]:
    """The grants on the view to others than its owner: privilege, role as SQL, whether it may be passed on."""
    rows = connection.execute(
        "SELECT privilege_type, grantee, CASE WHEN grantee <> 0 THEN pg_get_userbyid(grantee) END, is_grantable "
        "FROM pg_class, aclexplode(relacl) WHERE relname = %s AND relnamespace = current_schema()::regnamespace "
        "AND grantee <> relowner",
        (view,),
    ).fetchall()
    return [(privilege, quoted(role) if role else "PUBLIC", option) for privilege, _, role, option in rows]
