"""The SQL of one version: its table, its changelog, and the statements that write and read them.

A keyed table has a primary key, or, if the key may hold a NULL, a unique constraint for which two NULLs are the same
(NULLS NOT DISTINCT, since PostgreSQL 15). PostgreSQL compares NULLs by an index only where a statement says which
columns are NULL. So rows are matched in *patterns*: one statement for each combination of NULLs that a batch has.

A batch is copied into a temporary table, the *stage*; what it meets in the version's table is put beside it, the *met*
rows; from those the changelog, the updates and the inserts follow. A row that would not change is not written. All
names of columns in temporary tables and in the changelog are positions, so that none can be too long.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are numbers and instants
from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from headwater.model import Emit
from headwater.store.postgres.names import images_of, shortened
from headwater.store.postgres.values import Codec, codec_of
from headwater.store.protocol import Span, Target
from headwater.store.spelling import changes_of, comma, literal, quoted, table_of

Pattern = tuple[bool, ...]
"""For each column of the key, whether it is NULL."""
_JSON_MEMBERS = 50
"""A function takes no more than 100 arguments."""


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
    def columns(self) -> tuple[str, ...]:
        """The quoted names of the columns."""
        return tuple(quoted(column.name) for column in self.target.columns)

    @cached_property
    def key(self) -> tuple[int, ...]:
        """The places of the key's columns."""
        names = [column.name for column in self.target.columns]
        return tuple(names.index(name) for name in self.target.key)

    @cached_property
    def rest(self) -> tuple[int, ...]:
        """The places of the other columns."""
        return tuple(place for place in range(len(self.columns)) if place not in self.key)

    @cached_property
    def replaces(self) -> bool:
        """Whether a row may replace another one."""
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
        yield f"CREATE INDEX {quoted(shortened(f'{images_of(self.target.view, self.target.version)}_batch'))} " + (
            f"ON {self.images} (batch)"
        )
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
        return f"{kind} ({comma(self.columns[place] for place in self.key)})"

    @property
    def _image_columns(self) -> str:
        kinds = [codec.declared for codec in self.codecs]
        kept = [f"k{place} {kinds[place]}" for place in self.key]
        kept += [f"{side}{place} {kinds[place]}" for side in "ba" for place in self.rest]
        return comma(["seq bigint GENERATED ALWAYS AS IDENTITY", "batch bigint NOT NULL", "op text NOT NULL", *kept])

    def image(self, side: str) -> tuple[str, ...]:
        """The columns that hold a row before (`b`) or after (`a`) a change; both sides share the key."""
        return tuple(f"k{place}" if place in self.key else f"{side}{place}" for place in range(len(self.columns)))

    @property
    def _readable(self) -> str:
        """`op, before, after, batch, commit, at`, the rows as JSON."""
        name = quoted(changes_of(self.target.view, self.target.version))
        before = f"CASE WHEN op <> 'insert' THEN {self._json('b')} END"
        after = f"CASE WHEN op <> 'delete' THEN {self._json('a')} END"
        here = f"view = {literal(self.target.view)} AND version = {self.target.version}"
        return (
            f'CREATE VIEW {name} AS SELECT op, {before} AS before, {after} AS after, batch, commits AS "commit", '
            f"applied_at AS at FROM {self.images} JOIN headwater_batches USING (batch) WHERE {here}"
        )

    def _json(self, side: str) -> str:
        names = (literal(column.name) for column in self.target.columns)
        members = [f"{name}, {image}" for name, image in zip(names, self.image(side), strict=True)]
        groups = [members[at : at + _JSON_MEMBERS] for at in range(0, len(members), _JSON_MEMBERS)]
        return " || ".join(f"jsonb_build_object({comma(group)})" for group in groups)

    def drop(self) -> tuple[str, ...]:
        """The statements that remove all of it."""
        name = quoted(changes_of(self.target.view, self.target.version))
        return (
            f"DROP VIEW IF EXISTS {name}",
            f"DROP TABLE IF EXISTS {self.table}",
            f"DROP TABLE IF EXISTS {self.images}",
        )

    def alias(self, replace: bool) -> str:
        """The SQL view that stands for this version under the view's own name."""
        verb = "CREATE OR REPLACE VIEW" if replace else "CREATE VIEW"
        return f"{verb} {quoted(self.target.view)} AS SELECT {comma(self.columns)} FROM {self.table}"

    def index(self, *columns: str) -> str:
        """Lets the rows be found by columns."""
        name = quoted(shortened(f"{table_of(self.target.view, self.target.version)}__by_{'_'.join(columns)}"))
        return f"CREATE INDEX IF NOT EXISTS {name} ON {self.table} ({comma(map(quoted, columns))})"

    def comment(self) -> str:
        """Says what the view says of itself."""
        return f"COMMENT ON TABLE {self.table} IS {_told(self.target.comment)}"

    # Writing

    @cached_property
    def _hash(self) -> str:
        shape = repr(
            (self.target.view, self.target.version, self.target.key, [codec.declared for codec in self.codecs])
        )
        return hashlib.sha256(shape.encode()).hexdigest()[:16]

    @property
    def stage(self) -> str:
        """The temporary table that a batch's rows are copied into."""
        return f"headwater_stage_{self._hash}"

    @property
    def _met(self) -> str:
        return f"headwater_met_{self._hash}"

    @property
    def gone(self) -> str:
        """The temporary table that a batch's deleted keys are copied into."""
        return f"headwater_gone_{self._hash}"

    def prepare(self) -> str:
        """Make the temporary tables, unless this connection has them."""
        kinds = [codec.declared for codec in self.codecs]
        stage = [f"c{place} {kind}" for place, kind in enumerate(kinds)]
        tables = {self.stage: stage}
        if self.replaces:
            tables[self._met] = [*stage, "place tid", *(f"b{place} {kinds[place]}" for place in self.rest)]
            tables[self.gone] = [f"c{place} {kinds[place]}" for place in self.key]
        return "; ".join(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({comma(columns)}) ON COMMIT DELETE ROWS"
            for name, columns in tables.items()
        )

    def delete(self, batch: int, pattern: Pattern) -> str:
        """Remove the rows of the deleted keys that have this pattern, and write them to the changelog."""
        removed = f"DELETE FROM {self.table} t USING {self.gone} s WHERE {self._matches(pattern)} RETURNING t.*"
        into = f"INSERT INTO {self.images} (batch, op, {comma(self.image('b'))})"
        return f"WITH gone AS ({removed}) {into} SELECT {batch}, 'delete', {comma(self.columns)} FROM gone"

    def meet(self, pattern: Pattern) -> str:
        """Put the rows that a batch meets beside its own, where it changes something; for keys of this pattern."""
        before = "".join(f", t.{self.columns[place]}" for place in self.rest)
        differs = " OR ".join(self._differs(place) for place in self.rest) or "FALSE"
        return (
            f"INSERT INTO {self._met} SELECT s.*, t.ctid{before} FROM {self.stage} s "
            f"LEFT JOIN {self.table} t ON {self._matches(pattern)} "
            f"WHERE {self._has(pattern)} AND (t.ctid IS NULL OR {differs})"
        )

    def _differs(self, place: int) -> str:
        cast = "" if self.codecs[place].comparable else "::text"
        return f"t.{self.columns[place]}{cast} IS DISTINCT FROM s.c{place}{cast}"

    def _matches(self, pattern: Pattern) -> str:
        pairs = zip(self.key, pattern, strict=True)
        return " AND ".join(
            f"t.{self.columns[place]} IS NULL AND s.c{place} IS NULL"
            if null
            else f"t.{self.columns[place]} = s.c{place}"
            for place, null in pairs
        )

    def _has(self, pattern: Pattern) -> str:
        pairs = zip(self.key, pattern, strict=True)
        return " AND ".join(f"s.c{place} IS {'' if null else 'NOT '}NULL" for place, null in pairs)

    def write_met(self, batch: int) -> Iterator[str]:
        """Write what was met: to the changelog, as updates, and as new rows."""
        before = [f"b{place}" for place in self.rest]
        after = [f"c{place}" for place in self.rest]
        key = [f"c{place}" for place in self.key]
        images = [*(f"k{place}" for place in self.key), *before, *(f"a{place}" for place in self.rest)]
        operation = "CASE WHEN place IS NULL THEN 'insert' ELSE 'update' END"
        yield (
            f"INSERT INTO {self.images} (batch, op, {comma(images)}) "
            f"SELECT {batch}, {operation}, {comma([*key, *before, *after])} FROM {self._met}"
        )
        if self.rest:
            assigned = comma(f"{self.columns[place]} = s.c{place}" for place in self.rest)
            yield f"UPDATE {self.table} t SET {assigned} FROM {self._met} s WHERE t.ctid = s.place"
        yield (
            f"INSERT INTO {self.table} ({comma(self.columns)}) SELECT {self._staged} FROM {self._met} "
            "WHERE place IS NULL"
        )

    @property
    def _staged(self) -> str:
        return comma(f"c{place}" for place in range(len(self.columns)))

    def add(self, batch: int) -> Iterator[str]:
        """Write the rows of a batch where none can replace another: as new rows, and to the changelog."""
        yield f"INSERT INTO {self.table} ({comma(self.columns)}) SELECT {self._staged} FROM {self.stage}"
        into = f"INSERT INTO {self.images} (batch, op, {comma(self.image('a'))})"
        yield f"{into} SELECT {batch}, 'insert', {self._staged} FROM {self.stage}"

    # Reading

    def select(self, span: Span | None) -> str:
        """All rows or those of a span; rows without a key in the order in which they came."""
        bounds = [] if span is None else [(">", span.after), ("<=", span.upto)]
        conditions = [f"{quoted(span.column)} {sign} {_instant(at)}" for sign, at in bounds if span and at is not None]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        order = "" if self.key else f" ORDER BY {self._row}"
        return f"SELECT {comma(self.columns)} FROM {self.table}{where}{order}"

    def select_changes(self, batch: int) -> str:
        """What one batch changed."""
        columns = comma(("op", *self.image("b"), *self.image("a")))
        return f"SELECT {columns} FROM {self.images} WHERE batch = {batch} ORDER BY seq"


def copy_in(table: str, columns: Sequence[int]) -> str:
    """The statement that takes CSV into these columns of a temporary table."""
    return f"COPY {table} ({comma(f'c{place}' for place in columns)}) FROM STDIN (FORMAT csv)"


def _told(comment: str | None) -> str:
    return "NULL" if comment is None else literal(comment)


def _instant(at: datetime) -> str:
    return f"'{at.astimezone(UTC).replace(tzinfo=None).isoformat(' ')}+00'::timestamptz"
