"""Messages in the wire format of `schemas/wire.py`: the number that each names, or why it is poison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.errors import EventTooLarge, MissingValue, UnreadableEvent
from headwater.intake.lines import LARGEST_EVENT
from headwater.intake.messages import Poison
from headwater.schemas.wire import HEAD, MAGIC


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


def forget_unknown(schemas: dict[Any, Any]) -> None:
    """Forget schemas that the registry didn't have, or that can't be read: it may have others by now."""
    for key in [key for key, schema in schemas.items() if isinstance(schema, Poison)]:
        del schemas[key]


def reason_of(problem: BaseException) -> str:
    """The words of an error about a message, for a sentence."""
    return str(problem).rstrip(".") or type(problem).__name__


def unknown(number: int, language: str) -> Poison:
    """The fault of a message whose schema isn't to be had."""
    return Poison(UnreadableEvent, f"the message names schema {number}, which the registry doesn't have as {language}")
