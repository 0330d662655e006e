"""The record of a version's changes: the SQL of its changelog.

Changes are numbered, and each batch knows the numbers of its own. Where rows are changed and removed, every change is a
*copy* of the row as it was before and after it, in a table beside: triggers write updates and deletes, since they see
both, and the rows with new row numbers are copied at once.

Where rows are only added, the rows themselves are their changes. The number of a change is the row's own: the first row
has 1, each one the next, and none ever goes, so that no VACUUM and no copy of the file can number them otherwise. Rows
that someone else changes or removes would be missing in the changelog without a trace; triggers refuse that.
"""

# ruff: noqa: S608  # names are ours, or quoted; values are bound
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headwater.store.protocol import Target
from headwater.store.spelling import comma, literal, quoted
from headwater.store.sqlite.names import Names


@dataclass(frozen=True)
class Record(ABC):
    """The changelog of a version."""

    names: Names

    @property
    @abstractmethod
    def numbered(self) -> str:
        """The table whose rows are the changes."""

    @property
    @abstractmethod
    def number(self) -> str:
        """The column that numbers them."""

    @property
    @abstractmethod
    def wanted(self) -> Sequence[str]:
        """The columns that are read of a change, beside its number."""

    @abstractmethod
    def create(self) -> Iterable[str]:
        """The statements that create all of it, behind those of the rows' table."""

    @property
    def newest(self) -> str:
        """The number of the newest change; 0 before the first."""
        return f"SELECT COALESCE(max({self.number}), 0) FROM {self.numbered}"

    @property
    def select(self) -> str:
        """The changes after a number and up to another, in their order."""
        within = f"{self.number} > ? AND {self.number} <= ?"
        return f"SELECT {comma(self.wanted)} FROM {self.numbered} WHERE {within} ORDER BY {self.number}"

    def _readable(self, operation: str, before: str, after: str) -> str:
        """The SQL view that shows it to people: `op, before, after, batch, commit, at`, the rows as JSON."""
        target = self.names.target
        mine = f"known.view = {literal(target.view)} AND known.version = {target.version}"
        number = f"changed.{self.number}"
        its_own = f"known.changes_after < {number} AND {number} <= known.changes_to"
        return (
            f'CREATE VIEW {self.names.changes} AS SELECT {operation} AS op, {before} AS before, {after} AS "after", '
            f'known.batch AS batch, known.commits AS "commit", known.applied_at AS at '
            f"FROM {self.numbered} AS changed JOIN headwater_batches AS known ON {mine} AND {its_own}"
        )


class Additions(Record):
    """Rows that are only added: each is a change."""

    @property
    def numbered(self) -> str:
        """The rows themselves."""
        return self.names.table

    @property
    def number(self) -> str:
        """The row's own number."""
        return self.names.row

    @property
    def wanted(self) -> Sequence[str]:
        """The row."""
        return self.names.columns

    def create(self) -> Iterable[str]:
        """The triggers that keep the rows as they are, and what people see."""
        refusal = literal(f"rows of {self.names.target.view} are only added")
        for operation in ("update", "delete"):
            when = f"BEFORE {operation.upper()} ON {self.names.table}"
            yield f"CREATE TRIGGER {self.names.own(operation)} {when} BEGIN SELECT RAISE(ABORT, {refusal}); END"
        row = [f"changed.{column}" for column in self.names.columns]
        yield self._readable("'insert'", "NULL", _json(self.names.target, row))


class Copies(Record):
    """Rows that are changed and removed: each change is a copy of the row before and after it."""

    @property
    def numbered(self) -> str:
        """The table of copies."""
        return self.names.images

    @property
    def number(self) -> str:
        """The primary key of the copies."""
        return "seq"

    @property
    def wanted(self) -> Sequence[str]:
        """The operation, the row before and the row after."""
        return ("op", *self._image("before"), *self._image("after"))

    def _image(self, side: str) -> tuple[str, ...]:
        """The columns that hold a row `before` or `after` a change; both sides share the key."""
        target = self.names.target
        return tuple(
            quoted(f"{'key' if column.name in target.key else side}_{column.name}") for column in target.columns
        )

    def create(self) -> Iterable[str]:
        """The table of copies, the triggers that write it, and what people see."""
        before, after = self._image("before"), self._image("after")
        kept = tuple(dict.fromkeys((*before, *after)))
        yield f"CREATE TABLE {self.names.images} (seq INTEGER PRIMARY KEY, op TEXT NOT NULL, {comma(kept)})"
        old = {name: f"OLD.{column}" for name, column in zip(before, self.names.columns, strict=True)}
        new = {name: f"NEW.{column}" for name, column in zip(after, self.names.columns, strict=True)}
        differs = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in self.names.values) or "FALSE"
        yield self._trigger("update", f"WHEN {differs}", old | new)
        yield self._trigger("delete", "", old)
        shown = [f"CASE WHEN op <> 'insert' THEN {_json(self.names.target, before)} END"]
        shown += [f"CASE WHEN op <> 'delete' THEN {_json(self.names.target, after)} END"]
        yield self._readable("op", *shown)

    def _trigger(self, operation: str, when: str, values: dict[str, str]) -> str:
        into = f"INSERT INTO {self.names.images} (op, {comma(values)})"
        written = f"{into} VALUES ('{operation}', {comma(values.values())})"
        event = f"AFTER {operation.upper()} ON {self.names.table} {when}"
        return f"CREATE TRIGGER {self.names.own(operation)} {event} BEGIN {written}; END"

    @property
    def copy_new(self) -> str:
        """Copies the rows after a row's number."""
        into = f"INSERT INTO {self.names.images} (op, {comma(self._image('after'))})"
        rows = f"FROM {self.names.table} WHERE {self.names.row} > ? ORDER BY {self.names.row}"
        return f"{into} SELECT 'insert', {comma(self.names.columns)} {rows}"

    @property
    def forget(self) -> str:
        """Removes the copies up to a number."""
        return f"DELETE FROM {self.names.images} WHERE seq <= ?"


def record_of(names: Names) -> Additions | Copies:
    """The record of a version's changes."""
    return Additions(names) if names.target.only_adds else Copies(names)


def _json(target: Target, columns: Sequence[str]) -> str:
    """The row as a JSON object. In groups, because a function takes no more than 100 arguments everywhere."""
    members = []
    for column, name in zip(target.columns, columns, strict=True):
        shown = f"hex({name})" if pa.types.is_binary(column.type) else name
        shown = f"json({name})" if pa.types.is_nested(column.type) else shown
        members.append(f"{literal(column.name)}, {shown}")
    groups = [f"json_object({comma(members[at : at + 40])})" for at in range(0, len(members), 40)]
    opened = [f"substr({group}, 1, length({group}) - 1)" for group in groups[:-1]]
    continued = [f"substr({group}, 2)" for group in groups[1:]]
    if not opened:
        return groups[0]
    return " || ',' || ".join([opened[0], *(f"substr({part}, 2)" for part in opened[1:]), continued[-1]])
