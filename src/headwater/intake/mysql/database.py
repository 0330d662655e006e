"""The database whose binary log is read, as an intake must find it: rights, settings, tables and their keys."""

from __future__ import annotations

import hashlib
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql

from headwater.errors import OperatorError, SourceRefused, SourceReplaced, SourceUnavailable
from headwater.intake.changes.columns import missing_columns
from headwater.intake.mysql.binlog import Server, begun_at, position_of, spell
from headwater.intake.mysql.types import UNREAD, fits
from headwater.model import Mysql, Table, Topic, spell_type

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_REFUSED = {1044, 1045, 1049, 1142, 1143, 1227, 1251, 1698, 2059, 2061}
"""The errors that say that a login, a database or a right is missing."""
_WAIT = 10
AGAIN = "Declare gaps = 'snapshot' for all tables of the database: a new snapshot then tells what has changed."
_SETTINGS = {
    "log_bin": ("ON", "writes no binary log", "Start it with --log-bin."),
    "binlog_format": ("ROW", "doesn't write rows into its binary log", "Run SET GLOBAL binlog_format = 'ROW'"),
    "binlog_row_image": ("FULL", "leaves out columns", "Run SET GLOBAL binlog_row_image = 'FULL'"),
    "binlog_row_metadata": ("FULL", "doesn't name columns", "Run SET GLOBAL binlog_row_metadata = 'FULL'"),
    "log_bin_compress": ("OFF", "compresses its binary log", "Run SET GLOBAL log_bin_compress = OFF"),
    "binlog_transaction_compression": (
        "OFF",
        "compresses its binary log",
        "Run SET GLOBAL binlog_transaction_compression = OFF",
    ),
}
"""Variables of the server: what they must be, what it means if they aren't, and what to do; those it lacks are fine."""


def address_of(topic: Topic, environment: Mapping[str, str] = os.environ) -> str:
    """The address of the database of a topic's intake, with the variables of the environment that it names."""
    assert isinstance(topic.intake, Mysql)
    missing = [name for name in _VARIABLE.findall(topic.intake.url) if name not in environment]
    if missing:
        raise SourceRefused(
            f'the intake of "{topic.name}" needs the environment variable {missing[0]}',
            detail="Its url names it, and it is not set.",
            hint=f"Set {missing[0]} before you run headwater.",
            topic=topic.name,
        )
    return _VARIABLE.sub(lambda variable: environment[variable[1]], topic.intake.url)


