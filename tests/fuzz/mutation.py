"""Mutations: what is valid, made invalid in the ways in which bytes go wrong or are made to."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

NUMBERS = [0, 1, -1, -5, 7, 2**15, 2**16, 2**20, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)]
TOKENS = [
    b"1e-999999999", b"1e999999999", b"0e-99", b"5e-41", b"9" * 400, b"-0.0", b"NaN", b"-Infinity", b"null", b"[" * 150,
    b"{" * 20, b']', b'}', b'"', b"\\", b"\\u0000", b"\\ud800", b"\x00", b"\xff\xfe", b",", b"\n", b"\r\n", b'""',
    b"2024-01-01T00:00:00Z", b"9999-99-99", b"0001-01-01T00:00:00+23:59", b"\xef\xbb\xbf", b"true", b"1.0", b'{"a":1}',
]  # fmt: skip


def mutate(random: Random, corpus: Sequence[bytes], *, binary: bool) -> bytes:
    """One of the corpus with one to four things wrong."""
    found = bytearray(random.choice(corpus))
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        if found:
            _spoil(random, found, corpus, binary)
    return bytes(found)


def _spoil(random: Random, found: bytearray, corpus: Sequence[bytes], binary: bool) -> None:
    at = random.randrange(len(found))
    match random.randrange(10 if binary else 8):
        case 0:
            found[at] ^= 1 << random.randrange(8)
        case 1:
            found[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
        case 2:
            del found[at:]
        case 3:
            del found[at : at + random.choice([1, 2, 8, 64])]
        case 4:
            piece = found[at : at + random.choice([1, 8, 64, 512])]
            found[at:at] = piece * random.choice([1, 2, 50])
        case 5:
            other = random.choice(corpus)
            found[at:] = other[random.randrange(len(other)) :] if other else b""
        case 6 | 7:
            token = random.choice(TOKENS)
            found[at : at + random.choice([0, 1, len(token)])] = token
        case 8:
            at -= at % 4
            struct.pack_into("<i", found, min(at, max(0, len(found) - 4)), _fitting(random, 31)) if len(
                found
            ) > 4 else 0
        case _:
            at -= at % 8
            struct.pack_into("<q", found, min(at, max(0, len(found) - 8)), _fitting(random, 63)) if len(
                found
            ) > 8 else 0


def _fitting(random: Random, bits: int) -> int:
    number = random.choice([*NUMBERS, random.getrandbits(bits), random.randrange(1000)])
    return max(-(2**bits), min(2**bits - 1, number))
