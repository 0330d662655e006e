"""The SQL of one version: its table, its changelog, and the statements that write and read them.

A keyed table has a real primary key, so that a client's lookups use it. SQLite lets NULLs in a primary key differ from
each other, where two NULLs must be one key; so if the key may hold a NULL, a second unique index covers exactly the
rows with a NULL in their key, with something in its place that no value of the column can be. Rows without a NULL
don't enter it.

Triggers write updates and deletes to the changelog: they see each row as it was and as it is. New rows are the ones
with new row numbers, and are added to it at once.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from headwater.model import INSTANT, Column, Emit
from headwater.store.protocol import Span, Target
from headwater.store.spelling import changes_of, comma, literal, quoted, table_of
from headwater.store.sqlite.names import images_of
from headwater.store.sqlite.values import Codec, codec_of


@dataclass(frozen=True)
class Layout:
    """How a target is laid out in the database."""

    target: Target

    @cached_property
    def codecs(self) -> tuple[Codec, ...]:
        """The codec of each column."""
        return tuple(codec_of(column.type) for column in self.target.columns)

    @cached_property
    def table(self) -> str:
        """The quoted name of the table."""
        return quoted(table_of(self.target.view, self.target.version))

    @cached_property
    def images(self) -> str:
        """The quoted name of the changelog's table."""
        return quoted(images_of(self.target.view, self.target.version))

    @cached_property
    def changes(self) -> str:
        """The quoted name of the changelog as people see it."""
        return quoted(changes_of(self.target.view, self.target.version))

    @property
    def columns(self) -> tuple[str, ...]:
        """The quoted names of the columns."""
        return tuple(quoted(column.name) for column in self.target.columns)

    def image(self, side: str) -> tuple[str, ...]:
        """The quoted names of the columns that hold a row `before` or `after` a change; both sides share the key."""
        return tuple(
            quoted(f"{'key' if column.name in self.target.key else side}_{column.name}")
            for column in self.target.columns
        )

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
        made = [f"CREATE TABLE {self.table} ({comma(parts)})"]
        if self.target.key and self._nullable_key:
            expressions, rows = self._null_key
            name = quoted(f"headwater_null_keys_{self.target.view}__v{self.target.version}")
            made.append(f"CREATE UNIQUE INDEX {name} ON {self.table} ({expressions}) WHERE {rows}")
        return (*made, *self._create_changelog())

    def _create_changelog(self) -> Iterable[str]:
        before, after = self.image("before"), self.image("after")
        kept = tuple(dict.fromkeys((*before, *after)))
        yield f"CREATE TABLE {self.images} (seq INTEGER PRIMARY KEY, op TEXT NOT NULL, {comma(kept)})"
        old = {name: f"OLD.{column}" for name, column in zip(before, self.columns, strict=True)}
        new = {name: f"NEW.{column}" for name, column in zip(after, self.columns, strict=True)}
        rest = [name for name in self.columns if name not in {quoted(key) for key in self.target.key}]
        differs = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in rest) or "FALSE"
        yield self._trigger("update", f"WHEN {differs}", old | new)
        yield self._trigger("delete", "", old)
        yield self._create_readable()

    def _trigger(self, operation: str, when: str, values: dict[str, str]) -> str:
        name = quoted(f"headwater_{operation}_{self.target.view}__v{self.target.version}")
        written = f"INSERT INTO {self.images} (op, {comma(values)}) VALUES ('{operation}', {comma(values.values())})"
        return f"CREATE TRIGGER {name} AFTER {operation.upper()} ON {self.table} {when} BEGIN {written}; END"

    def _create_readable(self) -> str:
        """`op, before, after, batch, commit, at`, the rows as JSON."""
        before = f"CASE WHEN op <> 'insert' THEN {self._json('before')} END"
        after = f"CASE WHEN op <> 'delete' THEN {self._json('after')} END"
        batches = "headwater_batches.changes_after < seq AND seq <= headwater_batches.changes_to"
        return (
            f'CREATE VIEW {self.changes} AS SELECT op, {before} AS before, {after} AS "after", batch, '
            f'commits AS "commit", applied_at AS at FROM {self.images} JOIN headwater_batches '
            f"ON view = {literal(self.target.view)} AND version = {self.target.version} AND {batches}"
        )

    def _json(self, side: str) -> str:
        """The row as a JSON object. In groups, because a function takes no more than 100 arguments everywhere."""
        members = []
        for column, codec, name in zip(self.target.columns, self.codecs, self.image(side), strict=True):
            shown = f"hex({name})" if pa.types.is_binary(codec.kind) else name
            shown = f"json({name})" if pa.types.is_nested(codec.kind) else shown
            members.append(f"{literal(column.name)}, {shown}")
        groups = [f"json_object({comma(members[at : at + 40])})" for at in range(0, len(members), 40)]
        opened = [f"substr({group}, 1, length({group}) - 1)" for group in groups[:-1]]
        continued = [f"substr({group}, 2)" for group in groups[1:]]
        if not opened:
            return groups[0]
        return " || ',' || ".join([opened[0], *(f"substr({part}, 2)" for part in opened[1:]), continued[-1]])

    def drop(self) -> tuple[str, ...]:
        """The statements that remove all of it; triggers and indexes go with their table."""
        return (
            f"DROP VIEW IF EXISTS {self.changes}",
            f"DROP TABLE IF EXISTS {self.table}",
            f"DROP TABLE IF EXISTS {self.images}",
        )

    @cached_property
    def group(self) -> int:
        """How many rows are best written by one statement.

        SQLite can undo a statement on its own, and keeps every page that it touches for that: the fewer, the faster.
        """
        return max(1, min(50, 1000 // len(self.columns)))

    @cached_property
    def write(self) -> str:
        """One row in. A row of a final view is new; any other replaces the one of its key."""
        return self._written(1)

    @cached_property
    def write_group(self) -> str:
        """A group of rows in, likewise."""
        return self._written(self.group)

    def _written(self, rows: int) -> str:
        values = comma([f"({comma('?' for _ in self.columns)})"] * rows)
        statement = f"INSERT INTO {self.table} ({comma(self.columns)}) VALUES {values}"
        if not self.target.key or self.target.emit is Emit.FINAL:
            return statement
        rest = [name for name in self.columns if name not in {quoted(key) for key in self.target.key}]
        action = f"DO UPDATE SET {comma(f'{name} = excluded.{name}' for name in rest)}" if rest else "DO NOTHING"
        statement += f" ON CONFLICT ({self._key}) {action}"
        if self._nullable_key:
            expressions, found = self._null_key
            statement += f" ON CONFLICT ({expressions}) WHERE {found} {action}"
        return statement

    @cached_property
    def delete(self) -> str:
        """One key out."""
        return f"DELETE FROM {self.table} WHERE " + " AND ".join(f"{quoted(name)} IS ?" for name in self.target.key)

    def select(self, span: Span | None) -> tuple[str, list[str]]:
        """All rows or those of a span, in the order of the key or of arrival, and the values that are bound."""
        order = self._key if self.target.key else self._row
        conditions, values = _within(span) if span else ("", [])
        return f"SELECT {comma(self.columns)} FROM {self.table}{conditions} ORDER BY {order}", values

    def index(self, *columns: str) -> str:
        """Lets the rows be found by columns."""
        name = quoted(f"{table_of(self.target.view, self.target.version)}__by_{'_'.join(columns)}")
        return f"CREATE INDEX IF NOT EXISTS {name} ON {self.table} ({comma(map(quoted, columns))})"

    @cached_property
    def last_row(self) -> str:
        """The newest row's number. The next row gets the next one."""
        return f"SELECT COALESCE(max({self._row}), 0) FROM {self.table}"

    @cached_property
    def log_inserts(self) -> str:
        """Adds the rows after a number to the changelog."""
        into = f"INSERT INTO {self.images} (op, {comma(self.image('after'))})"
        rows = f"FROM {self.table} WHERE {self._row} > ? ORDER BY {self._row}"
        return f"{into} SELECT 'insert', {comma(self.columns)} {rows}"

    @cached_property
    def _row(self) -> str:
        """What the row's own number is called: the name that no column has taken."""
        taken = {column.name.lower() for column in self.target.columns}
        return next(name for name in ("_rowid_", "rowid", "oid") if name not in taken)

    @cached_property
    def alias(self) -> str:
        """The SQL view that stands for this version under the view's own name.

        Numbers that are kept as text are shown as the nearest REAL, so that every client sorts, compares and adds them.
        """
        shown = [
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS REAL) ELSE {name} END AS {name}"
            if codec.wide
            else name
            for name, codec in zip(self.columns, self.codecs, strict=True)
        ]
        return f"CREATE VIEW {quoted(self.target.view)} AS SELECT {comma(shown)} FROM {self.table}"


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
    given = [(operator, at) for operator, at in bounds if at is not None]
    conditions = " AND ".join(f"{quoted(span.column)} {operator} ?" for operator, _ in given)
    return f" WHERE {conditions}", codec_of(INSTANT).encode(pa.array([at for _, at in given], INSTANT))
