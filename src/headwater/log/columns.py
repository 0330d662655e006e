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
_Key = tuple[str, str, str, pa.DataType, Past | None]


class KeptColumns:
    """Columns of files, up to `room` bytes of them. Threads may share it."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._kept: OrderedDict[_Key, pa.ChunkedArray] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, log: TopicLog, file: DataFile, names: Sequence[str]) -> pa.Table:
        """The columns of a file, typed as declared."""
        schema = columns_of(log.topic)
        keys = [(log.storage.url, file.path, name, schema.field(name).type, file.past) for name in names]
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
            for key in known:
                self._kept.move_to_end(key)
        missing = [key for key in keys if key not in known]
        if missing:
            rows = read_file(log, file, [key[2] for key in missing])
            known |= {key: rows[key[2]] for key in missing}
            self._keep({key: known[key] for key in missing})
        return pa.table({key[2]: known[key] for key in keys})

    def _keep(self, columns: dict[_Key, pa.ChunkedArray]) -> None:
        with self._lock:
            for key, column in columns.items():
                if key not in self._kept:
                    self._kept[key] = column
                    self._size += column.nbytes
            while self._size > self.room:
                self._size -= self._kept.popitem(last=False)[1].nbytes
