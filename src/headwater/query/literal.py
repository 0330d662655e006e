"""Texts that are read as dates and instants: in the forms that Spark reads, and strictly."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

_DATE = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_TIME = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d*)?)?"
_ZONE = r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)"
_INSTANT = re.compile(rf"{_DATE}(?:[T ]{_TIME}(?:{_ZONE})?)?")
_DAY = re.compile(rf"{_DATE}(?:[T ].*)?")


def read_date(text: str) -> date | None:
    """The day that a text names; None if Spark would name none.

    >>> read_date("2026-01"), read_date("26-01-01")
    (datetime.date(2026, 1, 1), None)
    """
    match = _DAY.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups()[:3])
    try:
        return date(year, month, day)
    except ValueError:
        return None


def read_instant(text: str, *, local: bool = False) -> datetime | None:
    """The instant that a text names, without a zone in UTC; None if it names none. `local`: a zone counts for nothing.

    >>> str(read_instant("2026-01-01 12:00:00.25+02:00"))
    '2026-01-01 10:00:00.250000+00:00'
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        at = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "0").ljust(6, "0")), UTC if local else _zone(zone),
        )  # fmt: skip
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text in ("Z", "UTC", "GMT"):
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    offset = timedelta(hours=hours, minutes=minutes)
    if offset > timedelta(hours=18):
        raise ValueError(text)
    return timezone(-offset if text[0] == "-" else offset)


def spell_instant(at: datetime) -> str:
    """An instant as DuckDB reads it."""
    return f"CAST('{at.replace(tzinfo=None).isoformat(' ')}+00' AS TIMESTAMPTZ)"
