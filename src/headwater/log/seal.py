"""Seals: the checksum that an entry of the log carries of itself, and the one that a data file has in its name.

An entry's *seal* is a hash of all of its bytes, the digits of the seal itself taken as zeros; it stands at the end of
the entry's first line. The entry after it names that seal, and is sealed with it: so a seal vouches for every entry
before. An entry without one, written before there were seals or by another tool, is known by the hash of its bytes.

A data file's name ends in the CRC-32 of its bytes: whoever knows the name, from an entry, a checkpoint or a listing,
can check the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

SEAL = "headwaterSeal"
"""The name of the seal in an entry's `commitInfo`."""
_DIGITS = 32
_BLANK = "0" * _DIGITS
_SEALED = re.compile(rb'"headwaterSeal":"([0-9a-f]{32})"\}\}(?=\n|$)')
_NAMED = re.compile(r"-([0-9a-f]{8})\.parquet$")


def seal(info: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]) -> tuple[bytes, str]:
    """The bytes of an entry, and the seal that they end their first line with."""
    first = json.dumps({"commitInfo": {**info, SEAL: _BLANK}}, separators=(",", ":"))
    rest = "".join(f"\n{json.dumps(action, separators=(',', ':'))}" for action in actions)
    digits = _hash(f"{first}{rest}".encode())
    return f"{first[: -len(_BLANK) - 3]}{digits}{first[-3:]}{rest}".encode(), digits


def seal_of(data: bytes) -> tuple[str, str] | None:
    """The seal that an entry carries, and the one that its bytes have; None in one without."""
    end = data.find(b"\n")
    line = data if end < 0 else data[:end]
    sealed = _SEALED.search(line, max(0, len(line) - _DIGITS - len(SEAL) - 8))
    if sealed is None:
        return None
    blank = data[: sealed.start(1)] + _BLANK.encode() + data[sealed.end(1) :]
    return sealed[1].decode(), _hash(blank)


def hash_of(data: bytes) -> str:
    """The hash that an entry without a seal is known by."""
    return _hash(data)


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_DIGITS // 2).hexdigest()


def checksum(data: Any, before: int = 0) -> int:
    """The CRC-32 of bytes, or of those that follow others.

    Chosen by measurement: 4.2 GB/s, SHA-256 1.7, BLAKE2b 0.9 (docs/design/20261118_log-integrity.md).
    """
    return zlib.crc32(data, before)


def noted(kind: str, text: str) -> bytes:
    """A note beside the log: what kind it is, a text, and the checksum of both."""
    spelled = f"{kind} {text}"
    return f"{spelled} {checksum(spelled.encode()):08x}\n".encode()


def read_note(kind: str, data: bytes | None) -> str | None:
    """The text of a note; None if there is none of its kind, or not as it was written.

    >>> read_note("head", noted("head", "7")), read_note("head", b"head 8 00000000")
    ('7', None)
    """
    spelled, _, digits = (data or b"").decode("utf-8", "replace").rstrip("\n").rpartition(" ")
    told, _, text = spelled.partition(" ")
    return text if told == kind and digits == f"{checksum(spelled.encode()):08x}" else None


def named(stem: str, data: Any) -> str:
    """The name of a data file: its checksum is the end of it.

    >>> named("7", b"rows")
    '7-0a8bf4a1.parquet'
    """
    return f"{stem}-{checksum(data):08x}.parquet"


def checksum_in(path: str) -> int | None:
    """The checksum that a file's name says it has; None in one from before there were checksums.

    >>> checksum_in("7-0a8bf4a1.parquet")
    176944289
    """
    matched = _NAMED.search(path)
    return int(matched[1], 16) if matched else None
