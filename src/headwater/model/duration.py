"""Durations as people write them (`10 minutes`, `1h 30m`) and as `timedelta`."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
_SHORT = {
    "w": "week", "d": "day", "h": "hour", "m": "minute", "min": "minute", "s": "second", "sec": "second",
    "ms": "millisecond", "us": "microsecond", "µs": "microsecond",
}  # fmt: skip
FOREVER = timedelta.max
"""The retention of a view that never lets go of a row; as a text it is `forever`."""
_MOST_WEEKS = timedelta(weeks=8)
_FOREVER = "forever"
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zµ]+)\s*,?", re.IGNORECASE)


def parse_duration(text: str) -> timedelta:
    """A duration from text: a number and a unit, or several of them.

    >>> parse_duration("1 hour 30 minutes") == parse_duration("90m")
    True
    """
    total, at = timedelta(), 0
    while at < len(text):
        part = _PART.match(text, at)
        unit = _unit(part[2]) if part else None
        if part is None or unit is None:
            raise ValueError(f"{text!r} is not a duration: write a number and a unit, like '10 minutes'")
        try:
            total += float(part[1]) * unit if "." in part[1] else int(part[1]) * unit
        except OverflowError:
            raise ValueError(f"{text[:50]!r} is longer than a duration can be") from None
        at = part.end()
    if at == 0:
        raise ValueError("an empty text is not a duration: write a number and a unit, like '10 minutes'")
    return total


def parse_retention(text: str) -> timedelta:
    """A duration from text, or `FOREVER`.

    >>> parse_retention("forever") == FOREVER, spell_duration(FOREVER)
    (True, 'forever')
    """
    return FOREVER if text.strip().lower() == _FOREVER else parse_duration(text)


def _unit(word: str) -> timedelta | None:
    name = word.lower()
    return _UNITS.get(_SHORT.get(name, name)) or _UNITS.get(name.removesuffix("s"))


def spell_duration(duration: timedelta) -> str:
    """The duration in whole units; `parse_duration` gives it back. A few whole weeks are weeks, all else is days.

    >>> [spell_duration(timedelta(days=days)) for days in (0.0625, 14, 36_500)]
    ['1 hour 30 minutes', '2 weeks', '36500 days']
    """
    if duration == FOREVER:
        return _FOREVER
    if duration == timedelta():
        return "0 seconds"
    rest, parts = abs(duration), []
    in_weeks = rest % _UNITS["week"] == timedelta() and rest <= _MOST_WEEKS
    for name, unit in _UNITS.items():
        if name == "week" and not in_weeks:
            continue
        count, rest = divmod(rest, unit)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return ("-" if duration < timedelta() else "") + " ".join(parts)
