"""Messages: JSON values that came one by one, decoded together."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from headwater.intake import Decoder
from headwater.intake.messages import Messages
from headwater.model import Column
from tests.intake.topics import stream_of

CLICKS = stream_of(Column("page", pa.string()), Column("n", pa.int32()), Column("who", pa.string()))
MANY = 100  # more than are read one by one


def messages(*values: bytes | None, **beside: pa.Array) -> Messages:
    return Messages(pa.array(values, pa.binary()), range(1000, 1000 + len(values)), beside)


@pytest.mark.parametrize("count", [1, MANY])
def test_a_message_may_hold_newlines(count: int) -> None:
    pretty = json.dumps({"page": "/", "n": 1}, indent=2).encode()
    decoded = Decoder(CLICKS).decode(messages(*[pretty, pretty + b"\n"] * count))
    assert (decoded.rows["page"].to_pylist(), decoded.dead.num_rows) == (["/"] * 2 * count, 0)


@pytest.mark.parametrize("count", [0, MANY])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the message has no value"),
        (b"", "the message has no value"),
        (b" \r\n\t", "the message has no value"),
        (b"{}\nnull", "the message is not JSON: extra data at character 4"),
        (b"{}\n{}", "the message is not JSON: extra data at character 4"),
        (b'{"page":\n"a', "the message is not JSON: unterminated string starting at character 10"),
        (b"\xff", "the message is not UTF-8"),
        (b"[\n]", "the message is an array, not an object"),
    ],
)
def test_a_poisoned_message_is_a_letter_with_its_number(value: bytes | None, reason: str, count: int) -> None:
    good = [b'{"page": "/"}'] * count
    decoded = Decoder(CLICKS).decode(messages(*good, value, *good), where="clicks[2]")
    assert decoded.rows.num_rows == 2 * count
    (letter,) = decoded.dead.to_pylist()
    assert (letter["reason"], letter["position"]) == (reason, f"clicks[2]:{1000 + count}")
    assert letter["bytes"] == (value or b"")


def test_columns_from_beside_the_values_follow_the_rows_that_were_kept() -> None:
    values = [b'{"page": "a", "who": "me"}', b"poison", b'{"page": "b"}']
    decoded = Decoder(CLICKS).decode(messages(*values, who=pa.array(["x", "y", None])))
    assert decoded.rows.to_pylist() == [{"page": "a", "n": None, "who": "x"}, {"page": "b", "n": None, "who": None}]
