"""Kept rows: what a settled view has computed and would have to compute again, in one kind of file beside its position.

The open part of the last step, the panes of windows, totals, who was taken once: each is kept under a name of its own
and stands for some commits. A file says which, of which view's version it is, by which lowering it was made, and ends
in the checksum of its bytes. One that is missing, damaged or another's isn't there for its reader, who makes its rows
again from the log: that is the only truth. So none is waited for until it is on the disk, and one that can't be written
is done without.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.engine.checkpoint import LOWERING
from headwater.log.seal import checksum
from headwater.staged import staged

_logger = logging.getLogger("headwater.run")
_STANDS_FOR = b"headwater"
_DIGITS = 8
_PACKED = pa.ipc.IpcWriteOptions(compression="lz4")

Commits = Mapping[str, int]
"""The last commit of each topic that went into the rows."""


@dataclass(frozen=True)
class KeptRows:
    """Rows that a view keeps from step to step, under a name in a folder of its version."""

    name: str
    folder: Path

    def read(self, commits: Commits) -> pa.Table | None:
        """The rows as they were kept at these commits; None if they have to be made again."""
        rows, spelled = self._read(self._file(commits))
        return rows.replace_schema_metadata(None) if rows is not None and spelled == self._spelled(commits) else None

    def newest(self, upto: Commits) -> tuple[dict[str, int], pa.Table] | None:
        """The rows that were kept last, at these commits or before them, and where; None if there are none."""
        if (rows := self.read(upto)) is not None:
            return dict(upto), rows
        found: list[tuple[dict[str, int], pa.Table]] = []
        for file in self._files:
            rows, spelled = self._read(file)
            commits: dict[str, int] = json.loads(spelled)["commits"] if spelled else {}
            if rows is None or spelled != self._spelled(commits) or commits.keys() != upto.keys():
                continue
            if all(commit <= upto[topic] for topic, commit in commits.items()):
                found.append((commits, rows.replace_schema_metadata(None)))
        return max(found, key=lambda kept: sum(kept[0].values()), default=None)

    def _read(self, file: Path) -> tuple[pa.Table | None, bytes]:
        """The rows of a file, and what they say that they stand for."""
        try:
            data = memoryview(file.read_bytes())
        except OSError:
            return None, b""
        rows = _unpacked(data)
        if rows is None:
            _logger.warning("%s is damaged; its rows are computed again from the log", file)
            return None, b""
        return rows, (rows.schema.metadata or {}).get(_STANDS_FOR, b"")

    def write(self, commits: Commits, rows: pa.Table, before: Commits | None) -> None:
        """Keep the rows, before the step that has them is delivered, and let go of all but those of the step before.

        That may have to be done again.
        """
        file = self._file(commits)
        data = _packed(rows.replace_schema_metadata({_STANDS_FOR: self._spelled(commits)}))
        try:
            with staged(file) as aside, aside.open("wb") as target:
                target.write(data)
                target.write(_sum(data))
        except OSError as failure:
            _logger.warning("%s could not be written, and its rows are computed again: %s", file, failure)
        self._let_go(file, self._file(commits if before is None else before))

    @property
    def _files(self) -> list[Path]:
        return sorted(self.folder.glob(f"{self.name}-{'?' * _DIGITS}.*"))

    def _let_go(self, *needed: Path) -> None:
        for file in self._files:
            if file not in needed:
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def _file(self, commits: Commits) -> Path:
        return self.folder / f"{self.name}-{checksum(self._spelled(commits)):08x}.arrow"

    def _spelled(self, commits: Commits) -> bytes:
        return json.dumps(stands_for(self.folder, self.name, commits), sort_keys=True).encode()


def stands_for(folder: Path, name: str, commits: Commits) -> dict[str, Any]:
    """All that must be the same for rows that are kept under a name to be those that a view's version has kept.

    >>> stands_for(Path("state/spend/v3.1"), "open", {"payments": 7})["of"]
    'spend/v3/open'
    """
    return {"of": f"{folder.parent.name}/{folder.stem}/{name}", "commits": dict(commits), "lowering": LOWERING}


def as_kept(rows: pa.Table) -> pa.Table:
    """Rows in the same types, whichever query has made them: what can be NULL is not said of any."""
    plain = rows.replace_schema_metadata(None)
    return plain.cast(pa.schema([(column.name, nullable(column.type)) for column in plain.schema]))


def nullable(kind: pa.DataType) -> pa.DataType:
    """The type in which everything may be NULL, whichever query has made it."""
    if pa.types.is_struct(kind):
        return pa.struct(
            [(kind.field(number).name, nullable(kind.field(number).type)) for number in range(kind.num_fields)]
        )
    return pa.list_(nullable(kind.value_type)) if pa.types.is_list(kind) else kind


def _packed(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema, options=_PACKED) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def _unpacked(data: memoryview) -> pa.Table | None:
    """The rows of a file; None if it isn't what was written."""
    packed, told = data[:-_DIGITS], data[-_DIGITS:]
    return pa.ipc.open_file(pa.BufferReader(packed)).read_all() if told == _sum(packed) else None


def _sum(packed: pa.Buffer | memoryview) -> bytes:
    return f"{checksum(packed):0{_DIGITS}x}".encode()
