"""Confluent's wire format: a zero byte, the number of the schema in four bytes, and what was written with it."""

from __future__ import annotations

MAGIC = 0
HEAD = 5
"""The number of bytes that come before what was written."""


def head_of(number: int) -> bytes:
    """The header of what was written with the schema of this number.

    >>> head_of(7)
    b'\\x00\\x00\\x00\\x00\\x07'
    """
    return bytes([MAGIC]) + number.to_bytes(HEAD - 1, "big")
