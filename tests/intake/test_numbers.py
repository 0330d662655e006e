"""A number fits a column exactly or is a dead letter, however it is written and whatever it came in.

Python's decimals, which have no bounds, say what fits.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.intake import Decoder, read_file
from headwater.intake.kafka.debezium import _decimal as debezium_decimal
from headwater.model import Column, decimal_of, default_of
from headwater.model.decimals import rescale, spell_decimal
from tests.intake.topics import decoder_of, stream_of

EXACT = Context(prec=10_000, Emin=MIN_EMIN, Emax=MAX_EMAX)
MONEY = pa.decimal128(12, 2)
KINDS = [MONEY, *(pa.decimal128(*size) for size in ((38, 0), (38, 10), (38, 18), (38, 38), (5, 5), (1, 0)))]
CRASHED = ["1e-999999999", "0e-999999999", "-1e-2147483648", "1e-99"]
"""What ended the process in Arrow's cast, or made it read memory that isn't there."""
WRAPPED = ["340282366920938463463374607431768211461", "052", "5e-41", "5e-42", "1e40", "1e+999999999", "1" * 5_000]
"""What Arrow's cast made another number of, or decided now this way and now that."""
FITTING = ["0e40", "1." + "0" * 50, "1" + "0" * 60 + "e-60", "0." + "0" * 40 + "1e41", "00012.50", "-0e-999999999999"]


def fits(text: str, kind: pa.DataType) -> Decimal | None:
    number = Decimal(text).normalize(EXACT)
    exponent = number.as_tuple().exponent
    fitting = not number or (int(exponent) >= -kind.scale and number.adjusted() + kind.scale < kind.precision)
    return number if fitting else None


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """Numbers as JSON spells them: short and long, with many zeros and with exponents."""
    digits = st.text("0123456789", max_size=45) | st.text("01", max_size=45)
    whole = draw(digits).lstrip("0") or "0"
    fraction = draw(st.none() | digits.filter(bool))
    power = draw(st.none() | st.integers(-80, 80) | st.sampled_from([-999_999, 999_999, 1_000_000]))
    sign = draw(st.sampled_from(["", "-"]))
    written = "" if power is None else draw(st.sampled_from("eE")) + str(power)
    return f"{sign}{whole}{'' if fraction is None else '.' + fraction}{written}"


def json_number(decoder: Decoder, text: str) -> Any:
    return decoder.decode(f'{{"a": {text}}}')


def json_string(decoder: Decoder, text: str) -> Any:
    return decoder.decode(f'{{"a": "{text}"}}')


def json_block(decoder: Decoder, text: str) -> Any:
    """Among so many lines that Arrow's reader is asked."""
    return decoder.decode("\n".join(['{"a": null}'] * 40 + [f'{{"a": {text}}}', f'{{"a":"{text}"}}', '{"a": 0}']))


def json_escaped(decoder: Decoder, text: str) -> Any:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in text)
    return decoder.decode("\n".join(['{"a": null}'] * 40 + [f'{{"a": "{escaped}"}}']))


def csv_field(decoder: Decoder, text: str) -> Any:
    (chunk,) = read_file(BytesIO(f"a,b\n{text},\n".encode()), "csv")
    return decoder.decode(chunk)


def arrow_string(decoder: Decoder, text: str) -> Any:
    return decoder.decode(pa.table({"a": [text]}))


def python_decimal(decoder: Decoder, text: str) -> Any:
    return decoder.decode([{"a": Decimal(text)}])


DOORS = [json_number, json_string, json_block, json_escaped, csv_field, arrow_string, python_decimal]
Door = Callable[[Decoder, str], Any]


def check(door: Door, text: str, kind: pa.DataType) -> None:
    decoded = door(decoder_of(kind), text)
    came = [value for value in decoded.rows["a"].to_pylist() if value is not None]
    expected = fits(text, kind)
    if expected is None:
        assert decoded.dead.num_rows >= 1 and set(came) <= {Decimal(0)}, (came, decoded.dead.to_pylist())
    else:
        assert not decoded.dead.num_rows and came and set(came) <= {expected, Decimal(0)}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("text", [*CRASHED, *WRAPPED, *FITTING], ids=lambda text: text[:30])
