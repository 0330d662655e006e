"""The register of files: which files a folder intake has taken up, in which order, and what they held.

A file is *admitted* when it is ready: it gets the next number, and its name and a hash of its content are written to a
log of its own, beside that of the stream. So the order in which files are read is decided once, and written down before
the first of their events is. The position of the intake, which is kept with the rows, is the number of the file that is
being read and that of the last event in it; what comes after it in the register is still to be read. Nothing else grows
with the number of files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from headwater.log import Move, TopicLog
from headwater.log.read import scan
from headwater.model import Column, Stream, Topic

_ADMITTED = "admitted"
_BITS = 36
"""A file has fewer than 2^36 events, and a folder fewer than 2^27 files, since both fit into one position."""

State = Literal["new", "replaced"]


@dataclass(frozen=True)
class File:
    """A file as it was admitted. One that is `replaced` had a name that was admitted before, with other content."""

    number: int
    name: str
    hash: str
    size: int
    version: str
    state: State


_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("name", pa.string()),
        ("hash", pa.string()),
        ("size", pa.int64()),
        ("version", pa.string()),
        ("state", pa.string()),
    ]
)


def files_topic(topic: Topic) -> Topic:
    """The topic that keeps which files another one has taken up; it has the same name, in a log of its own."""
    columns = tuple(Column(field.name, field.type) for field in _SCHEMA)
    return Stream(name=topic.name, columns=columns, comment=f"The files of {topic.name}")


def position_of(number: int, event: int = 0) -> int:
    """The position behind an event of a file; before its first, if none is given.

    >>> position_of(3, 17) == 3 * 2**36 + 17
    True
    """
    return number << _BITS | event


def file_and_event(position: int) -> tuple[int, int]:
    """The number of the file that a position is in, and that of the last event before it."""
    return position >> _BITS, position & ((1 << _BITS) - 1)


class Register:
    """The files that were admitted. One process at a time admits; another one that does is `Fenced`."""

    def __init__(self, log: TopicLog) -> None:
        self._log = log
        self._next = log.position(_ADMITTED) or 0

    def since(self, number: int) -> list[File]:
        """The files from a number on, in order."""
        if self._log.head < 0 or number >= self._next:
            return []
        return [file for part in self._scan() for file in part if number <= file.number < self._next]

    def latest(self, names: Collection[str]) -> dict[str, File]:
        """The file that was admitted last under each of these names, if anything was."""
        if self._log.head < 0 or not names:
            return {}
        wanted = pa.array(list(names), pa.string())
        return {file.name: file for part in self._scan(wanted) for file in part if file.number < self._next}

    def _scan(self, names: pa.Array | None = None) -> Iterable[list[File]]:
        for batch in scan(self._log, columns=_SCHEMA.names):
            rows = batch.rows.select(_SCHEMA.names)
            if names is not None:
                rows = rows.filter(pc.is_in(rows["name"], value_set=names))
            yield [File(**row) for row in rows.to_pylist()]

    def admit(self, files: Iterable[tuple[str, str, int, str, State]]) -> list[File]:
        """Give the next numbers to files: (name, hash, size, version, state)."""
        made = [File(self._next + at, *file) for at, file in enumerate(files)]
        if made:
            rows = pa.Table.from_pylist([vars(file) for file in made], _SCHEMA)
            before = self._next or None
            self._log.append(rows, moves=[Move(_ADMITTED, before, self._next + len(made))])
            self._next += len(made)
        return made
