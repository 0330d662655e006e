"""Rows into the database and out of it, by COPY."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headwater.store.postgres import csv
from headwater.store.postgres.connections import Connection
from headwater.store.postgres.staging import copy_in


def copy_into(connection: Connection, table: str, positions: Sequence[int], columns: Sequence[pa.Array]) -> None:
    """Copy encoded columns into these columns of a temporary table."""
    if len(columns[0]):
        with connection.cursor() as cursor, cursor.copy(copy_in(table, positions)) as copy:
            for part in csv.write(columns):
                copy.write(part)


def copied_out(connection: Connection, select: str, width: int) -> list[pa.Array]:
    """The texts of what a statement of ours selects, column by column."""
    with connection.cursor() as cursor, cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv)") as copy:
        return csv.read(b"".join(copy), width)
