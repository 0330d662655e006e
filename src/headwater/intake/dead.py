"""Dead letters: what can't be taken as a row, with its bytes, the reason, and where it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.errors import DataError
from headwater.json_text import spell
from headwater.model import Topic
from headwater.model.letter import DEAD, letters_topic

ENVELOPE = [DEAD.field(name) for name in ("key", "sent_at", "headers")]

NO_LETTERS = pa.Table.from_batches([], DEAD)

KEPT_BYTES = 16 * 1024 * 1024
"""The bytes of an event that a dead letter keeps; only an event that is far too large has more."""

_SHOWN = 80


def dead_topic(topic: Topic) -> Topic:
    """The topic that keeps another one's dead letters; it has the same name, in a log of its own."""
    return letters_topic(topic.name, f"What could not be read as {topic.name}, and why")


@dataclass(frozen=True)
class Letter:
    """One dead letter before its source is known. `index` counts it among the lines or rows that came with it."""

    index: int
    content: bytes
    reason: str
    error: type[DataError]
    position: str


def table_of(letters: Iterable[Letter], source: str | None) -> pa.Table:
    """The letters as a table, in the order in which they came."""
    ordered = sorted(letters, key=lambda letter: letter.index)
    if not ordered:
        return NO_LETTERS
    columns = [
        pa.array([letter.content[:KEPT_BYTES] for letter in ordered], pa.binary()),
        pa.array([letter.reason.encode("utf-8", "backslashreplace") for letter in ordered], pa.string()),
        pa.array([letter.error.code() for letter in ordered], pa.string()),
        pa.repeat(pa.scalar(source, pa.string()), len(ordered)),
        pa.array([letter.position for letter in ordered], pa.string()),
        *(pa.nulls(len(ordered), field.type) for field in ENVELOPE),
    ]
    return pa.Table.from_arrays(columns, schema=DEAD)


def with_envelopes(letters: pa.Table, envelope_of: Callable[[str], tuple[Any, Any, Any]]) -> pa.Table:
    """Letters with the key, the time and the headers of what they are, which are found by its number."""
    if not letters.num_rows:
        return letters
    found = [envelope_of(position.rpartition(":")[2]) for position in letters["position"].to_pylist()]
    for field, values in zip(ENVELOPE, zip(*found, strict=True), strict=True):
        letters = letters.set_column(letters.schema.get_field_index(field.name), field, pa.array(values, field.type))
    return letters


def shorten(value: Any) -> str:
    """A value as a reason shows it: strings in quotes, and never more than a line's worth.

    >>> shorten("x" * 100)[-12:]
    'xxxxxxxx..."'
    """
    if isinstance(value, str) and type(value) is str:
        text = value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "..."
        return '"' + text.encode("utf-8", "backslashreplace").decode() + '"'
    try:
        text = spell(value) if isinstance(value, Mapping | list | tuple) else str(value)
    except ValueError:  # an int with more digits than Python is willing to print
        text = f"a number of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
