"""The books of a database about its views: versions, epochs, positions and ledgers, in tables that start with
`headwater_`.

The statements are the same for every database but for how a value is marked in them and how instants and JSON are kept.
Every function works inside the caller's transaction.
"""

# ruff: noqa: S608  # names are ours; values are bound
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.model import Emit
from headwater.store.columns import read_columns, spell_columns
from headwater.store.protocol import Batch, Position, Served, Target, Version
from headwater.store.refusals import fenced, no_version, other_commits, this_process, was_dropped

_HERE = "view = ? AND version = ?"
_STANDING = """
SELECT epoch, holder, taken_at,
  (SELECT count(*) FROM headwater_versions AS own WHERE own.view = held.view AND own.version = held.version),
  (SELECT max(batch) FROM headwater_batches AS own WHERE own.view = held.view AND own.version = held.version)
FROM headwater_epochs AS held WHERE view = ? AND version = ?
"""
"""Who holds a version, whether it is there, and its newest batch."""


@dataclass(frozen=True)
class Bookkeeping:
    """The bookkeeping of one kind of database, on connections of its client.

    `mark` stands for a value in a statement. `shape` is the column that says what a version's tables are like.
    `locking` ends a SELECT whose row nobody else may change until the transaction ends.
    """

    mark: str
    shape: str
    spell_instant: Callable[[datetime], Any]
    read_instant: Callable[[Any], datetime]
    read_json: Callable[[Any], Any]
    locking: str = ""

    def _execute(self, connection: Any, sql: str, values: Sequence[Any] = ()) -> Any:
        return connection.execute(sql.replace("?", self.mark), values)

    def target_of(self, connection: Any, view: str, version: int) -> Target:
        """A version's target; `UnknownVersion` if there is no such version."""
        named = f"SELECT columns, key, emit FROM headwater_versions WHERE {_HERE}"
        recorded = self._execute(connection, named, (view, version)).fetchone()
        if recorded is None:
            every = "SELECT version FROM headwater_versions WHERE view = ? ORDER BY version"
            raise no_version(view, version, [row[0] for row in self._execute(connection, every, (view,)).fetchall()])
        return _target(view, version, *recorded)

    def versions_of(self, connection: Any, view: str) -> tuple[Version, ...]:
        """Every version of a view."""
        rows = self._execute(
            connection,
            "SELECT version, fingerprint, epoch FROM headwater_versions JOIN headwater_epochs USING (view, version) "
            "WHERE view = ? ORDER BY version",
            (view,),
        ).fetchall()
        promoted = self.promoted_of(connection, view)
        return tuple(
            Version(
                self.target_of(connection, view, number),
                fingerprint,
                epoch,
                self.position_of(connection, view, number),
                number == promoted,
            )
            for number, fingerprint, epoch in rows
        )

    def targets(self, connection: Any) -> list[Target]:
        """The targets of every version of every view."""
        rows = self._execute(connection, "SELECT view, version, columns, key, emit FROM headwater_versions").fetchall()
        return [_target(*row) for row in rows]

    def record_version(self, connection: Any, target: Target, fingerprint: str, shape: str, at: datetime) -> None:
        """Write down a new version, and the shape that its tables have."""
        values = (
            *(target.view, target.version, fingerprint, spell_columns(target.columns), json.dumps(target.key)),
            *(target.emit.value, shape, self.spell_instant(at)),
        )
        names = f"view, version, fingerprint, columns, key, emit, {self.shape}, created_at"
        statement = f"INSERT INTO headwater_versions ({names}) VALUES ({_marks(values)})"
        self._execute(connection, statement, values)

    def recorded(self, connection: Any, view: str, version: int) -> tuple[str, str] | None:
        """The fingerprint of a version and the shape of its tables; None if there is no such version."""
        statement = f"SELECT fingerprint, {self.shape} FROM headwater_versions WHERE {_HERE}"
        row = self._execute(connection, statement, (view, version)).fetchone()
        return None if row is None else (row[0], row[1])

    def record_shape(self, connection: Any, target: Target, shape: str) -> None:
        """Write down that a version's tables have another shape now."""
        statement = f"UPDATE headwater_versions SET {self.shape} = ? WHERE {_HERE}"
        self._execute(connection, statement, (shape, target.view, target.version))

    def forget_version(self, connection: Any, view: str, version: int) -> None:
        """Remove what is known of a version, but not its epoch: who held it stays fenced."""
        for table in ("headwater_versions", "headwater_batches", "headwater_ledger"):
            self._execute(connection, f"DELETE FROM {table} WHERE {_HERE}", (view, version))

    def take_epoch(self, connection: Any, view: str, version: int, at: datetime) -> int:
        """The next epoch of a version, held by this process."""
        statement = (
            "INSERT INTO headwater_epochs AS known VALUES (?, ?, 1, ?, ?) ON CONFLICT (view, version) DO UPDATE SET "
            "epoch = known.epoch + 1, holder = excluded.holder, taken_at = excluded.taken_at RETURNING epoch"
        )
        values = (view, version, this_process(), self.spell_instant(at))
        return int(self._execute(connection, statement, values).fetchall()[0][0])

    def epoch_of(self, connection: Any, view: str, version: int) -> tuple[int, str, str]:
        """The newest epoch of a version, who holds it and since when; (0, "", "") if nobody ever did.

        Where rows can be locked, it is kept from being taken until the transaction ends.
        """
        statement = f"SELECT epoch, holder, taken_at FROM headwater_epochs WHERE {_HERE}{self.locking}"
        row = self._execute(connection, statement, (view, version)).fetchone()
        if row is None:
            return 0, "", ""
        return int(row[0]), str(row[1]), self._shown(row[2])

    def _shown(self, at: Any) -> str:
        return str(self.read_instant(at).replace(tzinfo=None))

    def is_new(self, connection: Any, target: Target, epoch: int, batch: Batch) -> bool:
        """Tells whether a batch is to be written; refuses who doesn't hold the newest epoch of a version that is there.

        `BatchRefused` if the number of the batch is there, with other commits.
        """
        here = (target.view, target.version)
        if self.locking:  # first: what is read behind it was written before by whoever had it
            self.epoch_of(connection, *here)
        row = self._execute(connection, _STANDING, here).fetchone()
        newest, holder, since, is_there, last = row or (0, "", None, 0, None)
        if newest != epoch:
            raise fenced(target, epoch, newest, holder, "" if since is None else self._shown(since))
        if not is_there:
            raise was_dropped(target)
        if last is None or batch.position.batch > last:
            return True
        known = self.position_of(connection, *here, batch.position.batch)
        if known is not None and dict(known.commits) != dict(batch.position.commits):
            raise other_commits(target, batch, known)
        return False

    def position_of(self, connection: Any, view: str, version: int, batch: int | None = None) -> Position | None:
        """The position after the newest batch, or after the given one if it is still known."""
        row = self._execute(
            connection,
            f"SELECT batch, commits, watermark FROM headwater_batches WHERE {_HERE} AND batch <= ? "
            "ORDER BY batch DESC LIMIT 1",
            (view, version, 2**62 if batch is None else batch),
        ).fetchone()
        if row is None or batch not in (None, row[0]):
            return None
        return Position(row[0], tuple(self.read_json(row[1]).items()), self.read_instant(row[2]))

    def served(self, connection: Any, view: str) -> Served | None:
        """The promoted version of a view, its position, and when its newest batch was written."""
        number = self.promoted_of(connection, view)
        if number is None:
            return None
        newest = f"SELECT max(batch) FROM headwater_batches WHERE {_HERE}"
        written = f"SELECT applied_at FROM headwater_batches WHERE {_HERE} AND batch = ({newest})"
        row = self._execute(connection, written, (view, number) * 2).fetchone()
        target, position = self.target_of(connection, view, number), self.position_of(connection, view, number)
        return Served(target, position, None if row is None else self.read_instant(row[0]))

    def record_batch(
        self, connection: Any, target: Target, position: Position, at: datetime, changes: Sequence[int]
    ) -> None:
        """Write down a batch, and what says which changes are its own."""
        values = (
            *(target.view, target.version, position.batch, json.dumps(dict(position.commits))),
            *(self.spell_instant(position.watermark), self.spell_instant(at), *changes),
        )
        self._execute(connection, f"INSERT INTO headwater_batches VALUES ({_marks(values)})", values)

    def add_to_ledger(self, connection: Any, target: Target, counts: Mapping[str, int]) -> None:
        """Add a batch's counts to the sums."""
        if not counts:
            return
        statement = (
            f"INSERT INTO headwater_ledger AS known VALUES {', '.join(['(?, ?, ?, ?)'] * len(counts))} "
            "ON CONFLICT (view, version, name) DO UPDATE SET count = known.count + excluded.count"
        )
        rows = [(target.view, target.version, name, count) for name, count in counts.items()]
        self._execute(connection, statement, [value for row in rows for value in row])

    def ledger_of(self, connection: Any, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""
        statement = f"SELECT name, count FROM headwater_ledger WHERE {_HERE} ORDER BY name"
        return dict(self._execute(connection, statement, (view, version)).fetchall())

    def promoted_of(self, connection: Any, view: str) -> int | None:
        """The promoted version."""
        statement = "SELECT version FROM headwater_promoted WHERE view = ?"
        row = self._execute(connection, statement, (view,)).fetchone()
        return None if row is None else int(row[0])

    def record_promoted(self, connection: Any, view: str, version: int) -> None:
        """Write down the promoted version."""
        statement = (
            "INSERT INTO headwater_promoted VALUES (?, ?) ON CONFLICT (view) DO UPDATE SET version = excluded.version"
        )
        self._execute(connection, statement, (view, version))


def _target(view: str, version: int, columns: bytes, key: str, emit: str) -> Target:
    return Target(view, version, read_columns(columns), tuple(json.loads(key)), Emit(emit))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" for _ in values)
