"""Headers of Arrow's messages: how much a message will take, read before any of it is believed.

A header is a *table* of FlatBuffers, read here no further than what has to be known: how many rows a batch says it has,
how many values its columns have together, and how many bytes its buffers are once they are decompressed. In a
compressed batch each buffer begins with that number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SCHEMA, DICTIONARY, BATCH = 1, 2, 3
"""The kinds of messages that a stream is made of."""
_PREFIX = 8
"""Bytes before a compressed buffer that say how many it will be; -1 if it is not compressed after all."""


@dataclass(frozen=True)
class Header:
    """A message's own account of itself."""

    kind: int
    little_endian: bool = True
    rows: int = 0
    values: int = 0
    bytes: int = 0


class _Table:
    """A table of FlatBuffers; a field that isn't there is what its schema says instead."""

    def __init__(self, held: bytes, at: int) -> None:
        self._held, self._at = held, at
        self._offsets = at - self._number("<i", at)

    @classmethod
    def root(cls, held: bytes) -> _Table:
        return cls(held, struct.unpack_from("<I", held)[0])

    def number(self, field: int, form: str) -> int:
        at = self._offset_of(field)
        return self._number(form, at) if at else 0

    def table(self, field: int) -> _Table | None:
        at = self._offset_of(field)
        return _Table(self._held, at + self._number("<I", at)) if at else None

    def pairs(self, field: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """A vector of structs of two numbers each."""
        at = self._offset_of(field)
        if not at:
            return np.zeros((0, 2), np.int64)
        begin = at + self._number("<I", at)
        count = self._number("<I", begin)
        return np.frombuffer(self._held, np.int64, 2 * count, begin + 4).reshape(count, 2)

    def _offset_of(self, field: int) -> int:
        """Where a field is; 0 if it isn't there."""
        slot = 4 + 2 * field
        offset = self._number("<H", self._offsets + slot) if slot < self._number("<H", self._offsets) else 0
        return self._at + offset if offset else 0

    def _number(self, form: str, at: int) -> int:
        if at < 0:
            raise ValueError("a header points before its beginning")
        number: int = struct.unpack_from(form, self._held, at)[0]
        return number


def header_of(message: pa.ipc.Message) -> Header:
    """The header of a message; ValueError or `struct.error` if it makes no sense."""
    root = _Table.root(message.metadata.to_pybytes())
    kind, header = root.number(1, "<B"), root.table(2)
    if header is None:
        raise ValueError("a message has no header")
    if kind == SCHEMA:
        return Header(kind, little_endian=header.number(0, "<h") == 0)
    batch = header.table(1) if kind == DICTIONARY else header
    if kind not in (DICTIONARY, BATCH) or batch is None:
        raise ValueError("a message is no part of a stream")
    lengths, buffers = batch.pairs(1)[:, 0], batch.pairs(2)
    rows = batch.number(0, "<q")
    if rows < 0 or (lengths < 0).any() or (buffers < 0).any():
        raise ValueError("a length is negative")
    sizes = buffers[:, 1] if batch.table(3) is None else _decompressed(message.body, buffers)
    return Header(kind, rows=rows, values=sum(lengths.tolist()), bytes=sum(sizes.tolist()))


def _decompressed(body: pa.Buffer | None, buffers: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> np.ndarray[
    tuple[int], np.dtype[np.int64]
]:  # fmt: skip
    """The bytes that each buffer of a compressed batch will be."""
    held = memoryview(body) if body is not None else memoryview(b"")
    sizes = buffers[:, 1].copy()
    for at, (offset, length) in enumerate(buffers.tolist()):
        if length:
            (size,) = struct.unpack_from("<q", held[: offset + length], offset)
            if size < -1:
                raise ValueError("a length is negative")
            sizes[at] = length - _PREFIX if size == -1 else size
    return sizes
