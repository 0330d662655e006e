"""Kept values as JSON has them, without a detour: what is kept is near to what is shown.

Each function takes values that a codec has encoded, and gives what `headwater.store.plain` gives for the decoded ones.
It looks whether they are of the kinds that the codec keeps, not at each value as decoding does; `None` in place of a
list says that some are not, or that there is no short way for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from headwater.store.plain import spell_bytes

Values = Sequence[Any]
Plain = Callable[[Values], Values | None]
"""Values as JSON has them; None if there is no short way."""
_PLAIN_SCALE = 6
"""A decimal of more digits behind the point may be spelled with an exponent."""
_NOTHING = type(None)
_DATE, _TIMES, _TIMESTAMPS = (10,), (8, 12, 15), (19, 23, 26)
"""The lengths of texts: without a fraction of the second, with three digits of it, with six."""


def shortcut(kind: pa.DataType, wide: bool) -> Plain:
    """The short way for a type, of which `wide` tells whether some of its numbers are kept as texts."""
    if pa.types.is_timestamp(kind):
        return partial(_instants, lengths=_TIMESTAMPS, offset="+00:00" if kind.tz else "")
    if pa.types.is_date32(kind):
        return partial(_instants, lengths=_DATE, offset="")
    if pa.types.is_time64(kind):
        return partial(_instants, lengths=_TIMES, offset="")
    if pa.types.is_decimal128(kind) and not wide and 0 <= kind.scale <= _PLAIN_SCALE:
        return partial(_decimals, spell=f"%.{kind.scale}f") if kind.scale else _whole
    if pa.types.is_integer(kind):
        return partial(_as_they_are, kinds=frozenset({int, _NOTHING}))
    return _BY_KIND.get(kind, _none)


def _none(_: Values) -> None:
    return None


def _as_they_are(values: Values, kinds: frozenset[type]) -> Values | None:
    return values if kinds.issuperset(map(type, values)) else None


def _booleans(values: Values) -> Values | None:
    return [value if value is None else value == 1 for value in values] if _are(values, int) else None


def _bytes(values: Values) -> Values | None:
    return [value if value is None else spell_bytes(value) for value in values] if _are(values, bytes) else None


def _doubles(values: Values) -> Values | None:
    """Numbers but for the infinities; NaN is kept by its name."""
    if not {float, str, _NOTHING}.issuperset(map(type, values)):
        return None
    return values if all(value is None or value == "NaN" or _is_finite(value) for value in values) else None


def _is_finite(value: Any) -> bool:
    return type(value) is float and value - value == 0


def _whole(values: Values) -> Values | None:
    return [value if value is None else str(value) for value in values] if _are(values, int) else None


def _decimals(values: Values, spell: str) -> Values | None:
    """Doubles that stand for a decimal of so many digits, each for the one that gives it back."""
    if not {float, int, _NOTHING}.issuperset(map(type, values)):
        return None
    texts = [None if value is None else spell % value for value in values]
    exact = all(text is None or float(text) == value for text, value in zip(texts, values, strict=True))
    return texts if exact else None


def _instants(values: Values, lengths: tuple[int, ...], offset: str) -> Values | None:
    """Texts of the years 1 to 9999: others begin with a sign."""
    if not _are(values, str) or any(value is not None and value < "0" for value in values):
        return None
    ends = {length: f"{'000' if number == 1 else ''}{offset}" for number, length in enumerate(lengths)}
    try:
        return [value if value is None else value.replace(" ", "T") + ends[len(value)] for value in values]
    except KeyError:
        return None


def _are(values: Values, kind: type) -> bool:
    return {kind, _NOTHING}.issuperset(map(type, values))


_BY_KIND: Mapping[pa.DataType, Plain] = {
    pa.string(): partial(_as_they_are, kinds=frozenset({str, _NOTHING})),
    pa.binary(): _bytes,
    pa.bool_(): _booleans,
    pa.float64(): _doubles,
    pa.float32(): _doubles,
}
