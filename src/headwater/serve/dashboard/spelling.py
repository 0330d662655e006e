"""The spelling of figures: short enough for a card or a cell, with their unit."""

from __future__ import annotations

from datetime import datetime

NONE = "–"
"""The sign where nothing is known yet."""
_THOUSAND = 1000
_LARGE = ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k"))
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def count(value: float | None) -> str:
    """A number of things.

    >>> [count(value) for value in (None, 0, 9_999, 12_340, 999_990, 4_560_000)]
    ['–', '0', '9,999', '12.3k', '1000k', '4.56M']
    """
    if value is None:
        return NONE
    for size, letter in _LARGE:
        if abs(value) >= size:
            unit = _THOUSAND if letter == "k" else size
            return f"{_short(value / unit)}{letter}"
    return f"{value:,.0f}"


def rate(value: float | None) -> str:
    """So many a second.

    >>> [rate(value) for value in (0, 0.34, 41.8, 12_340)]
    ['0', '0.3', '42', '12.3k']
    """
    if value is not None and 0 < abs(value) < 9.95:
        return f"{value:.1f}"
    return count(value)


def per_second(value: float | None) -> str:
    """So many a second, with the unit.

    >>> per_second(41.8), per_second(None)
    ('42/s', '–')
    """
    return NONE if value is None else f"{rate(value)}/s"


def seconds(value: float | None) -> str:
    """The time that something takes.

    >>> [seconds(value) for value in (None, 0.0004, 0.35, 4.56, 75, 3_725, 200_000)]
    ['–', '0 ms', '350 ms', '4.56 s', '1 m 15 s', '1 h 2 m', '2 d 7 h']
    """
    if value is None:
        return NONE
    size = abs(value)
    if size < 0.9995:
        return f"{value * _THOUSAND:.0f} ms"
    if size < 99.5:
        return f"{value:.3g} s" if size < _MINUTE else _pair(value, _MINUTE, "m", 1, "s")
    if size < _HOUR:
        return _pair(value, _MINUTE, "m", 1, "s")
    return _pair(value, _HOUR, "h", _MINUTE, "m") if size < _DAY else _pair(value, _DAY, "d", _HOUR, "h")


def _pair(value: float, large: int, first: str, small: int, second: str) -> str:
    whole, rest = divmod(int(abs(value)), large)
    return f"{'-' if value < 0 else ''}{whole} {first} {rest // small} {second}"


def size(value: float | None) -> str:
    """So many bytes.

    >>> [size(value) for value in (None, 0, 185, 4_202_880, 12_608_640_000)]
    ['–', '0 B', '185 B', '4.2 MB', '12.6 GB']
    """
    if value is None:
        return NONE
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(amount) < _THOUSAND:
            return f"{_short(amount)} {unit}"
        amount /= _THOUSAND
    return f"{_short(amount)} TB"


def _short(value: float) -> str:
    """Three digits, or as many as stand before the point."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def share(part: float, whole: float) -> str:
    """A part of a whole.

    >>> [share(0, 0), share(1, 3000), share(30, 400), share(400, 400)]
    ['0 %', '0.033 %', '7.5 %', '100 %']
    """
    per_cent = 100 * part / whole if whole else 0
    return f"{per_cent:.0f} %" if per_cent >= 10 or not per_cent else f"{per_cent:.2g} %"


def clock(at: datetime | None) -> str:
    """An instant, by the clock."""
    return NONE if at is None or at.year <= 1970 else f"{at:%H:%M:%S}"


def ago(now: datetime, at: datetime | None) -> str:
    """The time from an instant to now."""
    return NONE if at is None or at.year <= 1970 else seconds(max(0.0, (now - at).total_seconds()))


def behind(now: datetime, at: datetime | None) -> str:
    """The time that an instant is behind now, as a negative span."""
    span = ago(now, at)
    return span if span == NONE else f"−{span}"


def shortened(name: str, most: int) -> str:
    """A name that is not longer than this: what tells names apart is often at their end.

    >>> shortened("spend", 12), shortened("count_of_payments_every_7_seconds", 18)
    ('spend', 'count_of…7_seconds')
    """
    if len(name) <= most:
        return name
    end = most // 2
    return f"{name[: most - end - 1]}…{name[-end:]}"
