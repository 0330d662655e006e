"""Confluent's wire format: a zero byte, the number of the schema in four bytes, and what was written with it."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.errors import EventTooLarge, MissingValue, UnreadableEvent
from headwater.intake.lines import LARGEST_EVENT
from headwater.intake.messages import Poison

MAGIC = 0
HEAD = 5
"""How many bytes come before what was written."""


def number_of(value: bytes | None) -> int | Poison:
    """The number of the schema that a message names."""
    if not value:
        return Poison(MissingValue, "the message has no value")
    if len(value) > LARGEST_EVENT:
        return Poison(EventTooLarge, f"the message has more than {LARGEST_EVENT:,} bytes")
    if len(value) < HEAD or value[0] != MAGIC:
        return Poison(UnreadableEvent, f"the message names no schema: its first byte is {value[0]}, not {MAGIC}")
    return int.from_bytes(value[1:HEAD], "big")


def common_number(values: Sequence[bytes | None], head: int = HEAD) -> int | None:
    """The number of the schema that all messages name, if they do, and begin with the same `head` bytes."""
    if not values or None in values:
        return None
    heads = {value[:head] for value in values if value is not None}
    if len(heads) != 1 or max(map(len, values)) > LARGEST_EVENT:  # type: ignore[arg-type]  # none of them is None
        return None
    number = number_of(next(iter(heads)))
    return None if isinstance(number, Poison) else number


def unknown(number: int, language: str) -> Poison:
    """What is wrong with a message whose schema isn't to be had."""
    return Poison(UnreadableEvent, f"the message names schema {number}, which the registry doesn't have as {language}")
