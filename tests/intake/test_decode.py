"""What comes in becomes a row or a dead letter: the table of bad input, one test a line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused, WrongType
from headwater.intake import Decoded, Decoder
from headwater.intake.dead import Letter, table_of
from headwater.model import CONTENT, INSTANT, Column, Stream, Table
from headwater.model.letter import DEAD
from tests.intake.topics import ARRIVED_AT, ORDERS, PRICES, stream_of

NOON = "2024-01-01T12:00:00Z"
GOOD = f'{{"id": "o1", "amount": 12.50, "quantity": 2, "at": "{NOON}"}}'.encode()


def decode(decoder: Decoder, *lines: bytes) -> Decoded:
    return decoder.decode(b"\n".join(lines), source="till-1", where="orders.jsonl", arrived_at=ARRIVED_AT)


def only_letter(decoded: Decoded) -> dict[str, Any]:
    assert decoded.dead.num_rows == 1
    return decoded.dead.to_pylist()[0]


def test_a_good_line_becomes_a_row_in_the_declared_types(orders: Decoder) -> None:
    decoded = decode(orders, GOOD)
    assert decoded.dead.num_rows == 0
    assert decoded.rows.schema == pa.schema([*ORDERS.schema, pa.field("_id", pa.string())])
    assert decoded.rows.to_pylist() == [
        {
            "id": "o1", "customer": None, "amount": Decimal("12.50"), "quantity": 2, "weight": None,
            "at": datetime(2024, 1, 1, 12, tzinfo=UTC), "_id": "o1",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "error", "reason"),
    [
        pytest.param(b'{"id": "x", "quantity": "two", "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "quantity" is "two", which doesn\'t fit INT', id="a wrong type"),
        pytest.param(b'{"id": 7, "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "id" is 7, which doesn\'t fit STRING', id="a number for a string"),
        pytest.param(b'{"at": "2024-01-01T12:00:00Z"}', "missing-value",
                     'column "id" has no value and must have one', id="a missing required column"),
        pytest.param(b'{"id": "x", "at": ', "unreadable-event",
                     "the line is not JSON: expecting value at character 18", id="unparsable JSON"),
        pytest.param(b"hello", "unreadable-event",
                     "the line is not JSON: expecting value at character 1", id="not JSON at all"),
        pytest.param(b'{"id": "\xff", "at": "2024-01-01T12:00:00Z"}', "unreadable-event",
                     "the line is not UTF-8", id="invalid UTF-8"),
        pytest.param(b'{"id": "x", "other": "\xff", "at": "2024-01-01T12:00:00Z"}', "unreadable-event",
                     "the line is not UTF-8", id="invalid UTF-8 in a field that nobody reads"),
        pytest.param(b'{"id": "\\ud800", "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "id" is "\\ud800", which doesn\'t fit STRING', id="half a surrogate pair"),
        pytest.param(b'{"id": "x\x00y", "at": "2024-01-01T12:00:00Z"}', "unreadable-event",
                     "the line is not JSON: invalid control character at character 10", id="a NUL"),
        pytest.param(b'{"id": "x", "at": null}', "missing-value",
                     'column "at" has no value and must have one', id="a null event time"),
        pytest.param(b'{"id": "x", "at": "1969-12-31T23:59:59Z"}', "time-out-of-range",
                     'event time "at" is 1969-12-31 23:59:59.000000Z, which is not after 1970-01-01 00:00:00 UTC',
                     id="an event time before 1970"),
        pytest.param(b'{"id": "x", "at": "1970-01-01T00:00:00Z"}', "time-out-of-range",
                     'event time "at" is 1970-01-01 00:00:00.000000Z, which is not after 1970-01-01 00:00:00 UTC',
                     id="an event time at 1970"),
        pytest.param(b'{"id": "x", "at": "2024-01-02T00:01:00.000001Z"}', "time-out-of-range",
                     'event time "at" is 2024-01-02 00:01:00.000001Z, which is further ahead of its arrival than '
                     "max_ahead, 1 minute", id="an event time beyond max_ahead"),
        pytest.param(b'{"id": "x", "amount": NaN, "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "amount" is NaN, which doesn\'t fit DECIMAL(12, 2)', id="NaN in a DECIMAL"),
        pytest.param(b'{"id": "x", "amount": 99999999999.99, "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "amount" is 99999999999.99, which doesn\'t fit DECIMAL(12, 2)',
                     id="overflow in a DECIMAL"),
        pytest.param(b'{"id": "x", "amount": 12.345, "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "amount" is 12.345, which doesn\'t fit DECIMAL(12, 2)', id="too many places in a DECIMAL"),
        pytest.param(b'{"id": "x", "weight": 1e400, "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "weight" is 1e400, which doesn\'t fit DOUBLE', id="overflow in a DOUBLE"),
        pytest.param(b'{"id": "x", "quantity": 3000000000, "at": "2024-01-01T12:00:00Z"}', "wrong-type",
                     'column "quantity" is 3000000000, which doesn\'t fit INT', id="overflow in an INT"),
        pytest.param(b'{"id": "x", "id": "y", "at": "2024-01-01T12:00:00Z"}', "unreadable-event",
                     'the line names column "id" twice', id="a column named twice"),
        pytest.param(GOOD + GOOD, "unreadable-event",
                     f"the line is not JSON: extra data at character {len(GOOD) + 1}", id="two objects on a line"),
        pytest.param(b"[1]", "unreadable-event", "the line is an array, not an object", id="an array"),
        pytest.param(b"1", "unreadable-event", "the line is a number, not an object", id="a number"),
        pytest.param(b"null", "unreadable-event", "the line is null, not an object", id="null"),
        pytest.param(GOOD + b" null", "unreadable-event",
                     f"the line is not JSON: extra data at character {len(GOOD) + 2}", id="null after an object"),
        pytest.param(b'{"other": ' + b"[" * 5000 + b"]" * 5000 + b"}", "unreadable-event",
                     "the line is nested more than 100 levels deep", id="deep nesting"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("neighbours", [0, 100], ids=["alone", "among good lines"])
def test_a_poison_line_costs_itself_only(
    orders: Decoder, line: bytes, error: str, reason: str, neighbours: int
) -> None:
    decoded = decode(orders, *[GOOD] * neighbours, line, *[GOOD] * neighbours)
    assert decoded.rows.num_rows == 2 * neighbours
    assert only_letter(decoded) == {
        "bytes": line,
        "reason": reason,
        "error": error,
        "source": "till-1",
        "position": f"orders.jsonl:{neighbours + 1}",
        "key": None,
        "sent_at": None,
        "headers": None,
    }


def test_a_line_of_ten_megabytes_becomes_a_letter_with_all_its_bytes(orders: Decoder) -> None:
    line = b'{"id": "' + b"x" * 10_000_000 + b'"}'
    decoded = decode(orders, GOOD, line, GOOD)
    letter = only_letter(decoded)
    assert decoded.rows.num_rows == 2
    assert (letter["error"], letter["reason"]) == ("event-too-large", "the line has more than 4,194,304 bytes")
    assert letter["bytes"] == line


def test_a_row_of_values_may_be_as_large_as_a_line_and_no_larger(orders: Decoder) -> None:
    rows = [{"id": "a" * size, "customer": "b" * 100, "at": NOON} for size in (10, 4_194_204, 4_194_205)]
    decoded = orders.decode(pa.Table.from_pylist(rows), source="s")
    assert decoded.rows.num_rows == 2
    letter = only_letter(decoded)
    assert (letter["error"], letter["reason"]) == ("event-too-large", "the event has more than 4,194,304 bytes")


def test_an_event_time_exactly_max_ahead_is_taken(orders: Decoder) -> None:
    assert decode(orders, b'{"id": "x", "at": "2024-01-02T00:01:00Z"}').dead.num_rows == 0


def test_without_an_arrival_time_the_future_is_not_checked(orders: Decoder) -> None:
    assert orders.decode('{"id": "x", "at": "2999-01-01T00:00:00Z"}').dead.num_rows == 0


def test_one_letter_names_every_problem_of_its_row(orders: Decoder) -> None:
    letter = only_letter(decode(orders, b'{"amount": "free", "quantity": 1.5, "at": "1960-01-01T00:00:00Z"}'))
    assert letter["error"] == "wrong-type"
    assert letter["reason"].split("; ") == [
        'column "amount" is "free", which doesn\'t fit DECIMAL(12, 2)',
        'column "quantity" is 1.5, which doesn\'t fit INT',
        'column "id" has no value and must have one',
        'event time "at" is 1960-01-01 00:00:00.000000Z, which is not after 1970-01-01 00:00:00 UTC',
    ]


def test_blank_lines_and_carriage_returns_are_nothing(orders: Decoder) -> None:
    decoded = decode(orders, b"", b"  \t\r", GOOD + b"\r", b"", b"oops", b"")
    assert decoded.rows.num_rows == 1
    assert only_letter(decoded)["position"] == "orders.jsonl:5"


def test_a_byte_order_mark_is_ignored(orders: Decoder) -> None:
    assert decode(orders, b"\xef\xbb\xbf" + GOOD).rows.num_rows == 1


def test_fields_that_are_not_declared_are_ignored(orders: Decoder) -> None:
    line = b'{"extra": {"a": [1, NaN]}, "id": "x", "at": "2024-01-01T12:00:00Z", "extra": 1e999}'
    assert decode(orders, line).dead.num_rows == 0


def test_rows_keep_their_order_around_letters(orders: Decoder) -> None:
    lines = [b"poison" if n % 7 == 0 else b'{"id": "%d", "at": "2024-01-01T12:00:00Z"}' % n for n in range(2000)]
    decoded = decode(orders, *lines)
    assert decoded.rows["id"].to_pylist() == [str(n) for n in range(2000) if n % 7]
    assert decoded.dead["position"].to_pylist() == [f"orders.jsonl:{n + 1}" for n in range(2000) if n % 7 == 0]


def test_a_million_bytes_of_bad_values_in_one_column_are_each_a_letter(orders: Decoder) -> None:
    lines = [b'{"id": "%d", "quantity": "many", "at": "2024-01-01T12:00:00Z"}' % n for n in range(3000)]
    decoded = decode(orders, *lines)
    assert (decoded.rows.num_rows, decoded.dead.num_rows) == (0, 3000)


# The forms that rows come in

ROW = {"id": "a", "customer": None, "amount": Decimal("1.50"), "quantity": 3, "weight": 0.5,
       "at": datetime(2024, 1, 1, 12, tzinfo=UTC)}  # fmt: skip


@dataclass
class Order:
    id: str
    amount: Decimal
    quantity: int
    weight: float
    at: datetime


FORMS = {
    "a mapping": ROW,
    "a list of mappings": [ROW],
    "a generator of mappings": (row for row in [ROW]),
    "a dataclass instance": Order("a", Decimal("1.50"), 3, 0.5, datetime(2024, 1, 1, 12, tzinfo=UTC)),
    "an Arrow table": pa.Table.from_pylist([ROW]),
    "an Arrow record batch": pa.RecordBatch.from_pylist([ROW]),
    "an Arrow reader": pa.Table.from_pylist([ROW]).to_reader(),
    "a pandas frame": pd.DataFrame([ROW]),
    "a Polars frame": pl.DataFrame([ROW]),
    "dictionary-encoded Arrow": pa.Table.from_pylist([ROW]).set_column(0, "id", pa.array(["a"]).dictionary_encode()),
    "JSON text": json.dumps(ROW, default=str),
    "JSON bytes": json.dumps(ROW, default=str).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_row_gives_the_same_row(orders: Decoder, form: str) -> None:
    decoded = orders.decode(FORMS[form])
    assert decoded.dead.to_pylist() == []
    assert decoded.rows.to_pylist() == [ROW | {"_id": "a"}]
    assert decoded.rows.schema == orders.schema


def test_nothing_gives_empty_tables_of_the_right_columns(orders: Decoder) -> None:
    for nothing in ([], b"", "", pa.table({}), iter(())):
        decoded = orders.decode(nothing)
        assert (decoded.rows.num_rows, decoded.rows.schema) == (0, orders.schema)
        assert (decoded.dead.num_rows, decoded.dead.schema) == (0, DEAD)


def test_a_value_that_is_no_row_is_a_letter_and_the_rest_goes_on(orders: Decoder) -> None:
    decoded = orders.decode([ROW, 7, ROW], source="s")
    assert decoded.rows.num_rows == 2
    letter = only_letter(decoded)
    assert (letter["bytes"], letter["position"], letter["error"]) == (b"7", "rows[1]", "unreadable-event")


def test_the_letter_of_a_row_of_values_can_be_decoded_once_it_is_mended(orders: Decoder) -> None:
    decoded = orders.decode([ROW | {"amount": Decimal("1.505")}], source="s")
    mended = only_letter(decoded)["bytes"].replace(b"1.505", b"1.50")
    assert orders.decode(mended).rows.to_pylist() == [ROW | {"_id": "a"}]


def test_what_is_no_data_is_refused_by_name(orders: Decoder) -> None:
    with pytest.raises(ArgumentRefused, match='"orders" can\'t be given a value of type int'):
        orders.decode(7)


def test_a_pandas_frame_that_mixes_classes_is_read_row_by_row(orders: Decoder) -> None:
    frame = pd.DataFrame({"id": ["a", 2, "c"], "weight": [None, 1.5, 2.0], "at": [NOON, NOON, NOON]})
    decoded = orders.decode(frame)
    assert decoded.rows["id"].to_pylist() == ["a", "c"]
    assert decoded.rows["weight"].to_pylist() == [None, 2.0]
    assert only_letter(decoded)["reason"] == 'column "id" is 2, which doesn\'t fit STRING'


def test_missing_values_of_a_pandas_frame_are_null(orders: Decoder) -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "quantity": [1, None], "at": pd.to_datetime([NOON, NOON])})
    assert orders.decode(frame).rows["quantity"].to_pylist() == [1, None]


def test_a_table_with_a_doubled_column_is_refused(orders: Decoder) -> None:
    with pytest.raises(ArgumentRefused, match='more than one column "id"'):
        orders.decode(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"]))


# Tables


def test_a_change_is_an_upsert_unless_it_says_otherwise() -> None:
    decoded = Decoder(PRICES).decode('{"item": "a", "price": 1}\n{"item": "b", "price": 2, "_op": "upsert"}')
    assert decoded.rows["_op"].to_pylist() == ["upsert", "upsert"]


def test_a_delete_needs_only_the_key() -> None:
    decoded = Decoder(PRICES).decode('{"item": "a", "_op": "delete"}\n{"_op": "delete"}\n{"item": "c"}')
    assert decoded.rows.to_pylist() == [{"item": "a", "price": None, "_op": "delete"}]
    assert decoded.dead["reason"].to_pylist() == [
        'column "item" has no value and must have one',
        'column "price" has no value and must have one',
    ]


def test_a_delete_in_a_table_with_event_time_happens_at_an_instant() -> None:
    topic = Table(
        name="t", columns=(Column("item", pa.string()), Column("at", INSTANT)), primary_key=("item",), time="at"
    )
    decoded = Decoder(topic).decode('{"item": "a", "_op": "delete"}')
    assert only_letter(decoded)["reason"] == 'column "at" has no value and must have one'


def test_an_unknown_operation_is_a_letter() -> None:
    decoded = Decoder(PRICES).decode({"item": "a", "price": 1, "_op": "remove"}, source="s")
    assert only_letter(decoded)["reason"] == 'column "_op" is "remove", which is neither "upsert" nor "delete"'


def test_rows_of_a_table_can_be_written_with_their_schema() -> None:
    rows = Decoder(PRICES).decode([{"item": "a", "_op": "delete"}]).rows
    rows.validate(full=True)
    assert rows.schema.field("price").nullable
    assert not rows.schema.field("item").nullable


# Identity


def test_several_unique_columns_are_all_required() -> None:
    stream = stream_of(Column("shop", pa.string()), Column("n", pa.int64()), unique=("shop", "n"))
    decoded = Decoder(stream).decode([{"shop": "a|b", "n": 1}, {"shop": "a"}])
    assert decoded.rows["_id"].to_pylist() == ["a\\|b|1"]
    assert decoded.dead["error"].to_pylist() == ["missing-value"]


def test_equal_content_has_one_id_whatever_form_it_came_in() -> None:
    columns = (Column("a", pa.string()), Column("d", pa.decimal128(9, 2)), Column("at", INSTANT))
    stream = Stream(name="s", columns=columns, unique=CONTENT)
    row = {"a": "x", "d": Decimal("1.5"), "at": datetime(2024, 1, 1, tzinfo=UTC)}
    table = pa.Table.from_pylist([row, row])
    forms = [row, table, table.set_column(0, "a", table["a"].dictionary_encode()),
             '{"a":"x","d":"1.50","at":"2024-01-01T01:00:00+01:00"}',
             '{"at":"2024-01-01","d":1.5,"a":"x"}']  # fmt: skip
    ids = {found for form in forms for found in Decoder(stream).decode(form).rows["_id"].to_pylist()}
    assert len(ids) == 1
    assert len(ids.pop()) == 32


def test_a_null_where_a_nested_value_must_be_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(
        "CREATE STREAM orders (id STRING, items ARRAY<STRUCT<sku: STRING NOT NULL, n: INT>>, "
        "tags MAP<STRING, INT NOT NULL>, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND)"
    )
    at = "2026-01-01T12:00:00Z"
    with hw.open(tmp_path) as project:
        project.append("orders", [{"id": "1", "items": [{"sku": "a"}, {"sku": None, "n": 1}], "at": at}])
        project.append("orders", [{"id": "2", "tags": {"x": None}, "at": at}])
        assert project.dead("orders")["reason"].to_pylist() == [
            'column "items[1].sku" has no value and must have one: STRING NOT NULL is declared',
            "column \"tags['x']\" has no value and must have one: INT NOT NULL is declared",
        ]


def test_a_reason_may_quote_half_a_surrogate_pair() -> None:
    """Validators of JSON Schema quote what they refuse as it is."""
    letters = table_of([Letter(0, b"", "'\ud800' is not of type 'integer'", WrongType, "x:1")], "x")
    assert letters["reason"].to_pylist() == ["'\\ud800' is not of type 'integer'"]
