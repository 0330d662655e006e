"""The binary log of a server, read as a replica reads it: event by event, and put together to transactions.

A *position* is the number of a file and the place in it, in one number. A transaction is told whole, in one file, and
its position is the one behind it: from each such place reading can go on.
"""

from __future__ import annotations

import json
import secrets
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pymysql

from headwater.intake.changes.change import Change
from headwater.intake.mysql.layout import Bytes, LayoutUnknown, TableMap, read_rows, read_table_map, table_name
from headwater.intake.mysql.statement import Doubt, doubt_of, truncated
from headwater.intake.mysql.values import Spelling

HEARTBEAT = 1
"""The seconds of silence after which the server says where it is."""
_DUMP = 0x12
_QUERY, _STOP, _ROTATE, _FORMAT, _XID, _TABLE_MAP, _INCIDENT, _HEARTBEAT = 2, 3, 4, 15, 16, 19, 26, 27
_GTID, _MARIADB_GTID, _XA_PREPARE, _HEARTBEAT_2 = 33, 162, 38, 41
_OPERATIONS = {23: "c", 24: "u", 25: "d", 30: "c", 31: "u", 32: "d"}
_PASSED_BY = {_STOP, 5, 13, 14, 17, 18, 29, 34, 35, 160, 161, 163, 164}
"""Events that change no row: comments, checkpoints, variables of statements, keys of encryption, lists of GTIDs."""
_KINDS = {37: "a transaction's context", 39: "partial updates of JSON", 40: "a compressed transaction"}
_SECOND = 30
"""From this type on events of rows have something beside them."""
_FIRST = 4
"""The place of the first event of a file."""
_NO_TABLE = 0xFFFFFF


@dataclass
class Told:
    """A transaction up to its end, `position`, or only that there was nothing up to there."""

    position: int
    changes: Mapping[str, Sequence[Change]] = field(default_factory=dict)


@dataclass(frozen=True)
class Server:
    """A server as reading needs to know it; `files` are the names of the files of its binary log, by their numbers."""

    is_mariadb: bool
    charsets: Mapping[int, str]
    files: Mapping[int, str]
    checksum: bool


def position_of(file: str, at: int) -> int:
    """The position of a place in a file.

    >>> position_of("binlog.000002", 344)
    8589934936
    """
    return int(file.rpartition(".")[2]) << 32 | at


def spell(position: int) -> str:
    """A position for people.

    >>> spell(8589934936)
    '000002:344'
    """
    return f"{position >> 32:06}:{position & 0xFFFFFFFF}"


