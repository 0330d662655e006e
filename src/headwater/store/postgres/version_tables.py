"""The tables of one version, in SQL: its rows, its changelog, and the statements that make and read them.

A keyed table has a primary key, or, if the key may hold a NULL, a unique constraint for which two NULLs are the same
(NULLS NOT DISTINCT, since PostgreSQL 15). All names of columns in the changelog are numbers, so that none can be too
long. How a batch is written is in `headwater.store.postgres.staging`.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are numbers and instants
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from headwater.model import Emit
from headwater.store.names import Names
from headwater.store.postgres.names import images_of, shortened
from headwater.store.postgres.values import Codec, codec_of
from headwater.store.protocol import Span
from headwater.store.spelling import comma, literal, quoted, table_of

_JSON_MEMBERS = 50
"""A function takes no more than 100 arguments."""


@dataclass(frozen=True)
class VersionTables(Names):
    """The tables of a target in the database."""

    @cached_property
    def codecs(self) -> tuple[Codec, ...]:
        """The codec of each column."""
        return tuple(codec_of(column.type) for column in self.target.columns)

    @cached_property
    def images(self) -> str:
        return quoted(images_of(self.target.view, self.target.version))

    @cached_property
    def key(self) -> tuple[int, ...]:
        """The positions of the key's columns."""
        names = [column.name for column in self.target.columns]
        return tuple(names.index(name) for name in self.target.key)

    @cached_property
    def rest(self) -> tuple[int, ...]:
        """The positions of the other columns."""
        return tuple(position for position in range(len(self.columns)) if position not in self.key)

    @cached_property
    def replaces(self) -> bool:
        """Tells whether a row may replace another one."""
        return bool(self.key) and self.target.emit is not Emit.FINAL

    @cached_property
    def _row(self) -> str:
        """The column that numbers the rows of a table without a key; no declared column has its name."""
        name, taken = "headwater_row", {column.name for column in self.target.columns}
        while name in taken:
            name += "_"
        return quoted(name)

    # Creation

    def create(self) -> Iterator[str]:
        """The statements that create all of it."""
        definitions = [
            f"{name} {codec.declared}{'' if column.nullable else ' NOT NULL'}"
            for name, codec, column in zip(self.columns, self.codecs, self.target.columns, strict=True)
        ]
        room = " WITH (fillfactor = 70)" if self.replaces else ""  # an update that stays in its page spares the index
        yield f"CREATE TABLE {self.table} ({comma([*definitions, self._constraint])}){room}"
        yield f"CREATE TABLE {self.images} ({self._image_columns})"
        batches = shortened(f"{images_of(self.target.view, self.target.version)}_batch")
        yield f"CREATE INDEX {quoted(batches)} ON {self.images} (batch)"
        yield self._readable
        for name, column in zip(self.columns, self.target.columns, strict=True):
            if column.comment:
                yield f"COMMENT ON COLUMN {self.table}.{name} IS {literal(column.comment)}"

    @property
    def _constraint(self) -> str:
        if not self.key:
            return f"{self._row} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
        nullable = any(column.nullable for column in self.target.key_columns)
        kind = "UNIQUE NULLS NOT DISTINCT" if nullable else "PRIMARY KEY"
        return f"{kind} ({comma(self.columns[position] for position in self.key)})"

    @property
    def _image_columns(self) -> str:
        kinds = [codec.declared for codec in self.codecs]
        kept = [f"k{position} {kinds[position]}" for position in self.key]
        kept += [f"{side}{position} {kinds[position]}" for side in "ba" for position in self.rest]
        return comma(["seq bigint GENERATED ALWAYS AS IDENTITY", "batch bigint NOT NULL", "op text NOT NULL", *kept])

    def image(self, side: str) -> tuple[str, ...]:
        """The columns that hold a row before (`b`) or after (`a`) a change; both sides share the key."""
        return tuple(
            f"k{position}" if position in self.key else f"{side}{position}" for position in range(len(self.columns))
        )

    @property
    def _readable(self) -> str:
        """`op, before, after, batch, commit, at`, the rows as JSON."""
        before = f"CASE WHEN op <> 'insert' THEN {self._json('b')} END"
        after = f"CASE WHEN op <> 'delete' THEN {self._json('a')} END"
        here = f"view = {literal(self.target.view)} AND version = {self.target.version}"
        return (
            f"CREATE VIEW {self.changes} AS SELECT op, {before} AS before, {after} AS after, batch, "
            f'commits AS "commit", applied_at AS at FROM {self.images} '
            f"JOIN headwater_batches USING (batch) WHERE {here}"
        )

    def _json(self, side: str) -> str:
        names = (literal(column.name) for column in self.target.columns)
        members = [f"{name}, {image}" for name, image in zip(names, self.image(side), strict=True)]
        groups = [members[at : at + _JSON_MEMBERS] for at in range(0, len(members), _JSON_MEMBERS)]
        return " || ".join(f"jsonb_build_object({comma(group)})" for group in groups)

    def alias(self, replace: bool) -> str:
        """The SQL view that stands for this version under the view's own name."""
        verb = "CREATE OR REPLACE VIEW" if replace else "CREATE VIEW"
        shown = comma(quoted(column.name) for column in self.target.shown)
        return f"{verb} {quoted(self.target.view)} AS SELECT {shown} FROM {self.table}"

    def index(self, *columns: str) -> str:
        """Lets the rows be found by columns."""
        name = quoted(shortened(f"{table_of(self.target.view, self.target.version)}__by_{'_'.join(columns)}"))
        return f"CREATE INDEX IF NOT EXISTS {name} ON {self.table} ({comma(map(quoted, columns))})"

    def comment(self) -> str:
        """Says what the view says of itself."""
        return f"COMMENT ON TABLE {self.table} IS {_told(self.target.comment)}"

    def select(self, span: Span | None) -> str:
        """All rows or those of a span; rows without a key in the order in which they came."""
        bounds = [] if span is None else [(">", span.after), ("<=", span.upto)]
        conditions = [f"{quoted(span.column)} {sign} {_instant(at)}" for sign, at in bounds if span and at is not None]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        order = "" if self.key else f" ORDER BY {self._row}"
        return f"SELECT {comma(self.columns)} FROM {self.table}{where}{order}"

    def select_changes(self, batch: int) -> str:
        """The changes of one batch."""
        columns = comma(("op", *self.image("b"), *self.image("a")))
        return f"SELECT {columns} FROM {self.images} WHERE batch = {batch} ORDER BY seq"


def _told(comment: str | None) -> str:
    return "NULL" if comment is None else literal(comment)


def _instant(at: datetime) -> str:
    return f"'{at.astimezone(UTC).replace(tzinfo=None).isoformat(' ')}+00'::timestamptz"
