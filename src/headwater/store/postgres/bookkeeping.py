"""What the store knows about itself: versions, epochs, positions and ledgers, in tables that start with `headwater_`.

Every function works inside the caller's transaction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headwater.model import Emit
from headwater.store.columns import read_columns, spell_columns
from headwater.store.postgres.database import Connection
from headwater.store.protocol import Position, Target, Version
from headwater.store.refusals import no_version, this_process


def target_of(connection: Connection, view: str, version: int) -> Target:
    """A version's target; `UnknownVersion` if there is no such version."""
    found = connection.execute(
        "SELECT columns, key, emit FROM headwater_versions WHERE view = %s AND version = %s", (view, version)
    ).fetchone()
    if found is None:
        rows = connection.execute("SELECT version FROM headwater_versions WHERE view = %s ORDER BY version", (view,))
        raise no_version(view, version, [row[0] for row in rows])
    return Target(view, version, read_columns(found[0]), tuple(json.loads(found[1])), Emit(found[2]))


def versions_of(connection: Connection, view: str) -> tuple[Version, ...]:
    """Every version of a view."""
    rows = connection.execute(
        "SELECT version, fingerprint, epoch FROM headwater_versions JOIN headwater_epochs USING (view, version) "
        "WHERE view = %s ORDER BY version",
        (view,),
    ).fetchall()
    promoted = promoted_of(connection, view)
    return tuple(
        Version(
            target_of(connection, view, number),
            fingerprint,
            epoch,
            position_of(connection, view, number),
            number == promoted,
        )
        for number, fingerprint, epoch in rows
    )


def targets(connection: Connection) -> list[Target]:
    """The targets of every version of every view."""
    rows = connection.execute("SELECT view, version FROM headwater_versions").fetchall()
    return [target_of(connection, view, version) for view, version in rows]


def record_version(connection: Connection, target: Target, fingerprint: str, shape: str, at: datetime) -> None:
    """Write down a new version, and the shape that its tables have."""
    connection.execute(
        "INSERT INTO headwater_versions (view, version, fingerprint, columns, key, emit, shape, created_at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            target.view,
            target.version,
            fingerprint,
            spell_columns(target.columns),
            json.dumps(target.key),
            target.emit.value,
            shape,
            at,
        ),
    )


def recorded(connection: Connection, view: str, version: int) -> tuple[str, str] | None:
    """The fingerprint of a version and the shape of its tables; None if there is no such version."""
    found = connection.execute(
        "SELECT fingerprint, shape FROM headwater_versions WHERE view = %s AND version = %s", (view, version)
    ).fetchone()
    return None if found is None else (found[0], found[1])


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


def forget_version(connection: Connection, view: str, version: int) -> None:
    """Remove what is known of a version, but not its epoch: who held it stays fenced."""
    for table in ("headwater_versions", "headwater_batches", "headwater_ledger"):
        connection.execute(f"DELETE FROM {table} WHERE view = %s AND version = %s", (view, version))  # noqa: S608


def take_epoch(connection: Connection, view: str, version: int, at: datetime) -> int:
    """The next epoch of a version, held by this process."""
    row = connection.execute(
        "INSERT INTO headwater_epochs AS known VALUES (%s, %s, 1, %s, %s) ON CONFLICT (view, version) "
        "DO UPDATE SET epoch = known.epoch + 1, holder = excluded.holder, taken_at = excluded.taken_at RETURNING epoch",
        (view, version, this_process(), at),
    ).fetchall()
    return int(row[0][0])


def epoch_of(connection: Connection, view: str, version: int) -> tuple[int, str, str]:
    """The newest epoch of a version, who holds it and since when, kept from being taken until the transaction ends."""
    found = connection.execute(
        "SELECT epoch, holder, taken_at FROM headwater_epochs WHERE view = %s AND version = %s FOR UPDATE",
        (view, version),
    ).fetchone()
    return (0, "", "") if found is None else (found[0], found[1], str(found[2].replace(tzinfo=None)))


def position_of(connection: Connection, view: str, version: int, batch: int | None = None) -> Position | None:
    """The position after the newest batch, or after the given one if it is still known."""
    found = connection.execute(
        "SELECT batch, commits, watermark FROM headwater_batches WHERE view = %s AND version = %s AND batch <= %s "
        "ORDER BY batch DESC LIMIT 1",
        (view, version, 2**62 if batch is None else batch),
    ).fetchone()
    if found is None or batch not in (None, found[0]):
        return None
    return Position(found[0], tuple(found[1].items()), found[2])


def record_batch(connection: Connection, target: Target, position: Position, at: datetime, changes: int) -> None:
    """Write down a batch and how many rows it changed."""
    connection.execute(
        "INSERT INTO headwater_batches VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (
            target.view,
            target.version,
            position.batch,
            json.dumps(dict(position.commits)),
            position.watermark,
            at,
            changes,
        ),
    )


def add_to_ledger(connection: Connection, target: Target, counts: Mapping[str, int]) -> None:
    """Add a batch's counts to the sums."""
    connection.execute(
        "INSERT INTO headwater_ledger AS known SELECT %s, %s, name, count FROM unnest(%s::text[], %s::bigint[]) "
        "given (name, count) ON CONFLICT (view, version, name) DO UPDATE SET count = known.count + excluded.count",
        (target.view, target.version, list(counts), list(counts.values())),
    )


def ledger_of(connection: Connection, view: str, version: int) -> dict[str, int]:
    """The sums of all batches' counts."""
    rows: list[Any] = connection.execute(
        "SELECT name, count FROM headwater_ledger WHERE view = %s AND version = %s ORDER BY name", (view, version)
    ).fetchall()
    return dict(rows)


def promoted_of(connection: Connection, view: str) -> int | None:
    """The promoted version."""
    found = connection.execute("SELECT version FROM headwater_promoted WHERE view = %s", (view,)).fetchone()
    return None if found is None else int(found[0])


def record_promoted(connection: Connection, view: str, version: int) -> None:
    """Write down the promoted version."""
    connection.execute(
        "INSERT INTO headwater_promoted VALUES (%s, %s) ON CONFLICT (view) DO UPDATE SET version = excluded.version",
        (view, version),
    )
