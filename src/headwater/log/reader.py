"""Named readers: programs of the user's own that read a topic and remember how far they have come.

The keys of a topic are spread over `SLOTS` slots by hash, and a position is kept for each slot. *Members* of one name
share the slots: member 1 of 3 reads those with slot % 3 == 1. Because positions belong to slots and not to members,
the number of members may change between runs, and every key goes on where it was.

What a position means after a crash is the reader's *delivery*:

    at-most-once    saved before the rows are handed out: rows may be missed, never repeated
    at-least-once   saved when the next rows are asked for: rows may be repeated, never missed
    exactly-once    kept by the user, in the same transaction as what the rows cause; the log keeps none
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import ArgumentRefused, PositionRefused
from headwater.log.read import Batch, follow, scan, seek
from headwater.log.storage import Storage, folder_of
from headwater.log.topic import TopicLog
from headwater.model import Stream, Table

SLOTS = 64
Delivery = Literal["at-most-once", "at-least-once", "exactly-once"]


class Reader:
    """Reads a topic under a name. Not thread-safe: a thread or process that shares the work is a member of its own.

    Iterating gives the batches up to the end of the log; `follow` goes on as new ones come. With `exactly-once`, start
    with `seek(position)` and store `batch.commit` together with your results.
    """

    def __init__(
        self,
        log: TopicLog,
        positions: Storage,
        name: str,
        *,
        delivery: Delivery = "at-least-once",
        member: int = 0,
        members: int = 1,
    ) -> None:
        if not 0 <= member < members <= SLOTS:
            raise ArgumentRefused(
                f'reader "{name}" can\'t be member {member} of {members}',
                detail=f"Members count from 0, and there are at most {SLOTS}.",
                hint="Give each process its own number below the number of members.",
            )
        self.name = name
        self._log = log
        self._storage = positions
        self._path = f"{folder_of(log.topic.name)}.json"
        self._delivery = delivery
        self._slots = [slot for slot in range(SLOTS) if slot % members == member]
        self._shared = members > 1
        self._at = self._load()

    @property
    def position(self) -> int:
        """The commit up to which this reader has read everything that is its part."""
        return min(self._at.values())

    def seek(self, to: int | datetime) -> None:
        """Go on behind a commit (0: from the start), or with the first that arrived at an instant or later."""
        commit = to if isinstance(to, int) else seek(self._log, to) - 1
        if not 0 <= commit <= max(self._log.head, 0):
            raise PositionRefused(
                f'reader "{self.name}" can\'t go to commit {commit} of topic "{self._log.topic.name}"',
                detail=f"Its log ends with commit {max(self._log.head, 0)}.",
                hint="Use 0 for the start, or a commit that `headwater log` shows.",
            )
        self._save(dict.fromkeys(self._slots, commit))

    def __iter__(self) -> Iterator[Batch]:
        return self._deliver(scan(self._log, self.position + 1))

    def follow(self, stop: threading.Event | None = None) -> Iterator[Batch]:
        """The batches up to the end of the log, and each new one as it is committed."""
        return self._deliver(follow(self._log, self.position + 1, stop=stop))

    def _deliver(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            mine = Batch(self._mine(batch.rows), batch.commit, batch.watermark)
            if self._delivery == "at-most-once":
                self.acknowledge(batch)
            yield mine
            if self._delivery != "at-most-once":
                self.acknowledge(batch)

    def acknowledge(self, batch: Batch) -> None:
        """Say that a batch is done with. Asking for the next one says so too; before a `break` it must be said."""
        done = {slot: max(at, batch.commit) for slot, at in self._at.items()}
        if done != self._at:
            self._save(done)

    def _mine(self, rows: pa.Table) -> pa.Table:
        """The rows of this member's slots that are behind each slot's position."""
        if not self._shared and len(set(self._at.values())) == 1:
            return rows
        slots = slots_of(rows, self._keys())
        starts = np.full(SLOTS, np.iinfo(np.int64).max)
        for slot, at in self._at.items():
            starts[slot] = at
        return rows.filter(pa.array(rows["_commit"].to_numpy() > starts[slots]))

    def _keys(self) -> Sequence[str]:
        topic = self._log.topic
        keys = topic.primary_key if isinstance(topic, Table) else topic.key if isinstance(topic, Stream) else ()
        if not keys and self._shared:
            raise ArgumentRefused(
                f'the members of reader "{self.name}" can\'t share topic "{topic.name}"',
                detail="Members share the keys, and the topic declares none.",
                hint="Declare a key: WITH (key = '…').",
            )
        return keys

    # Positions

    def _load(self) -> dict[int, int]:
        if self._delivery == "exactly-once":
            return dict.fromkeys(self._slots, 0)
        known = self._stored()[1].get(self.name, [0] * SLOTS)
        return {slot: known[slot] for slot in self._slots}

    def _stored(self) -> tuple[bytes | None, dict[str, list[int]]]:
        data = self._storage.read(self._path)
        return data, {} if data is None else json.loads(data)

    def _save(self, positions: dict[int, int]) -> None:
        """Move this member's slots, unless another process has moved them since: then it is the reader now."""
        if self._delivery != "exactly-once":
            while True:
                before, readers = self._stored()
                known = readers.get(self.name, [0] * SLOTS)
                if any(known[slot] != at for slot, at in self._at.items()):
                    raise self._overtaken()
                readers[self.name] = [positions.get(slot, known[slot]) for slot in range(SLOTS)]
                if self._storage.swap(self._path, before, json.dumps(readers).encode()):
                    break
        self._at = dict(positions)

    def _overtaken(self) -> PositionRefused:
        return PositionRefused(
            f'reader "{self.name}" of topic "{self._log.topic.name}" was overtaken',
            detail="Another process with the same name and member has moved the position since this one read it.",
            hint="Run each member once. Open the reader again to go on from where the other one is.",
            reader=self.name,
        )


def slots_of(rows: pa.Table, keys: Sequence[str]) -> np.typing.NDArray[np.int64]:
    """The slot of each row: a hash of its keys that is the same in every process and version; 0 without keys."""
    slots = np.zeros(rows.num_rows, np.int64)
    for key in keys:
        text = pc.fill_null(rows[key].cast(pa.string()), "").combine_chunks().dictionary_encode()
        hashes = np.array([zlib.crc32(value.encode()) for value in text.dictionary.to_pylist()], np.int64)
        if rows.num_rows:
            slots = slots * 31 + hashes[text.indices.to_numpy()]
    return slots % SLOTS
