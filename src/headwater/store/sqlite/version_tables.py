"""The SQL of one version: its table, and the statements that write and read it.

A keyed table has a real primary key, so that a client's lookups use it. SQLite lets NULLs in a primary key differ from
each other, where two NULLs must be one key; so if the key may hold a NULL, a second unique index covers exactly the
rows with a NULL in their key, with something in its place that no value of the column can be. Rows without a NULL
don't enter it.

How its changes are recorded is in `headwater.store.sqlite.record`.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from headwater.model import INSTANT, Column
from headwater.store.protocol import Span, Target
from headwater.store.spelling import comma, quoted, table_of
from headwater.store.sqlite.names import Names
from headwater.store.sqlite.record import Additions, Copies, record_of
from headwater.store.sqlite.values import Codec, codec_of


@dataclass(frozen=True)
class VersionTables:
    """The tables of a target in the database."""

    target: Target

    @cached_property
    def codecs(self) -> tuple[Codec, ...]:
        """The codec of each column."""
        return tuple(codec_of(column.type) for column in self.target.columns)

    @cached_property
    def names(self) -> Names:
        """The names of all of it."""
        return Names(self.target)

    @cached_property
    def record(self) -> Additions | Copies:
        """The record of changes."""
        return record_of(self.names)

    @cached_property
    def _nullable_key(self) -> bool:
        return any(column.nullable for column in self.target.key_columns)

    @cached_property
    def _key(self) -> str:
        return comma(quoted(name) for name in self.target.key)

    @cached_property
    def _null_key(self) -> tuple[str, str]:
        """The expressions of the index over keys with a NULL, and which rows it has."""
        expressions = comma(_never_null(column) for column in self.target.key_columns)
        return expressions, " OR ".join(f"{quoted(name)} IS NULL" for name in self.target.key)

    def create(self) -> tuple[str, ...]:
        """The statements that create all of it."""
        parts = [_definition(column, codec) for column, codec in zip(self.target.columns, self.codecs, strict=True)]
        if self.target.key:
            parts.append(f"PRIMARY KEY ({self._key})")
        made = [f"CREATE TABLE {self.names.table} ({comma(parts)})"]
        if self.target.key and self._nullable_key:
            expressions, rows = self._null_key
            name = self.names.own("null_keys")
            made.append(f"CREATE UNIQUE INDEX {name} ON {self.names.table} ({expressions}) WHERE {rows}")
        return (*made, *self.record.create())

    @cached_property
    def group(self) -> int:
        """The number of rows that are best written by one statement."""
        return max(1, min(50, 1000 // len(self.names.columns)))

    def write(self, rows: int) -> str:
        """So many rows in. A row of a final view is new; any other replaces the one of its key."""
        if rows not in self._writes:
            self._writes[rows] = self._written(rows)
        return self._writes[rows]

    @cached_property
    def _writes(self) -> dict[int, str]:
        return {}

    def _written(self, rows: int) -> str:
        """A row that can't be written ends the transaction, as it would anyway.

        To be able to undo the statement alone, SQLite would copy every page that the statement touches.
        """
        values = comma([f"({comma('?' for _ in self.names.columns)})"] * rows)
        statement = f"INSERT OR ROLLBACK INTO {self.names.table} ({comma(self.names.columns)}) VALUES {values}"
        if self.target.only_adds:
            return statement
        rest = comma(f"{name} = excluded.{name}" for name in self.names.values)
        action = f"DO UPDATE SET {rest}" if rest else "DO NOTHING"
        statement += f" ON CONFLICT ({self._key}) {action}"
        if self._nullable_key:
            expressions, with_nulls = self._null_key
            statement += f" ON CONFLICT ({expressions}) WHERE {with_nulls} {action}"
        return statement

    @cached_property
    def delete(self) -> str:
        """One key out."""
        return f"DELETE FROM {self.names.table} WHERE " + " AND ".join(
            f"{quoted(name)} IS ?" for name in self.target.key
        )

    def select(self, span: Span | None) -> tuple[str, list[str]]:
        """All rows or those of a span, in the order of the key or of arrival, and the values that are bound."""
        order = self._key if self.target.key else self.names.row
        conditions, values = _within(span) if span else ("", [])
        return f"SELECT {comma(self.names.columns)} FROM {self.names.table}{conditions} ORDER BY {order}", values

    def index(self, *columns: str) -> str:
        """Lets the rows be found by columns."""
        name = quoted(f"{table_of(self.target.view, self.target.version)}__by_{'_'.join(columns)}")
        return f"CREATE INDEX IF NOT EXISTS {name} ON {self.names.table} ({comma(map(quoted, columns))})"

    @cached_property
    def last_row(self) -> str:
        """The newest row's number. The next row gets the next one."""
        return f"SELECT COALESCE(max({self.names.row}), 0) FROM {self.names.table}"

    @cached_property
    def alias(self) -> str:
        """The SQL view that stands for this version under the view's own name.

        Numbers that are kept as text are shown as the nearest REAL, so that every client sorts, compares and adds them.
        """
        shown = [
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS REAL) ELSE {name} END AS {name}"
            if codec.wide
            else name
            for name, codec, column in zip(self.names.columns, self.codecs, self.target.columns, strict=True)
            if not column.is_hidden
        ]
        return f"CREATE VIEW {quoted(self.target.view)} AS SELECT {comma(shown)} FROM {self.names.table}"


def _definition(column: Column, codec: Codec) -> str:
    parts = (quoted(column.name), codec.declared, "" if column.nullable else "NOT NULL")
    return " ".join(part for part in parts if part)


def _never_null(column: Column) -> str:
    """The column, or in place of NULL what it can't hold: an empty BLOB, or for BINARY a number."""
    stand_in = "0" if pa.types.is_binary(column.type) else "x''"
    return f"COALESCE({quoted(column.name)}, {stand_in})"


def _within(span: Span) -> tuple[str, list[str]]:
    """The condition that a row is in a span, and its values; instants sort as their texts do."""
    bounds = [(">", span.after), ("<=", span.upto)]
    stated = [(operator, at) for operator, at in bounds if at is not None]
    conditions = " AND ".join(f"{quoted(span.column)} {operator} ?" for operator, _ in stated)
    return f" WHERE {conditions}", codec_of(INSTANT).encode(pa.array([at for _, at in stated], INSTANT))
