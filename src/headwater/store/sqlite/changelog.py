"""The changelog, batch by batch: read and trimmed here, however it is recorded (see `headwater.store.sqlite.record`).

Changes are numbered. Each batch knows the numbers of its own, so a change needs no word about its batch.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.changes import changes_table
from headwater.store.protocol import Position, Target
from headwater.store.refusals import no_longer_kept
from headwater.store.sqlite.bookkeeping import read_instant, spell_instant
from headwater.store.sqlite.record import Copies
from headwater.store.sqlite.version_tables import VersionTables

PART = 100_000
"""The number of changes that are in memory as values of Python at a time."""


def last_change(connection: sqlite3.Connection, tables: VersionTables) -> int:
    """The number of the newest change; 0 before the first."""
    return int(connection.execute(tables.record.newest).fetchone()[0])


def trim(connection: sqlite3.Connection, tables: VersionTables, before: datetime) -> None:
    """Let go of batches that were applied before an instant, with their changes.

    The newest batch stays, because it is the position; so does the newest one with changes, because the next change's
    number follows from it. The last of those that go leaves its watermark: the next batch began with it.
    """
    target, newest = tables.target, last_change(connection, tables)
    here = "view = ? AND version = ? AND applied_at < ? AND changes_to < ?"
    named = (target.view, target.version, spell_instant(before), newest)
    lost = "max(changes_to), max(batch) FILTER (WHERE changes_to > changes_after)"
    row = connection.execute(f"SELECT {lost} FROM headwater_batches WHERE {here}", named).fetchone()
    if row[0] is None:
        return
    if isinstance(tables.record, Copies):
        connection.execute(tables.record.forget, (row[0],))
    last = f"SELECT max(batch) FROM headwater_batches WHERE {here}"
    connection.execute(f"DELETE FROM headwater_batches WHERE {here} AND batch < ({last})", (*named, *named))
    connection.execute(f"UPDATE headwater_batches SET changes_after = changes_to WHERE {here}", named)
    connection.execute(
        "UPDATE headwater_versions SET trimmed = max(COALESCE(trimmed, -1), ?) WHERE view = ? AND version = ?",
        (-1 if row[1] is None else row[1], target.view, target.version),
    )


def next_changes(
    connection: sqlite3.Connection, tables: VersionTables, since: int | None
) -> tuple[int, pa.Table] | None:
    """The first batch after `since` that changed something, and what; None if there is none yet."""
    target = tables.target
    after = -1 if since is None else since
    if since is not None:
        _check_kept(connection, target, since)
    row = connection.execute(
        "SELECT batch, commits, applied_at, watermark, changes_after, changes_to FROM headwater_batches "
        "WHERE view = ? AND version = ? AND batch > ? AND changes_to > changes_after ORDER BY batch LIMIT 1",
        (target.view, target.version, after),
    ).fetchone()
    if row is None:
        return None
    batch, commits, *instants, first, last = row
    instants.append(_watermark_before(connection, target, batch))
    at, watermark, before = (text and read_instant(text) for text in instants)
    position = Position(batch, tuple(json.loads(commits).items()), watermark)
    rows = connection.execute(tables.record.select, (first, last))
    changes = [
        changes_table(target, *_decoded(tables, part), position, at, before)
        for part in iter(lambda: rows.fetchmany(PART), [])
    ]
    return batch, pa.concat_tables(changes)


def _watermark_before(connection: sqlite3.Connection, target: Target, batch: int) -> str | None:
    row = connection.execute(
        "SELECT watermark FROM headwater_batches WHERE view = ? AND version = ? AND batch < ? "
        "ORDER BY batch DESC LIMIT 1",
        (target.view, target.version, batch),
    ).fetchone()
    return row[0] if row else None


def _check_kept(connection: sqlite3.Connection, target: Target, since: int) -> None:
    (trimmed,) = connection.execute(
        "SELECT trimmed FROM headwater_versions WHERE view = ? AND version = ?", (target.view, target.version)
    ).fetchone()
    if trimmed is not None and trimmed > since:
        raise no_longer_kept(target.view, since, trimmed)


def _decoded(tables: VersionTables, rows: list[Any]) -> tuple[pa.Array, tuple[pa.Array, pa.Array]]:
    """The operations, and the rows before and after them."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    if tables.target.only_adds:
        after = _images(tables, columns, None)
        return pa.repeat(pa.scalar("insert"), len(rows)), (pa.nulls(len(rows), after.type), after)
    done, width = pa.array(columns[0], pa.string()), len(tables.codecs) + 1
    before = _images(tables, columns[1:width], pc.equal(done, "insert"))
    return done, (before, _images(tables, columns[width:], pc.equal(done, "delete")))


def _images(tables: VersionTables, columns: Sequence[list[Any]], absent: pa.Array | None) -> pa.Array:
    arrays = [codec.decode(values) for codec, values in zip(tables.codecs, columns, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(tables.target.schema), mask=absent)
