"""The changelog, batch by batch: read and trimmed here, written with each batch."""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.changes import changes_table
from headwater.store.postgres.connections import Connection
from headwater.store.postgres.transfer import copied_out
from headwater.store.postgres.version_tables import VersionTables
from headwater.store.protocol import Position, Target
from headwater.store.refusals import no_longer_kept


def trim(connection: Connection, tables: VersionTables, before: datetime) -> None:
    """Let go of batches that were applied before an instant, and of their changes; the newest one is the position.

    The last of those that go leaves its watermark: the next batch began with it.
    """
    target = tables.target
    here = "view = %s AND version = %s"
    named = (target.view, target.version)
    newest = f"(SELECT max(batch) FROM headwater_batches WHERE {here})"
    old = connection.execute(
        f"SELECT batch, changes FROM headwater_batches WHERE {here} AND applied_at < %s AND batch < {newest}",
        (*named, before, *named),
    ).fetchall()
    last, lost = (max((batch for batch, changes in old if changes >= least), default=-1) for least in (0, 1))
    if lost < 0 and len(old) < 2:  # what is left of those that went before
        return
    connection.execute(f"DELETE FROM headwater_batches WHERE {here} AND batch < %s", (*named, last))
    connection.execute(f"UPDATE headwater_batches SET changes = 0 WHERE {here} AND batch = %s", (*named, last))
    connection.execute(f"DELETE FROM {tables.images} WHERE batch <= {last}")
    connection.execute(
        f"UPDATE headwater_versions SET trimmed = greatest(COALESCE(trimmed, -1), %s) WHERE {here}", (lost, *named)
    )


def next_changes(connection: Connection, tables: VersionTables, since: int | None) -> tuple[int, pa.Table] | None:
    """The first batch after `since` that changed something, and what; None if there is none yet."""
    target = tables.target
    if since is not None:
        _check_kept(connection, target, since)
    row = connection.execute(
        "SELECT batch, commits, applied_at, watermark, "
        "(SELECT watermark FROM headwater_batches b WHERE b.view = a.view AND b.version = a.version "
        "AND b.batch < a.batch ORDER BY b.batch DESC LIMIT 1) FROM headwater_batches a "
        "WHERE view = %s AND version = %s AND batch > %s AND changes > 0 ORDER BY batch LIMIT 1",
        (target.view, target.version, -1 if since is None else since),
    ).fetchone()
    if row is None:
        return None
    texts = copied_out(connection, tables.select_changes(row[0]), 1 + 2 * len(tables.codecs))
    batch, commits, at, watermark, before = row
    operations, *columns = texts
    width = len(tables.codecs)
    sides = (
        _images(tables, columns[:width], pc.equal(operations, "insert")),
        _images(tables, columns[width:], pc.equal(operations, "delete")),
    )
    position = Position(batch, tuple(commits.items()), watermark)
    return batch, changes_table(target, operations, sides, position, at, before)


def _check_kept(connection: Connection, target: Target, since: int) -> None:
    row = connection.execute(
        "SELECT trimmed FROM headwater_versions WHERE view = %s AND version = %s", (target.view, target.version)
    ).fetchone()
    if row is not None and row[0] is not None and row[0] > since:
        raise no_longer_kept(target.view, since, row[0])


def _images(tables: VersionTables, texts: list[pa.Array], absent: pa.Array) -> pa.Array:
    arrays = [codec.decode(column) for codec, column in zip(tables.codecs, texts, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(tables.target.schema), mask=absent)
