"""A table of MariaDB or MySQL as an inlet: its one source is the binary log, the position the end of a transaction."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.intake.changes.capture import Capture, join
from headwater.intake.changes.contents import Contents, RowContents
from headwater.intake.changes.inlet import ChangesInlet
from headwater.intake.changes.tap import Tap
from headwater.intake.mysql.binlog import spell
from headwater.intake.mysql.capture import BinaryLogCapture
from headwater.intake.mysql.database import Database
from headwater.intake.mysql.types import readers_of
from headwater.intake.positions import SourcePositions
from headwater.log import TopicLog
from headwater.model import Mysql, Table

SOURCE = "binlog"
SERVER = "server"
FILE = "file"
"""The names of the number of the server, and of the time at which the file of the position was begun."""


class MysqlContents(RowContents):
    """The rows of a table."""

    def __init__(self, topic: Table, database: Database, log: TopicLog) -> None:
        super().__init__(topic, log)
        self._database = database

    def look(self) -> None:
        """See the table; its columns and its key are those that are declared."""
        with self._database.connected() as connection:
            table = self._database.table(connection, self._declared.table)
        self._database.check_table(self._topic, table)
        self.table = table.name
        self.readers = readers_of(self._topic, table.columns)


class MysqlInlet(ChangesInlet):
    """The changes of one table. `tables` are those that are read with it, by topic."""

    def __init__(self, topic: Table, address: str, tables: Mapping[str, str]) -> None:
        assert isinstance(topic.intake, Mysql)
        super().__init__(topic, SOURCE)
        self._table = topic
        self._tables = tables
        self._database = Database(address, f'the intake of "{topic.name}"', topic.name)
        self._made: dict[int, int] = {}

    def _see(self, positions: SourcePositions) -> Contents:
        with self._database.connected() as connection:
            self._database.server(connection)
            self._server = self._database.identity(connection)
        contents = MysqlContents(self._table, self._database, positions.log)
        contents.look()
        return contents

    def _begin(self, positions: SourcePositions) -> int | None:
        """Where the log stands; nowhere, if that is in another binary log, and a snapshot may follow."""
        at = positions.position(SOURCE)
        if at is None:
            return None
        if positions.position(SERVER) != self._server:
            what = "is that of another server"
        elif self._made_at(at >> 32) not in (0, positions.position(FILE)):
            what = "was made anew"
        else:
            return at
        if self._declared.gaps != "snapshot":
            raise self._database.replaced(what, at)
        return None

    def _also(self, position: int) -> Mapping[str, int]:
        return {SERVER: self._server, FILE: self._made_at(position >> 32)}

    def _made_at(self, file: int) -> int:
        """When a file was begun; 0 if it is there no more, and so what comes behind its end."""
        if file not in self._made:
            self._made = {file: self._database.made_at(file)}
        return self._made[file]

    def _join(self, tap: Tap) -> Capture:
        database, tables = self._database, self._tables
        return join((SOURCE, database.address), lambda: BinaryLogCapture(tables, database), tap)

    def _head(self) -> int:
        with self._database.connected() as connection:
            return self._database.head(connection)

    def spell(self, source: str, position: int) -> str:  # noqa: ARG002
        """A position as the server writes it."""
        return spell(position)
