"""Floating-point values as they are compared: the last bits of a sum depend on the order of its terms."""

from __future__ import annotations

from typing import Any

DIGITS = 9


def rounded(value: Any) -> Any:
    """A value that can be compared: NaN with itself, and floating-point values to so many significant digits.

    >>> rounded({"sum": 0.1 + 0.2, "parts": [1, None]})
    {'sum': '0.3', 'parts': [1, None]}
    """
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return {str(key): rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return value
