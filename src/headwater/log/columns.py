"""Columns of a log's files, kept in memory: files never change, and steps of views look back on the same ones.

Whoever follows a topic reads its newest files again and again, and so do others beside it. A column that was read is
kept until others need its room; those that were not asked for longest go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import pyarrow as pa

from headwater.log.datafile import DataFile, columns_of
from headwater.log.read import read_file
from headwater.log.shape import Past
from headwater.log.topic import TopicLog

ROOM = 256 << 20
_Place = tuple[str, str, str, pa.DataType, Past | None]


class KeptColumns:
    """Columns of files, up to `room` bytes of them. Threads may share it."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._kept: OrderedDict[_Place, pa.ChunkedArray] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, log: TopicLog, file: DataFile, names: Sequence[str]) -> pa.Table:
        """The columns of a file, typed as declared."""
        schema = columns_of(log.topic)
        places = [(log.storage.url, file.path, name, schema.field(name).type, file.past) for name in names]
        with self._lock:
            known = {place: self._kept[place] for place in places if place in self._kept}
            for place in known:
                self._kept.move_to_end(place)
        missing = [place for place in places if place not in known]
        if missing:
            rows = read_file(log, file, [place[2] for place in missing])
            known |= {place: rows[place[2]] for place in missing}
            self._keep({place: known[place] for place in missing})
        return pa.table({place[2]: known[place] for place in places})

    def _keep(self, found: dict[_Place, pa.ChunkedArray]) -> None:
        with self._lock:
            for place, column in found.items():
                if place not in self._kept:
                    self._kept[place] = column
                    self._size += column.nbytes
            while self._size > self.room:
                self._size -= self._kept.popitem(last=False)[1].nbytes