@dataclass(frozen=True)
class SourceTable:
    """A table as the database has it: its whole name, its columns with their types, and its primary key."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    is_unsigned: frozenset[str]

    @property
    def quoted(self) -> str:
        """Its name in a statement."""
        return ".".join(map(quote, self.name.split(".", 1)))


@dataclass
class Database:
    """A database; `title` says in errors what needs it."""

    address: str
    title: str
    topic: str

    @property
    def name(self) -> str:
        """The database that its address names."""
        return unquote(urlsplit(self.address).path.strip("/"))

    @contextmanager
    def connected(self) -> Iterator[pymysql.Connection]:
        """A connection; what goes wrong is an error of the source."""
        try:
            connection = self.connect()
            try:
                yield connection
            finally:
                connection.close()
        except (pymysql.Error, OSError) as cause:
            raise self.failure(cause) from cause

    def connect(self) -> pymysql.Connection:
        """A connection that is left open; it tells texts in Unicode, and times in UTC."""
        told = urlsplit(self.address)
        options = dict(parse_qsl(told.query))
        return pymysql.connect(
            host=told.hostname or "localhost",
            port=told.port or 3306,
            user=unquote(told.username or "root"),
            password=unquote(told.password or ""),
            database=self.name or None,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_WAIT,
            read_timeout=_WAIT * 6,
            init_command="SET time_zone = '+00:00', sql_mode = ''",
            conv={},
            ssl=_encryption(options),
        )

    def failure(self, cause: Exception) -> OperatorError:
        """An error of the source for what went wrong."""
        number = cause.args[0] if cause.args else None
        text = " ".join(str(cause.args[-1] if cause.args else cause).split()).rstrip(".")
        if number in _REFUSED:
            hint = (
                "Correct the user, the password and the database in its url, or run GRANT SELECT, REPLICATION SLAVE, "
                "REPLICATION CLIENT ON *.* TO its user."
            )
            return SourceRefused(f"the server refused {self.title}", detail=f"{text}.", hint=hint, topic=self.topic)
        hint = "See whether the server runs and can be reached from here; the log stands where it was."
        return SourceUnavailable(
            f"the server did not answer {self.title}", detail=f"{text}.", hint=hint, topic=self.topic
        )

    def refused(self, what: str, detail: str, hint: str) -> SourceRefused:
        """A refusal that concerns what needs this database."""
        return SourceRefused(f"{self.title} {what}", detail=detail, hint=hint, topic=self.topic)

    # What must be so

    def server(self, connection: pymysql.Connection) -> Server:
        """The server, as reading needs to know it; refuses one that doesn't write all that reading needs."""
        variables = dict(rows(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE '%bin%'"))
        for name, (wanted, what, hint) in _SETTINGS.items():
            told = variables.get(name)
            if told is not None and told != wanted:
                raise self.refused(
                    f"can't read the changes of its database: the server {what}",
                    f"Its {name} is {told}, and changes are read with {wanted}.",
                    f"{hint}, and write it into its configuration." if "SET" in hint else hint,
                )
        if "binlog_row_metadata" not in variables:
            raise self.refused(
                "can't read the changes of its database: the server doesn't name columns",
                "It has no binlog_row_metadata, which came with MariaDB 10.5 and MySQL 8.0.1.",
                "Use a newer server.",
            )
        files = {position_of(name, 0) >> 32: name for name, *_ in rows(connection, "SHOW BINARY LOGS")}
        version = one(connection, "SELECT version()")
        is_mariadb = "mariadb" in version.lower()
        charsets = self._charsets(connection, is_mariadb)
        return Server(is_mariadb, charsets, files, variables.get("binlog_checksum") != "NONE")

    def _charsets(self, connection: pymysql.Connection, is_mariadb: bool) -> Mapping[int, str]:
        numbered = "SELECT id, character_set_name FROM information_schema.collations WHERE id IS NOT NULL"
        collations = rows(connection, numbered)
        if is_mariadb and any(
            rows(
                connection,
                "SELECT 1 FROM information_schema.columns WHERE table_schema = 'information_schema' AND "
                "table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'",
            )
        ):
            collations += rows(
                connection,
                "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability",
            )
        return {int(number): name for number, name in collations}

    def table(self, connection: pymysql.Connection, name: str) -> SourceTable:
        """A table as the database has it; refuses one that isn't there, or whose binary log doesn't tell all."""
        schema, relation = whole_name(name, self.name).split(".", 1)
        tables = rows(
            connection,
            "SELECT table_schema, table_name, table_type, engine FROM information_schema.tables "
            "WHERE table_schema = %s AND table_name = %s",
            schema,
            relation,
        )
        if not tables:
            raise self.refused(
                f'reads the table "{name}", which isn\'t there, or may not be read',
                "The database that its url names shows no table of that name.",
                'Correct option "table" to DATABASE.NAME, create the table, or run GRANT SELECT.',
            )
        schema, relation, kind, engine = tables[0]
        if kind != "BASE TABLE" or str(engine).lower() != "innodb":
            raise self.refused(
                f'reads "{name}", which is {kind.lower()} of the engine {engine}',
                "A snapshot and the changes behind it fit together for ordinary tables of InnoDB alone.",
                f"Run ALTER TABLE {name} ENGINE = InnoDB, or ALTER TABLE {name} DROP SYSTEM VERSIONING.",
            )
        self._check_cascades(connection, name, schema, relation)
        columns = rows(
            connection,
            "SELECT column_name, data_type, column_type FROM information_schema.columns "
            "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            schema,
            relation,
        )
        key = rows(
            connection,
            "SELECT column_name FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s "
            "AND index_name = 'PRIMARY' ORDER BY seq_in_index",
            schema,
            relation,
        )
        types = {column: _kind(kind, whole) for column, kind, whole in columns}
        unsigned = frozenset(column for column, _, whole in columns if "unsigned" in whole)
        return SourceTable(f"{schema}.{relation}", types, tuple(column for (column,) in key), unsigned)

    def _check_cascades(self, connection: pymysql.Connection, name: str, schema: str, relation: str) -> None:
        """Refuse a table whose rows are changed by foreign keys: the binary log says nothing of that."""
        constraints = rows(
            connection,
            "SELECT constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints "
            "WHERE constraint_schema = %s AND table_name = %s "
            "AND (update_rule IN ('CASCADE', 'SET NULL') OR delete_rule IN ('CASCADE', 'SET NULL'))",
            schema,
            relation,
        )
        if constraints:
            constraint, update, delete = constraints[0]
            raise self.refused(
                f'reads "{name}", whose rows are changed by a foreign key',
                f"{constraint} is ON UPDATE {update} ON DELETE {delete}, and the binary log doesn't have the rows that "
                "it changes.",
                "Let the application change these rows, with ON DELETE RESTRICT.",
            )

    def check_table(self, topic: Table, table: SourceTable) -> None:
        """Refuse a table whose columns aren't those that are declared, or whose key isn't the declared one."""
        assert isinstance(topic.intake, Mysql)
        missing = missing_columns(topic, table.columns)
        if topic.intake.columns == "ignore":
            missing = [name for name in missing if name in topic.primary_key]
        if missing:
            raise self.refused(
                f'declares the column "{missing[0]}", which "{table.name}" doesn\'t have',
                f"Its columns are {', '.join(table.columns)}.",
                "Leave the column out, or give it the former name as an ALIAS.",
            )
        declared = {name: column.type for column in topic.columns for name in (column.name, *column.aliases)}
        for name, kind in table.columns.items():
            if name in declared and kind in UNREAD:
                raise self.refused(
                    f'declares the column "{name}", whose type is not read',
                    f'"{table.name}" has it as {kind}.',
                    "Leave the column out.",
                )
            if topic.intake.columns != "stop":
                continue
            if name not in declared:
                raise self.refused(
                    f'doesn\'t declare the column "{name}", which "{table.name}" has',
                    f"It is of type {kind}, and columns = 'stop' is declared.",
                    "Declare it, or say columns = 'evolve': then unknown_fields says what becomes of it.",
                )
            if not fits(kind, declared[name], is_unsigned=name in table.is_unsigned):
                mine = spell_type(declared[name])
                raise self.refused(
                    f'declares the column "{name}" as {mine}, and "{table.name}" has it as {kind}',
                    "It may have values that don't fit, and columns = 'stop' is declared.",
                    "Declare it of a type that takes all of them, or say columns = 'evolve': those that don't fit are "
                    "then dead letters.",
                )
        if set(topic.primary_key) != set(table.key):
            keyed = ", ".join(table.key)
            raise self.refused(
                "can't tell the rows of its table apart" if not keyed else "declares another key than its table has",
                f'The primary key of "{table.name}" is {keyed or "not there"}; '
                f"declared is {', '.join(topic.primary_key)}.",
                f"Declare PRIMARY KEY ({keyed})." if keyed else f"Run ALTER TABLE {table.name} ADD PRIMARY KEY (…).",
            )

    # The binary log

    def identity(self, connection: pymysql.Connection) -> int:
        """A number for the server: positions in the binary log of another one mean something else."""
        names = "('server_uid', 'server_uuid')"
        told = rows(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {names}")
        return int.from_bytes(hashlib.blake2b(repr(told).encode(), digest_size=7).digest(), "big")

    def head(self, connection: pymysql.Connection) -> int:
        """The end of the binary log."""
        try:
            status = rows(connection, "SHOW MASTER STATUS")
        except pymysql.ProgrammingError:  # as newer servers of MySQL say it
            status = rows(connection, "SHOW BINARY LOG STATUS")
        return position_of(status[0][0], int(status[0][1]))

    def gap(self, connection: pymysql.Connection, position: int) -> SourceReplaced | None:
        """The error that says that the binary log no longer has what comes behind a position; None if it has."""
        sizes = {position_of(name, 0) >> 32: int(size) for name, size, *_ in rows(connection, "SHOW BINARY LOGS")}
        if sizes.get(position >> 32, -1) >= position & 0xFFFFFFFF:
            return None
        return self.replaced("was purged" if position >> 32 < min(sizes) else "was made anew", position)

    def made_at(self, file: int) -> int:
        """When a file of the binary log was begun, in seconds since 1970; 0 if it is not there."""
        with self.connected() as connection:
            name = self.server(connection).files.get(file)
            return 0 if name is None else begun_at(connection, name)

    def replaced(self, what: str, position: int) -> SourceReplaced:
        """The error that says what became of the binary log behind a position."""
        return SourceReplaced(
            f"the binary log of {self.title} {what}",
            detail=f"What was changed behind {spell(position)} can't be read. What the logs have stays.",
            hint=f"{AGAIN} See binlog_expire_logs_seconds of the server, which says how long it keeps its files.",
            topic=self.topic,
        )


def quote(name: str) -> str:
    """A name in a statement."""
    return f"`{name.replace('`', '``')}`"


def whole_name(table: str, database: str) -> str:
    """The name of a table with its database.

    >>> whole_name("customers", "shop"), whole_name("crm.customers", "shop")
    ('shop.customers', 'crm.customers')
    """
    return table if "." in table else f"{database}.{table}"


def rows(connection: pymysql.Connection, query: str, *values: str) -> list[tuple[Any, ...]]:
    """The rows of a query, as texts."""
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())


def one(connection: pymysql.Connection, query: str) -> str:
    """The value of a query."""
    return str(rows(connection, query)[0][0])


def _kind(kind: str, whole: str) -> str:
    """The type as it is told, with digits and length where they matter."""
    if kind in ("decimal", "bit", "tinyint"):
        return whole.split(" ")[0] if kind != "tinyint" or whole.startswith("tinyint(1)") else kind
    return kind


def _encryption(options: Mapping[str, str]) -> ssl.SSLContext | None:
    """The encryption of a connection: with `ssl=true`, or if a certificate is named."""
    if not any(name.startswith("ssl") for name in options):
        return None
    context = ssl.create_default_context(cafile=options.get("ssl_ca"))
    if "ssl_cert" in options:
        context.load_cert_chain(options["ssl_cert"], options.get("ssl_key"))
    return context
