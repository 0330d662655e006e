"""Transactions of one table on their way into a commit: each change as a row that is there now, or is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from headwater.errors import MissingValue
from headwater.intake.changes.change import Change, Transaction
from headwater.intake.changes.columns import is_unchanged, missing_columns
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.layout import DELETE, OPERATION
from headwater.intake.messages import Messages, Poison, Records
from headwater.intake.values import column_of
from headwater.log import TopicLog
from headwater.log.fold import only_keys
from headwater.log.table import TableLog
from headwater.model import Mysql, Postgres, Table

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHIFT = 1_000_000_000
"""A change's number is the end of its transaction so many times, and its place there."""
Row = dict[str, Any]
Read = Callable[[Any], Any]
Identity = tuple[Any, ...]
"""The values of a key, as the log has them."""


def instant(microseconds: int) -> datetime:
    """The instant so long after the beginning of 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


class Prior:
    """The rows of a table before the changes at hand: what its log comes to."""

    def __init__(self, log: TopicLog) -> None:
        self._log = log

    def keys(self, table: Table) -> Iterable[Row]:
        """The keys of all rows."""
        if self._log.head < 0:
            return []
        rows: list[Row] = TableLog(self._log).rows(columns=table.primary_key).to_pylist()
        return rows

    def identities(self, table: Table) -> set[Identity]:
        """The same as values."""
        return {tuple(key.values()) for key in self.keys(table)}

    def rows(self, table: Table, keys: Sequence[Identity]) -> list[Row]:
        """The rows of these keys."""
        if self._log.head < 0:
            return []
        kinds = {column.name: column.type for column in table.columns}
        columns = zip(table.primary_key, zip(*keys, strict=True), strict=True)
        wanted = pa.table({name: pa.array(values, kinds[name]) for name, values in columns})
        rows: list[Row] = TableLog(self._log).rows(keep=lambda part: only_keys(table, part, wanted)).to_pylist()
        return rows


@dataclass(frozen=True)
class ChangesPiece:
    """Changes of a table in the order of their transactions, and the position behind them.

    `readers` make of the values of columns what an intake reads. `look` refuses a table that no longer has what is
    declared: it is asked when a change lacks a column, as one that was made before the column was there does too.
    """

    source: str
    where: str
    after: int
    numbered: Sequence[tuple[int, Change]]
    declared: Postgres | Mysql
    readers: Mapping[str, Read]
    prior: Prior
    look: Callable[[], None]

    @classmethod
    def of(
        cls,
        source: str,
        transactions: Sequence[Transaction],
        after: int,
        declared: Postgres | Mysql,
        readers: Mapping[str, Read],
        prior: Prior,
        look: Callable[[], None],
    ) -> ChangesPiece:
        """The changes of transactions."""
        numbered = [
            (transaction.end * SHIFT + at, change)
            for transaction in transactions
            for at, change in enumerate(transaction.changes)
        ]
        return cls(source, source, after, numbered, declared, readers, prior, look)

    @classmethod
    def of_snapshot(
        cls,
        source: str,
        rows: Sequence[Change],
        first: int,
        declared: Postgres | Mysql,
        readers: Mapping[str, Read],
        prior: Prior,
    ) -> ChangesPiece:
        """Rows of the snapshot; `first` is the number of the first of them."""
        return cls(
            source, f"{source}:snapshot", 0, list(enumerate(rows, first)), declared, readers, prior, lambda: None
        )

    def identities(self, table: Table) -> list[Identity]:
        """The keys of its rows."""
        reading = _Reading(table, self)
        for number, change in self.numbered:
            reading.add(number, change)
        return reading.identities(reading.rows)

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:
        """The changes as rows and dead letters."""
        assert isinstance(decoder.topic, Table)
        reading = _Reading(decoder.topic, self)
        for number, change in self.numbered:
            if number not in without:
                reading.add(number, change)
        reading.fill()
        messages = Messages(pa.array(reading.contents, pa.binary()), reading.numbers)
        records = Records(messages, reading.rows)
        return decoder.decode(records, source=self.source, where=self.where, arrived_at=arrived_at)


@dataclass
class _Reading:
    """The rows of a piece, as they are read one after the other."""

    topic: Table
    piece: ChangesPiece
    rows: list[Row | Poison] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._readers = self.piece.readers
        self._shape: Collection[str] = ()
        self._lacking: dict[int, int] = {}
        """The rows that WAL tells in part, and those by whose keys they were there before."""

    def add(self, number: int, change: Change) -> None:
        """Take a change: as the row after it, a row that is gone, or both where its key was changed."""
        if change.operation == "t":
            for key in self._keys():
                self._gone(number, change, key)
            return
        told = json.loads(change.content)
        before = self._read(told.get("before") or {})
        if change.operation == "d":
            self._gone(number, change, self._key(before))
            return
        if told["after"].keys() != self._shape:
            self._shape = told["after"].keys()
            if self.piece.declared.columns == "stop" or missing_columns(self.topic, self._shape):
                self.piece.look()
        row = self._read(told["after"])
        if change.operation == "u" and before and self._key(before) != self._key(row):
            self._gone(number, change, self._key(before))
        row.update(self._beside(change))
        if any(map(is_unchanged, row.values())):
            # a key that was changed comes as the delete of the old one and then, in place of an update, a creation
            self._lacking[len(self.rows)] = len(self.rows) - (change.operation == "c")
        self._append(number, change, row)

    def fill(self) -> None:
        """Give the rows what WAL has left out, because it is as it was: from the row before, here or in the log."""
        if not self._lacking:
            return
        identities = self.identities(self.rows)
        prior = self.piece.prior.rows(self.topic, [identities[before] for before in self._lacking.values()])
        known: dict[Identity, Row | None]
        known = {tuple(row[name] for name in self.topic.primary_key): row for row in prior}
        gone: Row | None = None
        for at, row in enumerate(self.rows):
            assert not isinstance(row, Poison)
            identity = identities[at]
            if row.get(OPERATION) == DELETE:
                gone, known[identity] = known.get(identity), None
                continue
            old = gone if self._lacking.get(at, at) < at else known.get(identity)
            whole = self._filled(row, old) if at in self._lacking else row
            self.rows[at] = whole
            known[identity] = None if isinstance(whole, Poison) else whole

    def _filled(self, row: Mapping[str, Any], old: Mapping[str, Any] | None) -> Row | Poison:
        if old is None:
            names = ", ".join(name for name, value in row.items() if is_unchanged(value))
            return Poison(MissingValue, f"the change leaves out {names}, and the log doesn't have the row before it")
        return {name: old.get(name) if is_unchanged(value) else value for name, value in row.items()}

    def _append(self, number: int, change: Change, row: Row) -> None:
        self.rows.append(row)
        self.numbers.append(number)
        self.contents.append(change.content)

    def _gone(self, number: int, change: Change, key: Row) -> None:
        when = {} if self.topic.time is None else {self.topic.time: instant(change.made_at)}
        self._append(number, change, {**key, **self._beside(change), **when, OPERATION: DELETE})

    def _keys(self) -> list[Row]:
        """The keys of the rows that are there before the next change."""
        keys = {tuple(key.values()): key for key in self.piece.prior.keys(self.topic)}
        for row, identity in zip(self.rows, self.identities(self.rows), strict=True):
            if isinstance(row, Poison):
                continue
            if row.get(OPERATION) == DELETE:
                keys.pop(identity, None)
            else:
                keys[identity] = dict(zip(self.topic.primary_key, identity, strict=True))
        return list(keys.values())

    def _read(self, row: Mapping[str, Any]) -> Row:
        return {
            name: self._readers[name](value) if name in self._readers and value is not None else value
            for name, value in row.items()
        }

    def _beside(self, change: Change) -> Row:
        declared = self.piece.declared
        told = {
            declared.message_time: instant(change.made_at),
            declared.transaction: change.transaction,
        }
        return {name: value for name, value in told.items() if name is not None}

    def _key(self, row: Mapping[str, Any]) -> Row:
        return {name: row.get(name) for name in self.topic.primary_key}

    def identities(self, rows: Sequence[Mapping[str, Any] | Poison]) -> list[Identity]:
        """The keys of rows, as the log has them."""
        kinds = {column.name: column.type for column in self.topic.columns}
        columns = []
        for name in self.topic.primary_key:
            values = [None if isinstance(row, Poison) else row.get(name) for row in rows]
            columns.append(column_of(values, kinds[name]).values.to_pylist())
        return list(zip(*columns, strict=True))
