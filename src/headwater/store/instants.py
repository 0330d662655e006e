"""DATE, TIME, TIMESTAMP and TIMESTAMP_NTZ as text: ISO 8601, as the date functions of SQLite and PostgreSQL read it.

    2026-01-01    10:30:00    2026-01-01 10:30:00    2026-01-01 10:30:00.250    2026-01-01 10:30:00.250125

A TIMESTAMP is in UTC. The fraction has no digits for whole seconds, three for whole milliseconds, else six: each
instant has one spelling, and within the years 1 to 9999 text sorts as time does. Other years are written with a sign
and at least five digits (`+12026-01-01`); they are exact, but sort elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.unfit import Unfit

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31 in days since 1970."""
DAY = 86_400_000_000
SECOND, MILLISECOND = 1_000_000, 1_000
UNITS = ("s", "ms", "us")
"""Without digits of the second, with three, with six."""
LOCAL = pa.timestamp("us")
MIDNIGHT = "1970-01-01 "
"""A time of day is spelled as a timestamp of that day without its date."""
SAMPLE = 1_000
"""The number of values that are looked at to tell whether most are different."""
FEW = 50
"""So few values, as a read by key has, are spelled faster than it is found out which of them are different."""


def encode(array: pa.Array) -> list[Any]:
    """The values as text. Where they come many times, as those of a window do, each is spelled once."""
    if len(array) <= FEW or _seldom_repeats(array):
        return _texts(array)
    distinct = array.dictionary_encode()
    texts = [*_texts(distinct.dictionary), None]
    positions = distinct.indices.fill_null(len(texts) - 1).to_numpy().tolist()
    return list(map(texts.__getitem__, positions))


def _seldom_repeats(array: pa.Array) -> bool:
    """Tells whether most values are different, by a sample of many."""
    if len(array) <= SAMPLE:
        return False
    sample = array.take(pa.array(np.arange(0, len(array), len(array) // SAMPLE)))
    return bool(pc.count_distinct(sample).as_py() > len(sample) // 2)


def _texts(array: pa.Array) -> list[Any]:
    if pa.types.is_date32(array.type):
        days = array.cast(pa.int32()).cast(pa.int64())
        return _spelled(array, days, FIRST_DAY, LAST_DAY, lambda: array.cast(pa.string()).to_pylist())
    if pa.types.is_time64(array.type):
        texts = _timestamps(array.cast(pa.int64()).cast(LOCAL))
        return [text and text.removeprefix(MIDNIGHT) for text in texts]
    local = array.cast(pa.int64()).cast(LOCAL)
    return _spelled(
        local, array.cast(pa.int64()), FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1, lambda: _timestamps(local)
    )


def _spelled(array: pa.Array, numbers: pa.Array, least: int, most: int, spell: Callable[[], list[Any]]) -> list[Any]:
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is None or (bounds["min"] >= least and bounds["max"] <= most):
        return spell()
    unit = _unit(array.type)
    return [None if value is None else _distant(np.datetime64(value, unit)) for value in numbers.to_pylist()]


def _timestamps(local: pa.Array) -> list[Any]:
    """Spelled with as many digits of the second as each value needs: all as most of them are, then the others."""
    count = local.cast(pa.int64()).fill_null(0).to_numpy()
    needed = np.where(count % SECOND == 0, 0, np.where(count % MILLISECOND == 0, 1, 2))
    usual = int(np.bincount(needed, minlength=len(UNITS)).argmax())
    texts = _in_unit(local, UNITS[usual])
    for digits, unit in enumerate(UNITS):
        positions = [] if digits == usual else np.flatnonzero(needed == digits).tolist()
        others = _in_unit(local.take(pa.array(positions)), unit) if positions else []
        for position, text in zip(positions, others, strict=True):
            texts[position] = text
    return texts


def _in_unit(local: pa.Array, unit: str) -> list[Any]:
    texts: list[Any] = local.cast(pa.timestamp(unit), safe=False).cast(pa.string()).to_pylist()
    return texts


def _distant(value: np.datetime64) -> str:
    """A value of any year."""
    text = str(value).replace("T", " ")
    year, rest = text[1:].split("-", 1) if text.startswith("-") else text.split("-", 1)
    sign = "-" if text.startswith("-") else "+"
    spelled = f"{year}-{rest}" if sign == "+" and 1 <= int(year) <= 9999 else f"{sign}{int(year):05}-{rest}"
    for zeros in (".000000", "000"):
        if "." in spelled and spelled.endswith(zeros):
            return spelled.removesuffix(zeros)
    return spelled


def _unit(kind: pa.DataType) -> Literal["D", "us"]:
    return "D" if pa.types.is_date32(kind) else "us"


def decode(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The values that `encode` made these texts of."""
    try:
        texts = pa.array(values, pa.string())
        if pa.types.is_time64(kind):
            return pc.binary_join_element_wise(pa.scalar(MIDNIGHT), texts, "").cast(LOCAL).cast(pa.int64()).cast(kind)
        if pc.any(pc.or_(pc.starts_with(texts, "+"), pc.starts_with(texts, "-"))).as_py():
            return _decode_distant(values, kind)
        return texts.cast(kind) if pa.types.is_date32(kind) else texts.cast(LOCAL).cast(pa.int64()).cast(kind)
    except (pa.ArrowException, TypeError, ValueError) as cause:
        raise Unfit(kind) from cause


def _decode_distant(values: list[Any], kind: pa.DataType) -> pa.Array:
    is_date = pa.types.is_date32(kind)
    unit = _unit(kind)
    texts = [None if text is None else text.removeprefix("+").replace(" ", "T") for text in values]
    numbers = [None if text is None else int(np.datetime64(text, unit).astype(np.int64)) for text in texts]
    return pa.array(numbers, pa.int32() if is_date else pa.int64()).cast(kind)
