"""Columns under former names and with defaults, in every form that events come in."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headwater.errors import ArgumentRefused
from headwater.intake import Decoded, Decoder, read_file
from headwater.model import Table, Topic
from headwater.sql import parse_declarations

STREAM = """CREATE STREAM payments (
    id STRING NOT NULL ALIAS (payment, payment_id), n INT NOT NULL DEFAULT 1, tags ARRAY<STRING> DEFAULT '["new"]')"""


def decoder(text: str = STREAM) -> Decoder:
    (topic,) = parse_declarations(text, "payments.sql").declarations
    assert isinstance(topic, Topic)
    return Decoder(topic)


def lines(*texts: str) -> Callable[[Decoder], Decoded]:
    return lambda to: to.decode("\n".join(texts))


def csv(text: str) -> Callable[[Decoder], Decoded]:
    def decode(to: Decoder) -> Decoded:
        (chunk,) = read_file(io.BytesIO(text.encode()), "csv", 100)
        return to.decode(chunk)

    return decode


@pytest.mark.parametrize(
    "given",
    [
        lines('{"payment": "a"}', '{"payment_id": "b", "n": 2}', '{"id": "c", "payment": "x", "tags": []}'),
        lines(*['{"payment": "a"}', '{"payment_id": "b", "n": 2}', '{"id": "c", "payment": "x", "tags": []}'] * 20),
        lambda to: to.decode(
            [{"payment": "a"}, {"payment_id": "b", "n": 2, "tags": None}, {"id": "c", "payment": "x", "tags": []}]
        ),
        lambda to: to.decode(
            pa.table({"payment": ["a", None, "x"], "payment_id": [None, "b", None], "id": [None, None, "c"],
                      "n": [None, 2, None], "tags": pa.array([None, None, []], pa.list_(pa.string()))})
        ),
        csv("payment,payment_id,id,n,tags\na,,,,\n,b,,2,\nx,,c,,[]\n"),
    ],
    ids=["a few lines", "many lines", "mappings", "Arrow", "CSV"],
)  # fmt: skip
def test_a_value_may_come_under_a_former_name_and_none_is_the_default(given: Callable[[Decoder], Decoded]) -> None:
    decoded = given(decoder())
    assert decoded.dead["reason"].to_pylist() == []
    expected = [
        {"id": "a", "n": 1, "tags": ["new"]},
        {"id": "b", "n": 2, "tags": ["new"]},
        {"id": "c", "n": 1, "tags": []},
    ]
    assert decoded.rows.to_pylist() == expected * (decoded.rows.num_rows // 3)


def test_a_value_that_doesn_t_fit_is_told_under_the_name_that_it_came_with() -> None:
    decoded = decoder().decode([{"payment": 7}, {"id": "a", "payment": 7}, {"id": "b", "n": "two"}])
    assert decoded.rows["id"].to_pylist() == ["a"], "what stands under the name of today comes first"
    assert decoded.dead["reason"].to_pylist() == [
        'column "payment" is 7, which doesn\'t fit STRING',
        'column "n" is "two", which doesn\'t fit INT',
    ]


def test_a_header_with_a_former_name_is_a_header() -> None:
    assert csv("payment_id\na\n")(decoder()).rows.to_pylist() == [{"id": "a", "n": 1, "tags": ["new"]}]
    with pytest.raises(ArgumentRefused, match='has no column "id"'):
        csv("n\n1\n")(decoder())


def test_a_row_that_deletes_is_given_no_defaults() -> None:
    found = decoder("CREATE TABLE rates (code STRING PRIMARY KEY, rate DOUBLE NOT NULL DEFAULT 1)")
    assert isinstance(found.topic, Table)
    rows: list[dict[str, Any]] = [{"code": "EUR"}, {"code": "USD", "_op": "delete"}]
    assert found.decode(rows).rows.to_pylist() == [
        {"code": "EUR", "rate": 1.0, "_op": "upsert"},
        {"code": "USD", "rate": None, "_op": "delete"},
    ]
