"""Redrive: dead letters decoded again with today's declaration, and appended if they can be read now.

A letter that comes back is *marked*, in the same entry of the log as its row: its bit is set in the position of the
producer `redrive:commit.block`, where (commit, row) is its place among the dead letters and a block has 62 of them. So
a letter comes back once, whoever redrives it and whatever is killed on the way. How many have come back is the position
of the producer `redrive`, which also lets one redrive at a time succeed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import EventsLost, FileReplaced
from headwater.intake.decode import Decoder
from headwater.intake.messages import Codec, Messages, as_declared
from headwater.log import Move, TopicLog
from headwater.log.read import count_rows, scan
from headwater.model import Kafka

TOTAL = "redrive"
_BLOCK = 62
"""Letters to a block: as many bits as fit into a position, which is never negative."""
_AT_ONCE = 50_000
_WHERE = "letters"
_NO_EVENTS = (EventsLost.code(), FileReplaced.code())
"""The classes of letters that tell of events, and hold none."""


@dataclass(frozen=True)
class Redriven:
    """The outcome of a redrive: how many letters came back as rows, and how many of those looked at are still dead."""

    topic: str
    rows: int
    dead: int


def redrive(
    log: TopicLog,
    dead: TopicLog,
    decoder: Decoder,
    *,
    codec: Codec | None = None,
    first: int = 0,
    error: str | None = None,
) -> Redriven:
    """Decode dead letters again, from a commit of theirs on, and append what can be read now, as from its own source.

    `codec` reads messages that aren't plain JSON. `error` chooses letters of one class (`wrong-type`). Event time is
    what the event says; a row that is late by now is late. `Fenced` if another redrive was faster: repeat the call,
    nothing comes back twice.
    """
    rows = still = 0
    for batch in scan(dead, first):
        for part in _parts(open_letters(log, batch.rows)):
            chosen = part if error is None else part.filter(pc.equal(part["error"], error))
            came = _bring_back(
                log, decoder, codec, chosen.filter(pc.invert(pc.is_in(chosen["error"], pa.array(_NO_EVENTS))))
            )
            rows, still = rows + came, still + chosen.num_rows - came
    return Redriven(log.topic.name, rows, still)


def count_open(log: TopicLog, dead: TopicLog) -> int:
    """The number of a topic's letters that have not come back."""
    return count_rows(dead) - (log.position(TOTAL) or 0)


def open_letters(log: TopicLog, letters: pa.Table) -> pa.Table:
    """Those of the letters that have not come back; `letters` has the columns of the log of dead letters."""
    if not letters.num_rows or log.position(TOTAL) is None:
        return letters
    commits, rows = letters["_commit"].to_pylist(), letters["_row"].to_pylist()
    positions = list(zip(commits, rows, strict=True))
    marks = {name: log.position(name) or 0 for name in {_producer(*position) for position in positions}}
    return letters.filter(pa.array([not marks[_producer(*at)] >> at[1] % _BLOCK & 1 for at in positions]))


def _producer(commit: int, row: int) -> str:
    return f"{TOTAL}:{commit}.{row // _BLOCK}"


def _parts(letters: pa.Table) -> Iterator[pa.Table]:
    return (letters.slice(at, _AT_ONCE) for at in range(0, letters.num_rows, _AT_ONCE))


def _bring_back(log: TopicLog, decoder: Decoder, codec: Codec | None, letters: pa.Table) -> int:
    """Append the letters that can be read, and mark them; returns how many."""
    arrived_at, came = log.now(), 0
    sent = letters["sent_at"].is_valid()
    for part, reads in ((letters.filter(sent), codec), (letters.filter(pc.invert(sent)), None)):
        if part.num_rows:
            rows, indices = _decode(decoder, reads, part, arrived_at)
            came += len(indices)
            if len(indices):
                moves = _marks(log, part.take(indices))
                log.append(
                    rows, source=part["_source"].combine_chunks().take(indices), arrived_at=arrived_at, moves=moves
                )
    return came


def _decode(
    decoder: Decoder, codec: Codec | None, letters: pa.Table, arrived_at: datetime
) -> tuple[pa.Table, pa.Array]:
    """The rows of the letters that can be read, and the indices of these letters."""
    values, beside = letters["bytes"].combine_chunks(), envelope_columns(decoder, letters)
    headers = letters["headers"].to_pylist(maps_as_pydicts="lossy")
    messages = Messages(values, range(letters.num_rows), beside, headers=headers)
    read = messages if codec is None else codec.read(messages)
    decoded = decoder.decode(read, where=_WHERE, arrived_at=arrived_at)
    failed = pc.replace_substring_regex(decoded.dead["position"], r"^.*:", "").cast(pa.int64()).to_numpy()
    return decoded.rows, pa.array(np.setdiff1d(np.arange(letters.num_rows), failed))


def envelope_columns(decoder: Decoder, letters: pa.Table) -> dict[str, pa.Array]:
    """The columns that a topic takes from beside a message's value, as its letters have kept them."""
    kafka = decoder.topic.intake
    if not isinstance(kafka, Kafka) or letters["sent_at"].null_count == letters.num_rows:
        return {}
    beside = {}
    for name, kept in (
        (kafka.message_value, "bytes"),
        (kafka.message_key, "key"),
        (kafka.message_time, "sent_at"),
        (kafka.message_headers, "headers"),
    ):
        column = None if name is None else decoder.topic.column(name)
        if column is not None:
            values = letters[kept].combine_chunks()
            is_bytes = pa.types.is_binary(values.type)
            beside[column.name] = as_declared(values.to_pylist(), column.type) if is_bytes else values.cast(column.type)
    return beside


def _marks(log: TopicLog, letters: pa.Table) -> Sequence[Move]:
    """The moves that mark these letters, and count them."""
    added: dict[str, int] = defaultdict(int)
    for commit, row in zip(letters["_commit"].to_pylist(), letters["_row"].to_pylist(), strict=True):
        added[_producer(commit, row)] |= 1 << row % _BLOCK
    total = log.position(TOTAL)
    moves = [Move(TOTAL, total, (total or 0) + letters.num_rows)]
    for name, bits in added.items():
        before = log.position(name)
        moves.append(Move(name, before, (before or 0) | bits))
    return moves
