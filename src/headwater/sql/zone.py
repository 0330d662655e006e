"""Time zones, by the names of the tz database."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@lru_cache(maxsize=64)
def is_zone(name: str) -> bool:
    """Tells whether a time zone has this name.

    >>> is_zone("Europe/Berlin"), is_zone("Berlin"), is_zone("+02:00")
    (True, False, False)
    """
    try:
        return bool(name) and str(ZoneInfo(name)) == name
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
