"""How messages are written: an encoder turns the key and the value of a change into bytes.

JSON is the format that there is. Instants are in ISO 8601, exact decimals are numbers with all their digits, bytes are
base64, and what isn't a number (NaN, Infinity) is its name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headwater.intake.encode import spell
from headwater.model import Outlet


class Encoder(Protocol):
    """Writes messages in one format. Called once for each change; what it gives depends on its arguments alone."""

    content_type: str
    """What HTTP calls the format."""

    def key(self, columns: Mapping[str, Any]) -> bytes:
        """The key of a message: the key columns of a row. Equal columns give equal bytes."""

    def value(self, value: Mapping[str, Any]) -> bytes:
        """The value of a message: a row, or an envelope with rows in it."""

    def together(self, values: Sequence[bytes]) -> bytes:
        """Several values as one text."""


class JsonEncoder:
    """Writes JSON objects.

    >>> from decimal import Decimal
    >>> JsonEncoder().value({"spent": Decimal("9.50"), "ratio": float("nan")})
    b'{"spent":9.50,"ratio":"NaN"}'
    """

    content_type = "application/json"

    def key(self, columns: Mapping[str, Any]) -> bytes:
        """The columns by name."""
        return self.value(columns)

    def value(self, value: Mapping[str, Any]) -> bytes:
        """The members in their order."""
        text = spell(value)
        if "NaN" in text or "Infinity" in text:
            text = spell(_finite(value))
        return text.encode("utf-8", "surrogatepass")

    def together(self, values: Sequence[bytes]) -> bytes:
        """An array of them."""
        return b"[" + b",".join(values) + b"]"


def encoder_of(outlet: Outlet) -> Encoder:
    """The encoder of the format that an outlet declares."""
    return {"json": JsonEncoder}[outlet.format]()


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Mapping():
            return {name: _finite(found) for name, found in value.items()}
        case list() | tuple():
            return [_finite(found) for found in value]
        case _:
            return value
