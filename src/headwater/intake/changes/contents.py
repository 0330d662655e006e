"""The contents of a table's changes: rows that are there or gone, or what else they stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

import pyarrow as pa

from headwater.intake.changes.change import Change, Transaction
from headwater.intake.changes.piece import ChangesPiece, Identity, Prior, Read, instant
from headwater.intake.decode import Decoder
from headwater.intake.layout import DELETE, OPERATION
from headwater.intake.protocol import Piece
from headwater.log import TopicLog
from headwater.model import Mysql, Postgres, Table

_AT_ONCE = 5_000


class Contents(Protocol):
    """Makes pieces of the changes of a `table`, whose name tells its schema too.

    `look` is called first, and refuses a table that isn't what is declared.
    """

    table: str

    @property
    def query(self) -> str | None:
        """The query that tells the rows of a snapshot, if they aren't told by the table as it is."""

    def look(self) -> None:
        """See the table as the database has it."""

    def begin(self) -> None:
        """Begin a snapshot."""

    def rows(self, source: str, rows: Sequence[Change], first: int) -> Piece:
        """Rows of the snapshot; `first` is the number of the first of them."""

    def rest(self, decoder: Decoder, made_at: int) -> Iterator[pa.Table]:
        """The rows that a snapshot of this time comes to beside its own."""

    def changes(self, source: str, transactions: Sequence[Transaction], after: int) -> Piece:
        """Transactions, and the position behind them."""


class RowContents(ABC):
    """The rows of a table; a later snapshot also tells which ones are gone."""

    table: str
    readers: Mapping[str, Read]

    def __init__(self, topic: Table, log: TopicLog) -> None:
        assert isinstance(topic.intake, Postgres | Mysql)
        self._topic, self._declared = topic, topic.intake
        self._prior = Prior(log)
        self._gone: set[Identity] = set()

    @abstractmethod
    def look(self) -> None:
        """See the table: its whole name, and the readers of its columns; refuse one that isn't what is declared."""

    @property
    def query(self) -> str | None:
        """None: the table tells its rows as it is."""
        return None

    def begin(self) -> None:
        """Take the rows that are there for gone until they come."""
        self._gone = self._prior.identities(self._topic)

    def rows(self, source: str, rows: Sequence[Change], first: int) -> Piece:
        """Rows that are there."""
        piece = ChangesPiece.of_snapshot(source, rows, first, self._declared, self.readers, self._prior)
        self._gone.difference_update(piece.identities(self._topic) if self._gone else ())
        return piece

    def rest(self, decoder: Decoder, made_at: int) -> Iterator[pa.Table]:
        """The deletes of rows that didn't come."""
        for gone in _batches(self._gone):
            yield self._deletes(decoder, gone, made_at)

    def _deletes(self, decoder: Decoder, identities: Sequence[Identity], at: int) -> pa.Table:
        names, time = self._topic.primary_key, self._declared.message_time
        when = {} if time is None else {time: instant(at)}
        rows = [dict(zip(names, identity, strict=True)) | when | {OPERATION: DELETE} for identity in identities]
        return decoder.decode(rows).rows

    def changes(self, source: str, transactions: Sequence[Transaction], after: int) -> Piece:
        """Rows as each change left them."""
        return ChangesPiece.of(source, transactions, after, self._declared, self.readers, self._prior, self.look)


def _batches(identities: Iterable[Identity]) -> Iterator[Sequence[Identity]]:
    rest = iter(identities)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
