"""Remaking: a data file that is lost made anew from its source, to the bit.

The entry of an append tells all that the file was made from but for its rows: from where to where its sources were
*moved*, when they arrived, and (the entry before) how the clock stood. Rows that are read again between those positions
are stamped as they were, and the file that they make is put back only if it has the checksum in the name of the one
that is lost. So it is that file, or none: nothing that came later is stamped in another way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from headwater.errors import LogDamaged
from headwater.log.append import Request, stamp_append
from headwater.log.clock import Clock, Rules
from headwater.log.datafile import as_parquet
from headwater.log.entry import Entry, EntryLog
from headwater.log.journal import microseconds
from headwater.log.producer import Move
from headwater.log.repair import Repaired
from headwater.log.scrub import scrub
from headwater.log.seal import checksum, checksum_in
from headwater.log.storage import Storage
from headwater.model import Topic

Again = Callable[[Sequence[Move], datetime], tuple[pa.Table, pa.Array]]
"""Reads rows again that were moved over, as they arrived at an instant; and of each the source."""


@dataclass(frozen=True)
class _Made:
    """The origin of a data file: what it was made from."""

    number: int
    clock: Clock
    moves: tuple[Move, ...]
    arrived_at: datetime


def remake(topic: Topic, storage: Storage, name: str, again: Again) -> Repaired:
    """Make the data files of a log that are hurt anew where their source still has their rows."""
    back: list[str] = []
    for hurt in scrub(storage, name).hurt:
        if not hurt.path.endswith(".parquet") or ".checkpoint" in hurt.path:
            continue
        made = _made_from(topic, EntryLog(storage, name), hurt.path)
        if made is None:
            continue
        rows, sources = again(made.moves, made.arrived_at)
        request = Request(rows, sources, microseconds(made.arrived_at))
        data = as_parquet(stamp_append(topic, made.number, made.clock, request))
        if checksum(data) == checksum_in(hurt.path):
            storage.write(hurt.path, data)
            back.append(hurt.path)
    return Repaired(name, tuple(back), scrub(storage, name).hurt)


def _made_from(topic: Topic, entries: EntryLog, path: str) -> _Made | None:
    """The origin of a file; None if that isn't known: rows were sent by a client, or merged, or came in parts."""
    number = int(path[:20]) if path[:20].isdecimal() and checksum_in(path) is not None else 0
    entry, before = _believed(entries, number), _clocked(entries, number - 1)
    added = [action for action in entry.of("add") if action["path"] == path] if entry else []
    note: dict[str, Any] = (entry.note if entry else None) or {}
    if not added or before is None or note.get("kind") != "append":
        return None
    stats = json.loads(added[0]["stats"])
    arrivals = {stats[side]["_arrived_at"] for side in ("minValues", "maxValues")}
    moves = tuple(
        Move(producer, _position(entries, producer, number - 1), position)
        for producer, (position, digest, *_) in note.get("producers", {}).items()
        if digest is None
    )
    if len(arrivals) > 1 or len(moves) < len(note.get("producers", {})) or any(move.before is None for move in moves):
        return None
    clock = Clock.from_note(Rules.of(topic), (before.note or {})["clock"])
    return _Made(number, clock, moves, datetime.fromisoformat(arrivals.pop()))


def _position(entries: EntryLog, producer: str, number: int) -> int | None:
    """The position of a producer as of an entry; None if the entries that are kept don't tell."""
    for at in range(number, entries.first() - 1, -1):
        known = ((getattr(_believed(entries, at), "note", None)) or {}).get("producers", {}).get(producer)
        if known is not None:
            return int(known[0])
    return None


def _clocked(entries: EntryLog, number: int) -> Entry | None:
    """The entry of a number, or the newest before it that has the clock."""
    for at in range(number, entries.first() - 1, -1):
        entry = _believed(entries, at)
        if entry is None or (entry.note or {}).get("clock"):
            return entry
    return None


def _believed(entries: EntryLog, number: int) -> Entry | None:
    try:
        return entries.read(number)
    except LogDamaged:
        return None
