"""The stage: temporary tables that a batch is copied into, and the statements that write what is on it.

PostgreSQL compares NULLs by an index only where a statement says which columns are NULL. So rows are matched in
*patterns*: one statement for each combination of NULLs that a batch has.

What a batch meets in the version's table is put beside it, the *met* rows; from those the changelog, the updates and
the inserts follow. A row that would not change is not written.
"""

# ruff: noqa: S608  # names are ours, or quoted
from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from headwater.store.postgres.version_tables import VersionTables
from headwater.store.spelling import comma

Pattern = tuple[bool, ...]
"""For each column of the key, whether it is NULL."""


@dataclass(frozen=True)
class Staging:
    """The stage of one version."""

    tables: VersionTables

    @cached_property
    def _hash(self) -> str:
        target, kinds = self.tables.target, [codec.declared for codec in self.tables.codecs]
        shape = repr((target.view, target.version, target.key, kinds))
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
        kinds = [codec.declared for codec in self.tables.codecs]
        stage = [f"c{position} {kind}" for position, kind in enumerate(kinds)]
        temporary = {self.stage: stage}
        if self.tables.replaces:
            temporary[self._met] = [
                *stage,
                "tuple tid",
                *(f"b{position} {kinds[position]}" for position in self.tables.rest),
            ]
            temporary[self.gone] = [f"c{position} {kinds[position]}" for position in self.tables.key]
        return "; ".join(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({comma(columns)}) ON COMMIT DELETE ROWS"
            for name, columns in temporary.items()
        )

    def delete(self, batch: int, pattern: Pattern) -> str:
        """Remove the rows of the deleted keys that have this pattern, and write them to the changelog."""
        removed = f"DELETE FROM {self.tables.table} t USING {self.gone} s WHERE {self._matches(pattern)} RETURNING t.*"
        into = f"INSERT INTO {self.tables.images} (batch, op, {comma(self.tables.image('b'))})"
        return f"WITH gone AS ({removed}) {into} SELECT {batch}, 'delete', {comma(self.tables.columns)} FROM gone"

    def meet(self, pattern: Pattern) -> str:
        """Put the rows that a batch meets beside its own, where it changes something; for keys of this pattern."""
        before = "".join(f", t.{self.tables.columns[position]}" for position in self.tables.rest)
        differs = " OR ".join(self._differs(position) for position in self.tables.rest) or "FALSE"
        return (
            f"INSERT INTO {self._met} SELECT s.*, t.ctid{before} FROM {self.stage} s "
            f"LEFT JOIN {self.tables.table} t ON {self._matches(pattern)} "
            f"WHERE {self._has(pattern)} AND (t.ctid IS NULL OR {differs})"
        )

    def _differs(self, position: int) -> str:
        cast = "" if self.tables.codecs[position].comparable else "::text"
        return f"t.{self.tables.columns[position]}{cast} IS DISTINCT FROM s.c{position}{cast}"

    def _matches(self, pattern: Pattern) -> str:
        pairs = zip(self.tables.key, pattern, strict=True)
        return " AND ".join(
            f"t.{self.tables.columns[position]} IS NULL AND s.c{position} IS NULL"
            if null
            else f"t.{self.tables.columns[position]} = s.c{position}"
            for position, null in pairs
        )

    def _has(self, pattern: Pattern) -> str:
        pairs = zip(self.tables.key, pattern, strict=True)
        return " AND ".join(f"s.c{position} IS {'' if null else 'NOT '}NULL" for position, null in pairs)

    def write_met(self, batch: int) -> Iterator[str]:
        """Write what was met: to the changelog, as updates, and as new rows."""
        before = [f"b{position}" for position in self.tables.rest]
        after = [f"c{position}" for position in self.tables.rest]
        key = [f"c{position}" for position in self.tables.key]
        images = [
            *(f"k{position}" for position in self.tables.key),
            *before,
            *(f"a{position}" for position in self.tables.rest),
        ]
        operation = "CASE WHEN tuple IS NULL THEN 'insert' ELSE 'update' END"
        yield (
            f"INSERT INTO {self.tables.images} (batch, op, {comma(images)}) "
            f"SELECT {batch}, {operation}, {comma([*key, *before, *after])} FROM {self._met}"
        )
        if self.tables.rest:
            assigned = comma(f"{self.tables.columns[position]} = s.c{position}" for position in self.tables.rest)
            yield f"UPDATE {self.tables.table} t SET {assigned} FROM {self._met} s WHERE t.ctid = s.tuple"
        yield (
            f"INSERT INTO {self.tables.table} ({comma(self.tables.columns)}) SELECT {self._staged} FROM {self._met} "
            "WHERE tuple IS NULL"
        )

    @property
    def _staged(self) -> str:
        return comma(f"c{position}" for position in range(len(self.tables.columns)))

    def add(self, batch: int) -> Iterator[str]:
        """Write the rows of a batch where none can replace another: as new rows, and to the changelog."""
        yield f"INSERT INTO {self.tables.table} ({comma(self.tables.columns)}) SELECT {self._staged} FROM {self.stage}"
        into = f"INSERT INTO {self.tables.images} (batch, op, {comma(self.tables.image('a'))})"
        yield f"{into} SELECT {batch}, 'insert', {self._staged} FROM {self.stage}"


def copy_in(table: str, columns: Sequence[int]) -> str:
    """The statement that takes CSV into these columns of a temporary table."""
    return f"COPY {table} ({comma(f'c{position}' for position in columns)}) FROM STDIN (FORMAT csv)"
