"""What the store knows about itself: versions, epochs, positions and ledgers, in tables that start with `headwater_`.

Every function works inside the caller's transaction.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime

import pyarrow as pa

from headwater.model import INSTANT, Emit
from headwater.store import instants
from headwater.store.columns import read_columns, spell_columns
from headwater.store.protocol import Position, Target, Version
from headwater.store.refusals import no_version, this_process


def spell_instant(at: datetime) -> str:
    """An instant as it stands in the database."""
    return str(instants.encode(pa.array([at], INSTANT))[0])


def read_instant(text: str) -> datetime:
    """An instant from the database."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def target_of(connection: sqlite3.Connection, view: str, version: int) -> Target:
    """A version's target; `UnknownVersion` if there is no such version."""
    found = connection.execute(
        "SELECT columns, key, emit FROM headwater_versions WHERE view = ? AND version = ?", (view, version)
    ).fetchone()
    if found is None:
        raise no_version(view, version, _numbers(connection, view))
    return Target(view, version, read_columns(found[0]), tuple(json.loads(found[1])), Emit(found[2]))


def _numbers(connection: sqlite3.Connection, view: str) -> list[int]:
    rows = connection.execute("SELECT version FROM headwater_versions WHERE view = ? ORDER BY version", (view,))
    return [number for (number,) in rows]


def versions_of(connection: sqlite3.Connection, view: str) -> tuple[Version, ...]:
    """Every version of a view."""
    rows = connection.execute(
        "SELECT version, fingerprint, epoch FROM headwater_versions JOIN headwater_epochs USING (view, version) "
        "WHERE view = ? ORDER BY version",
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


def targets(connection: sqlite3.Connection) -> list[Target]:
    """The targets of every version of every view."""
    rows = connection.execute("SELECT view, version FROM headwater_versions").fetchall()
    return [target_of(connection, view, version) for view, version in rows]


def record_version(
    connection: sqlite3.Connection, target: Target, fingerprint: str, statements: tuple[str, ...], at: datetime
) -> None:
    """Write down a new version."""
    connection.execute(
        "INSERT INTO headwater_versions (view, version, fingerprint, columns, key, emit, statements, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            target.view,
            target.version,
            fingerprint,
            spell_columns(target.columns),
            json.dumps(target.key),
            target.emit.value,
            json.dumps(statements),
            spell_instant(at),
        ),
    )


def recorded(connection: sqlite3.Connection, view: str, version: int) -> tuple[str, list[str]] | None:
    """The fingerprint of a version and the statements that made it; None if there is no such version."""
    found = connection.execute(
        "SELECT fingerprint, statements FROM headwater_versions WHERE view = ? AND version = ?", (view, version)
    ).fetchone()
    return None if found is None else (found[0], json.loads(found[1]))


def forget_version(connection: sqlite3.Connection, view: str, version: int) -> None:
    """Remove what is known of a version, but not its epoch: who held it stays fenced."""
    for table in ("headwater_versions", "headwater_batches", "headwater_ledger"):
        connection.execute(f"DELETE FROM {table} WHERE view = ? AND version = ?", (view, version))


def take_epoch(connection: sqlite3.Connection, view: str, version: int, at: datetime) -> int:
    """The next epoch of a version, held by this process."""
    row = connection.execute(
        "INSERT INTO headwater_epochs VALUES (?, ?, 1, ?, ?) ON CONFLICT (view, version) "
        "DO UPDATE SET epoch = epoch + 1, holder = excluded.holder, taken_at = excluded.taken_at RETURNING epoch",
        (view, version, this_process(), spell_instant(at)),
    ).fetchall()
    return int(row[0][0])


def epoch_of(connection: sqlite3.Connection, view: str, version: int) -> tuple[int, str, str]:
    """The newest epoch of a version, who holds it and since when; (0, "", "") if nobody ever did."""
    found = connection.execute(
        "SELECT epoch, holder, taken_at FROM headwater_epochs WHERE view = ? AND version = ?", (view, version)
    ).fetchone()
    return (0, "", "") if found is None else (int(found[0]), str(found[1]), str(found[2]))


def position_of(connection: sqlite3.Connection, view: str, version: int, batch: int | None = None) -> Position | None:
    """The position after the newest batch, or after the given one if it is still known."""
    found = connection.execute(
        "SELECT batch, commits, watermark FROM headwater_batches WHERE view = ? AND version = ? AND batch <= ? "
        "ORDER BY batch DESC LIMIT 1",
        (view, version, 2**62 if batch is None else batch),
    ).fetchone()
    if found is None or batch not in (None, found[0]):
        return None
    return Position(found[0], tuple(json.loads(found[1]).items()), read_instant(found[2]))


def record_batch(
    connection: sqlite3.Connection, target: Target, position: Position, at: datetime, changes: tuple[int, int]
) -> None:
    """Write down a batch; `changes` are the numbers of the last change before it and of its own last."""
    connection.execute(
        "INSERT INTO headwater_batches VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            target.view,
            target.version,
            position.batch,
            json.dumps(dict(position.commits)),
            spell_instant(position.watermark),
            spell_instant(at),
            *changes,
        ),
    )


def add_to_ledger(connection: sqlite3.Connection, target: Target, counts: Mapping[str, int]) -> None:
    """Add a batch's counts to the sums."""
    connection.executemany(
        "INSERT INTO headwater_ledger VALUES (?, ?, ?, ?) ON CONFLICT (view, version, name) "
        "DO UPDATE SET count = count + excluded.count",
        [(target.view, target.version, name, count) for name, count in counts.items()],
    )


def ledger_of(connection: sqlite3.Connection, view: str, version: int) -> dict[str, int]:
    """The sums of all batches' counts."""
    return dict(
        connection.execute(
            "SELECT name, count FROM headwater_ledger WHERE view = ? AND version = ? ORDER BY name", (view, version)
        )
    )


def promoted_of(connection: sqlite3.Connection, view: str) -> int | None:
    """The promoted version."""
    found = connection.execute("SELECT version FROM headwater_promoted WHERE view = ?", (view,)).fetchone()
    return None if found is None else int(found[0])


def record_promoted(connection: sqlite3.Connection, view: str, version: int) -> None:
    """Write down the promoted version."""
    connection.execute("INSERT OR REPLACE INTO headwater_promoted VALUES (?, ?)", (view, version))
