"""The columns of a dead letter, whether a stream could not read it or an outlet could not deliver it."""

from __future__ import annotations

import pyarrow as pa

from headwater.model.column import Column
from headwater.model.stream import Stream
from headwater.model.types import INSTANT

DEAD = pa.schema(
    [
        pa.field("bytes", pa.binary(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("error", pa.string(), nullable=False),
        pa.field("source", pa.string()),
        pa.field("position", pa.string(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("sent_at", INSTANT),
        pa.field("headers", pa.map_(pa.string(), pa.binary())),
    ]
)
"""The columns of dead letters. `error` is the code of a `DataError`; `reason` is a sentence for people. The last three
are a message's *envelope*: what came beside its value, NULL where an event came otherwise."""

SEEN = pa.schema([("first_seen_at", INSTANT), ("last_seen_at", INSTANT), ("attempts", pa.int64())])
"""The columns that dead letters have besides when they are shown."""


def letters_topic(name: str, comment: str) -> Stream:
    """The topic that keeps the dead letters of the stream, table or outlet of that name, in a log of its own."""
    columns = tuple(Column(field.name, field.type, field.nullable) for field in DEAD)
    return Stream(name=name, columns=columns, comment=comment)
