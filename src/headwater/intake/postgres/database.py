"""The database behind a slot, as an intake must find it: rights, tables, keys, publication and slot.

A *slot* is where PostgreSQL keeps, for one reader, what it has not read of the log of changes (WAL); a *publication*
names the tables whose changes a slot gives. A *position* is an LSN: how many bytes of WAL there were before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from headwater.errors import OperatorError, SourceRefused, SourceReplaced, SourceUnavailable
from headwater.intake.changes.columns import missing_columns
from headwater.intake.postgres.fitting import fits
from headwater.model import Postgres, Table, Topic, spell_type

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_REFUSED = {"28P01", "28000", "3D000", "42501"}
"""The states of SQL that say that a login, a database or a right is missing."""
_WAIT = 10


def address_of(topic: Topic, environment: Mapping[str, str] = os.environ) -> str:
    """The address of the database of a topic's intake, with the variables of the environment that it names."""
    assert isinstance(topic.intake, Postgres)
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
    """A table as the database has it: its columns with their types, its key, and what tells its rows apart in WAL."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    identity: str

    @property
    def identifier(self) -> sql.Identifier:
        """Its name in a statement."""
        return sql.Identifier(*self.name.split(".", 1))

    @property
    def has_whole_rows(self) -> bool:
        """Tells whether WAL has a row as it was before a change, whole."""
        return self.identity == "f"


@dataclass(frozen=True)
class SlotState:
    """A slot: up to where it was read, who reads it, and whether PostgreSQL has let go of what it needs.

    `held` are the bytes of WAL that are kept for it, and `left` those that may still come before it is lost.
    """

    confirmed: int
    reader: int | None
    is_lost: bool
    held: int | None
    left: int | None


@dataclass
class Database:
    """The database of a slot; `title` says in errors what needs it."""

    address: str
    title: str
    topic: str

    @contextmanager
    def connected(self, wait: int | None = None) -> Iterator[psycopg.Connection]:
        """A connection, which is waited for so many seconds; what goes wrong is an error of the source."""
        try:
            with psycopg.connect(self.address, autocommit=True, connect_timeout=wait or _WAIT) as connection:
                yield connection
        except psycopg.Error as cause:
            raise self.failure(cause) from cause

    def failure(self, cause: psycopg.Error) -> OperatorError:
        text = " ".join(str(cause).split())
        is_refused = cause.sqlstate in _REFUSED or re.search(r"password authentication|does not exist|no pg_hba", text)
        if is_refused:
            hint = "Correct the user, the password and the database in its url, or what the server allows."
            return SourceRefused(f"PostgreSQL refused {self.title}", detail=f"{text}.", hint=hint, topic=self.topic)
        hint = "See whether the server runs and can be reached from here; the log stands where it was."
        return SourceUnavailable(
            f"PostgreSQL did not answer {self.title}", detail=f"{text}.", hint=hint, topic=self.topic
        )

    def refused(self, what: str, detail: str, hint: str) -> SourceRefused:
        """A refusal that concerns what needs this database."""
        return SourceRefused(f"{self.title} {what}", detail=detail, hint=hint, topic=self.topic)

    # What must be so

    def check_rights(self, connection: psycopg.Connection) -> None:
        """Refuse a server that writes no changes for logical decoding, or a user that may not read them."""
        level = _one(connection, "SHOW wal_level")
        if level != "logical":
            raise self.refused(
                "can't read the changes of its database",
                f"The server's wal_level is {level}, and changes are decoded with wal_level = logical.",
                "Run ALTER SYSTEM SET wal_level = logical, and restart PostgreSQL.",
            )
        user, allowed = _row(
            connection,
            "SELECT rolname, rolreplication OR rolsuper OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = "
            "'rds_replication' AND pg_has_role(current_user, r.oid, 'member')) FROM pg_roles "
            "WHERE rolname = current_user",
        )
        if not allowed:
            raise self.refused(
                "may not read the changes of its database",
                f'The user "{user}" has no right of replication.',
                f"Run ALTER ROLE {user} REPLICATION, as a superuser.",
            )

    def table(self, connection: psycopg.Connection, name: str) -> SourceTable:
        """A table as the database has it; refuses one that isn't there or may not be read."""
        schema, _, relation = name.rpartition(".")
        row = connection.execute(
            "SELECT c.oid, c.relreplident::text, has_table_privilege(c.oid, 'SELECT') FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
            "AND c.relname = %s AND c.relkind IN ('r', 'p')",
            (schema or "public", relation),
        ).fetchone()
        if row is None:
            raise self.refused(
                f'reads the table "{name}", which isn\'t there',
                "The database that its url names has no table of that name.",
                'Correct option "table" to SCHEMA.NAME, or create the table.',
            )
        oid, identity, readable = row
        if not readable:
            raise self.refused(
                f'may not read the table "{name}"', "SELECT is not granted.", f"Run GRANT SELECT ON {name} TO its user."
            )
        columns = connection.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (oid,),
        ).fetchall()
        key = connection.execute(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a "
            "ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
            "WHERE i.indrelid = %s AND CASE WHEN %s = 'i' THEN i.indisreplident ELSE i.indisprimary END",
            (oid, identity),
        ).fetchall()
        return SourceTable(f"{schema or 'public'}.{relation}", dict(columns), tuple(name for (name,) in key), identity)

    def check_table(self, topic: Table, table: SourceTable) -> None:
        """Refuse a table whose columns aren't those that are declared, or whose changes don't tell the declared key."""
        assert isinstance(topic.intake, Postgres)
        missing = missing_columns(topic, table.columns)
        if topic.intake.columns == "ignore":
            missing = [name for name in missing if name in topic.primary_key]
        if missing:
            raise self.refused(
                f'declares the column "{missing[0]}", which "{table.name}" doesn\'t have',
                f"Its columns are {', '.join(table.columns)}.",
                "Leave the column out, or give it the former name as an ALIAS.",
            )
        if topic.intake.columns == "stop":
            self._check_columns(topic, table)
        if set(topic.primary_key) == set(table.key) or table.has_whole_rows:
            return
        declared = ", ".join(topic.primary_key)
        detail = (
            f'"{table.name}" has no primary key, and WAL doesn\'t say which row was changed or deleted.'
            if not table.key
            else f'Changes of "{table.name}" tell its rows apart by {", ".join(table.key)}; declared is {declared}.'
        )
        raise self.refused(
            "can't tell the rows of its table apart" if not table.key else "declares another key than its table has",
            detail,
            f"Run ALTER TABLE {table.name} ADD PRIMARY KEY ({declared}), or, if they are unique without one, "
            f"ALTER TABLE {table.name} REPLICA IDENTITY FULL.",
        )

    def _check_columns(self, topic: Table, table: SourceTable) -> None:
        """Refuse columns that aren't declared, and those of types that the declared ones aren't meant for."""
        declared = {name: column.type for column in topic.columns for name in (column.name, *column.aliases)}
        for name, kind in table.columns.items():
            if name not in declared:
                raise self.refused(
                    f'doesn\'t declare the column "{name}", which "{table.name}" has',
                    f"It is of type {kind}, and columns = 'stop' is declared.",
                    "Declare it, or say columns = 'evolve': then unknown_fields says what becomes of it.",
                )
            if not fits(kind, declared[name]):
                mine = spell_type(declared[name])
                raise self.refused(
                    f'declares the column "{name}" as {mine}, and "{table.name}" has it as {kind}',
                    "It may have values that don't fit, and columns = 'stop' is declared.",
                    "Declare it of a type that takes all of them, or say columns = 'evolve': those that don't fit are "
                    "then dead letters.",
                )

    # Publication and slot

    def ensure_publication(self, connection: psycopg.Connection, name: str, tables: Sequence[str]) -> None:
        """Create the publication if it isn't there; refuse one that leaves out a table, or kinds of changes."""
        kinds = connection.execute(
            "SELECT pubinsert AND pubupdate AND pubdelete, pubtruncate FROM pg_publication WHERE pubname = %s", (name,)
        ).fetchone()
        if kinds is None:
            listed = sql.SQL(", ").join(sql.Identifier(*table.split(".", 1)) for table in tables)
            connection.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(sql.Identifier(name), listed))
            return
        if not all(kinds):
            raise self.refused(
                f'reads the publication "{name}", which leaves out kinds of changes',
                "It doesn't publish insert, update, delete and truncate.",
                f"Run ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate').",
            )
        missing = self.unpublished(connection, name, tables)
        if missing:
            raise self.refused(
                f'reads the publication "{name}", which doesn\'t have the table "{missing[0]}"',
                "Changes of a table that isn't published never come.",
                f"Run ALTER PUBLICATION {name} ADD TABLE {missing[0]}.",
            )

    def unpublished(self, connection: psycopg.Connection, publication: str, tables: Sequence[str]) -> list[str]:
        """The tables that a publication doesn't have."""
        held = connection.execute(
            "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %s", (publication,)
        ).fetchall()
        return [table for table in tables if (table,) not in held]

    def drop_publication(self, connection: psycopg.Connection, name: str) -> bool:
        """Drop a publication; False if there is none."""
        if not connection.execute("SELECT FROM pg_publication WHERE pubname = %s", (name,)).fetchall():
            return False
        connection.execute(sql.SQL("DROP PUBLICATION {}").format(sql.Identifier(name)))
        return True

    def slot(self, connection: psycopg.Connection, name: str) -> SlotState | None:
        """The slot of that name; None if there is none."""
        row = connection.execute(
            "SELECT confirmed_flush_lsn - '0/0'::pg_lsn, active_pid, coalesce(wal_status = 'lost', false), "
            "pg_current_wal_lsn() - restart_lsn, safe_wal_size "
            "FROM pg_replication_slots WHERE slot_name = %s AND database = current_database()",
            (name,),
        ).fetchone()
        if row is None:
            return None
        held, left = (None if size is None else int(size) for size in row[3:])
        return SlotState(int(row[0] or 0), row[1], bool(row[2]), held, left)

    def ensure_slot(self, connection: psycopg.Connection, name: str) -> None:
        """Create the slot if it isn't there."""
        if self.slot(connection, name) is None:
            connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))

    def gap(self, connection: psycopg.Connection, name: str, positions: Sequence[int]) -> SourceReplaced | None:
        """The error that says that a slot no longer has what comes behind the positions of logs; None if it has."""
        slot, least = self.slot(connection, name), min(positions, default=None)
        if slot is not None and not slot.is_lost and (least is None or slot.confirmed <= least):
            return None
        if slot is None and least is None:
            return None
        what = "is gone" if slot is None else "was invalidated by the server" if slot.is_lost else "was made anew"
        until = "" if slot is None or slot.is_lost else f" up to {spell(slot.confirmed)}"
        behind = "What was changed before it was read" if least is None else f"What was changed behind {spell(least)}"
        return SourceReplaced(
            f'the slot "{name}" of {self.title} {what}',
            detail=f"{behind}{until} can no longer be read. What the logs have stays.",
            hint="Declare gaps = 'snapshot' for all tables of the slot: a new snapshot then tells what has changed. "
            "See max_slot_wal_keep_size of the server, which sets an end to what is kept for a slot.",
            topic=self.topic,
        )

    def drop_slot(self, connection: psycopg.Connection, name: str) -> None:
        """Drop a slot, if it is there, and whoever reads it."""
        connection.execute(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s "
            "AND active_pid IS NOT NULL",
            (name,),
        )
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", (name,)
        )

    def advance(self, connection: psycopg.Connection, name: str, position: int) -> None:
        """Let PostgreSQL forget what is before a position; nobody reads the slot meanwhile."""
        connection.execute(
            "SELECT pg_replication_slot_advance(slot_name, '0/0'::pg_lsn + %s::numeric) FROM pg_replication_slots "
            "WHERE slot_name = %s AND active_pid IS NULL AND confirmed_flush_lsn < '0/0'::pg_lsn + %s::numeric",
            (position, name, position),
        )

    def head(self, connection: psycopg.Connection) -> int:
        """The end of WAL."""
        return int(_one(connection, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))

    def clock(self, connection: psycopg.Connection) -> int:
        """The time of the server's clock, in microseconds since 1970."""
        return int(_one(connection, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))

    def beat(self, connection: psycopg.Connection) -> None:
        """Write an empty transaction into WAL that slots give: so a reader hears where it is."""
        connection.execute("SELECT pg_logical_emit_message(true, 'headwater', '')")

    @property
    def properties(self) -> dict[str, str]:
        """The address as Debezium takes it."""
        told = {name: str(value) for name, value in conninfo_to_dict(self.address).items() if value is not None}
        names = {
            "host": "database.hostname",
            "port": "database.port",
            "user": "database.user",
            "password": "database.password",
            "dbname": "database.dbname",
            "sslmode": "database.sslmode",
            "sslrootcert": "database.sslrootcert",
            "sslcert": "database.sslcert",
            "sslkey": "database.sslkey",
        }
        defaults = {"database.hostname": "localhost", "database.port": "5432"}
        defaults |= {"database.user": "postgres", "database.dbname": told.get("user", "postgres")}
        return defaults | {names[name]: value for name, value in told.items() if name in names}


def spell(position: int) -> str:
    """A position as PostgreSQL writes it.

    >>> spell(22401840)
    '0/155D330'
    """
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def _one(connection: psycopg.Connection, query: str) -> str:
    return str(_row(connection, query)[0])


def _row(connection: psycopg.Connection, query: str) -> tuple[object, ...]:
    row = connection.execute(query).fetchone()
    assert row is not None
    return tuple(row)
