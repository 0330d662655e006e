"""Values as JSON: instants in ISO 8601, exact decimals as text, bytes as base64, what isn't a number as its name."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from fastapi import Response

from headwater.model import spell_duration


def to_json(value: Any) -> bytes:
    """A value as JSON text.

    >>> to_json({"spent": Decimal("9.50"), "ratio": float("nan")})
    b'{"spent":"9.50","ratio":"NaN"}'
    """
    try:
        return _dump(value)
    except ValueError:  # a number that JSON doesn't have
        return _dump(_finite(value))


def _dump(value: Any) -> bytes:
    return json.dumps(value, default=_spell, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _spell(value: Any) -> Any:
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return spell_duration(value)
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return str(value)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {name: _finite(found) for name, found in value.items()}
        case list() | tuple():
            return [_finite(found) for found in value]
        case _:
            return value


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response in JSON."""
    return Response(to_json(value), status, headers, "application/json")
