"""Files of earlier formats: what is done with them when a version is opened to be written.

    format 1    every version keeps copies of changed rows
    format 2    rows that are only added are their own changes (see `headwater.store.sqlite.record`)

A process that only reads needs no such step: in format 1 a copy of a row that was added has the number of the row.
"""

from __future__ import annotations

import json
import sqlite3

from headwater.store.names import images_of
from headwater.store.sqlite.bookkeeping import BOOKS
from headwater.store.sqlite.record import Additions, Copies
from headwater.store.sqlite.version_tables import VersionTables


def bring_forward(connection: sqlite3.Connection, tables: VersionTables) -> bool:
    """Let go of copies that are no longer needed; False, with nothing done, if they aren't copies of all rows.

    Nothing but for a version of format 1 whose rows are only added.
    """
    target = tables.target
    named = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    copied = connection.execute(named, (images_of(target.view, target.version),)).fetchone() is not None
    if not copied or isinstance(tables.record, Copies):
        return True
    newest = (connection.execute(record.newest).fetchone() for record in (tables.record, Copies(tables.names)))
    if len({*newest}) > 1:
        return False
    _replace(connection, tables, tables.record)
    return True


def _replace(connection: sqlite3.Connection, tables: VersionTables, record: Additions) -> None:
    names = record.names
    connection.execute(f"DROP VIEW IF EXISTS {names.changes}")
    for operation in ("update", "delete"):
        connection.execute(f"DROP TRIGGER IF EXISTS {names.own(operation)}")
    connection.execute(f"DROP TABLE {names.images}")
    for statement in record.create():
        connection.execute(statement)
    BOOKS.record_shape(connection, tables.target, json.dumps(tables.create()))
