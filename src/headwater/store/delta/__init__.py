"""Views as Delta tables in a folder or an object store, for Spark, DuckDB, Polars and whatever else reads Delta.

A batch is one entry of the log of the version's table: the rows, the changes (Delta's change data feed), the position
(a `txn` action, and Headwater's note) and the epoch. An entry is written under a number that must be free, so that of
two writers one loses, reads what the other wrote, and finds that it is fenced. The view's own name is a table that
shows the files of the promoted version: see `headwater.store.delta.shown`.

A batch that changes rows writes the files anew that have them, so a large view with few large batches is what this is
for; a view whose rows are settled (`emit = 'final'`) only adds files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pyarrow as pa

from headwater.log.entry import Action
from headwater.log.journal import microseconds, milliseconds
from headwater.log.storage import Storage
from headwater.log.topic import wall_clock
from headwater.store.delta import upkeep
from headwater.store.delta.aside import put_aside
from headwater.store.delta.changelog import entry_after, next_changes
from headwater.store.delta.declaration import declaration_of, declare, is_as_declared
from headwater.store.delta.edit import Edit, Wanted, edit, wanted_of
from headwater.store.delta.failures import missing, named
from headwater.store.delta.files import removed, write_changes, write_rows
from headwater.store.delta.names import VERSIONS, check_names
from headwater.store.delta.note import Note, transaction
from headwater.store.delta.shown import follow, promote, shown
from headwater.store.delta.table import State, Table
from headwater.store.delta.tables import Tables, rows_of
from headwater.store.delta.values import decode, kept_schema
from headwater.store.fit import within
from headwater.store.options import CHANGES_RETENTION
from headwater.store.protocol import Batch, Position, Snapshot, Span, Target, Version
from headwater.store.refusals import (
    altered,
    fenced,
    is_promoted,
    name_taken,
    no_sql,
    none_promoted,
    other_commits,
    other_plan,
    was_dropped,
)
from headwater.store.unfit import Unfit
from headwater.store.whole import Remote, WholeRows


class DeltaStore(Remote):
    """A `Store` of Delta tables below a place; `storage` opens the folder of a path below it.

    The changelog, and what a batch has replaced, are kept for `changes_retention`: so long may a reader hold on to an
    older state.
    """

    def __init__(
        self,
        place: str,
        storage: Callable[[str], Storage],
        *,
        changes_retention: timedelta = CHANGES_RETENTION,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self.place = place
        self._retention = changes_retention
        self._now = now
        self._tables = Tables(place, storage)

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version; create what is missing."""
        check_names(target)
        with named(self.place, target.view, target.version, "written"):
            was_there = self._check_free(target)
            table = self._tables.version(target.view, target.version)
            while True:
                state = table.state()
                note, actions = self._opened(target, fingerprint, state, was_there=was_there)
                if table.commit(state, note.spell("open"), actions, "OPEN", self._at()):
                    break
            upkeep.sweep(table, state.number + 1)
            follow(self._tables.root(target.view), table, target, self._at())
        return note.epoch

    def _check_free(self, target: Target) -> bool:
        """Refuse a folder that something else has, and a version that is shown and is gone; tell if there was one."""
        root, numbers = self._tables.root(target.view), self._tables.numbers(target.view)
        if not numbers and root.entries.head() is not None:
            raise name_taken(self.place, "table", target.view)
        state = root.state()
        if shown(state) == target.version and self._tables.version(target.view, target.version).state().number < 0:
            raise altered(self.place, target.view, target.version)
        root.storage.write(f"{VERSIONS}/{target.version}", b"")
        return target.version in numbers

    def _opened(self, target: Target, fingerprint: str, state: State, *, was_there: bool) -> tuple[Note, list[Action]]:
        """The note of the next epoch, and what declares the table if it is made now.

        Of one that was there and is gone nobody knows the epoch: the seconds since 1970 are more than it ever had.
        """
        if state.number < 0:
            epoch = int(self._now().timestamp()) if was_there else 0
            return Note(epoch=epoch, kept=1).taken(self._now()), declare(target, fingerprint, self._at())
        note = Note.read(state.note)
        if note.dropped:
            anew = Note(epoch=note.epoch, kept=state.number + 2)
            return anew.taken(self._now()), declare(target, fingerprint, self._at())
        known, before = declaration_of(target.view, target.version, state)
        if before != fingerprint or known != target:
            raise other_plan(self.place, target, fingerprint, before, known == target)
        storage = self._tables.version(target.view, target.version).storage
        gone = next(iter(sorted(set(state.files) - set(storage.list("")))), None)
        if gone is not None or not is_as_declared(target, state):
            raise altered(self.place, target.view, target.version, missing(gone and f"{storage.url}/{gone}"))
        return note.taken(self._now()), []

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        """Write a batch: rows, position, ledger and changelog at once, or nothing."""
        wanted = wanted_of(target, batch)
        with named(self.place, target.view, target.version, "written"):
            table = self._tables.version(target.view, target.version)
            done = self._applied(table, target, epoch, batch, wanted)
            root = self._tables.root(target.view)
            follow(root, table, target, self._at())
            if done:
                self._keep_up(table, root, target)
        return done

    def _applied(self, table: Table, target: Target, epoch: int, batch: Batch, wanted: Wanted) -> bool:
        while True:
            state = table.state()
            note = self._checked(state, target, epoch)
            if self._was_applied(table, state, note, target, batch):
                return False
            change = edit(wanted, batch, state.files, lambda add, columns: rows_of(table, target, add, columns))
            if self._write(table, state, note, batch, change, target):
                return True

    def _checked(self, state: State, target: Target, epoch: int) -> Note:
        """The version's note; refuses who doesn't hold its newest epoch."""
        if state.number < 0:
            raise altered(self.place, target.view, target.version)
        note = Note.read(state.note)
        if note.epoch != epoch:
            raise fenced(target, epoch, note.epoch, note.holder, note.taken_at)
        if note.dropped:
            raise was_dropped(target)
        return note

    def _was_applied(self, table: Table, state: State, note: Note, target: Target, batch: Batch) -> bool:
        position, number = note.position, batch.position.batch
        if position is None or number > position.batch:
            return False
        entry = table.entries.read(entry_after(table, note.kept, state.number, number - 1))
        known = Note.read(entry.note).position if entry is not None and entry.note is not None else None
        if known is not None and known.batch == number and dict(known.commits) != dict(batch.position.commits):
            raise other_commits(target, batch, known)
        return True

    def _write(self, table: Table, state: State, note: Note, batch: Batch, change: Edit, target: Target) -> bool:
        """Write the files of a batch, then its entry; False if another writer was faster, and the files are gone."""
        at, number, order = self._at(), state.number + 1, target.key if _sortable(target) else ()
        added = write_rows(table.storage, number, change.rows, order, at)
        changes = [] if change.changes is None else [write_changes(table.storage, number, change.changes)]
        left = note.position
        after = upkeep.trimmed(table, note.reached(batch), self._now() - self._retention)
        told = after.spell(
            "batch",
            changed=change.changed,
            applied_at=microseconds(self._now()),
            watermark_before=None if left is None else microseconds(left.watermark),
        )
        actions = [
            *({"remove": removed(add, at)} for add in change.removed),
            *({"add": add} for add in added),
            *({"cdc": written} for written in changes),
            transaction(batch.position.batch, at),
        ]
        if table.commit(state, told, actions, "MERGE" if change.removed else "WRITE", at):
            return True
        for action in (*added, *changes):
            table.storage.delete(action["path"])
        return False

    def _keep_up(self, table: Table, root: Table, target: Target) -> None:
        upkeep.compact(table, table.state(), self._at())
        follow(root, table, target, self._at())
        state, before = table.state(), self._now() - self._retention
        upkeep.tidy(table, state.number, before, Note.read(state.note).kept)
        upkeep.tidy(root, root.state().number, before)

    def position(self, view: str, version: int) -> Position | None:
        """The position of a version."""
        with named(self.place, view, version, "read"):
            note = self._tables.note(view, version)
        return note.position if note else None

    def ledger(self, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""
        with named(self.place, view, version, "read"):
            note = self._tables.note(view, version)
        return {name: note.ledger[name] for name in sorted(note.ledger)} if note else {}

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, in one step."""
        with named(self.place, view, version, "written"):
            if self._tables.note(view, version) is None:
                raise self._tables.unknown(view, version)
            promote(self._tables.root(view), self._tables.version(view, version), view, version, self._at())

    def promoted(self, view: str) -> int | None:
        """The version that the view's name stands for."""
        with named(self.place, view, 0, "read"):
            return shown(self._tables.root(view).state())

    def versions(self, view: str) -> tuple[Version, ...]:
        """Every version that is there, in the order of their numbers."""
        promoted, versions = self.promoted(view), []
        for number in self._tables.numbers(view):
            with named(self.place, view, number, "read"):
                state = self._tables.version(view, number).state()
            note = Note.read(state.note) if state.number >= 0 else Note(dropped=True)
            if not note.dropped:
                target, fingerprint = declaration_of(view, number, state)
                versions.append(Version(target, fingerprint, note.epoch, note.position, number == promoted))
        return tuple(versions)

    def drop(self, view: str, version: int) -> None:
        """Remove a version and all that belongs to it."""
        with named(self.place, view, version, "written"):
            table = self._tables.version(view, version)
            while True:
                state, note = table.state(), self._tables.note(view, version)
                if note is None:
                    return
                if shown(self._tables.root(view).state()) == version:
                    raise is_promoted(view, version)
                gone = [{"remove": removed(add, self._at())} for add in state.files.values()]
                left = Note(epoch=note.epoch, holder=note.holder, taken_at=note.taken_at, dropped=True)
                if table.commit(state, left.spell("drop"), gone, "DROP", self._at()):
                    break
            upkeep.wipe(table)

    def make_room(self, view: str) -> list[str]:
        """Put the tables of a view aside that are damaged, so that versions can be built; returns where they are."""
        with named(self.place, view, 0, "written"):
            return put_aside(self._tables, view, self._now())

    def query(self, sql: str, limit: int | None = None) -> pa.Table:  # noqa: ARG002  # the protocol's signature
        """A folder answers no SQL: `StatementRefused`."""
        raise no_sql(self.place, "a place of Delta tables", "DuckDB, Polars or Spark", sql)

    @contextmanager
    def snapshot(self, longest: timedelta | None = None) -> Iterator[Snapshot]:  # noqa: ARG002  # no time is waited for
        """The store as it is now; what is read of one view is of one moment."""
        yield WholeRows(self)

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version, by default of the promoted one, with exactly the declared types; all, or of a span."""
        with named(self.place, view, version or 0, "read"):
            table = self._tables.root(view) if version is None else self._tables.version(view, version)
            try:
                return self._read(table, view, version, span)
            except FileNotFoundError:  # a reader that was slower than the retention, or someone deleted the file
                return self._read(table, view, version, span)

    def _read(self, table: Table, view: str, version: int | None, span: Span | None) -> pa.Table:
        state = table.state()
        number = shown(state) if version is None else version
        if number is None:
            raise none_promoted(view)
        if self._tables.note(view, number) is None:
            raise self._tables.unknown(view, number)
        target, _ = declaration_of(view, number, self._tables.version(view, number).state())
        parts = [rows_of(table, target, state.files[path], None) for path in state.paths]
        rows = pa.concat_tables(parts) if parts else kept_schema(target.columns).empty_table()
        try:
            decoded = decode(target, rows)
        except Unfit as cause:
            raise altered(self.place, view, number) from cause
        return decoded if span is None else within(decoded, span)

    def index(self, view: str, version: int, column: str) -> None:  # noqa: ARG002  # the protocol's signature
        """Nothing to do: each file has the range of every instant in it."""
        with named(self.place, view, version, "read"):
            if self._tables.note(view, version) is None:
                raise self._tables.unknown(view, version)

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """The changes of the batches after `since`."""
        last = since.batch if isinstance(since, Position) else since
        while True:
            with named(self.place, view, version, "read"):
                if self._tables.note(view, version) is None:
                    raise self._tables.unknown(view, version)
                table = self._tables.version(view, version)
                state = table.state()
                changes = next_changes(table, state, declaration_of(view, version, state)[0], last)
            if changes is None:
                return
            last, rows = changes
            yield rows

    def close(self) -> None:
        """Let go of what is known of the tables."""
        self._tables.clear()

    def _at(self) -> int:
        return milliseconds(self._now())


def _sortable(target: Target) -> bool:
    return not any(pa.types.is_nested(field.type) for field in kept_schema(target.key_columns))
