"""Scripts: what arrives at the log, in order, as data.

A script is a list. A row is a mapping from its topic to its values, `{"orders": {"id": "o-1", …}}`, with the source
beside it if that matters, `{"orders": {…}, "source": "till-2"}`. Between rows stand `COMMIT` (what came before is
committed), `Tick` (a topic's watermark moves), `Now` (the wall clock is set) and `CRASH` (the views run, and the
process dies in the middle of it).

In a file, a row is a line of JSON and a commit is a paragraph: an empty line is a `COMMIT`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwater.errors import ArgumentRefused, Origin
from headwater.log import LOCAL_SOURCE
from headwater.testing.crash import Crash


@dataclass(frozen=True)
class Tick:
    """The topic's watermark moves without rows: to an instant, or as far as the silence of the sources allows."""

    topic: str
    to: datetime | None = None


@dataclass(frozen=True)
class Now:
    """From here on, rows arrive at this instant."""

    at: datetime


@dataclass(frozen=True)
class _Commit:
    def __repr__(self) -> str:
        return "COMMIT"


COMMIT = _Commit()
"""The rows before it are committed, in each topic that has some."""
CRASH = Crash()
"""The views run and the process dies when the store has the first micro-batch and Spark doesn't know."""

Row = Mapping[str, Any]
Item = Row | Tick | Now | Crash | _Commit
Script = Sequence[Item]


@dataclass(frozen=True)
class Append:
    """Rows of one topic and one source, appended as one commit."""

    topic: str
    source: str
    rows: tuple[Mapping[str, Any], ...]


Step = Append | Tick | Now | Crash


def steps_of(script: Script) -> Iterator[Step]:
    """The steps, one after the other. A commit has rows of one source: another source begins another one.

    >>> rows = [{"a": {"n": 1}}, {"b": {"n": 2}}, {"a": {"n": 3}}, COMMIT, {"a": {"n": 4}}]
    >>> [(step.topic, [row["n"] for row in step.rows]) for step in steps_of(rows)]
    [('a', [1, 3]), ('b', [2]), ('a', [4])]
    """
    pending: dict[str, Append] = {}
    for item in script:
        if isinstance(item, Mapping):
            row = _row(item)
            before = pending.get(row.topic)
            if before is not None and before.source != row.source:
                yield pending.pop(row.topic)
                before = None
            pending[row.topic] = Append(row.topic, row.source, (*(before.rows if before else ()), *row.rows))
            continue
        yield from pending.values()
        pending.clear()
        if not isinstance(item, _Commit):
            yield item
    yield from pending.values()


def read_script(path: Path) -> list[Item]:
    """The script in a file of JSON lines, in which an empty line is a COMMIT.

    {"orders": {"id": "o-1", "at": "2026-01-05T09:00:00Z"}, "source": "till-2"}
    {"tick": "orders", "to": "2026-01-05T09:10:00Z"}
    {"now": "2026-01-05T09:00:00Z"}
    {"crash": "before apply", "time": 2}
    """
    items: list[Item] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            items.append(_item(json.loads(line)) if line.strip() else COMMIT)
        except (ValueError, KeyError, TypeError, AttributeError, ArgumentRefused) as cause:
            detail = f"{cause}."
            raise ArgumentRefused(
                f"line {number} of a script can't be read", detail=detail, origin=Origin(str(path), number)
            ) from cause
    return items


def _item(told: dict[str, Any]) -> Item:
    for word, make in _WORDS.items():
        if isinstance(told.get(word), str):
            return make(told)
    _row(told)
    return told


def _row(item: Row) -> Append:
    named = {name: value for name, value in item.items() if isinstance(value, Mapping)}
    source = item.get("source", LOCAL_SOURCE)
    if len(named) != 1 or len(item) - len(named) != ("source" in item) or not isinstance(source, str):
        raise ArgumentRefused(
            "an item of a script is neither a row nor anything else",
            detail=f"It is {dict(item)!r}.",
            hint='Write a row as {"TOPIC": {"COLUMN": VALUE}}, with "source": "NAME" beside the topic if it matters.',
        )
    ((topic, values),) = named.items()
    return Append(topic, source, (values,))


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


_WORDS: Mapping[str, Callable[[dict[str, Any]], Item]] = {
    "tick": lambda told: Tick(told["tick"], _instant(told["to"]) if "to" in told else None),
    "now": lambda told: Now(_instant(told["now"])),
    "crash": lambda told: Crash(told["crash"], told.get("time", 1)),
}
