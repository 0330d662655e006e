"""The spelling of arguments: positions in a log, instants, durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headwater.errors import ArgumentRefused


def parse_instant(text: str) -> datetime:
    """An instant in ISO 8601; without a zone it is UTC.

    >>> parse_instant("2026-01-01T12:00").isoformat()
    '2026-01-01T12:00:00+00:00'
    """
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentRefused(
            f'"{text}" is not an instant', hint="Write it in ISO 8601, like 2026-01-31T12:00:00Z."
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def parse_since(text: str | None) -> int | datetime | timedelta | None:
    """A beginning: a commit (`17`), an instant (`2026-01-31T12:00Z`), or how long ago (`10m`).

    >>> parse_since("17"), parse_since("10m")
    (17, datetime.timedelta(seconds=600))
    """
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    from headwater.model import parse_duration

    try:
        return parse_duration(text)
    except ValueError:
        pass
    try:
        return parse_instant(text)
    except ArgumentRefused:
        raise ArgumentRefused(
            f'"{text}" is not a place in the log',
            hint="Write a commit (17), an instant (2026-01-31T12:00Z), or how long ago (10m, 2 hours).",
        ) from None


def parse_span(text: str) -> timedelta:
    """A span: a number of seconds, or a duration.

    >>> parse_span("30"), parse_span("2 minutes")
    (datetime.timedelta(seconds=30), datetime.timedelta(seconds=120))
    """
    from headwater.model import parse_duration

    try:
        return parse_duration(f"{text} seconds" if text.isdigit() else text)
    except ValueError:
        raise ArgumentRefused(f'"{text}" is no duration', hint="Write seconds (30), or a duration (5m).") from None
