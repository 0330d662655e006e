"""Decimals, exactly: a number fits DECIMAL(p, s) if it can be written with p digits of which s are behind the point.

Arrow's own casts can't be asked that: what has more digits than its integers wraps around (a number of 39 digits may
become 5.00), and an exponent far below zero reads memory that isn't there, or ends the process. They are right within
bounds, and only what is within them comes to them. The rest is *spelled* anew first: without an exponent, and with as
many digits as the type has.
"""

from __future__ import annotations

import re
from decimal import MAX_PREC, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_DIGITS = 38
"""The most digits that a decimal has."""
_WIDEST = 76
"""The digits of Arrow's widest decimal; between it and ours nothing wraps around."""
_MOST_BYTES = 32
"""So many bytes hold the digits of the widest decimal; to turn many more into digits takes minutes."""
_EXACT = Context(prec=MAX_PREC)
_NUMBER = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?(?:[eE]([+-]?[0-9]++))?")
_LONGEST_EXPONENT = 9
"""Digits of an exponent beyond which only zero can be meant: no text is so long that it would make up for it."""


def spell_decimal(text: str, kind: pa.DataType) -> str | None:
    """The number as a cast to the type can take it; None if it doesn't fit exactly, or is no number.

    >>> money = pa.decimal128(12, 2)
    >>> spell_decimal("-1250e-2", money), spell_decimal("0e999999999999", money), spell_decimal("5e-41", money)
    ('-12.50', '0.00', None)
    """
    number = _NUMBER.fullmatch(text)
    if number is None or not (number[2] or number[3]):
        return None
    digits = (number[2] + (number[3] or "")).lstrip("0")
    power = (number[4] or "0").lstrip("+")
    if not digits:
        return _with_point("", "0", kind.scale)
    if len(power.lstrip("-0")) > _LONGEST_EXPONENT:
        return None
    kept = digits.rstrip("0")
    zeros = int(power) - len(number[3] or "") + len(digits) - len(kept) + kind.scale
    if zeros < 0 or len(kept) + zeros > kind.precision:
        return None
    return _with_point(number[1], kept + "0" * zeros, kind.scale)


def _with_point(sign: str, unscaled: str, scale: int) -> str:
    padded = unscaled.rjust(scale + 1, "0")
    return f"{sign}{padded[:-scale]}.{padded[-scale:]}" if scale else f"{sign}{padded}"


def spell_decimals(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The texts as `texts.cast(kind)` can be trusted with them; NULL where a number doesn't fit the type exactly.

    What is short and has no exponent is left as it is, number or not: the cast tells.
    """
    odd = pc.greater(pc.binary_length(texts), MOST_DIGITS - kind.scale)
    if _may_have_exponents(texts):
        odd = pc.or_(odd, pc.or_(pc.match_substring(texts, "e"), pc.match_substring(texts, "E")))
    if not odd.true_count:
        return texts
    odd = odd.fill_null(False)
    spelled = [spell_decimal(text, kind) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(texts, odd, pa.array(spelled, pa.string()))


def _may_have_exponents(texts: pa.Array) -> bool:
    _, offsets, held = texts.buffers()
    if held is None:
        return False
    bounds = np.frombuffer(offsets, np.int32)
    content = held.slice(bounds[texts.offset], bounds[texts.offset + len(texts)] - bounds[texts.offset]).to_pybytes()
    return b"e" in content or b"E" in content


def rescale(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimals as those of another type; ArrowInvalid if one doesn't fit exactly."""
    if not -MOST_DIGITS <= array.type.scale <= _WIDEST:
        raise pa.ArrowInvalid(f"a decimal can't have {array.type.scale} digits behind the point")
    return array.cast(pa.decimal256(_WIDEST, array.type.scale)).cast(kind)


def decimal_of(unscaled: bytes, scale: int) -> Decimal:
    """The decimal that Avro, Debezium and Protobuf write as a whole number in two's complement, and a scale.

    >>> decimal_of(b"\\x04\\xe2", 2)
    Decimal('12.50')
    """
    number = int.from_bytes(unscaled, "big", signed=True)
    if number.bit_length() > 8 * _MOST_BYTES:
        raise ValueError(f"a decimal has more than {_MOST_BYTES} bytes")
    return Decimal(number).scaleb(-scale, _EXACT)
