"""The dead letters of an outlet: changes that its target can't take, with the reason, each kept once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headwater.errors import SequenceRefused
from headwater.log import TopicLog
from headwater.model import INSTANT, Outlet, Stream
from headwater.model.letter import DEAD, SEEN, letters_topic
from headwater.outlets.protocol import Refused

_CHANGES_OF_A_BATCH = 1 << 24


def undelivered_topic(outlet: Outlet) -> Stream:
    """The topic that keeps the dead letters of an outlet."""
    return letters_topic(outlet.name, f"What could not be delivered by {outlet.name}, and why")


def keep(log: TopicLog, outlet: str, refused: Sequence[Refused]) -> None:
    """Keep what a target refused. A delivery that is repeated adds nothing."""
    version, batch, change = map(int, refused[0].change_id.split("."))
    sequence = f"{outlet}.{version}", (batch + 1) * _CHANGES_OF_A_BATCH + change
    try:
        log.append(_table(outlet, refused), source=outlet, sequence=sequence)
    except SequenceRefused:  # the delivery was attempted before, and then others of its changes were refused
        log.append(_table(outlet, refused), source=outlet)


def seen_once(letters: pa.Table) -> pa.Table:
    """The letters of an outlet with the columns that say when each was seen: once, as they are not redriven."""
    came_at = letters["_arrived_at"].cast(INSTANT)
    counts = pa.array([1] * letters.num_rows, pa.int64())
    for field, column in zip(SEEN, (came_at, came_at, counts), strict=True):
        letters = letters.append_column(field, column)
    return letters


def _table(outlet: str, refused: Sequence[Refused]) -> pa.Table:
    rows = [
        {
            "bytes": one.value,
            "reason": one.reason,
            "error": one.error.code(),
            "source": outlet,
            "position": one.change_id,
            "key": one.key,
        }
        for one in refused
    ]
    return pa.Table.from_pylist(rows, DEAD)
