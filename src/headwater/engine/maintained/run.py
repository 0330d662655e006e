"""Runs: rows in the order of the hash of their key, so that those of some keys are found without reading the others.

A *key* is a text that rows share or are told apart by (see `difference.texts_of`). Its hash decides nothing but the
place: two keys may have the same one, and whoever asks for one of them compares the keys themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

HASH, KEY = "__hash", "__key"
_FACTOR, _SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
_MANY = 1 << 18
"""The most keys that are hashed at once."""

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Run:
    """Rows with their keys and hashes, ordered by these; in a `file`, or in memory."""

    rows: pa.Table
    file: Path | None = None

    @classmethod
    def of(cls, keys: pa.Array, rows: pa.Table) -> Run:
        """The rows in order, each with its key."""
        hashes = hashes_of(keys)
        order = np.argsort(hashes, kind="stable")
        found = rows.append_column(HASH, pa.array(hashes)).append_column(KEY, keys)
        return cls(found.take(order).combine_chunks())

    @cached_property
    def hashes(self) -> Hashes:
        """The hashes of its keys, in order."""
        found: Hashes = self.rows[HASH].to_numpy()
        return found

    def found(self, keys: pa.Array, hashes: Hashes) -> pa.Table:
        """The rows of some keys, which have these hashes."""
        wanted = np.unique(hashes)
        first, last = (np.searchsorted(self.hashes, wanted, side) for side in ("left", "right"))
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.rows.take(np.repeat(first, counts) + within)
        return rows.filter(pc.is_in(rows[KEY], value_set=keys))

    def merged(self, newer: Run, *, unique: bool) -> Run:
        """These rows and newer ones; where keys are `unique`, a newer row takes the place of the older one."""
        older = self.rows
        if unique:
            older = older.filter(pc.invert(pc.is_in(older[KEY], value_set=newer.rows[KEY].combine_chunks())))
        both = pa.concat_tables([older, newer.rows])
        order = np.argsort(both[HASH].to_numpy(), kind="stable")
        return Run(both.take(order).combine_chunks())


def hashes_of(keys: pa.Array) -> Hashes:
    """The hashes of texts, the same in every process.

    >>> some = hashes_of(pa.array(["a", "", "a"], pa.large_string()))
    >>> bool(some[0] == some[2] != some[1])
    True
    """
    parts = [_hashed(keys.slice(start, _MANY)) for start in range(0, len(keys), _MANY)]
    return np.concatenate(parts) if parts else np.array([], np.uint64)


def _hashed(keys: pa.Array) -> Hashes:
    """The bytes of each text as the digits of a number."""
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int64)[keys.offset : keys.offset + len(keys) + 1]
    lengths = np.diff(ends)
    places = np.arange(ends[-1] - ends[0]) - np.repeat(ends[:-1] - ends[0], lengths)
    weights = np.cumprod(np.full(max(int(lengths.max()), 1), _FACTOR), dtype=np.uint64)
    digits = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].astype(np.uint64) + np.uint64(1)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(digits * weights[places], dtype=np.uint64)])
    hashes = sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]]
    spread: Hashes = (hashes ^ (hashes >> np.uint64(32))) * _SPREAD
    return spread
