"""Identity: what a stream may say about copies of an event, and what a table is folded by; the verdict on both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pyarrow as pa

from headwater import model
from headwater.errors import Finding
from headwater.findings import NotSupportedYet, NoWatermark, OptionRefused


def judge_identity(topic: model.Topic) -> Iterator[Finding]:
    """The objections to reading each event of a topic once within a span of time."""
    if not isinstance(topic, model.Stream) or topic.within is None:
        return
    said, origin, name = f'stream "{topic.name}" says within', topic.origin, topic.name
    if not topic.unique:
        hint = "Add unique = '…' with the columns that copies of an event have in common."
        yield OptionRefused(f"{said} without saying what is unique", hint=hint, origin=origin, topic=name)
    if topic.within <= timedelta():
        detail = f"It says {model.spell_duration(topic.within)}: no event would be a copy of another."
        hint = "Write for how long after an event another one is a copy, like within = '24 hours'."
        yield OptionRefused(f"{said} of no time", detail=detail, hint=hint, origin=origin, topic=name)
    if topic.time is None or topic.watermark is None:
        time = topic.time or "at"
        yield NoWatermark(
            f"{said}, and declares no watermark",
            detail="Without a watermark nothing says when the winner of an id can be forgotten.",
            hint=f"Add WATERMARK FOR {time} AS {time} - INTERVAL '5' SECOND to its declaration.",
            origin=origin,
            topic=name,
        )


def judge_key(topic: model.Topic) -> Iterator[Finding]:
    """The objections to the key of a table: changes must be found by it, and equal values must be alike."""
    if not isinstance(topic, model.Table):
        return
    for column in (column for column in topic.columns if column.name in topic.primary_key):
        if pa.types.is_nested(column.type) or pa.types.is_floating(column.type):
            floats = pa.types.is_floating(column.type)
            yield NotSupportedYet(
                f'table "{topic.name}" has a key of {model.spell_type(column.type)}, by which it can\'t be folded',
                detail="0.0 and -0.0 are equal, and not alike." if floats else None,
                hint="Declare it as a DECIMAL." if floats else "Declare what identifies a row as columns of their own.",
                origin=topic.origin,
                topic=topic.name,
            )
