"""Folded snapshots: the newest change of each key up to a commit, kept beside the log so that a reader starts there.

A snapshot is columnar files, sorted by key and cut into parts, each with the least and the greatest value of the first
column of its keys, and a note that names them. The note says for which commit of which log it stands, and how the table
was declared, and ends in a checksum; a part has one in its name. What is missing, damaged or of another declaration is
not there: the log is the only truth, and a snapshot is made of it again.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import LogUnavailable
from headwater.log.datafile import DataFile, as_parquet, columns_of
from headwater.log.entry import BESIDE
from headwater.log.integrity import FileAltered, open_checked
from headwater.log.seal import named, noted, read_note
from headwater.log.storage import Storage
from headwater.model import Table

_logger = logging.getLogger("headwater.log")

FOLDER = f"{BESIDE}/table"
PART_ROWS = 500_000
KEPT = 2
"""So many snapshots are kept: a reader may be at the one before."""
_NOTE = ".note"
_WRITTEN = 1
"""The version of what is written here."""


@dataclass(frozen=True)
class Part:
    """Some of the rows of a snapshot; `least` and `greatest` only where JSON has the values as they are."""

    path: str
    size: int
    rows: int
    least: Any = None
    greatest: Any = None

    def may_have(self, among: tuple[Any, Any] | None) -> bool:
        """Tells whether a key whose first column is within these bounds can be here."""
        if among is None or self.least is None or None in among:
            return True
        return bool(self.least <= among[1] and self.greatest >= among[0])


@dataclass(frozen=True)
class Folded:
    """A snapshot: the changes up to `commit`, folded."""

    commit: int
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """The number of keys, of deleted ones too."""
        return sum(part.rows for part in self.parts)


class Damaged(Exception):
    """A part of a snapshot that isn't there as it was written."""


class FoldedSnapshots:
    """The snapshots of the table whose changelog is in a storage, of the log of that identity."""

    def __init__(self, table: Table, storage: Storage, identity: str | None) -> None:
        self._table = table
        self._storage = storage
        self._stands_for = {"log": identity, "table": _shape(table), "written": _WRITTEN}

    def newest(self, upto: int) -> Folded | None:
        """The newest snapshot that stands for no commit after this one."""
        for name in reversed(self._notes()):
            if int(name.removesuffix(_NOTE)) <= upto and (snapshot := self._read_note(name)):
                return snapshot
        return None

    def read(
        self, snapshot: Folded, columns: Sequence[str], among: tuple[Any, Any] | None = None
    ) -> Iterator[pa.Table]:
        """The rows of a snapshot, part by part; `Damaged` if one isn't as it was written.

        `among` are the least and the greatest value of the first key column that are wanted.
        """
        for part in snapshot.parts:
            if part.may_have(among):
                yield self._read_part(part, columns)

    def write(self, commit: int, rows: pa.Table) -> None:
        """Keep a snapshot; one that can't be written is done without."""
        key = list(self._table.primary_key)
        ordered = rows.sort_by([(name, "ascending") for name in key])
        try:
            parts = [
                self._write_part(commit, ordered.slice(first, PART_ROWS))
                for first in range(0, ordered.num_rows, PART_ROWS)
            ]
            told = self._stands_for | {"commit": commit, "parts": [asdict(part) for part in parts]}
            self._storage.write(f"{FOLDER}/{commit:020d}{_NOTE}", noted("table", json.dumps(told)))
            self._let_go()
        except LogUnavailable as failure:
            _logger.warning("the state of table %s could not be kept: %s", self._table.name, failure)

    def forget(self) -> None:
        """Let go of every snapshot: they are made again."""
        for name in self._storage.list(FOLDER):
            self._storage.delete(f"{FOLDER}/{name}")

    def _notes(self) -> list[str]:
        return [name for name in self._storage.list(FOLDER) if name.endswith(_NOTE)]

    def _read_note(self, name: str) -> Folded | None:
        text = read_note("table", self._storage.read(f"{FOLDER}/{name}"))
        if text is None:
            _logger.warning("%s/%s of table %s is damaged; it is made again", FOLDER, name, self._table.name)
            return None
        told = json.loads(text)
        if any(told.get(what) != known for what, known in self._stands_for.items()):
            return None
        return Folded(told["commit"], tuple(Part(**part) for part in told["parts"]))

    def _read_part(self, part: Part, columns: Sequence[str]) -> pa.Table:
        file = DataFile(part.path, part.size, part.rows, {}, {})
        try:
            with open_checked(self._storage, file) as opened, pq.ParquetFile(opened) as parquet:
                return parquet.read(list(columns))
        except (FileAltered, pa.ArrowException, OSError, LogUnavailable) as cause:
            raise Damaged(f"{part.path}: {cause}") from cause

    def _write_part(self, commit: int, rows: pa.Table) -> Part:
        data = as_parquet(rows)
        path = named(f"{FOLDER}/{commit:020d}-{uuid.uuid4().hex}", data)
        self._storage.write(path, data)
        ends = [rows[self._table.primary_key[0]][at].as_py() for at in (0, -1)]
        least, greatest = ends if all(isinstance(end, str | int) for end in ends) else (None, None)
        return Part(path, data.size, rows.num_rows, least, greatest)

    def _let_go(self) -> None:
        """Delete all but the newest snapshots. Parts that no note names yet are those of a snapshot being written."""
        stale = self._notes()[:-KEPT]
        oldest = self._notes()[-KEPT:][0].removesuffix(_NOTE)
        for name in stale:
            self._storage.delete(f"{FOLDER}/{name}")
        for name in self._storage.list(FOLDER):
            if not name.endswith(_NOTE) and name.partition("-")[0] < oldest:
                self._storage.delete(f"{FOLDER}/{name}")


def _shape(table: Table) -> str:
    """The declaration of a table, as far as its rows depend on it."""
    columns = [f"{field.name} {field.type}" for field in columns_of(table)]
    return f"{', '.join(columns)}; {', '.join(table.primary_key)}; {table.time}; {table.version}"
