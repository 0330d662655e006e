"""The contents of a table's changes: rows that are there or gone, or, of an outbox, events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from psycopg import sql

from headwater.intake.changes.change import Change, Transaction
from headwater.intake.changes.contents import Contents, RowContents
from headwater.intake.changes.piece import SHIFT
from headwater.intake.decode import Decoder
from headwater.intake.positions import SourcePositions
from headwater.intake.postgres.database import Database, SourceTable
from headwater.intake.postgres.outbox import TEXTS, OutboxCodec, OutboxEvent, OutboxPiece
from headwater.intake.postgres.values import readers_of, told
from headwater.intake.protocol import Piece
from headwater.log import TopicLog
from headwater.log.read import scan
from headwater.model import Postgres, Table, Topic
from headwater.outbox import COLUMNS, definition_of

NUMBERED = "shift of numbers"
"""The name of what the log keeps beside the position of an outbox that is read by queries."""


class TableContents(RowContents):
    """The rows of a table."""

    def __init__(self, topic: Table, database: Database, log: TopicLog) -> None:
        super().__init__(topic, log)
        self._database = database

    def look(self) -> None:
        """See the table; its columns and its key are those that are declared."""
        with self._database.connected() as connection:
            self._table = self._database.table(connection, self._declared.table)
            self._database.check_table(self._topic, self._table)
        self.table = self._table.name
        self.readers = readers_of(self._topic, self._table.columns)

    @property
    def query(self) -> str | None:
        """The rows with dates that Debezium reads with their sign, if there are dates."""
        if "date" not in self._table.columns.values():
            return None
        columns = (told(sql.Identifier(name), kind) for name, kind in self._table.columns.items())
        return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(columns), self._table.identifier).as_string()


class OutboxContents:
    """The events of an outbox that are of one type of aggregates; a later snapshot has only those that are new."""

    def __init__(self, topic: Topic, database: Database, log: TopicLog) -> None:
        assert isinstance(topic.intake, Postgres)
        self._declared = topic.intake
        self._database, self._log = database, log
        self._codec = OutboxCodec(topic)
        self._known: set[str] = set()

    def look(self) -> None:
        """See the table; it has the columns of an outbox."""
        with self._database.connected() as connection:
            self._table = self._database.table(connection, self._declared.table)
        check_outbox(self._database, self._table, COLUMNS)
        self.table = self._table.name

    @property
    def query(self) -> str | None:
        """The rows in the order of the column that counts them, if the table has it."""
        if "number" not in self._table.columns:
            return None
        return sql.SQL("SELECT * FROM {} ORDER BY number").format(self._table.identifier).as_string()

    def begin(self) -> None:
        """Know the events that the log has."""
        self._known = known_events(self._log, self._declared)

    def rows(self, source: str, rows: Sequence[Change], first: int) -> Piece:
        """Events that are there and that the log doesn't have."""
        told = ((first + at, self._event(change)) for at, change in enumerate(rows))
        events = [(number, event) for number, event in told if event is not None and event.id not in self._known]
        return OutboxPiece(source, f"{source}:snapshot", 0, events, self._codec)

    def rest(self, decoder: Decoder, made_at: int) -> Iterator[pa.Table]:  # noqa: ARG002
        """Nothing."""
        return iter(())

    def changes(self, source: str, transactions: Sequence[Transaction], after: int) -> Piece:
        """Rows that were inserted."""
        events = [
            (transaction.end * SHIFT + at, event)
            for transaction in transactions
            for at, change in enumerate(transaction.changes)
            if (event := self._event(change)) is not None
        ]
        return OutboxPiece(source, source, after, events, self._codec)

    def _event(self, change: Change) -> OutboxEvent | None:
        """The event of a change, if it is one of these aggregates."""
        row = change.inserted
        if row is None or row.get("aggregatetype") != self._declared.outbox:
            return None
        return OutboxEvent.of(row, change.transaction, change.made_at)


def refuse_other_way(database: Database, positions: SourcePositions, beside: str, way: str) -> None:
    """Refuse a stream that was read otherwise: its log has a number of this name `beside` its position."""
    if positions.position(beside) is not None:
        raise database.refused(
            f"is of a stream that was read by {way}",
            "Where one way stands the other can't tell, so events would come twice or not at all.",
            "Change option poll back, or declare a stream of another name.",
        )


def known_events(log: TopicLog, declared: Postgres) -> set[str]:
    """The ids of the events that a log has."""
    assert declared.message_id is not None, "the declaration was checked"
    if log.head < 0:
        return set()
    parts = scan(log, columns=[declared.message_id])
    return {text for part in parts for text in part.rows[declared.message_id].to_pylist()}


def check_outbox(database: Database, table: SourceTable, columns: Sequence[str]) -> None:
    """Refuse a table that isn't an outbox with these columns."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise database.refused(
            f'reads "{table.name}" as an outbox, which has no column "{missing[0]}"',
            f"Its columns are {', '.join(table.columns)}.",
            f"Run ALTER TABLE {table.name} ADD COLUMN {definition_of(missing[0])}, or create an outbox by "
            f'the statement that hw.Outbox("{table.name}").definition is.',
        )
    kind = table.columns["payload"]
    if kind not in TEXTS:
        raise database.refused(
            f'reads "{table.name}" as an outbox, whose payload is of type {kind}',
            f"A payload is a JSON object, as {', '.join(TEXTS)}.",
            f"Run ALTER TABLE {table.name} ALTER COLUMN payload TYPE jsonb USING …, or take it in as a table.",
        )


def contents_of(topic: Topic, database: Database, log: TopicLog) -> Contents:
    """The contents of the changes of a declared topic."""
    if isinstance(topic, Table):
        return TableContents(topic, database, log)
    return OutboxContents(topic, database, log)
