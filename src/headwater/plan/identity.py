"""The identity of events: what a stream may say about copies of an event, and the verdict on it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater import model
from headwater.errors import Finding
from headwater.findings import NoWatermark, OptionRefused


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