def test_odd_numbers_fit_exactly_or_are_dead_letters(door: Door, text: str) -> None:
    if door in (json_number, json_block) and text != "0" and text[0] == "0" and text[1:2].isdigit():
        return  # JSON has no leading zeros
    for kind in KINDS:
        check(door, text, kind)


@given(numbers(), st.sampled_from(KINDS), st.sampled_from(DOORS))
@example("5e-41", MONEY, json_block)
def test_any_number_fits_exactly_or_is_a_dead_letter(text: str, kind: pa.DataType, door: Door) -> None:
    check(door, text, kind)


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38), st.sampled_from(KINDS))
@example(82, 0, pa.decimal128(38, 38))
def test_a_decimal_of_another_scale_fits_exactly_or_is_a_dead_letter(units: int, scale: int, kind: pa.DataType) -> None:
    number = EXACT.scaleb(Decimal(units), -scale)
    decoded = decoder_of(kind).decode(pa.table({"a": pa.array([number], pa.decimal128(38, scale))}))
    expected = fits(str(number), kind)
    assert decoded.rows["a"].to_pylist() == ([] if expected is None else [expected])


@pytest.mark.parametrize("scale", [-999_999_999, -39, 77, 2_147_483_647])
def test_a_decimal_type_that_nobody_has_fits_nothing(scale: int) -> None:
    odd = pa.Array.from_buffers(pa.decimal128(5, scale), 1, [None, pa.py_buffer((7).to_bytes(16, "little"))])
    with pytest.raises(pa.ArrowInvalid, match="behind the point"):
        rescale(odd, MONEY)


@given(st.integers(-(2**70), 2**70))
def test_a_whole_number_of_any_length_fits_an_integer_exactly_or_is_a_dead_letter(number: int) -> None:
    for text in (str(number), f"{number}.0", f"{number}e0", f"{number}.0e0"):
        decoded = decoder_of(pa.int64()).decode(f'{{"a": {text}}}')
        assert decoded.rows["a"].to_pylist() == ([number] if -(2**63) <= number < 2**63 else [])


def test_numbers_in_nested_values_are_held_to_the_same_rule() -> None:
    decoder = Decoder(stream_of(Column("a", pa.list_(pa.struct([("b", MONEY)]))), Column("m", pa.map_(MONEY, MONEY))))
    texts = [*CRASHED, *WRAPPED, "2.5"]
    rows = [{"a": [{"b": text}], "m": {text: "1"}} for text in texts if text != "052"]
    decoded = decoder.decode("\n".join([json.dumps(row) for row in rows] * 20))
    assert decoded.dead.num_rows == 20 * 9 and decoded.rows.num_rows == 20 * 2  # zero is zero, by any exponent


def test_a_default_is_held_to_the_same_rule() -> None:
    assert default_of("1e1", MONEY).as_py() == Decimal("10.00")
    for text in ("1e-999999999", "5e-41", "340282366920938463463374607431768211461"):
        with pytest.raises(ValueError, match="doesn't fit"):
            default_of(text, MONEY)


def test_bytes_of_a_decimal_are_not_rounded_and_not_too_many() -> None:
    digits = (123456789012345678901234567890123).to_bytes(16, "big")
    assert str(decimal_of(digits, 2)) == "1234567890123456789012345678901.23"
    field = {"field": "a", "parameters": {"scale": "2"}}
    assert debezium_decimal(b64encode(digits).decode(), field) == decimal_of(digits, 2)
    with pytest.raises(ValueError, match="more than 32 bytes"):
        decimal_of(b"\x7f" * 1_000_000, 2)


def test_a_number_of_millions_of_digits_is_decided_at_once() -> None:
    assert spell_decimal("1" + "0" * 3_000_000 + "e-3000000", MONEY) == "1.00"
    assert spell_decimal("1" * 3_000_000 + "x", MONEY) is None