class BinaryLog:
    """The binary log from a position on; only `tables`, named with their databases, are read."""

    def __init__(self, connection: pymysql.Connection, server: Server, tables: Collection[str], position: int) -> None:
        self._connection = connection
        self._server = server
        self._tables = tables
        self._spelling = Spelling(server.charsets)
        self._has_checksums = server.checksum
        self._file = position >> 32
        self._at = position & 0xFFFFFFFF
        self._maps: dict[int, TableMap | None] = {}
        self._changes: dict[str, list[Change]] = {}
        self._transaction: str | None = None
        ask(connection, server.files[self._file].encode(), self._at, replica_number())

    def told(self) -> Iterator[Told]:
        """Transactions as they come, without end."""
        while True:
            packet = self._connection._read_packet()
            if packet.is_eof_packet():
                return
            content: bytes = packet.get_all_data()[1:]
            told = self._event(content)
            if told is not None:
                yield told

    def _event(self, content: bytes) -> Told | None:
        seconds, kind, _, _, end, flags = struct.unpack_from("<IBIIIH", content)
        if kind == _FORMAT:
            self._has_checksums = content[-5] == 1
            self._moved(end)
            return None
        if self._has_checksums:
            content, checksum = content[:-4], content[-4:]
            if zlib.crc32(content) != int.from_bytes(checksum, "little"):
                raise LayoutUnknown("an event whose checksum is another than that of its bytes")
        body = Bytes(content, 19)
        if kind == _ROTATE:
            self._at = body.little(8)
            self._file = position_of(body.rest().decode(), 0) >> 32
            return Told(self._position) if self._transaction is None else None
        if kind in (_HEARTBEAT, _HEARTBEAT_2):
            return Told(self._position) if self._transaction is None else None
        is_made_up = bool(flags & 0x20) or not end
        if not is_made_up:
            self._moved(end)
        return self._told(kind, seconds, body)

    def _moved(self, end: int) -> None:
        if end and end < self._at:
            raise LayoutUnknown("a file that has more than 4 GiB")
        self._at = end or self._at

    @property
    def _position(self) -> int:
        return self._file << 32 | self._at

    def _told(self, kind: int, seconds: int, body: Bytes) -> Told | None:
        if kind == _MARIADB_GTID:
            number, domain = body.little(8), body.little(4)
            self._transaction = f"{domain}-{number}"
        elif kind == _GTID:
            body.take(1)
            server = body.take(16).hex()
            self._transaction = f"{server}:{body.little(8)}"
        elif kind == _TABLE_MAP:
            self._map(body)
        elif kind in _OPERATIONS:
            self._rows(kind, body)
        elif kind == _XID:
            return self._end(seconds)
        elif kind == _QUERY:
            return self._query(seconds, body)
        elif kind == _INCIDENT or (kind == _XA_PREPARE and self._changes):
            what = "a transaction of several servers (XA)" if kind == _XA_PREPARE else "that some changes are missing"
            raise Doubt(f"The binary log tells {what}", self._position)
        elif kind == _XA_PREPARE:
            return self._end(seconds)
        elif kind not in _PASSED_BY:
            raise LayoutUnknown(_KINDS.get(kind, f"an event of the type {kind}"))
        return None

    def _map(self, body: Bytes) -> None:
        identity = body.little(6)
        body.take(2)
        name = table_name(body)
        wanted = name in self._tables
        counts_geometry = self._server.is_mariadb
        self._maps[identity] = read_table_map(name, body, counts_geometry=counts_geometry) if wanted else None

    def _rows(self, kind: int, body: Bytes) -> None:
        identity = body.little(6)
        body.take(2)
        if identity == _NO_TABLE:
            return
        if kind >= _SECOND:
            body.take(body.little(2) - 2)
        if identity not in self._maps:
            raise LayoutUnknown("rows of a table that wasn't told")
        table = self._maps[identity]
        if table is None:
            return
        operation = _OPERATIONS[kind]
        changes = self._changes.setdefault(table.name, [])
        for images in read_rows(body, table, self._spelling.read, 2 if operation == "u" else 1):
            before = images[0] if operation != "c" else None
            after = images[-1] if operation != "d" else None
            changes.append(Change(operation, 0, "", content_of(before, after)))

    def _query(self, seconds: int, body: Bytes) -> Told | None:
        body.take(8)
        database = body.little(1)
        body.take(2)
        body.take(body.little(2))
        used = body.take(database).decode()
        body.take(1)
        statement = body.rest().decode("utf-8", "replace")
        word = statement.strip().upper()
        if word == "BEGIN":
            self._transaction = self._transaction or ""
            return None
        if word == "COMMIT":
            return self._end(seconds)
        if word == "ROLLBACK":
            self._changes = {}
            return self._end(seconds)
        if word.startswith(("SAVEPOINT", "XA START", "XA END")):
            return None
        table = truncated(statement, used, self._tables)
        if table is not None:
            self._changes.setdefault(table, []).append(Change("t", 0, "", content_of(None, None)))
        doubt = doubt_of(statement, used, self._tables, bool(self._changes)) if table is None else None
        if doubt is not None:
            raise Doubt(doubt, self._position)
        return self._end(seconds)

    def _end(self, seconds: int) -> Told:
        """The transaction is whole: each of its changes is of its end, and of its time."""
        transaction = self._transaction or spell(self._position)
        changes = {
            table: [change._replace(made_at=seconds * 1_000_000, transaction=transaction) for change in changes]
            for table, changes in self._changes.items()
        }
        self._changes, self._maps, self._transaction = {}, {}, None
        return Told(self._position, changes)


def content_of(before: object, after: object) -> bytes:
    """The text of a change."""
    text = json.dumps({"before": before, "after": after}, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def ask(connection: pymysql.Connection, file: bytes, at: int, replica: int) -> None:
    """Ask for what is in the binary log from a place in a file on; `replica` is our number among those who do."""
    with connection.cursor() as cursor:
        for word in ("master", "source"):  # the latter is what MySQL says
            cursor.execute(f"SET @{word}_binlog_checksum = @@global.binlog_checksum")
            cursor.execute(f"SET @{word}_heartbeat_period = {HEARTBEAT * 1_000_000_000}")
        cursor.execute("SET @mariadb_slave_capability = 4")
    connection._execute_command(_DUMP, struct.pack("<IHI", at, 0, replica) + file)


def begun_at(connection: pymysql.Connection, file: str) -> int:
    """When a file was begun, in seconds since 1970, as its first event tells."""
    ask(connection, file.encode(), _FIRST, replica_number())
    while True:
        seconds, kind = struct.unpack_from("<IB", connection._read_packet().get_all_data()[1:])
        if kind == _FORMAT:
            return int(seconds)


def replica_number() -> int:
    """A number that hardly another reader of the server has: those of people are smaller."""
    return (1 << 31) + secrets.randbits(31)
