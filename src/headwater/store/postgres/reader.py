"""The reader: a role of its own that answers people's SQL. It may read the views of a schema, and nothing else.

A transaction that can't write still lets a superuser read files, end others' sessions and see passwords. So a statement
that somebody else has written is never executed by the role that writes, nor by one that may more than read.
"""

# names are quoted
from __future__ import annotations

from collections.abc import Iterable

from headwater.errors import StoreDenied
from headwater.store.postgres.connections import Connection
from headwater.store.spelling import quoted

_MAY = """
SELECT current_user, concat_ws(', ',
  CASE WHEN rolsuper THEN 'is a superuser' END,
  CASE WHEN rolcreaterole THEN 'may create roles' END,
  CASE WHEN rolcreatedb THEN 'may create databases' END,
  CASE WHEN rolreplication THEN 'may replicate' END,
  CASE WHEN rolbypassrls THEN 'sees every row' END,
  (SELECT 'is a member of ' || string_agg(quote_ident(groups.rolname), ' and ' ORDER BY groups.rolname)
   FROM pg_auth_members JOIN pg_roles AS groups ON groups.oid = roleid WHERE member = mine.oid),
  (SELECT 'owns relations' WHERE EXISTS (SELECT 1 FROM pg_class WHERE relowner = mine.oid)))
FROM pg_roles AS mine WHERE rolname = current_user
"""


def check_reader(place: str, connection: Connection) -> None:
    """Refuse a role that may more than read what it was granted."""
    row = connection.execute(_MAY).fetchone()
    assert row is not None, "a session has a role"
    name, powers = row
    if powers:
        raise StoreDenied(
            f'the store "{place}" has a reader that may more than read',
            detail=f"The role {quoted(name)} {powers}. Statements of others are not executed by it. Nothing was read.",
            hint=remedy(),
            path=place,
        )


def no_reader(place: str) -> StoreDenied:
    """A statement in PostgreSQL's SQL, where there is nobody to execute it."""
    return StoreDenied(
        f'the store "{place}" has no reader for statements in its own SQL',
        detail="They are executed by a role of their own, never by the one that writes.",
        hint=remedy(),
        path=place,
    )


def remedy() -> str:
    """The two lines that make a reader."""
    return (
        "Run in the database: CREATE ROLE headwater_reader LOGIN PASSWORD '…'; and add to the options of the store: "
        'reader = "postgresql://headwater_reader:${READER_PASSWORD}@HOST/DATABASE". What it may read is granted to it '
        "by Headwater."
    )


def grant(connection: Connection, schema: str, role: str, views: Iterable[str] = ()) -> None:
    """Let the reader use a schema and read views of it, as far as it may not yet.

    The schema comes first, so that those who grant at the same time don't wait for each other in a circle.
    """
    may_use = connection.execute("SELECT has_schema_privilege(%s, %s, 'USAGE')", (role, schema)).fetchone()
    if may_use != (True,):
        connection.execute(f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(role)}")
    for view in sorted(views):
        may_read = connection.execute("SELECT has_table_privilege(%s, %s, 'SELECT')", (role, quoted(view))).fetchone()
        if may_read != (True,):
            connection.execute(f"GRANT SELECT ON {quoted(view)} TO {quoted(role)}")
